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
    "bundle/test_emulation.py": 101,
    "catalog/test_delta_spark.py": 55,
    "cli/test_adopt.py": 29,
    "cli/test_rebuild.py": 76,
    "conformance/catalog/test_dispatch.py": 31,
    "conformance/catalog/test_takeover.py": 34,
    "conformance/connector/test_connector_reads.py": 63,
    "engine/test_jars.py": 17,
    "engine/test_session.py": 17,
    "engine/test_start.py": 182,
    "extract/connectors/test_postgres_connector.py": 18,
    "extract/connectors/test_postgres_fuzz.py": 16,
    "extract/transform/test_reshape.py": 17,
    "flow/test_changes.py": 63,
    "flow/test_commands.py": 70,
    "flow/test_cursors.py": 71,
    "flow/test_engine_faults.py": 63,
    "flow/test_failures.py": 113,
    "flow/test_files.py": 35,
    "flow/test_hooks.py": 47,
    "flow/test_kills.py": 513,
    "flow/test_life.py": 134,
    "flow/test_load_modes.py": 56,
    "flow/test_lost_tables.py": 32,
    "flow/test_maintenance.py": 133,
    "flow/test_moving_sources.py": 19,
    "flow/test_named.py": 118,
    "flow/test_over_connect.py": 243,
    "flow/test_postgres.py": 23,
    "flow/test_power.py": 69,
    "flow/test_reading_again.py": 38,
    "flow/test_same_rows.py": 48,
    "flow/test_schemas.py": 206,
    "flow/test_sqlite.py": 87,
    "flow/test_transforms.py": 17,
    "house/test_notebooks.py": 31,
    "house/test_readme.py": 66,
    "land/test_append.py": 32,
    "land/test_blue_green.py": 137,
    "land/test_cdc_mirror.py": 222,
    "land/test_evolution.py": 84,
    "land/test_history.py": 19,
    "land/test_kinds.py": 50,
    "land/test_layout.py": 116,
    "land/test_named_upkeep.py": 21,
    "land/test_overlap.py": 16,
    "land/test_reach.py": 25,
    "land/test_sameness.py": 38,
    "land/test_strict_compute.py": 146,
    "land/test_truncate.py": 37,
    "land/test_upsert.py": 43,
    "land/test_view_shelves.py": 37,
    "land/test_watermark.py": 76,
    "run/test_hooks.py": 17,
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
