"""Turn pydantic's validation errors into errors with file, line and advice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import ErrorDetails

from hakiri.errors import ManifestError, Place
from hakiri.spec.document import Document
from hakiri.spec.errors import MissingKey, UnknownKey, WrongValue
from hakiri.spec.lines import KeyPath
from hakiri.spec.load import LoadSection
from hakiri.spec.names import EXPLAINED

_SHOWN_VALUE = 40
RENAMED = {"schema_policy": "schema"}


def faults(error: ValidationError, model: type[BaseModel], document: Document, at: KeyPath) -> Iterator[ManifestError]:
    """Yield one error for each problem in the part of the document at this path."""
    details = error.errors(include_url=False)
    broken = {detail["loc"] for detail in details}
    for detail in details:
        loc = detail["loc"]
        if detail["type"] == "too_short" and any(other[: len(loc)] == loc and other != loc for other in broken):
            continue  # its elements are reported one by one
        yield _fault(detail, model, document, at)


def place_of(document: Document, at: KeyPath, path: KeyPath) -> Place:
    """Return the place of a key in the document, in either spelling."""
    return document.place((*at, *_written(part_at(document.data, at), path)))


def part_at(data: Any, path: KeyPath) -> Any:
    """Return the part of a plain value at an existing path."""
    for part in path:
        data = data[part]
    return data


def spelling(data: Any, part: str | int) -> str | int | None:
    """Return how a part of a path is spelt in the data; None if it does not exist."""
    if isinstance(data, list):
        return part if isinstance(part, int) and part < len(data) else None
    if not isinstance(data, dict):
        return None
    name = str(part)
    return next((one for one in (name, to_snake(name), to_camel(name), RENAMED.get(name)) if one in data), None)


def key_name(path: Iterable[str | int]) -> str:
    """Write a path as people do: `tables[0].load.mode`."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def guess(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was most likely meant; None if none is close."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def _fault(detail: ErrorDetails, model: type[BaseModel], document: Document, at: KeyPath) -> ManifestError:
    loc = detail["loc"]
    path = _written(part_at(document.data, at), loc)
    place = document.place((*at, *path))
    key = key_name(path)
    match detail["type"]:
        case "missing" if _mode_at(model, loc):
            mode = place_of(document, at, (*loc[:-1], "mode"))
            reason = f"`{_mode_at(model, loc)}` needs `{_canonical(loc[-1])}`"
            return WrongValue(place=mode, key=key_name((*path, "mode")), reason=reason)
        case "missing":
            return MissingKey(place=place, key=key_name((*path, _canonical(loc[-1]))))
        case "union_tag_not_found":
            kinds = ", ".join(_tags_of(one)[0] for one in _models_at(model, loc))
            return MissingKey(place=place, key=key_name((*path, "type")), advice=f"write one of {kinds}")
        case "extra_forbidden":
            return _unknown_key(model, loc, place, key)
        case "enum" | "literal_error":
            return _not_one_of(key, place, detail["input"], _quoted(detail["ctx"]["expected"]))
        case "union_tag_invalid":
            tag, tags = detail["ctx"]["tag"], [one for one in _quoted(detail["ctx"]["expected_tags"]) if one]
            named = next(map(_tag_field, _models_at(model, loc)), "type")
            return _not_one_of(key_name((*path, named)), place_of(document, at, (*loc, named)), tag, tags)
        case "string_pattern_mismatch" if detail["ctx"]["pattern"] in EXPLAINED:
            return WrongValue(place=place, key=key, reason=f"has to be {EXPLAINED[detail['ctx']['pattern']]}")
        case "value_error":
            return WrongValue(place=place, key=key, reason=str(detail["ctx"]["error"]))
        case _:
            return WrongValue(place=place, key=key, reason=_reworded(detail["msg"]))


def _unknown_key(model: type[BaseModel], loc: tuple[str | int, ...], place: Place, path: str) -> ManifestError:
    key = str(loc[-1])
    mode = _mode_at(model, loc)
    if mode is not None and _is_of_another_mode(model, loc):
        used = f"for the load mode `{mode}`" if mode else "without a load mode that uses it"
        return WrongValue(place=place, key=path, reason=f"has no meaning {used}")
    known = sorted({_canonical(name) for part in _models_at(model, loc[:-1]) for name in part.model_fields})
    if _canonical(key) in known:
        reason = f"is given twice, as `{_canonical(key)}` and as `{to_camel(_canonical(key))}`"
        return WrongValue(place=place, key=key, reason=reason)
    return UnknownKey(place=place, key=key, known=tuple(known), guess=guess(to_snake(key), known))


def _mode_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> str | None:
    """Return the load mode whose section has the key at this location, empty for none; None outside such a section."""
    is_tagged = all(_tag_field(one) == "mode" for one in _models_at(model, loc[:-1]))
    return str(loc[-2]) if is_tagged and len(loc) > 1 else None


def _is_of_another_mode(model: type[BaseModel], loc: tuple[str | int, ...]) -> bool:
    name = to_snake(str(loc[-1]))
    own, every = (_models_at(model, outer) for outer in (loc[:-1], loc[:-2]))
    return any(name in one.model_fields for one in every) and not any(name in one.model_fields for one in own)


def _not_one_of(key: str, place: Place, value: Any, allowed: list[str]) -> WrongValue:
    allowed = [word for word in allowed if word == to_snake(word) or to_snake(word) not in allowed]
    likely = guess(value, allowed) if isinstance(value, str) else None
    shown = str(value)[:_SHOWN_VALUE]
    return WrongValue(
        place=place,
        key=key,
        reason=f"`{shown}` is not one of {', '.join(allowed)}",
        advice=f"did you mean `{likely}`?" if likely else None,
    )


def _written(data: Any, loc: Iterable[str | int]) -> KeyPath:
    """Return the part of a path that is in the document: without union tags and keys that a shorthand omits."""
    path: KeyPath = ()
    for part in loc:
        name = spelling(data, part)
        if name is not None:
            path, data = (*path, name), data[name]
    return path


def _canonical(part: str | int) -> str:
    name = to_snake(str(part))
    return RENAMED.get(name, name)


def _models_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """Return the models that are possible at a location, narrowed by the union tags in it."""
    found = [model]
    for part in loc:
        if isinstance(part, int):
            continue
        inner = [field for one in found if (field := one.model_fields.get(_field_name(one, part)))]
        if inner:
            found = [one for field in inner for one in _models_in(field.annotation)]
        else:
            found = [one for one in found if part in _tags_of(one)]
    return found


def _field_name(model: type[BaseModel], part: str) -> str:
    name = to_snake(part)
    return next((field for field, shown in RENAMED.items() if shown == name and field in model.model_fields), name)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _tag_field(model: type[BaseModel]) -> str:
    """Return the key that decides between several sections."""
    return "mode" if issubclass(model, LoadSection) else "type"


def _tags_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the values of that key that choose this section; an empty text if the key may be left out."""
    field = model.model_fields.get(_tag_field(model))
    return get_args(field.annotation) or ("",) if field else ()


def _quoted(listed: str) -> list[str]:
    """Split `'a', 'b' or 'c'` into its words."""
    return listed.split("'")[1::2]


def _reworded(message: str) -> str:
    text = message.removeprefix("Input ").replace("Input ", "").replace("Tuple", "a list").replace("tuple", "list")
    return text[:1].lower() + text[1:]
