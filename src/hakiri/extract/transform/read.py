"""Reads and writes the files of compiled transforms. Errors name the line and the node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from hakiri.errors import Place
from hakiri.extract.errors import TransformOutdated, TransformRefused
from hakiri.extract.transform.check import MAX_DEPTH, check_plan
from hakiri.extract.transform.shape import Refusal
from hakiri.spec.document import parse_document
from hakiri.spec.errors import InvalidProject, UnreadableManifest
from hakiri.spec.schema import address_of
from hakiri.spec.transform import CompiledTransform
from hakiri.spec.validation_errors import faults, key_name

MAX_BYTES = 1024 * 1024
_WIDTH = 110
_AROUND = 8
"""The depth in its file at which an expression begins."""


def read_transform(raw: bytes, *, path: Path, shown: str) -> CompiledTransform:
    """Parse and check the file of a compiled transform. Pure: passes nothing to Polars.

    Raises UnreadableManifest, InvalidProject (its shape), TransformRefused or TransformOutdated.
    """
    if len(raw) > MAX_BYTES:
        raise UnreadableManifest(place=Place(shown), reason=f"a plan larger than {MAX_BYTES >> 20} MiB")
    document = parse_document(raw, path=path, shown=shown, max_depth=MAX_DEPTH + _AROUND)
    data = {key: part for key, part in document.data.items() if key != "$schema"}
    try:
        found = CompiledTransform.model_validate(data)
    except ValidationError as error:
        raise InvalidProject(problems=tuple(faults(error, CompiledTransform, document, ()))) from error
    if found.engine_version != pl.__version__:
        place = document.place(("engine_version",))
        raise TransformOutdated(place=place, compiled_for=found.engine_version, running=pl.__version__)
    try:
        check_plan(found.plan)
    except Refusal as refusal:
        at = ("plan", *refusal.path)
        raise TransformRefused(place=document.place(at), node=key_name(at), reason=refusal.reason) from refusal
    return found


def write_transform(transform: CompiledTransform) -> bytes:
    """Format the transform for its file: deterministic, and laid out for review."""
    plain: dict[str, Any] = {"$schema": address_of("transforms.json"), **transform.model_dump(mode="json")}
    return (_laid_out(plain, 0) + "\n").encode()


def _laid_out(value: Any, depth: int) -> str:
    """Format JSON with sorted keys; values that fit are on one line."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if 2 * depth + len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, list):
        parts = [_laid_out(item, depth + 1) for item in value]
        return "[\n" + ",\n".join(f"{inner}{part}" for part in parts) + f"\n{outer}]"
    pairs = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(value[key], depth + 1)}" for key in sorted(value)]
    return "{\n" + ",\n".join(f"{inner}{pair}" for pair in pairs) + f"\n{outer}}}"
