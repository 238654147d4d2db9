"""The other side of a webhook: a real TLS server on this machine, with a certificate of the test's own authority."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread

import trustme

HOST = "hooks.example.com"
LOOPBACK = "127.0.0.1"

Behaviour = Callable[[ssl.SSLSocket], None]
"""What the server does with a connection once the request is read."""


@dataclass
class Receiver:
    """A server that answers one request after the other, each by its next behaviour; the last one stays."""

    authority: trustme.CA
    listening: socket.socket
    behaviours: list[Behaviour]
    requests: list[bytes] = field(default_factory=list)
    peers: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}/landed?from=test"

    @property
    def rule(self) -> str:
        return f"{HOST}:{self.port}"

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def bodies(self) -> list[bytes]:
        return [request.partition(b"\r\n\r\n")[2] for request in self.requests]

    def header(self, name: str, *, of: int = -1) -> str:
        lines = self.requests[of].partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return next(value for key, _, value in (line.partition(": ") for line in lines) if key.lower() == name.lower())


def answer(status: int, *headers: str) -> Behaviour:
    """Answer with the status and these headers."""
    lines = [f"HTTP/1.1 {status} Said", *headers, "Content-Length: 0", "Connection: close", "", ""]
    return lambda connection: connection.sendall("\r\n".join(lines).encode())


@contextmanager
def receiving(*behaviours: Behaviour, name: str = HOST) -> Iterator[Receiver]:
    """A server with a certificate for the name."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    with socket.create_server((LOOPBACK, 0)) as listening:
        receiver = Receiver(authority, listening, list(behaviours) or [answer(204)])
        context.sni_callback = lambda _socket, told, _context: receiver.names.append(told)
        Thread(target=_serve, args=(receiver, context), daemon=True).start()
        yield receiver
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _serve(receiver: Receiver, context: ssl.SSLContext) -> None:
    with suppress(OSError):
        while True:
            connection, peer = receiver.listening.accept()
            receiver.peers.append(peer[0])
            Thread(target=_answer, args=(receiver, context, connection), daemon=True).start()


def _answer(receiver: Receiver, context: ssl.SSLContext, connection: socket.socket) -> None:
    # A client that does not believe the certificate, or does not wait, goes away in the middle.
    with suppress(OSError, ValueError), context.wrap_socket(connection, server_side=True) as secured:
        receiver.requests.append(_request(secured))
        behave = receiver.behaviours.pop(0) if len(receiver.behaviours) > 1 else receiver.behaviours[0]
        behave(secured)


def _request(secured: ssl.SSLSocket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(secured)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")).split()[1])
    while len(body) < length:
        body += _more(secured)
    return head + b"\r\n\r\n" + body


def _more(secured: ssl.SSLSocket) -> bytes:
    if not (part := secured.recv(65_536)):
        raise ValueError("the client has gone")
    return part
