# Databricks notebook source
# MAGIC %md
# MAGIC # Look at a project
# MAGIC The manifests as Hakiri reads them: what is wrong with them, and what is in force with every default filled in.
# MAGIC Works in a workspace and on a laptop; it starts no Spark of its own.

# COMMAND ----------

import pandas as pd

import hakiri as hk

# In a workspace, name the folder of your hakiri.toml here; otherwise it is looked for from this folder upward.
PROJECT: str | None = None

project = hk.open(PROJECT)  # raises one report of everything that is wrong, with file and line

# COMMAND ----------

# MAGIC %md
# MAGIC ## The pipelines

# COMMAND ----------

pipelines = project.pipelines()
hk.show(pipelines)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One pipeline, with every default

# COMMAND ----------

first = next(iter(pipelines))
in_force = pd.json_normalize(project.settings_of(first.id), sep=".").T
print(in_force.to_string(header=False))
