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
CUT_OFF = 0.4  # seconds at most until a submission is cut off
GAVE_WAY = 75  # how a driver ends in whose place there is another one
PROGRAMS = ("wordcount", "terasort", "join", "table_probe")


def last_line(text):
    """Those before tell what was waited for."""
    return text.strip().rsplit("\n", 1)[-1][-900:]


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
    """Jobs whose drivers run here, some of which may go on in the cluster, and detached ones. Each has an id of its request, but for half of the
    detached ones."""

    def __init__(self, cluster, inputs, seed, number, injector):
        self.cluster, self.inputs, self.number, self.injector = cluster, inputs, number, injector
        self.chance = random.Random(f"jobs {seed} {number}")
        self.driver, self.driver_killed = None, False
        self.lock = threading.Lock()
        self.finished, self.failed, self.detached, self.went_on = 0, 0, 0, 0
        self.nameless = 0  # submissions without an id
        self.left_over = set()  # names of jobs that may have left something, because their drivers were killed
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
            self._job(f"job{self.number}-{count:03}")

    def _job(self, name):
        kind = self.chance.choice(["wordcount", "wordcount", "sort", "join", "stored", "stored", "table"])
        how = self.chance.choice(["here", "continue", "continue", "detached", "detached"])
        local, stored = self.cluster.path(f"outputs/{name}"), f"/out/{name}"
        place = "weft:/" + stored if kind == "stored" else local
        program, *words = {
            "wordcount": ["wordcount", "--input", f"{self.inputs.directory}/text"],
            "stored": ["wordcount", "--input", "weft://in/text"],
            "sort": ["terasort", "sort", "--input", f"{self.inputs.directory}/records"],
            "join": ["join", "--left", "weft://in/left", "--right", f"{self.inputs.directory}/right"],
            "table": ["table_probe", "sums", "--from", "numbers", "--to", "sums"],
        }[kind]
        words += [] if kind == "table" else ["--output", place]
        words += ["--quiet", "--partitions", str(self.chance.choice([1, 3, 9, 20])), "--shuffle-mode", self.chance.choice(["memory", "pull"]),
                  "--shuffle-replicas", str(self.chance.choice([1, 1, 2])), "--patience", PATIENCE]
        if how != "detached" or self.chance.random() < 0.5:
            words += ["--request-id", name]
        if how == "continue":
            words += ["--on-disconnect", "continue"]
        begin = time.monotonic()
        command, done = self._detached(program, words, kind) if how == "detached" else self._driven(program, words, kind)
        if done.returncode != 0:
            excused = how == "here" and self.driver_killed
            return self._failed(name, command, [how, program, *words], done, begin, excused, local if kind != "stored" else None)
        self.finished += 1
        wrong = self._compare_table() if kind == "table" else self._compare(kind, local, stored)
        if wrong:
            self.cluster.violations.add(f"of a job {wrong}", f"{name}: {how} {program} {' '.join(words)}")
        return None

    # -- ways to run one: each returns what is judged, for permitted(), and how it ended --------------------------------------------------------

    def _driven(self, program, words, kind):
        """With a driver here. When it is killed, or was away for so long that a worker has another one, a job that goes on is found by asking
        for it again."""
        def began(process):
            with self.lock:
                self.driver = process

        self.driver_killed = False
        done = self.cluster.run(program, *words, "--cluster", self.cluster.master_address, deadline=DEADLINE, began=began)
        with self.lock:
            self.driver = None
        gave_way = done.returncode == GAVE_WAY and "has another driver now" in done.stderr
        if done.returncode == 0 or not (self.driver_killed or gave_way) or "--on-disconnect" not in words:
            return "job", done
        self.went_on += 1
        return self._detached(program, words, kind)

    def _detached(self, program, words, kind):
        """With a driver on a worker. A submission with an id is repeated half of the time, and perhaps cut off before; all of them mean one job."""
        named = "--request-id" in words
        words = ["weft", "submit", "--detach", "--patience", PATIENCE, f"{self.cluster.programs}/{program}", "--", *words]
        self.nameless += not named
        if named and self.chance.random() < 0.25:
            self._cut_off(words, self.chance.uniform(0, CUT_OFF))
        submitted = self.cluster.run(*words)
        if submitted.returncode != 0:
            return "submission", submitted
        self.detached += 1
        job = submitted.stdout.strip()
        if named and self.chance.random() < 0.5:
            again = self.cluster.run(*words)
            if again.returncode != 0 and not permitted("submission", again.stderr, time.monotonic(), time.monotonic(), self.injector.happened):
                self.cluster.violations.add(f"a submission cannot be repeated: {last_line(again.stderr)}", " ".join(words))
            if again.returncode == 0 and again.stdout.strip() != job:
                self.cluster.violations.add("a submission that was repeated made another job", f"{again.stdout.strip()} instead of {job}")
        waited = self.cluster.run("weft", "job", "wait", job, "--patience", PATIENCE, "--timeout", f"{DEADLINE}s", deadline=DEADLINE + 60)
        return "job" if kind in ("stored", "table") else "local job", waited

    def _cut_off(self, words, after):
        timer = None

        def began(process):
            nonlocal timer
            timer = threading.Timer(after, process.kill)
            timer.start()

        self.cluster.run(*words, began=began)
        timer.cancel()

    def _failed(self, name, command, words, done, begin, driver_killed, local):
        """Output must not be there."""
        self.failed += 1
        time.sleep(PAUSE)
        self.injector.log(f"{name} failed: {last_line(done.stderr)}")
        if driver_killed:
            self.left_over.add(name)
        elif permitted(command, done.stderr, begin, time.monotonic(), self.injector.happened):
            # It was accepted, and goes on when there is room, or with the next master; or what it had opened could not be removed from a master's
            # disk that is full, and goes with its lease, a minute after the last restart.
            if "--on-disconnect" in words or "disk is full" in done.stderr:
                self.left_over.add(name)
        else:
            self.cluster.violations.add(f"a {command} failed with {done.returncode}: {last_line(done.stderr)}", f"{name}: {' '.join(words)}")
        if local and os.path.exists(local) and not driver_killed:
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
