"""What stands in a bundle's texts for something else is found in one way, wherever it is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hakiri.bundle.files import Bundle

AT_RUN = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
"""What a run fills in."""
AT_DEPLOY = re.compile(r"\$\{([^{}]+)\}")
"""What a deployment fills in."""


def texts(value: Any) -> Iterator[str]:
    """Every text inside a plain value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)


def resolved(bundle: Bundle, text: str) -> str:
    """The text with the defaults of variables in their place."""
    return re.sub(r"\$\{var\.(\w+)\}", lambda found: bundle.value(found[1]), text)
