# Databricks notebook source
# MAGIC %md
# MAGIC # Look at runs
# MAGIC How each pipeline's latest runs went, how long each chunk took, where cursors stand, and which rows were set
# MAGIC aside. Reads the catalog and the tables, and changes nothing.

# COMMAND ----------

import hakiri as hk

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: str | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""

project = hk.open(PROJECT, context=CONTEXT, tables=TABLES, state=STATE, secret_scope=SECRET_SCOPE)
names = [pipeline.id for pipeline in project.pipelines()]

# COMMAND ----------

# MAGIC %md
# MAGIC ## How far each pipeline is

# COMMAND ----------

hk.show(project.status())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Runs, newest first

# COMMAND ----------

runs = project.runs(limit=10)
hk.show(runs)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows per run, over time

# COMMAND ----------

for name in names:
    own = sorted((run for run in runs if run.pipeline == name), key=lambda run: run.started_at)
    amounts = [hk.Bar(f"{run.started_at:%Y-%m-%d %H:%M:%S}", run.rows, group=run.status) for run in own]
    hk.show(hk.bars(f"Rows per run of {name}", "rows", amounts))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The chunks of the latest run: when each was read, and for how long
# MAGIC A run's journal lies where it ran; in a workspace it goes with the driver.

# COMMAND ----------

for name in names:
    newest = next((run for run in runs if run.pipeline == name), None)
    if newest is None:
        continue
    try:
        events = project.journal(newest.run).events
    except hk.HakiriError as gone:
        print(f"{name}: {gone}")
        continue
    amounts = []
    for event in events:
        if event.event == "chunk_staged":
            end, span = (event.at - events[0].at).total_seconds(), float(event.facts["seconds"] or 0)
            table, chunk = event.facts["table"], event.facts["chunk"]
            amounts.append(hk.Bar(f"{table} {chunk}", span, max(end - span, 0), table))
    hk.show(hk.bars(f"Chunks of {name}, run {newest.run}", "seconds since it began", amounts))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Cursors and landings

# COMMAND ----------

for pipeline in project.pipelines():
    for table in pipeline.tables:
        hk.show(project.table(f"{pipeline.id}.{table}"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows that were set aside, by the rule they broke

# COMMAND ----------

for table, rules in project.quarantine().items():
    hk.show(hk.bars(f"Rows in {table}", "rows", [hk.Bar(rule, count) for rule, count in rules.items()]))
