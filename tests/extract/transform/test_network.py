"""A component reaches the hosts it is granted, and nothing else, for as long as it has time."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from time import monotonic, sleep

import pytest

from extract.transform.modules import bytes_at, component, module
from hakiri.extract.transform.guest import Excess, Failure, Guest, Limits, Silence
from hakiri.extract.transform.network import MAX_RESPONSE_BYTES, Network
from hakiri.https import HttpsClient
from hakiri.spec.fields.address import HostRule
from land.hooks.receiver import HOST, LOOPBACK, Receiver, receiving

SEND = f'(import "hakiri:connector/network@0.1.0" "send" (func $send (param {"i32 " * 9})))'
ASK = """
  (call $send {words} (local.get $at) (local.get $length) (i32.const 512))
  (if (result i32) (i32.load8_u (i32.const 512))
    (then (call $answer (i32.const 1) (i32.load (i32.const 516)) (i32.load (i32.const 520))))
    (else (call $answer (i32.const 0) (i32.load (i32.const 520)) (i32.load (i32.const 524)))))
"""


def asking(url: str, *, method: str = "POST", kind: str = "text/plain") -> bytes:
    """A component that sends what it is given to an address, and answers with the answer."""
    data, words = "", ""
    for at, text in zip((1024, 1056, 3072), (method, kind, url), strict=True):
        data += bytes_at(at, text.encode())
    for at, text in ((1024, method), (3072, url), (1056, kind)):
        words += f"(i32.const {at}) (i32.const {len(text)}) "
    return module(apply=ASK.format(words=words), imports=SEND, extra=data)


def is_any(_address: str) -> bool:
    return True


def guest(raw: bytes, receiver: Receiver | None = None, *, hosts: str = HOST, seconds: float = 20) -> Guest:
    port = receiver.port if receiver else 1
    trust = receiver.trust if receiver else ssl.create_default_context

    def resolver(host: str, asked: int) -> tuple[str, ...]:
        assert (host, asked) == (HOST, port)
        return (LOOPBACK,)

    made = component(raw, network=(f"{hosts}:{port}",))
    network = Network((HostRule.parse(f"{hosts}:{port}"),), HttpsClient(resolver, is_any, trust))
    return Guest(made.code, made.module, Limits(64 << 20, 10**9, seconds), network)


def saying(*parts: bytes) -> Callable[[ssl.SSLSocket], None]:
    def behave(connection: ssl.SSLSocket) -> None:
        for part in parts:
            connection.sendall(part)

    return behave


def whole(status: int, body: bytes) -> bytes:
    return (
        f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\nLocation: https://b.example.com/\r\n\r\n".encode()
        + body
    )


def test_a_component_that_is_granted_a_host_reaches_it() -> None:
    with receiving(saying(whole(200, b"four"))) as receiver:
        assert guest(asking(receiver.url), receiver).apply(b"rows") == b"four"
    assert receiver.bodies() == [b"rows"]
    assert receiver.requests[0].startswith(b"POST /landed?from=test HTTP/1.1\r\n")
    assert receiver.header("Content-Type") == "text/plain"
    assert receiver.names == [HOST]


def test_a_redirect_is_an_answer() -> None:
    with receiving(saying(whole(302, b"elsewhere"))) as receiver:
        assert guest(asking(receiver.url), receiver).apply(b"") == b"elsewhere"
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://other.example.com:1/", "requests to other.example.com:1 are not granted"),
        (f"https://{HOST}:2/", f"requests to {HOST}:2 are not granted"),
        (f"http://{HOST}:1/", "an address is https://"),
        ("https://127.0.0.1:1/", "an address is https://"),
        ("file:///etc/passwd", "an address is https://"),
        (f"https://{HOST}:1@other.example.com/", "an address is https://"),
    ],
)
def test_it_reaches_nobody_else(url: str, reason: str) -> None:
    with pytest.raises(Failure, match=reason) as failed:
        guest(asking(url)).apply(b"")
    assert type(failed.value) is Failure


@pytest.mark.parametrize(("method", "kind"), [("DELETE", ""), ("POST /x HTTP/1.1\r\n", ""), ("GET", "a\r\nCookie: b")])
def test_a_request_of_another_form_is_not_sent(method: str, kind: str) -> None:
    with pytest.raises(Failure, match="a request is GET or POST"):
        guest(asking(f"https://{HOST}:1/", method=method, kind=kind)).apply(b"")


def test_a_host_that_is_not_there_may_be_there_later() -> None:
    with pytest.raises(Silence, match="gave no answer"):
        guest(asking(f"https://{HOST}:1/")).apply(b"")


def test_a_host_that_nobody_vouches_for_is_told_nothing() -> None:
    with receiving(name="other.example.com") as receiver, pytest.raises(Silence, match="certificate verify failed"):
        guest(asking(receiver.url), receiver).apply(b"secret")
    assert receiver.requests == []


def drip(connection: ssl.SSLSocket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b"x")
        sleep(0.05)


def test_an_answer_that_takes_for_ever_ends_in_time() -> None:
    begun = monotonic()
    with receiving(drip) as receiver, pytest.raises(Failure):
        guest(asking(receiver.url), receiver, seconds=1).apply(b"")
    assert monotonic() - begun < 10


def test_an_answer_that_breaks_off_is_none() -> None:
    with (
        receiving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as receiver,
        pytest.raises(Silence, match="gave no answer"),
    ):
        guest(asking(receiver.url), receiver).apply(b"")


def test_an_answer_without_end_is_not_kept() -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {MAX_RESPONSE_BYTES + 1}\r\n\r\n".encode()
    with (
        receiving(saying(head, b"x" * (MAX_RESPONSE_BYTES + 1))) as receiver,
        pytest.raises(Failure, match="more than"),
    ):
        guest(asking(receiver.url), receiver).apply(b"")


def test_what_starts_before_it_is_asked_sends_nothing() -> None:
    start = f"(func $go (call $send {'(i32.const 0) ' * 9})) (start $go)"
    with pytest.raises(Failure, match="before it is asked"):
        guest(module(imports=SEND, extra=start))


def test_a_request_from_beyond_its_memory_is_not_sent() -> None:
    words = "(i32.const -8) (i32.const 64) " * 3
    with pytest.raises(Failure, match="outside its memory"):
        guest(module(apply=ASK.format(words=words), imports=SEND)).apply(b"")
    words = "(i32.const 0) (i32.const -1) " * 3
    with pytest.raises(Excess, match="sends more than"):
        guest(module(apply=ASK.format(words=words), imports=SEND)).apply(b"")
