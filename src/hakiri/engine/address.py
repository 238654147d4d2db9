"""An address of a Spark Connect server may be shown, though it may carry a token."""

from __future__ import annotations

from urllib.parse import SplitResult, unquote, urlsplit

from hakiri.errors import conceal

DEFAULT_PORT = 15002


def show_remote(remote: str) -> str:
    """The address as it may be printed: host and port, no parameters. From here on its token is concealed."""
    _conceal_token(remote)
    parts = split_remote(remote)
    if parts is None or not parts.hostname:
        return "the given address"
    return f"{parts.scheme}://{parts.hostname}:{parts.port or DEFAULT_PORT}"


def split_remote(remote: str) -> SplitResult | None:
    """The parts of an address, or None when it has none."""
    try:
        parts = urlsplit(remote)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _conceal_token(remote: str) -> None:
    for parameter in remote.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name == "token":
            conceal(value)
            conceal(unquote(value))
