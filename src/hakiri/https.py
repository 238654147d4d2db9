"""Sends one HTTPS request to an address that was checked before, within a time limit, and trusts only its host.

Webhooks and components in WebAssembly use it. docs/dependencies.md says why no library does: they look up names
themselves, and limit the time of each read instead of the whole exchange.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import Event, Thread, Timer
from time import monotonic

from hakiri.spec.fields.address import Address

_LEAST_SECONDS = 0.001

Resolver = Callable[[str, int], tuple[str, ...]]
"""Returns every address of a host and port, as text. Raises OSError."""

Policy = Callable[[str], bool]
"""Returns whether a request may go to the address."""

# Addresses that are not public by the registries of RFC 6890 and its successors.
_NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),  # the last is a cloud's own, in a public range
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
_NOT_UNICAST = tuple(
    map(
        IPv6Network,
        # Protocols and Teredo, documentation, 6to4, documentation: none is a server's own address.
        ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)


class NotAllowed(Exception):
    """No request may go to the host. The text is one line."""


class TooLate(Exception):
    """The exchange took longer than its time limit."""


class TooLarge(Exception):
    """The answer has more bytes than were asked for."""


def is_public(address: str) -> bool:
    """Return whether the address is on the open internet; False for a text that is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    match found:
        case IPv4Address():
            return not any(found in network for network in _NOT_PUBLIC)
        case IPv6Address():
            # NAT64 (64:ff9b::/96, 64:ff9b:1::/48) is not public: its network decides where it leads.
            return found in _UNICAST and not any(found in network for network in _NOT_UNICAST)


def resolve(host: str, port: int) -> tuple[str, ...]:
    """Return the answer of the system's resolver. Raises OSError."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(place[0]) for *_, place in answers))


def guarded(host: str, port: int, *, resolver: Resolver = resolve, policy: Policy = is_public) -> tuple[str, ...]:
    """Return the host's addresses, looked up once; a connection uses these and looks up no others.

    Raises NotAllowed if there is none, or if one of them is not allowed; OSError.
    """
    addresses = resolver(host, port)
    if not addresses:
        raise NotAllowed(f"`{host}` has no address")
    if any(not policy(address) for address in addresses):
        # The address is left out of the message: an internal resolver's answers are not for everyone.
        raise NotAllowed(f"`{host}` leads to an address that is not public")
    return addresses


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    retry_after: str
    """The header `Retry-After`; empty without one."""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpsClient:
    """A way to send requests. Tests replace the resolver, the policy, and the authority to trust."""

    resolver: Resolver = resolve
    policy: Policy = is_public
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context

    def send(
        self, method: str, address: Address, body: bytes, headers: Mapping[str, str], *, seconds: float, most: int = 0
    ) -> Reply:
        """Send a request and return the answer, with a body of at most so many bytes. Follows no redirects.

        The body is not read if `most` is 0. A repeat sends again. Raises NotAllowed for a host that may not be called,
        TooLate, TooLarge, ssl.SSLCertVerificationError, and OSError or http.client.HTTPException for other failures.
        """
        deadline = monotonic() + seconds
        places = self._places(address, deadline)
        with _connected(places, address.port, deadline) as connected:
            secured = self.trust().wrap_socket(connected, server_hostname=address.host, do_handshake_on_connect=False)
        with secured, _ending(secured, deadline):
            secured.do_handshake()
            connection = http.client.HTTPSConnection(address.host, address.port, context=secured.context)
            connection.sock, connection.auto_open = secured, 0  # no further lookup, no proxy
            connection.request(method, address.path, body=body, headers=dict(headers))
            with connection.getresponse() as response:
                answer = response.read(most + 1) if most else b""
        if len(answer) > most:
            raise TooLarge
        if most and response.length:  # `read` with a limit does not check it
            raise http.client.IncompleteRead(answer, response.length)
        return Reply(response.status, response.headers.get("Retry-After", ""), answer)

    def _places(self, address: Address, deadline: float) -> tuple[str, ...]:
        """Return the host's checked addresses. A resolver cannot be stopped, so one that is late is left running."""
        found: list[tuple[str, ...] | BaseException] = []

        def ask() -> None:
            try:
                found.append(guarded(address.host, address.port, resolver=self.resolver, policy=self.policy))
            except (NotAllowed, OSError) as failure:
                found.append(failure)

        asking = Thread(target=ask, daemon=True, name="resolver")
        asking.start()
        asking.join(_left(deadline))
        if not found:
            raise TooLate
        answer = found[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _connected(places: tuple[str, ...], port: int, deadline: float) -> socket.socket:
    """Connect to the first of the addresses that accepts."""
    failure: OSError | None = None
    for place in places:
        try:
            connected = socket.create_connection((place, port), timeout=_left(deadline))
        except TimeoutError as late:
            raise TooLate from late
        except OSError as refused:
            failure = refused
            continue
        connected.settimeout(None)
        return connected
    raise failure or OSError("no address")


@contextmanager
def _ending(connected: socket.socket, deadline: float) -> Iterator[None]:
    """Shut the connection down at the deadline; a socket timeout would restart with every byte."""
    is_cut = Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            # Not the method of the TLS socket, which would drop its TLS state while another thread reads.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    watch = Timer(_left(deadline), cut)
    watch.daemon = True
    watch.start()
    try:
        yield
    except (OSError, http.client.HTTPException) as failure:
        if is_cut.is_set():
            raise TooLate from failure
        raise
    finally:
        watch.cancel()
    if is_cut.is_set():
        raise TooLate  # a truncated answer may look complete


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TooLate
    return max(left, _LEAST_SECONDS)
