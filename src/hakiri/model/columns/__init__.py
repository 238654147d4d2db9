"""Columns that Hakiri adds to rows, and rules for names of columns."""
