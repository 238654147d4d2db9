# Databricks notebook source
# MAGIC %md
# MAGIC # Explore a source
# MAGIC What a pipeline's source has, and how it would be cut into chunks. Changes nothing, and starts no Spark.

# COMMAND ----------

from functools import partial
from pathlib import Path

import pandas as pd

from hakiri import wiring
from hakiri.picture import Bar, picture, show
from hakiri.run.manifest import find_pipeline
from hakiri.run.plan import plan_pipelines, show_lines
from hakiri.settings import from_environment

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: Path | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""
PIPELINE = "shop"

settings = from_environment(project=PROJECT, secret_scope=SECRET_SCOPE)
project = wiring.read_project(settings, context=CONTEXT, tables=TABLES, state=STATE)
spec = find_pipeline(project, PIPELINE).spec

# COMMAND ----------

# MAGIC %md
# MAGIC ## The plan, as `hakiri plan` tells it

# COMMAND ----------

with wiring.existing_catalog(settings, project) as catalog:
    planned = plan_pipelines(
        [spec],
        partial(wiring.connector, settings, project),
        catalog,
        project=project.spec.project.name,
        place=partial(wiring.place, project),
        transforms=partial(wiring.transforms, settings, project),
        watermark=wiring.watermarks(settings, project),
    )
for _, error in planned.errors:
    raise error
print("\n".join(show_lines(planned)))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The columns, as the source describes them

# COMMAND ----------

tables = planned.facts[0].tables
columns = [
    {"table": table.spec.name, "column": one.name, "type": one.type} for table in tables for one in table.columns
]
print(pd.DataFrame(columns).to_string(index=False))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The chunks that a run would read next

# COMMAND ----------

chunks = pd.DataFrame(
    [
        {"table": table.table.table, "chunk": one.chunk.key.chunk, "reads": one.chunk.predicate, "rows": one.rows}
        for table in planned.plan.pipelines[0].tables
        for one in table.chunks
    ]
)
print(chunks.to_string(index=False) if len(chunks) else "none: everything has landed")

# COMMAND ----------

# MAGIC %md
# MAGIC ## How large they are
# MAGIC As the survey counts them, where it can. One that is much longer than the others holds its slot longest:
# MAGIC `backfill.window` and `piece_rows` cut it finer.

# COMMAND ----------

for table in planned.plan.pipelines[0].tables:
    bars = [Bar(one.chunk.key.chunk, one.rows or 0) for one in table.chunks]
    show(picture(f"Chunks of {table.table.table}", "rows, about", bars))
