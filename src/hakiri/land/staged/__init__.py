"""Read staged Parquet files: types, key counts, statistics and samples."""
