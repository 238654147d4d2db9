"""The tasks of a scheduled job: parameters in, one step of a run, task values and an exit code out."""

from hakiri.jobs.main import doctor, extract, land, maintain, plan

__all__ = ["doctor", "extract", "land", "maintain", "plan"]
