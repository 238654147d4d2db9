"""The repository itself: its layout, what its files may not say, and that every dependency is held."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterable
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPO = Path(__file__).parents[2]
TOP_LEVEL = {
    *("databricks.yml", "resources", "src", "notebooks", "manifests", "tests", "fixtures", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs", "benchmarks"),
}
# Put together here, so that this file does not name what it looks for.
REGISTRIES = [
    "".join(parts)
    for parts in [
        ("files.python", "hosted.org"),
        ("pypi", ".org"),
        ("repo1.maven", ".org"),
        ("repo.maven.apache", ".org"),
        ("registry.npmjs", ".org"),
        ("crates", ".io"),
        ("deb.debian", ".org"),
        ("proxy.golang", ".org"),
    ]
]
TOOLS = {"pip", "setuptools", "wheel", "uv", "hakiri"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    return [REPO / name for name in listed.split("\0") if name and (REPO / name).is_file()]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_the_top_level_is_the_fixed_one() -> None:
    there = {path.relative_to(REPO).parts[0] for path in tracked()}
    assert {name for name in there if not name.startswith(".")} == TOP_LEVEL


def test_no_tracked_file_names_a_registry() -> None:
    named = [(str(path.relative_to(REPO)), host) for path in tracked() for host in REGISTRIES if host in text_of(path)]
    assert named == []


def test_no_tracked_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    home = re.compile(r"(?<![\w.$}])/(?:work|root|home/[a-z]+)/")
    named = [str(path.relative_to(REPO)) for path in tracked() if home.search(text_of(path))]
    assert named == []


def test_no_lock_file_is_tracked() -> None:
    assert not {path.name for path in tracked()} & {"uv.lock", "package-lock.json", "poetry.lock"}


def pyproject() -> dict[str, Any]:
    return tomli.loads((REPO / "pyproject.toml").read_text())


def wheel() -> list[Requirement]:
    """What the wheel asks for, with all its extras."""
    project = pyproject()["project"]
    return [Requirement(one) for one in chain(project["dependencies"], *project["optional-dependencies"].values())]


def tools() -> list[Requirement]:
    """What development needs beside the wheel."""
    listed = chain(*pyproject()["dependency-groups"].values())
    return [Requirement(one) for one in listed if isinstance(one, str) and not one.startswith("hakiri[")]


def exact(requirements: Iterable[Requirement]) -> dict[str, set[str]]:
    """The versions of those that allow one version only, by name."""
    found: dict[str, set[str]] = {}
    for one in requirements:
        if [part.operator for part in one.specifier] == ["=="]:
            found.setdefault(one.name, set()).update(part.version for part in one.specifier)
    return found


def ranges() -> list[Requirement]:
    return [one for one in wheel() if not exact([one])]


def constraints() -> list[Requirement]:
    return [Requirement(one) for one in pyproject()["tool"]["uv"]["constraint-dependencies"]]


def test_every_dependency_of_the_wheel_is_a_range_that_holds_its_pin() -> None:
    held = exact([*tools(), *constraints()])
    assert len(ranges()) > 20
    assert [str(one) for one in ranges() if {part.operator for part in one.specifier} != {">=", "<"}] == []
    assert [str(one) for one in ranges() if not any(map(one.specifier.contains, held.get(one.name, ())))] == []


def test_a_dependency_of_the_wheel_is_exact_for_a_reason_that_is_written_down() -> None:
    page = text_of(REPO / "docs/dependencies.md")
    assert [name for name in exact(wheel()) if f"| {name} | exact |" not in page] == []


def test_the_lower_ends_are_those_of_the_page() -> None:
    page = text_of(REPO / "docs/dependencies.md")
    lows = {one.name: part.version for one in ranges() for part in one.specifier if part.operator == ">="}
    assert [name for name, low in lows.items() if f"| {name} | {low} |" not in page] == []


def test_every_tool_is_pinned_exactly() -> None:
    assert sorted({one.name for one in tools()} - set(exact(tools()))) == []


def test_every_installed_package_is_held_by_a_pin() -> None:
    held = exact([*wheel(), *tools(), *constraints()])
    installed = {(canonicalize_name(one.metadata["Name"]), one.version) for one in distributions()}
    assert (
        sorted(f"{name}=={one}" for name, one in installed if name not in TOOLS and one not in held.get(name, ())) == []
    )


def test_every_direct_dependency_has_its_reason() -> None:
    reasons = text_of(REPO / "docs/dependencies.md")
    names = {one.name for one in (*wheel(), *tools())}
    assert sorted(name for name in names if f"| {name} | " not in reasons) == []


def test_the_shop_is_its_script() -> None:
    def content(database: sqlite3.Connection) -> list[str]:
        return list(database.iterdump())

    made = sqlite3.connect(":memory:")
    made.executescript(text_of(REPO / "fixtures/shop/shop.sql"))
    shipped = sqlite3.connect(f"file:{REPO / 'fixtures/shop/shop.sqlite'}?mode=ro", uri=True)
    try:
        assert content(shipped) == content(made)
    finally:
        made.close()
        shipped.close()


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*sorted((REPO / "docs").rglob("*.md")), REPO / "README.md", REPO / "CONTRIBUTING.md"]
    links = [(page, target) for page in pages for target in re.findall(r"\]\((?!https?:)([^)#]+)", text_of(page))]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []
