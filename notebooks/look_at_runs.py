# Databricks notebook source
# MAGIC %md
# MAGIC # Look at runs
# MAGIC How each pipeline's latest runs went, where its cursors stand, and which rows were set aside. Reads the catalog
# MAGIC and the tables, and changes nothing.

# COMMAND ----------

from functools import partial
from pathlib import Path

import pandas as pd

from hakiri import wiring
from hakiri.errors import QueryError
from hakiri.model.chunk import TableKey
from hakiri.run.query import query
from hakiri.run.runs import latest_runs
from hakiri.settings import from_environment

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: Path | None = None

settings = from_environment(project=PROJECT)
project = wiring.workplace(settings).read()
specs = [one.spec for one in project.pipelines.values()]

# COMMAND ----------

# MAGIC %md
# MAGIC ## Runs, newest first

# COMMAND ----------

with wiring.existing_catalog(settings, project) as catalog:
    now = wiring.clock().now()
    runs = [past.as_json() for spec in specs for past in latest_runs(catalog, spec.id, limit=10, now=now)]
    keys = [TableKey(spec.id, table.name) for spec in specs for table in spec.tables]
    cursors = [{"table": str(key), "cursor": catalog.cursor(key)} for key in keys] if catalog else []
    landings = [one for key in keys for one in catalog.landings(key)] if catalog else []
print(pd.DataFrame(runs).to_string(index=False) if runs else "nothing has run yet: `hakiri apply`")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows per run

# COMMAND ----------

most = max((int(str(run["rows"])) for run in runs), default=0)
for run in runs:
    rows = int(str(run["rows"]))
    print(f"{run['run_id']}  {'#' * round(40 * rows / most) if most else '':<40}  {rows:,} rows, {run['status']}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Cursors and landings

# COMMAND ----------

for cursor in cursors:
    print(f"{cursor['table']}: {cursor['cursor'].value if cursor['cursor'] else 'none yet'}")
for landing in landings:
    told = f"landing {landing.number} {landing.status.value}, version {landing.version}, {len(landing.chunks)} chunks"
    print(f"{landing.table}: {told}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Rows that were set aside

# COMMAND ----------

ask = partial(
    query,
    project=project,
    place=partial(wiring.place, project),
    target=partial(wiring.target, project),
    catalog=partial(wiring.existing_catalog, settings, project),
    ask=partial(wiring.ask, settings, project),
)
for name in dict.fromkeys(spec.quarantine_name(table) for spec in specs for table in spec.tables):
    try:
        answer = ask(f'SELECT * FROM "{name}" LIMIT 5')  # noqa: S608 a name of the project's own
        print(f"{name}:\n{pd.DataFrame(list(answer.rows), columns=list(answer.columns)).to_string(index=False)}")
    except QueryError as nothing:
        print(f"{name}: {nothing}")
