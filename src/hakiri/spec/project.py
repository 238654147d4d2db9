"""Declare a project (hakiri.toml): where tables and state are, which Spark runs it, and inline pipelines."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from hakiri.model.schema_name import check_schema
from hakiri.model.session import SessionKind
from hakiri.spec.fields.address import HostRule
from hakiri.spec.frozen import Distinct, Frozen, Int
from hakiri.spec.names import ConnectorName, Slug
from hakiri.spec.pipeline import DESTINATION, PipelineSpec

_REFERENCE_START = "${"


class CatalogBackend(StrEnum):
    """Where the catalog keeps its state."""

    DELTA = "delta"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


def check_remote(url: str) -> str:
    """Check the address of a Spark Connect server."""
    if not url.startswith(("sc://", _REFERENCE_START)):
        raise ValueError("a Spark Connect address starts with sc://")
    return url


def check_bucket(url: str) -> str:
    """Check the address of an object store."""
    if not url.startswith(("s3://", "gs://", "abfss://", "r2://", _REFERENCE_START)):
        raise ValueError("a bucket is an s3://, gs://, abfss:// or r2:// address")
    return url


def check_endpoint(url: str) -> str:
    """Check the https address of an object store's interface."""
    if not url.startswith(("https://", _REFERENCE_START)):
        raise ValueError("an endpoint is an https:// address")
    return url


class ProjectSection(Frozen):
    """The project's name and version."""

    name: Slug
    version: Annotated[str, Field(min_length=1, max_length=64)] = "0.1.0"
    """Your own version of the project: `hakiri check --json` shows it, nothing else depends on it."""


class ContextSection(Frozen):
    """Where the landed tables live."""

    path: Annotated[str, Field(min_length=1)] = ".hakiri/context"
    """A folder or an object store address; a relative path starts at the project."""
    tables: Annotated[str, AfterValidator(check_schema)] | None = None
    """The schema of Spark or Unity Catalog that tables land in; folders of the path when left out."""
    default_destination: ConnectorName = DESTINATION
    """Where pipelines land; this release lands them in the context only."""


class CatalogSection(Frozen):
    """Where cursors, leases and history are kept."""

    backend: CatalogBackend = CatalogBackend.DELTA
    path: Annotated[str, Field(min_length=1)] | None = None
    """The folder of a delta catalog or the file of a sqlite one; inside the context when left out."""
    tables: Annotated[str, AfterValidator(check_schema)] | None = None
    """The schema of Spark or Unity Catalog that holds a delta catalog, in place of a folder."""
    url: Annotated[str, Field(min_length=1)] | None = None
    """The address of a postgres catalog; its password comes from `${secret:NAME}`."""


class EngineSection(Frozen):
    """The Spark that runs the pipelines, and its size."""

    kind: SessionKind = SessionKind.AUTO
    """auto, local (embedded), connect (a Spark Connect server) or databricks (the runtime's session)."""
    remote: Annotated[str, AfterValidator(check_remote)] | None = None
    """The sc:// address for connect; SPARK_REMOTE when left out."""
    cores: Annotated[Int, Field(ge=1, le=1_024)] | None = None
    """Cores of the embedded Spark; all of the machine's when left out."""
    memory: Annotated[str, Field(pattern=r"^[1-9][0-9]*[mg]$")] = "2g"
    """Memory of the embedded Spark's JVM."""
    conf: dict[str, str] = Field(default_factory=dict)
    """Further Spark settings."""
    max_parallel_chunks: Annotated[Int, Field(ge=1)] | None = None
    """A cap on chunks in flight across all pipelines."""


class SyncSection(Frozen):
    """An object store that mirrors the context. Credentials come from HAKIRI_SYNC_KEY_ID and HAKIRI_SYNC_KEY_SECRET."""

    bucket: Annotated[str, AfterValidator(check_bucket)]
    endpoint: Annotated[str, AfterValidator(check_endpoint)] | None = None
    region: str = "auto"


def check_host(host: str) -> str:
    """Check a host that webhooks may be sent to."""
    HostRule.parse(host)
    return host


class HooksSection(Frozen):
    """What hooks may reach besides their own tables."""

    webhook_hosts: Annotated[tuple[Annotated[str, AfterValidator(check_host)], ...], Distinct] = ()
    """Hosts of webhooks: `hooks.example.com`, `*.example.com`, `example.com:8443`; none when left out."""
    warehouse: Annotated[str, Field(min_length=1)] | None = None
    """The id of the SQL warehouse that refreshes views of a workspace; DATABRICKS_WAREHOUSE_ID when left out."""

    @property
    def rules(self) -> tuple[HostRule, ...]:
        return tuple(HostRule.parse(host) for host in self.webhook_hosts)


class ProjectSpec(Frozen):
    """One hakiri.toml."""

    project: ProjectSection
    context: ContextSection = ContextSection()
    catalog: CatalogSection = CatalogSection()
    engine: EngineSection = EngineSection()
    sync: SyncSection | None = None
    """Refused by this release (HK608)."""
    hooks: HooksSection = HooksSection()
    pipeline: tuple[PipelineSpec, ...] = ()
    """Pipelines written inline; larger projects keep them in pipelines/, one per file."""
