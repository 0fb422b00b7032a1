"""Jobs of all kinds, one after the other, whose outputs are compared with serial references."""
import glob
import os
import random
import shutil
import threading
import time

import references
from cluster import PATIENCE
from permitted import permitted

DEADLINE = 180  # seconds for a job
PAUSE = 0.2  # after one that failed
PROGRAMS = ("wordcount", "terasort", "join", "table_probe")


class Inputs:
    """Of all jobs, as files of this machine, files of the cluster, and a table; and their references."""

    def __init__(self, cluster, seed):
        chance = random.Random(f"inputs {seed}")
        self.text, self.records = references.words(chance, 120_000), references.records(chance, 12_000)
        self.left, self.right = references.users(2_000), references.orders(chance, 20_000, 2_000)
        self.numbers = references.numbers(chance, 2_000)
        self.counts, self.sorted = references.wordcount(self.text), references.terasort(self.records)
        self.joined, self.sums = references.join(self.left, self.right), references.sums(self.numbers)
        self.directory = cluster.path("inputs")
        os.makedirs(self.directory)
        for name in ("text", "records", "left", "right"):
            with open(f"{self.directory}/{name}", "w") as file:
                file.write(getattr(self, name))
        with open(f"{self.directory}/numbers", "w") as file:
            file.writelines(f"{key}\t{value}\n" for key, value in self.numbers.items())

    def store(self, cluster):
        """In the cluster. Returns what went wrong."""
        commands = [["fs", "mkdir", "/in", "/out"]]
        commands += [["fs", "put", f"{self.directory}/{name}", f"/in/{name}", "--chunk-size", "128KiB"] for name in ("text", "left", "right")]
        commands += [["table", "create", "numbers", "--partitions", "4"], ["table", "create", "sums", "--partitions", "2"]]
        commands += [["table", "import", "numbers", f"{self.directory}/numbers"]]
        for words in commands:
            done = cluster.run("weft", *words)
            if done.returncode != 0:
                return f"weft {' '.join(words)}: {done.stderr.strip()}"
        return ""


class JobWorkload:
    def __init__(self, cluster, inputs, seed, number, injector):
        self.cluster, self.inputs, self.number, self.injector = cluster, inputs, number, injector
        self.chance = random.Random(f"jobs {seed} {number}")
        self.driver, self.driver_killed = None, False
        self.lock = threading.Lock()
        self.finished, self.failed, self.left_over = 0, 0, 0
        os.makedirs(cluster.path("outputs"), exist_ok=True)

    def kill_driver(self):
        with self.lock:
            if self.driver:
                self.driver_killed = True
                self.driver.kill()

    def run(self, stop):
        count = 0
        while not stop.is_set():
            count += 1
            self._job(f"{self.number}-{count}")

    def _job(self, name):
        kind = self.chance.choice(["wordcount", "wordcount", "sort", "join", "stored", "stored", "table"])
        local, stored = self.cluster.path(f"outputs/{name}"), f"/out/{name}"
        place = "weft:/" + stored if kind == "stored" else local
        words = {
            "wordcount": ["wordcount", "--input", f"{self.inputs.directory}/text"],
            "stored": ["wordcount", "--input", "weft://in/text"],
            "sort": ["terasort", "sort", "--input", f"{self.inputs.directory}/records"],
            "join": ["join", "--left", "weft://in/left", "--right", f"{self.inputs.directory}/right"],
            "table": ["table_probe", "sums", "--from", "numbers", "--to", "sums"],
        }[kind]
        words += [] if kind == "table" else ["--output", place]
        words += ["--quiet", "--cluster", self.cluster.master_address, "--partitions", str(self.chance.choice([1, 3, 9, 20])), "--shuffle-mode",
                  self.chance.choice(["memory", "pull"]), "--shuffle-replicas", str(self.chance.choice([1, 1, 2])), "--patience", PATIENCE]
        begin = time.monotonic()
        done = self._driven(words)
        if done.returncode != 0:
            return self._failed(name, words, done, begin, local if kind != "stored" else None)
        self.finished += 1
        wrong = self._compare_table() if kind == "table" else self._compare(kind, local, stored)
        if wrong:
            self.cluster.violations.add(f"of a job {wrong}", f"{name}: {' '.join(words)}")

    def _driven(self, words):
        def began(process):
            with self.lock:
                self.driver, self.driver_killed = process, False

        done = self.cluster.run(*words, deadline=DEADLINE, began=began)
        with self.lock:
            self.driver = None
        return done

    def _failed(self, name, words, done, begin, local):
        """Output must not be there."""
        self.failed += 1
        time.sleep(PAUSE)
        excused = self.driver_killed or permitted("job", done.stderr, begin, time.monotonic(), self.injector.happened)
        self.left_over += excused
        if not excused:
            self.cluster.violations.add(f"a job failed with {done.returncode}: {done.stderr.strip()[-600:]}", f"{name}: {' '.join(words)}")
        if local and os.path.exists(local) and not self.driver_killed:
            self.cluster.violations.add("a job failed and has output", f"{name}: {' '.join(words)}: {done.stderr.strip()[-300:]}")

    def _when_there_is_room(self, *words):
        """A command of the harness itself, which looks at what a job left: full disks refuse it while they are full."""
        end = time.monotonic() + 90
        while True:
            ended = self.cluster.run(*words, "--patience", PATIENCE)
            if ended.returncode == 0 or "disk is full" not in ended.stderr or time.monotonic() > end:
                return ended
            time.sleep(0.5)

    def _compare(self, kind, local, stored):
        if kind == "stored":
            fetched = self._when_there_is_room("weft", "fs", "get", "-r", stored, local)
            if fetched.returncode != 0:
                return f"the output cannot be read: {fetched.stderr.strip()}"
        if not os.path.exists(local + "/_SUCCESS"):
            return "there is no _SUCCESS, although it ended with 0"
        content = ""
        for part in sorted(glob.glob(local + "/part-*")):
            with open(part) as file:
                content += file.read()
        expected = {"sort": self.inputs.sorted, "join": self.inputs.joined}.get(kind, self.inputs.counts)
        found = content if kind == "sort" else sorted(content.splitlines())
        shutil.rmtree(local)
        if kind == "stored":
            removed = self._when_there_is_room("weft", "fs", "rm", "-r", stored)
            if removed.returncode != 0:
                return f"the output cannot be removed: {removed.stderr.strip()}"
        return "" if found == expected else f"the output is wrong: {len(found)} instead of {len(expected)}"

    def _compare_table(self):
        read = self._when_there_is_room("weft", "table", "scan", "sums")
        if read.returncode != 0:
            return f"the table cannot be read: {read.stderr.strip()}"
        found = {key: int(value) for key, value in (line.split("\t") for line in read.stdout.splitlines())}
        return "" if found == self.inputs.sums else f"the rows are wrong: {found} instead of {self.inputs.sums}"
