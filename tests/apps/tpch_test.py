#!/usr/bin/env python3
"""The programs of apps/tpch on tables of a small scale, by threads and on two workers, against DuckDB.

usage: tpch_test.py SOURCES BIN [--scale FACTOR]

Exit code 77: DuckDB and the generator of the tables are not there (scripts/setup --parquet-ci)."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
BIN = pathlib.Path(f"{HOME}/weft/arrow/bin")
if os.environ.get("WEFT_TPCH_TEST") != "inside":
    if not (BIN / "tpchgen-cli").exists() or subprocess.run([BIN / "python", "-c", "import duckdb"], capture_output=True).returncode != 0:
        print("skipped: DuckDB and tpchgen-cli are not there (scripts/setup --parquet-ci)")
        sys.exit(77)
    os.execve(BIN / "python", [str(BIN / "python"), __file__, *sys.argv[1:]], {**os.environ, "WEFT_TPCH_TEST": "inside"})

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "benchmarks" / "parquet"))
import duckdb  # noqa: E402
import peers  # noqa: E402
import results  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources")
    parser.add_argument("bin")
    parser.add_argument("--scale", default="0.05")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = f"{scratch}/tables"
        subprocess.run([BIN / "tpchgen-cli", "parquet", "-s", options.scale, "--output-dir", data], check=True, stdout=subprocess.DEVNULL)
        for query in peers.TPCH:
            expected = duckdb.connect().execute(peers.sql_of(query, lambda name: f"'{data}/{name}.parquet'")).fetchall()
            if not expected or (query in ("q1", "q9") and len(expected) < 3):
                sys.exit(f"{query}: DuckDB has {len(expected)} rows, which says nothing")
            for how in ([], ["--workers", "2"], ["--threads", "2", "--memory", "48MiB"]):
                output = f"{scratch}/{query}{len(how)}{'x'.join(how).strip('-')}"
                done = subprocess.run([f"{options.bin}/tpch_{query}", "--data", data, "--output", output, "--quiet", *how], capture_output=True,
                                      text=True, timeout=300)
                if done.returncode != 0:
                    sys.exit(f"{query} {how}: {done.stderr}")
                wrong = results.differs(results.rows_of(query, output), expected)
                if wrong:
                    sys.exit(f"{query} {how}: {wrong} as DuckDB has")
            print(f"passed: {query}, {len(expected)} rows")
    print("all passed")


main()
