"""Checks that a Spark Connect server listens, and shows its address without the token."""

from __future__ import annotations

import socket
from urllib.parse import SplitResult, unquote, urlsplit

from hakiri.engine.errors import SessionUnreachable
from hakiri.errors import conceal

DEFAULT_PORT = 15002
ANSWER_SECONDS = 5.0


def show_remote(remote: str) -> str:
    """Return host and port of the address, without parameters, and register its token to be masked."""
    _conceal_token(remote)
    parts = _split(remote)
    if parts is None or not parts.hostname:
        return "the given address"
    return f"{parts.scheme}://{parts.hostname}:{parts.port or DEFAULT_PORT}"


def knock(remote: str) -> None:
    """Check that a server listens. Raises SessionUnreachable at once; Spark's clients would retry for ten minutes."""
    shown, parts = show_remote(remote), _split(remote)
    if parts is None or parts.scheme != "sc" or not parts.hostname:
        raise SessionUnreachable(remote=shown, reason="an address looks like sc://host:port")
    try:
        socket.create_connection((parts.hostname, parts.port or DEFAULT_PORT), timeout=ANSWER_SECONDS).close()
    except OSError as cause:
        raise SessionUnreachable(remote=shown, reason=cause.strerror or str(cause)) from cause


def _conceal_token(remote: str) -> None:
    for parameter in remote.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name == "token":
            conceal(value)
            conceal(unquote(value))


def _split(remote: str) -> SplitResult | None:
    """Parse an address; None if it is invalid."""
    try:
        parts = urlsplit(remote)
        _ = parts.port
    except ValueError:
        return None
    return parts
