"""Errors of the asset bundle."""

from __future__ import annotations

from hakiri.errors import BundleError, TaskError


class BundleUnreadable(BundleError, code="HK870", says="{file} cannot be part of a bundle: {reason}"):
    """A file of the bundle cannot be read as part of one."""

    file: str
    reason: str


class ScheduleUnfit(
    BundleError, code="HK871", says="job `{job}` cannot run at `{schedule}`: {reason}", help="{advice}"
):
    """Databricks cannot run a job at this schedule."""

    job: str
    schedule: str
    reason: str
    advice: str | None = None


class EntryPointUnknown(
    TaskError, code="HK872", says="{subject} runs `{entry_point}`, which is not an entry point of the wheel"
):
    """A task runs an entry point that the wheel does not have."""

    entry_point: str
    known: tuple[str, ...]

    def help(self) -> str:
        return f"the wheel has {', '.join(self.known) or 'none'}"


class EnvironmentUnknown(TaskError, code="HK873"):
    """A task names an environment that its job does not define."""

    key: str
    known: tuple[str, ...]

    def message(self) -> str:
        where = f"in `{self.key}`, which the job does not define" if self.key else "nowhere: it names no compute"
        return f"{self.subject()} runs {where}"

    def help(self) -> str:
        return f"the job has {', '.join(self.known) or 'no environments and no clusters'}"


class TaskGraphBroken(TaskError, code="HK874", says="{subject} {reason}"):
    """A task can never start, or shares its name with another."""

    reason: str


class ReferenceUnknown(BundleError, code="HK875", says="{where} refers to `{reference}`: {reason}"):
    """A reference in the bundle has no value."""

    where: str
    reference: str
    reason: str


class LocationAdrift(
    BundleError,
    code="HK876",
    says="the trigger of job `{job}` watches `{url}`, which a development target renames",
    help=(
        "names follow as `${{resources.volumes.NAME.volume_path}}/...` and "
        "`${{resources.schemas.NAME.id}}.TABLE`; in a manifest as `volume:NAME/...` and "
        "`schema:NAME.TABLE`"
    ),
):
    """A trigger names a place literally, and a development target renames that place."""

    job: str
    url: str


class ScopeUnnamed(
    BundleError,
    code="HK877",
    help="give `secret_scope` a value in databricks.yml, for every target, and pass it as `--secret-scope`",
):
    """A pipeline uses secrets, and no secret scope is named."""

    job: str
    secrets: tuple[str, ...]

    def message(self) -> str:
        return f"job `{self.job}` needs {', '.join(self.secrets)}, and no secret scope is named"


class WheelLeftOut(
    TaskError,
    code="HK880",
    says="{subject} runs an entry point of `{package}` where its wheel is not installed",
    help="name the wheel, `../dist/*.whl`, in `dependencies` of the environment, or in `libraries` of the task",
):
    """A task runs an entry point of a wheel that its environment does not install."""

    package: str


class ArgumentsUnfit(TaskError, code="HK881", says="{subject} passes wrong arguments to `{entry_point}`: {reason}"):
    """A task passes arguments that its entry point does not take, or lacks one that it needs."""

    entry_point: str
    reason: str
