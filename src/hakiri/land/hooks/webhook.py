"""Send a signed webhook about a landing, with a key by which the receiver recognizes repeats."""

from __future__ import annotations

import hmac
import http.client
import json
import ssl
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from hashlib import sha256

from hakiri.https import HttpsClient, NotAllowed, Reply, TooLate
from hakiri.land.errors import HookFailed, HookRefused, HookUnanswered
from hakiri.land.hooks.facts import facts_of, failed, words_of
from hakiri.model.clock import Clock
from hakiri.model.hook import HookCall
from hakiri.spec.fields.address import Address, HostRule, allows, read_address
from hakiri.spec.hook import WebhookHook
from hakiri.spec.reference import Reference, resolve

SIGNATURE, TIMESTAMP, KEY = "X-Hakiri-Signature", "X-Hakiri-Timestamp", "Idempotency-Key"
MAX_WAIT_SECONDS = 300.0
"""The longest wait that a receiver can ask for."""

_TOO_MANY, _FIRST_OURS, _FIRST_THEIRS = 429, 400, 500
_DONE = range(200, 300)


class Webhooks:
    """Sends requests to hosts that the project allows."""

    def __init__(
        self, rules: tuple[HostRule, ...], look_up: Callable[[Reference], str], clock: Clock, client: HttpsClient
    ) -> None:
        self._rules = rules
        self._look_up = look_up
        self._clock = clock
        self._client = client

    def send(self, hook: WebhookHook, call: HookCall) -> None:
        """Send the request and wait for a response with success.

        A repeat is sent again with the same key. Raises UnresolvedReference, HookRefused, HookFailed for a permanent
        failure, or HookUnanswered for one that may pass.
        """
        address = self._address(hook, call)
        body = json.dumps({"event": _event(call), **facts_of(call)}, separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "hakiri", KEY: call.key}
        if hook.secret:
            headers |= signed(body, resolve(hook.secret, self._look_up), int(self._clock.now().timestamp()))
        reply = self._reply(hook, call, address, body, headers)
        if reply.status not in _DONE:
            raise self._unwelcome(call, address, reply)

    def _address(self, hook: WebhookHook, call: HookCall) -> Address:
        try:
            address = read_address(resolve(hook.url, self._look_up))
        except ValueError as wrong:
            raise failed(HookRefused, call, str(wrong)) from None
        if not allows(self._rules, address):
            raise failed(HookRefused, call, f"webhooks may not be sent to `{address}`")
        return address

    def _reply(
        self, hook: WebhookHook, call: HookCall, address: Address, body: bytes, headers: dict[str, str]
    ) -> Reply:
        seconds = hook.timeout.total_seconds()
        try:
            return self._client.send("POST", address, body, headers, seconds=seconds)
        except NotAllowed as refused:
            raise failed(HookRefused, call, str(refused)) from None
        except TooLate:
            raise failed(HookUnanswered, call, f"`{address}` took longer than {seconds:g} s") from None
        except ssl.SSLCertVerificationError as untrue:
            reason = f"the certificate of `{address}` is not good: {untrue.verify_message}"
            raise failed(HookFailed, call, reason) from untrue
        except (OSError, http.client.HTTPException) as failure:
            raise failed(HookUnanswered, call, f"`{address}`: {words_of(failure)}") from failure

    def _unwelcome(self, call: HookCall, address: Address, reply: Reply) -> HookFailed | HookUnanswered:
        said = f"`{address}` answered with {reply.status}"
        if reply.status == _TOO_MANY or reply.status >= _FIRST_THEIRS:
            wait = self._wait(reply.retry_after)
            return failed(HookUnanswered, call, said, retry_after_seconds=wait)
        is_elsewhere = reply.status < _FIRST_OURS
        return failed(HookFailed, call, f"{said}, and it is not followed elsewhere" if is_elsewhere else said)

    def _wait(self, asked: str) -> float | None:
        """Return the wait that the receiver asks for, given in seconds or as a date."""
        try:
            until = None if asked.isdecimal() else parsedate_to_datetime(asked)
            seconds = float(asked) if until is None else (until - self._clock.now()).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(seconds, 0.0), MAX_WAIT_SECONDS)


def signed(body: bytes, secret: str, timestamp: int) -> dict[str, str]:
    """Return the headers that prove the sender and the time to a receiver who knows the secret."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()
    return {TIMESTAMP: str(timestamp), SIGNATURE: f"sha256={digest}"}


def _event(call: HookCall) -> str:
    return "landing" if call.version is None else "landed"
