"""One chunk's rows leave their source here."""
