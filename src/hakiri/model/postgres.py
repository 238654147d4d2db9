"""Addresses of PostgreSQL databases, and the failures of their servers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Self
from urllib.parse import quote, unquote

from hakiri.errors import conceal

SCHEMES = ("postgresql://", "postgres://")
DEFAULT_PORT = "5432"

_SECRETS = ("password", "sslpassword", "oauth_client_secret")
# An unencoded `@` after the host is more likely part of a password than of any option's value.
_MAY_HOLD_AT = frozenset({"user", "password", "application_name", "options"})
_URL = re.compile(r"(?P<authority>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<options>.*))?", re.DOTALL)
_HOST = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))\s*", re.DOTALL)

_AMBIGUOUS = "in a password, `@`, `/`, `?` and `%` are written as %40, %2F, %3F and %25; or name it in `password`"


@dataclass(frozen=True, slots=True)
class Dsn:
    """The connection options for libpq."""

    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `postgresql://user@host/database?option=value` or `host=... user=...`, and register its secrets.

        Registered secrets are masked in all output. Raises ValueError, which contains no part of the address.
        """
        scheme = next((one for one in SCHEMES if text.startswith(one)), None)
        options = _from_url(text[len(scheme) :]) if scheme else _from_pairs(text)
        if any("\0" in value for value in options.values()):
            raise ValueError("no part of an address holds a NUL")
        return cls(options).concealed()

    def concealed(self) -> Self:
        """Mask its secrets in all output from now on."""
        for name in _SECRETS:
            conceal(self.options.get(name, ""))
        return self

    def with_options(self, options: Mapping[str, str]) -> Self:
        """Return the address with these options as defaults."""
        return replace(self, options={**options, **self.options}).concealed()

    def uri(self) -> str:
        """Return the address for a driver, every part encoded."""
        pairs = (f"{name}={quote(value, safe='')}" for name, value in self.options.items())
        return f"{SCHEMES[0]}?{'&'.join(pairs)}"

    def __str__(self) -> str:
        user = f"user `{self.options['user']}`" if self.options.get("user") else "the default user"
        database = self.options.get("dbname")
        return f"{user} on {self._server()}, {f'database `{database}`' if database else 'the default database'}"

    def _server(self) -> str:
        hosts = (self.options.get("host") or self.options.get("hostaddr") or "").split(",")
        ports = (self.options.get("port") or "").split(",")
        ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
        shown = (
            f"{_bracketed(host) or 'the default host'}:{port or DEFAULT_PORT}"
            for host, port in zip(hosts, ports, strict=True)
        )
        return ",".join(shown)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _from_url(rest: str) -> dict[str, str]:
    found = _URL.fullmatch(rest)
    if found is None or "@" in (found["database"] or ""):
        raise ValueError(_AMBIGUOUS)
    credentials, is_named, hosts = found["authority"].rpartition("@")
    user, _, password = credentials.partition(":")
    named = {"user": user, "password": password, **_hosts(hosts), "dbname": found["database"] or ""}
    options = dict(_options(found["options"] or "", may_hold_at=not is_named))
    return {name: _decoded(value) for name, value in named.items() if value} | options


def _hosts(hosts: str) -> dict[str, str]:
    found = [_HOST.fullmatch(one) for one in hosts.split(",")]
    if not all(found):
        raise ValueError(f"its port is not a number; {_AMBIGUOUS}")
    ports = ",".join(one["port"] or "" for one in found if one)
    return {
        "host": ",".join(one["host"].strip("[]") for one in found if one),
        "port": ports if ports.strip(",") else "",
    }


def _options(query: str, *, may_hold_at: bool) -> Iterator[tuple[str, str]]:
    for pair in filter(None, query.split("&")):
        name, is_given, value = pair.partition("=")
        is_torn = "@" in pair and not (may_hold_at and name in _MAY_HOLD_AT)
        if not is_given or is_torn or not re.fullmatch(r"\w+", name):
            raise ValueError(f"behind the `?` stand options of libpq, as in `sslmode=require`; {_AMBIGUOUS}")
        yield name, _decoded(value)


def _decoded(text: str) -> str:
    """Decode a part; a `%` that begins no escape is kept."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text


def _from_pairs(text: str) -> dict[str, str]:
    options, end = {}, 0
    while end < len(text):
        found = _PAIR.match(text, end)
        if found is None:
            raise ValueError("an address is postgresql://user@host/database or `host=... dbname=... user=...`")
        options[found[1]] = re.sub(r"\\(.)", r"\1", found[2] if found[2] is not None else found[3], flags=re.DOTALL)
        end = found.end()
    return options


MAX_WORDS = 300


class PostgresFailure(Enum):
    """Failures that do not depend on the statement."""

    REFUSED = auto()  # the login, the database, or a right that is missing
    TOO_SLOW = auto()  # a time-out of the server or of the connection
    UNREACHABLE = auto()  # no answer, or a connection that broke


def failure_of(state: str | None, text: str) -> PostgresFailure | None:
    """Classify by the SQLSTATE if there is one, otherwise by the text; None for any other kind of failure."""
    return _by_state(state) if state else _by_text(text)


def server_words(text: str) -> str:
    """Return the message of the server, or else of libpq or the driver, in one line."""
    if found := _PRIMARY.search(text):
        return found[1].strip()[:MAX_WORDS]
    said = _ERRNO.sub("", _LIBPQ.sub("", _DRIVER.sub("", text)))
    return (
        "; ".join(line.strip() for line in said.splitlines() if line.strip())[:MAX_WORDS]
        or "the driver gives no reason"
    )


_PRIMARY = re.compile(r"(?:ERROR|FATAL|PANIC):\s+([^\n]*)")
# Text before the cause: Hakiri's messages show the address themselves.
_LIBPQ = re.compile(
    r"connection to server (?:at|on) [^\n]*? failed: |could not connect to server: |connection failed: "
)
_DRIVER = re.compile(r"^(?:[A-Z_ ]+: )?(?:\[libpq\])?\s*(?:Failed to connect(?: to server)?:?)?\s*", re.IGNORECASE)
_ERRNO = re.compile(r"\[Errno -?\d+\] ")

# Drivers give no SQLSTATE while connecting, and one of them none while streaming, so the text is matched.
_REFUSED = re.compile(
    r"authentication failed|no pg_hba.conf|(role|database) \"[^\"]*\" does not exist|no password"
    r"|permission denied|is not permitted to log in|too many connections for (role|database)"
)
_TOO_SLOW = re.compile(r"(statement|lock) timeout|timeout expired|idle-in-transaction timeout")
_UNREACHABLE = re.compile(
    r"closed the connection|could not (connect|receive|send|translate)|connection to server|terminating connection"
    r"|Connection refused|SSL|PQgetCopyData|starting up|shutting down|too many clients|failed to resolve host"
)


def _by_state(state: str) -> PostgresFailure | None:
    match state[:2], state:
        case ("28" | "3D", _) | (_, "42501"):
            return PostgresFailure.REFUSED
        case _, "57014" | "55P03" | "25P03":
            return PostgresFailure.TOO_SLOW
        case ("08" | "53" | "57" | "58", _):
            return PostgresFailure.UNREACHABLE
        case _:
            return None


def _by_text(text: str) -> PostgresFailure | None:
    patterns = (
        (_REFUSED, PostgresFailure.REFUSED),
        (_TOO_SLOW, PostgresFailure.TOO_SLOW),
        (_UNREACHABLE, PostgresFailure.UNREACHABLE),
    )
    return next((kind for pattern, kind in patterns if pattern.search(text)), None)
