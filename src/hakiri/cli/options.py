"""Define the options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FileFormat(StrEnum):
    """The two formats of a manifest."""

    JSON = "json"
    TOML = "toml"


ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help="The project's folder. Otherwise this folder, its manifests/, or one above.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show Spark's own log as well.")]
FullRefreshOption = Annotated[
    bool, typer.Option("--full-refresh", help="Read every table again, and replace what has landed.")
]
RetryFailedOption = Annotated[bool, typer.Option("--retry-failed", help="Retry chunks that have failed for good.")]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Pipelines; all of them by default.", show_default=False)
]
