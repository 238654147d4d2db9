"""Nothing outside the engine builds a Spark session."""

from __future__ import annotations

import ast
from pathlib import Path

SRC = Path(__file__).parents[2] / "src" / "hakiri"


def test_only_the_engine_builds_a_session() -> None:
    builders = {
        path.relative_to(SRC).parts[0]
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "builder"
    }
    assert builders == {"engine"}
