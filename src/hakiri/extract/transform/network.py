"""Sends a component's HTTPS requests: only to permitted hosts, with a time limit, without following redirects."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Event, Timer

from hakiri.spec.fields.address import Address, HostRule, allows, read_address

MAX_REQUEST_BYTES = 16 << 20
MAX_RESPONSE_BYTES = 16 << 20
_KIND = re.compile(r"[A-Za-z0-9.+/;= _-]{0,200}")

Connect = Callable[[tuple[str, int], float], socket.socket]


@dataclass
class Unanswered(Exception):
    """A request got no answer. The component receives the reason."""

    reason: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """The network access of a component. Tests replace `connect` and `trust`."""

    hosts: tuple[HostRule, ...]
    connect: Connect = socket.create_connection
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context

    def send(self, method: str, url: str, kind: str, body: bytes, *, seconds: float) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer. Follows no redirects. A repeat sends again.

        Raises Unanswered.
        """
        address = self._address(url)
        if method not in ("GET", "POST") or not _KIND.fullmatch(kind):
            raise Unanswered("a request is GET or POST, with a plain content type")
        try:
            return self._exchange(address, method, kind, body, seconds)
        except (OSError, http.client.HTTPException) as failure:
            raise Unanswered(f"{address} gave no answer: {failure}", may_pass=True) from failure

    def _address(self, url: str) -> Address:
        try:
            address = read_address(url)
        except ValueError:
            raise Unanswered("an address is https://, with a host by its name") from None
        if not allows(self.hosts, address):
            raise Unanswered(f"requests to {address} are not granted")
        return address

    def _exchange(self, address: Address, method: str, kind: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        seconds = max(seconds, 0.001)
        connected = self.connect((address.host, address.port), seconds)
        with closing(connected), closing(_Cut(connected, seconds)) as cut:
            secured = self.trust().wrap_socket(connected, server_hostname=address.host)
            connection = http.client.HTTPSConnection(address.host, address.port)
            connection.sock, connection.auto_open = secured, 0  # no further DNS lookup, no proxy
            connection.request(method, address.path, body=body, headers={"Content-Type": kind} if kind else {})
            response = connection.getresponse()
            answer = response.read(MAX_RESPONSE_BYTES + 1)
            secured.close()
        if cut.is_made:
            raise TimeoutError  # a truncated answer may look complete
        if len(answer) > MAX_RESPONSE_BYTES:
            raise Unanswered(f"{address} answered with more than {MAX_RESPONSE_BYTES >> 20} MiB")
        return response.status, answer


class _Cut:
    """Shuts a connection down after a total time; a socket timeout would restart with every byte."""

    def __init__(self, connected: socket.socket, seconds: float) -> None:
        self._connected = connected.dup()  # wrapping in TLS detaches the original socket
        self._made = Event()
        self._watch = Timer(seconds, self._cut)
        self._watch.daemon = True
        self._watch.start()

    @property
    def is_made(self) -> bool:
        return self._made.is_set()

    def close(self) -> None:
        self._watch.cancel()
        self._watch.join()
        self._connected.close()

    def _cut(self) -> None:
        self._made.set()
        with suppress(OSError):
            self._connected.shutdown(socket.SHUT_RDWR)
