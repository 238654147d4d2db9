"""A sealed plan is refused as soon as one of its facts has moved, and says which."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hakiri.model.types import INTEGER
from hakiri.plan.errors import PlanMoved, PlanUnreadable
from hakiri.plan.facts import ColumnFact, PipelineFacts
from hakiri.plan.fingerprint import check_unmoved, fingerprint, open_sealed, seal_plan
from hakiri.plan.make import make_plan
from plan.world import facts_of, rows_of, spec_of, stored, survey_of

SURVEY = survey_of(rows_of([1, 2, 3]))
FACTS = facts_of(survey=SURVEY, cursor=stored(1))


def sealed() -> str:
    return seal_plan(make_plan([FACTS]), [FACTS])


def with_table(**table: Any) -> PipelineFacts:
    return replace(FACTS, tables=(replace(FACTS.tables[0], **table),))


def test_the_same_facts_pass() -> None:
    check_unmoved(open_sealed(sealed()), fingerprint([FACTS]))


@pytest.mark.parametrize(
    ("now", "moved"),
    [
        ([replace(FACTS, spec=spec_of(backfill={"parallelism": 2}))], ("manifest of `shop`",)),
        ([with_table(cursor=stored(2))], ("cursor of `shop`.`orders`",)),
        ([with_table(cursor=None)], ("cursor of `shop`.`orders`",)),
        ([with_table(is_full_refresh=True)], ("full refresh of `shop`.`orders`",)),
        ([with_table(columns=(ColumnFact("id", INTEGER),))], ("schema of `shop`.`orders`",)),
        ([with_table(landed_columns=())], ("schema of `shop`.`orders`",)),
        ([with_table(survey=survey_of(rows_of([1, 2, 4])))], ("source bounds of `shop`.`orders`",)),
    ],
)
def test_what_moved_is_named(now: list[PipelineFacts], moved: tuple[str, ...]) -> None:
    with pytest.raises(PlanMoved) as caught:
        check_unmoved(open_sealed(sealed()), fingerprint(now))
    assert caught.value.moved == moved


def test_a_pipeline_that_came_or_went_has_moved() -> None:
    with pytest.raises(PlanMoved, match="manifest of `shop`, cursor of"):
        check_unmoved(open_sealed(sealed()), fingerprint([]))


def test_counts_may_differ_between_two_looks_at_the_same_rows() -> None:
    heavier = survey_of(rows_of([1, 2, 3]), weight=9)
    check_unmoved(open_sealed(sealed()), fingerprint([with_table(survey=heavier)]))


def edited(**parts: Any) -> str:
    return json.dumps({**json.loads(sealed()), **parts})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no plan and seal"),
        (edited(version=2), "version 2"),
        (edited(plan={}), "changed after it was sealed"),
        (edited(seal={"fingerprint": "0", "parts": {}, "plan": "0"}), "changed after it was sealed"),
    ],
)
def test_what_is_no_sealed_plan_is_refused(text: str, reason: str) -> None:
    with pytest.raises(PlanUnreadable, match=reason):
        open_sealed(text)


def test_a_seal_holds_digests_and_not_the_facts() -> None:
    assert "sqlite" not in sealed()
    assert len(open_sealed(sealed()).digest) == 64


def test_a_plan_of_several_pipelines_can_be_held_to_one_at_a_time() -> None:
    other = replace(FACTS, spec=spec_of(id="shop-2"))
    both = open_sealed(seal_plan(make_plan([FACTS, other]), [FACTS, other]))
    assert both.pipelines == ("shop", "shop-2")
    check_unmoved(both.of("shop"), fingerprint([FACTS]))
    with pytest.raises(PlanMoved, match="cursor of `shop-2`"):
        check_unmoved(both.of("shop-2"), fingerprint([replace(other, tables=with_table(cursor=None).tables)]))


def test_a_watermark_that_moved_is_named_where_a_table_goes_by_it() -> None:
    spec = spec_of(load={"mode": "incremental_watermark", "watermark_column": "cursor"})
    before, after = (facts_of(spec, survey=SURVEY, watermark=held) for held in (1, 2))
    with pytest.raises(PlanMoved) as caught:
        check_unmoved(fingerprint([before]), fingerprint([after]))
    assert caught.value.moved == ("watermark of `shop`.`orders`",)
    check_unmoved(fingerprint([FACTS]), fingerprint([with_table(watermark=2)]))
