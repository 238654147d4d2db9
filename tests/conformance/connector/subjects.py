"""Every connector the suite judges, one line each."""

from __future__ import annotations

from conformance.connector.hostile import Mood, hostile_stand
from conformance.connector.stands import (
    Subject,
    csv_stand,
    jsonl_stand,
    parquet_stand,
    sqlite_keyless_stand,
    sqlite_stand,
    sqlite_view_stand,
)

SUBJECTS = (
    Subject("hostile", lambda _: hostile_stand(Mood.PLAIN)),
    Subject("hostile, slow", lambda _: hostile_stand(Mood.SLOW)),
    Subject("hostile, growing", lambda _: hostile_stand(Mood.GROWING)),
    Subject("sqlite", sqlite_stand),
    Subject("sqlite without a key", sqlite_keyless_stand),
    Subject("sqlite query", sqlite_view_stand),
    Subject("files, csv", csv_stand),
    Subject("files, json lines", jsonl_stand),
    Subject("files, parquet", parquet_stand),
)
