#!/usr/bin/env python3
"""Programs as people write them first, against plain Python on made-up data; and how many lines they have next to the same programs
of PySpark (docs/pyspark.md).

usage: programs_test.py SOURCES --path DIR… [--only NAME]… [--workers N] [--megabytes N] [--seed N] [--lines]"""
import argparse
import collections
import csv
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

MOST = 1.5  # lines of ours for each of theirs
SOURCES = {
    "pages": ["visit.hpp", "pages.cpp"], "sessions": ["visit.hpp", "sessions.cpp"], "countries": ["visit.hpp", "countries.cpp"],
    "dailyusers": ["dailyusers.cpp"], "tfidf": ["tfidf.cpp"], "spending": ["spending.cpp"]}
LOG_LINE = re.compile(r'(\S+) - - \[(\d+)\] "GET (\S+) \S+" \d+ (\d+)')


# ---- data -------------------------------------------------------------------------------------------------------------------

def lines_until(path, size, header, line):
    """Writes what line(i) gives until there are so many bytes."""
    with path.open("w", newline="") as file:
        written = file.write(header)
        i = 0
        while written < size:
            written += file.write(line(i))
            i += 1


def write_log(path, size, rng):
    def line(i):
        if rng.random() < 0.001:
            return f"?? broken line {i}\n"
        user, page = f"u{int(5000 * rng.random() * rng.random())}", f"/page/{int(300 * rng.random() ** 3)}"
        return f'{user} - - [{1_700_000_000 + 2 * i + rng.randrange(90)}] "GET {page} HTTP/1.1" 200 {200 + rng.randrange(5000)}\n'
    lines_until(path, size, "", line)


def write_users(path, rng):
    with path.open("w", newline="") as file:
        file.write("user,name,country\n")
        for i in range(0, 5000, 1 + rng.randrange(2)):
            file.write(f'u{i},"User, {i}",{rng.choice(["", "DE", "FR", "IT", "ES"])}\n')


def write_visits(path, size, rng):
    def line(i):
        page = rng.choice(["/a", '"/with, comma"', '"/with ""quotes"""', f"/p{rng.randrange(200)}"])
        return f"{page},u{int(20_000 * rng.random() ** 2)},{1_700_000_000 + rng.randrange(14 * 86_400)}\n"
    lines_until(path, size, "page,user,time\n", line)


def write_documents(path, size, rng):
    words = [f"word{i}" for i in range(500)] + ["naïve", 'quo"ted', "back\\slash", "日本"]
    def line(i):
        text = rng.choices(words, k=rng.randrange(1, 3000)) + [f"rare{rng.randrange(20_000)}" for _ in range(rng.randrange(9))]
        return json.dumps({"text": rng.choice([" ", "  ", "\n"]).join(text), "id": i, "more": [1]}, ensure_ascii=i % 2 == 0) + "\n"
    lines_until(path, size, "", line)


def write_orders(path, size, rng):
    def line(i):
        price = rng.choice(["", "NA", f"{rng.uniform(0, 100):.2f}", f"{rng.uniform(0, 100):.2f}", str(rng.randrange(50))])
        return f"{i},c{int(30_000 * rng.random())},{price},{1 + rng.randrange(9)}\n"
    lines_until(path, size, "order,customer,price,quantity\n", line)


def write_customers(path, rng):
    with path.open("w", newline="") as file:
        file.write("discount,customer,country\n")
        for i in range(25_000):
            discount = rng.choice(["", f"{rng.randrange(30) / 100}"])
            file.write(f'{discount},c{i},{rng.choice(["", "DE", "FR", "IT", "NA"])}\n')


# ---- references ---------------------------------------------------------------------------------------------------------------

def visits_of(log):
    with log.open() as file:
        for line in file:
            found = LOG_LINE.match(line)
            if found:
                yield found[1], int(found[2]), found[3], int(found[4])


def pages(folder):
    count, size = collections.Counter(), collections.Counter()
    for _, _, page, length in visits_of(folder / "log"):
        count[page] += 1
        size[page] += length
    rows = sorted(((n, page, size[page] / n) for page, n in count.items()), reverse=True)
    return [[str(n), page, mean] for n, page, mean in rows[:10]]


def sessions(folder):
    times = collections.defaultdict(list)
    for user, time, _, _ in visits_of(folder / "log"):
        times[user].append(time)
    rows = []
    for user, own in times.items():
        own.sort()
        begin = 0
        for i in range(1, len(own) + 1):
            if i == len(own) or own[i] - own[i - 1] > 900:
                rows.append([user, str(own[begin]), str(own[i - 1] - own[begin]), str(i - begin)])
                begin = i
    return rows


def countries(folder):
    with (folder / "users.csv").open(newline="") as file:
        of_user = {row["user"]: row["country"] or "unknown" for row in csv.DictReader(file)}
    visits, size = collections.Counter(), collections.Counter()
    for user, _, _, length in visits_of(folder / "log"):
        visits[of_user.get(user, "not a user")] += 1
        size[of_user.get(user, "not a user")] += length
    return [[country, str(visits[country]), str(size[country])] for country in visits]


def dailyusers(folder):
    users = set()
    with (folder / "visits.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            users.add((int(row["time"]) // 86_400, row["page"], row["user"]))
    counts = collections.Counter((day, page) for day, page, _ in users)
    return [[str(day), page, str(n)] for (day, page), n in counts.items()]


def tfidf(folder):
    of_document, holders = {}, collections.Counter()
    with (folder / "documents.jsonl").open() as file:
        for line in file:
            document = json.loads(line)
            words = collections.Counter(document["text"].split())
            of_document[document["id"]] = words
            holders.update(words.keys())
    return [[str(document), word, n * math.log(len(of_document) / holders[word])]
            for document, words in of_document.items() for word, n in words.items()]


def spending(folder):
    with (folder / "customers.csv").open(newline="") as file:
        customers = {row["customer"]: row for row in csv.DictReader(file)}
    orders, unpriced, spent = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    with (folder / "orders.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            customer = customers.get(row["customer"], {})
            country = customer.get("country") or "unknown"
            orders[country] += 1
            if row["price"] in ("", "NA"):
                unpriced[country] += 1
            else:
                spent[country].append(float(row["price"]) * (1 - float(customer.get("discount") or 0)) * int(row["quantity"]))
    return [[country, str(n), str(unpriced[country]), math.fsum(spent[country])] for country, n in orders.items()]


# ---- the trial ----------------------------------------------------------------------------------------------------------------

def cells_of(name, lines):
    if name == "countries":
        rows = map(json.loads, lines)
        return [[row["country"], str(row["visits"]), str(row["bytes"])] for row in rows]
    if name == "sessions":
        return [row for row in csv.reader(lines) if row[0] != "user"]
    return [line.split("\t") for line in lines]


def check(name, found, wanted):
    """Texts are the same, and numbers that are no whole ones nearly."""
    def split(row, like):
        return (tuple(cell for cell, other in zip(row, like) if isinstance(other, str)),
                [float(cell) for cell, other in zip(row, like) if not isinstance(other, str)])
    like = next(iter(wanted))
    if name == "pages":  # whose rows are in order
        found, wanted = ([[str(i), *row] for i, row in enumerate(rows)] for rows in (found, wanted))
        like = ["", *like]
    expected = dict(split(row, like) for row in wanted)
    if len(expected) != len(wanted):
        sys.exit(f"{name}: Python has a row twice")
    for row in found:
        key, numbers = split(row, like)
        right = len(row) == len(like) and expected.pop(key, None)
        if right is False or right is None or not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(numbers, right)):
            sys.exit(f"{name}: the row {row} is there, Python has {right}")
    if expected:
        sys.exit(f"{name}: the row {next(iter(expected.items()))} of Python is missing, and {len(expected) - 1} others")


def inputs_of(name, folder, size, rng):
    """Writes what is not there yet, and gives the program's options."""
    def made(file, write, *arguments):
        if not (folder / file).exists():
            write(folder / file, *arguments)
        return str(folder / file)
    if name in ("pages", "sessions", "countries"):
        more = {"pages": [], "sessions": ["--pause", "900"], "countries": ["--users", made("users.csv", write_users, rng)]}
        return ["--input", made("log", write_log, size, rng), *more[name]]
    if name == "dailyusers":
        return ["--input", made("visits.csv", write_visits, size, rng)]
    if name == "tfidf":
        return ["--input", made("documents.jsonl", write_documents, size, rng)]
    return ["--input", made("orders.csv", write_orders, size, rng), "--customers", made("customers.csv", write_customers, rng)]


def run_programs(options, names):
    search = os.pathsep.join(options.path)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name in names:
            program = shutil.which(name, path=search)
            if program is None:
                sys.exit(f"there is no {name} in {search}")
            arguments = inputs_of(name, folder, options.megabytes * 1_000_000, rng)
            for where in [["--threads", "2"], ["--workers", str(options.workers)]]:
                output = folder / f"{name}{where[0]}"
                subprocess.run([program, "--quiet", *arguments, "--output", str(output), *where], check=True)
                lines = [line for part in sorted(output.glob("part-*")) for line in part.read_text().splitlines()]
                check(name, cells_of(name, lines), globals()[name](folder))
            print(f"{name}: as Python has it ({options.megabytes} MB, seed {options.seed})", flush=True)


def code_lines(text, comment):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(comment))


def blocks_of(page):
    return dict(re.findall(r"^<!-- file: (\S+) -->\n```[a-z]+\n(.*?)^```$", page.read_text(), re.M | re.S))


def compare_lines(sources):
    """A program's lines, as the page's table has them."""
    page = sources / "docs/pyspark.md"
    tutorial, theirs = blocks_of(sources / "docs/tutorial.md"), blocks_of(page)
    for name, files in SOURCES.items():
        own = sum(code_lines(tutorial[file] if file in tutorial else (sources / "apps" / file).read_text(), "//") for file in files)
        other = code_lines(theirs[f"{name}.py"], "#") + (code_lines(theirs["visits.py"], "#") if "visit.hpp" in files else 0)
        row = f"| `{name}` | {own} | {other} | {own / other:.2f} |"
        if own > MOST * other:
            sys.exit(f"{name}: {own} lines, more than {MOST} times the {other} of PySpark")
        if row not in page.read_text():
            sys.exit(f"{page.name}: the table has not: {row}")
        print(row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=100 if os.environ.get("WEFT_LONG") else 1)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--lines", action="store_true", help="compare lines only")
    options = parser.parse_args()
    csv.field_size_limit(2**30)
    compare_lines(options.sources)
    if not options.lines:
        run_programs(options, options.only or SOURCES)


main()
