"""Spread the tests of a parallel run so that its processes end together: heavy files first, the cheap tests last.

`--dist worksteal` gives each process an equal number of tests in the order of collection, and moves them from the end
of the longest queue to whoever has none left. A file stays together, since its tests share what they have started.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Named(Protocol):
    """As much of a test as its order is decided by."""

    @property
    def nodeid(self) -> str:
        """The file and the name of the test."""


T = TypeVar("T", bound=Named)

SECONDS = {
    "bundle/test_emulation.py": 60,
    "catalog/test_delta_spark.py": 40,
    "cli/test_adopt.py": 35,
    "cli/test_rebuild.py": 45,
    "engine/test_connect.py": 15,
    "engine/test_jars.py": 18,
    "engine/test_session.py": 20,
    "engine/test_start.py": 90,
    "flow/test_changes.py": 45,
    "flow/test_commands.py": 45,
    "flow/test_cursors.py": 35,
    "flow/test_disk_faults.py": 15,
    "flow/test_engine_faults.py": 50,
    "flow/test_failures.py": 50,
    "flow/test_files.py": 25,
    "flow/test_hooks.py": 30,
    "flow/test_kills.py": 230,
    "flow/test_life.py": 45,
    "flow/test_load_modes.py": 28,
    "flow/test_lost_tables.py": 30,
    "flow/test_maintenance.py": 80,
    "flow/test_moving_sources.py": 25,
    "flow/test_named.py": 75,
    "flow/test_over_connect.py": 115,
    "flow/test_postgres.py": 25,
    "flow/test_power.py": 43,
    "flow/test_reading_again.py": 28,
    "flow/test_schemas.py": 120,
    "flow/test_sqlite.py": 60,
    "flow/test_transforms.py": 15,
    "flow/test_views.py": 15,
    "house/test_notebooks.py": 50,
    "house/test_readme.py": 50,
    "land/test_append.py": 50,
    "land/test_blue_green.py": 85,
    "land/test_cdc_mirror.py": 150,
    "land/test_evolution.py": 60,
    "land/test_kinds.py": 29,
    "land/test_layout.py": 70,
    "land/test_named_upkeep.py": 28,
    "land/test_reach.py": 25,
    "land/test_sameness.py": 34,
    "land/test_strict_compute.py": 95,
    "land/test_truncate.py": 25,
    "land/test_upsert.py": 28,
    "land/test_view_shelves.py": 27,
    "land/test_watermark.py": 45,
}
"""Wall seconds of the files that take more than 15, as `--costs` measured them; of the rest a test takes about 0.05."""


def processes() -> int:
    """How many processes run the tests."""
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def balanced(items: Sequence[T], among: int) -> list[T]:
    """Order the items so that each process begins with its share of the heavy files."""
    files: dict[str, list[T]] = defaultdict(list)
    light: list[T] = []
    for item in items:
        name = item.nodeid.partition("::")[0].removeprefix("tests/")
        (files[name] if name in SECONDS else light).append(item)
    shares: list[list[T]] = [[] for _ in range(among)]
    loads = [0] * among
    for name in sorted(files, key=lambda name: -SECONDS[name]):
        least = loads.index(min(loads))
        shares[least] += files[name]
        loads[least] += SECONDS[name]
    ordered: list[T] = []
    for index, share in enumerate(shares):
        size = (len(items) - len(ordered)) // (among - index)  # as the scheduler cuts the list
        filled = max(0, size - len(share))
        ordered += [*share, *light[:filled]]
        light = light[filled:]
    return [*ordered, *light]
