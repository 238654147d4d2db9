"""The process from which the embedded Spark forks its Python workers.

It imports what a chunk needs before the first fork, so that a worker starts at once instead of after seconds of
imports. Spark runs it as `python -m hakiri.engine.daemon`.
"""

from __future__ import annotations

import gc
import importlib
import os
from contextlib import suppress

from pyspark import daemon

from hakiri.engine.environment import PRELOAD


def main() -> None:
    """Import the modules, then fork workers on Spark's requests."""
    for name in filter(None, os.environ.get(PRELOAD, "").split(",")):
        with suppress(Exception):  # a worker that needs the module reports the failure itself
            importlib.import_module(name)
    gc.freeze()  # workers share the memory of these objects unless it is modified
    daemon.manager()


if __name__ == "__main__":
    main()
