"""Make plans from facts, without any I/O: the same facts give the same plan (G1)."""
