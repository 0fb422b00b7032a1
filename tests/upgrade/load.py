"""Jobs that run while a cluster is upgraded, and what must come of them."""
import collections
import random
import re
import threading

from failed import DEADLINE, Failed

WORDS = 1_500_000


def make_text(path):
    """And what is to be counted in it."""
    drawn = random.Random(1)
    words = [f"word{drawn.randrange(20_000)}" for _ in range(WORDS)]
    with open(path, "w", encoding="ascii") as text:
        for first in range(0, WORDS, 10):
            text.write(" ".join(words[first:first + 10]) + "\n")
    return dict(collections.Counter(words))


def parse_counts(text):
    counts = {}
    for line in text.splitlines():
        word, _, count = line.rpartition("\t")
        counts[word] = int(count)
    return counts


def attached(client, name):
    """Of a driver that runs beside the client."""
    output = client.output(name)
    client.run("wordcount", "--quiet", "--patience", "60s", "--cluster", client.master, "--input", client.text, "--output", output)
    return client.take(output)


def detached(client, name):
    """Of a driver that runs in the cluster. Half of the submissions by the new release have no id."""
    nameless = re.search(r"new-\d*[13579]$", name)
    words = (*(() if nameless else ("--request-id", name)), "--detach", client.path_of("wordcount"), "--", "--input", "weft://text", "--output", f"weft://{name}")
    job = re.search(r"\d+", client.run("weft", "submit", "--patience", "60s", *words))[0]
    client.run("weft", "job", "wait", job, "--patience", "60s")
    return client.take(f"weft://{name}")


class Load(threading.Thread):
    """One job after the other, until it is told to stop. The result of each is compared."""

    def __init__(self, name, client, expected, job):
        super().__init__(name=name, daemon=True)
        self.client, self.expected, self.job = client, expected, job
        self.ended, self.failure, self.stopping = 0, None, threading.Event()

    def run(self):
        number = 0
        while not self.stopping.is_set() and not self.failure:
            number += 1
            try:
                counted = parse_counts(self.job(self.client, f"{self.name.replace(' ', '-')}-{number}"))
                if counted != self.expected:
                    raise Failed(f"{len(counted)} words counted, {len(self.expected)} expected, and some counts differ")
                self.ended += 1
            except Exception as failure:  # whatever it is, it is this test's result
                self.failure = f"{self.name}, job {number}: {failure}"


class Loads:
    """Attached and detached jobs of programs of both releases."""

    def __init__(self, old, new, expected):
        self.all = [Load(f"{how} {release}", client, expected, job)
                    for release, client in (("old", old), ("new", new)) for how, job in (("attached", attached), ("detached", detached))]
        for load in self.all:
            load.start()

    def check(self):
        for load in self.all:
            if load.failure:
                raise Failed(load.failure)

    def enough(self):
        """A condition: until each kind of job has begun and ended since now."""
        before = {load: load.ended for load in self.all}

        def done():
            self.check()
            return all(load.ended >= before[load] + 2 for load in self.all)

        return done

    def end(self):
        for load in self.all:
            load.stopping.set()
        for load in self.all:
            load.join(DEADLINE)
        self.check()
