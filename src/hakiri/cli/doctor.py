"""`hakiri doctor`, `errors` and `explain`: find problems, and what each error means."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from hakiri.cli.output import plain, say, say_json
from hakiri.run.doctor import Finding, Health, examine
from hakiri.run.error_guide import RECOVERIES, error_tree, errors_page, explain
from hakiri.settings import from_environment
from hakiri.wiring import clock, looks

_MARKS = {
    Health.WELL: "[green]ok[/green]    ",
    Health.WARY: "[yellow]warn[/yellow]  ",
    Health.ILL: "[red]failed[/red]",
    Health.UNKNOWN: "[dim]-[/dim]     ",
}


def examine_project(project: Path | None, *, as_json: bool, verbose: bool) -> None:
    findings = []
    for finding in examine(looks(from_environment(project=project, verbose=verbose)), clock()):
        findings.append(finding)
        if not as_json:
            _print(finding)
    wary = sum(finding.health is Health.WARY for finding in findings)
    healthy = all(finding.health in (Health.WELL, Health.WARY) for finding in findings)
    if as_json:
        say_json({"ok": healthy, "findings": [finding.as_json() for finding in findings]})
    elif healthy:
        verdict = f"{wary} of them with a warning" if wary else "all well"
        say(f"[green]ok[/green]: {len(findings)} things looked at, {verdict}")
    if not healthy:
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    first, *rest = finding.detail.splitlines() or [""]
    say(f"{_MARKS[finding.health]}  {finding.name:<24} {finding.seconds:6.1f} s  {plain(first)}")
    for line in rest:
        say(f"        {plain(line)}")


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
    say("[dim]`hakiri explain CODE` shows how an error looks and what to do about it[/dim]")


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
