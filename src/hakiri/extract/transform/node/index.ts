// What a transform's author writes in TypeScript: Polars' names in camelCase, recorded and never run here.

export type Value = string | number | bigint | boolean | Date | null;
export type IntoExpr = Expr | Value;
export type TimeUnit = "ns" | "us" | "ms";
export interface DataType { readonly dtype: string }
export interface Table { readonly table: string }

export interface NameSpace {
  prefix(prefix: string): Expr;
  suffix(suffix: string): Expr;
}

export interface StringSpace {
  lenChars(): Expr;
  lenBytes(): Expr;
  toLowercase(): Expr;
  toUppercase(): Expr;
  toTitlecase(): Expr;
  stripChars(characters?: string): Expr;
  stripCharsStart(characters?: string): Expr;
  stripCharsEnd(characters?: string): Expr;
  stripPrefix(prefix: string): Expr;
  stripSuffix(suffix: string): Expr;
  startsWith(prefix: string): Expr;
  endsWith(suffix: string): Expr;
  contains(pattern: string, options?: { literal?: boolean; strict?: boolean }): Expr;
  containsAny(patterns: string[], options?: { asciiCaseInsensitive?: boolean }): Expr;
  countMatches(pattern: string, options?: { literal?: boolean }): Expr;
  find(pattern: string, options?: { literal?: boolean; strict?: boolean }): Expr;
  extract(pattern: string, groupIndex?: number): Expr;
  extractAll(pattern: string): Expr;
  extractGroups(pattern: string): Expr;
  replace(pattern: string, value: string, options?: { literal?: boolean; n?: number }): Expr;
  replaceAll(pattern: string, value: string, options?: { literal?: boolean }): Expr;
  slice(offset: number, length?: number): Expr;
  head(n: number): Expr;
  tail(n: number): Expr;
  reverse(): Expr;
  split(by: string, options?: { inclusive?: boolean }): Expr;
  splitn(by: string, n: number): Expr;
  padStart(length: number, fillChar?: string): Expr;
  padEnd(length: number, fillChar?: string): Expr;
  zfill(length: number): Expr;
  toInteger(options?: { base?: number; strict?: boolean }): Expr;
  toDate(format: string, options?: { strict?: boolean; exact?: boolean }): Expr;
  toDatetime(format: string, options?: { timeUnit?: TimeUnit; timeZone?: string; strict?: boolean }): Expr;
  toTime(format: string, options?: { strict?: boolean }): Expr;
  toDecimal(options: { scale: number }): Expr;
  jsonPathMatch(path: string): Expr;
  jsonDecode(dtype: DataType): Expr;
  encode(encoding: "hex" | "base64"): Expr;
  decode(encoding: "hex" | "base64", options?: { strict?: boolean }): Expr;
  join(delimiter?: string): Expr;
}

export interface TimeSpace {
  year(): Expr;
  isoYear(): Expr;
  quarter(): Expr;
  month(): Expr;
  week(): Expr;
  weekday(): Expr;
  day(): Expr;
  ordinalDay(): Expr;
  hour(): Expr;
  minute(): Expr;
  second(): Expr;
  millisecond(): Expr;
  microsecond(): Expr;
  date(): Expr;
  time(): Expr;
  monthStart(): Expr;
  monthEnd(): Expr;
  truncate(every: string): Expr;
  round(every: string): Expr;
  offsetBy(by: string): Expr;
  epoch(unit: TimeUnit | "s" | "d"): Expr;
  timestamp(unit: TimeUnit): Expr;
  toString(format: string): Expr;
  strftime(format: string): Expr;
  convertTimeZone(zone: string): Expr;
  replaceTimeZone(zone: string | null): Expr;
  castTimeUnit(unit: TimeUnit): Expr;
  totalDays(): Expr;
  totalHours(): Expr;
  totalMinutes(): Expr;
  totalSeconds(): Expr;
  totalMilliseconds(): Expr;
  totalMicroseconds(): Expr;
}

export interface ListSpace {
  len(): Expr;
  sum(): Expr;
  min(): Expr;
  max(): Expr;
  mean(): Expr;
  first(): Expr;
  last(): Expr;
  get(index: number, options?: { nullOnOob?: boolean }): Expr;
  slice(offset: number, length?: number): Expr;
  head(n: number): Expr;
  tail(n: number): Expr;
  contains(item: IntoExpr): Expr;
  unique(options?: { maintainOrder?: boolean }): Expr;
  nUnique(): Expr;
  sort(options?: { descending?: boolean; nullsLast?: boolean }): Expr;
  reverse(): Expr;
  dropNulls(): Expr;
  any(): Expr;
  all(): Expr;
  join(separator: string): Expr;
  eval(expr: Expr): Expr;
  filter(predicate: Expr): Expr;
  setUnion(other: Expr): Expr;
  setIntersection(other: Expr): Expr;
  setDifference(other: Expr): Expr;
}

export interface StructSpace {
  field(name: string): Expr;
  renameFields(names: string[]): Expr;
  jsonEncode(): Expr;
  withFields(...exprs: Expr[]): Expr;
}

export interface BinarySpace {
  size(): Expr;
  encode(encoding: "hex" | "base64"): Expr;
  contains(part: Expr): Expr;
}

export interface Expr {
  readonly name: NameSpace;
  readonly str: StringSpace;
  readonly dt: TimeSpace;
  readonly list: ListSpace;
  readonly struct: StructSpace;
  readonly bin: BinarySpace;
  abs(): Expr;
  add(other: IntoExpr): Expr;
  sub(other: IntoExpr): Expr;
  mul(other: IntoExpr): Expr;
  truediv(other: IntoExpr): Expr;
  floordiv(other: IntoExpr): Expr;
  mod(other: IntoExpr): Expr;
  pow(exponent: IntoExpr): Expr;
  neg(): Expr;
  eq(other: IntoExpr): Expr;
  ne(other: IntoExpr): Expr;
  lt(other: IntoExpr): Expr;
  le(other: IntoExpr): Expr;
  gt(other: IntoExpr): Expr;
  ge(other: IntoExpr): Expr;
  eqMissing(other: IntoExpr): Expr;
  neMissing(other: IntoExpr): Expr;
  and(...others: Expr[]): Expr;
  or(...others: Expr[]): Expr;
  xor(other: Expr): Expr;
  not(): Expr;
  isBetween(low: IntoExpr, high: IntoExpr, options?: { closed?: "both" | "left" | "right" | "none" }): Expr;
  isIn(values: Value[] | Expr): Expr;
  isNull(): Expr;
  isNotNull(): Expr;
  isNan(): Expr;
  isNotNan(): Expr;
  isFinite(): Expr;
  isInfinite(): Expr;
  fillNull(value: IntoExpr): Expr;
  fillNan(value: IntoExpr): Expr;
  cast(dtype: DataType, options?: { strict?: boolean }): Expr;
  clip(low?: IntoExpr, high?: IntoExpr): Expr;
  round(decimals?: number): Expr;
  floor(): Expr;
  ceil(): Expr;
  sqrt(): Expr;
  exp(): Expr;
  log(base?: number): Expr;
  sign(): Expr;
  replace(mapping: Record<string, Value>): Expr;
  replaceStrict(mapping: Record<string, Value>, options?: { default?: IntoExpr }): Expr;
  alias(name: string): Expr;
  then(value: IntoExpr): Expr;
  when(predicate: Expr): Expr;
  otherwise(value: IntoExpr): Expr;
  interpolate(): Expr;
  cumSum(options?: { reverse?: boolean }): Expr;
  cumCount(options?: { reverse?: boolean }): Expr;
  cumMin(options?: { reverse?: boolean }): Expr;
  cumMax(options?: { reverse?: boolean }): Expr;
  shift(n?: number): Expr;
  diff(n?: number): Expr;
  rank(method?: "average" | "min" | "max" | "dense" | "ordinal", options?: { descending?: boolean }): Expr;
  forwardFill(limit?: number): Expr;
  backwardFill(limit?: number): Expr;
  over(partitionBy: string | Expr | (string | Expr)[], options?: { orderBy?: string | Expr }): Expr;
  sort(options?: { descending?: boolean; nullsLast?: boolean }): Expr;
  sortBy(by: string | Expr, options?: { descending?: boolean; nullsLast?: boolean }): Expr;
  reverse(): Expr;
  isUnique(): Expr;
  isDuplicated(): Expr;
  isFirstDistinct(): Expr;
  sum(): Expr;
  mean(): Expr;
  median(): Expr;
  min(): Expr;
  max(): Expr;
  std(ddof?: number): Expr;
  var(ddof?: number): Expr;
  count(): Expr;
  len(): Expr;
  nUnique(): Expr;
  nullCount(): Expr;
  first(): Expr;
  last(): Expr;
  product(): Expr;
  quantile(quantile: number): Expr;
  any(): Expr;
  all(): Expr;
  unique(options?: { maintainOrder?: boolean }): Expr;
  implode(): Expr;
  filter(predicate: Expr): Expr;
  head(n?: number): Expr;
  tail(n?: number): Expr;
  dropNulls(): Expr;
}

type Exprs = (string | Expr | (string | Expr)[])[];
type Columns = string | string[];

export interface Frame {
  select(...exprs: Exprs): Frame;
  withColumns(...exprs: Exprs): Frame;
  filter(...predicates: (Expr | Expr[])[]): Frame;
  rename(mapping: Record<string, string>): Frame;
  cast(dtypes: Record<string, DataType>, options?: { strict?: boolean }): Frame;
  drop(...columns: Columns[]): Frame;
  dropNulls(subset?: Columns): Frame;
  fillNull(value: IntoExpr): Frame;
  explode(columns: Columns, options?: { emptyAsNull?: boolean; keepNulls?: boolean }): Frame;
  unnest(columns: Columns): Frame;
  join(other: Table, options: {
    on?: Columns; leftOn?: Columns; rightOn?: Columns; how?: "inner" | "left" | "semi" | "anti"; suffix?: string;
  }): Frame;
  sort(by: string | Expr | (string | Expr)[], options?: {
    descending?: boolean | boolean[]; nullsLast?: boolean | boolean[];
  }): Frame;
  unique(subset?: Columns | null, options?: { keep?: "first" | "last" | "none" | "any" }): Frame;
  groupBy(...by: Exprs): { agg(...exprs: Exprs): Frame };
  head(n?: number): Frame;
  limit(n?: number): Frame;
  tail(n?: number): Frame;
  slice(offset: number, length?: number): Frame;
  reverse(): Frame;
  withRowIndex(name?: string, offset?: number): Frame;
  unpivot(on: Columns, options?: { index?: Columns; variableName?: string; valueName?: string }): Frame;
}

export interface Polars {
  col(...names: string[]): Expr;
  all(): Expr;
  exclude(...names: string[]): Expr;
  element(): Expr;
  field(name: string): Expr;
  lit(value: Value): Expr;
  len(): Expr;
  when(predicate: Expr): Expr;
  struct(...exprs: (string | Expr)[]): Expr;
  concatStr(exprs: (string | Expr)[], options?: { separator?: string; ignoreNulls?: boolean }): Expr;
  concatList(...exprs: (string | Expr)[]): Expr;
  format(template: string, ...args: (string | Expr)[]): Expr;
  coalesce(...exprs: (string | Expr)[]): Expr;
  sumHorizontal(...exprs: (string | Expr)[]): Expr;
  minHorizontal(...exprs: (string | Expr)[]): Expr;
  maxHorizontal(...exprs: (string | Expr)[]): Expr;
  meanHorizontal(...exprs: (string | Expr)[]): Expr;
  anyHorizontal(...exprs: (string | Expr)[]): Expr;
  allHorizontal(...exprs: (string | Expr)[]): Expr;
  readonly Boolean: DataType;
  readonly Int8: DataType;
  readonly Int16: DataType;
  readonly Int32: DataType;
  readonly Int64: DataType;
  readonly UInt8: DataType;
  readonly UInt16: DataType;
  readonly UInt32: DataType;
  readonly UInt64: DataType;
  readonly Float32: DataType;
  readonly Float64: DataType;
  readonly String: DataType;
  readonly Binary: DataType;
  readonly Date: DataType;
  readonly Time: DataType;
  Datetime(unit?: TimeUnit, zone?: string | null): DataType;
  Duration(unit?: TimeUnit): DataType;
  Decimal(precision: number, scale: number): DataType;
  List(inner: DataType): DataType;
  Struct(fields: Record<string, DataType>): DataType;
}

const RECORD = Symbol("record");
const SPACES = new Set(["name", "str", "dt", "list", "struct", "bin"]);
const PYTHON = new Map([["and", "and_"], ["or", "or_"], ["not", "not_"]]);

type Recorded = { $: string; [key: string]: unknown };

/** These take an object as what they are about, and options behind it. */
const MAPPINGS = new Set(["rename", "cast", "replace", "replace_strict"]);

export interface Transform { readonly pipeline: string; readonly table: string | null; readonly frame: unknown }

/** The transform of a pipeline, or of one table of it: `export default` it. */
export function pipeline(name: string, build: (df: Frame) => Frame, options: { table?: string } = {}): Transform {
  return { pipeline: name, table: options.table ?? null, frame: plain(build(recorder<Frame>({ $: "frame" }))) };
}

/** A landed table of the project, to join with. */
export function table(name: string): Table {
  return { table: name };
}

export const pl: Polars = recorder<Polars>({ $: "pl" });

/** Whatever is asked of it becomes part of the recording; which of it is allowed is decided where it is read. */
function recorder<T>(record: Recorded, space = ""): T {
  const target = Object.assign(() => undefined, { [RECORD]: record });
  return new Proxy(target, {
    get(_, key) {
      if (key === RECORD) return record;
      if (typeof key === "symbol") return undefined;
      if (record.$ === "expr" && !space && SPACES.has(key)) return recorder(record, `${key}.`);
      if (record.$ === "pl" && /^[A-Z]/.test(key)) return recorder({ $: "dtype", call: key, args: [], options: {} });
      return (...args: unknown[]) => called(record, space + (PYTHON.get(key) ?? snake(key)), args);
    },
    apply(_, __, args) {
      return recorder({ ...record, args: args.map(plain) });
    },
  }) as T;
}

function called(record: Recorded, call: string, args: unknown[]): unknown {
  const isAbout = MAPPINGS.has(call) && args.length === 1;
  const options = isPlain(args.at(-1)) && !isAbout ? (args.pop() as object) : {};
  const named = Object.fromEntries(Object.entries(options).map(([key, value]) => [snake(key), plain(value)]));
  const on = record.$ === "pl" ? {} : { on: record };
  return recorder({ $: record.$ === "pl" ? "expr" : record.$, ...on, call, args: args.map(plain), options: named });
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype && !isTable(value);
}

function isTable(value: object): boolean {
  return Object.keys(value).join() === "table";
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function plain(value: unknown): unknown {
  if (typeof value === "function") {
    const record = (value as { [RECORD]?: Recorded })[RECORD];
    if (!record) throw new TypeError("a function cannot be part of a plan: it would have to run wherever the plan does");
    return record;
  }
  if (typeof value === "bigint") return { $: "int", value: String(value) };
  if (value instanceof Date) return { $: "date", value: value.toISOString() };
  if (Array.isArray(value)) return { $: "list", items: value.map(plain) };
  if (value === undefined) return null;
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} cannot be part of a plan`);
  if (typeof value !== "object" || value === null) return value;
  if (isTable(value)) return { $: "table", name: (value as Table).table };
  return { $: "map", items: Object.entries(value).map(([key, inner]) => [key, plain(inner)]) };
}
