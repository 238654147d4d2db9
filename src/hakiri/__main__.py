"""`python -m hakiri` is `hakiri`."""

from hakiri.cli import main

main()
