"""A transform is authored in Python or TypeScript, and compiles to the same plan."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from extract.transform.operations import OPERATIONS, plan_of
from hakiri.extract.errors import CompilerMissing, SourceUncompilable
from hakiri.extract.transform.author import Target
from hakiri.extract.transform.compile import Compiled, compile_source
from hakiri.extract.transform.read import read_transform, write_transform
from hakiri.extract.transform.vocabulary import DTYPES, FUNCTIONS, METHODS, NAMESPACES

SEED_PYTHON = """
    import hakiri as hk
    import polars as pl

    @hk.pipeline("github-issues")
    def github_issues_transforms(df: pl.LazyFrame) -> pl.LazyFrame:
        return (
            df.rename({"user.login": "author"})
            .with_columns([
                pl.col("created_at").cast(pl.Datetime("ms", "UTC")),
                pl.col("body").str.len_chars().alias("body_len"),
                pl.col("labels").list.eval(pl.element().struct.field("name")).alias("label_names"),
            ])
            .filter(pl.col("state") == "open")
        )
"""
SEED_TYPESCRIPT = """
    import { pipeline, pl } from "hakiri";

    export default pipeline("github-issues", (df) =>
      df.rename({ "user.login": "author" })
        .withColumns([
          pl.col("created_at").cast(pl.Datetime("ms", "UTC")),
          pl.col("body").str.lenChars().alias("body_len"),
          pl.col("labels").list.eval(pl.element().struct.field("name")).alias("label_names"),
        ])
        .filter(pl.col("state").eq("open"))
    );
"""


def compiled(folder: Path, text: str, suffix: str = ".py") -> list[Compiled]:
    source = folder / f"source{suffix}"
    source.write_text(dedent(text))
    return compile_source(source, shown=f"transforms/source{suffix}")


def test_one_transform_in_two_languages_is_one_plan(tmp_path: Path) -> None:
    [python], [typescript] = compiled(tmp_path, SEED_PYTHON), compiled(tmp_path, SEED_TYPESCRIPT, ".ts")
    assert python.transform.plan == typescript.transform.plan
    assert python.transform.plan.scope == "batch"
    assert (python.target, python.transform.source_lang) == (Target("github-issues"), "python")
    assert typescript.transform.source_lang == "typescript"


def test_every_operation_compiles_to_the_same_bytes_in_both_languages(tmp_path: Path) -> None:
    lines = [
        f'export const op{number} = pipeline("op-{number}", (df) => {one.typescript});'
        for number, one in enumerate(OPERATIONS)
    ]
    found = compiled(tmp_path, "\n".join(['import { pipeline, pl, table } from "hakiri";', *lines]), ".ts")
    by_name = {one.target.pipeline: one.transform for one in found}
    for number, operation in enumerate(OPERATIONS):
        typescript = by_name[f"op-{number}"]
        python = typescript.model_copy(update={"plan": plan_of(operation.python)})
        assert write_transform(typescript) == write_transform(python), operation.typescript


def test_the_operations_are_all_there_are() -> None:
    text = "\n".join(one.python for one in OPERATIONS)
    assert [name for name in METHODS - {"then", "when", "otherwise"} if f".{name}(" not in text] == []
    assert [name for name in FUNCTIONS if f"pl.{name}(" not in text] == []


def test_what_typescript_declares_is_what_can_be_recorded() -> None:
    page = (Path(compile_source.__code__.co_filename).parent / "node" / "index.ts").read_text()
    declared = {
        space: _camel_names(page, interface)
        for space, interface in {
            "": "Expr",
            "name": "NameSpace",
            "str": "StringSpace",
            "dt": "TimeSpace",
            "list": "ListSpace",
            "struct": "StructSpace",
            "bin": "BinarySpace",
        }.items()
    }
    assert declared == {space: {_camel(name) for name in names.split()} for space, names in NAMESPACES.items()}
    assert _camel_names(page, "Polars") == {_camel(name) for name in FUNCTIONS} | DTYPES


def _camel_names(page: str, interface: str) -> set[str]:
    body = page.split(f"export interface {interface} {{")[1].split("\n}")[0]
    return set(re.findall(r"^  (?:readonly )?(\w+)(?:\(|: DataType)", body, re.MULTILINE))


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.title() for part in rest)


def test_compiling_again_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    [one] = compiled(tmp_path, SEED_PYTHON)
    script = (
        "import sys; from pathlib import Path; from hakiri.extract.transform.compile import compile_source;"
        "from hakiri.extract.transform.read import write_transform;"
        "sys.stdout.buffer.write(write_transform(compile_source(Path(sys.argv[1]), shown='x')[0].transform))"
    )
    again = subprocess.run([sys.executable, "-c", script, str(tmp_path / "source.py")], capture_output=True, check=True)
    assert again.stdout == write_transform(one.transform)


def test_a_plan_is_read_back_from_what_was_written(tmp_path: Path) -> None:
    [one] = compiled(tmp_path, SEED_PYTHON)
    assert read_transform(write_transform(one.transform), path=Path("a.json"), shown="a.json") == one.transform


def test_what_a_source_prints_is_in_nobodys_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(tmp_path, f"print('hello')\n{dedent(SEED_PYTHON)}")
    assert compiled(tmp_path, f"{dedent(SEED_TYPESCRIPT)}\nconsole.log('hello');", ".ts")
    assert capsys.readouterr().out == ""


def test_a_function_with_two_names_is_one_transform(tmp_path: Path) -> None:
    assert len(compiled(tmp_path, SEED_PYTHON + "\n    again = github_issues_transforms\n")) == 1


@pytest.mark.parametrize("mark", ['"p", table="../../evil"', '"../evil"', '"p", table=7'])
def test_a_name_that_would_lead_elsewhere_is_refused(tmp_path: Path, mark: str) -> None:
    with pytest.raises(SourceUncompilable):
        compiled(tmp_path, f"import hakiri as hk\n\n@hk.pipeline({mark})\ndef f(df):\n    return df\n")


def test_one_source_may_hold_transforms_for_several_tables(tmp_path: Path) -> None:
    text = """
        import hakiri as hk

        @hk.pipeline("shop", table="orders")
        def orders(df):
            return df.drop("note")

        @hk.pipeline("shop", table="customers")
        def customers(df):
            return df.join(hk.table("countries"), on="country", how="left")
    """
    found = compiled(tmp_path, text)
    assert [one.target for one in found] == [Target("shop", "orders"), Target("shop", "customers")]
    assert found[1].transform.plan.tables == ("countries",)


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("return df.collect()", 6, "a transform has no `collect`; it has cast, drop"),
        ("return df.with_columns(pl.col('a').map_elements(len))", 6, "Python function"),
        ("return df.with_columns(pl.int_range(10))", None, "`Range` is not allowed here"),
        ("return df.with_columns(pl.col('a').str.to_datetime())", None, "has to be a text"),
        ("return df.join(df, on='a')", 6, 'hk.table("name")'),
        ("return df.join(hk.table('t'), on='a', how='full')", 6, "'inner', 'left', 'semi' or 'anti'"),
        ("return df.select(pl.col('a').head(2))", None, "another number of rows"),
        ("return pl.LazyFrame()", None, "has to return the frame"),
        ("return df.filter(1 / 0)", 6, "ZeroDivisionError"),
        ("return df.with_columns(pl.lit(float('nan')))", None, "a finite number"),
        ("this is no python", 6, "SyntaxError"),
    ],
)
def test_a_mistake_is_told_with_the_authors_line(tmp_path: Path, body: str, line: int | None, said: str) -> None:
    text = f"import hakiri as hk\nimport polars as pl\n\n@hk.pipeline('p')\ndef f(df):\n    {body}\n"
    with pytest.raises(SourceUncompilable) as wrong:
        compiled(tmp_path, text)
    assert said in wrong.value.message()
    assert (wrong.value.place.file, wrong.value.place.line) == ("transforms/source.py", line)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('export default pipeline("p", (df) => df.collect());', "a transform has no `collect`"),
        ('export default pipeline("p", (df) => df.filter(pl.col("a").mapElements(1)));', "has no `map_elements`"),
        ('export default pipeline("p", (df) => df.filter(pl.scanCsv("x")));', "`pl` has no `scan_csv`"),
        ('export default pipeline("p", (df) => df.withColumns(() => 1));', "a function cannot be part of a plan"),
        ("export const nothing = 1;", "holds no transform"),
        ('import fs from "node:fs";', 'imports "hakiri" and nothing else'),
        ('await import("node:net");', 'imports "hakiri" and nothing else'),
        ('await fetch("http://127.0.0.1:9");', "fetch is not defined"),
        ('process.getBuiltinModule("fs");', "process is not defined"),
        ('new Function("return process")();', "Code generation from strings disallowed"),
        ("const a: = 1;", "xpected"),
    ],
)
def test_typescript_can_reach_nothing_and_says_what_is_wrong(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(SourceUncompilable) as wrong:
        compiled(tmp_path, f'import {{ pipeline, pl }} from "hakiri";\n{body}', ".ts")
    assert said in wrong.value.message()


def test_without_node_typescript_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hakiri.extract.transform.typescript.find_spec", lambda _: None)
    with pytest.raises(CompilerMissing, match="TypeScript"):
        compiled(tmp_path, SEED_TYPESCRIPT, ".ts")


def test_a_help_screen_loads_nothing_of_a_transform() -> None:
    script = "import sys, hakiri, hakiri.cli; assert not {'polars', 'hakiri.extract'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
