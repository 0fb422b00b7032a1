#!/usr/bin/env python3
"""Makes the Parquet files of this directory, of kinds that weft does not write: run it with the interpreter of scripts/setup --parquet-ci."""
import datetime
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent


def write(name, columns, **options):
    pq.write_table(pa.table(columns), HERE / name, store_schema=False, use_dictionary=False, compression="none", **options)


def main():
    write("times_of_96_bits.parquet", {
        "id": pa.array([1, 2, 3], pa.int64()),
        "at": pa.array([datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(1, 1, 1), None], pa.timestamp("us")),
    }, use_deprecated_int96_timestamps=True)


main()
