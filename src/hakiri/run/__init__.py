"""The verbs: what a door can ask for."""
