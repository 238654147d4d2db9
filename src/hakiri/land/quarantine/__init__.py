"""Land quarantined rows and count them by rule."""
