#!/usr/bin/env python3
"""Conditions on columns of Parquet files of every type that pyarrow writes, with statistics, with Bloom filters and with neither: which rows
conditions_probe keeps, compared with a loop over the values in Python, whose comparisons of whole numbers, reals and decimals are exact.

usage: conditions_test.py CONDITIONS_PROBE [PYTHON] [SEED]

PYTHON is one that has pyarrow; default: that of scripts/setup --parquet-ci. Exit code 77: there is none."""
import datetime
import decimal
import math
import operator
import os
import random
import subprocess
import sys
import tempfile

HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
PYTHON = sys.argv[2] if len(sys.argv) > 2 else f"{HOME}/weft/arrow/bin/python"
if "WEFT_PARQUET_TEST" not in os.environ:
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, "-c", "import pyarrow"], capture_output=True).returncode != 0:
        print("skipped: pyarrow is not there (scripts/setup --parquet-ci)")
        sys.exit(77)
    os.execve(PYTHON, [PYTHON, __file__, *sys.argv[1:]], {**os.environ, "WEFT_PARQUET_TEST": "inside"})

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

decimal.getcontext().prec = 200
SIGNS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
UNITS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": None}
DAY = 86_400_000_000
ROWS = 24
INTEGERS = [-2**63, -2**63 + 1, -2**53 - 1, -2**31, -129, -128, -1, 0, 1, 5, 7, 10, 127, 128, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
            2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1]
REALS = [-math.inf, -1e300, -2.0**63, -128.5, -1.0, -0.5, -0.0, 0.0, 1e-300, 0.1, 0.5, 5.0, 7.5, 2.0**24 + 1, 2.0**53, 2.0**63, 2.0**64, 1e38, 1e300, math.inf, math.nan]


class Column:
    """Values as pyarrow takes them, and as weft compares them; constants as (kind, text, value)."""

    def __init__(self, kind, values, compared, constants, as_real=None):
        self.kind, self.values, self.compared, self.constants = kind, values, compared, constants
        self.as_real = as_real  # what is compared with a real constant, where that is another value

    def expected(self, sign, kind, value):
        if self.compared is None:
            return None
        seen = self.as_real if kind == "real" and self.as_real else self.compared
        return [i for i, one in enumerate(self.values) if one is not None and SIGNS[sign](seen(one), value)]


def whole(value):
    return ("signed" if -2**63 <= value < 2**63 else "unsigned", str(value), value)


def numbers(at, near):
    """Constants of all three kinds, at edges and around those that are there."""
    wholes = {*at.sample(INTEGERS, 8), *(one + step for one in at.sample(near, min(6, len(near))) for step in (-1, 0, 1))}
    wholes = [one for one in wholes if -2**63 <= one < 2**64]
    reals = at.sample(REALS, 6) + [float(one) + step for one in at.sample(near, min(3, len(near))) for step in (0.0, 0.5)]
    unsigned = [("unsigned", str(one), one) for one in wholes if 0 <= one < 2**63]
    return [whole(one) for one in wholes] + at.sample(unsigned, min(3, len(unsigned))) + [("real", repr(one), one) for one in reals]


def integers(at, kind, low, high):
    values = [one for one in {low, low + 1, high - 1, high, *INTEGERS} if low <= one <= high]
    values = sorted(at.sample(values, min(ROWS - 3, len(values)))) + [None]
    return Column(kind, values, lambda one: one, numbers(at, [one for one in values if one is not None]))


def reals(at, kind, digits):
    values = [one for one in REALS if digits == 53 or math.isnan(one) or abs(one) in (math.inf, 0.0, 0.5, 5.0, 7.5, 1.0)] + [None]
    return Column(kind, values, lambda one: one, numbers(at, [0, 5, 7]))


def decimals(at, precision, scale, big):
    unit = decimal.Decimal(1).scaleb(-scale)
    most = decimal.Decimal(10**precision - 1).scaleb(-scale)
    values = [most, -most, most - unit, decimal.Decimal(0), unit, -unit] + [decimal.Decimal(at.randint(-10**min(precision, 6), 10**min(precision, 6))).scaleb(-scale) for _ in range(8)]
    if precision - scale >= 4:
        values += [decimal.Decimal(text) for text in ("9.5", "10", "100", "-10")] if scale > 0 else [decimal.Decimal(10), decimal.Decimal(9)]
    values.append(None)
    texts = {"10", "9.5", "-0", "+9.50", "1e2", "-1E-2", ".5", "5.", "1e-80", "-1e-80", "1e80", "-1e80", "0.000"}
    for one in at.sample([one for one in values if one is not None], 6):
        texts |= {f"{one:f}", str(one), f"{one + unit / 2:f}", f"{one - unit / 10:f}", f"{one:f}" + ("000" if "." in f"{one:f}" else ".000")}
    constants = [("text", text, decimal.Decimal(text)) for text in sorted(texts)] + numbers(at, [0, 9, 10, 100])
    kind = (pa.decimal256 if big else pa.decimal128)(precision, scale)
    return Column(kind, [one if one is None else one.quantize(unit) for one in values], lambda one: one, constants, float)


def time_texts(at, moments):
    """(text, microseconds) of these, in forms that weft reads; some with a zone."""
    for moment in moments:
        ahead = at.choice([None, 0, 60, -330])
        shown = moment + (ahead or 0) * 60_000_000
        if not -62_135_596_800_000_000 <= shown < 253_402_300_800_000_000:
            continue
        written = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=shown)
        text = written.isoformat(sep=at.choice("T "), timespec="microseconds")
        text += at.choice(["", "0", "123"])
        yield text + ("" if ahead is None else "Z" if ahead == 0 else f"{'+' if ahead > 0 else '-'}{abs(ahead) // 60:02}:{abs(ahead) % 60:02}"), moment
    yield "2026-11-28", 20785 * DAY
    yield "2026-11-28 12:00", 20785 * DAY + DAY // 2
    yield "0001-01-01", -719162 * DAY
    yield "9999-12-31T23:59:59.999999999", 2932897 * DAY - 1


def texts_of_times(at, moments, days=False):
    return [("text", text, moment) for text, moment in time_texts(at, moments)]


def micros(value, unit):
    return value // 1000 if unit == "ns" else value * UNITS[unit]


def stored_times(at, unit, low, high):
    """Numbers of the unit, between these numbers of seconds."""
    per_second = 10**9 if unit == "ns" else 1_000_000 // UNITS[unit]
    values = {low * per_second, high * per_second, -1, 0, 1, 999, 1000, -1000, -1001, 20785 * 86400 * per_second, 5 * per_second + per_second // 3}
    values |= {at.randint(low * per_second, high * per_second) for _ in range(8)}
    return sorted(one for one in values if low * per_second <= one <= high * per_second) + [None]


def timed(at, kind, unit, values, texts):
    there = [micros(one, unit) for one in values if one is not None]
    constants = numbers(at, there)
    if texts:
        constants += texts_of_times(at, [one + step for one in at.sample(there, 6) for step in (-1, 0, 1)])
    return Column(kind, values, lambda one: micros(one, unit), constants)


def dates(at, kind):
    values = sorted({-719162, 2932896, -1, 0, 1, 20784, 20785, 20786, *(at.randint(-700_000, 2_900_000) for _ in range(8))}) + [None]
    near = [one for one in values if one is not None]
    constants = [("text", text, decimal.Decimal(moment) / DAY) for text, moment in time_texts(at, [one * DAY + step for one in at.sample(near, 6) for step in (-1, 0, 1, DAY // 2)])]
    return Column(kind, values, lambda one: one, constants + numbers(at, near))


def texts(at, kind, as_bytes):
    values = ["", "a", "ab", "b", "ä", "z" * 80, "zz", "10", "9", "9.5", "2026-11-28", "\U0001f600", "A"] + [None]
    constants = [("text", text, text.encode()) for text in ("", "a", "aa", "ab", "ä", "z" * 79, "z" * 80, "9", "10", "\U0001f600", "~")]
    shown = [one.encode() if as_bytes and one is not None else one for one in values]
    return Column(kind, shown, lambda one: one if isinstance(one, bytes) else one.encode(), constants)


def made_columns(at, int96):
    columns = {}
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = integers(at, getattr(pa, f"int{bits}")(), -2**(bits - 1), 2**(bits - 1) - 1)
        columns[f"u{bits}"] = integers(at, getattr(pa, f"uint{bits}")(), 0, 2**bits - 1)
    columns["half"] = reals(at, pa.float16(), 11)
    columns["f32"] = reals(at, pa.float32(), 24)
    columns["f64"] = reals(at, pa.float64(), 53)
    for precision, scale, big in ((9, 2, False), (15, 15, False), (18, 3, False), (38, 0, False), (38, 10, False), (76, 10, True), (76, 76, True), (20, 0, True)):
        columns[f"d{precision}_{scale}"] = decimals(at, precision, scale, big)
    columns["date"] = dates(at, pa.date32())
    far, near = (-62_135_596_800, 253_402_300_799), (-9_223_372_036, 9_223_372_036)
    for unit in ("s", "ms", "us", "ns"):
        low, high = near if unit == "ns" else far
        kind = pa.timestamp(unit, at.choice([None, "UTC"]))
        columns[f"at_{unit}"] = timed(at, kind, unit, stored_times(at, unit, low, high), True)
        columns[f"for_{unit}"] = timed(at, pa.duration(unit), unit, stored_times(at, unit, -9_000_000, 9_000_000), False)
        clock = (pa.time32 if unit in ("s", "ms") else pa.time64)(unit)
        columns[f"clock_{unit}"] = timed(at, clock, unit, stored_times(at, unit, 0, 86399), False)
    columns["text"] = texts(at, pa.string(), False)
    columns["large"] = texts(at, pa.large_string(), False)
    columns["bytes"] = texts(at, pa.binary(), True)
    columns["words"] = texts(at, pa.dictionary(pa.int8(), pa.string()), False)
    return columns


def array_of(column, order):
    values = [column.values[i] if i < len(column.values) else None for i in order]
    if pa.types.is_temporal(column.kind):
        if pa.types.is_date32(column.kind) or pa.types.is_time32(column.kind):
            return pa.array(values, pa.int32()).cast(column.kind)
        return pa.array(values, pa.int64()).cast(column.kind)
    if pa.types.is_float16(column.kind):
        return pa.array(values, pa.float64()).cast(pa.float16())
    return pa.array(values, column.kind)


def as_stored(column):
    """float has fewer digits than the constants that its values were made of."""
    if pa.types.is_floating(column.kind):
        column.values = array_of(column, range(len(column.values))).cast(pa.float64()).to_pylist()


def probe(program, source, lines):
    done = subprocess.run([program, source], input="".join("\t".join(line) + "\n" for line in lines), capture_output=True, text=True, timeout=250)
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != len(lines):
        sys.exit(f"{source}: conditions_probe ends with {done.returncode} after {len(answers)} answers to {len(lines)}: {done.stderr}")
    return answers


def check(program, name, source, columns, order):
    lines, wanted = [], []
    for key, column in columns.items():
        for kind, text, value in column.constants:
            for sign in SIGNS:
                lines.append((key, sign, kind, text))
                wanted.append(set(column.expected(sign, kind, value)))
    skipped = 0
    for line, expected, answer in zip(lines, wanted, probe(program, source, lines)):
        if answer.startswith("refused"):
            sys.exit(f"{name}: {line}: {answer}")
        parts = [int(one) for one in answer.split()]
        skipped += parts[0]
        if set(parts[1:]) != expected or len(parts) - 1 != len(expected):
            values = {i: columns[line[0]].values[i] for i in {*parts[1:]} ^ expected}
            sys.exit(f"{name}: {' '.join(line)}: weft differs in the rows {values}; {parts[0]} row groups were skipped")
    print(f"passed: {name}: {len(lines)} conditions, {skipped} row groups skipped")
    return skipped


def check_refused(program, source):
    wrong = {"date": ["yesterday", "2026-11-8", "28.11.2026", ""], "at_us": ["yesterday", "2026-11-28T25:00", "1764331227"],
             "d9_2": ["ten", "9,5", "", "nan"], "i32": ["5"], "u64": ["5"], "f64": ["5"], "clock_us": ["12:00"]}
    lines = [(key, "<", "text", text) for key, texts_of in wrong.items() for text in texts_of] + [("text", "<", "signed", "5"), ("words", "==", "real", "5")]
    for line, answer in zip(lines, probe(program, source, lines)):
        if not answer.startswith("refused ") or f"'{line[0]}'" not in answer or source not in answer:
            sys.exit(f"{line} is not refused: {answer}")
    print(f"passed: {len(lines)} that cannot be compared are refused")


def main():
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"seed {seed}")
    at = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        source = f"{scratch}/file.parquet"
        for name, options in (("statistics", {}), ("Bloom filters", {"bloom": True, "write_statistics": False}),
                              ("both, pages of version 2, decimals as numbers", {"bloom": True, "data_page_version": "2.0", "store_decimal_as_integer": True}),
                              ("neither", {"write_statistics": False}), ("times of 96 bits", {"use_deprecated_int96_timestamps": True})):
            columns = made_columns(at, "96" in name)
            if "96" in name:  # and no others: they have no place for what is beyond 64 bits of nanoseconds
                columns = {key: column for key, column in columns.items() if key in ("at_s", "at_ms", "at_us")}
            for column in columns.values():
                as_stored(column)
            # In order row groups are narrow, so that most conditions exclude some; shuffled they are wide.
            for sort in (True, False):
                order = list(range(max(len(column.values) for column in columns.values())))
                if not sort:
                    at.shuffle(order)
                table = pa.table({"id": pa.array(order, pa.int64()), **{key: array_of(column, order) for key, column in columns.items()}})
                bloom = {key: {"ndv": 8, "fpp": 0.001} for key in columns} if options.get("bloom") else None
                pq.write_table(table, source, row_group_size=3, use_dictionary=at.choice([True, False]), bloom_filter_options=bloom,
                               **{key: value for key, value in options.items() if key != "bloom"})
                skipped = check(PROBE, f"{name}, {'in order' if sort else 'shuffled'}", source, columns, order)
                if skipped == 0 and "96" not in name and name != "neither":
                    sys.exit(f"{name}: no row group was skipped")
            if name == "statistics":
                check_refused(PROBE, source)
    print("all passed")


PROBE = sys.argv[1]
main()
