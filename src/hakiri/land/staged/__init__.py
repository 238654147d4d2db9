"""Read staged Parquet files: types, key counts and samples."""
