"""Limits the cost of regular expressions and JSON paths: they are literals in the plan, with bounded repetition."""

from __future__ import annotations

import re
from typing import Any

MAX_WEIGHT = 2_000
"""The most states a pattern may be in at once; each is checked for each character of a text."""
MAX_DESCENTS = 3

_FLAGS = re.compile(r"\(\?[a-zA-Z-]*x[a-zA-Z-]*[:)]")
_ESCAPE = re.compile(r"\\(?:[pPxuU]\{[^}]*\}|.)", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:?))?")
_COUNT = re.compile(r"\{\s*(\d+)?\s*(?:(,)\s*(\d+)?\s*)?\}")


def wrong_pattern(pattern: Any) -> str | None:
    """Return what is wrong with a pattern, given as a text or as an expression of a plan; None if nothing is."""
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
    """Return what is wrong with a JSON path. Each `..` searches everything that the one before has found."""
    match path:
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            return f"has a path with more than {MAX_DESCENTS} `..`" if text.count("..") > MAX_DESCENTS else None
        case {"Literal": {"Scalar": {"Null": _}}}:
            return None
        case _:
            return "has a path that does not stand in the plan"


def weight_of(pattern: str) -> int:
    """Return an upper bound of a pattern's size with its counted repetitions expanded."""
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
    """Return the index after a character class. It may contain classes; a bracket at its start is a member."""
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
