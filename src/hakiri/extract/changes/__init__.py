"""Change feeds: one file per way of writing a change down, and what all of them become."""
