"""Staging: writes the rows of an attempt to Parquet files, makes them durable, and records their digests."""
