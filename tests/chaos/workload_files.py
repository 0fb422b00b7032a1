"""Files of the cluster, written, read, moved and removed by one client, and a model of what each path may have.

A command that failed may have done its work or not; one that succeeded has done it, and its effect must be seen ever after.
"""
import hashlib
import os
import random
import time

from cluster import PATIENCE
from permitted import permitted

ABSENT = "nothing"
PATHS = 6  # per client


class FileWorkload:
    def __init__(self, cluster, seed, number, injector):
        self.cluster, self.injector = cluster, injector
        self.chance = random.Random(f"files {seed} {number}")
        self.states = {f"/files-{number}-{one}": {ABSENT} for one in range(PATHS)}  # path → what it may have, as digests
        self.scratch = cluster.path(f"files-{number}")
        os.makedirs(self.scratch)
        self.commands = 0

    def run(self, stop):
        while not stop.is_set():
            self.step()

    def step(self):
        path = self.chance.choice(list(self.states))
        if self.states[path] == {ABSENT}:
            self._put(path)
        else:
            self.chance.choices([self._get, self._put, self._remove, self._move], [6, 2, 1, 1])[0](path)

    def check(self):
        """Everything, at the end."""
        for path in self.states:
            self._get(path)

    def _fs(self, *words):
        self.commands += 1
        begin = time.monotonic()
        done = self.cluster.run("weft", "fs", *words, "--patience", PATIENCE)
        done.error = done.stderr.strip()
        done.says_absent = "does not exist" in done.error
        done.excused = permitted("file read" if words[0] == "get" else "file write", done.error, begin, time.monotonic(), self.injector.happened)
        return done

    def _expected_to_work(self, done, *words):
        """With at most two workers suffering, and those not for as long as the command waits, it should."""
        if done.returncode != 0 and not done.excused:
            self.cluster.violations.add(f"weft fs {words[0]}: {done.error}", " ".join(words))
        return done.returncode == 0

    def _put(self, path):
        size = self.chance.choice([0, 1, 1000, 100_000, 900_000, 2_500_000])
        content = self.chance.randbytes(size)
        digest = hashlib.sha256(content).hexdigest()
        with open(self.scratch + "/put", "wb") as file:
            file.write(content)
        done = self._fs("put", self.scratch + "/put", path, "--chunk-size", self.chance.choice(["256KiB", "64MiB"]), "--overwrite")
        if self._expected_to_work(done, "put", path):
            self.states[path] = {digest}
        else:
            self.states[path].add(digest)

    def _get(self, path):
        target = self.scratch + "/got"
        if os.path.exists(target):
            os.unlink(target)
        done = self._fs("get", path, target)
        if done.returncode == 0:
            with open(target, "rb") as file:
                found = hashlib.sha256(file.read()).hexdigest()
        elif done.says_absent:
            found = ABSENT
        else:
            self._expected_to_work(done, "get", path)
            return
        if found not in self.states[path]:
            self.cluster.violations.add(f"{path} has {found[:12]} instead of {' or '.join(state[:12] for state in self.states[path])}: {done.error}")

    def _remove(self, path):
        done = self._fs("rm", path)
        if done.returncode == 0 or (ABSENT in self.states[path] and done.says_absent):
            self.states[path] = {ABSENT}
        else:
            self.states[path].add(ABSENT)
            self._expected_to_work(done, "rm", path)

    def _move(self, path):
        target = self.chance.choice([other for other in self.states if other != path])
        done = self._fs("mv", "--replace", path, target)
        if done.returncode == 0:
            self.states[target] = self.states[path] - {ABSENT}
            self.states[path] = {ABSENT}
        else:
            self.states[target] |= self.states[path]
            if ABSENT not in self.states[path] or not done.says_absent:
                self._expected_to_work(done, "mv", path, target)
            self.states[path] = self.states[path] | {ABSENT}
