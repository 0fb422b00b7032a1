#!/usr/bin/env python3
"""weft peek on files of all formats: the types that it guesses, the structs that it prints, which compile, and how it refuses what it
cannot read.

usage: peek_test.py WEFT COMPILER SOURCES GENERATED"""
import bz2
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

weft, compiler, sources, generated = sys.argv[1:5]
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: got {got!r}, wanted {wanted!r}")


def peek(*arguments, status=0):
    done = subprocess.run([weft, "peek", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    expect(f"exit status of peek {arguments}: {done.stderr}", done.returncode, status)
    if status != 0:
        expect(f"one line on standard error of peek {arguments}", done.stderr.count("\n"), 1)
    return done.stdout if status == 0 else done.stderr


def columns(*arguments):
    seen = json.loads(peek(*arguments, "--json"))
    return seen, {column["name"]: column["type"] for column in seen["columns"]}


CSV = """id,name,price,paid,day,at,zip,big,note,class,empty
1,"Ann ""A"" B",1.5,true,2026-11-28,2026-11-28T04:40:27.5Z,01234,18446744073709551615,,a,
-2,"x,y",2,false,1969-12-31,2026-11-28 04:40,99999,1,b,b,
3,,1e3,TRUE,2024-02-29,2026-11-28T04:40:27+01:00,00001,7,c,c,
"""
JSON = """{"id": 1, "name": "a", "at": "2026-11-28T04:40:27Z", "tags": ["x", "y"], "place": {"x": 1.5, "y": 2, "deep": {"ok": true}}}
{"id": 2, "name": null, "at": "2026-11-28T04:40:28Z", "tags": [], "place": {"x": 2, "deep": {"ok": false}}, "extra": 7}
{"id": 3, "name": "12", "at": "2026-11-28T04:40:29Z", "tags": ["z"], "place": {"x": 3, "y": 1, "deep": {"ok": false}}}
"""

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "in.csv").write_text(CSV)
    (folder / "in.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (folder / "in.jsonl").write_text(JSON)
    (folder / "in.jsonl.bz2").write_bytes(bz2.compress(JSON.encode()))
    (folder / "bom.csv").write_text("\ufeffPrice in EUR;a b\n1,5;x\n2;y\n")
    (folder / "bare.tsv").write_text("1\t2.5\n2\t3.5\n")
    (folder / "lines.txt").write_text("To be, or not to be\nthat is\nthe question: x, y\n")
    (folder / "quoted.csv").write_text('id,text\n1,"a\nb"\n2,c\n')
    (folder / "points.json").write_text('{"a": 1.0, "b": 1, "c": 1e2, "d": 18446744073709551615}\n{"a": 2.0, "b": 2, "c": 3, "d": 1}\n')
    (folder / "points.csv").write_text("a,b\n1.0,1\n2.0,2\n")
    expect("numbers that end in .0", columns(folder / "points.json")[1], {"a": "double", "b": "std::int64_t", "c": "double", "d": "std::uint64_t"})
    (folder / "signs.json").write_text('{"a": -1, "b": 18446744073709551616}\n{"a": 18446744073709551615, "b": 1}\n')
    expect("numbers beyond 64 bits", columns(folder / "signs.json")[1], {"a": "double", "b": "double"})
    expect("numbers that end in .0", columns(folder / "points.csv")[1], {"a": "double", "b": "std::int64_t"})
    (folder / "wide.csv").write_text(",".join(f"c{i}" for i in range(2000)) + "\n" + ",".join(str(i) for i in range(2000)) + "\n")
    (folder / "odd.csv").write_text('a b,a_b,Row,_1st,int,"x\ny","q""r\\",ä\n1,2,3,4,5,6,7,8\n')
    (folder / "odd.jsonl").write_text('{"Place": {"Place": 1, "a b": 2, "fine": 3}, "place": [{"Row": 1}], "Row": {"x": {"y": 1}}}\n')
    (folder / "binary").write_bytes(b"\x01\x02,\x03\n\x04,\x05\n" * 20)
    (folder / "nothing").write_text("")
    (folder / "empty").mkdir()
    (folder / "archive.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (folder / "year=2026").mkdir()
    for month in "a", "b":
        (folder / "year=2026" / f"{month}.csv").write_text("x,y\n1,2\n")

    wanted = {"id": "std::int64_t", "name": "std::optional<std::string>", "price": "double", "paid": "bool", "day": "weft::Date",
              "at": "weft::Timestamp", "zip": "std::string", "big": "std::uint64_t", "note": "std::optional<std::string>",
              "class": "std::string", "empty": "std::optional<std::string>"}
    for file in "in.csv", "in.csv.gz":
        seen, types = columns(folder / file)
        expect(file, types, wanted)
        expect(f"the rows of {file}", [row[:3] for row in seen["rows"]], [["1", 'Ann "A" B', "1.5"], ["-2", "x,y", "2"], ["3", "", "1e3"]])
        expect(f"size of {file}", seen["bytes"], (folder / file).stat().st_size)
    expect("compression is named", "gzip" in columns(folder / "in.csv.gz")[0]["remarks"], True)
    wanted = {"id": "std::int64_t", "name": "std::optional<std::string>", "at": "weft::Timestamp", "tags": "std::vector<std::string>",
              "place": "struct", "extra": "std::optional<std::int64_t>"}
    for file in "in.jsonl", "in.jsonl.bz2":
        expect(file, columns(folder / file)[1], wanted)
    seen, types = columns(folder / "bom.csv")
    expect("bom.csv", types, {"Price in EUR": "std::string", "a b": "std::string"})
    expect("bom.csv", seen["read"], f'flow.read_csv<Row>("{folder}/bom.csv", {{.delimiter = \';\', .names = {{{{"Price_in_EUR", "Price in EUR"}}, {{"a_b", "a b"}}}}}});')
    (folder / "index.csv").write_text(",name,amount\n0,a,1.5\n1,b,2\n")
    seen, types = columns(folder / "index.csv")
    expect("a header with an empty name", types, {"column1": "std::int64_t", "name": "std::string", "amount": "double"})
    expect("its rows", seen["rows"], [["0", "a", "1.5"], ["1", "b", "2"]])
    expect("how it is read", seen["read"], f'flow.read_csv<Row>("{folder}/index.csv", {{.names = {{{{"column1", ""}}}}}});')
    (folder / "hole.csv").write_text(",b,y\n1,a,x\n")
    expect("a missing value in the first row", list(columns(folder / "hole.csv")[1]), ["column1", "column2", "column3"])
    expect("bare.tsv", columns(folder / "bare.tsv")[1], {"column1": "std::int64_t", "column2": "double"})
    expect("lines.txt", columns(folder / "lines.txt")[0]["format"], "text")
    expect("binary", [columns(folder / "binary")[0][what] for what in ("format", "columns")], ["text", []])
    expect("binary", "perhaps of a format that weft does not know" in peek(folder / "binary"), True)
    expect("quoted.csv", columns(folder / "quoted.csv")[0]["rows"][0], ["1", "a\nb"])
    expect("wide.csv", len(columns(folder / "wide.csv")[1]), 2000)
    seen, types = columns(folder / "year=2026")
    expect("a directory", (seen["files"], seen["bytes"], types), (2, 16, {"x": "std::int64_t", "y": "std::int64_t"}))
    (folder / "large.jsonl").write_text('{"id": 9007199254740993, "part": 1.10, "big": 18446744073709551615, "power": 1e2}\n')
    expect("numbers as they are written", columns(folder / "large.jsonl")[0]["rows"], [["9007199254740993", "1.10", "18446744073709551615", "1e2"]])
    expect("numbers as they are written, for people", "9007199254740993" in peek(folder / "large.jsonl"), True)
    (folder / "tabs.csv").write_text("a;b\tc\n1;2\t3\n")
    for delimiter, names in (("\\t", ["a;b", "c"]), ("\t", ["a;b", "c"]), (";", ["a", "b\tc"])):
        expect(f"--delimiter {delimiter!r}", list(columns(folder / "tabs.csv", "--delimiter", delimiter)[1]), names)
    for delimiter in ("||", "§", '"', "\n"):
        message = peek(folder / "in.csv", "--delimiter", delimiter, status=2)
        expect(f"--delimiter {delimiter!r} is refused: {message}", "is not one character" in message, True)
    expect("for people", "COLUMN" in peek(folder / "in.csv") and "std::optional<std::string>" in peek(folder / "in.csv"), True)

    for file, why in ("nothing", "no file in it that has any bytes"), ("empty", "no file in it"), ("missing", "missing"), ("archive.zip", "zip archive"):
        message = peek(folder / file, status=1)
        expect(f"{file} is named, and why: {message}", str(folder / file) in message and why in message, True)

    files = ["in.csv", "in.jsonl", "bom.csv", "bare.tsv", "quoted.csv", "wide.csv", "odd.csv", "odd.jsonl"]
    program = '#include <weft/weft.h>\n'
    for number, file in enumerate(files):
        printed = peek(folder / file, "--cpp")
        declaration, call = printed.rsplit("// ", 1)
        program += f"namespace file_{number} {{\n{declaration}inline auto read(weft::Flow& flow) {{ return {call.strip()} }}\n}}\n"
    calls = "\n".join(f"  file_{number}::read(flow).write_text(job.output + \"{number}\");" for number, file in enumerate(files) if not file.endswith("jsonl"))
    program += f"void define(weft::Flow& flow, const weft::InputOutput& job) {{\n{calls}\n  file_1::read(flow).write_json(job.output);\n  file_7::read(flow).write_json(job.output + \"odd\");\n}}\nWEFT_JOB(define, \"Reads what was peeked at\")\n"
    (folder / "job.cpp").write_text(program)
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{sources}", f"-I{sources}/engine/api", f"-I{generated}", folder / "job.cpp"],
                          capture_output=True, text=True)
    expect(f"compiles: {done.stderr[:3000]}\n{textwrap.shorten(program, 3000)}", done.returncode, 0)

print("\n".join(failures) or "peek_test: all is as wanted")
sys.exit(1 if failures else 0)
