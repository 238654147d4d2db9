# Databricks notebook source
# MAGIC %md
# MAGIC # Debug one chunk
# MAGIC One chunk of a pipeline, step by step, as a task on an executor would do it: read, transform, judge, stage.
# MAGIC It works in a folder of its own, tells the catalog nothing, and starts no Spark.

# COMMAND ----------

import tempfile
from pathlib import Path

import polars as pl

from hakiri import wiring
from hakiri.extract.chunk import ChunkRead, extract_chunk
from hakiri.extract.provenance import Provenance
from hakiri.picture import Bar, picture, show
from hakiri.plan.make import make_plan
from hakiri.plan.reading import from_json
from hakiri.run.facts import gather_facts
from hakiri.run.manifest import find_pipeline
from hakiri.run.trial import try_transforms
from hakiri.settings import from_environment
from hakiri.stage.layout import Attempt
from hakiri.stage.local import LocalFiles
from hakiri.stage.seal import seal
from hakiri.stage.writer import AttemptWriter

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: Path | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""
PIPELINE, TABLE = "events", "events"

settings = from_environment(project=PROJECT, secret_scope=SECRET_SCOPE)
project = wiring.read_project(settings, context=CONTEXT, tables=TABLES, state=STATE)
spec = find_pipeline(project, PIPELINE).spec
connector = wiring.connector(settings, project, spec)
reshapes = wiring.transforms(settings, project, spec)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which chunk
# MAGIC Planned as if nothing had landed yet: the first chunk of the table's first round.

# COMMAND ----------

gathered = gather_facts(spec, connector, None, reshapes=reshapes)
(planned,) = (one for one in make_plan([gathered.facts]).pipelines[0].tables if one.table.table == TABLE)
chunk = planned.chunks[0].chunk
reading = from_json(chunk.predicate)
print(f"chunk {chunk.key.chunk}, one of {len(planned.chunks)}: {chunk.predicate}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## A few rows before and after the transforms

# COMMAND ----------

for trial in try_transforms(spec, connector, reshapes, table=None, rows=5).values():
    print(pl.DataFrame(trial.before.rows, schema=list(trial.before.columns), orient="row"))
    print(pl.DataFrame(trial.after.rows, schema=list(trial.after.columns), orient="row"))
if not reshapes:
    print("this pipeline has none: rows land as they are read")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Read, judge, stage and seal
# MAGIC Every row is counted: read = staged + quarantined + filtered + merged.

# COMMAND ----------

kept = tempfile.TemporaryDirectory(prefix="hakiri-chunk-")
folder = Path(kept.name)
attempt = Attempt("by-hand", "notebook", chunk.key, 1)
with AttemptWriter(LocalFiles(folder), attempt) as writer:
    extracted = extract_chunk(
        connector,
        ChunkRead(gathered.schemas[TABLE], reading.span, since=reading.since),
        writer,
        provenance=Provenance(
            pipeline=spec.id,
            run=attempt.run,
            node=attempt.node,
            chunk=chunk.key.chunk,
            ingested_at=wiring.clock().now(),
        ),
        rules=spec.quality.row_level,
        reshape=reshapes.get(TABLE),
    )
    staged = seal(writer, extracted.tally, predicate=chunk.predicate)
tally = extracted.tally
ways = ("staged", "quarantined", "filtered", "deduplicated", "merged")
show(
    picture(
        f"{tally.read:,} rows read, and what became of them", "rows", [Bar(one, getattr(tally, one)) for one in ways]
    )
)
show(picture("Rules that rows broke", "rows", [Bar(rule, count) for rule, count in extracted.broken.items()]))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What lies in the stage: rows to land, and rows set aside

# COMMAND ----------

for kind, files in (("to land", staged.files), ("set aside", staged.quarantine)):
    for file in files:
        print(f"{kind}: {file.path}, {file.bytes:,} bytes")
        print(pl.read_parquet(folder / file.path).head(5))

# COMMAND ----------

kept.cleanup()  # to keep the files, leave this out
