"""Every connector the suite judges, one line each."""

from __future__ import annotations

from conformance.connector import files_stands, postgres_stands, sqlite_stands, walks
from conformance.connector.hostile import Mood, hostile_stand
from conformance.connector.stands import Subject

SUBJECTS = (
    Subject("hostile", lambda _: hostile_stand(Mood.PLAIN)),
    Subject("hostile, slow", lambda _: hostile_stand(Mood.SLOW)),
    Subject("hostile, growing", lambda _: hostile_stand(Mood.GROWING)),
    Subject("page tokens", walks.pages_stand),
    Subject("positions in a log", walks.log_stand),
    Subject("sqlite", sqlite_stands.sqlite_stand),
    Subject("sqlite without a key", sqlite_stands.sqlite_keyless_stand),
    Subject("sqlite query", sqlite_stands.sqlite_query_stand),
    Subject("postgres", postgres_stands.postgres_stand),
    Subject("postgres without a key", postgres_stands.postgres_keyless_stand),
    Subject("postgres with a composite key that may be NULL", postgres_stands.postgres_composite_stand),
    Subject("postgres query", postgres_stands.postgres_query_stand),
    Subject("files, csv", files_stands.csv_stand),
    Subject("files, json lines", files_stands.jsonl_stand),
    Subject("files, parquet", files_stands.parquet_stand),
    Subject("files in an object store", files_stands.s3_stand),
)
