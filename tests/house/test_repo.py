"""The repository itself: its layout, what its files may not say, and that every dependency is held."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import tomli

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


def pins() -> set[str]:
    document = tomli.loads((REPO / "pyproject.toml").read_text())
    project = document["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
        document["tool"]["uv"]["constraint-dependencies"],
    ]
    return {requirement for group in groups for requirement in group if not requirement.startswith("hakiri[")}


def test_every_dependency_is_pinned_exactly() -> None:
    assert [pin for pin in sorted(pins()) if not re.fullmatch(r"[a-z0-9-]+(\[[a-z0-9,]+\])?==[^ ;,]+", pin)] == []


def test_every_installed_package_is_held_by_a_pin() -> None:
    held = {re.sub(r"\[.*\]", "", pin) for pin in pins()}
    installed = {f"{_canonical(one.metadata['Name'])}=={one.version}" for one in distributions()}
    assert sorted(one for one in installed - held if one.split("==")[0] not in TOOLS) == []


def test_every_direct_dependency_has_its_reason() -> None:
    reasons = text_of(REPO / "docs/dependencies.md")
    document = tomli.loads((REPO / "pyproject.toml").read_text())
    project = document["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
    ]
    names = {re.split(r"[\[=]", requirement)[0] for group in groups for requirement in group} - {"hakiri"}
    assert sorted(name for name in names if f"| {name} |" not in reasons) == []


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


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
