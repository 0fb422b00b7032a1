#!/usr/bin/env python3
"""Compiles programs that are wrong (wrong_programs.txt). Each must fail; the first line with an error must say what it is expected to,
which names the operator and the remedy, and be the only one, and there may be 25 lines in all. With --seconds S, each compiles on its own, without the
precompiled header that the others share, and takes at most S seconds of processor time.

usage: checks_test.py COMPILER SOURCES GENERATED [--only WORD] [--seconds S] [--show]"""
import argparse
import concurrent.futures
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

MOST_LINES = 25
PROLOGUE = """#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weft/weft.h>
"""


def read_programs(path):
    programs = []
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            name, expected = line[3:].split(": ", 1)
            programs.append((name, expected, []))
        elif programs:
            programs[-1][2].append(line)
    for name, expected, lines in programs:
        split = lines.index("---")
        yield name, expected, "\n".join(lines[:split]), "\n".join(lines[split + 1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compiler")
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("generated")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    flags = ["-std=c++20", "-O3", "-fdiagnostics-color=never", "-fmessage-length=0", f"-I{options.sources}",
             f"-I{options.sources}/engine/api", f"-I{options.generated}"]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        prologue = pathlib.Path(folder) / "prologue.hpp"
        prologue.write_text(PROLOGUE)
        if options.seconds is None:
            subprocess.run([options.compiler, *flags, "-x", "c++-header", str(prologue)], check=True)

        def compile_one(program):
            name, expected, declarations, body = program
            source = pathlib.Path(folder) / (name.replace(" ", "_") + ".cpp")
            source.write_text(f'#include "prologue.hpp"\n{declarations}\n'
                              f"void define(weft::Flow& flow, const weft::InputOutput& job) {{\n(void)job;\n{body}\n}}\n")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ran = subprocess.run([options.compiler, *flags, "-fsyntax-only", str(source)], capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return program, ran, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        programs = [p for p in read_programs(pathlib.Path(__file__).parent / "wrong_programs.txt") if options.only in p[0]]
        with concurrent.futures.ThreadPoolExecutor(1 if options.seconds else os.cpu_count()) as pool:
            for (name, expected, _, _), ran, seconds in pool.map(compile_one, programs):
                lines = ran.stderr.splitlines()
                first = next((line for line in lines if "error:" in line), "")
                wrong = []
                if ran.returncode == 0:
                    wrong.append("it compiles")
                elif expected not in first:
                    wrong.append(f"the first error does not say '{expected}' but: {first}")
                errors = sum("error:" in line for line in lines)
                if errors > 1:
                    wrong.append(f"there are {errors} errors")
                if len(lines) > MOST_LINES:
                    wrong.append(f"{len(lines)} lines, more than {MOST_LINES}")
                if options.seconds and seconds > options.seconds:
                    wrong.append(f"{seconds:.1f} s, more than {options.seconds}")
                failures += bool(wrong)
                if wrong or options.show:
                    print(f"--- {name}: {'; '.join(wrong) or 'as expected'} ({len(lines)} lines, {seconds:.1f} s)")
                    print(ran.stderr[:6000])
        print(f"{len(programs)} wrong programs, {failures} with an unexpected report")
    return 1 if failures else 0


sys.exit(main())
