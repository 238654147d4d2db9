"""Compiles the source of a transform to a plan. Only the plan runs later, never the source."""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import polars as pl

from hakiri.errors import Place
from hakiri.extract.errors import SourceUncompilable
from hakiri.extract.transform.author import MARK, Target
from hakiri.extract.transform.author_error import describe_mistake
from hakiri.extract.transform.record import RecordedFrame, required_frame
from hakiri.extract.transform.shape import Refusal
from hakiri.extract.transform.typescript import record_typescript
from hakiri.spec.names import check_identifier
from hakiri.spec.transform import CompiledTransform
from hakiri.spec.validation_errors import key_name

SUFFIXES: dict[str, Literal["python", "typescript"]] = {".py": "python", ".ts": "typescript"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan and its target."""

    target: Target
    transform: CompiledTransform


def compile_source(path: Path, *, shown: str) -> list[Compiled]:
    """Compile every transform in a source file, in order. The same source gives the same plans.

    Raises SourceUncompilable with the author's line, or CompilerMissing.
    """
    language = SUFFIXES.get(path.suffix)
    if language is None:
        reason = "a transform is written in Python (.py) or TypeScript (.ts)"
        raise SourceUncompilable(place=Place(shown), reason=reason)
    try:
        raw = path.read_bytes()
    except OSError as cause:
        raise SourceUncompilable(place=Place(shown), reason=f"cannot be read: {cause.strerror or cause}") from cause
    recorded = _recorded(path, shown) if language == "python" else record_typescript(path, shown=shown)
    found = [Compiled(target, _transform(target, frame, language, raw, shown)) for target, frame in recorded]
    if not found:
        advice = 'mark a function with @hk.pipeline("id")' if language == "python" else "export default pipeline(...)"
        raise SourceUncompilable(place=Place(shown), reason="holds no transform", advice=advice)
    return found


def _transform(
    target: Target, frame: RecordedFrame, language: Literal["python", "typescript"], raw: bytes, shown: str
) -> CompiledTransform:
    try:
        if target.table is not None:
            check_identifier(str(target.table))  # it becomes part of a file's name
        return CompiledTransform(
            pipeline_id=target.pipeline,
            engine="polars",
            engine_version=pl.__version__,
            source_lang=language,
            source_hash=f"sha256:{sha256(raw).hexdigest()}",
            plan=frame.plan(),
        )
    except Refusal as refusal:
        reason = f"`{key_name(refusal.path)}` {refusal.reason}"
        raise SourceUncompilable(place=Place(shown), reason=reason) from refusal
    except ValueError as wrong:
        raise SourceUncompilable(place=Place(shown), reason=describe_mistake(wrong)) from wrong


def _recorded(path: Path, shown: str) -> list[tuple[Target, RecordedFrame]]:
    try:
        with redirect_stdout(sys.stderr):  # keep what the source prints out of our output
            names: dict[str, Any] = runpy.run_path(str(path), run_name="hakiri_transform")
            marked = [one for one in names.values() if isinstance(getattr(one, MARK, None), Target)]
            # One function may have two names.
            return [(getattr(one, MARK), required_frame(one(RecordedFrame()))) for one in dict.fromkeys(marked)]
    except Exception as wrong:
        raise SourceUncompilable(place=Place(shown, _line(wrong, path)), reason=describe_mistake(wrong)) from wrong


def _line(wrong: Exception, path: Path) -> int | None:
    """Return the last line of the source that was executing when it failed."""
    if isinstance(wrong, SyntaxError):
        return wrong.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(wrong.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None
