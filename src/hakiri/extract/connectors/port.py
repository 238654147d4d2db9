"""The connector port: the verbs that every source implements."""

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
    """A source. It is a value: it can be pickled and has no open connection; verbs that need one open it themselves.

    No verb changes the source, so each may be repeated. Verbs raise SourceError and nothing else.
    """

    def hint(self) -> BackfillHint:
        """Return how the source is best read. Opens no connection; the result is constant."""
        ...

    def probe(self, table: SourceTable) -> str:
        """Check that the table can be seen, and describe the server in a few words. Cheap enough for a health check.

        Raises SourceUnreachable, SourceRefused or TableMissing.
        """
        ...

    def describe(self, table: SourceTable) -> TableSchema:
        """Return the table's columns, types and key. A repeat differs only if the source has changed.

        If the table requests columns, only those, in that order. Raises ColumnMissing if one does not exist.
        """
        ...

    def survey(self, schema: TableSchema, *, since: KeyValue | None = None) -> Survey:
        """Return how much there is to read and how it can be split; with `since`, from that cursor value upwards.

        An unchanged source gives the same survey. The pieces cover every row once, including rows with NULL keys.
        """
        ...

    def read(
        self, schema: TableSchema, span: Span, *, columns: tuple[str, ...] | None = None, since: KeyValue | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a span in batches of bounded size; with `since`, only cursors at or above it, or NULL.

        A repeat starts from the beginning; an unchanged source gives the same rows. Batches have the described columns
        (or the given ones) in the described types, and possibly columns that the source has gained since. Rows that do
        not fit the description come in separate batches: see `quarantine.kind_of`. A failure is raised after the
        batches before it. Closing the iterator closes the connection.

        A source that is walked by page tokens or by positions in a log also yields where the next read continues
        (`token.token_batch`), after the rows that come before it. Once they have landed, the token is the table's
        cursor, and the next `survey` gets it as `since`. The last page brings no token, its own, or no rows.
        Positions are compared, so they have to sort as the log does; of several streams the least one counts, and the
        others read some entries again. Other sources go by the values of a column, and their tokens are ignored.
        """
        ...

    def count(self, schema: TableSchema, span: Span, *, since: KeyValue | None = None) -> int | None:
        """Count the rows that `read` gives for the span, including quarantined ones; None if that needs a read."""
        ...

    def classify(self, failure: Exception, table: SourceTable) -> SourceError:
        """Translate a failure of the driver. Pure. An unknown failure becomes SourceFailed, which is retried."""
        ...


@runtime_checkable
class Located(Protocol):
    """A source whose errors can name a line of the manifest."""

    def written(self, where: Callable[[str], Place]) -> Connector:
        """Return the same source with the line of each key of its config."""
        ...


@runtime_checkable
class Indexing(Protocol):
    """A source that knows which columns have an index."""

    def is_indexed(self, schema: TableSchema, column: str) -> bool | None:
        """Return whether rows can be found by the column without reading the table; None if unknown."""
        ...


@runtime_checkable
class Pinnable(Protocol):
    """A source that can give many readers the same snapshot."""

    def pin(self) -> AbstractContextManager[Connector]:
        """Yield the same source, fixed at the current moment while the context is open, even after pickling.

        Once the context is closed, or its process has ended, a read of a key range or of a whole table sees the
        current state; a read of positions raises SourceMoved, because positions are only valid in one snapshot.
        Each call takes a new snapshot.
        """
        ...
