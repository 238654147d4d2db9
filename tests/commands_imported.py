"""What the server of `commands` imports before it forks."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401

    import hakiri.catalog.delta.rust
    import hakiri.catalog.sqlite
    import hakiri.cli.apply
    import hakiri.cli.sql
    import hakiri.jobs
    import hakiri.land.lander
    import hakiri.land.query
    import hakiri.run.apply
    import hakiri.run.extraction
    import hakiri.wiring  # noqa: F401
