# Databricks notebook source
# MAGIC %md
# MAGIC # Backfill and rewind
# MAGIC How history is read, and read again: a first backfill, a window that the source corrected, a whole table
# MAGIC anew, and a look at what a table held before. It works on a small shop of its own, in a folder that it
# MAGIC removes again.
# MAGIC
# MAGIC | what happened | what to do |
# MAGIC |---|---|
# MAGIC | chunks failed for good, and the cause is mended | `hakiri run ID --retry-failed` |
# MAGIC | the source corrected a stretch of its past | `hakiri backfill rewind ID`, then `hakiri apply ID` |
# MAGIC | the source deleted rows of its past | `hakiri apply ID --full-refresh`, or the job `hakiri_backfill` |
# MAGIC | a landing was wrong | `RESTORE` the table, then a full refresh |

# COMMAND ----------

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pandas as pd

from hakiri import wiring
from hakiri.land.target import sql_name
from hakiri.model.chunk import TableKey
from hakiri.picture import Bar, picture, show
from hakiri.run.apply import apply
from hakiri.run.pipeline import Wish
from hakiri.run.rewind import parse_window, rewind
from hakiri.run.stopping import Stop
from hakiri.settings import from_environment

# In a workspace, name a folder of a volume, which all machines have in common, and a schema like main.sandbox.
FOLDER: Path | None = None
SCHEMA = ""

kept = tempfile.TemporaryDirectory(prefix="hakiri-rewind-", dir=FOLDER)
root = Path(kept.name)
context = f'[context]\ntables = "{SCHEMA}"\n' if SCHEMA else ""
(root / "hakiri.toml").write_text(f"""\
[project]
name = "rewind"
{context}[catalog]
backend = "sqlite"
[[pipeline]]
id = "shop"
source = {{ connector = "sqlite", config = {{ path = "shop.sqlite" }} }}
tables = [{{ name = "orders", primary_key = ["id"] }}]
incremental = {{ column = "day" }}
backfill = {{ window = "30d" }}
load = {{ mode = "upsert" }}
""")
settings = from_environment(project=root)
project = wiring.workplace(settings).read()
spec, orders = project.pipelines["shop"].spec, TableKey("shop", "orders")
table = sql_name(wiring.target(project, "orders"))
by_month = f"SELECT date_format(day, 'yyyy-MM') AS month, SUM(price) AS sum FROM {table} GROUP BY 1 ORDER BY 1"  # noqa: S608 our own


def change(*statements: str) -> None:
    with closing(sqlite3.connect(root / "shop.sqlite")) as source, source:
        for statement in statements:
            source.execute(statement)


def run(**wish: bool) -> str:
    with wiring.equipment(settings, project) as parts:
        (result,) = apply(parts, [spec], wish=Wish(**wish), stop=Stop())
    for error in result.errors:
        raise error
    return f"{result.rows_read} rows read, {result.rows} landed"


def ask(sql: str) -> pd.DataFrame:
    with wiring.equipment(settings, project) as parts:
        return parts.spark().sql(sql).toPandas()


def chunks() -> pd.DataFrame:
    with wiring.existing_catalog(settings, project) as catalog:
        known = catalog.chunks(orders) if catalog else ()
    told = [(one.chunk.key.chunk, one.chunk.key.generation, one.status.value, one.reason) for one in known]
    return pd.DataFrame(told, columns=["chunk", "generation", "status", "reason"])


# COMMAND ----------

# MAGIC %md
# MAGIC ## The first backfill
# MAGIC A table's first round reads all of it, in chunks of `backfill.window`. Each chunk is claimed, read and
# MAGIC staged on its own, any number at a time; a run that is stopped goes on where it was. The cursor moves when
# MAGIC all have landed.

# COMMAND ----------

change(
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, price REAL, day TIMESTAMP)",
    """
    WITH RECURSIVE days(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM days WHERE n < 179)
    INSERT INTO orders SELECT n, 10 + n % 7, datetime('2024-01-01', n || ' days') FROM days
    """,
)
print(run())
print(chunks().to_string(index=False))
months = ask(by_month)
show(picture("Sales as they landed", "price", [Bar(one.month, one.sum) for one in months.itertuples()]))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The source corrects its past
# MAGIC Rows change behind the cursor: an incremental run does not see them.

# COMMAND ----------

change("UPDATE orders SET price = 30 WHERE day >= '2024-03-01' AND day < '2024-04-01'")
print(run())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rewind
# MAGIC `hakiri backfill rewind shop --from 2024-03-01 --to 2024-04-01 --reason "RT-481"`: the chunks that read
# MAGIC the window get a new generation, which keeps the reason; the old one stays for whoever asks later.
# MAGIC Nothing is read yet.

# COMMAND ----------

with wiring.existing_catalog(settings, project) as catalog:
    if catalog is None:
        raise RuntimeError("nothing has landed")
    window = parse_window("2024-03-01", "2024-04-01")
    rewind(catalog, spec, window, reason="RT-481: prices of March", by="this notebook")
print(chunks().to_string(index=False))

# COMMAND ----------

# MAGIC %md
# MAGIC The next run reads those chunks and no others. By `upsert` a row with the same cursor and other content
# MAGIC takes the place of the old one; the rest are there already, and are left out. No row is there twice.

# COMMAND ----------

print(run())
months = ask(by_month)
show(picture("Sales after the rewind", "price", [Bar(one.month, one.sum) for one in months.itertuples()]))
twice = ask(f"SELECT id FROM {table} GROUP BY id HAVING COUNT(*) > 1")  # noqa: S608 our own
print(f"rows that are there twice: {len(twice)}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What the table held before
# MAGIC Every landing is a version. For as long as `hakiri maintain` keeps files (a week, unless told otherwise),
# MAGIC older versions can be read: `SELECT ... FROM orders VERSION AS OF 0`. `RESTORE` puts one back; runs then
# MAGIC stop with HK802, because landed rows are gone, until a full refresh says that this is meant.

# COMMAND ----------

march = "WHERE day >= '2024-03-01' AND day < '2024-04-01'"
with wiring.existing_catalog(settings, project) as catalog:
    versions = sorted({one.version for one in catalog.landings(orders) if one.version is not None}) if catalog else []
for version in versions:
    found = ask(f"SELECT SUM(price) AS sum FROM {table} VERSION AS OF {version} {march}")  # noqa: S608 our own
    print(f"March in version {version}: {found['sum'][0]:,.0f}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The whole table anew
# MAGIC A rewind brings what is there at the source; it takes nothing away. A full refresh reads everything, and
# MAGIC takes the place of what the table holds in one commit, so that deleted rows are gone as well.

# COMMAND ----------

change("DELETE FROM orders WHERE day < '2024-02-01'")
print(run(is_full_refresh=True))
months = ask(by_month)
show(picture("Sales after the full refresh", "price", [Bar(one.month, one.sum) for one in months.itertuples()]))

# COMMAND ----------

# To keep the shop, leave this out.
if SCHEMA:
    ask(f"DROP TABLE {table}")
kept.cleanup()
