"""Change feeds: one module per format of changes, and the form they are normalized to."""
