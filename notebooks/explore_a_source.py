# Databricks notebook source
# MAGIC %md
# MAGIC # Explore a source
# MAGIC What a pipeline's source has, and how it would be cut into chunks. Changes nothing, and starts no Spark.

# COMMAND ----------

import hakiri as hk

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: str | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""
PIPELINE = "shop"

project = hk.open(PROJECT, context=CONTEXT, tables=TABLES, state=STATE, secret_scope=SECRET_SCOPE)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The plan, as `hakiri plan` shows it

# COMMAND ----------

plan = project.plan(PIPELINE)
for error in plan.errors.values():
    raise error
hk.show(plan)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The columns, as the source describes them

# COMMAND ----------

for column in plan.columns:
    print(f"{column.table}.{column.name}: {column.type}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## The chunks that a run would read next

# COMMAND ----------

for chunk in plan.chunks:
    print(f"{chunk.table} {chunk.id}: {chunk.reads}, about {chunk.rows} rows")
if not plan.chunks:
    print("none: everything has landed")

# COMMAND ----------

# MAGIC %md
# MAGIC ## How large they are
# MAGIC As the survey counts them, where it can. One that is much longer than the others holds its slot longest:
# MAGIC `backfill.window` and `piece_rows` cut it finer.

# COMMAND ----------

for table in dict.fromkeys(chunk.table for chunk in plan.chunks):
    own = [hk.Bar(chunk.id, chunk.rows or 0) for chunk in plan.chunks if chunk.table == table]
    hk.show(hk.bars(f"Chunks of {table}", "rows, about", own))
