"""A table belongs to the pipeline that landed it: another id is refused, and adopts the table without a row twice."""

from __future__ import annotations

from typing import Any

import pytest

from cli.test_rebuild import Shop, make_shop
from hakiri.model.errors import SessionLost
from hakiri.run import adopt as adopting

__all__ = ["make_shop"]

FILES = """\
[project]
name = "test"
[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = { connector = "files", config = { path = "data" } }
tables = ["orders"]
"""
LAGGING = 'incremental = { column = "updated_at", lag = "3d" }\n'


def rename(shop: Shop, old: str, new: str) -> None:
    manifest = shop.root / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace(f'id = "{old}"', f'id = "{new}"'))


def refused(shop: Shop, command: str, code: str) -> str:
    answer = shop.hakiri(*command.split())
    assert answer.code != 0
    assert f"error[{code}]" in answer.err, answer.err
    return answer.err


def of_files(shop: Shop) -> Shop:
    """The same shop, with a file of two equal rows as its source."""
    (shop.root / "hakiri.toml").write_text(FILES)
    (shop.root / "data/orders").mkdir(parents=True)
    put_file(shop, 1, 1)
    return shop


def put_file(shop: Shop, *ids: int) -> None:
    lines = "".join(f"{one},new\n" for one in ids)
    (shop.root / f"data/orders/{ids[0]}.csv").write_text(f"id,note\n{lines}")


def adopt(shop: Shop, new: str = "store", old: str = "shop") -> Any:
    answer = shop.hakiri("pipeline", "adopt", new, "--from", old, "--json")
    assert answer.code == 0, answer.err
    return answer.json()["tables"]


@pytest.mark.parametrize("more", [LAGGING, 'load = { mode = "truncate" }\n'], ids=["lagging", "truncate"])
def test_a_renamed_pipeline_is_refused_and_goes_on_where_it_stopped_once_it_adopts(make_shop: Any, more: str) -> None:
    shop = make_shop(more, key="")
    shop.put(1, 2)
    shop.apply()
    shop.put(3)
    shop.apply()
    before = shop.rows(), shop.version()
    rename(shop, "shop", "store")
    for command in ("plan", "apply", "apply --full-refresh"):
        assert "hakiri pipeline adopt store --from shop" in refused(shop, command, "HK617")
    assert (shop.rows(), shop.version()) == before
    assert [one["table"] for one in adopt(shop)] == ["orders"]
    shop.put(4)
    shop.apply()
    assert shop.rows() == [(day, "new") for day in (1, 2, 3, 4)]
    version = shop.version()
    assert shop.apply()["runs"][0]["rows"] == 0
    assert shop.version() == version, "nothing is new, so nothing is landed"


def test_a_table_is_handed_over_also_when_the_catalog_was_lost_before_and_after(make_shop: Any) -> None:
    shop = make_shop(LAGGING, key="")
    shop.put(1, 2, 3)
    shop.apply()
    rename(shop, "shop", "store")
    shop.lose_catalog()
    refused(shop, "plan", "HK617")
    refused(shop, "apply", "HK617")
    adopt(shop)
    shop.put(4)
    shop.apply()
    shop.lose_catalog()
    (restored,) = shop.rebuild()
    assert restored["landings"] == [1, 2, 3], "its own, the handover, and what was landed before it"
    shop.put(5)
    shop.apply()
    assert shop.rows() == [(day, "new") for day in range(1, 6)]


def test_the_old_id_is_refused_after_a_handover_and_can_have_the_table_back(make_shop: Any) -> None:
    shop = of_files(make_shop(""))
    shop.apply()
    rename(shop, "shop", "store")
    adopt(shop)
    put_file(shop, 2)
    shop.apply()
    rename(shop, "store", "shop")
    assert "hakiri pipeline adopt shop --from store" in refused(shop, "apply", "HK617")
    adopt(shop, "shop", "store")
    put_file(shop, 3)
    shop.apply()
    assert [one for one, _ in shop.rows()] == [1, 1, 2, 3]
    assert shop.apply()["runs"][0]["rows"] == 0


@pytest.mark.parametrize("cut", ["hand_over", "registration", "write_story", "set_phase"])
def test_a_handover_that_was_cut_off_is_ended_by_the_next(
    make_shop: Any, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    shop = of_files(make_shop(""))
    shop.apply()
    rename(shop, "shop", "store")
    with monkeypatch.context() as patch:
        patch.setattr(adopting, cut, _dies)
        assert shop.hakiri("pipeline", "adopt", "store", "--from", "shop").code != 0
    adopt(shop)
    version = shop.version()
    adopt(shop)
    assert shop.version() == version, "a repeat changes nothing"
    put_file(shop, 2)
    shop.apply()
    assert [one for one, _ in shop.rows()] == [1, 1, 2]


def _dies(*_: Any, **__: Any) -> Any:
    raise SessionLost(reason="the process ended here")


def test_what_cannot_be_adopted_is_refused(make_shop: Any) -> None:
    shop = make_shop(LAGGING)
    shop.put(1)
    assert "has landed in none" in refused(shop, "pipeline adopt shop --from nobody", "HK126")
    assert "are the same" in refused(shop, "pipeline adopt shop --from shop", "HK126")
    shop.apply()
    rename(shop, "shop", "store")
    assert "`shop` lands in its table `orders`" in refused(shop, "pipeline adopt store --from nobody", "HK126")
