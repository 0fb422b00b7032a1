"""Parquet files by Spark, in processes of the interpreter that scripts/setup --peers installs. Run with arguments, it is that process."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
PYTHON = os.environ.get("WEFT_PEERS") or f"{HOME}/weft/peers/bin/python"

CODECS = ["none", "snappy", "gzip", "zstd", "lz4_raw"]
# What differs from codec to codec: settings of Spark, and options of the file.
KINDS = {
    "pages of version 2": ({}, {"parquet.writer.version": "v2"}),
    "without dictionaries": ({}, {"parquet.enable.dictionary": "false"}),
    "of the older form, times of 96 bits": ({"spark.sql.parquet.writeLegacyFormat": "true", "spark.sql.parquet.outputTimestampType": "INT96"}, {}),
    "small row groups": ({}, {"parquet.block.size": "20000", "parquet.page.size": "2000"}),
    "Bloom filters": ({}, {"parquet.bloom.filter.enabled#i64": "true"}),
}


def is_there():
    return shutil.which("java") is not None and os.path.exists(PYTHON) and subprocess.run(
        [PYTHON, "-c", "import pyspark"], capture_output=True).returncode == 0


def run(*arguments):
    done = subprocess.run([PYTHON, __file__, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"Spark {arguments}: {done.stderr[-2000:]}")
    return done.stdout


def write_all(source, into):
    """(name, directory) of each kind, with the rows of `source`."""
    run("write", source, into)
    return [(name, f"{into}/{i}") for i, name in enumerate([*CODECS, *KINDS])]


def write_places(into):
    """The directory, and its rows as parquet_probe says them."""
    return into, json.loads(run("places", into).splitlines()[-1])


def read(source, into):
    import pyarrow.parquet
    run("read", source, into)
    return pyarrow.parquet.read_table(into).to_pylist()


def session():
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def write(spark, source, into):
    rows = spark.read.parquet(source)
    rows = rows.withColumn("u64", rows["u64"].cast("long")).coalesce(1)
    for i, codec in enumerate(CODECS):
        rows.write.option("compression", codec).parquet(f"{into}/{i}")
    for i, (settings, options) in enumerate(KINDS.values(), len(CODECS)):
        for key, value in settings.items():
            spark.conf.set(key, value)
        rows.write.options(**options).parquet(f"{into}/{i}")
        for key in settings:
            spark.conf.unset(key)


def write_places_here(spark, into):
    import datetime
    cities = ["Bern", "a=b", "50% off", "K\u00f6ln/S\u00fcd", "x:y z", None]
    rows = [{"id": i, "year": 2024 + i % 3, "city": cities[i % 7 % 6], "day": datetime.date(2026, 2, 27) + datetime.timedelta(days=i % 4)} for i in range(200)]
    spark.createDataFrame(rows, "id long, year int, city string, day date").coalesce(1).write.partitionBy("year", "city", "day").parquet(into)
    print(json.dumps([{**row, "day": row["day"].isoformat()} for row in rows]))


def main():
    what, *arguments = sys.argv[1:]
    spark = session()
    if what == "write":
        write(spark, *arguments)
    elif what == "places":
        write_places_here(spark, *arguments)
    else:
        spark.read.parquet(str(pathlib.Path(arguments[0]))).coalesce(1).write.parquet(arguments[1])


if __name__ == "__main__":
    main()
