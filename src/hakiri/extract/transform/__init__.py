"""Transforms: authored in Python or TypeScript, compiled to a plan that is data, checked, and run by Polars."""
