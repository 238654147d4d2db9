# Databricks notebook source
# MAGIC %md
# MAGIC # Backfill and rewind
# MAGIC How history is read, and read again: a first backfill, a file that the source corrected, a rewind, a look at
# MAGIC what a table held before, and a whole table anew. It works on a small shop of its own, in a folder and in
# MAGIC schemas that it removes again.
# MAGIC
# MAGIC | what happened | what to do |
# MAGIC |---|---|
# MAGIC | chunks failed for good, and the cause is mended | `hakiri run ID --retry-failed` |
# MAGIC | the source corrected its past, or a rule was wrong | `hakiri backfill rewind ID`, then `hakiri apply ID` |
# MAGIC | the source deleted rows of its past | `hakiri apply ID --full-refresh`, or the job `hakiri_backfill` |
# MAGIC | a landing was wrong | `RESTORE` the table, then a full refresh |

# COMMAND ----------

import tempfile
from datetime import date, timedelta
from pathlib import Path

import pandas as pd

import hakiri as hk

# In a workspace, name a folder of a volume, which all machines have in common, and a catalog to make two schemas in.
FOLDER: Path | None = None  # Path("/Volumes/main/sandbox/files")
CATALOG = ""  # main

kept = tempfile.TemporaryDirectory(prefix="hakiri_rewind_", dir=FOLDER)
root = Path(kept.name)
schemas = [f"{CATALOG}.{root.name}", f"{CATALOG}.{root.name}_state"] if CATALOG else ["", ""]
HIGHEST_PRICE = 20
MANIFEST = """\
[project]
name = "rewind"
[[pipeline]]
id = "shop"
source = {{ connector = "files", config = {{ path = "." }} }}
incremental = {{ column = "day" }}
load = {{ mode = "upsert" }}
quality = {{ row_level = [{{ type = "range", field = "price", max = {highest}, on_fail = "skip" }}] }}
[[pipeline.tables]]
name = "orders"
primary_key = ["id"]
columns = [{{ name = "id", type = "bigint" }}, {{ name = "price", type = "double" }}, {{ name = "day", type = "date" }}]
"""
(root / "hakiri.toml").write_text(MANIFEST.format(highest=HIGHEST_PRICE))


def put(month: int, price: int) -> None:
    """A file with an order for each day of the month, written whole: a volume lets no file be changed in its place."""
    days = [date(2024, 1, 1) + timedelta(number) for number in range(182)]
    lines = [f"{number},{price + number % 7},{day}" for number, day in enumerate(days) if day.month == month]
    (root / "orders").mkdir(exist_ok=True)
    (root / "orders" / f"2024-{month:02}.csv").write_text("\n".join(["id,price,day", *lines, ""]))


def run(*, full_refresh: bool = False) -> str:
    done = project.apply("shop", full_refresh=full_refresh)
    return f"{done.rows_read} rows read, {done.rows} landed"


def ask(sql: str) -> pd.DataFrame:
    return project.spark().sql(sql).toPandas()


def show_months(title: str) -> None:
    by_month = f"SELECT date_format(day, 'yyyy-MM') AS month, SUM(price) AS sum FROM {table} GROUP BY 1 ORDER BY 1"  # noqa: S608 our own
    hk.show(hk.bars(title, "price", [hk.Bar(one.month, one.sum) for one in ask(by_month).itertuples()]))


def chunks() -> str:
    known = [(one.id, one.generation, one.status, one.reason) for one in project.table("orders").chunks]
    return pd.DataFrame(known, columns=["chunk", "generation", "status", "reason"]).to_string(index=False)


project = hk.open(root, tables=schemas[0], state=schemas[1])
table = project.table("orders").sql_name
if CATALOG:
    ask(f"CREATE SCHEMA {schemas[0]}")  # a run makes the other one

# COMMAND ----------

# MAGIC %md
# MAGIC ## The first backfill
# MAGIC A table's first round reads all of it, in chunks: here each file is one, a database is cut by
# MAGIC `backfill.window`. Each chunk is claimed, read and staged on its own, any number at a time; a run that is
# MAGIC stopped goes on where it was. The cursor moves when all have landed.

# COMMAND ----------

for month in range(1, 7):
    put(month, price=30 if month == 3 else 10)
print(run())
print(chunks())
show_months("Sales as they landed: a rule has set March aside")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The source corrects its past
# MAGIC A file that is written anew is another version of it, and the next run reads that. Of a database an
# MAGIC incremental run sees nothing that changed behind the cursor: that takes a rewind.

# COMMAND ----------

put(2, price=12)
print(run())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rewind
# MAGIC March was right, and the rule was wrong. With another rule nothing has changed at the source, so a run
# MAGIC finds nothing to do.
# MAGIC
# MAGIC `hakiri backfill rewind shop --from 2024-03-01 --to 2024-04-01 --reason "RT-481"`: the chunks that read
# MAGIC the window get a new generation, which keeps the reason; the old one stays for whoever asks later. Nothing
# MAGIC is read yet. (Which days a file holds is known only once it is read, so all files are read again.)

# COMMAND ----------

(root / "hakiri.toml").write_text(MANIFEST.format(highest=2 * HIGHEST_PRICE))
print(run())
hk.show(project.rewind("shop", "2024-03-01", "2024-04-01", reason="RT-481: prices of March"))
print(chunks())

# COMMAND ----------

# MAGIC %md
# MAGIC The next run reads those chunks and no others. By `upsert` a row with the same cursor and other content
# MAGIC takes the place of the old one; those that are there already are left out. No row is there twice.

# COMMAND ----------

print(run())
show_months("Sales after the rewind")
twice = ask(f"SELECT id FROM {table} GROUP BY id HAVING COUNT(*) > 1")  # noqa: S608 our own
print(f"rows that are there twice: {len(twice)}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What the table held before
# MAGIC Every landing is a version. For as long as `hakiri maintain` keeps files (a week, unless told otherwise),
# MAGIC older versions can be read: `SELECT ... FROM orders VERSION AS OF 0`. `RESTORE` puts one back; runs then
# MAGIC stop with HK802, because landed rows are gone, until a full refresh says that this is meant.

# COMMAND ----------

landings = project.table("orders").landings
versions = sorted({one.version for one in landings if one.version is not None})
for version in versions:
    found = ask(f"SELECT COUNT(*) AS orders, SUM(price) AS sum FROM {table} VERSION AS OF {version}")  # noqa: S608 our own
    print(f"version {version}: {found['orders'][0]} orders, {found['sum'][0]:,.0f}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The whole table anew
# MAGIC A rewind brings what is there at the source; it takes nothing away. A full refresh reads everything, and
# MAGIC takes the place of what the table holds in one commit, so that deleted rows are gone as well.

# COMMAND ----------

(root / "orders" / "2024-01.csv").unlink()
print(run())
print(run(full_refresh=True))
show_months("Sales after the full refresh")

# COMMAND ----------

# To keep the shop, leave this out.
for schema in filter(None, schemas):
    ask(f"DROP SCHEMA {schema} CASCADE")
kept.cleanup()
