"""A row is judged by the rules its manifest declares, and by nothing else."""
