"""The environment is read here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakiri.errors import UnresolvedReference, conceal
from hakiri.spec.reference import Reference


@dataclass(frozen=True)
class Settings:
    """What this process was told by its environment and its command line."""

    cwd: Path
    project: Path | None = None
    verbose: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def look_up(self, reference: Reference) -> str:
        """The value behind a reference; a secret's is concealed from all output from then on.

        Raises UnresolvedReference.
        """
        value = self.environment.get(reference.name)
        if value is None:
            raise UnresolvedReference(reference=str(reference), tried=(f"the environment variable {reference.name}",))
        if reference.kind == "secret":
            conceal(value)
        return value


def from_environment(*, project: Path | None = None, verbose: bool = False) -> Settings:
    """The settings of this process."""
    return Settings(cwd=Path.cwd(), project=project, verbose=verbose, environment=dict(os.environ))
