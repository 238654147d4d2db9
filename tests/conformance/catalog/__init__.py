"""What every catalog backend has to hold, whatever it is made of."""
