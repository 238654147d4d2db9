"""What each guarantee rests on, taken away: what stands there, what stands there instead, and the tests that notice."""

from __future__ import annotations

from dataclasses import dataclass

SEAL = "tests/stage/test_seal.py"
APPEND = "tests/land/test_append.py"
LANDING = "tests/run/test_landing.py"
NODE = "tests/run/test_node.py"
AVAILABLE = "tests/plan/test_available.py"
CATALOG = "tests/conformance/catalog"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one function or of one statement."""

    target: str
    """`module:name`, or `module:Class.method`."""
    old: str
    """What stands there, once. If it does not, the mutant is out of date and says so."""
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A way to break a guarantee. Each of the guards fails with it, and passes without."""

    guarantee: str
    edits: tuple[Edit, ...]
    guards: tuple[str, ...]


HELD = " AND fence = :fence AND holder = :holder"
IS_ALIVE = 'return _started(int(found["pid"])) != int(found["started"])'
SYNC_FILES = "    for file in (*files, *quarantine):\n        writer.files.sync_file(file.path)\n"
WRITE_MANIFEST = "    _write_manifest(writer.files, attempt.manifest, staged)\n"
SYNC_FOLDERS = "    for folder in (attempt.folder, *parents(attempt.folder)):\n"
LAND = "    landed = land(request, equipment.spark, trial=partial(self.hooks.on_build, landing))\n"
KEEP_ASIDE = "    aside = land_quarantine("
ADVANCE = "    self._advance(finished)\n"
FINISH = "    finished = self._catalog.finish_landing(landing, version=landed.version)\n"

SEALING = "hakiri.stage.seal:seal"
UNTIL = "self._place.target, landed.version + landed.trailing"
CARRY_OUT = "hakiri.run.landing:TableLander._carry_out"
RECORD = "hakiri.run.landing:TableLander._record"
ALL_DONE = "hakiri.run.pipeline:Conduct._require_all_done"
IN_ORDER = (f"{SEAL}::test_the_order_of_durable_writes",)

MUTANTS = {
    "pipelines planned in the order in which they come": Mutant(
        "G1",
        (Edit("hakiri.plan.make:make_plan", "sorted(pipelines, key=lambda facts: facts.spec.id)", "list(pipelines)"),),
        ("tests/plan/test_explain.py::test_the_order_in_which_pipelines_come_does_not_matter",),
    ),
    "a chunk completed without its fence": Mutant(
        "G2",
        (Edit("hakiri.catalog.work:COMPLETE", HELD, ""),),
        (f"{CATALOG}/test_takeover.py::test_a_late_complete_of_the_old_holder_is_refused[sqlite]",),
    ),
    "a landing ended without its fence": Mutant(
        "G2",
        (Edit("hakiri.catalog.landings:END", HELD, ""),),
        (f"{CATALOG}/test_landings.py::test_an_open_landing_is_left_to_its_holder_and_handed_over_as_it_is[sqlite]",),
    ),
    "a living neighbour taken for dead": Mutant(
        "G2",
        (Edit("hakiri.run.node:Node.knows_dead", IS_ALIVE, "return True"),),
        (f"{NODE}::test_a_living_neighbour_is_not_known_dead_and_a_killed_one_is",),
    ),
    "a process known by its number alone": Mutant(
        "G2",
        (Edit("hakiri.run.node:Node.knows_dead", IS_ALIVE, 'return _started(int(found["pid"])) is None'),),
        (f"{NODE}::test_a_process_number_that_was_given_out_again_is_another_process",),
    ),
    "a commit whose answer was lost, taken for a failure": Mutant(
        "G2",
        (Edit("hakiri.catalog.delta.rust:_is_committed", 'commit.get("hakiri_commit") == name', "False"),),
        ("tests/catalog/test_delta.py::test_a_commit_whose_answer_was_lost_is_found_and_not_made_twice",),
    ),
    "staged files that are not synced": Mutant("G3", (Edit(SEALING, SYNC_FILES, ""),), IN_ORDER),
    "a manifest before the files it names": Mutant(
        "G3",
        (Edit(SEALING, SYNC_FILES, ""), Edit(SEALING, WRITE_MANIFEST, WRITE_MANIFEST + SYNC_FILES)),
        IN_ORDER,
    ),
    "folders that are not synced": Mutant("G3", (Edit(SEALING, SYNC_FOLDERS, "    for folder in ():\n"),), IN_ORDER),
    "a sync that reaches no disk": Mutant(
        "G3",
        (Edit("hakiri.model.durable:sync", "os.fsync(descriptor)", "pass"),),
        (f"{SEAL}::test_every_sync_reaches_the_disk",),
    ),
    "an event told before it is durable": Mutant(
        "G3",
        (Edit("hakiri.run.journal:Journal.record", "os.fsync(self._file.fileno())", "pass"),),
        ("tests/run/test_journal.py::test_an_event_is_durable_before_anyone_hears_of_it",),
    ),
    "a number that the table carries, landed again": Mutant(
        "G4",
        (Edit("hakiri.land.standing:turn", "return Turn.REPLAY", "return Turn.NEXT"),),
        (f"{APPEND}::test_a_replay_is_reported_and_changes_nothing[adopted]",),
    ),
    "a commit on a version that nobody looked at": Mutant(
        "G4",
        (Edit("hakiri.land.rust:RustTable.adopt", "max_commit_retries=0", "max_commit_retries=5"),),
        (f"{APPEND}::test_a_writer_that_comes_between_look_and_commit_is_met_by_a_second_look",),
    ),
    "a landing told before it is durable": Mutant(
        "G4",
        (Edit(CARRY_OUT, f"    make_durable({UNTIL}, since=request.since)\n", ""),),
        (f"{LANDING}::test_a_commit_is_on_the_disk_before_the_catalog_hears_of_it",),
    ),
    "a cursor before what it rests on": Mutant(
        "G5",
        (Edit(RECORD, ADVANCE, ""), Edit(RECORD, FINISH, FINISH + ADVANCE)),
        (
            f"{LANDING}::test_the_cursor_stays_where_it_was_until_all_else_is_recorded[commit_snapshot]",
            f"{LANDING}::test_the_cursor_stays_where_it_was_until_all_else_is_recorded[append_lineage]",
        ),
    ),
    "a tally that nobody checks at the seal": Mutant(
        "G6",
        (Edit("hakiri.stage.seal:_check", "if counted != written:", "if False:"),),
        (f"{SEAL}::test_an_unbalanced_tally_seals_nothing[not written]",),
    ),
    "a tally that nobody checks at the landing": Mutant(
        "G6",
        (
            Edit(
                "hakiri.land.choose:_require_whole",
                "if request.tally.staged != rows or not request.tally.is_balanced:",
                "if False:",
            ),
        ),
        (f"{APPEND}::test_a_tally_that_does_not_add_up_is_not_landed",),
    ),
    "a file adopted with fewer rows than were sealed": Mutant(
        "G6",
        (Edit("hakiri.land.adopt:_footer", "if footer.num_rows != file.rows:", "if False:"),),
        (f"{APPEND}::test_a_file_with_fewer_rows_than_it_says_is_not_adopted",),
    ),
    "a table before its quarantine": Mutant(
        "G6",
        (Edit(CARRY_OUT, LAND, ""), Edit(CARRY_OUT, KEEP_ASIDE, LAND + KEEP_ASIDE)),
        (f"{LANDING}::test_a_table_waits_for_its_quarantined_rows_to_be_kept",),
    ),
    "a chunk that is done, claimed again": Mutant(
        "G7",
        (
            Edit("hakiri.catalog.work:CLAIMABLE", "('pending', 'waiting')", "('pending', 'waiting', 'done')"),
            Edit("hakiri.catalog.work:CLAIM", "'done', ", ""),
        ),
        (f"{CATALOG}/test_takeover.py::test_a_lease_that_ran_out_is_good_until_someone_else_has_it[sqlite]",),
    ),
    "a wait that the clock does not hear of": Mutant(
        "G8",
        (Edit("hakiri.run.stopping:Stop.wait", "clock.sleep(step)", "pass"),),
        ("tests/run/test_stopping.py::test_a_wait_ends_with_its_time_or_with_the_stop",),
    ),
    "an audit that was asked for, left out": Mutant(
        "G9",
        (Edit("hakiri.plan.available:_missing", "if spec.quality.dataset_level != DatasetLevel():", "if False:"),),
        (
            f"{AVAILABLE}::test_what_is_not_carried_out_is_refused_before_anything_is_read[asked0-quality.dataset_level]",
        ),
    ),
    "a failure that exits 0": Mutant(
        "G10",
        (Edit("hakiri.run.leaving:exit_code", "0 if is_well else EXIT_CODES[Recovery.REPORT]", "0"),),
        ("tests/cli/test_apply.py::test_a_run_that_did_not_succeed_is_no_success_even_without_an_error[failed]",),
    ),
    "work left that nobody tells of": Mutant(
        "G10",
        (Edit(ALL_DONE, "if still_open and self.is_spent:", "if False:"),),
        ("tests/run/test_pipeline.py::test_a_run_that_found_more_at_every_look_tells_what_is_left",),
    ),
    "failed chunks that nobody tells of": Mutant(
        "G10",
        (Edit(ALL_DONE, "if failed:", "if False:"),),
        ("tests/run/test_pipeline.py::test_a_run_fails_with_the_chunks_that_failed_for_good",),
    ),
}
