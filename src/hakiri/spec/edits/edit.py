"""Create, edit and convert pipelines in their files, only if the project stays valid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakiri.errors import ManifestError, Place
from hakiri.model.installed import Connectors, Functions
from hakiri.model.manifest_edit import ManifestEdit
from hakiri.spec.document import Document, Format, read_document
from hakiri.spec.edits.assign import assign, remove
from hakiri.spec.edits.toml_text import count_comments, render_table, set_value, unset_value
from hakiri.spec.edits.write import remove_file, replace_file
from hakiri.spec.errors import DuplicatePipeline, EditRefused, InvalidProject, PipelineExists, PipelineNotFound
from hakiri.spec.lines import KeyPath
from hakiri.spec.read import (
    PIPELINE_FOLDER,
    PROJECT_FILE,
    Project,
    Written,
    pipeline_files,
    read_project,
    shown_path,
)
from hakiri.spec.schema import address_of
from hakiri.spec.validation_errors import guess, key_name, spelling

_DEFAULT_INDENT = 2


@dataclass(frozen=True)
class Editor:
    """Edits one project. Every verb checks the whole project as it would be, and then writes everything or nothing."""

    root: Path
    connectors: Connectors
    shown_from: Path
    functions: Functions = field(default_factory=dict)

    def create(self, data: Mapping[str, Any], to: Format) -> ManifestEdit:
        """Add a pipeline: a file of its own for JSON, a block of hakiri.toml for TOML.

        Raises PipelineExists, or EditRefused with what is wrong with it.
        """
        name = str(data.get("id", ""))
        if there := self._find(name):
            raise PipelineExists(pipeline=name, place=there[0].place)
        if to == "json":
            return self._commit(name, [self._new_file(name, data, "json")])
        document = self._project_file()
        block = f"[[pipeline]]\n{render_table(_without_nulls(data), 'pipeline')}"
        return self._commit(name, [_Write.of(document, _joined(document.text, block))])

    def edit(self, name: str, sets: Mapping[KeyPath, Any], unsets: Sequence[KeyPath]) -> ManifestEdit:
        """Set and unset keys of a pipeline in its own file, keeping format, comments and order.

        Raises PipelineNotFound, or EditRefused with what would be wrong.
        """
        found = self._one(name)
        change = _change_json if found.document.format == "json" else _change_toml
        try:
            text = change(found, sets, unsets)
        except (ValueError, KeyError) as wrong:
            reason = f"`{wrong.args[0]}` is not set" if isinstance(wrong, KeyError) else str(wrong)
            raise EditRefused(reason=reason) from wrong
        return self._commit(name, [_Write.of(found.document, text)])

    def convert(self, name: str, to: Format) -> ManifestEdit:
        """Move a pipeline into a file of the other format; of two equal definitions, keep the one in this format.

        Lossless but for TOML comments, and says how many were dropped. Converting what is converted changes nothing.
        """
        found = self._find(name)
        if not found:
            raise self._not_found(name)
        _refuse_differences(found)
        kept = next((one for one in found if one.document.format == to), None)
        gone = [one for one in found if one is not kept]
        if not gone:
            return ManifestEdit(pipeline=name, written=(), notes=(f"it is written in {to.upper()} already",))
        # The new file is durable before the old one is removed: a crash between leaves both, and a repeat finishes.
        writes = [] if kept else [self._new_file(name, gone[0].data, to)]
        return self._commit(name, [*writes, *_removals(gone)], notes=_dropped_comments(gone))

    def _new_file(self, name: str, data: Mapping[str, Any], to: Format) -> _Write:
        path = self.root / PIPELINE_FOLDER / f"{_file_name(name)}.{to}"
        if path.exists():
            place = Place(shown_path(path, self.shown_from))
            raise PipelineExists(pipeline=path.name, place=place, advice="move that file out of the way first")
        return _Write(path, before=None, after=_file_text(data, to))

    def _commit(self, name: str, writes: Sequence[_Write], notes: tuple[str, ...] = ()) -> ManifestEdit:
        self._check({write.path: write.after for write in writes})
        for write in writes:
            write.carry_out(shown_path(write.path, self.shown_from))
        shown = {write: shown_path(write.path, self.shown_from) for write in writes}
        return ManifestEdit(
            pipeline=name,
            written=tuple(shown[write] for write in writes if write.after is not None),
            removed=tuple(shown[write] for write in writes if write.after is None),
            notes=notes,
        )

    def _check(self, overlay: Mapping[Path, bytes | None]) -> Project:
        try:
            return read_project(
                self.root,
                connectors=self.connectors,
                shown_from=self.shown_from,
                overlay=overlay,
                functions=self.functions,
            )
        except InvalidProject as invalid:
            raise EditRefused(problems=invalid.problems) from invalid

    def _one(self, name: str) -> Written:
        found = self._find(name)
        if not found:
            raise self._not_found(name)
        if len(found) > 1:
            duplicate = DuplicatePipeline(pipeline=name, found=tuple(one.place for one in found))
            raise EditRefused(problems=(duplicate,), reason="nothing was written")
        return found[0]

    def _find(self, name: str) -> list[Written]:
        return [one for one in self._all() if one.data.get("id") == name]

    def _all(self) -> list[Written]:
        """Yield every pipeline that can be read, valid or not, because an edit may repair it."""
        found = []
        for path in [self.root / PROJECT_FILE, *sorted(pipeline_files(self.root))]:
            try:
                document = read_document(path, shown=shown_path(path, self.shown_from))
            except ManifestError:
                continue  # reported by the check before anything is written
            found += [Written(document, at) for at in _places(document)]
        return [one for one in found if isinstance(one.data, dict)]

    def _project_file(self) -> Document:
        path = self.root / PROJECT_FILE
        return read_document(path, shown=shown_path(path, self.shown_from))

    def _not_found(self, name: str) -> PipelineNotFound:
        known = sorted({str(one.data.get("id")) for one in self._all()})
        return PipelineNotFound(pipeline=name, known=tuple(known), guess=guess(name, known))


@dataclass(frozen=True)
class _Write:
    """One file as it was and as it will be; None if it does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None

    @staticmethod
    def of(document: Document, text: str) -> _Write:
        return _Write(document.path, before=document.text.encode(), after=text.encode())

    def carry_out(self, shown: str) -> None:
        if self.after is not None:
            replace_file(self.path, self.after, expected=self.before, shown=shown)
        elif self.before is not None:
            remove_file(self.path, expected=self.before, shown=shown)


def _places(document: Document) -> list[KeyPath]:
    """Yield the paths of pipelines in a document: all of it, or the blocks of hakiri.toml."""
    if document.path.name != PROJECT_FILE:
        return [()]
    inline = document.data.get("pipeline")
    return [("pipeline", index) for index in range(len(inline))] if isinstance(inline, list) else []


def _change_json(found: Written, sets: Mapping[KeyPath, Any], unsets: Sequence[KeyPath]) -> str:
    data = json.loads(found.document.text)
    for path, value in sets.items():
        assign(data, _respelt(data, path), value)
    for path in unsets:
        remove(data, _respelt(data, path))
    return _dump_json(data, like=found.document.text)


def _change_toml(found: Written, sets: Mapping[KeyPath, Any], unsets: Sequence[KeyPath]) -> str:
    text = found.document.text
    for path, value in sets.items():
        if _has_null(value):
            raise ValueError(f"TOML has no null; remove `{key_name(path)}` with --unset instead")
        text = set_value(text, (*found.at, *_respelt(found.data, path)), value)
    for path in unsets:
        text = unset_value(text, (*found.at, *_respelt(found.data, path)))
    return text


def _respelt(data: Any, path: KeyPath) -> KeyPath:
    """Return the path as the document spells it: `upsert_key` may be `upsertKey` there."""
    found: KeyPath = ()
    for part in path:
        name = spelling(data, part)
        found = (*found, part if name is None else name)
        data = None if name is None else data[name]
    return found


def _refuse_differences(found: Sequence[Written]) -> None:
    """Check that two definitions are equal; a person has to choose between different ones. Raises EditRefused."""
    first = found[0].data
    for other in found[1:]:
        differing = sorted(key for key in {*first, *other.data} if first.get(key) != other.data.get(key))
        if differing:
            raise EditRefused(
                reason=f"{found[0].place} and {other.place} differ in {', '.join(f'`{key}`' for key in differing)}",
                advice="delete the one you do not want",
            )


def _removals(found: Sequence[Written]) -> list[_Write]:
    """Return the writes that remove the definitions: a whole file, or a block of hakiri.toml."""
    writes = [_Write(one.document.path, one.document.text.encode(), None) for one in found if not one.at]
    inline = [one for one in found if one.at]
    if inline:
        text = inline[0].document.text
        for one in sorted(inline, key=lambda one: one.at, reverse=True):
            text = unset_value(text, one.at)
        writes.append(_Write.of(inline[0].document, text))
    return writes


def _dropped_comments(gone: Sequence[Written]) -> tuple[str, ...]:
    dropped = sum(count_comments(one.document.text, one.at) for one in gone if one.document.format == "toml")
    if not dropped:
        return ()
    return (f"{dropped} {'comment was' if dropped == 1 else 'comments were'} dropped, which JSON cannot hold",)


def _file_text(data: Mapping[str, Any], to: Format) -> bytes:
    if to == "json":
        return _json_file(data)
    config = {key: data[key] for key in ("source", "destination") if key in data}
    if _has_null(config):
        raise EditRefused(reason="TOML has no null, and the pipeline's `config` contains one", advice="remove it first")
    return render_table(_without_nulls(data)).encode()


def _json_file(data: Mapping[str, Any]) -> bytes:
    return _dump_json({"$schema": address_of("pipeline.json"), **data}, like="").encode()


def _dump_json(data: Any, *, like: str) -> str:
    """Write JSON with the indent and newlines of the text it replaces."""
    second = like.splitlines()[1] if like.count("\n") > 1 else ""
    indent = second[: len(second) - len(second.lstrip())] or _DEFAULT_INDENT
    text = json.dumps(data, indent=indent, ensure_ascii=False) + "\n"
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def _joined(text: str, block: str) -> str:
    joined = f"{text.rstrip()}\n\n{block}"
    return joined.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else joined


def _file_name(name: str) -> str:
    """Return the pipeline's id as a file name; ids that are not valid are refused by the check."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)[:64] or "_"


def _has_null(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(_has_null(item) for item in (value.values() if isinstance(value, dict) else value))
    return value is None


def _without_nulls(data: Mapping[str, Any]) -> dict[str, Any]:
    """Remove null keys, which mean the same as missing ones."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if item is not None}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return {key: strip(value) for key, value in data.items() if value is not None}
