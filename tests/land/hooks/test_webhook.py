"""A webhook reaches the address that was judged, proves who sent it, ends in time, and is retried where that helps."""

from __future__ import annotations

import hmac
import json
import socket
import ssl
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from clocks import ManualClock
from hakiri.errors import HookError, Recovery, mask, render
from hakiri.https import HttpsClient
from hakiri.land.errors import HookFailed, HookRefused, HookUnanswered
from hakiri.land.hooks.webhook import Webhooks
from hakiri.model.chunk import TableKey
from hakiri.model.hook import HookCall
from hakiri.settings import Settings
from hakiri.spec.fields.address import HostRule
from hakiri.spec.hook import WebhookHook
from land.hooks.receiver import HOST, LOOPBACK, Receiver, answer, receiving

SECRET = "correct-horse-battery"
CALL = HookCall(
    project="p", table=TableKey("shop", "orders"), name="crm.orders", hook="post_hook[0]", number=7, version=9
)


def loopback(_host: str, _port: int) -> tuple[str, ...]:
    return (LOOPBACK,)


def webhooks(receiver: Receiver, clock: ManualClock, **parts: Any) -> Webhooks:
    """Webhooks that believe the test's authority, and whose policy takes this machine for a public one."""
    given = {"resolver": loopback, "policy": lambda address: address == LOOPBACK, "trust": receiver.trust, **parts}
    look_up = Settings(cwd=Path(), environment={"KEY": SECRET, "HOST": HOST}).look_up
    return Webhooks((HostRule.parse(receiver.rule),), look_up, clock, HttpsClient(**given))


def hook(url: str, **keys: Any) -> WebhookHook:
    return WebhookHook.model_validate({"type": "webhook", "url": url, "timeout": "30s", **keys})


def refusal(kind: type[HookError], send: Callable[[], None]) -> HookError:
    with pytest.raises(kind) as caught:
        send()
    assert "`shop`.`orders`" in render(caught.value)
    assert "post_hook[0]" in render(caught.value)
    return caught.value


def test_the_other_side_hears_what_has_landed_under_a_key(clock: ManualClock) -> None:
    with receiving() as receiver:
        webhooks(receiver, clock).send(hook(receiver.url), CALL)
        (body,) = map(json.loads, receiver.bodies())
        assert body == {
            "event": "landed",
            "project": "p",
            "pipeline": "shop",
            "table": "orders",
            "name": "crm.orders",
            "hook": "post_hook[0]",
            "landing": 7,
            "version": 9,
            "key": "p/shop/orders/7/post_hook[0]",
        }
        assert receiver.header("Idempotency-Key") == body["key"]
        assert receiver.header("Host") == receiver.rule
        assert receiver.requests[0].startswith(b"POST /landed?from=test HTTP/1.1\r\n")
        assert receiver.names == [HOST], "the certificate is asked for by the host's name, not by its address"


def test_whoever_knows_the_secret_can_tell_that_the_body_is_ours(clock: ManualClock) -> None:
    with receiving() as receiver:
        webhooks(receiver, clock).send(hook(receiver.url, secret="${secret:KEY}"), CALL)
        timestamp = receiver.header("X-Hakiri-Timestamp")
        assert timestamp == str(int(clock.now().timestamp()))
        told = timestamp.encode() + b"." + receiver.bodies()[0]
        expected = hmac.new(SECRET.encode(), told, sha256).hexdigest()
        assert receiver.header("X-Hakiri-Signature") == f"sha256={expected}"
        assert SECRET.encode() not in receiver.requests[0]


def test_a_reference_in_the_address_is_resolved_and_never_shown(clock: ManualClock) -> None:
    with receiving(answer(404)) as receiver:
        url = f"https://${{env:HOST}}:{receiver.port}/${{secret:KEY}}"
        error = refusal(HookFailed, lambda: webhooks(receiver, clock).send(hook(url), CALL))
        assert receiver.requests[0].startswith(f"POST /{SECRET} ".encode())
        assert SECRET not in str(error)
        assert mask(SECRET) == "***"


@pytest.mark.parametrize(
    ("reply", "kind", "wait"),
    [
        (answer(500), HookUnanswered, None),
        (answer(503, "Retry-After: 7"), HookUnanswered, 7.0),
        (answer(429, "Retry-After: 2"), HookUnanswered, 2.0),
        (answer(429, "Retry-After: 999999999"), HookUnanswered, 300.0),
        (answer(429, "Retry-After: -1"), HookUnanswered, None),
        (answer(429, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"), HookUnanswered, 0.0),
        (answer(429, "Retry-After: soon"), HookUnanswered, None),
        (answer(400), HookFailed, None),
        (answer(401), HookFailed, None),
        (answer(410), HookFailed, None),
    ],
)
def test_an_answer_is_retried_where_another_may_come(
    clock: ManualClock, reply: Any, kind: type[HookError], wait: float | None
) -> None:
    with receiving(reply) as receiver:
        error = refusal(kind, lambda: webhooks(receiver, clock).send(hook(receiver.url), CALL))
    assert (error.recovery is Recovery.RETRY) == (kind is HookUnanswered)
    assert getattr(error, "retry_after_seconds", None) == wait


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(clock: ManualClock, status: int) -> None:
    with receiving() as elsewhere, receiving(answer(status, f"Location: {elsewhere.url}")) as receiver:
        error = refusal(HookFailed, lambda: webhooks(receiver, clock).send(hook(receiver.url), CALL))
        assert "not followed" in error.reason
        assert elsewhere.peers == []


def test_nobody_listens_is_retried(clock: ManualClock) -> None:
    with receiving() as receiver:
        url, sender = receiver.url, webhooks(receiver, clock)
    reason = refusal(HookUnanswered, lambda: sender.send(hook(url), CALL)).reason
    assert reason.endswith(": Connection refused")


def test_a_connection_that_breaks_is_retried(clock: ManualClock) -> None:
    with receiving(lambda connection: connection.close()) as receiver:
        error = refusal(HookUnanswered, lambda: webhooks(receiver, clock).send(hook(receiver.url), CALL))
        assert "Error" not in error.reason


def test_a_certificate_for_another_name_is_not_believed(clock: ManualClock) -> None:
    with receiving(name="other.example.com") as receiver:
        error = refusal(HookFailed, lambda: webhooks(receiver, clock).send(hook(receiver.url), CALL))
        assert "certificate" in error.reason
        assert receiver.requests == []


def test_a_certificate_of_an_unknown_authority_is_not_believed(clock: ManualClock) -> None:
    with receiving() as receiver:
        sender = webhooks(receiver, clock, trust=ssl.create_default_context)
        assert "certificate" in refusal(HookFailed, lambda: sender.send(hook(receiver.url), CALL)).reason


def test_this_machine_is_refused_by_the_policy_that_is_in_force(clock: ManualClock) -> None:
    with receiving() as receiver:
        sender = Webhooks(
            (HostRule.parse(receiver.rule),),
            lambda _reference: "",
            clock,
            HttpsClient(resolver=loopback, trust=receiver.trust),
        )
        assert "not public" in refusal(HookRefused, lambda: sender.send(hook(receiver.url), CALL)).reason
        assert receiver.peers == []


def test_a_resolver_that_changes_its_answer_is_asked_once(clock: ManualClock) -> None:
    """Rebinding: what is judged is what is connected to."""
    answers = [(LOOPBACK,), ("127.0.0.2",), ("127.0.0.2",)]
    asked: list[str] = []

    def rebinding(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        return answers[len(asked) - 1]

    with receiving() as receiver:
        webhooks(receiver, clock, resolver=rebinding).send(hook(receiver.url), CALL)
        assert (asked, receiver.peers) == ([HOST], [LOOPBACK])
        error = refusal(
            HookRefused, lambda: webhooks(receiver, clock, resolver=rebinding).send(hook(receiver.url), CALL)
        )
        assert "not public" in error.reason
        assert len(receiver.peers) == 1


def test_a_proxy_of_the_environment_is_not_asked(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with receiving() as receiver:
        webhooks(receiver, clock).send(hook(receiver.url), CALL)
        assert len(receiver.requests) == 1


def test_a_host_that_is_not_allowed_is_not_even_looked_up(clock: ManualClock) -> None:
    def never(_host: str, _port: int) -> tuple[str, ...]:
        raise AssertionError("asked")

    with receiving() as receiver:
        sender = webhooks(receiver, clock, resolver=never)
        error = refusal(HookRefused, lambda: sender.send(hook("https://other.example.com/"), CALL))
        assert "may not be sent to `other.example.com`" in error.reason


def dripping(first: bytes) -> Callable[[ssl.SSLSocket], None]:
    """A server that always has one more byte to say."""

    def drip(connection: ssl.SSLSocket) -> None:
        connection.sendall(first)
        while not over.wait(0.05):
            connection.sendall(b"x")

    over = Event()
    return drip


@pytest.mark.parametrize("first", [b"HTTP/1.1 200 O", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: "])
def test_a_server_that_drips_does_not_hold_the_run(clock: ManualClock, first: bytes) -> None:
    with receiving(dripping(first)) as receiver:
        error = refusal(
            HookUnanswered, lambda: webhooks(receiver, clock).send(hook(receiver.url, timeout="300ms"), CALL)
        )
        assert "took longer than 0.3 s" in error.reason


def test_a_server_that_never_shakes_hands_does_not_hold_the_run(clock: ManualClock) -> None:
    with receiving() as receiver, socket.create_server((LOOPBACK, 0)) as silent:
        receiver.listening.close()
        receiver.listening = silent
        sender = webhooks(receiver, clock)
        error = refusal(HookUnanswered, lambda: sender.send(hook(receiver.url, timeout="300ms"), CALL))
        assert "took longer" in error.reason


def test_a_resolver_that_hangs_does_not_hold_the_run(clock: ManualClock) -> None:
    over = Event()

    def hanging(_host: str, _port: int) -> tuple[str, ...]:
        over.wait()
        return (LOOPBACK,)

    with receiving() as receiver:
        sender = webhooks(receiver, clock, resolver=hanging)
        refusal(HookUnanswered, lambda: sender.send(hook(receiver.url, timeout="200ms"), CALL))
        over.set()


def test_a_body_of_any_length_is_not_read(clock: ManualClock) -> None:
    with receiving(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")) as receiver:
        webhooks(receiver, clock).send(hook(receiver.url), CALL)


def test_headers_without_end_are_refused(clock: ManualClock) -> None:
    def flood(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X: y\r\n" * 1_000)

    with receiving(flood) as receiver:
        refusal(HookUnanswered, lambda: webhooks(receiver, clock).send(hook(receiver.url), CALL))


def test_the_next_address_is_tried_where_the_first_takes_no_connection(clock: ManualClock) -> None:
    with receiving() as receiver:
        sender = webhooks(receiver, clock, resolver=lambda _host, _port: ("127.0.0.9", LOOPBACK), policy=bool)
        sender.send(hook(receiver.url), CALL)
        assert receiver.peers == [LOOPBACK]
