"""The one Spark session, wherever it runs: embedded, over Spark Connect, or a Databricks runtime's."""
