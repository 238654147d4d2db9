"""Errors of the catalog."""

from __future__ import annotations

from typing import Literal

from hakiri.errors import CatalogError, ManifestError, Recovery


class AddressUnreadable(
    ManifestError,
    code="HK121",
    says="the address in `{key}` cannot be read: {reason}",
    help="a reference inside an address, as in `user:${{secret:NAME}}@host`, is percent-encoded automatically",
):
    """An address cannot be parsed after its references are resolved. No part of it is shown."""

    key: str
    reason: str


class CatalogUnavailable(
    CatalogError,
    code="HK301",
    recovery=Recovery.RETRY,
    says="the catalog in {store} does not answer: {reason}",
    help="check `[catalog]` in hakiri.toml, and that the server is up or the folder can be read and written",
):
    """The catalog's store does not answer."""

    store: str
    reason: str


class CatalogRefused(
    CatalogError,
    code="HK321",
    says="the catalog in {store} cannot be used: {reason}",
    help=(
        "check `catalog.url` and the secret behind its password; the user needs `GRANT CREATE ON DATABASE` to make the "
        "schema, or the right to read and write the tables of one that its owner made"
    ),
):
    """A login or a right that the server refuses: waiting does not help."""

    store: str
    reason: str


class CatalogDamaged(
    CatalogError,
    code="HK122",
    help=("`hakiri catalog rebuild --yes` keeps it aside and writes a new one from the tables' own Delta logs"),
):
    """A file or a table of the catalog that is cut short, overwritten or gone: what it recorded is lost."""

    store: str
    file: str
    """The file, or the name of the table."""
    bytes: int | None
    """The size of the file; None where it is missing, and for a table."""
    reason: str = ""
    """What Spark says of the table; empty for a file."""

    def message(self) -> str:
        if self.reason:
            return f"the catalog in {self.store} is damaged: the table {self.file} cannot be read: {self.reason}"
        size = "missing" if self.bytes is None else f"cut short or overwritten ({self.bytes:,} bytes)"
        return f"the catalog in {self.store} is damaged: {self.file} is {size}"

    def help(self) -> str | None:
        if not self.reason:
            return super().help()
        return (
            "name another schema under `[catalog] tables` in hakiri.toml: `hakiri catalog rebuild --yes` writes a new "
            "catalog there from the tables' own Delta logs, and nothing of the old one is removed"
        )


class CatalogBusy(
    CatalogError,
    code="HK302",
    recovery=Recovery.RETRY,
    says="{tries} commits to the catalog's `{table}` lost to other writers",
):
    """Other writers committed to the catalog first, each time a commit was tried."""

    table: str
    tries: int


class CatalogTooNew(
    CatalogError,
    code="HK303",
    says="the catalog is at schema {found}, this release knows {known}",
    help="upgrade Hakiri here; a catalog never goes back",
):
    """A newer release of Hakiri has upgraded the catalog."""

    found: int
    known: int


class CatalogDriverMissing(
    CatalogError,
    code="HK304",
    says="the `{backend}` catalog needs `{wanted}`, which is not installed",
    help="install `hakiri[{extra}]`",
):
    """The chosen backend's library is not installed."""

    backend: str
    wanted: str
    extra: str


class SecondWriter(
    CatalogError,
    code="HK305",
    says="Spark application {writer} already writes the catalog at {path}",
    help=(
        "Spark cannot keep two applications apart on a local path: stop the other one, use the `delta` "
        "backend on a path, or keep the catalog in Unity Catalog"
    ),
):
    """Another Spark application writes this catalog. On a local path, two of them would lose commits."""

    path: str
    writer: str


class UnknownPipeline(
    CatalogError,
    code="HK306",
    says="the catalog does not know the pipeline `{pipeline}`",
    help="run `hakiri apply {pipeline}`",
):
    """The pipeline is not registered in the catalog."""

    pipeline: str


class BackwardMove(
    CatalogError, code="HK307", recovery=Recovery.REPORT, says="a {noun} does not go from {before} to {after}"
):
    """A state change is not allowed."""

    noun: str
    before: str
    after: str


class PlanChanged(
    CatalogError,
    code="HK308",
    recovery=Recovery.YIELD,
    says="chunk `{chunk}` of `{pipeline}` is already planned with another window",
):
    """Another run planned this chunk first, with another window."""

    pipeline: str
    chunk: str


class LeaseLost(
    CatalogError,
    code="HK310",
    recovery=Recovery.YIELD,
    says="attempt {attempt} at chunk `{chunk}` of `{pipeline}` no longer holds its lease",
):
    """The lease of a chunk has expired, or another worker holds it. Nothing was recorded."""

    pipeline: str
    chunk: str
    attempt: int


class LandingHeld(
    CatalogError,
    code="HK311",
    recovery=Recovery.YIELD,
    says="landing {number} of `{pipeline}`.`{table}` is under way at {holder}",
):
    """Another landing of the table is under way; landings of one table happen one at a time."""

    pipeline: str
    table: str
    number: int
    holder: str


class LandingLost(
    CatalogError,
    code="HK312",
    recovery=Recovery.YIELD,
    says="landing {number} of `{pipeline}`.`{table}` is no longer held by this run",
):
    """Another worker holds the landing, or it has already ended."""

    pipeline: str
    table: str
    number: int


class CursorMoved(
    CatalogError,
    code="HK313",
    recovery=Recovery.YIELD,
    says=("the cursor of `{pipeline}`.`{table}` stands at landing {found}, so landing {landing} may not move it"),
):
    """A later landing has already moved the cursor."""

    pipeline: str
    table: str
    landing: int
    found: int


class SchemaMoved(
    CatalogError,
    code="HK314",
    recovery=Recovery.YIELD,
    says="the schema history of `{pipeline}`.`{table}` is at version {found}, not {expected}",
):
    """Another run changed the schema history first."""

    pipeline: str
    table: str
    expected: int
    found: int


class SidecarUnfit(CatalogError, code="HK315", says="{path}: {problem}, so the snapshot was not committed"):
    """A file that a snapshot refers to is missing or different."""

    path: str
    problem: Literal["missing", "wrong size", "wrong content"]


class SnapshotChanged(
    CatalogError,
    code="HK316",
    recovery=Recovery.REPORT,
    says="landing {landing} of `{pipeline}`.`{table}` already has another snapshot",
):
    """A landing already has a snapshot with other content."""

    pipeline: str
    table: str
    landing: int


class EpochsStale(
    CatalogError,
    code="HK317",
    recovery=Recovery.RETRY,
    says="revocations were last read {age_seconds:.0f} s ago; the bound is {bound_seconds:.0f} s",
):
    """Revocations were not read recently enough, so access is denied."""

    age_seconds: float
    bound_seconds: float


class LineageTampered(
    CatalogError,
    code="HK318",
    says="lineage in {store} is no longer append-only: {evidence}",
    help=("nothing more is appended to it; restore the table from a backup, or accept the loss and recreate it"),
):
    """The lineage table was changed by something other than an append."""

    store: str
    evidence: str
