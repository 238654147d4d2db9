"""A broken file gives one located error, whatever is broken about it, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hakiri.spec.document import parse_document, read_document
from hakiri.spec.errors import UnreadableManifest
from spec.strategies import documents, toml_texts

BROKEN = Path(__file__).parents[2] / "fixtures" / "manifests" / "broken"
EXPECTED = json.loads((BROKEN / "expected.json").read_text())


def test_the_corpus_and_its_expectations_name_the_same_files() -> None:
    assert {path.name for path in BROKEN.iterdir()} - {"expected.json"} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_broken_file_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(UnreadableManifest) as refused:
        read_document(BROKEN / name, shown=name)
    assert refused.value.place.file == name
    assert refused.value.place.line == EXPECTED[name]["line"]
    assert EXPECTED[name]["message"] in refused.value.message()


@pytest.mark.parametrize("name", ["a.toml", "a.json"])
@pytest.mark.parametrize("opening", [b"[", b"{", b'{"a":', b"[{", b"a = ["])
def test_ten_megabytes_of_brackets_are_refused_with_a_line(name: str, opening: bytes) -> None:
    with pytest.raises(UnreadableManifest) as refused:
        parse_document(opening * (10_000_000 // len(opening)), path=Path(name), shown=name)
    assert refused.value.place.line == 1


def test_a_file_beyond_any_manifest_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(UnreadableManifest, match="larger than 16 MiB"):
        parse_document(b" " * (16 * 1024 * 1024 + 1), path=Path("a.toml"), shown="a.toml")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnreadableManifest, match="cannot be read: Is a directory"):
        read_document(tmp_path, shown="a.toml")


def test_dates_mean_the_same_in_both_formats() -> None:
    toml = parse_document(b"day = 2010-01-01\nat = 2010-01-01T10:00:00Z\n", path=Path("a.toml"), shown="a")
    text = b'{"day": "2010-01-01", "at": "2010-01-01T10:00:00+00:00"}'
    assert toml.data == parse_document(text, path=Path("a.json"), shown="a").data


@st.composite
def mutilated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A valid document with some of its bytes cut, doubled or replaced."""
    name = draw(st.sampled_from(["a.toml", "a.json"]))
    text = draw(toml_texts()) if name == "a.toml" else json.dumps(draw(documents), indent=1)
    raw = text.encode()
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 5)))
        raw = (
            raw[:start] + draw(st.one_of(st.just(b""), st.binary(max_size=4), st.just(raw[start:end] * 2))) + raw[end:]
        )
    return name, raw


@settings(max_examples=300)
@given(mutilated())
@example(("a.json", b'{"a": "\\'))
@example(("a.toml", b'a = """'))
def test_any_bytes_are_a_document_or_one_located_error(case: tuple[str, bytes]) -> None:
    name, raw = case
    try:
        parse_document(raw, path=Path(name), shown=name)
        line: int | None = 1
    except UnreadableManifest as refused:
        line = refused.place.line
    assert line in range(1, raw.count(b"\n") + 2)
