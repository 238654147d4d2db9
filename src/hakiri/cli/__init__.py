"""The command line: arguments in, a verb called, text or JSON and an exit code out."""

from hakiri.cli.main import main

__all__ = ["main"]
