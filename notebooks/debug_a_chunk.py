# Databricks notebook source
# MAGIC %md
# MAGIC # Debug one chunk
# MAGIC One chunk of a pipeline, step by step, as a task on an executor would do it: read, transform, check, stage.
# MAGIC It works in a folder of its own, does not touch the catalog, and starts no Spark.

# COMMAND ----------

import hakiri as hk

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: str | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""
PIPELINE, TABLE = "events", "events"

project = hk.open(PROJECT, context=CONTEXT, tables=TABLES, state=STATE, secret_scope=SECRET_SCOPE)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which chunk
# MAGIC Planned as if nothing had landed yet. The first chunk; another one is named by its id or its position.

# COMMAND ----------

chunk = project.chunk(PIPELINE, TABLE)
hk.show(chunk)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A few rows before and after the transforms

# COMMAND ----------

hk.show(project.try_transforms(PIPELINE, rows=5))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Read, check, stage and seal
# MAGIC Every row is counted: read = staged + quarantined + filtered + deduplicated + merged.
# MAGIC To keep the files, name a folder: `chunk.debug(folder=...)`.

# COMMAND ----------

found = chunk.debug(rows=5)
hk.show(found)

# COMMAND ----------

ways = [hk.Bar(way, count) for way, count in found.tally.items() if way != "read"]
hk.show(hk.bars(f"{found.tally['read']:,} rows read, and what became of them", "rows", ways))
hk.show(hk.bars("Rules that rows broke", "rows", [hk.Bar(rule, count) for rule, count in found.broken.items()]))
