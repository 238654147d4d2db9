"""Read the bundle as it would be deployed: its files, and the jobs of the project's pipelines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from hakiri.bundle.compute import Document
from hakiri.bundle.errors import BundleUnreadable
from hakiri.bundle.resources import compute_of, jobs_of
from hakiri.spec.check import BUNDLE_FILE, bundle_root
from hakiri.spec.read import Project
from hakiri.spec.reference import references_in

Resources = dict[str, dict[str, Document]]
"""By kind, and by name in the bundle."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything that is deployed."""

    variables: Mapping[str, Document]
    targets: Mapping[str, Document]
    resources: Resources
    secrets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The secrets that the jobs of pipelines need, by job."""

    @property
    def jobs(self) -> dict[str, Document]:
        return self.resources.get("jobs", {})

    def value(self, variable: str, target: str | None = None) -> str:
        """Return the value of a variable in a target; empty if it has none."""
        overridden = (self.targets.get(target or "", {}) or {}).get("variables") or {}
        found = overridden.get(variable, (self.variables.get(variable) or {}).get("default"))
        return str(found.get("default", "") if isinstance(found, dict) else "" if found is None else found)

    def resolved(self, text: str) -> str:
        """Replace references to variables by the variables' defaults."""
        return re.sub(r"\$\{var\.(\w+)\}", lambda found: self.value(found[1]), text)


def read_bundle(project: Project) -> Bundle:
    """Read the bundle that the project belongs to. Raises BundleUnreadable and ScheduleUnfit."""
    root = _root(project.root)
    document = _document(root / BUNDLE_FILE)
    resources: Resources = {}
    for file in _files(root, document):
        for kind, found in (_document(file).get("resources") or {}).items():
            resources.setdefault(kind, {}).update(_named(file, kind, found, known=resources.get(kind, {})))
    bundle = Bundle(document.get("variables") or {}, document.get("targets") or {}, resources)
    made, compute = jobs_of(project), compute_of(project, node_type=bundle.value("node_type"))
    jobs = resources.setdefault("jobs", {})
    jobs.update(_named(project.root, "jobs", made, known=jobs))
    resources["jobs"] = {name: compute.equip(job) for name, job in jobs.items()}
    return replace(bundle, secrets=_secrets(project))


def _secrets(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the secrets that each pipeline declares, and those in the catalog's address."""
    shared = [one.name for one in references_in(project.spec.catalog.url or "") if one.kind == "secret"]
    specs = [one.spec for one in project.pipelines.values()]
    return {f"hakiri_{spec.id}": tuple(dict.fromkeys((*spec.secrets, *shared))) for spec in specs}


def as_yaml(resources: Mapping[str, Any]) -> str:
    """Write resources as a YAML file of the bundle."""
    return str(yaml.safe_dump({"resources": dict(resources)}, sort_keys=False, allow_unicode=True, width=120))


def _root(start: Path) -> Path:
    found = bundle_root(start)
    if found is None:
        raise BundleUnreadable(file=BUNDLE_FILE, reason="neither the project's folder nor a folder above it has one")
    return found


def _files(root: Path, document: Document) -> Iterator[Path]:
    yield root / BUNDLE_FILE
    for pattern in document.get("include") or ():
        found = sorted(root.glob(str(pattern)))
        if not found:
            raise BundleUnreadable(file=BUNDLE_FILE, reason=f"`include: {pattern}` matches no file")
        yield from found


def _document(file: Path) -> Document:
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as cause:
        raise BundleUnreadable(file=file.name, reason=str(cause)) from cause
    except yaml.YAMLError as cause:
        raise BundleUnreadable(file=file.name, reason=" ".join(str(cause).split())) from cause
    if not isinstance(read, dict):
        raise BundleUnreadable(file=file.name, reason="it is not a mapping of keys to values")
    return read


def _named(file: Path, kind: str, found: Any, *, known: Mapping[str, Document]) -> dict[str, Document]:
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BundleUnreadable(file=file.name, reason=f"`resources.{kind}` is not a mapping of names to resources")
    if twice := sorted(found.keys() & known.keys()):
        raise BundleUnreadable(file=file.name, reason=f"`{twice[0]}` is defined twice")
    return found
