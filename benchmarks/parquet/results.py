"""Results of queries, as weft and other engines write them, and whether they are the same."""
import datetime
import pathlib

import duckdb

import peers


def source_of(path):
    """What DuckDB reads: a file, or a directory of files of CSV or Parquet."""
    path = pathlib.Path(path)
    if not path.is_dir():
        return f"read_parquet('{path}')"
    parquet = list(path.rglob("*.parquet"))
    return f"read_parquet('{path}/**/*.parquet')" if parquet else f"read_csv('{path}/part-*')"


def rows_of(query, path):
    """Sorted where the query does not say in which order; of many sorted rows only what they sum up to."""
    connection = duckdb.connect()
    source = source_of(path)
    if query == "sort":
        return connection.execute(f"SELECT count(*), sum(key::HUGEINT), count(DISTINCT text) FROM {source}").fetchall()
    rows = connection.execute(f"SELECT * FROM {source}").fetchall()
    return rows if query in peers.TPCH else sorted(rows)


def same(one, other):
    if isinstance(one, (str, datetime.date)):
        return one == other
    return abs(float(one) - float(other)) <= 1e-9 * max(abs(float(one)), abs(float(other)), 1)


def differs(ours, theirs):
    """In which row, or None."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    for one, other in zip(ours, theirs):
        if len(one) != len(other) or not all(map(same, one, other)):
            return f"{one}, not {other}"
    return None
