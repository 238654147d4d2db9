"""The catalog: records which worker holds which chunk, what has landed, and the position of each cursor."""
