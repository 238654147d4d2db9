"""An address can be read in one way only, and goes nowhere but where the project allows."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from hakiri.spec.fields.address import Address, HostRule, allows, known_address, read_address

CORPUS = tomli.loads((Path(__file__).parents[2] / "fixtures/hooks/urls.toml").read_text(encoding="utf-8"))
REFUSED = [(url, group["why"]) for group in CORPUS["refused"] for url in group["urls"]]


@pytest.mark.parametrize(("url", "why"), REFUSED)
def test_what_could_lead_elsewhere_is_refused(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        read_address(url)
    assert url.strip() not in str(caught.value), "an address may hold a secret"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://hooks.example.com", Address("hooks.example.com", 443, "/")),
        ("https://HOOKS.example.com/a/b?c=d%20e", Address("hooks.example.com", 443, "/a/b?c=d%20e")),
        ("https://hooks.example.com?x=1", Address("hooks.example.com", 443, "/?x=1")),
        ("https://xn--hks-snaa.example.com:8443/@", Address("xn--hks-snaa.example.com", 8443, "/@")),
        ("https://127.0.0.1.example.com/", Address("127.0.0.1.example.com", 443, "/")),
    ],
)
def test_an_address_has_a_host_a_port_and_a_path(url: str, address: Address) -> None:
    assert read_address(url) == address


@pytest.mark.parametrize(
    ("rule", "host", "port", "allowed"),
    [
        ("hooks.example.com", "hooks.example.com", 443, True),
        ("Hooks.Example.com", "hooks.example.com", 443, True),
        ("hooks.example.com", "hooks.example.com", 8443, False),
        ("hooks.example.com:8443", "hooks.example.com", 8443, True),
        ("hooks.example.com", "evil.hooks.example.com", 443, False),
        ("*.example.com", "hooks.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.example.com", "example.com.evil.org", 443, False),
    ],
)
def test_a_rule_allows_its_host_or_the_hosts_below_it(rule: str, host: str, port: int, *, allowed: bool) -> None:
    assert allows((HostRule.parse(rule),), Address(host, port, "/")) is allowed


@pytest.mark.parametrize("rule", ["*", "*.com", "127.0.0.1", "example.*", "https://a.com", "a.b/c", "", "*.*.a.com"])
def test_a_rule_that_would_allow_too_much_is_none(rule: str) -> None:
    with pytest.raises(ValueError, match="a host is written like"):
        HostRule.parse(rule)


def test_a_host_is_known_before_what_a_reference_holds_is() -> None:
    found = known_address("https://hooks.example.com/${secret:PATH}?a=${env:A}")
    assert found is not None
    assert found.host == "hooks.example.com"
    assert known_address("https://${env:HOST}/x") is None
