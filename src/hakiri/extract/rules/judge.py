"""Applies row rules to a batch: keeps or quarantines each row, and counts every breach (G6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.extract.errors import RowRuleBroken, RuleUnfit
from hakiri.extract.quarantine_rows import rows_aside
from hakiri.extract.rules.breach import Unjudgeable, breach, reason
from hakiri.spec.quality import AnyRowRule, RowFailure


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule and its id: `regex:email`, or `regex:email#2` for the second of its kind."""

    id: str
    rule: AnyRowRule


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of applying rules to a batch."""

    kept: pa.RecordBatch
    aside: tuple[pa.RecordBatch, ...] = ()
    """Rows in the form of `model.quarantine_row`: rejected rows, and kept rows that broke a rule with `warn`."""
    broken: Mapping[str, int] = field(default_factory=dict)
    """How many rows broke each rule; a row that broke two is counted for both."""


def named(rules: Iterable[AnyRowRule]) -> tuple[NamedRule, ...]:
    """Assign ids to the rules; the same list always gets the same ids."""
    seen: Counter[str] = Counter()
    found = []
    for rule in rules:
        name = f"{_SNAKE.get(rule.type, rule.type)}:{rule.field}"
        seen[name] += 1
        found.append(NamedRule(name if seen[name] == 1 else f"{name}#{seen[name]}", rule))
    return tuple(found)


def judge(batch: pa.RecordBatch, rules: tuple[NamedRule, ...], *, table: str, key: tuple[str, ...] = ()) -> Judged:
    """Check every row with every rule. Quarantined rows carry their key. Pure: a repeat gives the same result.

    Raises RowRuleBroken if a rule with `abort` is broken, RuleUnfit if a rule does not apply to its column.
    """
    breaches = {rule.id: _breaches(batch, rule, table) for rule in rules}
    broken = {name: count for name, found in breaches.items() if (count := pc.sum(found).as_py())}
    for rule in _with(rules, RowFailure.ABORT):
        if rule.id in broken:
            raise RowRuleBroken(table=table, rule=rule.id, column=rule.rule.field, count=broken[rule.id])
    if not broken:
        return Judged(batch)
    kept = pa.repeat(pa.scalar(value=True), batch.num_rows)
    aside = []
    for rule in _with(rules, RowFailure.SKIP):
        # Only the first rule with `skip` quarantines a row, so that no row is counted twice.
        aside.append(_aside(batch, pc.and_(kept, breaches[rule.id]), rule, key, is_kept=False))
        kept = pc.and_not(kept, breaches[rule.id])
    aside += [
        _aside(batch, pc.and_(kept, breaches[rule.id]), rule, key, is_kept=True)
        for rule in _with(rules, RowFailure.WARN)
    ]
    return Judged(batch.filter(kept), tuple(rows for rows in aside if rows.num_rows), broken)


_SNAKE = {"notNull": "not_null", "maxLength": "max_length", "fieldType": "field_type"}


def _with(rules: tuple[NamedRule, ...], on_fail: RowFailure) -> list[NamedRule]:
    return [rule for rule in rules if rule.rule.on_fail is on_fail]


def _breaches(batch: pa.RecordBatch, named_rule: NamedRule, table: str) -> pa.Array:
    rule = named_rule.rule
    if rule.field not in batch.schema.names:
        raise _unfit(named_rule, table, "the rows have no such column")
    frame = pl.DataFrame({rule.field: pl.from_arrow(batch.column(rule.field))})
    try:
        found = frame.select(breach(rule, frame.dtypes[0]).fill_null(value=False))
    except Unjudgeable as cause:
        raise _unfit(named_rule, table, str(cause)) from cause
    except pl.exceptions.PolarsError as cause:
        # Its message may quote a value.
        raise _unfit(named_rule, table, "its pattern or its bounds are beyond what rules can compute") from cause
    return found.to_series().to_arrow()


def _unfit(rule: NamedRule, table: str, why: str) -> RuleUnfit:
    return RuleUnfit(table=table, rule=rule.id, column=rule.rule.field, reason=why)


def _aside(
    batch: pa.RecordBatch, which: pa.Array, rule: NamedRule, key: tuple[str, ...], *, is_kept: bool
) -> pa.RecordBatch:
    rows, why = batch.filter(which), reason(rule.rule)
    return rows_aside(rows, rule_id=rule.id, reason=why, column=rule.rule.field, is_kept=is_kept, key=key)
