#!/usr/bin/env python3
"""One seed: a cluster in a world of its own, everything at once, and what is left of it. scripts/chaos starts it as the world's first process."""
import argparse
import collections
import glob
import json
import os
import signal
import sys
import threading
import time

import world
from cluster import Cluster
from faults import Injector
from footprint import Footprint
from group import DIRECTORY, Beat, Group
from plan import make_plan
from workload_files import FileWorkload
from workload_jobs import Inputs, JobWorkload
from workload_tables import TableWorkload

JOBS, FILES = 2, 2  # clients of each kind
SETTLE = 120  # seconds until everything is as many times there as it should be, when nobody suffers any more
ENDED = 60  # and until jobs that nobody waits for have ended: a submission that was cut off, a driver that was killed
JOBS_KEPT = 1000  # of those that ended: a master forgets the oldest
FINISH = 480  # and until the last commands have ended


class Run:
    def __init__(self, options):
        self.options = options
        self.plan = make_plan(options.seed, options.workers, options.seconds, options.faults.split(","), options.masters)
        self.began, self.log_file = time.monotonic(), open(f"{options.directory}/log", "w")
        self.log_lock = threading.Lock()
        self.cluster = Cluster(options.directory, options.build + "/bin", options.build + "/tests/faults/libdisk_faults.so", self.plan.workers,
                               self.plan.masters, world.Network(self.plan.workers, self.plan.masters), self.log)
        self.injector = Injector(self.cluster, self.plan, self.log)
        self.group, self.beat = Group(self.cluster), Beat(self.cluster, self.injector, self.log)
        self.footprint = Footprint(self.cluster, time.monotonic)

    def log(self, text):
        with self.log_lock:
            print(f"{time.monotonic() - self.began:6.1f} {text}", file=self.log_file, flush=True)
            if text.startswith("VIOLATION") or not self.options.brief:
                print(f"{time.monotonic() - self.began:6.1f} {text}", flush=True)

    def run(self):
        """The exit code."""
        violations = self.cluster.violations
        if wrong := self._prepare():
            violations.add(f"nothing had happened yet: {wrong}")
        else:
            self._suffer()
            self._settle()
            self._check_ends()
        self.cluster.stop()
        self._check_left()
        self._check_crashes()
        count = {name: sum(getattr(job, name) for job in self.jobs) for name in ("finished", "failed", "detached", "went_on")}
        self.log("{finished} jobs finished and {failed} failed, {detached} were detached, {went_on} went on without a driver here, ".format(**count) + f"{sum(one.commands for one in self.files)} commands on files, "
                 f"{len(self.tables.operations)} operations on tables")
        self.log(f"the longest time without a master that leads: {self.beat.longest:.1f} s")
        if violations:
            self.log(f"seed {self.plan.seed}: {len(violations)} kinds of violations:\n{violations}")
        self._summarise()
        return 1 if violations else 0

    def _summarise(self):
        """For scripts/chaos."""
        with open(self.cluster.path("summary"), "w") as file:
            json.dump({"faults": self.injector.counts(), "without_leader": round(self.beat.longest, 1), "violations": len(self.cluster.violations)}, file)

    # -- the parts of a run --------------------------------------------------------------------------------------------------------------------

    def _prepare(self):
        """Returns what went wrong."""
        seed, cluster = self.plan.seed, self.cluster
        self.files = [FileWorkload(cluster, seed, number, self.injector) for number in range(FILES)]
        self.tables, self.jobs = TableWorkload(cluster, seed, self.injector, self.log), []
        inputs = Inputs(cluster, seed)
        if not cluster.start():
            return "the workers do not become ready"
        if self.group and not self.injector.recovered():
            return "the second master does not follow the first"
        if wrong := inputs.store(cluster) or self.tables.create():
            return wrong
        self.jobs = self.injector.jobs = [JobWorkload(cluster, inputs, seed, number, self.injector) for number in range(JOBS)]
        if (made := cluster.run("weft", "fs", "mkdir", DIRECTORY)).returncode != 0:
            return made.stderr.strip()
        self.beat.begin()
        self.footprint.begin()
        self.log("the cluster is ready")
        return ""

    def _suffer(self):
        stop = threading.Event()
        runs = [*self.tables.runs(), *(part.run for part in [*self.jobs, *self.files])]
        parts = [threading.Thread(target=self._guarded, args=(run, stop), daemon=True) for run in runs]
        for part in parts:
            part.start()
        self.injector.run()
        time.sleep(max(0, self.injector.began + self.plan.seconds - time.monotonic()))
        self.log("all faults are over")
        for line in self.footprint.end():
            self.log(line)
        stop.set()
        deadline = time.monotonic() + FINISH
        for part in parts:
            part.join(max(0, deadline - time.monotonic()))
        if any(part.is_alive() for part in parts):
            self.cluster.violations.add(f"commands have not ended {FINISH} s after the last fault")

    def _guarded(self, run, stop):
        try:
            run(stop)
        except Exception as error:
            self.cluster.violations.add(f"the harness failed: {error!r}")
            raise

    def _settle(self):
        """The cluster mends itself."""
        deadline = time.monotonic() + SETTLE
        while wants := self._wants():
            if time.monotonic() > deadline:
                return self.cluster.violations.add(f"{SETTLE} s after the last fault: {wants}")
            time.sleep(0.5)
        return self.log("the cluster has mended itself")

    def _wants(self):
        wants = self.cluster.unsettled()
        wants += ["no master leads that the other follows"] if self.group and not self.group.whole() else []
        return ", ".join(wants)

    def _check_ends(self):
        self.beat.end()
        for files in self.files:
            files.check()
        self.tables.check()
        self._check_jobs()
        listed = self.cluster.run("weft", "fs", "ls", "/out", "--json")
        if left := [entry for entry in json.loads(listed.stdout or "[]") if not self._may_be_left(json.dumps(entry))]:
            self.cluster.violations.add("outputs of jobs are left in the cluster", str(left)[-300:])
        checked = self.cluster.run("weft", "fs", "fsck", "/")
        if checked.returncode != 0:
            self.cluster.violations.add(f"weft fs fsck: {(checked.stdout + checked.stderr).strip()[-300:]}")

    def _check_jobs(self):
        """What the master says of all jobs: each has ended, whatever happened to masters, and no two are of one submission."""
        deadline = time.monotonic() + ENDED
        while True:
            listed = self.cluster.run("weft", "job", "list", "--json")
            jobs = json.loads(listed.stdout or "[]")
            if not (running := [job["id"] for job in jobs if job["state"] in ("waiting", "running")]):
                break
            if time.monotonic() > deadline:
                self.cluster.violations.add(f"jobs still run {ENDED} s after the last command: {running}")
                break
            time.sleep(0.5)
        requests = collections.Counter(job["options"].get("request-id") for job in jobs)
        if twice := [request for request, count in requests.items() if request and count > 1]:
            self.cluster.violations.add(f"several jobs are of one request: {twice}")
        nameless = sum("request-id" not in job["options"] for job in jobs)
        if nameless > (submitted := sum(job.nameless for job in self.jobs)):
            self.cluster.violations.add("a submission without an id made several jobs", f"{nameless} jobs of {submitted}")
        for job in jobs:
            if "the master was restarted" in job.get("error", ""):
                self.cluster.violations.add("a job did not outlive its master", f"job {job['id']}: {job['error']}")
        if len(jobs) < (known := min(sum(job.finished for job in self.jobs), JOBS_KEPT)):
            self.cluster.violations.add(f"the master knows {len(jobs)} jobs, and {known} have finished")

    # -- what may be left ----------------------------------------------------------------------------------------------------------------------

    def _may_be_left(self, text):
        """Outputs of this name: a driver that is killed cannot tidy up, and nobody does that for it when its job does not go on."""
        return any(name in text for job in self.jobs for name in job.left_over)

    def _check_left(self):
        """Processes, files, shared memory."""
        mine = {1, os.getpid()}
        deadline = time.monotonic() + 5
        while left := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid not in mine and self._words(pid)]:
            if time.monotonic() > deadline:
                self.cluster.violations.add(f"processes are left: {[self._words(pid) for pid in left]}")
                break
            time.sleep(0.1)
        path = self.cluster.path
        places = [path("tmp/*"), path("tmp/.*"), "/dev/shm/*"]
        places += [f"{self.cluster.disk(worker)}/work/{name}/*" for worker in self.cluster.workers for name in ("jobs", "store")]
        places += [path("outputs/.*"), path("outputs/*")]
        for place in places:
            if left := [name for name in glob.glob(place) if not (name.startswith(path("outputs/")) and self._may_be_left(name))]:
                self.cluster.violations.add(f"files are left: {' '.join(left)[:300]}")

    @staticmethod
    def _words(pid):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                return file.read().replace("\0", " ").strip()
        except OSError:
            return ""

    def _check_crashes(self):
        """What processes said of their own fatal signals, and workers of their executors."""
        for line in self._lines("crashes"):
            self.cluster.violations.add("a process tells of a fatal signal", line[:600])
        for worker in self.cluster.workers:
            died = [line for line in self._lines(f"logs/{worker}") if "an executor of" in line and "died of" in line]
            killed = [line for line in died if "SIGKILL" in line]
            unexpected = [line for line in died if line not in killed] + killed[self.cluster.executors_killed[worker]:]
            for line in unexpected:
                self.cluster.violations.add(f"an executor of {worker} died, and nobody has killed it", line[:600])

    def _lines(self, name):
        if not os.path.exists(self.cluster.path(name)):
            return []
        with open(self.cluster.path(name), errors="replace") as file:
            return file.read().splitlines()


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--masters", type=int)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--faults")
    parser.add_argument("--build")
    parser.add_argument("--directory")
    return parser.parse_args()


if __name__ == "__main__":
    world.enter()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = Run(options()).run()
    sys.stdout.flush()
    os._exit(code)  # threads that hang do not keep it
