"""A folder of files becomes a table: each file once, bad lines kept aside, whatever happens to the folder meanwhile."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping

import polars as pl
import pytest

from flow.stand import Rows, Stand
from hakiri import wiring
from hakiri.model.chunk import Window
from hakiri.model.ledger import Phase, Pipeline, RunStatus
from hakiri.plan.make import make_plan
from hakiri.run.events import ChunkClaimed
from hakiri.run.facts import gather_facts
from hakiri.run.journal import Event
from hakiri.run.pipeline import RunOptions, RunResult
from hakiri.run.rewind import rewind

MakeStand = Callable[[Mapping[str, str]], Stand]

PIPELINE = """\
id = "events"
source = { connector = "files", config = { path = "data" } }
tables = [{ name = "events", columns = [{ name = "id", type = "bigint" }, { name = "kind", type = "string" }] }]
quality = { row_level = [{ type = "not_null", field = "kind", on_fail = "skip" }] }
"""


def folder(make_stand: MakeStand) -> Stand:
    stand = make_stand({"pipelines/events.toml": PIPELINE})
    (stand.root / "data/events").mkdir(parents=True)
    return stand


def put(stand: Stand, name: str, *lines: str) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    path = stand.root / "data/events" / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


KEYED = PIPELINE.replace('name = "events",', 'name = "events", load = { mode = "upsert", upsert_key = "id" },')


def event(number: int, kind: str | None = "click") -> str:
    return json.dumps({"id": number, "kind": kind})


def apply(stand: Stand) -> RunResult:
    result = stand.apply()["events"]
    assert (result.status, result.errors) == (RunStatus.SUCCEEDED, ())
    return result


def test_a_full_refresh_of_an_upsert_leaves_one_row_per_key(make_stand: MakeStand) -> None:
    stand = make_stand({"pipelines/events.toml": KEYED})
    (stand.root / "data/events").mkdir(parents=True)
    put(stand, "1.jsonl", event(1), event(2))
    put(stand, "2.jsonl", event(2))
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 1, (2, "click"): 1})
    (result,) = stand.apply(options=RunOptions(is_full_refresh=True)).values()
    assert result.errors == ()
    assert stand.landed("events") == Rows({(1, "click"): 1, (2, "click"): 1})


def test_each_file_is_read_once_and_equal_rows_of_two_files_are_two_rows(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1), event(2))
    put(stand, "2.jsonl.gz", event(2))
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 1, (2, "click"): 2})
    assert apply(stand).did_nothing
    put(stand, "3.jsonl", event(1), event(3))
    assert apply(stand).rows == 2
    assert stand.landed("events") == Rows({(1, "click"): 2, (2, "click"): 2, (3, "click"): 1})


def test_no_row_is_lost_in_silence(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1), "this is no JSON", event(3, None), event(4))
    result = apply(stand)
    (landing,) = result.landings
    tally = landing.landed.tally
    assert (tally.read, tally.staged, tally.quarantined) == (4, 2, 2)
    aside = pl.read_delta(str(stand.folder("events_quarantine")))
    assert aside.height == 2
    assert apply(stand).did_nothing
    assert pl.read_delta(str(stand.folder("events_quarantine"))).height == 2


def test_a_member_behind_the_sampled_rows_lands_as_a_new_member(make_stand: MakeStand) -> None:
    source = '{ connector = "files", config = { path = "data", batch_rows = 1000 } }'
    stand = make_stand({"pipelines/events.toml": f'id = "events"\nsource = {source}\ntables = ["events"]\n'})
    (stand.root / "data/events").mkdir(parents=True)
    old, new = {"street": "a"}, {"street": "a", "city": "b"}
    put(stand, "1.jsonl", *(json.dumps({"at": [at]}) for at in (*[old] * 1_000, new)))
    put(stand, "2.jsonl", json.dumps({"at": [new]}))
    apply(stand)
    cities = pl.read_delta(str(stand.folder("events"))).explode("at").unnest("at")["city"]
    assert (cities.len(), cities.drop_nulls().to_list()) == (1_002, ["b", "b"])


def test_a_file_that_grew_brings_what_is_new_in_it(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1), event(1))
    apply(stand)
    put(stand, "1.jsonl", event(1), event(1), event(2))
    assert apply(stand).rows == 1
    assert stand.landed("events") == Rows({(1, "click"): 2, (2, "click"): 1})


class Writer(list[Event]):
    """Listens to a run, and writes to a file each time a chunk has been claimed, before it is read."""

    def __init__(self, write: Callable[[int], None]) -> None:
        super().__init__()
        self._write = write

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event.body, ChunkClaimed):
            self._write(len(self))


def test_a_file_that_is_appended_to_all_the_time_lands_as_it_was_surveyed(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1), event(1))
    path = stand.root / "data/events/1.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": 2, "kin')  # the writer's buffer was full here

    def write(number: int) -> None:
        with path.open("ab") as file:
            file.write(b'd": "click"}\n' if number < 10 else b"")
            file.write(f'{event(number)}\n{{"id": {number}'.encode())

    stand.events = Writer(write)
    (result,) = stand.apply().values()
    assert (result.status, result.errors, result.rows) == (RunStatus.SUCCEEDED, (), 2)
    assert stand.landed("events") == Rows({(1, "click"): 2})

    stand.events = []
    path.write_bytes(path.read_bytes()[: path.read_bytes().rindex(b"\n") + 1])
    written = path.read_text().splitlines()
    assert apply(stand).rows == len(written) - 2
    assert stand.landed("events") == Rows((json.loads(line)["id"], "click") for line in written)
    assert not stand.folder("events_quarantine").exists()


def test_a_file_that_is_replaced_before_each_read_is_work_left_undone(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1))
    stand.events = Writer(lambda number: put(stand, "1.jsonl", *(event(number + one) for one in range(number))))
    (result,) = stand.apply().values()
    assert (result.status, [error.code for error in result.errors], result.rows) == (RunStatus.FAILED, ["HK415"], 0)
    stand.events = []
    put(stand, "1.jsonl", event(5))
    assert apply(stand).rows == 1


def test_a_table_that_was_never_made_because_its_file_is_replaced_each_time_is_still_backfilling(
    make_stand: MakeStand,
) -> None:
    stand = make_stand({"pipelines/events.toml": f'{PIPELINE}load = {{ mode = "truncate" }}\n'})
    (stand.root / "data/events").mkdir(parents=True)
    put(stand, "1.jsonl", event(1))
    stand.events = Writer(lambda number: put(stand, "1.jsonl", *(event(number + one) for one in range(number))))
    (result,) = stand.apply().values()
    assert ([error.code for error in result.errors], stand.folder("events").joinpath("_delta_log").exists()) == (
        ["HK415"],
        False,
    )
    assert [one.phase for one in stand.ask(lambda catalog: catalog.pipelines())] == [Phase.BACKFILLING]


def test_files_that_change_between_plan_and_read_hold_nothing_up(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1))
    put(stand, "2.jsonl", event(2))
    plan_only(stand)
    put(stand, "1.jsonl", event(1), event(10))
    (stand.root / "data/events/2.jsonl").unlink()
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 1, (10, "click"): 1})
    assert apply(stand).did_nothing


def test_a_file_that_was_away_while_it_was_to_be_read_is_read_when_it_is_back(make_stand: MakeStand) -> None:
    stand = folder(make_stand)
    put(stand, "1.jsonl", event(1))
    put(stand, "2.jsonl", event(2))
    plan_only(stand)
    away = stand.root / "2.jsonl"
    (stand.root / "data/events/2.jsonl").rename(away)
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 1})
    away.rename(stand.root / "data/events/2.jsonl")  # the very same version
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 1, (2, "click"): 1})
    assert apply(stand).did_nothing


def test_a_rewind_of_files_that_have_changed_or_come_back_lands_no_row_twice(make_stand: MakeStand) -> None:
    stand = make_stand({"pipelines/events.toml": f'{PIPELINE}incremental = "id"\n'})
    (stand.root / "data/events").mkdir(parents=True)
    put(stand, "1.jsonl", event(1), event(1))
    put(stand, "2.jsonl", event(2))
    apply(stand)
    spec = stand.project().pipelines["events"].spec
    (rewound,) = stand.ask(lambda catalog: rewind(catalog, spec, Window(1, 9), reason="RT-481", by="ada"))
    assert len(rewound.chunks) == 2
    put(stand, "1.jsonl", event(1), event(1), event(10))
    away = stand.root / "2.jsonl"
    (stand.root / "data/events/2.jsonl").rename(away)
    apply(stand)
    away.rename(stand.root / "data/events/2.jsonl")  # the very same version
    apply(stand)
    assert stand.landed("events") == Rows({(1, "click"): 2, (2, "click"): 1, (10, "click"): 1})


def plan_only(stand: Stand) -> None:
    """What a run leaves behind that was cut off after its plan."""
    project = stand.project()
    spec = project.pipelines["events"].spec
    with wiring.services(stand.settings, project) as parts:
        facts = gather_facts(spec, parts.connector(spec), parts.catalog).facts
        parts.catalog.register(Pipeline(spec.id, parallelism=2))
        assert parts.catalog.add_chunks(make_plan([facts]).new_chunks) == 2


EMPTIED = """\
id = "events"
source = {{ connector = "files", config = {{ path = "data" }} }}
tables = [{{ name = "events"{columns} }}]
schema = "{policy}"
load = {{ mode = "append" }}
"""


@pytest.mark.parametrize("policy", ["evolve", "strict"])
@pytest.mark.parametrize("columns", ["", ', columns = ["id", "n"]'])
def test_files_that_are_emptied_land_nothing_and_hold_nothing_up(
    make_stand: MakeStand, columns: str, policy: str
) -> None:
    stand = make_stand({"pipelines/events.toml": EMPTIED.format(columns=columns, policy=policy)})
    (stand.root / "data/events").mkdir(parents=True)
    put(stand, "1.jsonl", '{"id": 1, "n": 5}')
    apply(stand)
    put(stand, "1.jsonl")
    apply(stand)
    put(stand, "2.jsonl", '{"id": 2, "n": null}')
    apply(stand)
    put(stand, "1.jsonl", '{"id": 3, "n": 7}')
    apply(stand)
    assert stand.landed("events") == Rows({(1, 5): 1, (2, None): 1, (3, 7): 1})


@pytest.mark.parametrize(("name", "header"), [("1.jsonl", ()), ("1.csv", ("id,n",)), ("1.csv", ())])
@pytest.mark.parametrize("columns", ["", ', columns = ["id", "n"]'])
def test_a_table_whose_first_files_have_no_row_takes_the_types_of_its_first_rows(
    make_stand: MakeStand, columns: str, name: str, header: tuple[str, ...]
) -> None:
    stand = make_stand({"pipelines/events.toml": EMPTIED.format(columns=columns, policy="evolve")})
    (stand.root / "data/events").mkdir(parents=True)
    put(stand, name, *header)
    apply(stand)
    put(stand, "2.jsonl", '{"id": 1, "n": 5}')
    apply(stand)
    assert stand.landed("events") == Rows({(1, 5): 1})
