"""How long a project of many pipelines takes to load, merge and check, beside the bare parsing of its files.

uv run python benchmarks/manifests.py [--pipelines 2000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import tomli

from hakiri.model.installed import ConnectorFacts
from hakiri.spec.edits.toml_text import render_table
from hakiri.spec.read import read_project

TARGET_SECONDS = 5.0


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_project(root, options.pipelines)
        files = sorted((root / "pipelines").iterdir())
        floor, ours = [], []
        for _ in range(options.rounds):
            floor.append(timed(lambda: [parse(path) for path in files]))
            ours.append(timed(lambda: read_project(root, connectors={"postgres": ConnectorFacts()}, shown_from=root)))
    print(f"revision                      {revision()}")
    print(f"pipelines, one file each      {options.pipelines}")
    print(f"bare parsing (floor)          {median(floor):.2f} s")
    print(f"load, merge and check         {median(ours):.2f} s   worst {max(ours):.2f} s   aim {TARGET_SECONDS:.0f} s")
    print(f"ratio to the floor            {median(ours) / median(floor):.1f}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pipelines", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def write_project(root: Path, count: int) -> None:
    """A project whose pipelines are half TOML, half JSON, each with rules, keys and references."""
    (root / "hakiri.toml").write_text('[project]\nname = "many"\n')
    (root / "pipelines").mkdir()
    for number in range(count):
        data = pipeline(f"pipeline-{number}")
        is_json = number % 2 == 0
        text = json.dumps(data, indent=2) if is_json else render_table(data)
        (root / "pipelines" / f"{data['id']}.{'json' if is_json else 'toml'}").write_text(text)


def pipeline(name: str) -> dict[str, Any]:
    url = "postgresql://reader:${secret:DB_PASSWORD}@db.internal/shop"
    return {
        "id": name,
        "source": {"connector": "postgres", "config": {"url": url}},
        "secrets": ["DB_PASSWORD"],
        "tables": [
            "customers",
            {
                "name": "orders",
                "primary_key": ["id"],
                "columns": ["id", "status", "updated_at"],
                "incremental": "updated_at",
            },
        ],
        "schedule": "every 15m",
        "load": {"post_hook": {"type": "sql", "statement": "OPTIMIZE {table}"}},
        "quality": {
            "row_level": [
                {"type": "not_null", "field": "id", "on_fail": "abort"},
                {"type": "regex", "field": "status", "pattern": "^[a-z]+$", "on_fail": "skip"},
            ],
        },
        "backfill": {"window": "30d", "parallelism": 4, "rate_budget": "60/min", "start_from": "2010-01-01"},
    }


def parse(path: Path) -> Any:
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else tomli.loads(text)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def revision() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
