"""A trigger starts a pipeline when something happens, beside or instead of its schedule."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from hakiri.model.schema_name import check_table
from hakiri.spec.duration import Duration
from hakiri.spec.frozen import Frozen
from hakiri.spec.names import SecretName


class FileArrivalTrigger(Frozen):
    """New files at a location."""

    type: Literal["file_arrival"]
    url: Annotated[str, Field(min_length=1)]
    wait_after_last_change: Duration | None = None


class TableUpdateTrigger(Frozen):
    """A new version of a table."""

    type: Literal["table_update"]
    tables: Annotated[tuple[Annotated[str, AfterValidator(check_table)], ...], Field(min_length=1)]


class WebhookTrigger(Frozen):
    """A signed call to the daemon; the signature is made with a declared secret."""

    type: Literal["webhook"]
    secret: SecretName


Trigger = Annotated[FileArrivalTrigger | TableUpdateTrigger | WebhookTrigger, Field(discriminator="type")]
