"""A run says what it left undone (G10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.errors import ChunksFailed, WorkLeft
from hakiri.model.chunk import ChunkStatus, Failure, FailureKind, Window
from hakiri.model.ledger import RunStatus
from hakiri.run.pipeline import Conduct, Wish
from run.rounds import TABLE
from run.shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "shop")
    shop.stage("Rome")
    return shop


def test_a_run_that_found_more_at_every_look_tells_what_is_left(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conduct, "_pass", lambda *_: True)
    with shop.errand() as errand:
        errand.equipment.catalog.rewind(TABLE, Window(), "its file was lost", statuses=[ChunkStatus.DONE])
        conduct = Conduct(errand, Wish())
        conduct.carry_out()
    assert [(type(error), error.message().partition(" of")[0]) for error in conduct.errors] == [(WorkLeft, "1 chunk")]
    assert conduct.result().status is RunStatus.FAILED


def test_a_run_fails_with_the_chunks_that_failed_for_good(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conduct, "_pass", lambda *_: False)
    with shop.errand() as errand:
        catalog = errand.equipment.catalog
        catalog.rewind(TABLE, Window(), "", statuses=[ChunkStatus.DONE])
        (lease,) = catalog.claim("shop", node="n")
        catalog.fail(lease, Failure(FailureKind.PERMANENT, "HK404", "refused"))
        conduct = Conduct(errand, Wish())
        conduct.carry_out()
    assert [type(error) for error in conduct.errors] == [ChunksFailed]
