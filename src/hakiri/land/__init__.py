"""Land staged rows in a table: once, in order, all of them or none (G4, G9)."""
