"""What each guarantee rests on, taken away: what stands there, what stands there instead, and the tests that notice."""

from __future__ import annotations

from dataclasses import dataclass

SEAL = "tests/stage/test_seal.py"
APPEND = "tests/land/test_append.py"
LANDING = "tests/run/test_landing.py"
NODE = "tests/run/test_node.py"
AVAILABLE = "tests/plan/test_available.py"
CATALOG = "tests/conformance/catalog"
HOOKS = "tests/run/test_hooks.py"
STATEMENT = "tests/spec/test_statement.py::test_whatever_else_a_hook_could_run_is_refused"
READ = "tests/spec/test_read.py"
EDITING = "tests/spec/test_edit.py"
CHECK = "tests/extract/transform/test_check.py"
PATTERN = "tests/extract/transform/test_pattern.py"
RESHAPE = "tests/extract/transform/test_reshape.py"
COMPONENT = "tests/extract/transform/test_component.py"
ROUNDS = "tests/plan/test_rounds.py"
CAUTIONS = "tests/plan/test_cautions.py"
OF_FILES = f"{CAUTIONS}::test_a_file_that_has_changed_or_looks_like_one_that_landed_is_warned_of"


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
    """Its number, or the section of docs/guarantees.md that has the promise, or `The catalog` for docs/catalog.md."""
    edits: tuple[Edit, ...]
    guards: tuple[str, ...]


HELD = " AND fence = :fence AND holder = :holder"
IS_ALIVE = 'return _started(int(found["pid"])) != int(found["started"])'
SYNC_FILES = "    for file in (*files, *quarantine):\n        writer.files.sync_file(file.path)\n"
WRITE_MANIFEST = "    _write_manifest(writer.files, attempt.manifest, staged)\n"
SYNC_FOLDERS = "    for folder in (attempt.folder, *parents(attempt.folder)):\n"
LAND = "    landed = land(request, self._context.spark, trial=partial(self.hooks.on_build, landing))\n"
KEEP_ASIDE = "    aside = land_quarantine("
ADVANCE = "    self._advance(finished, cursor)\n"
FINISH = "    finished = self._catalog.finish_landing(landing, version=landed.version)\n"

SEALING = "hakiri.stage.seal:seal"
UNTIL = "self._place.target, landed.version + landed.trailing"
CARRY_OUT = "hakiri.run.land_table:TableLander._carry_out"
RECORD = "hakiri.run.land_table:TableLander._record"
CALL_HOOK = "hakiri.run.hooks:TableHooks._call"
MAKE_BESIDE = 'tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")'
MAKE_IN_PLACE = "os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), target"
LEAK = '{ connector = "postgres", config = { token = "abc" } }-`source.config.token` holds a secret in clear'
PROBLEMS = "faults(error, PipelineSpec, document, at)"
ALL_DONE = "hakiri.run.stages.conclude:require_all_done"
SHAPE = "When a source changes its shape"
SCHEMA = "hakiri.plan.schema_changes"
RACE_LOST = "except CommitFailedError:\n        return "
IN_TWO_COMMITS = """\
    DeltaTable.create(self.folder, schema)
    self._handle = DeltaTable(self.folder)
    return self._commit(recipe, actions, properties)
"""
IN_ORDER = (f"{SEAL}::test_the_order_of_durable_writes",)

MUTANTS = {
    "pipelines planned in the order in which they come": Mutant(
        "G1",
        (Edit("hakiri.plan.make:make_plan", "sorted(pipelines, key=lambda facts: facts.spec.id)", "list(pipelines)"),),
        ("tests/plan/test_explain.py::test_the_order_in_which_pipelines_come_does_not_matter",),
    ),
    "a round planned while another is open": Mutant(
        "G1",
        (Edit("hakiri.plan.make:_plan_table", "() if history.open else portions(", "portions("),),
        (f"{ROUNDS}::test_a_failed_chunk_holds_the_next_round_back",),
    ),
    "a chunk of another plan, taken for the same": Mutant(
        "G1",
        (Edit("hakiri.catalog.chunks:add_chunks", "elif _meaning(chunk_of(known[name])) != ", "elif None is "),),
        ("tests/plan/test_meeting.py::test_of_two_planners_that_saw_different_tops_one_plans",),
    ),
    "a rewound chunk that forgets which landings may name it": Mutant(
        "G4",
        (Edit("hakiri.catalog.chunks:rewind", 'row["planned_after"] if is_hot else number', "number"),),
        (
            f"{CATALOG}/test_table_state.py::test_a_chunk_that_is_rewound_before_it_is_archived_is_known_to_have_landed[sqlite]",
        ),
    ),
    "a chunk completed without its fence": Mutant(
        "G2",
        (Edit("hakiri.catalog.leases:COMPLETE", HELD, ""),),
        (f"{CATALOG}/test_takeover.py::test_a_late_complete_of_the_old_holder_is_refused[sqlite]",),
    ),
    "a landing ended without its fence": Mutant(
        "G2",
        (Edit("hakiri.catalog.landings:END", HELD, ""),),
        (f"{CATALOG}/test_landings.py::test_an_open_landing_is_left_to_its_holder_and_handed_over_as_it_is[sqlite]",),
    ),
    "an attempt under the number of another": Mutant(
        "G2",
        (Edit("hakiri.catalog.leases:CLAIM", "attempt = attempt + 1, ", ""),),
        (f"{CATALOG}/test_takeover.py::test_a_dead_holders_chunk_is_taken_over_after_the_lease[sqlite]",),
    ),
    "more chunks given out than a pipeline allows": Mutant(
        "G2",
        (Edit("hakiri.catalog.leases:claim", 'limits[0]["parallelism"] - living', 'limits[0]["parallelism"]'),),
        (f"{CATALOG}/test_dispatch.py::test_a_pipelines_parallelism_is_a_counted_semaphore[sqlite]",),
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
    "leases that are kept and not renewed": Mutant(
        "G2",
        (Edit("hakiri.run.heartbeat:Heartbeat.beat", "if not held:", "if held:"),),
        ("tests/run/test_heartbeat.py::test_a_lease_outlives_its_term_for_as_long_as_it_is_kept",),
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
    "staged files that nobody compares": Mutant(
        "G3",
        (Edit("hakiri.stage.seal:_problem", "sha256 == file.sha256", "sha256"),),
        (f"{SEAL}::test_a_file_that_is_not_what_was_sealed_is_found_out[local-corrupt-rows]",),
    ),
    "a number that the table carries, landed again": Mutant(
        "G4",
        (Edit("hakiri.land.table_state:turn", "return Turn.REPLAY", "return Turn.NEXT"),),
        (f"{APPEND}::test_a_replay_is_reported_and_changes_nothing[adopted]",),
    ),
    "a commit on a version that nobody looked at": Mutant(
        "G4",
        (Edit("hakiri.land.delta.rust:RustTable.adopt", "max_commit_retries=0", "max_commit_retries=5"),),
        (f"{APPEND}::test_a_writer_that_comes_between_look_and_commit_is_met_by_a_second_look",),
    ),
    "a landing that another has overtaken": Mutant(
        "G4",
        (Edit("hakiri.land.table_state:turn", "is_known = found is None or ", "is_known = True or "),),
        (f"{APPEND}::test_a_number_higher_than_expected_stops_the_landing[adopted]",),
    ),
    "a lost race, taken for a commit": Mutant(
        "G4",
        (Edit("hakiri.land.delta.rust:RustTable.adopt", f"{RACE_LOST}False", f"{RACE_LOST}True"),),
        (f"{APPEND}::test_the_same_landing_by_a_rival_between_look_and_commit_is_a_replay",),
    ),
    "a commit that is synced without its files": Mutant(
        "G4",
        (Edit("hakiri.model.durable:sync_log", "[*added, *commits, ", "[*commits, "),),
        ("tests/land/test_durable.py::test_a_commit_and_what_it_added_is_synced_files_before_folders",),
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
    "a cursor that does not wait for its round": Mutant(
        "G5",
        (
            Edit(
                "hakiri.plan.rounds:cursor_after",
                "if not last or any(state.chunk.key.chunk not in names for state in last):",
                "if not last:",
            ),
        ),
        (f"{ROUNDS}::test_a_cursor_moves_when_the_last_chunk_of_its_round_lands",),
    ),
    "a cursor that goes back": Mutant(
        "G5",
        (Edit("hakiri.catalog.records:ADVANCE", " AND landing < :landing", ""),),
        (f"{CATALOG}/test_landings.py::test_a_cursor_follows_landings_forward_only[sqlite]",),
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
                "hakiri.land.decide.decide:_require_whole",
                "if request.tally.staged != rows or not request.tally.is_balanced:",
                "if False:",
            ),
        ),
        (f"{APPEND}::test_a_tally_that_does_not_add_up_is_not_landed",),
    ),
    "a file adopted with fewer rows than were sealed": Mutant(
        "G6",
        (Edit("hakiri.land.delta.adopt:_footer", "if footer.num_rows != file.rows:", "if False:"),),
        (f"{APPEND}::test_a_file_with_fewer_rows_than_it_says_is_not_adopted",),
    ),
    "a change that is set aside and lands as well": Mutant(
        "G6",
        (Edit("hakiri.extract.changes.normalize:unwrap", "left = pc.and_not(left, one.which)", "pass"),),
        ("tests/extract/test_changes.py::test_what_is_no_change_is_set_aside_and_counted_once",),
    ),
    "rows of a file that is no longer the surveyed one": Mutant(
        "G6",
        (Edit("hakiri.extract.connectors.files.store:Store.same", "if is_surveyed or (", "if True or ("),),
        (
            (
                "tests/extract/connectors/test_files_surveyed.py"
                "::test_a_file_that_changed_since_its_survey_is_not_read[as long]"
            ),
        ),
    ),
    "rows that a transform drops in silence": Mutant(
        "G6",
        (Edit("hakiri.extract.chunk:_Extraction._reshape", "Tally(filtered=found.filtered, ", "Tally("),),
        ("tests/extract/test_chunk.py::test_what_a_transform_drops_is_counted_as_filtered",),
    ),
    "a table before its quarantine": Mutant(
        "G6",
        (Edit(CARRY_OUT, LAND, ""), Edit(CARRY_OUT, KEEP_ASIDE, LAND + KEEP_ASIDE)),
        (f"{LANDING}::test_a_table_waits_for_its_quarantined_rows_to_be_kept",),
    ),
    "a chunk that is done, claimed again": Mutant(
        "G7",
        (
            Edit("hakiri.catalog.leases:CLAIMABLE", "('pending', 'waiting')", "('pending', 'waiting', 'done')"),
            Edit("hakiri.catalog.leases:CLAIM", "'done', ", ""),
        ),
        (f"{CATALOG}/test_takeover.py::test_a_lease_that_ran_out_is_good_until_someone_else_has_it[sqlite]",),
    ),
    "a store without its triggers": Mutant(
        "G7",
        (
            Edit(
                "hakiri.catalog.sqlite:migrate",
                'in statements("sqlite", number):',
                'in (s for s in statements("sqlite", number) if "TRIGGER" not in s):',
            ),
        ),
        (f"{CATALOG}/test_moves.py::test_a_store_refuses_every_move_that_is_not_in_the_table[sqlite]",),
    ),
    "a wait that the clock does not hear of": Mutant(
        "G8",
        (Edit("hakiri.run.stop:Stop.wait", "clock.sleep(step)", "pass"),),
        ("tests/run/test_stopping.py::test_a_wait_ends_with_its_time_or_with_the_stop",),
    ),
    "a table that is there before its rows": Mutant(
        "G9",
        (
            Edit(
                "hakiri.land.delta.rust:RustTable._commit",
                "    create_table_with_add_actions(\n",
                f"{IN_TWO_COMMITS}    create_table_with_add_actions(\n",
            ),
        ),
        (f"{APPEND}::test_the_first_landing_makes_the_table_in_one_commit[adopted]",),
    ),
    "an audit that was asked for, left out": Mutant(
        "G9",
        (
            Edit(
                "hakiri.spec.unavailable:unavailable_in_pipeline",
                "for name, validator in spec.quality.dataset_level:",
                "for name, validator in ():",
            ),
        ),
        (f"{AVAILABLE}::test_what_is_not_carried_out_is_not_planned[asked0-quality.dataset_level.row_count]",),
    ),
    "a rule that aborts, passed over": Mutant(
        "G9",
        (Edit("hakiri.extract.rules.judge:judge", "for rule in _with(rules, RowFailure.ABORT):", "for rule in ():"),),
        ("tests/extract/rules/test_judge.py::test_a_rule_that_aborts_tells_how_many_and_no_value",),
    ),
    "a failure that exits 0": Mutant(
        "G10",
        (Edit("hakiri.run.exit:exit_code", "0 if is_well else EXIT_CODES[Recovery.REPORT]", "0"),),
        ("tests/cli/test_apply.py::test_a_run_that_did_not_succeed_is_no_success_even_without_an_error[failed]",),
    ),
    "work left that nobody tells of": Mutant(
        "G10",
        (Edit(ALL_DONE, "if still_open and run.is_spent:", "if False:"),),
        ("tests/run/test_pipeline.py::test_a_run_that_found_more_at_every_look_tells_what_is_left",),
    ),
    "failed chunks that nobody tells of": Mutant(
        "G10",
        (Edit(ALL_DONE, "if failed:", "if False:"),),
        (
            "tests/run/test_pipeline.py::test_a_run_fails_with_the_chunks_that_failed_for_good",
            "tests/run/test_tasks.py::test_chunks_that_failed_are_no_failure_of_their_reader_and_one_of_the_lander",
        ),
    ),
    "a narrower type, taken without a word": Mutant(
        SHAPE,
        (Edit(f"{SCHEMA}:_is_applied", "if kind in ACCEPTABLE:\n", "if kind in ACCEPTABLE:\n        return True\n"),),
        ("tests/plan/test_drift.py::test_a_type_that_changed_is_widened_narrowed_or_another[bigint-int-narrowed]",),
    ),
    "a declared rename, taken for a new column": Mutant(
        SHAPE,
        (Edit(f"{SCHEMA}:_present", "present_name(column.name, renamed)", "column.name"),),
        ("tests/plan/test_drift.py::test_a_declared_rename_is_no_drift_and_happens_once",),
    ),
    "a replaced file that its table does not wait for": Mutant(
        SHAPE,
        (Edit("hakiri.plan.make:_unread", "is_exchanged and is_whole and ", "is_exchanged and "),),
        (
            (
                f"{ROUNDS}::test_a_table_that_is_replaced_reads_all_files_again_after_a_round_in_which_one_was_another"
                "[replaced-read_again0]"
            ),
        ),
    ),
    "a new column that nobody is warned of": Mutant(
        SHAPE,
        (Edit("hakiri.plan.caution:_new_columns", "yield CautionKind.NEW_COLUMN, text", "return"),),
        (
            (
                f"{CAUTIONS}::test_a_new_column_is_warned_of_where_rows_that_are_read_again_are_compared_without_it"
                "[append-columns0-True]"
            ),
        ),
    ),
    "mixed shapes that nobody is warned of": Mutant(
        SHAPE,
        (Edit("hakiri.plan.caution:_new_columns", "yield CautionKind.MIXED_SHAPES, text", "return"),),
        (f"{CAUTIONS}::test_chunks_that_were_read_before_and_after_a_column_came_are_warned_of[statuses0-key0-True]",),
    ),
    "files that nobody is warned of": Mutant(
        SHAPE,
        (
            Edit("hakiri.plan.caution:_files", "yield CautionKind.CHANGED_FILE, text", "pass"),
            Edit("hakiri.plan.caution:_files", "yield CautionKind.RENAMED_FILE, text", "yield from ()"),
        ),
        (f"{OF_FILES}[append-found1-key1-changed-file]", f"{OF_FILES}[append-found3-key3-renamed-file]"),
    ),
    "a joined table that nobody is warned of": Mutant(
        SHAPE,
        (Edit("hakiri.plan.caution:_joined", "yield CautionKind.JOINED_TABLE, text", "yield from ()"),),
        (
            (
                f"{CAUTIONS}::test_a_joined_table_is_warned_of_where_rows_that_are_read_again_are_known_by_content"
                "[append-transform0-False-True]"
            ),
        ),
    ),
    "a pre-hook that failed, passed over": Mutant(
        "Hooks",
        (Edit(CALL_HOOK, "        raise\n", "        return\n"),),
        (f"{HOOKS}::test_a_failing_pre_hook_stops_the_load_before_anything_is_written",),
    ),
    "a hook that nobody notes": Mutant(
        "Hooks",
        (Edit(CALL_HOOK, "lambda: self._catalog.mark_hook(self._key, mark)", "int"),),
        (f"{HOOKS}::test_hooks_are_called_before_and_after_each_landing_and_journaled",),
    ),
    "a post-hook that is owed by nobody": Mutant(
        "Hooks",
        (Edit("hakiri.run.hooks:TableHooks.before", "    if self._load.post_hook:\n", "    if False:\n"),),
        (f"{HOOKS}::test_hooks_are_called_before_and_after_each_landing_and_journaled",),
    ),
    "hook SQL of two statements": Mutant(
        "Hooks",
        (Edit("hakiri.spec.sql.statement:read_statement", 'if ";" in one:', "if False:"),),
        (f"{STATEMENT}[OPTIMIZE orders; DROP TABLE orders-one SQL statement]",),
    ),
    "hook SQL that sets anything": Mutant(
        "Hooks",
        (Edit("hakiri.spec.sql.statement:_read", "not key.startswith(SETTINGS)", "False"),),
        (f"{STATEMENT}[SET spark.hadoop.fs.s3a.secret.key = x-may set]",),
    ),
    "a webhook to an address that is not public": Mutant(
        "Hooks",
        (Edit("hakiri.https:guarded", "not policy(address)", "False"),),
        ("tests/land/hooks/test_guard.py::test_the_systems_resolver_finds_this_machine_and_the_guard_refuses_it",),
    ),
    "a function with arguments that nobody judged": Mutant(
        "Hooks",
        (Edit("hakiri.land.hooks.registry:problems", "signature.problems(_declared(name, load(name)), args)", "()"),),
        ("tests/land/hooks/test_function.py::test_the_check_knows_the_same_problems",),
    ),
    "a broken file without its line": Mutant(
        "Manifests",
        (Edit("hakiri.spec.document:parse_document", 'wrong.lineno, f"not TOML', '1, f"not TOML'),),
        ("tests/spec/test_document.py::test_a_broken_file_is_refused_with_its_line[truncated.toml]",),
    ),
    "the first problem alone": Mutant(
        "Manifests",
        (Edit("hakiri.spec.read:_Reading._pipeline", PROBLEMS, f"list({PROBLEMS})[:1]"),),
        (f"{READ}::test_every_problem_of_every_file_is_reported_at_once_in_reading_order",),
    ),
    "a date that only TOML knows": Mutant(
        "Manifests",
        (Edit("hakiri.spec.document:_plain", "return value.isoformat()", "return value"),),
        ("tests/spec/test_document.py::test_dates_mean_the_same_in_both_formats",),
    ),
    "an edit that cuts off what follows": Mutant(
        "Manifests",
        (Edit("hakiri.spec.edits.toml_text:_splice", "text[statement.end :]", "''"),),
        (f"{EDITING}::test_an_edit_keeps_comments_order_and_everything_else",),
    ),
    "an edit into a project that is not valid": Mutant(
        "Manifests",
        (
            Edit(
                "hakiri.spec.edits.edit:Editor._commit",
                "self._check({write.path: write.after for write in writes})",
                "pass",
            ),
        ),
        (f"{EDITING}::test_an_edit_that_would_make_the_project_invalid_is_refused[sets0-unsets0]",),
    ),
    "comments dropped in silence": Mutant(
        "Manifests",
        (Edit("hakiri.spec.edits.edit:_dropped_comments", "if not dropped:", "if True:"),),
        (f"{EDITING}::test_converting_to_json_moves_the_block_and_says_which_comments_are_lost",),
    ),
    "the old file gone before the new one is there": Mutant(
        "Manifests",
        (Edit("hakiri.spec.edits.edit:Editor.convert", "[*writes, *_removals(gone)]", "[*_removals(gone), *writes]"),),
        (f"{EDITING}::test_a_conversion_that_is_cut_off_loses_nothing_and_a_repeat_finishes_it[json]",),
    ),
    "a file that is written in its place": Mutant(
        "Manifests",
        (Edit("hakiri.spec.edits.write:_replace", MAKE_BESIDE, MAKE_IN_PLACE),),
        (f"{EDITING}::test_a_write_that_is_cut_off_leaves_the_file_as_it_was",),
    ),
    "a secret in clear": Mutant(
        "Manifests",
        (Edit("hakiri.spec.check:check_texts", "yield from _check_text(path, text, where)", "pass"),),
        (f"{READ}::test_a_source_that_leaks_or_leads_nowhere_is_reported[{LEAK}]",),
    ),
    "an error that shows a secret": Mutant(
        "Manifests",
        (Edit("hakiri.errors:mask", "if start >= end:", "if False:"),),
        ("tests/house/test_errors.py::test_a_rendered_error_carries_no_secret",),
    ),
    "a node that is on no list": Mutant(
        "Transforms",
        (
            Edit(
                "hakiri.extract.transform.check:_check_step",
                "require(node, EXPRESSION, (*path, *key), GRAMMAR)",
                "pass",
            ),
        ),
        (f"{CHECK}::test_a_refusal_names_the_path_of_the_node",),
    ),
    "a pattern of any weight": Mutant(
        "Transforms",
        (Edit("hakiri.extract.transform.pattern:wrong_pattern", "weight_of(text) > MAX_WEIGHT", "False"),),
        (f'{PATTERN}::test_a_pattern_that_would_be_in_too_many_places_at_once_is_refused[contains("{{p}}")]',),
    ),
    "a plan of whole chunks that calls itself one of batches": Mutant(
        "Transforms",
        (Edit("hakiri.extract.transform.check:check_plan", "plan.scope != scope_of(plan.steps)", "False"),),
        (f"{CHECK}::test_a_hostile_plan_is_refused_with_the_place_of_what_is_wrong[wrong-scope.json]",),
    ),
    "a plan that does not fit, told when it runs": Mutant(
        "Transforms",
        (
            Edit(
                "hakiri.extract.transform.reshape:Reshape.bind",
                "raise self._unfit(placed, shown, cause, known) from cause",
                "return schema",
            ),
        ),
        (f"{RESHAPE}::test_a_missing_column_is_found_before_anything_is_read_with_the_one_that_was_meant",),
    ),
    "an answer that was not announced": Mutant(
        "Transforms",
        (Edit("hakiri.extract.transform.stream:rows_of", "if schema != announced:", "if False:"),),
        (f"{COMPONENT}::test_a_component_that_does_what_it_may_not_fails_its_chunk[answers with other columns]",),
    ),
    "a schema appended to a history that its writer did not know": Mutant(
        "The catalog",
        (Edit("hakiri.catalog.records:append_schema", "if last != after:", "if False:"),),
        (
            f"{CATALOG}/test_history.py::test_a_version_is_appended_once_and_only_to_the_history_its_writer_knew[sqlite]",
        ),
    ),
    "lineage that was tampered with, appended to": Mutant(
        "The catalog",
        (Edit("hakiri.catalog.delta.properties:require_append_only", "operation not in _APPENDING", "False"),),
        (f"{CATALOG}/test_lineage.py::test_the_catalog_notices_what_the_store_lets_through[delta_rs-restore]",),
    ),
    "a snapshot of files that nobody compares": Mutant(
        "The catalog",
        (Edit("hakiri.catalog.sidecars:_require", "digest.hexdigest() != sidecar.sha256", "False"),),
        (f"{CATALOG}/test_snapshots.py::test_an_unfit_sidecar_leaves_no_snapshot[sqlite-corrupt]",),
    ),
    "a revocation older than the bound": Mutant(
        "The catalog",
        (Edit("hakiri.catalog.epochs:EpochReader.current", "(age := self._age()) >= self._bound:", "(age := 0) > 0:"),),
        (f"{CATALOG}/test_epochs.py::test_a_reader_cut_off_from_the_store_stops_when_the_bound_is_reached[sqlite]",),
    ),
    "a store of a later release, opened": Mutant(
        "The catalog",
        (Edit("hakiri.catalog.sqlite:migrate", "if found > SCHEMA_VERSION:", "if False:"),),
        (f"{CATALOG}/test_history.py::test_a_release_that_is_older_than_the_store_refuses_it[sqlite]",),
    ),
}
