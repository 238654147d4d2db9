"""`hakiri errors` and `hakiri explain`: every error with its code, what it means and what to do about it."""

from __future__ import annotations

import sys

from hakiri.cli.output import plain, say, say_json
from hakiri.run.error_guide import RECOVERIES, error_tree, errors_page, explain


def list_errors(*, as_json: bool, as_markdown: bool) -> None:
    """Print all errors: as a tree for people, as JSON for programs, or as the page of the docs."""
    if as_markdown:
        sys.stdout.write(errors_page())
        return
    tree = error_tree()
    if as_json:
        say_json([one.as_json() for branch in tree for one in branch.errors])
        return
    for branch in tree:
        indent = "  " * branch.depth
        say(plain(f"{indent}{branch.name}: {branch.meaning}"))
        for one in branch.errors:
            say(plain(f"{indent}  {one.code} {one.name}: {one.meaning}"))
    say("[dim]`hakiri explain CODE` tells how an error looks and what to do about it[/dim]")


def explain_error(code: str, *, as_json: bool) -> None:
    """Print what one error means. Raises CodeNotFound."""
    found = explain(code)
    if as_json:
        say_json(found.as_json())
        return
    say(plain(f"{found.code} {found.name} ({found.branch}): {found.meaning}"))
    say(plain(f"recovery: {RECOVERIES[found.recovery]}"))
    say()
    say("It looks like this, with `<name>` for each fact:")
    for line in found.example.splitlines():
        say(plain(f"  {line}"))
