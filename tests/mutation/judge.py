"""A process that breaks one thing after the other in itself, and writes down which tests then pass.

`python -m mutation.judge FILE` leaves in FILE, for each mutant and for none, how each guard ended.
"""

from __future__ import annotations
import __future__

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import FunctionType

import pytest
from _pytest.runner import runtestprotocol

from mutation.mutants import MUTANTS, Edit

Verdict = dict[str, str]
"""How each test ended: passed or failed."""

ROOT = Path(__file__).parents[2]


class _Judge:
    """Runs the guards of each mutant in one session of pytest, so that they are collected once."""

    def __init__(self) -> None:
        self.verdicts: dict[str, Verdict | str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self.verdicts[""] = _run(items.values())
        for name, mutant in MUTANTS.items():
            try:
                with broken(mutant.edits):
                    self.verdicts[name] = _run(items[guard] for guard in mutant.guards if guard in items)
            except LookupError as moved:
                self.verdicts[name] = str(moved)
        return True


def _run(items: Iterable[pytest.Item]) -> Verdict:
    """How these tests end in this process as it is. Nothing that they share outlasts one of them."""
    verdict: Verdict = {}
    for item in items:
        item._initrequest()  # type: ignore[attr-defined] # as pytest does for a test that runs for the first time
        reports = runtestprotocol(item, log=False, nextitem=None)
        verdict[item.nodeid] = next((one.outcome for one in reports if one.outcome != "passed"), "passed")
    return verdict


@contextmanager
def broken(edits: Iterable[Edit]) -> Iterator[None]:
    """The code, changed as the edits say. LookupError where what an edit changes does not stand there once."""
    by_target: dict[str, list[Edit]] = {}
    for edit in edits:
        by_target.setdefault(edit.target, []).append(edit)
    with pytest.MonkeyPatch.context() as patch:
        for target, changes in by_target.items():
            owner, name = _owner(target)
            found = getattr(owner, name)
            if isinstance(found, str):
                patch.setattr(owner, name, _edited(found, changes))
            else:
                # Not the function itself, but what it does: whoever has imported it has the broken one, too.
                patch.setattr(found, "__code__", _compiled(found, changes).__code__)
        yield


def _owner(target: str) -> tuple[object, str]:
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    try:
        owner = reduce(getattr, owners, import_module(module))
        getattr(owner, name)
    except (AttributeError, ModuleNotFoundError) as missing:
        raise LookupError(f"{target} has moved: {missing}") from missing
    return owner, name


def _compiled(function: FunctionType, changes: list[Edit]) -> FunctionType:
    source = _edited(dedent(inspect.getsource(function)), changes)
    names = dict(function.__globals__)
    flags = __future__.annotations.compiler_flag
    exec(compile(source, changes[0].target, "exec", flags=flags, dont_inherit=True), names)  # noqa: S102 our own code
    compiled = names[function.__name__]
    assert isinstance(compiled, FunctionType)
    return compiled


def _edited(text: str, changes: list[Edit]) -> str:
    for edit in changes:
        if text.count(edit.old) != 1:
            raise LookupError(f"{edit.target} has moved: `{edit.old}` stands there {text.count(edit.old)} times")
        text = text.replace(edit.old, edit.new)
    return text


def main(file: Path) -> None:
    judge = _Judge()
    guards = dict.fromkeys(guard for mutant in MUTANTS.values() for guard in mutant.guards)
    tests = [str(ROOT / guard) for guard in guards]
    pytest.main(["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *tests], plugins=[judge])
    file.write_text(json.dumps(judge.verdicts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
