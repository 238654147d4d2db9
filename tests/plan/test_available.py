"""Nothing a manifest asks for is passed over in silence."""

from __future__ import annotations

from typing import Any

import pytest

from hakiri.plan.make import make_plan
from hakiri.spec.errors import FeatureUnavailable
from plan.world import facts_of, rows_of, spec_of, survey_of


@pytest.mark.parametrize(
    ("asked", "feature"),
    [
        (
            {"quality": {"dataset_level": {"row_count": {"min": 1, "on_fail": "warn"}}}},
            "quality.dataset_level.row_count",
        ),
        ({"destination": {"connector": "elsewhere"}}, "destination.connector"),
    ],
)
def test_what_is_not_carried_out_is_not_planned(asked: dict[str, Any], feature: str) -> None:
    with pytest.raises(FeatureUnavailable) as caught:
        make_plan([facts_of(spec_of(**asked), survey=survey_of(rows_of([1])))])
    assert caught.value.key == feature


def test_what_is_carried_out_is_planned() -> None:
    rules = [{"type": "not_null", "field": "id", "on_fail": "skip"}]
    spec = spec_of(quality={"row_level": rules, "quarantine": {"enabled": True}}, load={"mode": "truncate"})
    assert make_plan([facts_of(spec, survey=survey_of(rows_of([1])))]).has_work
