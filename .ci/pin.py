"""Hold every indirect dependency at one version, by `[tool.uv] constraint-dependencies`.

uv run --no-project --with tomlkit,packaging python .ci/pin.py

The lock file itself stays out of git, because it records download addresses. Packages that differ between the
conflicting extras are pinned in those extras by hand.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import tomlkit
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def main() -> None:
    manifest = ROOT / "pyproject.toml"
    document = tomlkit.parse(manifest.read_text())
    _write(manifest, document, [])
    subprocess.run(["uv", "lock", "--upgrade"], cwd=ROOT, check=True)
    locked = tomlkit.parse((ROOT / "uv.lock").read_text()).unwrap()["package"]
    direct = direct_names(document.unwrap())
    versions: dict[str, set[str]] = {}
    for package in locked:
        if package["name"] not in direct and "editable" not in package["source"]:
            versions.setdefault(package["name"], set()).add(package["version"])
    # Where a package has several versions, the oldest is the one that every supported Python can have.
    oldest = {name: min(found, key=Version) for name, found in versions.items()}
    _write(manifest, document, [f"{name}=={version}" for name, version in sorted(oldest.items())])


def direct_names(document: dict[str, Any]) -> set[str]:
    """The packages that pyproject.toml names itself."""
    project = document["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
    ]
    return {re.split(r"[\[=<>~ ]", requirement)[0] for group in groups for requirement in group}


def _write(manifest: Path, document: tomlkit.TOMLDocument, pins: list[str]) -> None:
    array = tomlkit.array().multiline(True)
    array.extend(pins)
    document["tool"]["uv"]["constraint-dependencies"] = array  # type: ignore[index]
    manifest.write_text(document.as_string())


if __name__ == "__main__":
    main()
