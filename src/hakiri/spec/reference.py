"""Secrets and settings of the environment stand in a manifest as references, and become values as late as possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from hakiri.spec.lines import KeyPath

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_]{0,127})\}")
_SECRET_KEY = re.compile(
    r"(?:^|_)(?:password|passwd|pwd|secret|token|api_?key|access_?key|private_?key|client_?secret|credentials?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """`${env:NAME}` or `${secret:NAME}`."""

    kind: Literal["env", "secret"]
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


def references_in(text: str) -> list[Reference]:
    """The references in a text, in order."""
    if "${" not in text:
        return []  # nearly every text of a manifest
    return [Reference(cast("Literal['env', 'secret']", kind), name) for kind, name in _REFERENCE.findall(text)]


def is_malformed(text: str) -> bool:
    """Whether a text opens a reference that is none."""
    return text.count("${") != len(references_in(text))


def holds_secret(key: str, text: str) -> bool:
    """Whether a key's text looks like a secret in clear: a telling name, or a password inside an address."""
    return bool(text) and not references_in(text) and (bool(_SECRET_KEY.search(_snake(key))) or _has_password(text))


def texts_in(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text inside a plain value, with the way to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts_in(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from texts_in(item, (*path, index))


def resolve(value: Any, look_up: Callable[[Reference], str]) -> Any:
    """A copy of a plain value with every reference replaced by what `look_up` gives for it."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: look_up(references_in(match[0])[0]), value)
    if isinstance(value, dict):
        return {key: resolve(item, look_up) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, look_up) for item in value]
    return value


def _has_password(text: str) -> bool:
    if "://" not in text:
        return False
    try:
        return bool(urlsplit(text).password)
    except ValueError:
        return False


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key)
