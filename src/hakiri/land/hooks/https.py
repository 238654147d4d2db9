"""Send an HTTPS request to an address that was checked before, within a time limit."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread, Timer
from time import monotonic

from hakiri.land.hooks.guard import NotAllowed, Policy, Resolver, guarded, is_public, resolve
from hakiri.spec.fields.address import Address

_LEAST_SECONDS = 0.001


class TooLate(Exception):
    """The exchange took longer than allowed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The part of the response that is used."""

    status: int
    retry_after: str


@dataclass(frozen=True, slots=True)
class Poster:
    """Sends one request. Tests pass another resolver, policy and certificate authority."""

    resolver: Resolver = resolve
    policy: Policy = is_public
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context

    def post(self, address: Address, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Reply:
        """Send a POST and return the status. The body of the response is not read, and redirects are not followed.

        Raises NotAllowed for a host that may not be called, TooLate, ssl.SSLCertVerificationError, and OSError or
        http.client.HTTPException for other failures.
        """
        deadline = monotonic() + seconds
        places = self._places(address, deadline)
        with _connected(places, address.port, deadline) as connected:
            secured = self.trust().wrap_socket(connected, server_hostname=address.host, do_handshake_on_connect=False)
        with secured, _ending(secured, deadline):
            secured.do_handshake()
            return _exchange(secured, address, body, headers)

    def _places(self, address: Address, deadline: float) -> tuple[str, ...]:
        """Return the checked addresses of the host. A slow resolver cannot be stopped, so its thread is abandoned."""
        found: list[tuple[str, ...] | BaseException] = []

        def ask() -> None:
            try:
                found.append(guarded(address.host, address.port, resolver=self.resolver, policy=self.policy))
            except (NotAllowed, OSError) as failure:
                found.append(failure)

        asking = Thread(target=ask, daemon=True, name="hook-resolver")
        asking.start()
        asking.join(_left(deadline))
        if not found:
            raise TooLate
        answer = found[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _connected(places: tuple[str, ...], port: int, deadline: float) -> socket.socket:
    """Connect to the first address that accepts a connection."""
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
    """Limit the total time of what is done with the connection; a socket's timeout restarts with every byte."""
    is_cut = Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            # Not the method of the TLS socket, which would drop TLS while it is being read.
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


def _exchange(secured: ssl.SSLSocket, address: Address, body: bytes, headers: Mapping[str, str]) -> Reply:
    connection = http.client.HTTPSConnection(address.host, address.port, context=secured.context)
    connection.sock, connection.auto_open = secured, 0  # no second lookup, no proxy
    connection.request("POST", address.path, body=body, headers=dict(headers))
    response = connection.getresponse()
    return Reply(response.status, response.headers.get("Retry-After", ""))


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TooLate
    return max(left, _LEAST_SECONDS)
