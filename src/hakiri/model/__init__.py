"""The nouns that two rooms share."""
