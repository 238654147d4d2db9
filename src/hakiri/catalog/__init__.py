"""The ledger beside every step: who holds which chunk, what has landed, and how far each cursor is."""
