"""The allowed contents of a transform's expressions. Everything else in Polars is refused.

Left out on purpose: Python functions, plugins, random numbers, hashes that change with the version, categories, and
functions that produce any number of rows or characters (`int_range`, `repeat_by`, `date_range`).
"""

from __future__ import annotations

from hakiri.extract.transform.shape import Many, Maybe, Named, OneOf, Pair, Scalar, Shape, UpTo, Variant

MAX_FIELDS = 100
"""The most fields that a text may be split into."""
MAX_WIDTH = 10_000
"""The widest padding of text; the width has to be a literal in the plan."""

EXPRESSION = Named("expression")
FUNCTION = Named("function")
_UNITS = OneOf("Nanoseconds Microseconds Milliseconds")
_ZONE = Maybe({"inner": str})
_DTYPE = Named("dtype")
_DTYPE_EXPR = Variant({"Literal": _DTYPE})
_NULLS = {"ignore_nulls": bool}
_NULL = Maybe(OneOf(""))  # matches only null
_REVERSE = {"reverse": bool}
_PATTERN = {"literal": bool, "strict": bool}
_FRACTION = {"fractional": bool}
SORT: dict[str, Shape] = {
    "descending": bool,
    "nulls_last": bool,
    "multithreaded": bool,
    "maintain_order": bool,
    "limit": Maybe(int),
}
SORT_BY: Shape = {**SORT, "descending": Many(bool), "nulls_last": Many(bool)}


Words = dict[str, Shape | None]
"""Words with the shape of their content; None for a word without content."""


def _words(text: str) -> Words:
    return dict.fromkeys(text.split())


def _family(name: str, words: Words) -> Words:
    """Prefix functions with their family in Polars: `StringExpr.LenChars`."""
    return {f"{name}.{word}": inside for word, inside in words.items()}


GRAMMAR: dict[str, Shape] = {
    "dtype": Variant(
        {
            **_words("Boolean Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 Float32 Float64 String Binary"),
            **_words("Date Time Null"),
            "Datetime": Pair((_UNITS, _ZONE)),
            "Duration": _UNITS,
            "Decimal": Pair((int, int)),
            "List": _DTYPE,
            "Struct": Many({"name": str, "dtype": _DTYPE}),
        }
    ),
    "selector": Variant(
        {
            "Wildcard": None,
            "Empty": None,
            "ByName": {"names": Many(str), "strict": bool},
            "ByIndex": {"indices": Many(int), "strict": bool},
            "Matches": str,
            "ByDType": Named("dtype_selector"),
            **dict.fromkeys(("Union", "Difference", "ExclusiveOr", "Intersect"), Pair((Named("selector"),) * 2)),
        }
    ),
    "dtype_selector": Variant(
        {
            **_words("Numeric Integer UnsignedInteger SignedInteger Float Temporal Nested Struct Decimal"),
            "AnyOf": Many(_DTYPE),
        }
    ),
}

LITERALS = Variant(
    {
        "Dyn": Variant({"Int": int, "Float": float}),
        "Scalar": Variant(
            {
                "Null": OneOf("Null"),
                "Boolean": bool,
                **dict.fromkeys("Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Date Time".split(), int),
                "Float32": float,
                "Float64": float,
                "String": str,
                "Binary": Many(int),
                "Datetime": Pair((int, _UNITS, _ZONE)),
                "Duration": Pair((int, _UNITS)),
                "Decimal": Pair((int, int, int)),
                "List": {"dtype": _DTYPE, "values": Many(Scalar())},
            }
        ),
    }
)
"""Values in expressions. A list is `dtype` and `values` here; in Polars it is the bytes of an Arrow stream."""

OPERATORS = OneOf(
    "Plus Minus Multiply TrueDivide FloorDivide Modulus Divide Eq NotEq Lt LtEq Gt GtEq EqValidity NotEqValidity "
    "And Or Xor LogicalAnd LogicalOr"
)
CASTS = OneOf("Strict NonStrict")
NAMES = Variant({"Prefix": str, "Suffix": str, **_words("ToLowercase ToUppercase")})

ROW_FUNCTIONS: Words = {
    **_words("Abs Negate Floor Ceil Sign Exp Log FillNull AsStruct Coalesce Replace MinHorizontal MaxHorizontal"),
    "Pow": OneOf("Generic Sqrt Cbrt"),
    "Round": {"decimals": int, "mode": OneOf("HalfToEven HalfAwayFromZero ToZero")},
    "Clip": {"has_min": bool, "has_max": bool},
    "ReplaceStrict": {"return_dtype": Maybe(_DTYPE_EXPR)},
    "SumHorizontal": _NULLS,
    "MeanHorizontal": _NULLS,
    **_family(
        "Boolean",
        {
            **_words("Not IsNull IsNotNull IsNan IsNotNan IsFinite IsInfinite AnyHorizontal AllHorizontal"),
            "IsBetween": {"closed": OneOf("Both Left Right None")},
            "IsIn": {"nulls_equal": bool},
        },
    ),
    **_family(
        "StringExpr",
        {
            **_words("LenChars LenBytes Lowercase Uppercase Titlecase Reverse Slice Head Tail JsonPathMatch"),
            **_words("StripChars StripCharsStart StripCharsEnd StripPrefix StripSuffix StartsWith EndsWith ZFill"),
            **_words("ExtractAll HexEncode Base64Encode"),
            "Contains": _PATTERN,
            "Find": _PATTERN,
            "ContainsAny": {"ascii_case_insensitive": bool},
            "CountMatches": bool,
            "Extract": int,
            "ExtractGroups": {"dtype": _DTYPE, "pat": str},
            "Replace": {"n": int, "literal": bool},
            "Split": bool,
            "SplitN": UpTo(MAX_FIELDS),
            "PadStart": {"fill_char": str},
            "PadEnd": {"fill_char": str},
            "HexDecode": bool,
            "Base64Decode": bool,
            "ToInteger": {"dtype": Maybe(_DTYPE), "strict": bool},
            "ToDecimal": {"scale": int},
            "Strptime": Pair((_DTYPE_EXPR, {"format": str, "strict": bool, "exact": bool, "cache": bool})),
            "JsonDecode": _DTYPE_EXPR,
            "ConcatHorizontal": {"delimiter": str, **_NULLS},
            "Format": {"format": str, "insertions": Many(int)},
        },
    ),
    **_family(
        "TemporalExpr",
        {
            **_words("Year IsoYear Quarter Month Week WeekDay Day OrdinalDay Hour Minute Second Millisecond"),
            **_words("Microsecond Nanosecond Date Time MonthStart MonthEnd Truncate Round OffsetBy"),
            **dict.fromkeys("TotalDays TotalHours TotalMinutes TotalSeconds".split(), _FRACTION),
            **dict.fromkeys("TotalMilliseconds TotalMicroseconds TotalNanoseconds".split(), _FRACTION),
            "TimeStamp": _UNITS,
            "CastTimeUnit": _UNITS,
            "ToString": str,
            "ConvertTimeZone": {"inner": str},
            "ReplaceTimeZone": Pair((_ZONE, OneOf("Raise Null"))),
        },
    ),
    **_family(
        "ListExpr",
        {
            **_words("Length Sum Min Max Mean Median Slice DropNulls Concat"),
            "Get": bool,
            "Contains": {"nulls_equal": bool},
            "Sort": SORT,
            "Join": bool,
            "SetOperation": OneOf("Union Intersection Difference SymmetricDifference"),
        },
    ),
    **_family("StructExpr", {"FieldByName": str, "RenameFields": Many(str), "JsonEncode": None}),
    **_family("BinaryExpr", _words("Size Contains StartsWith EndsWith HexEncode Base64Encode")),
}
"""Functions of one row."""

CHUNK_FUNCTIONS: Words = {
    **_words("Shift Reverse"),
    "CumSum": _REVERSE,
    "CumCount": _REVERSE,
    "CumMin": _REVERSE,
    "CumMax": _REVERSE,
    "Interpolate": OneOf("Linear Nearest"),
    "Diff": OneOf("Ignore"),
    "Rank": {
        "options": {"method": OneOf("Average Min Max Dense Ordinal"), "descending": bool},
        "seed": _NULL,
    },
    "FillNullWithStrategy": Variant({"Forward": Maybe(int), "Backward": Maybe(int)}),
    **_family("Boolean", _words("IsUnique IsDuplicated IsFirstDistinct IsLastDistinct")),
}
"""Functions that return as many rows as they get, but need all of them."""

ONE_FUNCTIONS: Words = {
    **_words("NullCount Product"),
    "Quantile": {"method": OneOf("Nearest Lower Higher Midpoint Linear Equiprobable")},
    **_family("Boolean", {"Any": _NULLS, "All": _NULLS}),
    **_family("StringExpr", {"ConcatVertical": {"delimiter": str, **_NULLS}}),
}
"""Functions that aggregate all rows to one."""

RESIZING_FUNCTIONS: Words = {"Unique": bool, "DropNulls": None, "DropNans": None}
"""Functions that change the number of rows; allowed only inside `agg`, `over` and `list.eval`."""

AGGREGATES: dict[str, Shape] = {
    **dict.fromkeys("Sum Mean Median NUnique First Last".split(), EXPRESSION),
    "Min": {"input": EXPRESSION, "propagate_nans": bool},
    "Max": {"input": EXPRESSION, "propagate_nans": bool},
    "Count": {"input": EXPRESSION, "include_nulls": bool},
    "Implode": {"input": EXPRESSION, "maintain_order": bool},
    "Std": Pair((EXPRESSION, int)),
    "Var": Pair((EXPRESSION, int)),
}
"""Aggregations that are separate nodes in Polars, not functions."""

NODES: Words = {
    "Column": str,
    "Element": None,
    "Field": Many(str),
    "Len": None,
    "Selector": Named("selector"),
    "Literal": LITERALS,
    "Alias": Pair((EXPRESSION, str)),
    "KeepName": EXPRESSION,
    "RenameAlias": {"function": NAMES, "expr": EXPRESSION},
    "BinaryExpr": {"left": EXPRESSION, "op": OPERATORS, "right": EXPRESSION},
    "Cast": {"expr": EXPRESSION, "dtype": _DTYPE_EXPR, "options": CASTS},
    "Ternary": {"predicate": EXPRESSION, "truthy": EXPRESSION, "falsy": EXPRESSION},
    "Function": {"input": Many(EXPRESSION), "function": FUNCTION},
    "Agg": Variant({**AGGREGATES}),
    "Over": {
        "function": EXPRESSION,
        "partition_by": Many(EXPRESSION),
        "order_by": Maybe(Pair((EXPRESSION, SORT))),
        "mapping": OneOf("GroupsToRows"),
    },
    "Sort": {"expr": EXPRESSION, "options": SORT},
    "SortBy": {"expr": EXPRESSION, "by": Many(EXPRESSION), "sort_options": SORT_BY},
    "Filter": {"input": EXPRESSION, "by": EXPRESSION},
    "Slice": {"input": EXPRESSION, "offset": EXPRESSION, "length": EXPRESSION},
    "Eval": {"expr": EXPRESSION, "evaluation": EXPRESSION, "variant": OneOf("List ListAgg")},
    "StructEval": {"expr": EXPRESSION, "evaluation": Many(EXPRESSION), "variant": OneOf("WithFields")},
}
"""Every kind of node, with the shape of its content."""


def _nested(functions: Words) -> Words:
    """Nest the functions in their families, as Polars writes them."""
    found: Words = {}
    families: dict[str, Words] = {}
    for name, inside in functions.items():
        family, _, word = name.rpartition(".")
        (families.setdefault(family, {}) if family else found)[word] = inside
    return found | {family: Variant(words) for family, words in families.items()}


GRAMMAR["function"] = Variant(_nested(ROW_FUNCTIONS | CHUNK_FUNCTIONS | ONE_FUNCTIONS | RESIZING_FUNCTIONS))
GRAMMAR["expression"] = Variant(NODES)

SET_FUNCTIONS = frozenset({"Boolean.IsIn", "Replace", "ReplaceStrict", "StringExpr.ContainsAny"})
"""Functions that look up values in their later arguments; if those are columns, in all their rows."""

WIDE_FUNCTIONS = frozenset({"StringExpr.PadStart", "StringExpr.PadEnd", "StringExpr.ZFill"})

PATTERN_FUNCTIONS = frozenset(
    f"StringExpr.{word}"
    for word in "Contains Find CountMatches Extract ExtractAll ExtractGroups Replace JsonPathMatch".split()
)
"""Functions that take a pattern or a path, unless `literal` is set."""
