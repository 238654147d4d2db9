"""The catalog in small Delta tables: decided on a replica in memory, committed by MERGE on exactly what was read."""
