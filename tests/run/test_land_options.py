"""What a landing notes of how its rows were read is what the next plan and the next mode go by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hakiri.land.decide.same_rows import Shape, assumed
from hakiri.land.staged.types import table_type
from hakiri.model.staged import StagedChunk
from hakiri.model.types import Struct
from hakiri.plan.facts import NO_TRANSFORM
from hakiri.run.land_options import LandOptions
from hakiri.run.schema_history import SchemaDecision
from hakiri.spec.pipeline import PipelineSpec
from land.staging import Workshop, order


def options_of(mode: str) -> LandOptions:
    plain = {"id": "shop", "source": {"connector": "sqlite"}, "tables": ["orders"], "load": {"mode": mode}}
    spec = PipelineSpec.model_validate(plain)
    return LandOptions(spec, spec.tables[0], ("id",))


@pytest.fixture
def staged(tmp_path: Path) -> StagedChunk:
    return Workshop(tmp_path).chunk([order(1)])


def columns(staged: StagedChunk) -> Struct:
    return table_type(staged.schema, table="orders")


@pytest.mark.parametrize("mode", ["append", "upsert", "truncate"])
def test_every_mode_notes_the_columns_that_its_rows_were_read_with(staged: StagedChunk, mode: str) -> None:
    (shape,) = options_of(mode).shapes(None, [staged], is_exchange=False)
    assert shape.is_like(columns(staged))
    empty = replace(staged, files=())
    assert options_of(mode).shapes(None, [empty], is_exchange=False) == (shape,), "a table that begins empty"


def test_columns_that_nobody_noted_are_assumed_and_stay_so(staged: StagedChunk) -> None:
    decided = SchemaDecision(columns=columns(staged))
    shapes = options_of("append").shapes(decided, [staged], is_exchange=False)
    assert shapes[0] == assumed(decided.columns)
    assert shapes[1:] == (Shape(shapes[1].columns, staged.ingested_at),)
    noted = SchemaDecision.from_text(replace(decided, shapes=shapes).to_text())
    assert noted.shapes == shapes
    assert options_of("append").shapes(noted, [staged], is_exchange=False) == shapes
    assert options_of("append").shapes(noted, [staged], is_exchange=True) == (replace(shapes[1], since=None),)


def test_the_transform_that_is_noted_is_the_one_that_the_rows_went_through(staged: StagedChunk) -> None:
    options, decided = options_of("append"), SchemaDecision(columns=columns(staged), transform="f00d")

    def noted(*transforms: str, files: bool = True) -> str:
        chunks = [replace(staged, transform=one, files=staged.files if files else ()) for one in transforms]
        return options.transform(decided, chunks, is_exchange=False)

    assert noted(NO_TRANSFORM) == NO_TRANSFORM
    assert noted("") == NO_TRANSFORM, "an earlier release did not say"
    assert noted("beef") == "beef", "it was staged before the transform was taken out of the manifest"
    assert noted(NO_TRANSFORM, "beef") == "beef", "so that the next plan finds the difference"
    assert noted(NO_TRANSFORM, files=False) == "f00d", "no row of the table is another"
    assert options.transform(decided, [], is_exchange=True) == NO_TRANSFORM


def test_transforms_that_other_rows_went_through_are_remembered_until_all_rows_are_exchanged(
    staged: StagedChunk,
) -> None:
    options = options_of("upsert")
    decided = SchemaDecision(columns=columns(staged), transform="f00d", older_transforms=("beef",))
    assert SchemaDecision.from_text(decided.to_text()).is_like(decided)
    now = [replace(staged, transform=NO_TRANSFORM)]
    assert options.older_transforms(decided, now, is_exchange=False) == ("beef", "f00d")
    assert options.older_transforms(None, now, is_exchange=False) == ()
    assert options.older_transforms(decided, now, is_exchange=True) == ()
