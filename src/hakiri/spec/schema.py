"""Export JSON Schemas for editors and agents, made from the types that read manifests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from hakiri.spec.pipeline import PipelineSpec
from hakiri.spec.project import ProjectSpec
from hakiri.spec.transform import CompiledTransform
from hakiri.spec.validation_errors import RENAMED

ADDRESS = "https://hakiri.dev/schemas/v1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Return the exported schemas by file name."""
    return {
        "pipeline.json": _schema(PipelineSpec, "pipeline.json", "A Hakiri pipeline"),
        "project.json": _schema(ProjectSpec, "project.json", "A Hakiri project (hakiri.toml)"),
        "transforms.json": _schema(CompiledTransform, "transforms.json", "A compiled Hakiri transform"),
    }


def address_of(name: str) -> str:
    """Return the address that a JSON manifest writes as its `$schema`."""
    return f"{ADDRESS}/{name}"


def _schema(model: type[BaseModel], name: str, title: str) -> dict[str, Any]:
    made = model.model_json_schema(by_alias=False)
    for part in (made, *made.get("$defs", {}).values()):
        if "properties" in part:
            _rename(part)
            _accept_camel_case(part)
    made["properties"] = {"$schema": {"type": "string"}, **made["properties"]}
    return {"$schema": DIALECT, "$id": address_of(name), **made, "title": title}


def _rename(part: dict[str, Any]) -> None:
    part["properties"] = {RENAMED.get(key, key): value for key, value in part["properties"].items()}


def _accept_camel_case(part: dict[str, Any]) -> None:
    """Accept `onFail` wherever `on_fail` is accepted, required or not."""
    required = part.pop("required", [])
    for key in list(part["properties"]):
        if to_camel(key) != key:
            part["properties"][to_camel(key)] = {**part["properties"][key], "deprecated": True}
    plain = [key for key in required if to_camel(key) == key]
    if plain:
        part["required"] = plain
    either = [{"anyOf": [{"required": [key]}, {"required": [to_camel(key)]}]} for key in required if key not in plain]
    if either:
        part["allOf"] = either
