"""Masters and three workers as processes of this machine, each of either release."""
import json
import os
import shutil
import signal
import socket
import subprocess

from failed import DEADLINE, Failed, wait_for

WORKERS = ("w1", "w2", "w3")
MASTERS = ("master", "standby")
ETCD = "etcd"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(words, check, **options):
    """What the command writes to standard output."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE, **options)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(words)} takes more than {DEADLINE} s: {late.stderr}") from late
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Client:
    """Commands and job programs of one release, in a directory of this machine."""

    def __init__(self, programs, cluster):
        self.programs, self.cluster, self.master = programs, cluster, cluster.address
        self.text = cluster.path("text")

    def path_of(self, program):
        return os.path.join(self.programs, program)

    def run(self, program, *words, check=True):
        return run([self.path_of(program), *words], check, env={**os.environ, "WEFT_MASTER": self.master})

    def output(self, name):
        return self.cluster.path(name)

    def take(self, output):
        """The parts of an output, which is removed."""
        if output.startswith("weft://"):
            text = self.run("weft", "fs", "cat", f"{output}/part-*")
            self.run("weft", "fs", "rm", "-r", output)
            return text
        text = ""
        for part in sorted(os.listdir(output)):
            if part.startswith("part-"):
                with open(os.path.join(output, part), encoding="utf-8") as lines:
                    text += lines.read()
        shutil.rmtree(output)
        return text

    def masters(self):
        """What is known of several by the one that leads: by address, what each does."""
        listed = json.loads(self.run("weft", "masters", "--json", check=False) or "{}")
        return {master["address"]: master["state"] for master in listed.get("masters", [])}

    def workers(self):
        """The names of those that are there and take tasks."""
        listed = json.loads(self.run("weft", "node", "list", "--json", check=False) or "[]")
        nodes = listed.get("nodes", []) if isinstance(listed, dict) else listed
        return {node["name"] for node in nodes if not node.get("dead") and not node.get("lost") and not node.get("leaving")}


class Processes:
    def __init__(self, scratch, old, new, masters=1):
        """Of the programs in two directories. Two masters meet in an etcd, which stays what it is."""
        self.scratch, self.old, self.new = scratch, old, new
        self.addresses = {name: f"127.0.0.1:{free_port()}" for name in MASTERS[:masters]}
        self.address = ",".join(self.addresses.values())
        self.etcd = f"http://127.0.0.1:{free_port()}" if masters > 1 else None
        self.processes = {}

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def clients(self):
        """Of the old release, and of the new one."""
        return Client(self.old, self), Client(self.new, self)

    def start(self):
        client = Client(self.old, self)
        if self.etcd:
            self._start_etcd()
        for name in self.addresses:
            self._start_master(name, self.old)
            self._wait_for_masters(client, leader="master")
        for name in WORKERS:
            self._start_worker(name, self.old)
        wait_for("the workers of the old release register", lambda: client.workers() == set(WORKERS))
        wait_for("they take files", lambda: not client.run("weft", "fs", "put", self.path("text"), "weft://text", check=False) and
                 "text" in client.run("weft", "fs", "ls", "weft://", check=False))

    def steps(self, workers_first):
        """What is replaced by the new release, and how, in order. Jobs must go on after each."""
        masters = [("the master that follows", self._replace_follower), ("the master that leads", self._replace_leader)] if self.etcd else [("the master", self._replace_master)]
        workers = [(f"worker {name}", lambda name=name: self._replace_worker(name)) for name in WORKERS]
        return workers + masters if workers_first else masters + workers

    def check_upgraded(self):
        self.check_alive()
        for name, process in self.processes.items():
            if name != ETCD and not os.path.samefile(f"/proc/{process.pid}/exe", os.path.join(self.new, "weft")):
                raise Failed(f"{name} still is of the old release")

    def log(self, name):
        with open(self.path(f"{name}.log"), encoding="utf-8", errors="replace") as log:
            return log.read()

    def logs(self):
        return {name: self.log(name) for name in (*MASTERS, *WORKERS) if os.path.exists(self.path(f"{name}.log"))}

    def check_alive(self):
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise Failed(f"{name} ended by itself ({process.returncode}): {self._tail(name)}")

    def kill(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _start(self, name, program, *words):
        with open(self.path(f"{name}.log"), "ab") as log:
            self.processes[name] = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _start_etcd(self):
        peer = f"http://127.0.0.1:{free_port()}"
        self._start(ETCD, "etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", self.etcd, "--advertise-client-urls", self.etcd,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}")

    def _start_master(self, name, programs):
        group = ("--etcd", self.etcd, *(("--standby",) if name == "standby" else ())) if self.etcd else ()
        self._start(name, os.path.join(programs, "weft"), "master", "--listen", self.addresses[name], "--http", "none", "--data-dir", self.path(name), *group)

    def _wait_for_masters(self, client, leader):
        """Until that one leads, and all others that were started can take over."""
        if not self.etcd:
            return
        wanted = {self.addresses[name]: "leads" if name == leader else "in sync" for name in self.addresses if name in self.processes}
        wait_for(f"{leader} leads, and what follows is in sync", lambda: self.check_alive() or client.masters() == wanted)

    def _start_worker(self, name, programs):
        self._start(name, os.path.join(programs, "weft"), "worker", "--master", self.address, "--name", name, "--slots", "2", "--memory", "128MiB", "--store-memory", "128MiB",
                    "--directory", self.path(name), "--chunk-dir", self.path(name, "chunks"), "--chunk-reserve", "0", "--drain", f"{DEADLINE}s")

    def _stop(self, name):
        """In good order: a worker hands over what it has first."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(DEADLINE + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failed(f"{name} did not end: {self._tail(name)}") from None
        if status != 0:
            raise Failed(f"{name} ended with {status}: {self._tail(name)}")

    def _tail(self, name):
        return "\n".join(self.log(name).splitlines()[-15:])

    def _replace_master(self):
        self._stop("master")
        self._start_master("master", self.new)
        client = Client(self.new, self)
        wait_for("all workers are back at the new master", lambda: client.workers() == set(WORKERS))

    def _replace_follower(self):
        self._stop("standby")
        self._start_master("standby", self.new)
        self._wait_for_masters(Client(self.new, self), leader="master")

    def _replace_leader(self):
        """The other one, of the new release already, leads with what the old one kept."""
        self._stop("master")
        client = Client(self.new, self)
        self._wait_for_masters(client, leader="standby")
        wait_for("all workers are back at the master that took over", lambda: client.workers() == set(WORKERS))
        self._start_master("master", self.new)
        self._wait_for_masters(client, leader="standby")

    def _replace_worker(self, name):
        self._stop(name)
        client = Client(self.new, self)
        wait_for(f"{name} is gone", lambda: name not in client.workers())
        self._start_worker(name, self.new)
        wait_for(f"{name} registers", lambda: client.workers() == set(WORKERS))
