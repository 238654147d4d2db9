"""Random values of every type, as texts that a database reads, with the odd ones that every type has."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from random import Random

Make = Callable[[Random], str]

_SIGNS = "aZ09 _-'\"\\%{}()[],.;:/\n\t\r\u00a0\u00df\u0130\u03a3\u200b\u2028\ufb01\ufeff\ufffd\U0001f600\x01\x1f\x7f"


def text(random: Random) -> str:
    return "".join(random.choices(_SIGNS, k=random.choice([0, 1, 2, 5, 30])))


def digits(random: Random, most: int = 45) -> str:
    return "".join(random.choices("0123456789", k=random.randint(1, most))) if random.random() < 0.8 else "9" * most


def number(random: Random) -> str:
    sign = random.choice(["", "-", "+"])
    fraction = f".{digits(random)}" if random.random() < 0.6 else ""
    exponent = f"e{random.randint(-60, 60)}" if random.random() < 0.2 else ""
    odd = [
        "NaN",
        "Infinity",
        "-Infinity",
        "0",
        "-0",
        "-0.0",
        "1e-7",
        "0.1",
        "1e130",
        "9" * 38,
        "9" * 39,
        "1" + "0" * 130,
    ]
    return random.choice(odd) if random.random() < 0.15 else f"{sign}{digits(random)}{fraction}{exponent}"


def whole(bits: int) -> Make:
    edge = 1 << bits - 1

    def make(random: Random) -> str:
        if random.random() < 0.3:
            return str(random.choice([0, 1, -1, edge - 1, -edge, edge, -edge - 1]))
        return str(random.randint(-(1 << random.randint(1, bits)), 1 << random.randint(1, bits)))

    return make


def real(random: Random) -> str:
    odd = ["NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.1", "9007199254740993", "1e22"]
    if random.random() < 0.2:
        return random.choice(odd)
    return repr(struct.unpack("<d", random.randbytes(8))[0])


def small(random: Random) -> str:
    """A number that most declared types hold."""
    return str(Decimal(random.randint(-(10**6), 10**6)).scaleb(-random.randint(0, 4)))


def day(random: Random) -> str:
    odd = ["infinity", "-infinity", "0001-01-01", "0001-12-31 BC", "9999-12-31", "10000-01-01", "5874897-12-31"]
    odd += ["4713-01-01 BC", "1582-10-10", "1900-02-28", "2000-02-29", "1969-12-31", "1970-01-01"]
    if random.random() < 0.3:
        return random.choice(odd)
    year = random.choice([random.randint(1, 9999), random.randint(1, 290_000)])
    return f"{year:04}-{random.randint(1, 12):02}-{random.randint(1, 28):02}{random.choice(['', '', ' BC'])}"


def clock(random: Random) -> str:
    fraction = random.choice(["", f".{random.randint(0, 999_999):06}", ".000001", ".9999999"])
    return f"{random.randint(0, 24):02}:{random.randint(0, 59):02}:{random.randint(0, 60):02}{fraction}"


def moment(random: Random) -> str:
    told = day(random)
    if "infinity" in told:
        return told
    date, _, era = told.partition(" ")
    zone = random.choice(["", "+00", "-12:30", "+14", " Europe/Berlin"])
    return f"{date} {clock(random)}{zone} {era}".strip()


def interval(random: Random) -> str:
    parts = [f"{random.randint(-999, 999)} {unit}" for unit in ("years", "months", "days", "hours")]
    return " ".join([*random.sample(parts, random.randint(1, 4)), random.choice(["", clock(random)])])


def document(random: Random) -> str:
    value = random.choice([None, True, text(random), [1, text(random)], {text(random): [{}]}, 10**30, 0.1])
    return json.dumps(value, ensure_ascii=random.random() < 0.5)


def hexadecimal(random: Random) -> str:
    return "\\x" + random.randbytes(random.choice([0, 1, 3, 40])).hex()


def bits(random: Random) -> str:
    return "".join(random.choices("01", k=random.choice([3, 3, 0, 8, 70])))


def uuid(random: Random) -> str:
    return random.randbytes(16).hex()


def address(random: Random) -> str:
    four = ".".join(str(random.randint(0, 255)) for _ in range(4))
    six = ":".join(f"{random.randint(0, 65_535):x}" for _ in range(8))
    return random.choice([four, f"{four}/{random.randint(0, 32)}", six, f"{six}/{random.randint(0, 128)}", "::1"])


def point(random: Random) -> str:
    return f"({real(random)},{small(random)})"


def span(make: Make) -> Make:
    def made(random: Random) -> str:
        if random.random() < 0.1:
            return "empty"
        low, high = (f'"{make(random)}"' if random.random() < 0.9 else "" for _ in range(2))
        return f"{random.choice('[(')}{low},{high}{random.choice('])')}"

    return made


def listed(make: Make) -> Make:
    """An array: of any length, with NULLs, and now and then of two dimensions or another start."""

    def made(random: Random) -> str:
        members = [_member(random, make) for _ in range(random.choice([0, 1, 2, 7]))]
        inside = ",".join(members)
        if members and random.random() < 0.1:
            return f"{{{{{inside}}},{{{inside}}}}}"
        start = random.choice([0, 2, -1])
        bounds = f"[{start}:{start + len(members) - 1}]=" if members and random.random() < 0.1 else ""
        return f"{bounds}{{{inside}}}"

    return made


def _member(random: Random, make: Make) -> str:
    quoted = make(random).replace("\\", "\\\\").replace('"', '\\"')
    return "NULL" if random.random() < 0.15 else f'"{quoted}"'


def record(random: Random) -> str:
    quoted = text(random).replace("\\", "\\\\").replace('"', '""')
    return f'({random.choice(["", "1", "-7"])},"{quoted}")'


def one_of(*values: str) -> Make:
    return lambda random: random.choice(values)
