"""`hakiri doctor`: check everything a run needs, and print one line for each check."""

from __future__ import annotations

from pathlib import Path

import typer

from hakiri.cli.output import plain, say, say_json
from hakiri.run.doctor import Finding, Health, examine
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
            _tell(finding)
    wary = sum(finding.health is Health.WARY for finding in findings)
    healthy = all(finding.health in (Health.WELL, Health.WARY) for finding in findings)
    if as_json:
        say_json({"ok": healthy, "findings": [finding.as_json() for finding in findings]})
    elif healthy:
        verdict = f"{wary} of them with a warning" if wary else "all well"
        say(f"[green]ok[/green]: {len(findings)} things looked at, {verdict}")
    if not healthy:
        raise typer.Exit(1)


def _tell(finding: Finding) -> None:
    first, *rest = finding.detail.splitlines() or [""]
    say(f"{_MARKS[finding.health]}  {finding.name:<24} {finding.seconds:6.1f} s  {plain(first)}")
    for line in rest:
        say(f"        {plain(line)}")
