"""The processes of a run: masters, workers, and the programs that use them. Every end of one is judged."""
import collections
import errno
import json
import os
import re
import signal
import subprocess
import threading
import time

import world

PORT = 7077
DISK_BYTES = 512 << 20  # of each worker
MASTER_DISK_BYTES = 256 << 20
KIND = 200  # characters by which violations are told apart
PATIENCE = "60s"  # of commands and jobs with what is away
START = 60  # seconds at most until a daemon is ready
STOP = 30  # and until it has ended in good order
UNSETTLED_FILES = ("safe_mode", "missing_chunks", "under_replicated", "corrupt_replicas", "copies")  # of weft fs report
UNSETTLED_TABLES = ("short_partitions", "down_partitions")  # of weft table list
USER = "chaos"  # of all jobs, files and tables


class Violations:
    """What must not be. One line each, counted when they are the same but for numbers and details. Any thread."""

    def __init__(self, log):
        self._log, self._lock, self._counts = log, threading.Lock(), {}

    def add(self, text, details=""):
        kind = re.sub(r"[0-9a-f]*\d[0-9a-f]*", "N", text.split("\n")[0])[:KIND]
        with self._lock:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if self._counts[kind] <= 3:
                self._log(f"VIOLATION {text}" + (f": {details}" if details else ""))

    def __len__(self):
        return len(self._counts)

    def __str__(self):
        return "\n".join(f"  {count} × {kind}" for kind, count in sorted(self._counts.items()))


class Daemon:
    """A master, worker or etcd under a name; started again and again."""

    def __init__(self, name, words, log, environment):
        self.name, self.words, self.log, self.environment = name, words, log, environment
        self.process, self.sent = None, set()  # signals

    def start(self):
        self.sent = set()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(world.Network.at(self.name) + self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment)

    def signal(self, number):
        self.sent.add(number)
        if self.process.poll() is None:
            self.process.send_signal(number)

    def unexpected(self):
        """How it ended, if by itself; judged once. None while it runs, or when it ended as it was told to."""
        status = self.process.poll() if self.process else None
        if status is None or -status in self.sent or (status == 0 and signal.SIGTERM in self.sent):
            return None
        how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        self.process = None
        return how

    def found_no_disk(self):
        """A worker does not begin where it can read nothing of what it keeps."""
        words = self.last_words(1)
        return words.startswith("weft: ") and "Input/output error" in words and ("no data directory works" in words or "/tables/CLUSTER" in words)

    def last_words(self, count=3):
        with open(self.log, "rb") as log:
            lines = log.read()[-3000:].decode(errors="replace").strip().split("\n")
        return " | ".join(line[:300] for line in lines[-count:])


class Cluster:
    """Of `masters` masters and `workers` workers on disks of their own. `programs` is a directory of programs; `library` makes disks fail.
    Several masters meet in an etcd."""

    def __init__(self, directory, programs, library, workers, masters, network, log):
        self.directory, self.programs, self.network, self.log = directory, programs, network, log
        self.violations = Violations(log)
        self.masters = list(world.MASTERS[masters])
        self.workers = [f"w{number}" for number in range(1, workers + 1)]
        self.master_address = ",".join(f"{network.addresses[name]}:{PORT}" for name in self.masters)  # all of them
        self.lock = threading.RLock()  # of what runs
        self.ending = False
        self.away = collections.Counter()  # daemons that are dead because they were told to be, by how many who will start them again
        self.executors_killed = collections.Counter()  # by worker
        self.failing_disks = {}  # by worker: whether its disk gives errors
        self.environment = dict(os.environ, WEFT_MASTER=self.master_address, WEFT_CRASH_LOG=self.path("crashes"), TMPDIR=self.path("tmp"),
                                WEFT_SECURITY=self.path("security/" + USER))
        for name in ("logs", "tmp", "faults"):
            os.makedirs(self.path(name))
        subprocess.run([f"{programs}/weft", "security", "init", self.path("security"), "--user", USER], check=True, stdout=subprocess.DEVNULL)
        self.daemons = {}
        if masters > 1:
            self.daemons["etcd"] = Daemon("etcd", self._etcd_words(), self.path("logs/etcd"), self.environment)
        for name in self.masters:
            self._make_disk(name, MASTER_DISK_BYTES)
            self.daemons[name] = Daemon(name, self._master_words(name), self.path(f"logs/{name}"), self._as("master"))
        for number, name in enumerate(self.workers, 1):
            self._make_disk(name, DISK_BYTES)
            self.disk_says(name)
            environment = dict(self._as("worker"), LD_PRELOAD=library, WEFT_DISK_FAULTS=self.path(f"faults/{name}"))
            self.daemons[name] = Daemon(name, self._worker_words(number), self.path(f"logs/{name}"), environment)

    def path(self, name):
        return f"{self.directory}/{name}"

    def _as(self, role):
        """The environment of a process with the certificate of that role; all connections are encrypted."""
        return dict(self.environment, WEFT_SECURITY=self.path("security/" + role))

    def disk(self, daemon):
        return self.path(f"disks/{daemon}")

    def _make_disk(self, daemon, size):
        os.makedirs(self.disk(daemon))
        world.run(f"mount -t tmpfs -o size={size} none {self.disk(daemon)}")

    def disk_says(self, worker, number=0, operations=""):
        """From now on, to all calls of the worker and its executors (tests/faults/disk_faults.cpp); 0: nothing. Room is never taken in
        advance, because a database takes 22 MiB then, which are memory here."""
        lines = [f"{errno.EOPNOTSUPP} allocate"] + ([f"{number} {operations}"] if number else [])
        path = self.path(f"faults/{worker}")
        with open(path + ".new", "w") as file:
            file.writelines(f"{line} {self.disk(worker)}/\n" for line in lines)
        os.rename(path + ".new", path)
        self.failing_disks[worker] = number != 0

    @staticmethod
    def _clients_of_etcd():
        return f"http://{world.ETCD}:2379"

    def _etcd_words(self):
        """Its directory is not on a disk of its own, because etcd takes 128 MiB in advance."""
        clients, peers = self._clients_of_etcd(), "http://127.0.0.1:2380"
        words = ["etcd", "--name", "chaos", "--data-dir", self.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn", "--logger", "zap"]
        words += ["--listen-client-urls", clients, "--advertise-client-urls", clients]
        return words + ["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"chaos={peers}"]

    def _master_words(self, name):
        """All that it keeps is in one directory, with which it goes on after each restart."""
        paths = ["--data-dir", f"{self.disk(name)}/data"]
        paths += ["--event-log", self.path("logs/events" if name == "master" else f"logs/events-{name}")]  # it remains to be looked at
        group = ["--etcd", self._clients_of_etcd()] if len(self.masters) > 1 else []
        group += ["--standby"] if name != self.masters[0] else []
        return [f"{self.programs}/weft", "master", "--listen", f"{self.network.addresses[name]}:{PORT}", "--http", "none", *paths, *group]

    def _worker_words(self, number):
        name = f"w{number}"
        place = ["--listen", f"{self.network.addresses[name]}:0", "--name", name, "--host", f"h{number}", "--rack", "AB"[number % 2], "--share", "false"]
        memory = ["--slots", "2", "--memory", "64MiB", "--store-memory", "4MiB"]
        disk = ["--directory", f"{self.disk(name)}/work", "--chunk-dir", f"{self.disk(name)}/chunks", "--chunk-reserve", "1MiB"]
        return [f"{self.programs}/weft", "worker", "--master", self.master_address, *place, *memory, *disk, "--scrub-rate", "64MiB",
                "--scrub-interval", "5s"]

    # -- daemons -------------------------------------------------------------------------------------------------------------------------------

    def start(self):
        for name in self.daemons:
            self.start_daemon(name)
        threading.Thread(target=self._watch, daemon=True).start()
        return self.ready()

    def start_daemon(self, name):
        """Undoes a kill_daemon(); it runs when all of them are undone."""
        with self.lock:
            self.away[name] -= self.away[name] > 0
            if not self.away[name]:
                self.daemons[name].start()

    def kill_daemon(self, name):
        with self.lock:
            self.away[name] += 1
            daemon = self.daemons[name]
            if daemon.process:  # else it has just ended by itself
                daemon.signal(signal.SIGKILL)
                daemon.process.wait()

    def signal_daemon(self, name, number):
        with self.lock:
            if self.daemons[name].process:
                self.daemons[name].signal(number)

    def _watch(self):
        """Who ends by itself has violated something, and is started again, because much else depends on it."""
        while not self.ending:
            time.sleep(0.1)
            with self.lock:
                if not self.ending:
                    self._judge()

    def _judge(self):
        for name, daemon in self.daemons.items():
            if self.away[name]:
                continue
            if (how := daemon.unexpected()) and not (self.failing_disks.get(name) and daemon.found_no_disk()):
                self.violations.add(f"{name} {how}, which nobody asked for", daemon.last_words())
            if daemon.process is None:
                time.sleep(0.5)
                self.start_daemon(name)

    def ready(self):
        waited = self.run("weft", "node", "wait", str(len(self.workers)), "--timeout", f"{START}s", deadline=2 * START)
        return waited.returncode == 0

    def joined(self):
        """The workers that the master hears of. One whose tasks kept failing may be given none for two minutes, and is none the less there."""
        listed = self.run("weft", "node", "list", "--json")
        if listed.returncode != 0:
            return []
        return [node["name"] for node in json.loads(listed.stdout) if node["state"] not in ("lost", "dead")]

    def unsettled(self):
        """What keeps the workers from having everything as many times as it should be there."""
        report, tables = self.run("weft", "fs", "report", "--json"), self.run("weft", "table", "list", "--json")
        if report.returncode != 0 or tables.returncode != 0:
            return [(report.stderr + tables.stderr).strip()]
        files = json.loads(report.stdout)
        wants = [f"{worker} is away" for worker in self.workers if worker not in self.joined()]
        wants += [f"{name}: {files[name]}" for name in UNSETTLED_FILES if files[name]]
        return wants + [f"table {table['name']}: {name}: {table[name]}" for table in json.loads(tables.stdout) for name in UNSETTLED_TABLES if table[name]]

    def executors(self, worker):
        """Ids of the executors of this worker."""
        return [pid for pid, job in self._children(worker) if job is None]

    def drivers(self):
        """Drivers on workers: name of the worker, number of the job, id of the process."""
        return [(worker, job, pid) for worker in self.workers for pid, job in self._children(worker) if job is not None]

    def _children(self, worker):
        """Processes that the worker has started, and of drivers the job."""
        with self.lock:
            parent = self.daemons[worker].process
        if parent is None:
            return []
        children = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    state, owner = file.read().rsplit(")", 1)[1].split()[:2]
                if int(owner) != parent.pid or state == "Z":
                    continue
                with open(f"/proc/{pid}/environ", "rb") as file:
                    job = re.search(rb"(?:^|\0)WEFT_DRIVER_JOB=(\d+)\0", file.read())
            except OSError:
                continue
            children.append((int(pid), int(job[1]) if job else None))
        return children

    def stop(self):
        """In good order, workers first."""
        with self.lock:
            self._judge()
            self.ending = True
        for names in (self.workers, self.masters, [name for name in self.daemons if name == "etcd"]):
            for name in names:
                self.signal_daemon(name, signal.SIGTERM)
            for name in names:
                self._ends(name)

    def _ends(self, name):
        daemon = self.daemons[name]
        if daemon.process is None:
            return
        try:
            status = daemon.process.wait(STOP)
            if status != 0 and (name, status) != ("etcd", -signal.SIGTERM):  # etcd tidies up and then ends by that
                self.violations.add(f"{name} was told to end and ended with {status}", daemon.last_words())
        except subprocess.TimeoutExpired:
            self.violations.add(f"{name} does not end {STOP} s after SIGTERM", daemon.last_words())
            daemon.process.kill()
            daemon.process.wait()

    # -- programs ------------------------------------------------------------------------------------------------------------------------------

    def run(self, program, *arguments, deadline=150, began=None):
        """A program beside the cluster, to its end. `began` is called with the process. Who does not end in time violates."""
        process = subprocess.Popen([f"{self.programs}/{program}", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment, text=True, errors="replace")
        if began:
            began(process)
        try:
            out, err = process.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.violations.add(f"{program} hangs: it has not ended after {deadline} s", f"{' '.join(arguments)}: {err[-300:]}")
        if process.returncode < 0 and process.returncode != -signal.SIGKILL:
            self.violations.add(f"{program} ended by {signal.Signals(-process.returncode).name}", f"{' '.join(arguments)}: {err[-300:]}")
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
