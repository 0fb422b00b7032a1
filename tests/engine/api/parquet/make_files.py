#!/usr/bin/env python3
"""Makes the Parquet files of this directory, of kinds that weft does not write: run it with the interpreter of scripts/setup --parquet-ci."""
import datetime
import decimal
import pathlib
import struct

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent


def write(name, columns, **options):
    pq.write_table(pa.table(columns), HERE / name, **{"store_schema": False, "use_dictionary": False, "compression": "none", **options})


def exchange(name, one, other):
    """Two texts of bytes, wherever they are behind the pages."""
    path = HERE / name
    content = path.read_bytes()
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    path.write_bytes(content[:footer] + content[footer:].replace(one, b"????????").replace(other, one).replace(b"????????", other))


def main():
    write("times_of_96_bits.parquet", {
        "id": pa.array([1, 2, 3], pa.int64()),
        "at": pa.array([datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(1, 1, 1), None], pa.timestamp("us")),
    }, use_deprecated_int96_timestamps=True)
    # Decimals as bytes, with a row group for each row, and as whole numbers, with a missing one beside others.
    for name, as_number in (("bytes", False), ("numbers", True)):
        numbers = lambda texts, kind: pa.array([None if one is None else decimal.Decimal(one) for one in texts], kind)  # noqa: E731
        write(f"decimals_as_{name}.parquet", {
            "id": pa.array([1, 2, 3, 4, 5], pa.int64()), "price": numbers(["9.50", "10.00", "100.00", "-0.01", None], pa.decimal128(9, 2)),
            "long": numbers(["9" * 15 + ".125", "-" + "9" * 15 + ".125", "0", None, "0.001"], pa.decimal128(18, 3)),
            "wide": numbers(["9" * 38, "9" * 37 + "8", "-" + "9" * 38, "18446744073709551616", "0"], pa.decimal128(38, 0)),
            "wider": numbers(["9" * 66 + "." + "9" * 10, "-" + "9" * 66 + "." + "9" * 10, "1e-10", None, "18446744073709551615"], pa.decimal256(76, 10)),
        }, row_group_size=3 if as_number else 1, store_decimal_as_integer=as_number)
    # A row group for each row. In its schema Arrow notes which column has durations.
    few = {"ndv": 4, "fpp": 0.01}
    write("times_of_other_units.parquet", {
        "id": pa.array([1, 2, 3], pa.int64()), "duration": pa.array([-1, 5000, 7], pa.duration("ms")),
        "ns": pa.array([-1, 999, 1764331227123456789], pa.timestamp("ns")), "ms": pa.array([-1, 5, 1764331227123], pa.timestamp("ms")),
        "clock": pa.array([1, 5000, 86399999], pa.time32("ms")), "day": pa.array([-1, 0, 20420], pa.date32()),
    }, row_group_size=1, store_schema=True, bloom_filter_options={name: few for name in ("duration", "ns", "ms", "clock", "day")})
    # Of which 64 bits do not hold the microseconds.
    write("times_beyond_microseconds.parquet", {
        "id": pa.array([1, 2, 3, 4, 5], pa.int64()), "at": pa.array([2**62, -2**62, 0, None, 1], pa.timestamp("ms")),
        "lasted": pa.array([1, 1, 2**62, None, -1], pa.duration("s")),
    }, store_schema=True)
    # As if they were compared as numbers with a sign.
    numbers = [2**63 + 5, 0x1234567]
    write("statistics_of_another_order.parquet", {"id": pa.array([1, 2], pa.int64()), "h": pa.array(numbers, pa.uint64())})
    exchange("statistics_of_another_order.parquet", *(struct.pack("<Q", number) for number in numbers))


main()
