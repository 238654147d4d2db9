"""Addresses of webhooks: one host by name on an allowed port, without anything ambiguous."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from hakiri.spec.reference import references_in

HTTPS = 443
_MAX_URL, _MAX_HOST = 2_000, 253
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = rf"(?:{_LABEL}\.)+{_LABEL}"
_PORT = r"(?::(?P<port>[1-9][0-9]{0,4}))?"
_URL = re.compile(
    rf"https://(?P<host>{_HOST}){_PORT}(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)",
    re.IGNORECASE,
)
_RULE = re.compile(rf"(?P<any>\*\.)?(?P<host>{_HOST}){_PORT}", re.IGNORECASE)
# Some resolvers read a name whose last part is a number as an IP address: `127.1`, `0x7f.1`.
_NUMERIC = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a webhook. The path may contain a secret and is never shown."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        return self.host if self.port == HTTPS else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HostRule:
    """A host that webhooks may be sent to, or all hosts below it."""

    host: str
    port: int
    is_parent: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `hooks.example.com`, `*.example.com` or `hooks.example.com:8443`. Raises ValueError."""
        found = _RULE.fullmatch(text)
        if not found or _problem_of_host(found["host"]):
            raise ValueError("a host is written like `hooks.example.com`, `*.example.com` or `hooks.example.com:8443`")
        return cls(found["host"].lower(), _port(found["port"]), bool(found["any"]))

    def allows(self, address: Address) -> bool:
        if self.port != address.port:
            return False
        return address.host.endswith(f".{self.host}") if self.is_parent else address.host == self.host


def read_address(url: str) -> Address:
    """Parse a URL. Raises ValueError, in one line and without the URL in it."""
    if not url.lower().startswith("https://"):
        raise ValueError("a webhook needs an https:// address")
    found = _URL.fullmatch(url) if len(url) <= _MAX_URL else None
    if found is None:
        raise ValueError(_problem_of_url(url))
    if problem := _problem_of_host(found["host"]):
        raise ValueError(problem)
    path = found["path"]
    return Address(found["host"].lower(), _port(found["port"]), path if path.startswith("/") else f"/{path}")


def known_address(url: str) -> Address | None:
    """Parse a URL whose references are not resolved; None if its host contains one."""
    authority = url.partition("://")[2].partition("/")[0]
    if references_in(authority):
        return None
    return read_address(_REFERENCE.sub("x", url))


def allows(rules: tuple[HostRule, ...], address: Address) -> bool:
    """Return whether one of the rules allows the address."""
    return any(rule.allows(address) for rule in rules)


def _port(text: str | None) -> int:
    port = int(text or HTTPS)
    if port > 65_535:
        raise ValueError("there is no such port")
    return port


def _problem_of_host(host: str) -> str | None:
    if len(host) > _MAX_HOST:
        return "a webhook's host has at most 253 characters"
    if _NUMERIC.fullmatch(host.rpartition(".")[2]):
        return "a webhook's host is a name, not an IP address"
    return None


def _problem_of_url(url: str) -> str:
    authority = re.split(r"[/?#\\]", url[len("https://") :], maxsplit=1)[0]
    host = authority.rpartition(":")[0] if re.search(r":[0-9]*$", authority) else authority
    if not url.isascii():
        return "a webhook's address is ASCII: a host of another script is written as `xn--...`"
    if "@" in authority:
        return "a webhook's address has no user or password"
    if "[" in authority or _NUMERIC.fullmatch(host.rpartition(".")[2]):
        return "a webhook's host is a name, not an IP address"
    if host.endswith("."):
        return "a webhook's host does not end in a dot"
    if "#" in url:
        return "a webhook's address has no fragment"
    return "a webhook's address is `https://host.domain/path`, without anything that could be read in two ways"
