"""What an attempt wrote lies in files that are complete, durable and known by their content."""
