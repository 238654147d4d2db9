# Databricks notebook source
# MAGIC %md
# MAGIC # Look at a project
# MAGIC The manifests as Hakiri reads them: what is wrong with them, and what is in force with every default filled in.
# MAGIC Works in a workspace and on a laptop; it starts no Spark of its own.

# COMMAND ----------

from pathlib import Path

import pandas as pd

from hakiri.run.manifest import spell_out, summarize
from hakiri.settings import from_environment
from hakiri.wiring import workplace

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: Path | None = None

place = workplace(from_environment(project=PROJECT))
project = place.read()  # raises one report of everything that is wrong, with file and line

# COMMAND ----------

# MAGIC %md
# MAGIC ## The pipelines

# COMMAND ----------

pipelines = pd.DataFrame(summarize(project)).set_index("id")
print(pipelines.to_string())

# COMMAND ----------

# MAGIC %md
# MAGIC ## One pipeline, spelt out

# COMMAND ----------

first = next(iter(project.pipelines.values()))
in_force = pd.json_normalize(spell_out(first), sep=".").T
print(in_force.to_string(header=False))
