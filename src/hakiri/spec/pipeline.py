"""Declare a pipeline: which tables of one source should exist in the lakehouse, and how they get there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from hakiri.model.source import CursorKind
from hakiri.spec.component import ComponentSpec
from hakiri.spec.fields.column_type import ColumnType
from hakiri.spec.fields.duration import Duration, PositiveDuration, RateBudget
from hakiri.spec.fields.schedule import Schedule, TimeZone, Trigger
from hakiri.spec.fields.table_properties import Properties
from hakiri.spec.frozen import Config, Distinct, Flag, Frozen, Int, Number, shorthand
from hakiri.spec.load import Columns, LoadByKey, LoadSpec
from hakiri.spec.names import NAMESPACE, ColumnName, ConnectorName, Identifier, PipelineId, SecretName
from hakiri.spec.quality import QualitySpec


class SourceSpec(Frozen):
    """Where rows come from."""

    connector: ConnectorName
    config: Config = Field(default_factory=dict)
    """The settings of the connector; values may be `${env:NAME}` or `${secret:NAME}`."""
    cursor_kind: CursorKind | None = None
    """How the source can be read in parts; the connector's own kind when left out."""


DESTINATION = "context"


class DestinationSpec(Frozen):
    """Where rows go."""

    connector: ConnectorName = DESTINATION
    """`context`: this release has no other destination."""
    config: Config = Field(default_factory=dict)
    """Refused by this release (HK608)."""
    namespace: Annotated[str, Field(pattern=NAMESPACE)] | None = None
    """The first part of the tables' landed names: `crm` lands `users` as `crm.users`."""
    destination_writes_per_sec: Annotated[Number, Field(gt=0)] | None = None
    """A cap on how many files are written per second; refused by this release (HK608)."""


Comment = Annotated[str, Field(max_length=4_000)]


class ColumnSpec(Frozen):
    """A column to read, with its type if the source does not know it."""

    name: ColumnName
    type: ColumnType | None = None
    comment: Comment = ""
    """A description for readers of the table."""


class IncrementalSpec(Frozen):
    """The column that shows which rows are new, and how late a row may become visible."""

    column: ColumnName
    lag: Duration = timedelta()


class SchemaPolicy(StrEnum):
    """Whether a table follows its source's schema."""

    EVOLVE = "evolve"
    STRICT = "strict"


Column = Annotated[ColumnSpec, shorthand(ColumnSpec, "name")]
Incremental = Annotated[IncrementalSpec, shorthand(IncrementalSpec, "column")]


class TableSpec(Frozen):
    """One table with more than its name."""

    name: Identifier
    primary_key: Columns = ()
    columns: tuple[Column, ...] = ()
    """The columns to read; all of them when left out."""
    renamed: dict[ColumnName, ColumnName] = Field(default_factory=dict)
    """Renamed columns, each new name with its old one: `{ city = "town" }`."""
    partition_by: Columns = ()
    """The partition columns, from the table's first landing on."""
    cluster_by: Annotated[Columns, Field(max_length=4)] = ()
    """The columns of liquid clustering."""
    comment: Comment = ""
    """A description for the table's readers."""
    properties: Properties = Field(default_factory=dict)
    """Properties of the Delta table."""
    query: Annotated[str, Field(min_length=1)] | None = None
    """A query of the source that is read in place of a table."""
    incremental: Incremental | None = None
    """The table's own cursor; the pipeline's when left out."""
    load: LoadSpec | None = None
    """The table's own load; the pipeline's when left out."""


class TransformSpec(Frozen):
    """A compiled transform plan and the tables it is for."""

    plan: Annotated[str, Field(pattern=r"^[^/\\].*\.transforms\.json$")]
    """The plan's file, relative to the project."""
    tables: Annotated[tuple[Identifier, ...], Distinct] = ()
    """The tables it is for; all of the pipeline's when left out."""

    @property
    def file(self) -> str:
        return self.plan


def parse_transform(value: Any) -> Any:
    """Tell a plan from a component by the key `component` alone, so that errors refer to the right one."""
    if isinstance(value, dict) and "component" in value:
        return ComponentSpec.model_validate(value)
    return TransformSpec.model_validate({"plan": value} if isinstance(value, str) else value)


Table = Annotated[TableSpec, shorthand(TableSpec, "name")]
Transform = Annotated[
    TransformSpec | ComponentSpec,
    BeforeValidator(parse_transform, json_schema_input_type=str | TransformSpec | ComponentSpec),
]


def parse_start(value: Any) -> int | datetime:
    """Read a date or time as an instant in UTC; an integer stays as it is."""
    if isinstance(value, datetime) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(
            "a start is a date, a time or a number: `2010-01-01`, `2010-01-01T00:00:00Z`, `1000`"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Start = Annotated[int | datetime, BeforeValidator(parse_start, json_schema_input_type=int | date | datetime)]


class BackfillSpec(Frozen):
    """How history is read before the pipeline reads increments."""

    window: PositiveDuration | None = None
    """The span of time that one chunk covers."""
    parallelism: Annotated[Int, Field(ge=1, le=1_000)] | None = None
    """How many chunks are in flight at once."""
    rate_budget: RateBudget | None = None
    """A cap on requests to the source."""
    start_from: Start | None = None
    """Rows older than this are not read."""
    max_chunks_per_tick: Annotated[Int, Field(ge=1)] | None = None
    """How many chunks one tick of the schedule dispatches."""


class RetrySpec(Frozen):
    """How often a failing chunk is tried again, and how long it waits."""

    max_attempts: Annotated[Int, Field(ge=1, le=100)] = 5
    initial_delay: PositiveDuration = timedelta(seconds=1)
    max_delay: PositiveDuration = timedelta(minutes=5)
    jitter: Flag = True


class PipelineSpec(Frozen):
    """One pipeline of the manifest."""

    id: PipelineId
    """Names the pipeline everywhere: on the command line, in the catalog, in job names."""
    source: SourceSpec
    secrets: Annotated[tuple[SecretName, ...], Distinct] = ()
    """The secrets the pipeline may use, each from the environment or the secret scope."""
    tables: Annotated[tuple[Table, ...], Field(min_length=1)]
    schedule: Schedule | None = None
    """When the pipeline's job starts in a deployed bundle: `every 15m`, or cron in five fields."""
    timezone: TimeZone = "UTC"
    """The time zone of a cron schedule."""
    incremental: Incremental | None = None
    """The cursor: a column, or a column and a lag."""
    destination: DestinationSpec = DestinationSpec()
    transforms: tuple[Transform, ...] = ()
    load: LoadSpec = LoadByKey()
    quality: QualitySpec = QualitySpec()
    schema_policy: SchemaPolicy = Field(
        default=SchemaPolicy.EVOLVE, validation_alias=AliasChoices("schema", "schema_policy")
    )
    """`evolve` follows the source, `strict` fails on any drift."""
    backfill: BackfillSpec = BackfillSpec()
    retry: RetrySpec = RetrySpec()
    triggers: tuple[Trigger, ...] = ()
    """What starts the pipeline's job in a deployed bundle, beside its schedule."""

    def load_of(self, table: TableSpec) -> LoadSpec:
        """Return the table's own load, or the pipeline's."""
        return table.load or self.load

    def incremental_of(self, table: TableSpec) -> IncrementalSpec | None:
        """Return the table's cursor: the watermark of its load, its own, or the pipeline's."""
        watermark = self.load_of(table).watermark
        if watermark is not None:
            return IncrementalSpec(column=watermark)
        return table.incremental or self.incremental

    def landed_name(self, table: TableSpec) -> str:
        """Return the table's name in the lakehouse: its own, or the last part of it in the destination's namespace."""
        namespace = self.destination.namespace
        return f"{namespace}.{table.name.rpartition('.')[2]}" if namespace else table.name

    def quarantine_name(self, table: TableSpec) -> str:
        """Return the name of the quarantine table: the manifest's, or one beside the table."""
        named = self.quality.quarantine.table if self.quality.quarantine else None
        return named or f"{self.landed_name(table)}_quarantine"

    @property
    def helper_tables(self) -> Iterator[str]:
        """Yield the names of the tables beside the landed ones: for quarantined rows, and for a load mode's own state.

        No other table or view of the project may have them.
        """
        for table in self.tables:
            yield self.quarantine_name(table)
            yield from (f"{self.landed_name(table)}_{suffix}" for suffix in self.load_of(table).helper_suffixes)
