"""What a deployment fills in is something that the bundle has: a variable, or a fact of one of its resources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.volumes import Volume

from hakiri.bundle.errors import ReferenceUnknown
from hakiri.bundle.files import Bundle
from hakiri.bundle.texts import AT_DEPLOY, texts
from hakiri.errors import BundleError

_SUBSTITUTED = frozenset(("var", "resources", "workspace", "bundle", "artifacts"))
_DEPLOYED = frozenset(("id", "url"))
"""What every resource has once it is deployed."""


def check_substitutions(bundle: Bundle) -> Iterator[BundleError]:
    """Every reference of the bundle to what it does not have."""
    for where, value in _places(bundle):
        for text in texts(value):
            for found in AT_DEPLOY.findall(text):
                if reason := _unknown(bundle, found):
                    yield ReferenceUnknown(where=f"`{where}`", reference=f"${{{found}}}", reason=reason)


def _places(bundle: Bundle) -> Iterator[tuple[str, Any]]:
    for kind, found in bundle.resources.items():
        yield from ((f"{kind}.{name}", resource) for name, resource in found.items())
    for name, variable in bundle.variables.items():
        yield f"variables.{name}", (variable or {}).get("default")
    for name, target in bundle.targets.items():
        yield f"targets.{name}", (target or {}).get("variables")


def _unknown(bundle: Bundle, reference: str) -> str | None:
    """Why nothing would stand there; None where something does."""
    kind, _, rest = reference.partition(".")
    if kind not in _SUBSTITUTED:
        return "a bundle has nothing of that name"
    if kind == "var" and rest.partition(".")[0] not in bundle.variables:
        return "the bundle has no such variable"
    return _unknown_resource(bundle, rest) if kind == "resources" else None


def _unknown_resource(bundle: Bundle, path: str) -> str | None:
    kind, _, rest = path.partition(".")
    named = [name for name in bundle.resources.get(kind, {}) if rest.startswith(f"{name}.")]
    if not named:
        return "the bundle has no such resource"
    fact = rest.removeprefix(f"{max(named, key=len)}.").partition(".")[0].partition("[")[0]
    return None if fact in _facts().get(kind, (fact,)) else f"`{kind}` have nothing of that name"


@cache
def _facts() -> dict[str, frozenset[str]]:
    """Return what can be said of a resource: what its file has, and what a workspace knows of it."""
    from databricks.sdk.service.catalog import SchemaInfo, VolumeInfo  # takes seconds to import

    return {
        "jobs": _DEPLOYED | _names(Job) | {"job_id"},
        "schemas": _DEPLOYED | _names(Schema, SchemaInfo),
        "volumes": _DEPLOYED | _names(Volume, VolumeInfo) | {"volume_path"},
    }


def _names(*kinds: Any) -> set[str]:
    return {field.name for kind in kinds for field in fields(kind)}
