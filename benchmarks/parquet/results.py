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


def first_unsorted(connection, path):
    """Which row has a smaller key than the one before it, over all files in the order of their names; or a text that there is none."""
    path, last = pathlib.Path(path), None
    for part in sorted(path.rglob("*.parquet")) if path.is_dir() else [path]:
        rows = f"SELECT file_row_number AS row, key, lag(key) OVER (ORDER BY file_row_number) AS before FROM read_parquet('{part}', file_row_number = true)"
        wrong, first, most = connection.execute(f"SELECT min(row) FILTER (key < before), first(key ORDER BY row), max(key) FROM ({rows})").fetchone()
        if wrong is not None:
            return f"row {wrong} of {part.name} out of order"
        if first is not None and last is not None and first < last:
            return f"the first row of {part.name} out of order"
        last = most if most is not None else last
    return "sorted"


def rows_of(query, path):
    """Sorted where the query does not say in which order; of many sorted rows only what they sum up to, and whether they are sorted, as texts
    that must be the same to the last digit."""
    connection = duckdb.connect()
    source = source_of(path)
    if query == "sort":
        return [connection.execute(f"SELECT count(*)::VARCHAR, sum(key)::VARCHAR, sum(hash(key::BIGINT, text::VARCHAR))::VARCHAR FROM {source}").fetchone() +
                (first_unsorted(connection, path),)]
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
