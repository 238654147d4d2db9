"""Read and write Delta tables, with delta-rs on a path and with Spark everywhere else."""
