"""Read, check, stage and seal one chunk on an executor, in one call that pickles (G3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from hakiri.extract.changes.feed import Feed
from hakiri.extract.chunk import ChunkRead, Extracted, extract_chunk
from hakiri.extract.connectors.port import Connector
from hakiri.extract.errors import SourceMoved
from hakiri.extract.provenance import Provenance
from hakiri.extract.sink import Heeding
from hakiri.extract.transform.reshape import Reshape
from hakiri.model.chunk import Gone, Seal
from hakiri.model.cursor import StoredCursor, to_text
from hakiri.model.span import OneFile
from hakiri.model.staged import Tally
from hakiri.run.errors import TaskStopped
from hakiri.run.stop import StopSign
from hakiri.run.transforms import digest_of
from hakiri.spec.quality import AnyRowRule
from hakiri.stage.layout import Attempt
from hakiri.stage.manifest import fingerprint
from hakiri.stage.port import Files
from hakiri.stage.seal import seal
from hakiri.stage.writer import AttemptWriter

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Staged:
    """What an attempt has staged."""

    seal: Seal
    tally: Tally
    broken: Mapping[str, int]
    seconds: float
    """How long the task took, without the start of its worker."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """One attempt at one chunk, with everything its task needs."""

    connector: Connector
    read: ChunkRead
    files: Files
    attempt: Attempt
    predicate: str
    """What the chunk reads, as it was planned."""
    ingested_at: datetime
    rules: tuple[AnyRowRule, ...] = ()
    reshape: Reshape | None = None
    feed: Feed | None = None
    tells_content: bool = False
    sign: StopSign

    def __call__(self) -> Staged:
        """Stage the chunk and seal it. An attempt is made once: a repeat raises AttemptTaken.

        Raises SourceError, ExtractError, StageError, NotWritable; TaskStopped when the run is being stopped.
        """
        started = monotonic()
        with AttemptWriter(self.files, self.attempt) as writer:
            extracted, gone = self._extract(writer)
            staged = seal(
                writer,
                extracted.tally,
                cursor_low=extracted.cursor_low,
                cursor_high=extracted.cursor_high,
                content=extracted.content,
                token=extracted.token,
                predicate=self.predicate,
                ingested_at=self.ingested_at,
                transform=digest_of(self.reshape),
            )
        sealed = Seal(
            path=staged.folder,
            rows=extracted.tally.staged,
            bytes=sum(file.bytes for file in staged.files),
            fingerprint=fingerprint(staged),
            token="" if extracted.token is None else to_text(StoredCursor(extracted.token)),
            gone=gone,
        )
        return Staged(sealed, extracted.tally, extracted.broken, monotonic() - started, extracted.notes)

    def _extract(self, writer: AttemptWriter) -> tuple[Extracted, Gone | None]:
        """Extract the rows. Returns also why the planned file was not there to be read, if it was not."""
        try:
            return self._extract_rows(self.connector, writer), None
        except SourceMoved as moved:
            is_untouched = not (writer.staged_rows or writer.set_aside_rows)
            if not (isinstance(self.read.span, OneFile) and is_untouched):
                raise
            # This version of the file is gone, so there is nothing to read. A later round reads what is there then, and
            # leaves out rows that have landed, even if it is this version again.
            return self._extract_rows(None, writer), Gone.REPLACED if moved.is_replaced else Gone.MISSING

    @property
    def _provenance(self) -> Provenance:
        attempt = self.attempt
        return Provenance(
            pipeline=attempt.chunk.pipeline,
            run=attempt.run,
            node=attempt.node,
            chunk=attempt.chunk.chunk,
            ingested_at=self.ingested_at,
        )

    def _extract_rows(self, connector: Connector | None, writer: AttemptWriter) -> Extracted:
        return extract_chunk(
            connector,
            self.read,
            Heeding(writer, _StopCheck(self.sign, self.attempt.chunk.chunk)),
            provenance=self._provenance,
            rules=self.rules,
            reshape=self.reshape,
            feed=self.feed,
            tells_content=self.tells_content,
        )


class _StopCheck:
    """Raise TaskStopped once the run is being stopped. Looks for the sign at most once a second."""

    def __init__(self, sign: StopSign, chunk: str) -> None:
        self._sign = sign
        self._chunk = chunk
        self._looked = monotonic()

    def __call__(self) -> None:
        if monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = monotonic()
        if self._sign.is_up():
            raise TaskStopped(chunk=self._chunk)
