#!/usr/bin/env python3
"""Runs the fenced blocks of a page, in their order: those of `sh` in one bash (set -e) in an empty directory, which is also $HOME, with
a network of their own where that is possible; a block behind <!-- file: NAME --> is written to that file first. What only the test
needs is in comments of the page, <!-- setup … -->, which are run where they stand; $PAGE_FOLDER is where the page lies.
<!-- not run: REASON --> in front of a block leaves it out; --list prints what is left out, and why.

usage: run_page.py PAGE [--path DIR]… [--prefix DIR] [--list] [--keep DIR]"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^<!-- setup\n(?P<setup>.*?)^-->$|"
                   r"^(?:<!-- (?P<mark>[a-z ]+): (?P<text>[^\n]*?) -->\n)?```(?P<language>[a-z]*)\n(?P<body>.*?)^```$", re.M | re.S)


def blocks_of(page):
    """Yields (line, language, mark, text, body) of every block."""
    content = page.read_text()
    for found in FENCE.finditer(content):
        line = content.count("\n", 0, found.start()) + 1
        if found["setup"] is not None:
            yield line, "sh", None, None, found["setup"]
        else:
            yield line, found["language"], found["mark"], found["text"], found["body"]


def own_network():
    """What a command is run behind, so that it has a loopback of its own; nothing where that is not allowed."""
    command = ["unshare", "--net", "--map-root-user", "--", "bash", "-c", 'ip link set lo up && exec "$@"', "bash"]
    try:
        possible = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        possible = False
    return command if possible else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--path", action="append", default=[], help="where programs are found")
    parser.add_argument("--prefix", default="", help="where weft is installed")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=900)
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
            left_out.append(f"{where}: {language}, " + ("compiled by fragments_test.py" if language == "cpp" else "for reading"))
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
        environment = dict(os.environ, PATH=os.pathsep.join([*options.path, os.environ["PATH"]]), HOME=str(folder), TMPDIR=str(folder),
                           PAGE_FOLDER=str(options.page.resolve().parent))
        environment.pop("WEFT_MASTER", None)
        if options.prefix:
            environment["CMAKE_PREFIX_PATH"] = options.prefix
            (folder / "weft").symlink_to(options.prefix)
        log = folder / ".output"
        with log.open("w") as written:  # no pipe: what runs in the background would keep it open
            ran = subprocess.Popen([*own_network(), "bash", ".run.sh"], cwd=folder, env=environment, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT)
            try:
                code = ran.wait(timeout=options.seconds)
            except subprocess.TimeoutExpired:
                code = "none: it did not end in time"
            finally:
                try:
                    os.killpg(ran.pid, signal.SIGKILL)  # what the page has started and not ended
                except ProcessLookupError:
                    pass
        if code != 0:
            print(log.read_text()[-6000:])
            print(f"{options.page.name}: a command of the last block above fails (exit code {code})")
            return 1
        print(f"{options.page.name}: {len(script) - 2} blocks run, {len(files)} files, {len(left_out)} blocks left out")
    return 0


sys.exit(main())
