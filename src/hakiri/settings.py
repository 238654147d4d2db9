"""Read the environment. No other module does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.engine.errors import ScopeRefused
from hakiri.errors import conceal
from hakiri.spec.errors import UnresolvedReference
from hakiri.spec.reference import Reference

if TYPE_CHECKING:
    from hakiri.engine.secret_scope import SecretScope

SCOPE = "HAKIRI_SECRET_SCOPE"
"""Names the Databricks secret scope that holds what the environment does not."""


@dataclass(frozen=True)
class Settings:
    """The environment and the command line of this process."""

    cwd: Path
    project: Path | None = None
    verbose: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def look_up(self, reference: Reference) -> str:
        """Return the value of a reference: from the environment, or for a secret also from the secret scope.

        The value of a secret is masked in all output from then on. Raises UnresolvedReference and what a scope raises.
        """
        value = self.environment.get(reference.name)
        tried = [f"the environment variable {reference.name}"]
        if value is None and reference.kind == "secret" and self.scope is not None:
            value = self.scope.read(reference.name)
            tried.append(f"the secret {reference.name} of the scope {self.scope.name}")
        if value is None:
            raise UnresolvedReference(reference=str(reference), tried=tuple(tried))
        if reference.kind == "secret":
            conceal(value)
        return value

    @property
    def names_scope(self) -> bool:
        """Return whether a secret scope is named."""
        return bool(self.environment.get(SCOPE))

    @cached_property
    def scope(self) -> SecretScope | None:
        """Return the named secret scope; None if there is none. Raises ScopeRefused."""
        name = self.environment.get(SCOPE)
        if not name:
            return None
        # Loaded only if a scope is named: databricks-sdk takes seconds to import.
        try:
            from hakiri.engine.secret_scope import SecretScope
        except ImportError as cause:
            raise ScopeRefused(scope=name, reason="databricks-sdk is not installed") from cause
        return SecretScope(name)


def from_environment(*, project: Path | None = None, verbose: bool = False, secret_scope: str = "") -> Settings:
    """Return the settings of this process. A secret scope given here replaces the environment's."""
    environment = {**os.environ, **({SCOPE: secret_scope} if secret_scope else {})}
    return Settings(cwd=Path.cwd(), project=project, verbose=verbose, environment=environment)
