"""The queries of parquet_bench and of TPC-H, by other engines. `seconds(engine, query, …)` runs one in a process of its own."""
import json
import pathlib
import subprocess
import sys
import time

ENGINES = ["duckdb", "polars", "datafusion", "chdb"]
TABLES = ["lineitem", "orders", "customer", "part", "supplier", "partsupp", "nation"]
TPCH = ["q1", "q3", "q6", "q9", "q18"]
LEAST, MOST = 10_000_000, 10_200_000

# {NAME} is the table of that name.
SQL = {
    "join": "SELECT region, sum(amount) AS amount FROM {sales} JOIN {customers} ON customer = id GROUP BY region",
    "aggregate": "SELECT key, sum(value) AS sum, count(*) AS count FROM {readings} GROUP BY key",
    "filter": f"SELECT sum(value) AS value FROM {{events}} WHERE id >= {LEAST} AND id < {MOST}",
    "sort": "SELECT key, text FROM {rows} ORDER BY key",
    "q1": """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
        avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
        FROM {lineitem} WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "q3": """SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM {customer}, {orders}, {lineitem} WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    "q6": """SELECT sum(l_extendedprice * l_discount) AS revenue FROM {lineitem} WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1995-01-01' AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24""",
    "q9": """SELECT n_name AS nation, CAST(extract(year FROM o_orderdate) AS INT) AS o_year,
        sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS sum_profit
        FROM {part}, {supplier}, {lineitem}, {partsupp}, {orders}, {nation}
        WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
        AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
        GROUP BY n_name, o_year ORDER BY nation, o_year DESC""",
    "q18": """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS sum_quantity
        FROM {customer}, {orders}, {lineitem}
        WHERE o_orderkey IN (SELECT l_orderkey FROM {lineitem} GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100""",
}


def sql_of(query, table):
    """`table` gives what stands for a table."""
    class Names(dict):
        def __missing__(self, name):
            return table(name)
    return SQL[query].format_map(Names())


def with_duckdb(query, data, output):
    import duckdb
    connection = duckdb.connect()
    text = sql_of(query, lambda name: f"'{data}/{name}.parquet'")
    return lambda: connection.execute(f"COPY ({text}) TO '{output}' (FORMAT parquet, CODEC zstd)")


def with_chdb(query, data, output):
    from chdb import session
    connection = session.Session()
    text = sql_of(query, lambda name: f"file('{data}/{name}.parquet') AS {name}")
    return lambda: connection.query(f"INSERT INTO FUNCTION file('{output}', Parquet) {text}")


def with_datafusion(query, data, output):
    import datafusion
    context = datafusion.SessionContext()

    def run():
        for path in pathlib.Path(data).glob("*.parquet"):
            context.register_parquet(path.stem, str(path))
        context.sql(sql_of(query, str)).write_parquet(output)
    return run


def with_polars(query, data, output):
    import polars as pl
    scan = lambda name: pl.scan_parquet(f"{data}/{name}.parquet")  # noqa: E731

    def run():
        if query == "join":
            frame = scan("sales").join(scan("customers"), left_on="customer", right_on="id").group_by("region").agg(pl.col("amount").sum())
        elif query == "aggregate":
            frame = scan("readings").group_by("key").agg(pl.col("value").sum().alias("sum"), pl.len().alias("count"))
        elif query == "filter":
            frame = scan("events").filter((pl.col("id") >= LEAST) & (pl.col("id") < MOST)).select(pl.col("value").sum())
        elif query == "sort":
            frame = scan("rows").sort("key")
        else:
            context = pl.SQLContext({name: scan(name) for name in TABLES})
            frame = context.execute(sql_of(query, str))
        frame.sink_parquet(output, compression="zstd")
    return run


def version(engine):
    from importlib.metadata import version as of
    return of(engine)


def seconds(python, engine, query, data, output):
    """Of the query, from the first look at the files to the result in a file; and of the whole process, with what Python and the engine take to
    load. None when the engine cannot run the query; then its last line."""
    begin = time.monotonic()
    done = subprocess.run([python, __file__, engine, query, str(data), str(output)], capture_output=True, text=True, timeout=900)
    whole = time.monotonic() - begin
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["?"])[-1]
    return json.loads(done.stdout), whole


def main():
    engine, query, data, output = sys.argv[1:5]
    run = {"duckdb": with_duckdb, "polars": with_polars, "datafusion": with_datafusion, "chdb": with_chdb}[engine](query, data, output)
    begin = time.monotonic()
    run()
    print(json.dumps(time.monotonic() - begin))


if __name__ == "__main__":
    main()
