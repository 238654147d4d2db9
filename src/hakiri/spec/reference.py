"""References to secrets and environment variables: finding, checking and resolving them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, cast
from urllib.parse import quote, unquote

from hakiri.model.postgres import SCHEMES
from hakiri.spec.lines import KeyPath

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_]{0,127})\}")
_SECRET_KEY = re.compile(
    r"(?:^|[._-])(?:(?:ssl)?password|passwd|pwd|secret|token|credentials?|(?:api|access|private|secret)[._-]?key"
    r"|client[._-]?secret)$"
    # Hadoop's settings for Azure end with the name of the account.
    r"|(?:^|\.)fs\.azure\.(?:account\.key|account\.oauth2\.client\.secret|sas)(?:\.|$)",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"sig(?:nature)?", re.IGNORECASE)
"""A URL option that grants access by itself."""
_OPTION = re.compile(r"[?&;]([^=?&;]+)=([^&;]*)")
_PAIR = r"\s*\w+\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)\s*"
_PAIRS = re.compile(rf"(?=.*\b(?:host|hostaddr|dbname|user|service)\s*=)(?:{_PAIR})+", re.DOTALL)
_NAMED = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)")
_MARK = "\0"
"""Replaces references while a text is checked before they are resolved."""
_IN_PATH = "/:@!$'()*+,&~"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: `${env:NAME}` or `${secret:NAME}`."""

    kind: Literal["env", "secret"]
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


def references_in(text: str) -> list[Reference]:
    """Return the references in a text, in order."""
    if "${" not in text:
        return []  # the usual case
    return [Reference(cast("Literal['env', 'secret']", kind), name) for kind, name in _REFERENCE.findall(text)]


def is_malformed(text: str) -> bool:
    """Return whether a text contains a malformed reference."""
    return text.count("${") != len(references_in(text))


def holds_secret(key: str, text: str) -> bool:
    """Return whether a value looks like a secret in clear: by its key's name, or by a password in an address."""
    return (bool(_SECRET_KEY.search(_snake(key))) and _is_clear(_REFERENCE.sub(_MARK, text))) or shows_password(text)


def shows_password(text: str) -> bool:
    """Return whether a text is an address with a password or a token in clear."""
    return any(_is_clear(password) for password in _passwords(_REFERENCE.sub(_MARK, text)))


def shows_token(url: str) -> bool:
    """Return whether the path or an option of an https address looks like a token in clear.

    It does if it has the form that chat and automation services give their addresses, or if a part of it is as long and
    as mixed as only a random text is. A UUID is an id, and so is a text of 32 hex digits.
    """
    marked = _REFERENCE.sub(_MARK, url)
    path, _, options = marked.partition("://")[2].partition("/")[2].partition("?")
    if any(form.search(f"/{path}") for form in _TOKEN_PATHS):
        return True
    values = (value for _, value in _OPTION.findall(f"?{options}"))
    return any(_is_random(unquote(part)) for part in (*path.split("/"), *values))


def _is_random(text: str) -> bool:
    """Return whether a text looks random: it changes between letters, capitals and digits more often than names do."""
    letters = re.sub(r"[-_.~=:]", "", text)
    if len(letters) < _TOKEN_LENGTH or not letters.isascii() or not letters.isalnum() or _ID.fullmatch(text):
        return False
    kinds = ["digit" if one.isdigit() else "capital" if one.isupper() else "small" for one in letters]
    turns = sum(one != other for one, other in pairwise(kinds))
    least = _TURNS_WITH_CAPITALS if len(set(kinds)) > 2 else _TURNS
    return "digit" in kinds and turns >= least * (len(letters) - 1)


_TOKEN_LENGTH = 20
_TURNS, _TURNS_WITH_CAPITALS = 0.28, 0.4
"""Random text changes its kind of character at about 0.4 of its positions, with capitals at 0.6."""
_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_TOKEN_PATHS = (
    re.compile(r"/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]+"),  # Slack, Mattermost
    re.compile(r"/api/webhooks/[0-9]+/[A-Za-z0-9_-]+"),  # Discord
    re.compile(r"/bot[0-9]+:[A-Za-z0-9_-]+"),  # Telegram
    re.compile(r"/hooks/catch/[0-9]+/[A-Za-z0-9]+"),  # Zapier
    re.compile(r"/with/key/[A-Za-z0-9_-]+"),  # IFTTT
    re.compile(r"/IncomingWebhook/[0-9A-Fa-f]{32}"),  # Teams
)
"""Addresses whose path contains a token; a reference in the token's place does not match."""


def texts_in(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield every text inside a plain value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts_in(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from texts_in(item, (*path, index))


def resolve(value: Any, look_up: Callable[[Reference], str]) -> Any:
    """Copy a plain value, with every reference replaced by what `look_up` returns for it.

    Inside an address a value is encoded, so it may contain any character. A reference that is the
    whole text, or the whole of an address behind its scheme, is taken as it is.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: _fitted(match, look_up(references_in(match[0])[0])), value)
    if isinstance(value, dict):
        return {key: resolve(item, look_up) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, look_up) for item in value]
    return value


def _fitted(match: re.Match[str], value: str) -> str:
    """Return the value as it is written at the reference's place in its text."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    _, is_address, begun = before.partition("://")
    if not is_address:
        return _escaped(value) if _PAIRS.fullmatch(_REFERENCE.sub("x", match.string)) else value
    if not begun and not after:
        return value
    is_user = not re.search("[/?]", begun) and "@" in re.split("[/?]", after, maxsplit=1)[0]
    if is_user or re.search("=[^/?&;=]*$", begun):
        return quote(value, safe="")
    is_path = "/" in begun and "?" not in begun
    return quote(value, safe=_IN_PATH) if is_path and match[1] == "secret" else value


def _escaped(value: str) -> str:
    """Return the value as it is written after `name=`, with or without quotes around it."""
    return re.sub(r"([\\'\s])", r"\\\1", value)


def _passwords(marked: str) -> Iterator[str]:
    """Yield everything in an address that may be a password."""
    scheme, is_address, rest = marked.partition("://")
    if is_address:
        # No other part of a database's address contains an `@`, so everything before the last one is the user.
        user = rest.partition("?")[0] if f"{scheme}://" in SCHEMES else re.split("[/?#]", rest, maxsplit=1)[0]
        yield user.rpartition("@")[0].partition(":")[2]
    pairs = _OPTION if is_address else _NAMED if _PAIRS.fullmatch(marked) else None
    for name, value in pairs.findall(marked) if pairs else ():
        if _SECRET_KEY.search(_snake(name)) or (is_address and _SIGNED.fullmatch(name)):
            yield value.strip("'")


def _is_clear(text: str) -> bool:
    return bool(text) and _MARK not in text


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key)
