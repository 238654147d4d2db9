"""What docs/transforms.md shows compiles, and says what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli

from hakiri.extract.transform import check, component, grammar, guest, network, pattern, read
from hakiri.extract.transform.compile import compile_source
from hakiri.extract.transform.record import FRAME_VERBS
from hakiri.extract.transform.reshape import CHUNK_BYTES
from hakiri.run.transforms import REFERENCE_BYTES
from hakiri.spec.component import ComponentSpec
from hakiri.spec.pipeline import parse_transform
from hakiri.spec.transform import MAX_STEPS

PAGE = (Path(__file__).parents[3] / "docs" / "transforms.md").read_text()
EXAMPLES = re.findall(r"^```(python|typescript)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("language", "text"), EXAMPLES)
def test_an_example_compiles(tmp_path: Path, language: str, text: str) -> None:
    source = tmp_path / ("a.py" if language == "python" else "a.ts")
    source.write_text(text)
    assert compile_source(source, shown=source.name)


def test_the_first_example_is_the_same_in_both_languages(tmp_path: Path) -> None:
    plans = []
    for suffix, (_, text) in zip((".py", ".ts"), EXAMPLES, strict=False):
        (tmp_path / f"a{suffix}").write_text(text)
        plans += [one.transform.plan for one in compile_source(tmp_path / f"a{suffix}", shown="a")]
    assert plans[0] == plans[1]


def test_the_limits_and_the_verbs_are_those_of_the_code() -> None:
    limits = [
        f"{read.MAX_BYTES >> 20} MiB, {MAX_STEPS} steps, {check.MAX_NODES:,} nodes, {check.MAX_DEPTH} levels",
        f"({REFERENCE_BYTES >> 20} MiB at the most)",
        f"up to {CHUNK_BYTES >> 20} MiB of them",
        f"beyond {grammar.MAX_WIDTH:,} characters",
        f"repeat more than {pattern.MAX_WEIGHT:,} things",
        f"{component.MAX_MODULE_BYTES >> 20} MiB at the most |",
        f"up to {component.APPLY_ROWS:,} rows or {component.APPLY_BYTES >> 20} MiB of them",
        f"over https, {network.MAX_REQUEST_BYTES >> 20} MiB each way",
        f"answers with more than {guest.MAX_ANSWER_BYTES >> 20} MiB",
    ]
    told = " ".join(PAGE.split())
    assert [limit for limit in limits if limit not in told] == []
    assert [verb for verb in FRAME_VERBS if f"`{verb}`" not in PAGE] == []


def test_the_keys_of_a_component_and_their_defaults_are_those_of_the_code() -> None:
    written = dict(re.findall(r"^\| `([a-z_]+)` \| .* \| (.+) \|$", PAGE, re.MULTILINE))
    shown = ComponentSpec(component="a.wasm").model_dump()
    expected = {
        "component": "required",
        "tables": "all",
        "rows": f"`{shown['rows']}`",
        "keeps": "none",
        "network": "none",
        "memory_mib": str(shown["memory_mib"]),
        "fuel": f"{shown['fuel']:,}",
        "timeout": f"`{shown['timeout']}`",
    }
    assert {key: written.get(key) for key in shown} == expected


def test_the_example_of_a_manifest_is_one() -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    asked = [parse_transform(one) for one in tomli.loads(text)["transforms"]]
    assert [one.file for one in asked] == [
        "pipelines/github-issues.transforms.json",
        "components/plain_text.wasm",
    ]
