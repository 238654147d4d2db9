"""Staged rows become a table's rows: once, in order, all of them or none (G4, G9)."""
