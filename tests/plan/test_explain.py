"""A plan reads as it did: the cases of fixtures/plans, as text and as JSON, in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hakiri.errors import conceal
from hakiri.model.source import BackfillHint, CursorKind, Piece, Survey
from hakiri.model.span import PageToken
from hakiri.plan.document import to_document
from hakiri.plan.explain import MAX_LINES, explain
from hakiri.plan.fingerprint import fingerprint, seal_plan
from hakiri.plan.make import make_plan
from plan.cases import NAMES, PLANS, read_case
from plan.world import facts_of, rows_of, spec_of, stored, survey_of

TESTS = Path(__file__).parents[1]
ALL_CASES = """
from plan.cases import NAMES, read_case
from hakiri.plan.fingerprint import seal_plan
from hakiri.plan.make import make_plan
for name in NAMES:
    print(make_plan(read_case(name)).new_chunks, seal_plan(make_plan(read_case(name)), read_case(name)))
"""


def test_there_are_cases() -> None:
    assert len(NAMES) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_explained_as_it_was(name: str) -> None:
    expected = (PLANS / f"{name}.txt").read_text(encoding="utf-8")
    assert "\n".join(explain(make_plan(read_case(name)))) + "\n" == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_plans_document_is_what_it_was(name: str) -> None:
    expected = json.loads((PLANS / f"{name}.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(to_document(make_plan(read_case(name))))) == expected


def test_every_process_makes_the_same_plan_of_the_same_facts() -> None:
    told = set()
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [sys.executable, "-c", ALL_CASES], env=environment, capture_output=True, text=True, check=True
        )
        told.add(done.stdout)
    assert len(told) == 1


def test_the_order_in_which_pipelines_come_does_not_matter() -> None:
    facts = [case for name in NAMES for case in read_case(name)]
    distinct = [replace(one, spec=one.spec.model_copy(update={"id": f"p{place}"})) for place, one in enumerate(facts)]
    assert make_plan(distinct) == make_plan(reversed(distinct))
    assert fingerprint(distinct) == fingerprint(reversed(distinct))


def test_a_plan_holds_no_secret_and_no_token() -> None:
    conceal("hunter22hunter22")
    hint = BackfillHint(CursorKind.OPAQUE_TOKEN, safe_parallelism=1)
    config = {"connector": "github", "config": {"token": "${secret:TOKEN}", "password": "hunter22hunter22"}}
    facts = [
        facts_of(spec_of(source=config), hint=hint, survey=Survey((Piece(PageToken("tok-9")),)), cursor=stored("tok-9"))
    ]
    told = "\n".join(explain(make_plan(facts))) + seal_plan(make_plan(facts), facts)
    assert not [word for word in ("hunter22", "tok-9", "secret:") if word in told]


def test_the_text_of_a_plan_is_bounded() -> None:
    survey = survey_of(rows_of(range(10)))
    facts = [facts_of(spec_of(id=f"p{number}"), survey=survey) for number in range(400)]
    lines = explain(make_plan(facts))
    assert len(lines) == MAX_LINES + 2
    assert all(len(line) < 500 for line in lines)


def test_a_plan_with_nothing_to_do_says_so() -> None:
    assert explain(make_plan([])) == ["Nothing to do."]
