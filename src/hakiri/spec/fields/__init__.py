"""Types of single values in a manifest, and how they are written."""
