"""The rows of the suite in three files, of each format and in each kind of store."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pyarrow as pa
from pyarrow import fs, parquet

from conformance.connector.stands import COLUMNS, CURSOR, TYPES, Place, Stand, rows
from hakiri.extract.connectors.registry import open_connector
from hakiri.model.table import SourceTable

TABLE = SourceTable("things", cursor=CURSOR)
# Long enough for a batch before the end, which is missing.
BROKEN = gzip.compress(b"seen,x\n" + b"1,%b\n" % (b"x" * 900) * 6_000, compresslevel=0)[:-1_000]


def csv_stand(place: Place) -> Stand:
    return _stand(place, {f"{part}.csv.gz": gzip.compress(as_csv(some)) for part, some in parts().items()})


def jsonl_stand(place: Place) -> Stand:
    return _stand(place, {f"{part}.jsonl.zst": zstd(as_jsonl(some)) for part, some in parts().items()})


def parquet_stand(place: Place) -> Stand:
    return _stand(place, {f"{part}.parquet": as_parquet(some) for part, some in parts().items()})


def s3_stand(place: Place) -> Stand:
    account = {"access_key": "someone", "secret_key": "secret", "region": "us-east-1"}
    endpoint = place.s3_endpoint()
    store = fs.S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True, **account)
    files = {f"data/things/{part}.csv": as_csv(some) for part, some in parts().items()}
    store.create_dir("lake")
    for path, data in {**files, "broken/things.csv.gz": BROKEN}.items():
        with store.open_output_stream(f"lake/{path}", compression=None) as file:
            file.write(data)
    return _judged("s3://lake", {"endpoint": endpoint, **account})


def _stand(place: Place, files: dict[str, bytes]) -> Stand:
    below = {f"data/things/{name}": data for name, data in files.items()}
    for path, data in {**below, "broken/things.csv.gz": BROKEN}.items():
        (place.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (place.folder / path).write_bytes(data)
    return _judged(str(place.folder), {})


def _judged(root: str, config: dict[str, Any]) -> Stand:
    return Stand(
        open_connector("files", {"path": f"{root}/data", "batch_rows": 64, **config}),
        TABLE,
        missing=SourceTable("thing"),
        likely="things",
        absent=open_connector("files", {"path": f"{root}-not/data", **config}),
        breaking=(open_connector("files", {"path": f"{root}/broken", **config}), TABLE),
    )


def parts() -> dict[int, list[dict[str, Any]]]:
    return {start: rows()[start : start + 100] for start in range(0, 300, 100)}


def as_csv(some: list[dict[str, Any]]) -> bytes:
    lines = [COLUMNS, *(tuple(row.values()) for row in some)]
    return "".join(",".join(map(_field, line)) + "\r\n" for line in lines).encode()


def _field(value: Any) -> str:
    return "" if value is None else str(value) if not isinstance(value, str) else '"' + value.replace('"', '""') + '"'


def as_jsonl(some: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in some).encode()


def as_parquet(some: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(some, TYPES), sink)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)  # type: ignore[no-any-return]
