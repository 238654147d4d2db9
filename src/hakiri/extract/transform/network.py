"""Sends a component's HTTPS requests: only to permitted hosts, wherever their names lead."""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass, field

from hakiri.https import HttpsClient, NotAllowed, TooLarge, TooLate
from hakiri.spec.fields.address import Address, HostRule, allows, read_address

MAX_REQUEST_BYTES = 16 << 20
MAX_RESPONSE_BYTES = 16 << 20
_KIND = re.compile(r"[A-Za-z0-9.+/;= _-]{0,200}")


@dataclass
class Unanswered(Exception):
    """A request got no answer. The component receives the reason."""

    reason: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """The network access of a component."""

    hosts: tuple[HostRule, ...]
    client: HttpsClient = field(default_factory=lambda: HttpsClient(policy=lambda _address: True))
    """Hosts inside the network are reached as well: the manifest names them."""

    def send(self, method: str, url: str, kind: str, body: bytes, *, seconds: float) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer. Follows no redirects. A repeat sends again.

        Raises Unanswered.
        """
        address = self._address(url)
        if method not in ("GET", "POST") or not _KIND.fullmatch(kind):
            raise Unanswered("a request is GET or POST, with a plain content type")
        headers = {"Content-Type": kind} if kind else {}
        try:
            reply = self.client.send(method, address, body, headers, seconds=seconds, most=MAX_RESPONSE_BYTES)
        except TooLarge as large:
            raise Unanswered(f"{address} answered with more than {MAX_RESPONSE_BYTES >> 20} MiB") from large
        except TooLate as late:
            raise Unanswered(f"{address} gave no answer in time", may_pass=True) from late
        except (OSError, http.client.HTTPException, NotAllowed) as failure:
            raise Unanswered(f"{address} gave no answer: {failure}", may_pass=True) from failure
        return reply.status, reply.body

    def _address(self, url: str) -> Address:
        try:
            address = read_address(url)
        except ValueError:
            raise Unanswered("an address is https://, with a host by its name") from None
        if not allows(self.hosts, address):
            raise Unanswered(f"requests to {address} are not granted")
        return address
