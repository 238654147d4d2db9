"""One https request goes to one address that was judged before, ends in time, and believes nobody but the host."""

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
    """The exchange took longer than it was given."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the other side said, as far as anybody reads it."""

    status: int
    retry_after: str


@dataclass(frozen=True, slots=True)
class Poster:
    """A way to send one request. Tests hand in another resolver, another policy, and the authority they trust."""

    resolver: Resolver = resolve
    policy: Policy = is_public
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context

    def post(self, address: Address, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Reply:
        """The status of the answer; its body is not read, and a redirect is an answer like any other.

        Raises NotAllowed for a host that may not be called, TooLate, ssl.SSLCertVerificationError, and OSError or
        http.client.HTTPException for whatever else went wrong on the way.
        """
        deadline = monotonic() + seconds
        places = self._places(address, deadline)
        with _connected(places, address.port, deadline) as connected:
            secured = self.trust().wrap_socket(connected, server_hostname=address.host, do_handshake_on_connect=False)
        with secured, _ending(secured, deadline):
            secured.do_handshake()
            return _exchange(secured, address, body, headers)

    def _places(self, address: Address, deadline: float) -> tuple[str, ...]:
        """The judged addresses of the host. A resolver cannot be stopped, so it is left behind when it is late."""
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
    """A connection to the first of the addresses that takes one."""
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
    """What is done with the connection ends in time; a timeout of the socket would begin anew with every byte."""
    is_cut = Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            # Not the method of a TLS socket, which forgets its TLS under the reader's hands.
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
        raise TooLate  # an answer that was cut may read like a whole one


def _exchange(secured: ssl.SSLSocket, address: Address, body: bytes, headers: Mapping[str, str]) -> Reply:
    connection = http.client.HTTPSConnection(address.host, address.port, context=secured.context)
    connection.sock, connection.auto_open = secured, 0  # no name is looked up again, no proxy is asked
    connection.request("POST", address.path, body=body, headers=dict(headers))
    response = connection.getresponse()
    return Reply(response.status, response.headers.get("Retry-After", ""))


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TooLate
    return max(left, _LEAST_SECONDS)
