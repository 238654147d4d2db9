"""Change manifests in place: assignments, TOML edits that keep comments and order, and durable writes."""
