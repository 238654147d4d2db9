# Databricks notebook source
# MAGIC %md
# MAGIC # Look at runs
# MAGIC How each pipeline's latest runs went, how long each chunk took, where cursors stand, and which rows were set
# MAGIC aside. Reads the catalog and the tables, and changes nothing.

# COMMAND ----------

from pathlib import Path

import pandas as pd

from hakiri import wiring
from hakiri.model.chunk import TableKey
from hakiri.picture import Bar, picture, show
from hakiri.run.events import ChunkStaged
from hakiri.run.journal import read_journal
from hakiri.run.runs import find_journal, latest_runs
from hakiri.settings import from_environment

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: Path | None = None
# What the jobs were deployed with, to see what they see; what is empty here is as the manifest has it.
CONTEXT = ""  # /Volumes/main/hakiri/context
TABLES = ""  # main.hakiri
STATE = ""  # main.hakiri_state
SECRET_SCOPE = ""

settings = from_environment(project=PROJECT, secret_scope=SECRET_SCOPE)
project = wiring.read_project(settings, context=CONTEXT, tables=TABLES, state=STATE)
specs = [one.spec for one in project.pipelines.values()]

# COMMAND ----------

# MAGIC %md
# MAGIC ## Runs, newest first

# COMMAND ----------

with wiring.existing_catalog(settings, project) as catalog:
    now = wiring.clock().now()
    past = [one for spec in specs for one in latest_runs(catalog, spec.id, limit=10, now=now)]
    keys = [TableKey(spec.id, table.name) for spec in specs for table in spec.tables]
    cursors = {key: catalog.cursor(key) for key in keys} if catalog else {}
    landings = [one for key in keys for one in catalog.landings(key)] if catalog else []
runs = pd.DataFrame([one.as_json() for one in past])
print(runs.to_string(index=False) if past else "nothing has run yet: `hakiri apply`")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows per run, over time

# COMMAND ----------

for spec in specs:
    own = sorted((one.run for one in past if one.run.pipeline == spec.id), key=lambda run: run.started_at)
    bars = [Bar(f"{run.started_at:%Y-%m-%d %H:%M:%S}", run.rows, group=run.status.value) for run in own]
    show(picture(f"Rows per run of {spec.id}", "rows", bars))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The chunks of the latest run: when each was read, and for how long
# MAGIC A run's journal lies where it ran; in a workspace it goes with the driver.

# COMMAND ----------

for spec in specs:
    newest = max((one.run for one in past if one.run.pipeline == spec.id), key=lambda run: run.started_at, default=None)
    try:
        events = read_journal(find_journal(wiring.journals(project), newest.run)) if newest else ()
    except Exception as gone:  # noqa: BLE001 whatever is in its way, the rest of the notebook is still worth it
        print(f"{spec.id}: {gone}")
        continue
    staged = [event for event in events if isinstance(event.body, ChunkStaged)]
    ends = [(event.at - events[0].at).total_seconds() for event in staged]
    spans = [float(event.body.seconds or 0) for event in staged]
    bars = [
        Bar(f"{event.body.table} {event.body.chunk}", span, max(end - span, 0), str(event.body.table))
        for event, end, span in zip(staged, ends, spans, strict=True)
    ]
    show(picture(f"Chunks of {spec.id}, run {newest.run if newest else '-'}", "seconds since it began", bars))

# COMMAND ----------

# MAGIC %md
# MAGIC ## Cursors and landings

# COMMAND ----------

for key, cursor in cursors.items():
    print(f"{key.pipeline}/{key.table}: {cursor.value if cursor else 'none yet'}")
for landing in landings:
    told = f"landing {landing.number} {landing.status.value}, version {landing.version}, {len(landing.chunks)} chunks"
    print(f"{landing.table.pipeline}/{landing.table.table}: {told}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows that were set aside, by the rule they broke

# COMMAND ----------

for table, rules in wiring.broken_rules(settings, project).items():
    show(picture(f"Rows in {table}", "rows", [Bar(rule, count) for rule, count in rules.items()]))
