"""Does to a cluster what a plan says, and undoes it."""
import collections
import dataclasses
import errno
import glob
import math
import os
import random
import re
import signal
import threading
import time

from group import Group
from plan import GROUP, SUFFERING

BETWEEN = 0.9  # seconds at most between the deaths of a worker and the master
DEATHS = 2  # of the drivers of one job: the fourth within an hour ends it (kMostDriverDeaths), and one that stays away from the master counts, too
FILL = 1 << 20  # bytes that are written at once to a disk that is to be full

# Where there is what a flip's variant names, below a worker's disk. Of databases, only what holds data.
DATABASE = re.compile(r"\.(sst|log)$|/MANIFEST-\d+$")
DAMAGEABLE = {
    "chunks": ("chunks/chunks", re.compile("")),
    "tables": ("chunks/tables", DATABASE),
    "index": ("chunks/index", DATABASE),
    "spill": ("work/store", re.compile("")),  # and what the worker and its executors have open without a name
}
SEARCH = 5  # seconds
MENDED = 60  # seconds at most until everything is as many times there as it should be, after a damage
RECOVERED = 30  # seconds at most until one of several masters leads and the other follows it, after a fault of theirs


class Injector:
    """`jobs` are those whose drivers in the foreground may be killed (workload_jobs.py)."""

    def __init__(self, cluster, plan, log):
        self.cluster, self.plan, self.log, self.network = cluster, plan, log, cluster.network
        self.jobs = []
        self.began = time.monotonic()
        self.driver_deaths = collections.Counter()  # by job, of drivers on workers
        self.times = {}  # fault → its begin and end, monotonic seconds
        self.group = Group(cluster)
        self.masters_suffer = threading.Lock()  # several: one at a time
        self.suffered = -1.0  # monotonic seconds: the end of the last fault of one of several masters
        self.served = 0.0  # and when a client last had a change made (Beat)
        self.mended = threading.Event()  # nothing is damaged that workers have not noticed and replaced
        self.mended.set()

    def run(self):
        """Returns when everything has been undone."""
        self.began = time.monotonic()
        of_masters = [fault for fault in self.plan.faults if self.group and fault.kind in GROUP]
        threads = [threading.Thread(target=self._one, args=(fault,)) for fault in self.plan.faults if fault not in of_masters]
        threads.append(threading.Thread(target=self._masters, args=(of_masters,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def happened(self, kind, begin, end):
        """Whether a fault of this kind ("kill"), or of this variant of it ("full-disk restart"), was there between these moments (seconds of
        the monotonic clock). Any thread."""
        return any(at < end and begin < until for fault, (at, until) in list(self.times.items())
                   if kind in (fault.kind, f"{fault.kind} {fault.detail}"))

    def counts(self):
        """How often each kind was made."""
        return collections.Counter(fault.kind for fault in self.times)

    def _masters(self, faults):
        """One after the other, each when the group has recovered from the one before: so somebody can always lead, and has everything. Those for
        which no time is left are passed over."""
        for fault in faults:
            self._sleep_until(fault.at)
            with self.masters_suffer:
                leader = self.recovered()
                now = time.monotonic() - self.began
                if leader and now < self.plan.seconds:
                    target = {"leader": leader, "standby": self.group.standby(leader)}.get(fault.target, fault.target)
                    self._one(dataclasses.replace(fault, at=now, target=target))
                    self.suffered = time.monotonic()
                else:
                    self.log(f"{fault}: passed over")

    def recovered(self):
        """The master that leads, is followed and has served a client since the last fault, if there is one in time. (Without the last, nobody may be
        served for as long as several faults in a row take.)"""
        end = time.monotonic() + RECOVERED
        while not (leader := self.group.whole()) or self.served < self.suffered:
            if time.monotonic() > end:
                self.cluster.violations.add(f"no master leads that another follows, {RECOVERED} s after their last fault")
                return None
            time.sleep(0.1)
        return leader

    def _one(self, fault):
        self._sleep_until(fault.at)
        if fault.kind in SUFFERING and not self.mended.is_set():
            return self.log(f"{fault}: passed over, since something is damaged")
        begin = time.monotonic()
        self.times[fault] = begin, math.inf
        try:
            self.log(f"{fault}")
            getattr(self, "_" + fault.kind.replace("-", "_"))(fault)
        except Exception as error:  # of this harness: the run is worth nothing
            self.cluster.violations.add(f"the fault {fault} could not be made: {error!r}")
        self.times[fault] = begin, time.monotonic()
        return None

    def _sleep_until(self, moment):
        time.sleep(max(0, self.began + moment - time.monotonic()))

    def _last(self, fault):
        self._sleep_until(max(fault.until, time.monotonic() - self.began))

    def _chance(self, fault):
        return random.Random(f"{self.plan.seed} {fault}")

    # -- processes -----------------------------------------------------------------------------------------------------------------------------

    def _kill(self, fault):
        self.cluster.kill_daemon(fault.target)
        self._last(fault)
        self.cluster.start_daemon(fault.target)

    _master_kill = _standby_kill = _etcd_kill = _kill

    def _both_kill(self, fault):
        """Of several masters only when another can take over; else the worker alone."""
        if not self.group:
            return self._both(fault, "master")
        alone = not self.masters_suffer.acquire(blocking=False)
        try:
            leader = None if alone or self.served < self.suffered else self.group.whole()
            if not leader:
                return self._kill(fault)
            self._both(fault, leader)
            self.suffered = time.monotonic()
        finally:
            if not alone:
                self.masters_suffer.release()

    def _both(self, fault, master):
        first, second = (master, fault.target) if fault.detail == "master first" else (fault.target, master)
        self.cluster.kill_daemon(first)
        time.sleep(self._chance(fault).uniform(0, BETWEEN))
        self.cluster.kill_daemon(second)
        self._last(fault)
        for name in self._chance(fault).sample([first, second], 2):
            self.cluster.start_daemon(name)

    def _stop(self, fault):
        self.cluster.signal_daemon(fault.target, signal.SIGSTOP)
        try:
            self._last(fault)
        finally:
            self.cluster.signal_daemon(fault.target, signal.SIGCONT)

    _master_stop = _standby_stop = _etcd_stop = _stop

    def _executor_kill(self, fault):
        executors = [(worker, pid) for worker in self.cluster.workers for pid in self.cluster.executors(worker)]
        if not executors:
            return self.log("         no executor runs")
        worker, pid = self._chance(fault).choice(executors)
        self.cluster.executors_killed[worker] += 1
        self.log(f"         process {pid} of {worker}")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _driver_kill(self, fault):
        running = [job for job in self.jobs if job.driver]
        if not running:
            return self.log("         no job runs")
        return self._chance(fault).choice(running).kill_driver()

    def _detached_kill(self, fault):
        """Waits for one that may be killed."""
        end = time.monotonic() + SEARCH
        while not (drivers := [found for found in self.cluster.drivers() if self.driver_deaths[found[1]] < DEATHS]):
            if time.monotonic() > end:
                return self.log("         no driver runs on a worker")
            time.sleep(0.01)
        worker, job, pid = self._chance(fault).choice(drivers)
        self.driver_deaths[job] += 1
        self.log(f"         process {pid} of {worker}, the driver of job {job}")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return None

    # -- networks ------------------------------------------------------------------------------------------------------------------------------

    def _cut(self, fault, host, peers=(), direction="both"):
        number = self.network.cut(host, peers, direction)
        try:
            self._last(fault)
        finally:
            self.network.heal(number)

    def _partition(self, fault):
        self._cut(fault, fault.target)

    def _one_way(self, fault):
        self._cut(fault, fault.target, direction=fault.detail)

    def _master_partition(self, fault):
        self._cut(fault, fault.target, self.cluster.masters, fault.detail)

    def _leader_cut(self, fault):
        whom, direction = fault.detail.split()
        peers = {"etcd": ["etcd"], "standby": [self.group.standby(fault.target)], "workers": self.cluster.workers}[whom]
        self._cut(fault, fault.target, peers, direction)

    def _pair(self, fault):
        one, other = fault.target.split()
        self._cut(fault, one, [other], fault.detail)

    def _slow_network(self, fault):
        number = self.network.slow(fault.target, fault.detail)
        try:
            self._last(fault)
        finally:
            self.network.heal(number)

    # -- disks ---------------------------------------------------------------------------------------------------------------------------------

    def _slow_disk(self, fault):
        self.cluster.disk_says(fault.target, -int(fault.detail), "write,sync")
        self._last(fault)
        self.cluster.disk_says(fault.target)

    def _io_errors(self, fault):
        """Disks that gave errors are used again by the next worker."""
        self.cluster.disk_says(fault.target, errno.EIO, fault.detail)
        self._last(fault)
        self.cluster.disk_says(fault.target)
        self._restart(fault.target)

    def _restart(self, name):
        self.cluster.kill_daemon(name)
        self.cluster.start_daemon(name)

    def _full_disk(self, fault):
        """Of a worker, or of a master."""
        ballast = self.cluster.disk(fault.target) + "/ballast"
        restart = self.began + fault.at + fault.lasts / 3 if fault.detail == "restart" else None
        with open(ballast, "wb", buffering=0) as file:
            while time.monotonic() < self.began + fault.until:
                self._fill(file)
                if restart and time.monotonic() > restart:
                    restart = None
                    self._restart(fault.target)
                time.sleep(0.02)
        os.unlink(ballast)

    _master_full_disk = _standby_full_disk = _full_disk

    @staticmethod
    def _fill(file):
        size = FILL
        while size:
            try:
                size = FILL if file.write(bytes(size)) == FILL else size // 2
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2

    def _flip(self, fault):
        """One bit of one file, when everything is as many times there as it should be; until it is so again, no worker suffers: with two
        replicas, one of them damaged, the loss of the other is the loss of what they have. A database that is open is read again only when its
        worker starts, so that is done."""
        self.mended.clear()
        try:
            if not self._settled(SEARCH):
                return self.log("         passed over, since something has too few replicas")
            self._damage(fault)
            if fault.detail in ("tables", "index"):
                self._restart(fault.target)
            if not self._settled(MENDED):
                self.log("         it is not mended yet")
        finally:
            self.mended.set()
        return None

    def _settled(self, longest):
        end = time.monotonic() + longest
        while self.cluster.unsettled():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def _damage(self, fault):
        chance = self._chance(fault)
        folder, pattern = DAMAGEABLE[fault.detail]
        folder = f"{self.cluster.disk(fault.target)}/{folder}"
        end = time.monotonic() + SEARCH
        while time.monotonic() < end:
            if files := [path for path in self._files(fault.target, folder) if pattern.search(path) and self._size(path)]:
                try:
                    return self._flip_bit(chance.choice(files), chance)
                except FileNotFoundError:  # it was removed, or closed, meanwhile
                    continue
            time.sleep(0.01)
        return self.log(f"         {fault.target} has no {fault.detail}")

    def _files(self, worker, folder):
        """With and without a name."""
        named = sorted(f"{path}/{name}" for path, _, names in os.walk(folder) for name in names)
        unnamed, process = [], self.cluster.daemons[worker].process
        for pid in [process.pid, *self.cluster.executors(worker)] if process else []:
            for descriptor in glob.glob(f"/proc/{pid}/fd/*"):
                try:
                    target = os.readlink(descriptor)
                except OSError:
                    continue
                if target.startswith(os.path.dirname(folder)) and target.endswith(" (deleted)"):
                    unnamed.append(descriptor)
        return named + (unnamed if folder.endswith("/store") else [])

    @staticmethod
    def _size(path):
        try:
            return os.stat(path).st_size
        except OSError:
            return 0

    def _flip_bit(self, path, chance):
        with open(path, "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            at = chance.randrange(max(size, 1))
            if byte := os.pread(file.fileno(), 1, at):
                os.pwrite(file.fileno(), bytes([byte[0] ^ 1 << chance.randrange(8)]), at)
        self.log(f"         byte {at} of {size} in {path.removeprefix(self.cluster.directory)}")
