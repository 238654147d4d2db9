"""What the server of `commands` imports before it forks."""

from __future__ import annotations

import warnings
from importlib import import_module

IMPORTED = """
hakiri.catalog.delta.rust hakiri.catalog.sqlite hakiri.cli.apply hakiri.cli.sql hakiri.jobs hakiri.land.lander
hakiri.land.query.rust hakiri.run.apply hakiri.run.extraction hakiri.wiring
pandas polars pyspark.sql.connect.functions pyspark.sql.connect.session pyspark.sql.functions pytest
"""

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for name in IMPORTED.split():
        import_module(name)
