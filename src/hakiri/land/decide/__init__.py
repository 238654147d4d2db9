"""Decide how a landing changes its table. Nothing is touched here."""
