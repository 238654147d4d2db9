"""What SQL sources share. A new one brings its dialect, its types and its connections: docs/connectors/your-own.md."""
