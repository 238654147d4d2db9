"""Projects for tests to read and edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

MakeProject = Callable[[Mapping[str, str]], Path]
