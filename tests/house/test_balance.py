"""A parallel test run gives each process its share of the heavy files, and every test to one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from balance import SECONDS, balanced

TESTS = Path(__file__).parents[1]
FILES = ("flow/test_kills.py", "land/test_layout.py", "plan/test_batch.py", "land/test_append.py", "cli/test_adopt.py")


class Named:
    """As much of a test as its order is decided by."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


TOGETHER = [Named(f"tests/{name}::test_{number}") for name in FILES for number in range(7)]


def test_every_heavy_file_is_there() -> None:
    assert [name for name in SECONDS if not (TESTS / name).is_file()] == []


@pytest.mark.parametrize("among", [2, 3])
def test_each_process_begins_with_heavy_files_and_no_file_or_test_is_torn_lost_or_doubled(among: int) -> None:
    ordered: list[Named] = balanced(TOGETHER, among)
    assert Counter(ordered) == Counter(TOGETHER)
    firsts = [ordered[len(ordered) * index // among].nodeid.split("::")[0] for index in range(among)]
    assert len({*firsts}) == among
    assert all(name.removeprefix("tests/") in SECONDS for name in firsts)
    heavy = [one.nodeid for one in ordered if "test_batch" not in one.nodeid]
    for name in FILES:
        places = [place for place, nodeid in enumerate(heavy) if name in nodeid]
        assert not places or places == list(range(places[0], places[0] + 7))
