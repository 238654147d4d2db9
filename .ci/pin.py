"""Hold every dependency at one version, by `[tool.uv] constraint-dependencies`.

uv run --no-project --with tomlkit,packaging python .ci/pin.py

What pyproject.toml names with an exact version is held there: tools, and what differs between the conflicting extras.
Everything else is held by the constraints, direct dependencies of the wheel included. The lock file stays out of git,
because it records download addresses.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomlkit
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def main() -> None:
    manifest = ROOT / "pyproject.toml"
    document = tomlkit.parse(manifest.read_text())
    _write(manifest, document, [])
    subprocess.run(["uv", "lock", "--upgrade"], cwd=ROOT, check=True)
    locked = tomlkit.parse((ROOT / "uv.lock").read_text()).unwrap()["package"]
    _write(manifest, document, constraints(document.unwrap(), locked))


def constraints(document: dict[str, Any], locked: list[dict[str, Any]]) -> list[str]:
    """Return the exact versions of the locked packages that pyproject.toml does not hold itself."""
    exact = {canonicalize_name(one.name) for one in requirements(document) if is_exact(one)}
    versions: dict[str, set[str]] = {}
    for package in locked:
        if package["name"] not in exact and "editable" not in package["source"]:
            versions.setdefault(package["name"], set()).add(package["version"])
    # Where a package has several versions, the oldest is the one that every supported Python can have.
    return [f"{name}=={min(found, key=Version)}" for name, found in sorted(versions.items())]


def requirements(document: dict[str, Any]) -> Iterator[Requirement]:
    """Yield what pyproject.toml asks for by name, in the wheel and for development."""
    project = document["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
    ]
    for group in groups:
        yield from (Requirement(one) for one in group if isinstance(one, str))


def is_exact(requirement: Requirement) -> bool:
    """Return whether a requirement allows one version only."""
    return [one.operator for one in requirement.specifier] == ["=="]


def _write(manifest: Path, document: tomlkit.TOMLDocument, pins: list[str]) -> None:
    array = tomlkit.array().multiline(True)
    array.extend(pins)
    document["tool"]["uv"]["constraint-dependencies"] = array  # type: ignore[index]
    manifest.write_text(document.as_string())


if __name__ == "__main__":
    main()
