#!/usr/bin/env python3
"""Aggregators, functions of sorted groups, subtotals, as-of joins and joins of three tables (analytics_probe) against DuckDB, with memory to
spare, with little, and on two workers.

usage: analytics_test.py ANALYTICS_PROBE

Exit code 77: DuckDB is not there (scripts/setup --parquet-ci)."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HOME = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
PYTHON = f"{HOME}/weft/arrow/bin/python"
if os.environ.get("WEFT_ANALYTICS_TEST") != "inside":
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, "-c", "import duckdb"], capture_output=True).returncode != 0:
        print("skipped: DuckDB is not there (scripts/setup --parquet-ci)")
        sys.exit(77)
    os.execve(PYTHON, [PYTHON, __file__, *sys.argv[1:]], {**os.environ, "WEFT_ANALYTICS_TEST": "inside"})

import duckdb  # noqa: E402

ROWS, SHOPS, ITEMS = 60_000, 200, 40  # so that medians of a shop are of fewer than 512 prices, and exact
WINDOW = "OVER (PARTITION BY shop ORDER BY time, id)"
QUERIES = {
    "aggregates": {"": """SELECT shop, count(DISTINCT customer), approx_count_distinct(customer), quantile_disc(price, 0.5), quantile_disc(price, 0.9),
        arg_min(item, price), arg_max(price, time), arg_min(id, id), arg_max(id, id) FROM sales GROUP BY shop"""},
    "all": {"": "SELECT count(DISTINCT customer), count(DISTINCT item), min(price) FROM sales"},
    "sequences": {"scan": f"SELECT shop, id, sum(price) {WINDOW}, lag(price) {WINDOW}, row_number() {WINDOW} FROM sales",
                  "lag": f"SELECT shop, id, lag(id, 2) {WINDOW} FROM sales", "numbers": f"SELECT shop, id, row_number() {WINDOW} FROM sales"},
    "rollup": {"": "SELECT shop, item, count(*), sum(price) FROM sales GROUP BY ROLLUP (shop, item)"},
    "asof": {"": """SELECT s.shop, s.id, e.time FROM sales s ASOF LEFT JOIN (SELECT * FROM sales WHERE price >= 50) e
        ON s.shop = e.shop AND s.time >= e.time"""},
    "joins": {"": """SELECT shop, count(*) FROM (SELECT shop, count(*) FROM sales GROUP BY shop) a JOIN (SELECT shop, max(time) FROM sales GROUP BY shop) b USING (shop)
        JOIN sales c USING (shop) GROUP BY shop"""},
}
ESTIMATES = {"aggregates": {2: 0.1}}  # columns that may be off, by such a share


def write_sales(path):
    at = random.Random(7)
    times = list(range(ROWS))
    at.shuffle(times)  # no two at the same time
    prices = [k / 8 for k in range(8 * 100)]
    with open(path, "w") as file:
        file.write("id,time,shop,item,price,customer\n")
        for i in range(ROWS):
            # Prices of a shop differ, but for a few: the cheapest is one.
            price = at.choice(prices) + i * 1e-6
            customer = "" if at.random() < 0.1 else str(at.randrange(2000))
            file.write(f"{i},{times[i]},s{at.randrange(SHOPS)},i{at.randrange(ITEMS)},{price:.6f},{customer}\n")


def same(one, other, off):
    if one is None or other is None or isinstance(one, str):
        return one == other
    return abs(one - other) <= max(off, 1e-9) * max(abs(one), abs(other), 1)


def compare(name, ours, theirs, off):
    order = lambda rows: sorted(rows, key=lambda row: [(x is not None, x) for x in row[:2]])  # noqa: E731
    ours, theirs = order(ours), order(theirs)
    if len(ours) != len(theirs):
        sys.exit(f"{name}: weft has {len(ours)} rows, DuckDB {len(theirs)}")
    for one, other in zip(ours, theirs):
        if len(one) != len(other) or not all(same(a, b, off.get(i, 0)) for i, (a, b) in enumerate(zip(one, other))):
            sys.exit(f"{name}: weft has {one}, DuckDB {other}")


def main():
    probe = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        source, output = f"{scratch}/sales.csv", f"{scratch}/out"
        write_sales(source)
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE sales AS SELECT * FROM read_csv('{source}')")
        for kind, parts in QUERIES.items():
            expected = {part: connection.execute(query).fetchall() for part, query in parts.items()}
            for how in ([], ["--threads", "2", "--memory", "16MiB"], ["--workers", "2"]):
                os.mkdir(output)
                into = output if "" not in parts else f"{output}/all"
                done = subprocess.run([probe, "--input", source, "--output", into, "--kind", kind, "--quiet", *how], capture_output=True, text=True,
                                      timeout=120)
                if done.returncode != 0:
                    sys.exit(f"{kind} {how}: {done.stderr}")
                for part, rows in expected.items():
                    folder = pathlib.Path(into) / part
                    ours = connection.execute(f"SELECT * FROM read_csv('{folder}/part-*', header = true, union_by_name = true)").fetchall()
                    compare(f"{kind} {part} {' '.join(how)}", ours, rows, ESTIMATES.get(kind, {}))
                shutil.rmtree(output)
            print(f"passed: {kind}, " + ", ".join(f"{len(rows)} rows" for rows in expected.values()))
    print("all passed")


main()
