"""What there is to do about views is what differs, in the order in which it can be done."""

from __future__ import annotations

import json

import pytest

from hakiri.model.view import MadeView, View
from hakiri.plan.document import to_document
from hakiri.plan.errors import PlanMoved
from hakiri.plan.explain import explain
from hakiri.plan.fingerprint import check_unmoved, fingerprint_views, open_sealed, seal_plan
from hakiri.plan.plan import Plan
from hakiri.plan.views import ViewChange, ViewFacts, ViewVerb, plan_views

LOW = View("low", "SELECT * FROM orders", ("orders",))
HIGH = View("high", "SELECT * FROM low", ("low",))
OTHER = View("low", "SELECT 1 AS x FROM orders", ("orders",))


def made(*views: View, address: str = "", is_whole: bool = True) -> dict[str, MadeView]:
    return {view.name: MadeView(view, address, "run", is_whole) for view in views}


def changes(facts: ViewFacts, address: str = "") -> list[tuple[str, str]]:
    planned = plan_views(facts, {view.name: address for view in facts.wanted})
    return [(change.view, change.verb.value) for change in planned]


ORDERS = frozenset({"orders"})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ViewFacts((LOW, HIGH), landed=ORDERS), [("low", "create"), ("high", "create")]),
        (ViewFacts((LOW, HIGH), made=made(LOW, HIGH), landed=ORDERS), []),
        (ViewFacts((LOW, HIGH), made=made(OTHER, HIGH), landed=ORDERS), [("low", "replace")]),
        (ViewFacts((LOW,), made=made(LOW, is_whole=False), landed=ORDERS), [("low", "replace")]),
        (ViewFacts((LOW,), made=made(LOW, address="`a`.`low`"), landed=ORDERS), [("low", "replace")]),
        (ViewFacts((), made=made(LOW, HIGH)), [("high", "drop"), ("low", "drop")]),
        (ViewFacts((LOW, HIGH), frozenset({"low"}), made(LOW, HIGH), ORDERS), [("low", "drop")]),
        (ViewFacts(), []),
    ],
)
def test_what_differs_is_to_be_done(facts: ViewFacts, expected: list[tuple[str, str]]) -> None:
    assert changes(facts) == expected


def test_a_view_waits_for_every_table_below_it() -> None:
    facts = ViewFacts((LOW, HIGH))
    planned = plan_views(facts, {"low": "", "high": ""})
    assert [change.waits_for for change in planned] == [("orders",), ("orders",)]
    assert not Plan((), planned).has_work


def test_people_and_programs_read_the_same() -> None:
    planned = (
        ViewChange("low", ViewVerb.REPLACE),
        ViewChange("high", ViewVerb.CREATE, ("orders", "people")),
        ViewChange("old", ViewVerb.DROP),
    )
    assert explain(Plan((), planned)) == [
        "views:",
        "  ~ low (replace)",
        "  + high (create, once `orders` and `people` landed)",
        "  - old (drop)",
        "To do: 2 views.",
    ]
    assert to_document(Plan((), planned)) == {
        "version": 1,
        "has_work": True,
        "pipelines": [],
        "views": [
            {"view": "low", "change": "replace", "waits_for": []},
            {"view": "high", "change": "create", "waits_for": ["orders", "people"]},
            {"view": "old", "change": "drop", "waits_for": []},
        ],
    }
    assert explain(Plan(()))[-1] == "Nothing to do."


def test_a_sealed_plan_notices_a_view_that_has_moved() -> None:
    facts = ViewFacts((LOW,), made=made(HIGH), landed=ORDERS)
    sealed = open_sealed(seal_plan(Plan(()), [], facts))
    assert "SELECT" not in json.dumps(sealed.parts)
    check_unmoved(sealed.views, fingerprint_views(facts))
    for other in (ViewFacts((OTHER,), made=made(HIGH)), ViewFacts((LOW,), made=made(HIGH, LOW)), ViewFacts()):
        with pytest.raises(PlanMoved, match="views"):
            check_unmoved(sealed.views, fingerprint_views(other))


def test_a_project_without_views_has_no_seal_of_them() -> None:
    assert open_sealed(seal_plan(Plan(()), [])).parts == ()
