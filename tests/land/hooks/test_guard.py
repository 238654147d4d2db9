"""An address is judged by what it is, whoever answered with it and however it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from hakiri.https import NotAllowed, guarded, is_public, resolve

ADDRESSES = tomli.loads((Path(__file__).parents[3] / "fixtures/hooks/addresses.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("address", ADDRESSES["refused"])
def test_an_address_inside_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ADDRESSES["public"])
def test_an_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("answers", [("10.0.0.1",), ("1.1.1.1", "10.0.0.1"), ("::1", "1.1.1.1"), ("1.1.1.1", "junk")])
def test_one_answer_that_is_not_public_refuses_them_all(answers: tuple[str, ...]) -> None:
    with pytest.raises(NotAllowed, match="not public") as caught:
        guarded("hooks.example.com", 443, resolver=lambda _host, _port: answers)
    assert not any(answer in str(caught.value) for answer in answers)


def test_a_host_without_an_address_is_refused() -> None:
    with pytest.raises(NotAllowed, match="no address"):
        guarded("hooks.example.com", 443, resolver=lambda _host, _port: ())


def test_the_systems_resolver_finds_this_machine_and_the_guard_refuses_it() -> None:
    assert set(resolve("localhost", 443)) <= {"127.0.0.1", "::1"}
    with pytest.raises(NotAllowed, match="not public"):
        guarded("localhost", 443)
