/**
 * Python functions that compare a value of pyarrow with the same value in Eider's JSON, in which numbers were read as strings
 * (`parse_int=str, parse_float=str`).
 */
export const SAME_AS_JSON = `
import base64, json, struct, uuid
import pyarrow as pa
from pyarrow import types as T

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
WIDTH = {"s": 0, "ms": 3, "us": 6, "ns": 9}

def fraction(rest, unit):
    return "" if rest == 0 else "." + str(rest).zfill(WIDTH[unit])

def clock(seconds):
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

# Python has no dates before year 1 and after 9999.
def day(days):
    days += 719468
    era, day_of_era = divmod(days, 146097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    rest = day_of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * rest + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year += era * 400 + (month <= 2)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{rest - (153 * shifted + 2) // 5 + 1:02}"

def moment(s):
    t = s.type
    last = 2**31 - 1 if T.is_date32(t) else 2**63 - 1
    if not T.is_time64(t) and abs(s.value) == last:
        return "infinity" if s.value > 0 else "-infinity"
    if T.is_date32(t):
        return day(s.value)
    seconds, rest = divmod(s.value, PER_SECOND[t.unit])
    if T.is_time64(t):
        return clock(seconds) + fraction(rest, t.unit)
    days, seconds = divmod(seconds, 86400)
    return day(days) + "T" + clock(seconds) + fraction(rest, t.unit) + ("Z" if t.tz == "UTC" else "")

def duration(months, days, nanoseconds):
    def parts(*numbers):
        return "".join(f"{n}{unit}" for n, unit in numbers if n)
    def split(n, by):
        return (-1 if n < 0 else 1) * (abs(n) // by), (-1 if n < 0 else 1) * (abs(n) % by)
    years, months = split(months, 12)
    hours, rest = split(nanoseconds // 1000, 3600 * 10**6)
    minutes, micros = split(rest, 60 * 10**6)
    seconds = "" if micros == 0 else ("-" if micros < 0 else "") + str(abs(micros) // 10**6) + fraction(abs(micros) % 10**6, "us")
    time = parts((hours, "H"), (minutes, "M"), (seconds, "S"))
    text = parts((years, "Y"), (months, "M"), (days, "D")) + ("T" + time if time else "")
    return "P" + (text or "T0S")

def same(s, j):
    if isinstance(s, pa.UnionScalar):
        return j is None if s.value is None else same(s.value, j)
    if not s.is_valid or j is None:
        return j is None and (not s.is_valid or (T.is_floating(s.type)))
    t = s.type
    if isinstance(s, pa.ExtensionScalar):
        if t.extension_name == "arrow.uuid":
            return str(s.as_py()) == j
        assert t.extension_name == "arrow.json", t
        return json.loads(s.value.as_py(), parse_int=str, parse_float=str) == j
    if T.is_dictionary(t):
        return s.as_py() == j
    if T.is_boolean(t):
        return s.as_py() is j
    if T.is_integer(t):
        return str(s.as_py()) == j
    if T.is_float32(t):
        return struct.pack("f", s.as_py()) == struct.pack("f", float(j))
    if T.is_float64(t):
        return s.as_py() == float(j)
    if T.is_decimal(t):
        return format(s.as_py(), "f") == j
    if T.is_interval(t):
        return duration(*s.as_py()) == j
    if T.is_temporal(t):
        return moment(s) == j
    if T.is_string(t):
        return s.as_py() == j
    if T.is_binary(t):
        return s.as_py() == base64.b64decode(j)
    if T.is_struct(t):
        return list(j) == [f.name for f in t] and all(same(s[k], j[k]) for k in j)
    if T.is_map(t):
        entries = s.values
        return [e["key"].as_py() for e in entries] == list(j) and all(same(e["value"], j[e["key"].as_py()]) for e in entries)
    if T.is_list(t) or T.is_fixed_size_list(t):
        return len(s.values) == len(j) and all(same(a, b) for a, b in zip(s.values, j))
    raise Exception(f"no comparison for {t}")

def compare(rows, table):
    table.validate(full=True)
    assert table.num_rows == len(rows), (table.num_rows, len(rows))
    for name in table.schema.names:
        for index, scalar in enumerate(table.column(name)):
            if not same(scalar, rows[index][name]):
                raise Exception(f"row {index} of {name}: {scalar!r} is not {rows[index][name]!r}")
    return table.num_rows
`;

/** Bytes with their length, as `READ_PART` reads them. */
export function sized(bytes: Uint8Array): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  return Buffer.concat([size, bytes]);
}

/** A Python function that reads bytes with their length from the standard input. */
export const READ_PART = `
import sys
def part():
    return sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "little"))
`;
