"""Every source is walked by the same few verbs, so a plan and a chunk never ask which source it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hakiri.errors import Place, SourceError
from hakiri.model.key import KeyValue
from hakiri.model.source import BackfillHint, Survey
from hakiri.model.span import Span
from hakiri.model.table import SourceTable, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa


class Connector(Protocol):
    """A source. It is a value: it pickles, holds no open connection, and every verb that needs one opens its own.

    No verb changes the source, so each may be repeated at will. Each raises SourceError and nothing else.
    """

    def hint(self) -> BackfillHint:
        """How the source is best walked. Asks nobody, and always says the same."""
        ...

    def probe(self, table: SourceTable) -> str:
        """What answered, in a few words, once the table was seen. Cheap enough for a health check.

        Raises SourceUnreachable, SourceRefused or TableMissing, whichever it is.
        """
        ...

    def describe(self, table: SourceTable) -> TableSchema:
        """The table's columns, types and key. A repeat differs only if the source has changed.

        With columns asked for, those alone and in that order; ColumnMissing when one is not there.
        """
        ...

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        """How much there is to read and where it can be cut, counting rows at or above `since` of the cursor.

        The same source gives the same survey. The pieces cover every row once, NULL keys included.
        """
        ...

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a span in batches of bounded size; with `since`, those whose cursor is at or above it, or NULL.

        A repeat starts from the beginning; over an unchanged source it gives the same rows. Batches hold the
        described columns (or those named) in the described types, and may bring columns the source has only since
        gained. Rows that cannot be read as described come in batches of their own: see `quarantine.kind_of`.
        A failure midway raises after the batches before it. Leaving the iterator closes the connection.
        """
        ...

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int | None:
        """How many rows `read` gives for the same span, quarantined ones included; None where only reading tells."""
        ...

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        """What a failure of this source's driver means. Pure; what nobody knows is SourceFailed, which is retried."""
        ...


@runtime_checkable
class Located(Protocol):
    """A source whose errors can name a line of the manifest."""

    def written(self, where: Callable[[str], Place]) -> Connector:
        """The same source, with the line that each key of its config stands on."""
        ...


@runtime_checkable
class Indexing(Protocol):
    """A source that can tell which columns it has an index on."""

    def is_indexed(self, schema: TableSchema, column: str) -> bool | None:
        """Whether rows are found by the column without reading the table; None where that cannot be told."""
        ...


@runtime_checkable
class Pinnable(Protocol):
    """A source that can show one moment to many readers."""

    def pin(self) -> AbstractContextManager[Connector]:
        """The same source, frozen at this moment for as long as the context is open, also after pickling.

        Once the context is closed (or the process that holds it is gone), a read of a key range or of a whole table
        sees the source as it is then; a read of positions raises SourceMoved, for positions mean nothing by then.
        Each call freezes another moment.
        """
        ...
