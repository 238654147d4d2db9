"""The Spark session: embedded, over Spark Connect, or of a Databricks runtime."""
