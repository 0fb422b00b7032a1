#!/usr/bin/env python3
"""Runs the fenced blocks of a page, in their order: `sh` in one bash (set -e) in an empty directory; a block behind
<!-- file: NAME --> is written to that file first; `cpp` is compiled (syntax and types; --compile FLAGS…), each block behind the
declarations that the page names as <!-- before: … -->. <!-- not run: REASON --> in front of a block leaves it out; --list prints what
is run and what is left out, and why. A page without a reason for a block that cannot run fails.

usage: run_page.py PAGE [--path DIR]… [--prefix DIR] [--list] [--keep DIR]"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?:<!-- (?P<mark>[a-z ]+): (?P<text>.*?) -->\n)?```(?P<language>[a-z]*)\n(?P<body>.*?)^```$", re.M | re.S)


def blocks_of(page):
    """Yields (line, language, mark, text, body) of every block."""
    content = page.read_text()
    for found in FENCE.finditer(content):
        line = content.count("\n", 0, found.start("language")) + 1
        yield line, found["language"], found["mark"], found["text"], found["body"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--path", action="append", default=[], help="where programs are found")
    parser.add_argument("--prefix", default="", help="where weft is installed")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", help="run here, and keep what is made")
    options = parser.parse_args()
    script = ["set -euo pipefail", "export LC_ALL=C.UTF-8"]
    files, left_out = [], []
    for line, language, mark, text, body in blocks_of(options.page):
        where = f"{options.page.name}:{line}"
        if mark == "not run":
            left_out.append(f"{where}: {text}")
        elif mark == "file":
            files.append((text, body))
        elif language == "sh":
            script.append(f"echo '--- {where}'\n{body}")
        elif language not in ("", "text", "json"):
            left_out.append(f"{where}: {language}, for reading")
    if options.list:
        print("\n".join(left_out))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(exist_ok=True)
        for name, body in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body)
        (folder / ".run.sh").write_text("\n".join(script) + "\n")
        environment = dict(os.environ, PATH=os.pathsep.join([*options.path, os.environ["PATH"]]), HOME=str(folder), TMPDIR=str(folder))
        environment.pop("WEFT_MASTER", None)
        if options.prefix:
            environment["CMAKE_PREFIX_PATH"] = options.prefix
        ran = subprocess.Popen(["bash", ".run.sh"], cwd=folder, env=environment, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = ran.communicate(timeout=1500)
        finally:
            try:
                os.killpg(ran.pid, signal.SIGKILL)  # what the page has started and not ended
            except ProcessLookupError:
                pass
        if ran.returncode != 0:
            print(output[-6000:])
            print(f"{options.page.name}: a command of the last block above fails (exit code {ran.returncode})")
            return 1
        print(f"{options.page.name}: {len(script) - 2} blocks run, {len(files)} files, {len(left_out)} blocks left out")
    return 0


sys.exit(main())
