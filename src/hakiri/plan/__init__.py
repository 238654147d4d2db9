"""A plan is arithmetic over facts: it asks nobody, and the same facts give the same plan (G1)."""
