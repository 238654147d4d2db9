"""Types shared by several packages."""
