"""A token in a webhook's address is a secret, and an id in it is none."""

from __future__ import annotations

import random
import string

import pytest

from hakiri.spec.reference import shows_token

HOST = "https://hooks.example.com"


@pytest.mark.parametrize(
    "path",
    [
        "/services/T000/B000/XXXXXXXX",
        "/services/T024BE7LD/B0Q5EAPRV/w2Qb8zX0rT5mK1nV4cJ7yL9p",
        "/api/webhooks/123456789012345678/short",
        "/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage",
        "/hooks/catch/12345/abc12de",
        "/trigger/landed/with/key/abc",
        "/webhookb2/a@b/IncomingWebhook/0123456789abcdef0123456789abcdef/x",
        "/run/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "/run?code=aB3dE5gH7jK9mN1pQ3sT5vW7",
        "/in/aB3dE5gH7%6AK9mN1pQ3sT5vW7",
    ],
)
def test_a_token_in_an_address_is_found(path: str) -> None:
    assert shows_token(HOST + path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/landed",
        "/services/${secret:SLACK_PATH}",
        "/services/T000/B000/${secret:SLACK}",
        "/run/${env:PATH_ID}?code=${secret:CODE}",
        "/tables/6f1c2a52-3f0e-4b47-9c0e-0d7f3f6b8a11/landed",
        "/tables/6f1c2a523f0e4b479c0e0d7f3f6b8a11",
        "/v1/warehouses/orders-landed-2026-11-18-europe-west-3",
        "/OrdersLandedNotificationsV2Production",
        "/customer_orders_2026_backfill_v12_final",
        "/1234567890123456789012",
        "/run?from=hakiri&tables=orders,customers,order_items_2026",
        "/arn:aws:sns:eu-central-1:123456789012:orders-landed-topic",
    ],
)
def test_a_name_an_id_and_a_reference_are_no_token(path: str) -> None:
    assert not shows_token(HOST + path)


@pytest.mark.parametrize("letters", [string.ascii_letters + string.digits, string.ascii_lowercase + string.digits])
def test_nearly_every_random_text_is_a_token(letters: str) -> None:
    dice = random.Random(1)  # noqa: S311 no secret is made of it
    found = [shows_token(f"{HOST}/in/{''.join(dice.choices(letters, k=40))}") for _ in range(500)]
    assert sum(found) > 400
