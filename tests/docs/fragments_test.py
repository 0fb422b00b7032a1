#!/usr/bin/env python3
"""Compiles the fragments of C++ of pages, as they are printed: those that declare what a program begins with, in a namespace of their
own; others as the body of a function. What they take as known is in fragments.hpp; `…` stands for what is left out. Files that pages
have whole (<!-- file: NAME -->) are built by run_page.py. <!-- not compiled: REASON --> in front of a block leaves it out.

usage: fragments_test.py COMPILER SOURCES GENERATED PAGE… [--keep FILE]"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?:<!-- (?P<mark>[a-z ]+): [^\n]*? -->\n)?```cpp\n(?P<body>.*?)^```$", re.M | re.S)
# In namespaces and in functions there are no specialisations.
GLOBAL = re.compile(r"^template <", re.M)
DECLARATIONS = re.compile(r"^(void define|void declare|int main|#include)", re.M)


def source_of(number, line, page, body):
    body = "\n".join("" if text.startswith("#include") else text for text in body.splitlines())
    body = body.replace("{ … }", "{ return 1; }").replace("…", "")
    at = f'#line {line} "{page}"\n{body}\n'
    if GLOBAL.search(body):
        return at
    if DECLARATIONS.search(body):
        return f"namespace fragment_{number} {{\n{at}}}\n"
    return f"int fragment_{number}(WEFT_FRAGMENT) {{\n{{\n{at}}}\nreturn 0;\n}}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compiler")
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("generated")
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    text, count = '#include "tests/docs/fragments.hpp"\n', 0
    for page in options.pages:
        content = (options.sources / page).read_text()
        for found in FENCE.finditer(content):
            if found["mark"] in ("file", "not compiled"):
                continue
            count += 1
            # The first line of the block is behind the fence, and perhaps a mark.
            text += source_of(count, content.count("\n", 0, found.start("body")) + 1, page, found["body"])
    with tempfile.TemporaryDirectory() as folder:
        source = options.keep or pathlib.Path(folder) / "fragments.cpp"
        source.write_text(text)
        command = [options.compiler, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{options.sources}",
                   f"-I{options.sources}/engine/api", f"-I{options.generated}", str(source)]
        ran = subprocess.run(command, capture_output=True, text=True)
    errors = [line for line in ran.stderr.splitlines() if "error:" in line]
    if ran.returncode != 0:
        print("\n".join(errors[:40]) or ran.stderr[-4000:])
        return 1
    print(f"{count} fragments of {len(options.pages)} pages compile")
    return 0


sys.exit(main())
