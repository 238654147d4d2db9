"""What a view says is the same with Spark and without, for everything that is answered without."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.query.session import QuerySession
from hakiri.model.view import View

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.UTC
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "City": ["Rome", "b\\_%", None, ""],
        "x": pa.array([1.5, -2.5, None, 0.5], pa.float64()),
        "amount": pa.array([Decimal("1.25"), Decimal("-0.01"), None, Decimal("12345.67")], pa.decimal128(9, 2)),
        "day": pa.array([dt.date(2026, 1, 4), dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]),
        "seen": pa.array(
            [
                dt.datetime(2026, 1, 1, 3, 4, 5, 6),
                dt.datetime(1999, 12, 31, 23, 59, 59),
                None,
                dt.datetime(2026, 5, 31),
            ],
            pa.timestamp("us"),
        ),
        "moment": pa.array([dt.datetime(2026, 1, 1, 3, 4, 5, tzinfo=UTC), None, None, None], pa.timestamp("us", "UTC")),
        "flag": pa.array([True, False, None, True]),
        "nest": pa.array([{"Depth": 1}, {"Depth": None}, None, {"Depth": 4}]),
    }
)
EACH = """\
coalesce(city, 'z') | nvl(City, 'z') | ifnull(CITY, 'z') | nullif(id, 1) | if(id > 1, 'a', 'b')
CASE WHEN x > 1 THEN 'big' WHEN x IS NULL THEN 'none' END | CASE id WHEN 1 THEN 'one' ELSE 'more' END
greatest(id, 2, 3) | least(x, 0) | abs(x) | ceil(x) | floor(x) | round(x) | round(x, 1) | round(amount, 1) | sqrt(id)
power(id, 2) | exp(id) | ln(id) | id + 1 | id - x | id * amount | id / 2 | amount / 4 | id % 3 | mod(id, 3) | -x
upper(city) | lower(city) | trim(city) | length(city) | concat(city, '-', id) | city || 'x' | concat_ws('-', city, 'x')
left(city, 2) | right(city, 2) | substring(city, 2, 2) | substr(city, 2) | replace(city, 'o', '0') | reverse(city)
repeat(city, 2) | startswith(city, 'R') | endswith(city, 'e') | contains(city, 'om')
instr(city, 'm') | locate('m', city)
city LIKE 'R%' | city LIKE 'b\\\\_%' | city ILIKE 'r%' | city NOT LIKE '%o%' | md5(city) | 'it\\'s' | "double" | 'a\\nb'
city IN ('Rome', '') | id BETWEEN 2 AND 3 | city IS NULL | x IS NOT NULL | NOT flag | flag AND x > 1 | flag OR x > 1
city <=> NULL | id <=> 2 | city IS DISTINCT FROM 'Rome' | city = 'Rome' | id <> 2 | x >= 0.5 | id != 1
CAST(id AS STRING) | id::string | CAST(amount AS STRING) | CAST(day AS STRING) | CAST(x AS INT) | int(x) | double(id)
CAST(id AS DECIMAL) | CAST(x AS DECIMAL(10, 2)) | CAST('1.5' AS DOUBLE) | CAST('7' AS BIGINT) | CAST(id AS SMALLINT)
CAST(flag AS STRING) | CAST('true' AS BOOLEAN) | CAST('2026-01-05' AS DATE) | CAST(seen AS DATE) | CAST(moment AS DATE)
CAST('2026-01-05 06:07:08' AS TIMESTAMP) | CAST('2026-01-05 06:07:08' AS TIMESTAMP_NTZ) | CAST(day AS TIMESTAMP_NTZ)
to_date('2026-01-02') | date(seen) | year(day) | month(seen) | day(day) | hour(seen) | minute(seen) | quarter(day)
dayofweek(day) | dayofmonth(day) | weekofyear(day) | extract(YEAR FROM day) | extract(MONTH FROM seen) | last_day(day)
date_trunc('MONTH', seen) | date_trunc('week', seen) | date_trunc('DAY', moment) | date_trunc('hour', seen)
date_add(day, 3) | date_sub(day, 3) | datediff(date(day), DATE'2026-01-01')
datediff(to_date(seen), date(day)) | datediff(DAY, date(day), date(seen)) | datediff(current_date(), current_date())
day + INTERVAL 1 DAY | seen + INTERVAL '1' HOUR | seen - INTERVAL 2 MONTHS | moment + INTERVAL 90 MINUTES | nest.Depth
day < current_date() + INTERVAL 1000 DAYS | moment < current_timestamp() + INTERVAL 1000 DAYS
1.5 | 10L | 1e3 | TRUE
row_number() OVER (ORDER BY city DESC, id) | rank() OVER (PARTITION BY flag ORDER BY x) | lag(id) OVER (ORDER BY x)
dense_rank() OVER (ORDER BY flag) | lead(id, 2, 0) OVER (ORDER BY id) | sum(id) OVER (PARTITION BY flag)
sum(id) OVER (ORDER BY city, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) | max(x) OVER (ORDER BY id)"""
ALL = """\
count(*) | count(1) | count(city) | count(DISTINCT flag) | count_if(x > 0) | sum(id) | sum(amount) | sum(x) | avg(id)
avg(amount) | min(city) | max(day) | min(amount) | stddev(x) | median(x) | bool_or(flag) | bool_and(flag)
sum(DISTINCT id) | sum(id) FILTER (WHERE flag) | count_if(id > 99) | max(seen) | avg(x) | sum(id) / 4
sum(CASE WHEN flag THEN 1 ELSE 0 END)"""


def listed(text: str) -> list[str]:
    return [one.strip() for line in text.splitlines() for one in line.split(" | ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("views") / "t"
    write_deltalake(path, ROWS)
    return str(path)


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, folder: str) -> dict[str, list[Any]]:
    """Every answer of Spark's, by what was asked."""
    found: dict[str, list[Any]] = {}
    session = isolated_session(spark)
    for asked, order in ((listed(EACH), " ORDER BY id"), (listed(ALL), "")):
        columns = ", ".join(f"{expression} AS c{number}" for number, expression in enumerate(asked))
        rows = session.sql(f"SELECT {columns} FROM delta.`{folder}`{order}").toArrow()
        found |= {expression: rows.column(number).to_pylist() for number, expression in enumerate(asked)}
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


@pytest.mark.parametrize("expression", [*listed(EACH), *listed(ALL)])
def test_both_engines_give_the_same(expression: str, folder: str, by_spark: dict[str, list[Any]]) -> None:
    row = "1" if expression in listed(ALL) else "id"
    here = answer(f"SELECT {expression} AS v, {row} AS row FROM t", folder, order="row")
    there = by_spark[expression]
    assert len(here) == len(there)
    assert all(map(same, here, there)), (here, there)


def answer(text: str, folder: str, *, order: str = "1") -> list[Any]:
    desk = QuerySession({"t": folder})
    desk.lay_out_view(View("v", text, ("t",)))
    found: list[Any] = desk.execute(f"SELECT * FROM v ORDER BY {order}").read_all().column(0).to_pylist()
    return found


@pytest.mark.parametrize(
    "expression",
    [
        *("date_format(seen, 'yyyy')", "collect_set(city)", "regexp_replace(city, 'o', '0')", "split(city, ',')"),
        *(
            "try_cast(city AS INT)",
            "substring(city, -2)",
            "substring(city, id)",
            "id DIV 2",
            "first(city)",
            "hash(city)",
        ),
        *(
            "explode(array(1, 2))",
            "trunc(day, 'MM')",
            "CAST(city AS BINARY)",
            "to_date(city, 'yyyy')",
            "city RLIKE 'o'",
        ),
        *(
            "datediff(MONTH, day, seen)",
            "count(DISTINCT id, city)",
            "trim(LEADING 'R' FROM city)",
            *("date_trunc('x', seen)", "datediff(seen, day)", "datediff(DAY, day, seen)"),
        ),
        *("approx_count_distinct(city)", "* EXCEPT (id)", "named_struct('a', 1)", "extract(SECOND FROM seen)"),
    ],
)
def test_what_might_mean_something_else_is_refused(expression: str, folder: str) -> None:
    with pytest.raises(ValueError, match=r"answered by Spark alone|not a function that a query here may call"):
        answer(f"SELECT {expression} FROM t".replace("* EXCEPT (id) AS v", "* EXCEPT (id)"), folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a.CITY FROM T AS A WHERE A.Id = 1", ["Rome"]),
        ("WITH Top AS (SELECT max(ID) AS Most FROM t) SELECT top.most FROM TOP", [4]),
        (
            "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.id = t.id + 1) ORDER BY id DESC LIMIT 2",
            [2, 3],
        ),
        ("SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE flag) UNION ALL SELECT 9", [1, 4, 9]),
        ("SELECT count(*) AS n FROM t GROUP BY flag HAVING count(*) > 1", [2]),
        ("SELECT x FROM t ORDER BY x LIMIT 1", [None]),
        (
            "SELECT b.id FROM t AS a LEFT JOIN t AS b ON b.id = a.id AND b.id > 3 ORDER BY b.id DESC",
            [4, None, None, None],
        ),
        ("SELECT DISTINCT flag FROM t WHERE flag IS NOT NULL", [False, True]),
        ("SELECT id FROM t INTERSECT SELECT 2", [2]),
        ("SELECT id FROM t WHERE id < 3 EXCEPT SELECT 2", [1]),
        ("SELECT coalesce(a.id, b.id) AS id FROM t AS a FULL JOIN t AS b ON a.id = b.id + 2 WHERE a.id > 3", [4]),
        ("SELECT count(*) AS n FROM t AS a CROSS JOIN t AS b", [16]),
        ("SELECT b.id FROM t AS a RIGHT JOIN t AS b ON a.id = b.id WHERE b.id = 1", [1]),
        ("SELECT s.n FROM (SELECT count(*) AS n FROM t) AS s", [4]),
    ],
)
def test_clauses_are_carried_over(text: str, expected: list[Any], folder: str) -> None:
    assert answer(text, folder) == expected


def test_the_spelling_of_names_is_the_tables_or_the_views(folder: str) -> None:
    desk = QuerySession({"t": folder})
    desk.lay_out_view(View("v", "SELECT city, count(*) AS Total FROM t GROUP BY CITY ORDER BY total", ("t",)))
    desk.lay_out_view(View("w", "SELECT TOTAL, cItY FROM V", ("v",)))
    assert desk.execute("SELECT * FROM w").schema.names == ["Total", "City"]


def test_a_view_is_judged_without_its_rows(folder: str) -> None:
    desk = QuerySession({"t": folder})
    desk.lay_out_view(View("v", "SELECT CAST(city AS INT) AS n FROM t", ("t",)))
    with pytest.raises(pa.ArrowException):
        desk.execute("SELECT * FROM v").read_all()


def test_a_folder_that_is_no_table_is_told(tmp_path: Path) -> None:
    from hakiri.land.errors import TableNotLanded

    with pytest.raises(TableNotLanded):
        QuerySession({"t": str(tmp_path)}).lay_out_view(View("v", "SELECT 1 AS x FROM t", ("t",)))
