"""How long a pattern may look at a text is bounded: it stands in the plan, and it repeats nothing too often."""

from __future__ import annotations

import re
from typing import Any

MAX_WEIGHT = 2_000
"""As many places as a pattern may be in at once, each of which is looked at for each character of a text."""
MAX_DESCENTS = 3

_FLAGS = re.compile(r"\(\?[a-zA-Z-]*x[a-zA-Z-]*[:)]")
_ESCAPE = re.compile(r"\\(?:[pPxuU]\{[^}]*\}|.)", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:?))?")
_COUNT = re.compile(r"\{\s*(\d+)?\s*(?:(,)\s*(\d+)?\s*)?\}")


def wrong_pattern(pattern: Any) -> str | None:
    """What is wrong with the pattern of a function, an expression of a plan or a text; None where nothing is."""
    match pattern:
        case str(text) | {"Literal": {"Scalar": {"String": str(text)}}}:
            if _FLAGS.search(text):
                return "has a pattern with the flag `x`, which hides what is repeated"
            if weight_of(text) > MAX_WEIGHT:
                return f"has a pattern that repeats more than {MAX_WEIGHT:,} things"
            return None
        case {"Literal": {"Scalar": {"Null": _}}}:
            return None
        case _:
            return "has a pattern that does not stand in the plan: `literal=True` takes a column as plain text"


def wrong_path(path: Any) -> str | None:
    """What is wrong with a path into JSON: each `..` looks into everything that the one before has found."""
    match path:
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            return f"has a path with more than {MAX_DESCENTS} `..`" if text.count("..") > MAX_DESCENTS else None
        case {"Literal": {"Scalar": {"Null": _}}}:
            return None
        case _:
            return "has a path that does not stand in the plan"


def weight_of(pattern: str) -> int:
    """How many things a pattern is made of once its counted repetitions are written out; never too few of them."""
    groups, at = [[0]], 0
    while at < len(pattern):
        parts, one = groups[-1], pattern[at]
        if escape := _ESCAPE.match(pattern, at):
            parts.append(1)
            at = escape.end()
            continue
        if one == "[":
            parts.append(1)
            at = _end_of_class(pattern, at)
            continue
        if count := _COUNT.match(pattern, at):
            parts[-1] *= max(int(count[1] or 0), int(count[3] or 0), 1)
            at = count.end()
            continue
        if opening := _GROUP.match(pattern, at):
            groups.append([0])
            at = opening.end()
            continue
        if one == ")" and len(groups) > 1:
            groups[-2].append(sum(groups.pop()))
        elif one not in "*+?|^$":
            parts.append(1)
        at += 1
    return sum(map(sum, groups))


def _end_of_class(pattern: str, at: int) -> int:
    """Behind a class, which may hold classes; a bracket that comes first in it is a member."""
    depth = 0
    while at < len(pattern):
        if escape := _ESCAPE.match(pattern, at):
            at = escape.end()
            continue
        if pattern[at] == "[":
            depth += 1
            at += 1 + (pattern[at + 1 : at + 2] == "^")
            at += pattern[at : at + 1] == "]"
            continue
        if pattern[at] == "]":
            depth -= 1
        at += 1
        if not depth:
            break
    return at
