"""Reads secrets from a Databricks scope when they are needed; they are kept only in this process."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound, PermissionDenied, Unauthenticated
from databricks.sdk.errors.base import DatabricksError

from hakiri.engine.errors import ScopeRefused, ScopeUnanswered
from hakiri.model.session import first_line

if TYPE_CHECKING:
    from databricks.sdk.service.workspace import SecretsAPI

_NO_SCOPE = "scope "
"""The start of the workspace's answer if the scope is missing, as opposed to a secret in it."""


@dataclass(slots=True)
class SecretScope:
    """The secrets of one scope of this process's workspace."""

    name: str
    client: Callable[[], WorkspaceClient] = WorkspaceClient
    _secrets: SecretsAPI | None = field(default=None, repr=False)

    def read(self, key: str) -> str | None:
        """Return the secret's value; None if the scope has no such secret. A repeat asks again.

        Raises ScopeRefused or ScopeUnanswered.
        """
        with self._translated():
            try:
                found = self._api().get_secret(self.name, key).value
            except NotFound as cause:
                if str(cause).lower().startswith(_NO_SCOPE):
                    raise
                return None
        return None if found is None else base64.b64decode(found).decode()

    def count(self) -> int:
        """Count the secrets. Raises ScopeRefused or ScopeUnanswered."""
        with self._translated():
            return len(list(self._api().list_secrets(self.name)))

    def _api(self) -> SecretsAPI:
        self._secrets = self._secrets or self.client().secrets
        return self._secrets

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (NotFound, PermissionDenied, Unauthenticated, ValueError) as cause:  # ValueError: no login is configured
            raise ScopeRefused(scope=self.name, reason=first_line(cause)) from cause
        except (DatabricksError, OSError) as cause:
            raise ScopeUnanswered(scope=self.name, reason=first_line(cause)) from cause
