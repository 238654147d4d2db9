"""JSON texts that no column can store, with the reasons for which they are refused."""

from __future__ import annotations

TOO_LONG = "has a number of more than 4300 digits, or too large an exponent"

HOSTILE_TEXTS = [
    ('{"a": 1', "is not JSON: Expecting ',' delimiter at character 8"),
    ('{"a": 1, "b', "is not JSON: Unterminated string starting at character 10"),
    ("[1]", "is not an object"),
    ('{"a": NaN}', "is not JSON: NaN and Infinity are no numbers there"),
    ('{"a": 1, "a": 2}', "names a key twice"),
    ("[" * 500 + "]" * 500, "is nested more than 25 levels deep"),
    ('{"a": ' + "[" * 25 + "]" * 25 + "}", "is nested more than 25 levels deep"),
    ('{"a": ' * 26 + "1" + "}" * 26, "is nested more than 25 levels deep"),
    ('{"a": 1e9999999999999999999999}', TOO_LONG),
    ('{"a": 1, "\\ud800": 2}', "names a key that is not UTF-8"),
    ('{"a": 1, "b\\u0000": 2}', "names a key that has a NUL in it"),
    ('{"a": 1, "b": [{"\\u0000": 2}]}', "names a key that has a NUL in it"),
    ('{"a": 1, "": 2}', "names a key that is empty"),
    ('{"a": 1, "b": {"": 2}}', "names a key that is empty"),
]
