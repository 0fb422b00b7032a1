"""The clusters of diagnose_test.py."""
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../support")
from waiting import content, until  # noqa: E402


class Cluster:
    """A master and workers w1, w2, … with two slots each."""

    programs = scratch = None  # directories, of all clusters
    made = 0
    lock = threading.Lock()

    def __init__(self, workers=3, master=(), worker=()):
        with Cluster.lock:
            Cluster.made += 1
            self.directory = f"{Cluster.scratch}/cluster{Cluster.made}"
        os.mkdir(self.directory)
        self.log = self.directory + "/events"
        self.processes, self.workers = [], []
        self.start("weft", "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", self.directory + "/port", "--event-log", self.log,
                   *master)
        self.address = until(lambda: content(self.directory + "/port").strip(), "the master's port")
        for _ in range(workers):
            self.add_worker(*worker)
        if workers:
            self.weft("node", "wait", str(workers))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes[::-1]:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, *words, **options):
        out = open(f"{self.directory}/{len(self.processes)}.out", "w")
        command = [*options.pop("within", ()), f"{Cluster.programs}/{words[0]}", *words[1:]]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
        self.processes.append(process)
        return process

    def add_worker(self, *extra, **options):
        name = f"w{len(self.workers) + 1}"
        words = ["weft", "worker", "--master", self.address, "--name", name, "--host", "h" + name[1:], "--directory", f"{self.directory}/{name}", "--slots", "2"]
        self.workers.append(self.start(*words, *extra, env=dict(os.environ, WEFT_TEST_NODE=name), **options))

    def weft(self, *words):
        done = subprocess.run([Cluster.programs + "/weft", *words, "--master", self.address], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, *words):
        """A job that goes on while the test does something else."""
        return self.start(*words, "--quiet", "--cluster", self.address)

    def job(self, *words, fails=False, seconds=60):
        process = self.begin(*words)
        code = process.wait(seconds)
        assert (code != 0) == fails, f"{words} ended with {code}: " + content(f"{self.directory}/{self.processes.index(process)}.out")

    def has(self, event, count=1):
        until(lambda: content(self.log).count(f'"event":"{event}"') >= count, event)

    def kinds(self, job=1):
        findings = json.loads(subprocess.run([Cluster.programs + "/weft", "job", "diagnose", str(job), "--event-log", self.log, "--json"], check=True,
                                             capture_output=True, text=True, timeout=60).stdout)
        return [(each["kind"], each["finding"]) for each in findings]
