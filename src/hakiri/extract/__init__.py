"""Extraction: reads one chunk from its source, transforms and checks its rows, and passes them to a sink."""
