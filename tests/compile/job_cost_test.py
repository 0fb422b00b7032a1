#!/usr/bin/env python3
"""Compiles programs of jobs at -O3, as the installed package has its users do it: README's, a page's of the tutorial, and the joins of
apps. Each must take no more memory than its bound, and with --seconds also no more processor time: a test does not ask for that, because
on a loaded machine all takes longer. Prints both.

usage: job_cost_test.py COMPILER SOURCES GENERATED [--seconds S] [--only NAME]"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

MOST_MEBIBYTES = 330  # of which the ways that a join may go take 15


def fenced(page):
    return re.findall(r"```cpp\n(.*?)```", page.read_text(), re.S)


def programs(sources, folder):
    """(name, source) of each."""
    (folder / "readme.cpp").write_text(fenced(sources / "README.md")[0])
    header, *others = fenced(sources / "docs" / "tutorial.md")
    (folder / "visit.hpp").write_text(header)
    (folder / "tutorial.cpp").write_text(next(text for text in others if '"visit.hpp"' in text and "left_join" in text))
    yield "readme", folder / "readme.cpp"
    yield "tutorial", folder / "tutorial.cpp"
    yield "join", sources / "apps" / "join.cpp"


def cost(command):
    """Exit status, seconds of a processor, and MiB of the largest process."""
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compiler")
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("generated")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    # As in engine/api/CMakeLists.txt.
    collect = re.findall(r"--param=[a-z-]+=\d+", (options.sources / "engine" / "api" / "CMakeLists.txt").read_text())
    flags = ["-std=c++20", "-O3", "-DNDEBUG", *collect, f"-I{options.sources}", f"-I{options.sources}/engine/api",
             f"-I{options.generated}"]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, source in programs(options.sources, folder):
            if options.only not in program:
                continue
            status, seconds, mebibytes = cost([options.compiler, *flags, f"-I{folder}", "-c", str(source), "-o", str(folder / "job.o")])
            over = status != 0 or mebibytes > MOST_MEBIBYTES or (options.seconds is not None and seconds > options.seconds)
            failures += over
            print(f"{program:10} {seconds:6.1f} s {mebibytes:6.0f} MiB, bound {MOST_MEBIBYTES} MiB"
                  f"{'' if options.seconds is None else f' and {options.seconds} s'}  {'OVER' if over else 'ok'}")
    return 1 if failures else 0


sys.exit(main())
