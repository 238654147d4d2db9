"""Make and check views over landed tables: definitions that are answered here, or views of a catalog."""
