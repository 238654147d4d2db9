"""What the page on hooks shows is a project that the check takes, and code that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hakiri.land.hooks.webhook import SIGNATURE, TIMESTAMP, signed
from hakiri.model.installed import ConnectorFacts
from hakiri.spec.read import read_project
from projects import MakeProject

PAGE = (Path(__file__).parents[2] / "docs/hooks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def test_the_manifests_of_the_page_are_a_project_without_problems(make_project: MakeProject) -> None:
    named = {re.split(r"\s+", text, maxsplit=2)[1]: text for kind, text in BLOCKS if kind in ("toml", "sql")}
    del named["pyproject.toml"]
    assert sorted(named) == ["hakiri.toml", "pipelines/shop.toml", "views/daily.sql"]
    root = make_project(named)
    project = read_project(root, connectors={"sqlite": ConnectorFacts()}, shown_from=root)
    assert project.warnings == ()
    assert len(project.pipelines["shop"].spec.load.post_hook) == 3


def test_the_receiver_of_the_page_knows_our_signature_from_anothers() -> None:
    code = next(text for kind, text in BLOCKS if kind == "python" and "is_ours" in text)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 the page's own
    headers = signed(b"{}", "secret", 1_700_000_000)
    assert names["is_ours"]("secret", headers[TIMESTAMP], b"{}", headers[SIGNATURE])
    assert not names["is_ours"]("other", headers[TIMESTAMP], b"{}", headers[SIGNATURE])
    assert not names["is_ours"]("secret", "1700000001", b"{}", headers[SIGNATURE])
