#!/usr/bin/env python3
"""Random CSV and JSON, good and bad, through rows_probe and through Python's csv and json modules: the same rows, and as many bad ones.

usage: rows_test.py ROWS_PROBE [--runs N] [--seed N] [--rows N]"""
import argparse
import csv
import io
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

FIELDS = ["id", "text", "number", "small", "flag", "note"]
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
WHOLE = re.compile(r"\+?-?\d+\Z")


def whole(cell, low, high):
    if not WHOLE.match(cell) or cell.startswith("+-"):
        raise ValueError
    value = int(cell)
    if cell.startswith("-") and low == 0 or not low <= value <= high:
        raise ValueError
    return value


def row_of(cells, columns):
    """As read_csv does it, with Python's conversions."""
    cell = {name: cells[columns[name]] for name in FIELDS}
    number = None
    if cell["number"] != "":
        if not DECIMAL.match(cell["number"]) or math.isinf(float(cell["number"])):
            raise ValueError
        number = float(cell["number"])
    flag = {"true": True, "1": True, "false": False, "0": False}[cell["flag"].lower()]
    return {"id": whole(cell["id"], 0, 2**64 - 1), "text": cell["text"], "number": number, "small": whole(cell["small"], -2**15, 2**15 - 1),
            "flag": flag, "note": cell["note"] or None}


def csv_records(text, multiline):
    """Records of one file by the csv module, line by line where line ends end every record."""
    pieces = [text] if multiline else text.split("\n")
    if not multiline and pieces and pieces[-1] == "":
        pieces.pop()
    for piece in pieces:
        if not multiline:
            piece = piece[:-1] if piece.endswith("\r") else piece
            try:
                rows = list(csv.reader([piece], strict=True))
            except csv.Error:
                yield None
                continue
            yield from (row for row in rows if row)
        else:
            yield from (row for row in csv.reader(io.StringIO(piece, newline=""), strict=True) if row)


def expected_of_csv(files, multiline):
    rows, bad = [], 0
    for text in files:
        records = csv_records(text.removeprefix("\ufeff"), multiline)
        header = next(records, None)
        if header is None:
            continue
        columns = {name: header.index(name) for name in FIELDS}
        for cells in records:
            if cells is None or len(cells) != len(header):
                bad += 1
                continue
            try:
                rows.append(row_of(cells, columns))
            except (ValueError, KeyError):
                bad += 1
    return rows, bad


def quoted(cell, rng, line_ends):
    must = any(c in cell for c in ',"\n\r')
    if must or rng.random() < 0.2:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def random_text(rng, line_ends):
    alphabet = list("abcXYZ019 .-;'\té€😀,\"") + (["\n", "\r\n"] if line_ends else [])
    return "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 3, 8, 70])))


def random_number(rng):
    return rng.choice([lambda: str(rng.randrange(-1000, 1000)), lambda: repr(rng.uniform(-1e6, 1e6)), lambda: f"{rng.uniform(0, 100):.2f}",
                       lambda: f"{rng.random():.17g}", lambda: f"{rng.randrange(1, 10)}e{rng.randrange(-300, 300)}", lambda: "5.", lambda: ".5", lambda: "+7",
                       lambda: str(rng.getrandbits(70)), lambda: "0." + str(rng.getrandbits(80))])()


def random_csv(rng, count, line_ends):
    columns = FIELDS + ["other", "more"][:rng.randrange(3)]
    rng.shuffle(columns)
    end = rng.choice(["\n", "\r\n"])
    lines = [",".join(quoted(name, rng, False) for name in columns)]
    for i in range(count):
        cell = {"id": str(i), "text": random_text(rng, line_ends), "number": rng.choice(["", random_number(rng)]), "small": str(rng.randrange(-2**15, 2**15)),
                "flag": rng.choice(["true", "false", "TRUE", "0", "1"]), "note": random_text(rng, line_ends), "other": random_text(rng, line_ends), "more": ""}
        damage = rng.random()
        if damage < 0.03:
            cell[rng.choice(["id", "small", "number", "flag"])] = rng.choice(["x", "", "1.5x", "- 1", " 1", "99999999999999999999999", "1,5", "--1", "+-1", "nan?", "0x1"])
        made = [quoted(cell[name], rng, line_ends) for name in columns]
        if 0.03 < damage < 0.05:
            made = made[:-1] if rng.random() < 0.5 else made + ["x"]
        if not line_ends and 0.05 < damage < 0.06:
            made[0] = '"a"b'
        lines.append(",".join(made))
        if rng.random() < 0.01:
            lines.append("")
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    return ("\ufeff" if rng.random() < 0.3 else "") + text


def json_row(value):
    """As read_json does it; None for a bad record."""
    def check(condition):
        if not condition:
            raise ValueError

    def integer(x, low, high):
        check(isinstance(x, int) and not isinstance(x, bool) and low <= x <= high)
        return x

    def real(x):
        check(isinstance(x, (int, float)) and not isinstance(x, bool))
        return float(x)

    def optional(x, read):
        return None if x is None else read(x)

    def text(x):
        check(isinstance(x, str))
        return x

    def truth(x):
        check(isinstance(x, bool))
        return x

    def place(x):
        check(isinstance(x, dict) and "x" in x)
        return {"x": integer(x["x"], -2**31, 2**31 - 1), "y": optional(x.get("y"), real)}

    check(isinstance(value, dict) and all(name in value for name in ("id", "text", "small", "flag", "places")))
    check(isinstance(value["places"], list))
    return {"id": integer(value["id"], 0, 2**64 - 1), "text": text(value["text"]), "number": optional(value.get("number"), real),
            "small": integer(value["small"], -2**15, 2**15 - 1), "flag": truth(value["flag"]), "note": optional(value.get("note"), text),
            "places": [place(x) for x in value["places"]]}


def random_json(rng, count):
    lines = []
    for i in range(count):
        value = {"id": i, "text": random_text(rng, True), "number": rng.choice([None, 1, -2.5, 1e300, rng.random()]), "small": rng.randrange(-2**15, 2**15),
                 "flag": rng.random() < 0.5, "note": rng.choice([None, random_text(rng, True)]), "unknown": {"a": [1, {"b": None}]},
                 "places": [{"x": rng.randrange(-9, 9), "y": rng.choice([None, 0.5])} for _ in range(rng.randrange(3))]}
        if rng.random() < 0.3:
            del value["note"]
        if rng.random() < 0.06:
            value[rng.choice(list(value))] = rng.choice([None, "x", 1.5, -1, 2**40, [], {}, [1], True])
        items = list(value.items())
        if rng.random() < 0.5:
            rng.shuffle(items)
        line = json.dumps(dict(items), ensure_ascii=rng.random() < 0.5)
        if rng.random() < 0.02:
            line = rng.choice([line[:-1], line + "}", "", "   ", "null", "[1,2]", "{'id':1}", line.replace(":", "", 1), "{\"id\":01}", line + " x"])
        lines.append(line)
    return "\n".join(lines) + ("\n" if rng.random() < 0.8 else "")


def expected_of_json(files):
    rows, bad = [], 0
    for text in files:
        for line in text.split("\n"):
            if not line.strip(" \t\r"):
                continue
            try:
                rows.append(json_row(json.loads(line)))
            except ValueError:
                bad += 1
    return rows, bad


def bad_of(stats):
    return sum(stage.get("bad_records", 0) for stage in stats["stages"])


def run(probe, folder, name, flags):
    output, stats = folder / f"out-{name}", folder / f"stats-{name}"
    command = [probe, "--quiet", "--max-bad-records", "100%", "--input", str(folder / "in"), "--output", str(output), "--stats", str(stats), "--threads", "2", *flags]
    subprocess.run(command, check=True, stderr=subprocess.PIPE)
    text = [part.read_bytes().decode() for part in sorted(output.glob("part-*"))]
    return text, bad_of(json.loads(stats.read_text()))


def check(what, seed, got, wanted):
    if got == wanted:
        return
    print(f"seed {seed}: {what} differs")
    if isinstance(got, list):
        print(f"{len(got)} rows, {len(wanted)} expected; the first that differ:")
        for a, b in zip(got, wanted):
            if a != b:
                print(f"  got      {a}\n  expected {b}")
                break
    else:
        print(f"  got {got}, expected {wanted}")
    sys.exit(1)


def spoiled(rng, text):
    """The file with a line end in the quotes of one of its rows, or more."""
    lines = text.split("\n")
    last = len(lines) - (2 if text.endswith("\n") else 1)
    places = [i for i in range(last + 1) if lines[i].strip("\r")]
    for i in rng.sample(places, min(len(places), rng.choice([1, 1, 3]))):
        lines[i] = '"' + rng.choice(["1", "a,b", '""x', ""]) + rng.choice(["\n", "\r\n", "\n\n"]) + rng.choice(["2", 'x""', ",,,"]) + '",' + lines[i]
    return "\n".join(lines)


def quoted_line_ends(probe, rng, seed, rows):
    """Without --multiline a file with quoted line ends is never read as other rows than Python's: it fails, wherever splits begin."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "in").mkdir()
        text = spoiled(rng, random_csv(rng, rows, False))
        if not text.strip():
            return
        (folder / "in" / "a.csv").write_text(text, newline="")
        for workers in ([], ["--workers", "2"]):
            command = [probe, "--quiet", "--max-bad-records", "100%", "--input", str(folder / "in"), "--output", str(folder / "out"), "--threads", "3", *workers]
            done = subprocess.run(command, capture_output=True, text=True)
            check("the end of a run on quoted line ends", seed, done.returncode, 1)
            check("'multiline' in the error", seed, "multiline" in done.stderr and len(done.stderr.splitlines()) == 1, True)
            check("an output", seed, (folder / "out").exists(), False)


def mostly_bad(probe, rng, seed):
    """More than half of a source, and not one row less, fails a job: embedded and with workers, with the same line."""
    for form in ("csv", "json"):
        rows = rng.choice([1, 2, 3, 10, 2001])
        bad = rng.choice([rows // 2, rows // 2 + 1, rows])
        row = {"csv": lambda i: f"{i},t,1,2,true,n", "json": lambda i: json.dumps({"id": i, "text": "t", "small": 1, "flag": True, "places": []})}[form]
        wrong = rng.sample(range(rows), bad)
        lines = [row("x" if i in set(wrong) else i) for i in range(rows)]
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            text = ",".join(FIELDS) + "\n" if form == "csv" else ""
            place = len(text) + sum(len(line) + 1 for line in lines[:min(wrong, default=0)])
            (folder / "in").write_text(text + "".join(line + "\n" for line in lines))
            ended = []
            for workers in ([], ["--workers", "2"]):
                command = [probe, "--quiet", "--input", str(folder / "in"), "--output", str(folder / "out"), "--overwrite", *workers, *(["--json"] if form == "json" else [])]
                done = subprocess.run(command, capture_output=True, text=True)
                ended.append(done.stderr)
                check(f"the end with {bad} of {rows} bad rows of {form}", seed, done.returncode, 1 if 2 * bad > rows else 0)
                check("an output", seed, (folder / "out" / "_SUCCESS").exists(), 2 * bad <= rows)
                if 2 * bad > rows:  # else some examples are told, in the order in which tasks end
                    check("the place of the first bad row", seed, f"{folder / 'in'} at byte {place})" in done.stderr, True)
                if 2 * bad > rows:
                    check("the lines of the error", seed, (len(done.stderr.splitlines()), "--max-bad-records" in done.stderr), (1, True))
            if 2 * bad > rows:
                check("the error with workers", seed, ended[1], ended[0])
            command += ["--max-bad-records", "100%"]
            check("the end when all may be bad", seed, subprocess.run(command, capture_output=True).returncode, 0)


def refused_first(probe, seed):
    """What cannot be written is refused before anything runs."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "in").write_text(",".join(FIELDS) + "\n1,t,1,2,true,n\n")
        run = lambda output, *flags: subprocess.run([probe, "--quiet", "--count", "--input", str(folder / "in"), "--output", str(output), *flags], capture_output=True, text=True)
        foreign, written = folder / "foreign", folder / "written"
        foreign.mkdir()
        (foreign / "mine").write_text("mine")
        done = run(written)
        check("a run that counts first", seed, (done.returncode, done.stdout), (0, "counted 2\n"))
        for output, flags in ((foreign, ["--overwrite"]), (written, []), (folder / "in", ["--overwrite"]), (folder / "none" / "out", [])):
            done = run(output, *flags)
            check(f"a run into {output.name}", seed, (done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1))
        check("a run into its own output", seed, run(written, "--overwrite").returncode, 0)
        check("a file of somebody else", seed, (foreign / "mine").read_text(), "mine")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("--runs", type=int, default=40 if os.environ.get("WEFT_LONG") else 4)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    csv.field_size_limit(2**30)
    for seed in range(options.seed, options.seed + options.runs):
        rng = random.Random(seed)
        quoted_line_ends(options.probe, rng, seed, rng.choice([1, 10, 30000]))
        mostly_bad(options.probe, rng, seed)
        refused_first(options.probe, seed)
        for multiline in (False, True):
            with tempfile.TemporaryDirectory() as scratch:
                folder = pathlib.Path(scratch)
                (folder / "in").mkdir()
                files = [random_csv(rng, rng.choice([0, 1, options.rows]), multiline) for _ in range(rng.randrange(1, 4))] + [""]
                for i, text in enumerate(files):
                    (folder / "in" / f"{i}.csv").write_text(text, newline="")
                wanted, bad = expected_of_csv(files, multiline)
                flags = ["--multiline"] if multiline else []
                parts, counted = run(options.probe, folder, "json", flags)
                check("CSV", seed, [json.loads(line) for part in parts for line in part.split("\n") if line], wanted)
                check("the number of bad rows", seed, counted, bad)
                parts, _ = run(options.probe, folder, "csv", [*flags, "--write-csv"])
                again = [row for part in parts for row in list(csv.DictReader(io.StringIO(part, newline=""), strict=True))]
                check("what write_csv wrote", seed, [[row["text"], row["note"], row["number"] and float(row["number"])] for row in again],
                      [[row["text"], row["note"] or "", row["number"] if row["number"] is not None else ""] for row in wanted])
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "in").mkdir()
            files = [random_json(rng, rng.choice([0, 1, options.rows])) for _ in range(rng.randrange(1, 4))]
            for i, text in enumerate(files):
                (folder / "in" / f"{i}.json").write_text(text, newline="")
            wanted, bad = expected_of_json(files)
            parts, counted = run(options.probe, folder, "json", ["--json"])
            check("JSON", seed, [json.loads(line) for part in parts for line in part.split("\n") if line], wanted)
            check("the number of bad lines", seed, counted, bad)
    print(f"{options.runs} runs from seed {options.seed}: as Python has it")


main()
