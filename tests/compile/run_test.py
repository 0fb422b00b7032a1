#!/usr/bin/env python3
"""weft run: compiles a job once, finds it again by its content, keeps its cache small, and says of a wrong program what its author can
correct.

usage: run_test.py WEFT SOURCES"""
import collections
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

weft, sources = sys.argv[1:3]
failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: got {got!r}, wanted {wanted!r}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
    cache = folder / "cache/weft/run"

    def start(*arguments, **more):
        return subprocess.Popen([weft, "run", *map(str, arguments)], cwd=folder, env={**environment, **more}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(*arguments, status=0, **more):
        process = start(*arguments, **more)
        out, err = process.communicate(timeout=120)
        expect(f"exit status of weft run {arguments}: {err}", process.returncode, status)
        return out if status == 0 else err

    def refused(words, *arguments, lines=1, **more):
        said = run(*arguments, status=1, **more)
        for word in words:
            expect(f"'{word}' in what weft run {arguments} says: {said}", word in said, True)
        expect(f"at most {lines} lines of weft run {arguments}: {said}", said.count("\n") <= lines, True)
        return said

    def programs():
        return {path.name: path.stat().st_ino for path in cache.glob("*.program")}

    # A job, twice; the second time it is not compiled again.
    text = "to be or not to be\nbe\n"
    (folder / "book.txt").write_text(text)
    (folder / "wordcount.cpp").write_bytes(pathlib.Path(sources, "apps/wordcount.cpp").read_bytes())
    job = ("wordcount.cpp", "--", "--input", "book.txt", "--output", "counts", "--overwrite", "--quiet")
    made = []
    for _ in range(2):
        run(*job)
        lines = "".join(part.read_text() for part in sorted((folder / "counts").glob("part-*"))).splitlines()
        expect("the words", dict(line.split("\t") for line in lines), {word: str(n) for word, n in collections.Counter(text.split()).items()})
        made.append(programs())
    expect("one program, made once", (len(made[0]), made[0]), (1, made[1]))
    expect("nobody else may look into the cache", stat.S_IMODE(cache.stat().st_mode), 0o700)

    # Programs that begin with weft's header share it precompiled: the header itself is read by nobody then. What is no such thing is not used.
    (precompiled,) = cache.glob("api-*.gch")
    header = precompiled.with_suffix("")
    right = header.read_text()
    weft_program = "// A job.\n/* Of\nnothing. */\n# include <weft/weft.h>\nint main() { return weft::Compression::gzip == weft::Compression::none ? 1 : %d; }\n"
    header.write_text("#error nobody reads this\n")
    (folder / "begins.cpp").write_text(weft_program % 21)
    run("begins.cpp", status=21)
    (folder / "behind.cpp").write_text("#include <cstdio>\n" + weft_program % 22)
    run("behind.cpp", status=22)
    header.write_text(right)
    precompiled.write_bytes(precompiled.read_bytes()[:5000])
    (folder / "damaged.cpp").write_text(weft_program % 23)
    run("damaged.cpp", status=23)
    expect("what is damaged is removed", precompiled.exists(), False)
    (folder / "small.cpp").write_text(weft_program % 25)
    run("--cache", "200MiB", "small.cpp", status=25)
    expect("no header in a cache that is too small for it", precompiled.exists(), False)
    (folder / "again.cpp").write_text(weft_program % 24)
    run("again.cpp", status=24)
    expect("one header for all programs", len(list(cache.glob("api-*"))), 2)

    # Arguments, exit status and signals are the program's; its own headers count.
    (folder / "own.hpp").write_text("constexpr int kValue = 1;\n")
    (folder / "own program.cpp").write_text('#include <cstdio>\n#include <cstdlib>\n#include "own.hpp"\n'
                                            "int main(int, char** argv) { std::printf(\"%d %s\\n\", kValue, argv[1]); if (*argv[1] == '!') std::abort(); }\n")
    (folder / "three.cpp").write_text("int main() { return 3; }\n")
    expect("what a program prints", run("own program.cpp", "--", "--a b"), "1 --a b\n")
    run("three.cpp", status=3)
    process = start("own program.cpp", "--", "!")
    process.communicate(timeout=60)
    expect("a program that is ended by a signal", process.returncode, -6)
    (folder / "own.hpp").write_text("constexpr int kValue = 2;\n")
    expect("another header", run("own program.cpp", "--", "x"), "2 x\n")
    (folder / "own.hpp").write_text("constexpr int kValue = 1;\n")
    before = programs()
    expect("the first header again", run("own program.cpp", "--", "x"), "1 x\n")
    expect("it was kept", programs(), before)

    # Several at once compile it once; what runs is not evicted, the rest is.
    (folder / "waits.cpp").write_text('#include <cstdio>\nint main() { std::puts("here"); std::fflush(stdout); std::getchar(); }\n')
    several = [subprocess.Popen([weft, "run", "waits.cpp"], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for _ in range(4)]
    for one in several:
        expect("several at once", one.stdout.readline(), "here\n")
    running = set(programs()) - set(before)
    expect("one program of several at once", len(running), 1)
    (folder / "four.cpp").write_text("int main() { return 4; }\n")
    run("--cache", "0", "four.cpp", status=4)
    left = set(programs())
    expect("what runs and what was just made is kept", (len(left), running <= left), (2, True))
    for one in several:
        one.communicate("\n", timeout=60)
    (folder / "five.cpp").write_text("int main() { return 5; }\n")
    run("--cache", "0", "five.cpp", status=5)
    expect("of those that ended none is kept", len(programs()), 1)
    expect("nothing half made", list(cache.glob("build-*")), [])

    # What is wrong.
    (folder / "misspelt.cpp").write_text("""#include <weft/weft.h>
struct Order {
  int id;
  double price;
};
static void define(weft::Flow& flow, const weft::InputOutput& options) {
  flow.read_csv<Order>(options.input).filter([](const Order& order) { return order.pricee > 1; }).write_csv(options.output);
}
int main(int argc, char** argv) { return weft::main<weft::InputOutput>(argc, argv, "", weft::declare, define); }
""")
    refused(["misspelt.cpp:7:", "has no member named 'pricee'", "weft filter: the function must be callable", "weft: misspelt.cpp does not compile"],
            "misspelt.cpp", lines=10)
    (folder / "broken.cpp").write_text("int main() {\n" + "".join(f"  wrong{i};\n" for i in range(50)) + "}\n")
    refused(["broken.cpp:2:", "'wrong0' was not declared", "more; --full shows all"], "broken.cpp", lines=10)
    full = run("--full", "broken.cpp", status=1)
    expect("--full says all", all(f"'wrong{i}'" in full for i in range(50)), True)
    (folder / "nomain.cpp").write_text("int f();\nint g() { return f(); }\n")
    refused(["there is no main()"], "nomain.cpp", lines=3)
    (folder / "words.cpp").write_text("these are words\n")
    refused(["words.cpp:1:1:"], "words.cpp", lines=10)
    refused(["there is no missing.cpp"], "missing.cpp")
    (folder / "program").write_bytes(b"\x7fELF\x02\x01\x01\0\0")
    refused(["is not C++: it has bytes that are 0"], "program")
    refused(["is no file with the source of a program"], folder)
    refused(["there is no compiler nowhere++", "--compiler"], "--compiler", "nowhere++", "three.cpp")
    refused(["failed and said nothing (exit code 1)"], "--compiler", "/bin/false", "three.cpp")
    refused(["set HOME or XDG_CACHE_HOME"], "three.cpp", XDG_CACHE_HOME="", HOME="")
    (folder / "elsewhere/weft/open").mkdir(parents=True)
    (folder / "elsewhere/weft/open").chmod(0o777)
    (folder / "elsewhere/weft/run").symlink_to("open")
    refused(["elsewhere/weft/run is not a directory of this user"], "three.cpp", XDG_CACHE_HOME=f"{folder}/elsewhere")
    (folder / "elsewhere/weft/run").unlink()
    (folder / "elsewhere/weft/open").rename(folder / "elsewhere/weft/run")
    refused(["other users may look into", "chmod 700"], "three.cpp", XDG_CACHE_HOME=f"{folder}/elsewhere")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
