#!/usr/bin/env python3
"""Parquet files that pyarrow, DuckDB, Polars and Spark write, in every encoding and codec that they have, through parquet_probe; and what it
writes, read by all four. Files that are wrong in ways that only others can make them.

usage: parquet_test.py PARQUET_PROBE [PYTHON]

PYTHON is one that has these modules; default: that of scripts/setup --parquet-ci. Exit code 77: there is none. Spark is left out, with a line,
where scripts/setup --peers was not run."""
import decimal
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
ROWS = 3000


def rerun_with_modules():
    """In the interpreter that has the modules."""
    python = sys.argv[2] if len(sys.argv) > 2 else f"{HOME}/weft/arrow/bin/python"
    wanted = "import pyarrow, duckdb, polars"
    if not os.path.exists(python) or subprocess.run([python, "-c", wanted], capture_output=True).returncode != 0:
        print("skipped: pyarrow, DuckDB and Polars are not there (scripts/setup --parquet-ci)")
        sys.exit(77)
    os.execve(python, [python, __file__, *sys.argv[1:2]], {**os.environ, "WEFT_PARQUET_TEST": "inside"})


if "WEFT_PARQUET_TEST" not in os.environ:
    rerun_with_modules()

import duckdb  # noqa: E402
import polars  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.dataset  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import parquet_of_spark  # noqa: E402
import wrong_parquet  # noqa: E402

PROBE = sys.argv[1]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def made_rows(count):
    at = random.Random(5)
    rows = []
    for i in range(count):
        rows.append({
            "i8": at.randint(-128, 127), "i16": at.randint(-2**15, 2**15 - 1), "i32": at.randint(-2**31, 2**31 - 1), "i64": i * 1000 - 500,
            "u8": at.randint(0, 255), "u32": at.randint(0, 2**32 - 1), "u64": at.randint(0, 2**64 - 1),
            "f32": at.randint(-1000, 1000) / 8, "f64": at.random() * 10 ** at.randint(-30, 30), "flag": at.random() < 0.5,
            "text": "".join(at.choice("abc äß\u4e16\n\"\\,") for _ in range(at.randint(0, 20))),
            "maybe": None if at.random() < 0.3 else str(i), "category": at.choice(["red", "green", "blue"]),
            "day": datetime.date(1970, 1, 1) + datetime.timedelta(days=at.randint(-30000, 60000)),
            "moment": EPOCH + datetime.timedelta(microseconds=at.randint(-10**15, 4 * 10**15)),
            "money": decimal.Decimal(at.randint(-10**9, 10**9)) / 100,
            "numbers": None if at.random() < 0.2 else [None if at.random() < 0.2 else at.randint(-9, 9) for _ in range(at.randint(0, 4))],
            "items": [{"name": f"n{k}", "count": None if k == 1 else k} for k in range(at.randint(0, 3))],
            "item": {"name": str(i), "count": i},
            "unread": "x" * at.randint(0, 10),
        })
    return rows


ITEM = pa.struct([("name", pa.string()), ("count", pa.int32())])
SCHEMA = pa.schema([
    ("i8", pa.int8()), ("i16", pa.int16()), ("i32", pa.int32()), ("i64", pa.int64()), ("u8", pa.uint8()), ("u32", pa.uint32()), ("u64", pa.uint64()),
    ("f32", pa.float32()), ("f64", pa.float64()), ("flag", pa.bool_()), ("text", pa.string()), ("maybe", pa.string()),
    ("category", pa.dictionary(pa.int8(), pa.string())), ("day", pa.date32()), ("moment", pa.timestamp("us", tz="UTC")),
    ("money", pa.decimal128(12, 2)), ("numbers", pa.list_(pa.int16())), ("items", pa.list_(ITEM)), ("item", ITEM), ("unread", pa.string())])


def as_probe_says(row):
    """The row as JSON of parquet_probe."""
    expected = {key: value for key, value in row.items() if key != "unread"}
    expected["day"] = (row["day"] - datetime.date(1970, 1, 1)).days
    moment = row["moment"] if row["moment"].tzinfo else row["moment"].replace(tzinfo=datetime.timezone.utc)
    expected["moment"] = (moment - EPOCH) // datetime.timedelta(microseconds=1)
    expected["money"] = float(row["money"])
    return expected


def run_probe(source, output, *arguments):
    done = subprocess.run([PROBE, "--input", source, "--output", output, "--quiet", "--overwrite", *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{source} {arguments}: {done.stderr}")
    if "bad record" in done.stderr:
        sys.exit(f"{source}: {done.stderr}")


def probed(source, output, *arguments):
    run_probe(source, output, *arguments)
    return [json.loads(line) for part in sorted(pathlib.Path(output).glob("part-*")) for line in part.read_text().splitlines()]


def without_missing(value):
    """weft writes no members without a value."""
    if isinstance(value, dict):
        return {key: without_missing(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_missing(one) for one in value]
    return value


def check(name, source, expected, output, *arguments):
    found = [without_missing(row) for row in probed(source, output, *arguments)]
    wanted = [without_missing(row) for row in expected]
    if found != wanted:
        for one, other in zip(found, wanted):
            if one != other:
                differing = {key: (one.get(key), other.get(key)) for key in {*one, *other} if one.get(key) != other.get(key)}
                sys.exit(f"{name}: weft reads {differing} (read, expected)")
        sys.exit(f"{name}: weft reads {len(found)} rows of {len(wanted)}")
    print(f"passed: {name}")


def arrow_files(table):
    """Files of pyarrow: name and options."""
    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        yield f"pyarrow {codec}", table, {"compression": codec}
    yield "pyarrow without dictionaries", table, {"use_dictionary": False}
    yield "pyarrow pages of version 2", table, {"data_page_version": "2.0", "data_page_size": 1000}
    yield "pyarrow format 1.0", table.set_column(5, "u32", table["u32"].cast(pa.int64())), {"version": "1.0"}
    yield "pyarrow without statistics, with checksums", table, {"write_statistics": False, "write_page_checksum": True}
    yield "pyarrow small row groups", table, {"row_group_size": 100}
    encodings = {"i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "maybe": "DELTA_LENGTH_BYTE_ARRAY",
                 "f64": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT", "flag": "RLE"}
    yield "pyarrow delta and split encodings", table, {"use_dictionary": False, "column_encoding": encodings}
    yield "pyarrow times in ns", with_moment(table, pa.timestamp("ns", tz="UTC")), {"version": "2.6"}
    wide = table.set_column(10, "text", table["text"].cast(pa.large_string()))
    wide = wide.set_column(16, "numbers", table["numbers"].cast(pa.large_list(pa.int16())))
    yield "pyarrow large texts and lists", wide, {}
    money = table.schema.get_field_index("money")
    yield "pyarrow decimals of 256 bits", table.set_column(money, "money", table["money"].cast(pa.decimal256(50, 2))), {}
    yield "pyarrow decimals as whole numbers", table, {"store_decimal_as_integer": True}
    yield "pyarrow times of Impala", table, {"use_deprecated_int96_timestamps": True}


def with_moment(table, kind):
    return table.set_column(table.schema.get_field_index("moment"), "moment", table["moment"].cast(kind))


def check_places(name, source, kind, expected, output):
    by_id = lambda rows: sorted((without_missing(row) for row in rows), key=lambda row: row["id"])  # noqa: E731
    for least, wanted in ((None, expected), (2026, [row for row in expected if row["year"] >= 2026 and row["city"] not in (None, "Bern")])):
        found = by_id(probed(source, output, "--kind", kind, *(["--least", str(least)] if least else [])))
        if found != by_id(wanted):
            sys.exit(f"{name}: weft reads {found[:3]}... of {len(found)} rows, not {by_id(wanted)[:3]}... of {len(wanted)}")
    print(f"passed: {name}")


def check_directories(scratch, output):
    """Partitions that DuckDB and pyarrow write, as fields of rows, whole and pruned."""
    cities = ["Bern", "a=b", "50% off", "K\u00f6ln/S\u00fcd", "x:y z", None]
    rows = [{"id": i, "year": 2024 + i % 3, "city": cities[i % 7 % 6], "day": datetime.date(2026, 2, 27) + datetime.timedelta(days=i % 4)} for i in range(400)]
    expected = [{**row, "day": row["day"].isoformat()} for row in rows]
    table = pa.Table.from_pylist(rows, schema=pa.schema([("id", pa.int64()), ("year", pa.int32()), ("city", pa.string()), ("day", pa.date32())]))
    duck = duckdb.connect()
    duck.register("places", table)
    for kind, options in (("csv", "FORMAT csv, HEADER"), ("json", "FORMAT json"), ("parquet", "FORMAT parquet")):
        source = f"{scratch}/duck-{kind}"
        duck.execute(f"COPY places TO '{source}' ({options}, PARTITION_BY (year, city, day))")
        check_places(f"directories of DuckDB, {kind}", source, kind, expected, output)
    hive = pyarrow.dataset.partitioning(pa.schema([("year", pa.int32()), ("city", pa.string()), ("day", pa.date32())]), flavor="hive")
    for kind in ("csv", "parquet"):
        source = f"{scratch}/arrow-{kind}"
        pyarrow.dataset.write_dataset(table, source, format=kind, partitioning=hive)
        check_places(f"directories of pyarrow, {kind}", source, kind, expected, output)


def check_spark(scratch, rows, output, copy, expected):
    """Spark has no numbers of 64 bits without a sign: it reads them as decimals."""
    if not parquet_of_spark.is_there():
        print("skipped: Spark is not there (scripts/setup --peers)")
        return
    small = [{**row, "u64": row["u64"] >> 2} for row in rows]
    pq.write_table(pa.Table.from_pylist(small, schema=SCHEMA.set(12, pa.field("category", pa.string()))), f"{scratch}/for-spark.parquet")
    wanted = [as_probe_says(row) for row in small]
    for name, folder in parquet_of_spark.write_all(f"{scratch}/for-spark.parquet", f"{scratch}/spark"):
        check(f"Spark {name}", folder, wanted, output)
    source, places = parquet_of_spark.write_places(f"{scratch}/spark-places")
    check_places("directories of Spark", source, "parquet", places, output)
    found = parquet_of_spark.read(copy, f"{scratch}/spark-read")
    found.sort(key=lambda row: row["i64"])
    if [{**row, "u64": int(row["u64"])} for row in found] != expected:
        sys.exit(f"Spark reads what weft wrote as {next((a, b) for a, b in zip(found, expected) if a != b)}")
    print("passed: Spark reads what weft wrote")


def main():
    rows = made_rows(ROWS)
    expected = [as_probe_says(row) for row in rows]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    with tempfile.TemporaryDirectory() as scratch:
        output, source = f"{scratch}/out", f"{scratch}/file.parquet"
        for name, one, options in arrow_files(table):
            pq.write_table(one, source, **options)
            check(name, source, expected, output)
        check("a condition", source, [row for row in expected if row["i64"] >= 1_000_000], output, "--least", "1000000")
        texts = [{"i64": row["i64"], "day": row["day"].isoformat(), "moment": row["moment"].strftime("%Y-%m-%dT%H:%M:%S") +
                  (f".{row['moment'].microsecond:06}".rstrip("0") if row["moment"].microsecond else "") + "Z", "money": f"{row['money']:.2f}"} for row in rows]
        pq.write_table(table, source)
        check("days, times and decimals as texts", source, texts, output, "--kind", "texts")

        plain = pa.Table.from_pylist(rows, schema=SCHEMA.set(12, pa.field("category", pa.string())))
        duck = duckdb.connect()
        duck.execute("SET TimeZone = 'UTC'")
        duck.register("made", plain)
        for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"):
            # Not PARQUET_VERSION v2: Arrow, and so pyarrow, refuses the delta encoding in which DuckDB 2.0 then writes numbers of 32 bits.
            duck.execute(f"COPY made TO '{source}' (FORMAT parquet, CODEC '{codec}', ROW_GROUP_SIZE 2048)")
            check(f"DuckDB {codec}", source, expected, output)
        check("a condition on DuckDB's", source, [row for row in expected if row["i64"] >= 1_000_000], output, "--least", "1000000")
        for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"):
            polars.from_arrow(plain).write_parquet(source, compression=codec, row_group_size=700)
            check(f"Polars {codec}", source, expected, output)

        check_directories(scratch, output)
        wrong_parquet.check_all(scratch, PROBE)
        copy = f"{scratch}/copy"
        run_probe(source, copy, "--kind", "copy")
        check("weft's own", copy, expected, output)
        files = f"{copy}/part-*.parquet"
        got = {"pyarrow": pq.read_table(copy).to_pylist(), "Polars": polars.read_parquet(files).to_dicts(),
               "DuckDB": duck.sql(f"SELECT * FROM read_parquet('{files}')").to_arrow_table().to_pylist()}
        for who, found in got.items():
            found.sort(key=lambda row: row["i64"])
            if found != expected:
                sys.exit(f"{who} reads what weft wrote as {next((a, b) for a, b in zip(found, expected) if a != b)}")
            print(f"passed: {who} reads what weft wrote")
        check_spark(scratch, rows, output, copy, expected)
    print("all passed")


main()
