"""What clients see of masters while they fail and take over: who leads, and how long nobody does."""
import base64
import json
import socket
import threading
import time
import urllib.request

import world
from cluster import PATIENCE
from permitted import permitted

LEASE = 3  # seconds, of the one that leads (`weft master --leader-lease`)
LONGEST = 8.0  # seconds that a change may wait for a master that leads, after a fault of one: 5 and a lease
PAUSE = 0.3  # between changes
ANSWER = 1.0  # seconds for etcd
DIRECTORY = "/beats"
ETCD_FAULTS = ("etcd-kill", "etcd-stop")  # while it is away nobody may lead


def encoded(key):
    return base64.b64encode(key.encode()).decode()


class Group:
    """Several masters, as etcd knows them. Any thread."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.names = {address: name for name, address in zip(cluster.masters, cluster.master_address.split(","))}

    def __bool__(self):
        return len(self.names) > 1

    def standby(self, leader):
        return next(name for name in self.cluster.masters if name != leader)

    def whole(self):
        """The name of the master that leads, if it does and all others may take over; else nothing."""
        try:
            values = self._values()
        except (OSError, ValueError):
            return None
        if "/weft/leader" not in values or "/weft/state" not in values:
            return None
        record = json.loads(values["/weft/state"])
        return self.names.get(record["address"]) if len(record["in_sync"]) == len(self.names) and self._listens(record["address"]) else None

    @staticmethod
    def _listens(address):
        """A master that follows refuses connections. So does one that was killed and started again, although it still has the lease of before."""
        host, port = address.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), ANSWER):
                return True
        except OSError:
            return False

    @staticmethod
    def _values():
        body = json.dumps({"key": encoded("/weft/"), "range_end": encoded("/weft0")}).encode()
        with urllib.request.urlopen(f"http://{world.ETCD}:2379/v3/kv/range", body, ANSWER) as answer:
            pairs = json.load(answer).get("kvs", [])
        return {base64.b64decode(pair["key"]).decode(): base64.b64decode(pair["value"]).decode() for pair in pairs}


class Beat:
    """A client that makes one directory after the other, each a change that a master has to keep: it waits while nobody leads."""

    def __init__(self, cluster, injector, log):
        self.cluster, self.injector, self.log = cluster, injector, log
        self.made, self.longest, self.thread, self.stop = [], 0.0, None, threading.Event()

    def begin(self):
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def end(self):
        """And looks whether all that was made is there."""
        self.stop.set()
        self.thread.join()
        listed = self.cluster.run("weft", "fs", "ls", DIRECTORY, "--json", "--patience", PATIENCE)
        there = {entry["path"] for entry in json.loads(listed.stdout or "[]")}
        if lost := [path for path in self.made if path not in there]:
            self.cluster.violations.add("directories that were made are not there", f"{lost}: {listed.stderr.strip()[-300:]}")

    def _run(self):
        number = 0
        try:
            while not self.stop.is_set():
                number += 1
                self.step(f"{DIRECTORY}/{number:05}")
                self.stop.wait(PAUSE)
        except Exception as error:
            self.cluster.violations.add(f"the harness failed: {error!r}")
            raise

    def step(self, path):
        began = time.monotonic()
        done = self.cluster.run("weft", "fs", "mkdir", "-p", path, "--patience", PATIENCE)
        ended = time.monotonic()
        if done.returncode == 0:
            self.made.append(path)
            self.injector.served = ended
        elif not permitted("file write", done.stderr, began, ended, self.injector.happened):
            self.cluster.violations.add(f"weft fs mkdir: {done.stderr.strip()}")
        if ended - began > LEASE:
            self.log(f"         a directory took {ended - began:.1f} s to make")
        if any(self.injector.happened(kind, began - LEASE, ended) for kind in ETCD_FAULTS):
            return
        self.longest = max(self.longest, ended - began)
        if len(self.cluster.masters) > 1 and ended - began > LONGEST:
            self.cluster.violations.add(f"nobody led for {ended - began:.1f} s")
