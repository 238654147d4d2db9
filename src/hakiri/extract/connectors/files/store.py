"""Files are found and opened alike wherever they are kept, and what goes wrong there is told in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from pyarrow import fs

from hakiri.errors import (
    BadConfig,
    BadValue,
    RateLimited,
    SourceError,
    SourceFailed,
    SourceMoved,
    SourceRefused,
    SourceUnreachable,
    TableMissing,
)
from hakiri.extract.connectors.files import FilesConfig, Format
from hakiri.model.span import OneFile
from hakiri.model.table import SourceTable
from hakiri.spec.faults import guess

NAME = "files"

_SUFFIXES: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_HIDDEN = re.compile(r"(^|/)[._]")


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a table."""

    path: str
    size: int
    version: str
    format: Format
    compression: str | None

    @property
    def span(self) -> OneFile:
        return OneFile(self.path, self.version)


class Store:
    """The files below one path."""

    def __init__(self, config: FilesConfig) -> None:
        self._config = config
        self._system, self._root = _file_system(config)

    def files(self, table: SourceTable) -> list[Found]:
        """The files of a table, by path. Raises TableMissing where there are none."""
        pattern = _pattern(self._config.pattern, table.name)
        listed = self._listed()
        found = [self._found(info, path) for path, info in sorted(listed.items()) if pattern.fullmatch(path)]
        if not found:
            names = [path.split("/")[0].split(".")[0] for path in listed]
            raise TableMissing(connector=NAME, table=table.name, guess=guess(table.name, names))
        return found

    def same(self, span: OneFile, table: SourceTable) -> Found:
        """The file of a span. Raises SourceMoved if it is no longer that file."""
        info = self._system.get_file_info(f"{self._root}/{span.path}")
        if info.type is not fs.FileType.File or _version(info) != span.version:
            raise SourceMoved(connector=NAME, table=table.name, reason=f"{span.path} is gone or has changed")
        return self._found(info, span.path)

    @contextmanager
    def stream(self, found: Found) -> Iterator[Any]:
        """The file's bytes from the front, decompressed."""
        with self._system.open_input_stream(f"{self._root}/{found.path}", compression=None) as plain:
            if found.compression is None:
                yield plain
                return
            with pa.CompressedInputStream(plain, found.compression) as inflated:
                yield inflated

    @contextmanager
    def random(self, found: Found) -> Iterator[Any]:
        """The file's bytes in any order."""
        with self._system.open_input_file(f"{self._root}/{found.path}") as opened:
            yield opened

    def _listed(self) -> dict[str, Any]:
        """The files below the root by their path from there; what a leading `.` or `_` hides is not among them."""
        below = len(self._root) + 1
        infos = self._system.get_file_info(fs.FileSelector(self._root, recursive=True))
        files = {info.path[below:]: info for info in infos if info.type is fs.FileType.File}
        return {path: info for path, info in files.items() if not _HIDDEN.search(path)}

    def _found(self, info: Any, path: str) -> Found:
        stem, dot, last = path.rpartition(".")
        compression = _COMPRESSED.get(dot + last)
        suffix = Path(stem if compression else path).suffix
        told = self._config.format or _SUFFIXES.get(suffix)
        if told is None:
            known = ", ".join(get_args(Format))
            reason = f"cannot be told for {path} from its name; write one of {known}, or narrow `pattern`"
            raise BadConfig(connector=NAME, key="format", reason=reason)
        return Found(path, info.size, _version(info), told, compression)


def classified(failure: Exception, table: SourceTable, where: str | None = None) -> SourceError:
    """What a failure of a file system or of a file means."""
    if isinstance(failure, SourceError):
        return failure
    name, text = table.name, str(failure)
    if isinstance(failure, FileNotFoundError):
        return SourceMoved(connector=NAME, table=name, reason=f"{where or 'a file'} is gone")
    if isinstance(failure, PermissionError) or _REFUSED.search(text):
        return SourceRefused(connector=NAME, table=name, reason=f"{where or 'the folder'} may not be read")
    if _SLOWED.search(text):
        return RateLimited(connector=NAME, table=name)
    if _AWAY.search(text):
        return SourceUnreachable(connector=NAME, table=name, reason="the object store does not answer")
    if _DAMAGED.search(text) or isinstance(failure, pa.ArrowException):
        return BadValue(connector=NAME, table=name, reason="the file is damaged", where=where)
    return SourceFailed(connector=NAME, table=name, reason=type(failure).__name__)


# Object stores say what happened in the text alone.
_REFUSED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN")
_SLOWED = re.compile(r"SLOW_DOWN|THROTTLING|TOO_MANY_REQUESTS")
_AWAY = re.compile(r"NETWORK_CONNECTION|REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|INTERNAL_FAILURE")
_DAMAGED = re.compile(r"ompressed stream|inflate|ZSTD", re.IGNORECASE)


def _file_system(config: FilesConfig) -> tuple[Any, str]:
    if "://" not in config.path:
        return fs.LocalFileSystem(), str(Path(config.path).absolute())
    if config.path.startswith("s3://"):
        return fs.S3FileSystem(**_s3_options(config)), config.path.removeprefix("s3://").rstrip("/")
    try:
        system, root = fs.FileSystem.from_uri(config.path)
    except pa.ArrowInvalid as cause:
        raise BadConfig(connector=NAME, key="path", reason="is not an address we can read files from") from cause
    return system, root.rstrip("/")


def _s3_options(config: FilesConfig) -> dict[str, Any]:
    scheme, _, host = (config.endpoint or "").rpartition("://")
    options = {
        "endpoint_override": host or None,
        "scheme": scheme or None,
        "region": config.region,
        "access_key": config.access_key and config.access_key.get_secret_value(),
        "secret_key": config.secret_key and config.secret_key.get_secret_value(),
    }
    return {key: value for key, value in options.items() if value}


def _pattern(pattern: str | None, table: str) -> re.Pattern[str]:
    """The paths of a table: what the pattern says, else `table.*` and everything below `table/`."""
    if pattern is None:
        return re.compile(rf"{re.escape(table)}(\.[^/]*|/.*)")
    named = pattern.replace("{table}", table)
    return re.compile(_TOKEN.sub(lambda token: _MEANING.get(token[0]) or re.escape(token[0]), named))


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _version(info: Any) -> str:
    return f"{info.size}-{info.mtime_ns}"
