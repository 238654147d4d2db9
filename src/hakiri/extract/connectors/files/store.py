"""Lists and opens files on local disks and object stores, and translates their errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from pyarrow import fs

from hakiri.errors import Place, SourceError
from hakiri.extract.connectors.files import FilesConfig, Format
from hakiri.extract.connectors.files.file_version import TAIL_BYTES, Front, Stamp, digest, surveyed_size
from hakiri.extract.errors import (
    BadValue,
    FileChanged,
    RateLimited,
    SourceFailed,
    SourceMoved,
    SourceRefused,
    SourceUnreachable,
    TableMissing,
)
from hakiri.model.clock import SystemClock
from hakiri.model.errors import BadConfig
from hakiri.model.span import OneFile
from hakiri.model.table import SourceTable
from hakiri.spec.validation_errors import guess

NAME = "files"

_SUFFIXES: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_HIDDEN = re.compile(r"(^|/)[._]")
_NEWEST = 64
_RECENT = timedelta(days=1)
"""The survey reads the last bytes of files that changed within this time, and always of the newest files.

Files that are still being written are among them. The number of older files is unlimited, so they are not read.
"""
_HEADS = 16
"""The number of concurrent requests for ETags."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a table, and how much of it to read."""

    path: str
    size: int
    format: Format
    compression: str | None
    stamp: Stamp | None = None
    """The version of the file when that was decided."""
    tail: str = ""
    """A digest of the last of these bytes, if the file may grow."""


class Store:
    """The files below one path."""

    def __init__(self, config: FilesConfig) -> None:
        self._config = config
        self._system, self._root = _file_system(config)

    def files(self, table: SourceTable) -> list[Found]:
        """Return the files of a table, sorted by path. Raises TableMissing if there are none."""
        pattern = _pattern(self._config.pattern, table.name)
        listed = self._listed()
        found = [self._found(path, info.size) for path, info in sorted(listed.items()) if pattern.fullmatch(path)]
        if not found:
            names = [path.split("/")[0].split(".")[0] for path in listed]
            raise TableMissing(connector=NAME, table=table.name, guess=guess(table.name, names))
        return found

    def survey(self, table: SourceTable) -> list[tuple[Found, OneFile]]:
        """Return the files of a table, each with its span. Raises TableMissing if there are none."""
        stamped = self._stamped(self.files(table))
        growing = [one for one in stamped if self._may_grow(one)]
        tails = {one.path: self._tail(one.path, one.size) for one in _recent(growing)}
        versions = ((one, one.stamp.version if one.stamp else "") for one in stamped)
        return [(one, OneFile(one.path, version, tails.get(one.path, ""))) for one, version in versions]

    def same(self, span: OneFile, table: SourceTable) -> Found:
        """Return the file of a span, up to the surveyed size. Raises SourceMoved if the file has changed."""
        size = surveyed_size(span.version)
        found = self._found(span.path, size)
        now = before = self._now(found)
        tail = ""
        if self._may_grow(found):
            tail = self._tail(span.path, size)
            now = self._now(found)  # if it changed meanwhile, the tail may belong to another file
        if now is None or now.stamp is None:
            raise SourceMoved(connector=NAME, table=table.name, reason=f"{span.path} is gone")
        is_surveyed = now.stamp.version == span.version and now == before
        if is_surveyed or (tail and tail == span.tail and now.size > size):
            return replace(now, size=size, tail=tail)
        raise SourceMoved(connector=NAME, table=table.name, reason=f"{span.path} has changed", is_replaced=True)

    @contextmanager
    def surveyed(self, found: Found, table: SourceTable) -> Iterator[Any]:
        """Open the surveyed bytes of a file: a `Front` for text, otherwise an Arrow file.

        Raises FileChanged at the end, or instead of any other failure, if the bytes have changed.
        """
        stamp = found.stamp or self._stamp(found.path)
        if found.stamp is None:
            found = replace(found, size=stamp.size)
        if self._may_grow(found) and not found.tail:
            found = replace(found, tail=self._tail(found.path, found.size))
        with self.random(found) if found.format == "parquet" else self._front(found) as opened:
            front = opened if isinstance(opened, Front) else None
            try:
                yield opened
            except Exception as cause:
                if not self._is_same(found, stamp):
                    raise FileChanged(connector=NAME, table=table.name, file=found.path) from cause
                raise
            is_torn = front is not None and not front.is_whole
            if is_torn or not self._is_same(found, stamp, front):
                raise FileChanged(connector=NAME, table=table.name, file=found.path)

    def _is_same(self, found: Found, stamp: Stamp, front: Front | None = None) -> bool:
        """Return whether the file is unchanged, or has only grown after a complete line."""
        now = self._now(found)
        if now is None or now.stamp is None or now.stamp == stamp:
            return now is not None
        has_grown = self._may_grow(found) and now.stamp.inode == stamp.inode and now.size > found.size
        has_half_a_line = front is not None and front.took_last_line
        return has_grown and not has_half_a_line and self._tail(found.path, found.size) == found.tail

    @contextmanager
    def _front(self, found: Found) -> Iterator[Front]:
        def has_grown() -> bool:
            return self._may_grow(found) and self._stamp(found.path).size > found.size

        with self.stream(found) as stream:
            yield Front(stream, None if found.compression else found.size, has_grown=has_grown)

    @contextmanager
    def stream(self, found: Found) -> Iterator[Any]:
        """Open the file's decompressed bytes for sequential reads."""
        with self._system.open_input_stream(f"{self._root}/{found.path}", compression=None) as plain:
            if found.compression is None:
                yield plain
                return
            with pa.CompressedInputStream(plain, found.compression) as inflated:
                yield inflated

    @contextmanager
    def random(self, found: Found) -> Iterator[Any]:
        """Open the file's bytes for random access."""
        with self._system.open_input_file(f"{self._root}/{found.path}") as opened:
            yield opened

    def _listed(self) -> dict[str, Any]:
        """Return the files below the root by relative path, without names that begin with `.` or `_`."""
        below = len(self._root) + 1
        infos = self._system.get_file_info(fs.FileSelector(self._root, recursive=True))
        files = {info.path[below:]: info for info in infos if info.type is fs.FileType.File}
        return {path: info for path, info in files.items() if not _HIDDEN.search(path)}

    @property
    def _is_local(self) -> bool:
        return isinstance(self._system, fs.LocalFileSystem)

    def _may_grow(self, found: Found) -> bool:
        """Return whether a file of this kind can grow by appending."""
        return self._is_local and found.compression is None and found.format != "parquet"

    def _stamped(self, found: list[Found]) -> list[Found]:
        """Return the current versions of the files, without deleted ones."""
        with ThreadPoolExecutor(_HEADS) as pool:
            now = map(self._now, found) if self._is_local else pool.map(self._now, found)
            return [one for one in now if one is not None]

    def _now(self, found: Found) -> Found | None:
        try:
            stamp = self._stamp(found.path)
        except FileNotFoundError:
            return None
        return replace(found, size=stamp.size, stamp=stamp)

    def _stamp(self, path: str) -> Stamp:
        """Return the current version of the file. Raises FileNotFoundError."""
        whole = f"{self._root}/{path}"
        if self._is_local:
            found = Path(whole).stat()
            return Stamp(found.st_size, found.st_mtime_ns, inode=found.st_ino)
        with self._system.open_input_file(whole) as opened:
            marks = {name.lower(): mark for name, mark in (opened.metadata() or {}).items()}
            size = opened.size()
        if etag := marks.get("etag"):
            return Stamp(size, 0, etag=etag.decode().strip('"'))
        return Stamp(size, self._system.get_file_info(whole).mtime_ns or 0)

    def _tail(self, path: str, size: int) -> str:
        """Return a digest of the bytes before the offset `size`; empty if there is no such file."""
        start = max(0, size - TAIL_BYTES)
        with suppress(FileNotFoundError), self._system.open_input_file(f"{self._root}/{path}") as opened:
            return digest(opened.read_at(size - start, start))
        return ""

    def _found(self, path: str, size: int) -> Found:
        stem, dot, last = path.rpartition(".")
        compression = _COMPRESSED.get(dot + last)
        suffix = Path(stem if compression else path).suffix
        format_ = self._config.format or _SUFFIXES.get(suffix)
        if format_ is None:
            known = ", ".join(get_args(Format))
            reason = f"cannot be inferred for {path} from its name; write one of {known}, or narrow `pattern`"
            raise BadConfig(connector=NAME, key="format", reason=reason)
        return Found(path, size, format_, compression)


def _recent(found: list[Found]) -> list[Found]:
    """Return the files that may still be written to."""
    since = (SystemClock().now() - _RECENT).timestamp() * 1e9
    by_time = sorted(found, key=_changed_at)
    return [*(one for one in by_time[:-_NEWEST] if _changed_at(one) >= since), *by_time[-_NEWEST:]]


def _changed_at(found: Found) -> int:
    return found.stamp.mtime_ns if found.stamp else 0


def classified(
    failure: Exception, table: SourceTable, config: FilesConfig, *, file: str | None = None, place: Place | None = None
) -> SourceError:
    """Translate a failure of a file system or a file; `place` is the line of the path in the manifest."""
    if isinstance(failure, SourceError):
        return failure
    name, text = table.name, str(failure)
    there = f"{_shown(config, file)}: {_words(failure, text)}"
    if isinstance(failure, FileNotFoundError) and file:
        return SourceMoved(connector=NAME, table=name, reason=f"{file} is gone")
    if isinstance(failure, FileNotFoundError | NotADirectoryError):
        return BadConfig(connector=NAME, key="path", reason=there, place=place)
    if isinstance(failure, PermissionError) or _REFUSED.search(text):
        return SourceRefused(connector=NAME, table=name, reason=there, place=place)
    if "NO_SUCH_BUCKET" in text:
        reason = f"{_shown(config)}: there is no such bucket"
        return BadConfig(connector=NAME, key="path", reason=reason, place=place)
    if _SLOWED.search(text):
        return RateLimited(connector=NAME, table=name)
    if _AWAY.search(text):
        return SourceUnreachable(connector=NAME, table=name, reason=there, place=place)
    if not isinstance(failure, OSError | pa.ArrowException):
        return SourceFailed(connector=NAME, table=name)
    if isinstance(failure, pa.ArrowException) or _is_of_the_file(failure, text):
        reason = f"the file is {'encrypted' if _ENCRYPTED.search(text) else 'damaged'}: {_words(failure, text)}"
        return BadValue(connector=NAME, table=name, reason=reason, where=file, advice=MEND)
    return SourceFailed(connector=NAME, table=name, reason=there)


def _shown(config: FilesConfig, file: str | None = None) -> str:
    """Return the folder, or a file below it, and the service it is stored on."""
    path = f"{config.path.rstrip('/')}/{file}" if file else config.path
    return f"{path} at {config.endpoint}" if config.endpoint else path


def _words(failure: Exception, text: str) -> str:
    """Return the message of the system or the object store in one line, without its remarks on the address."""
    if isinstance(failure, OSError) and failure.errno:
        return os.strerror(failure.errno)
    said = _ASKED.sub(r"\1: ", " ".join(text.split("\n")[0].split()))
    return said[:_WORDS] or "no reason is given"


def _is_of_the_file(failure: Exception, text: str) -> bool:
    """Return whether the file's content caused the failure: failures of the system have an error number."""
    return isinstance(failure, OSError) and failure.errno is None and not _REMOTE.search(text)


# Object stores report the cause only in the text.
_REFUSED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN")
_SLOWED = re.compile(r"SLOW_DOWN|THROTTLING|TOO_MANY_REQUESTS")
_AWAY = re.compile(r"NETWORK_CONNECTION|REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|INTERNAL_FAILURE")
_REMOTE = re.compile(r"AWS Error|google::cloud|curl|HTTP|azure", re.IGNORECASE)
_ENCRYPTED = re.compile(r"decrypt|encrypt", re.IGNORECASE)
_ASKED = re.compile(r"^.*?AWS Error (\w+) during \w+ operation[^:]*: ")
_WORDS = 200
MEND = "put a whole file in its place, or take it out of the folder"


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
    """Return a pattern for the paths of a table; by default `table.*` and everything below `table/`."""
    if pattern is None:
        return re.compile(rf"{re.escape(table)}(\.[^/]*|/.*)")
    named = pattern.replace("{table}", table)
    return re.compile(_TOKEN.sub(lambda token: _MEANING.get(token[0]) or re.escape(token[0]), named))


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
