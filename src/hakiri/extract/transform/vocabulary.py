"""The names of Polars that a recording may use. Other names are never looked up."""

from __future__ import annotations

FUNCTIONS = frozenset(
    "col all exclude element field lit len when struct concat_str concat_list format coalesce sum_horizontal "
    "min_horizontal max_horizontal mean_horizontal any_horizontal all_horizontal".split()
)

DTYPES = frozenset(
    "Boolean Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 String Binary Date Time Datetime "
    "Duration Decimal List Struct".split()
)

NAMESPACES = {
    "": "abs add sub mul truediv floordiv mod pow neg eq ne lt le gt ge eq_missing ne_missing and_ or_ xor not_ "
    "is_between is_in is_null is_not_null is_nan is_not_nan is_finite is_infinite fill_null fill_nan cast clip round "
    "floor ceil sqrt exp log sign replace replace_strict alias then when otherwise interpolate cum_sum cum_count "
    "cum_min cum_max shift diff rank forward_fill backward_fill over sort sort_by reverse is_unique is_duplicated "
    "is_first_distinct sum mean median min max std var count len n_unique null_count first last product quantile any "
    "all unique implode filter head tail drop_nulls",
    "name": "prefix suffix",
    "str": "len_chars len_bytes to_lowercase to_uppercase to_titlecase strip_chars strip_chars_start strip_chars_end "
    "strip_prefix strip_suffix starts_with ends_with contains contains_any count_matches find extract extract_all "
    "extract_groups replace replace_all slice head tail reverse split splitn pad_start pad_end zfill to_integer "
    "to_date to_datetime to_time to_decimal json_path_match json_decode encode decode join",
    "dt": "year iso_year quarter month week weekday day ordinal_day hour minute second millisecond microsecond date "
    "time month_start month_end truncate round offset_by epoch timestamp to_string strftime convert_time_zone "
    "replace_time_zone cast_time_unit total_days total_hours total_minutes total_seconds total_milliseconds "
    "total_microseconds",
    "list": "len sum min max mean first last get slice head tail contains unique n_unique sort reverse drop_nulls any "
    "all join eval filter set_union set_intersection set_difference",
    "struct": "field rename_fields json_encode with_fields",
    "bin": "size encode contains",
}

METHODS = frozenset(
    f"{space}.{name}" if space else name for space, names in NAMESPACES.items() for name in names.split()
)
