"""Whatever a job needs in secret, it is told where to take from."""

from __future__ import annotations

from collections.abc import Iterator

from hakiri.bundle.check_tasks import arguments_of, is_ours
from hakiri.bundle.compute import Document
from hakiri.bundle.errors import ScopeUnnamed
from hakiri.bundle.files import Bundle
from hakiri.bundle.job import all_tasks
from hakiri.errors import BundleError

_FLAG = "--secret-scope"


def check_secrets(bundle: Bundle) -> Iterator[BundleError]:
    """Every job that has secrets to look up and no scope to do so in: a pipeline's its own, any other those of all."""
    of_all = tuple(dict.fromkeys(one for secrets in bundle.secrets.values() for one in secrets))
    has_scope = all(bundle.value("secret_scope", target) for target in bundle.targets or [None])
    for name, job in bundle.jobs.items():
        secrets = bundle.secrets.get(name, of_all)
        lacks = name in bundle.secrets and not has_scope  # said once for each pipeline, not for what serves them all
        if secrets and (lacks or not _passes_scope(job)):
            yield ScopeUnnamed(job=name, secrets=secrets)


def _passes_scope(job: Document) -> bool:
    tasks = (arguments_of(task) for task in all_tasks(job) if is_ours(task))
    return all(any(text.partition("=")[0] == _FLAG for text in told) for told in tasks)
