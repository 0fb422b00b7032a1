"""A cluster of real processes on this machine: a master and workers that share nothing, each with its part of the processors,
in racks whose uplinks are limited. Needs root for parts of processors (control groups) and for racks (network namespaces)."""
import ctypes
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

NETWORK = "10.77.0"
READY = 60  # seconds
PACKET = 1500  # bytes
HEADERS = 66  # bytes of each packet: Ethernet's, IP's and TCP's with a time stamp
DISK_CACHE = 256 << 10  # bytes that slow disks take before they have written them


@dataclass
class Worker:
    name: str
    slots: int = 1
    processors: float = 0  # cores that its processes may use together; 0: any
    period: int = 50_000  # microseconds in which they may use their part
    memory: str = "256MiB"  # of its tasks, and as much for map outputs
    disk: float = 0  # bytes a second that it can write; 0: any
    seek: float = 0  # seconds that its disk takes from one file to another
    rack: str = ""
    attributes: list = field(default_factory=list)
    options: list = field(default_factory=list)


class Failure(Exception):
    """What ends the benchmark, in a line."""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Racks:
    """A namespace for each rack, joined by a bridge in one of their own, where the master is. `uplink`: bytes a second that a rack
    sends to other racks, and receives from them, from limit() on; what the master sends and receives does not count."""

    def __init__(self, name, racks, uplink):
        self.name, self.racks, self.uplink = name, list(racks), uplink
        self.remove()
        run(["ip", "netns", "add", f"{name}-bridge"])
        bridge = ["ip", "-n", f"{name}-bridge"]
        run(bridge + ["link", "add", "switch", "type", "bridge"])
        run(bridge + ["address", "add", f"{NETWORK}.1/24", "dev", "switch"])
        for device in ("lo", "switch"):
            run(bridge + ["link", "set", device, "up"])
        for number, rack in enumerate(self.racks):
            space, port = f"{name}-{rack}", f"port{number}"
            run(["ip", "netns", "add", space])
            run(bridge + ["link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space])
            run(bridge + ["link", "set", port, "master", "switch", "up"])
            run(["ip", "-n", space, "address", "add", f"{self.address(rack)}/24", "dev", "eth0"])
            for device in ("lo", "eth0"):
                run(["ip", "-n", space, "link", "set", device, "up"])

    def limit(self):
        for number, rack in enumerate(self.racks):
            self.limit_device(f"{self.name}-{rack}", "eth0", "dst", self.uplink)
            self.limit_device(f"{self.name}-bridge", f"port{number}", "src", self.uplink)

    @staticmethod
    def missing():
        if os.geteuid() != 0:
            return "it needs root for network namespaces"
        for tool in ("ip", "tc"):
            if shutil.which(tool) is None:
                return f"there is no {tool} here (Debian: iproute2)"
        return ""

    @staticmethod
    def limit_device(space, device, side, uplink):
        """Packets stay as small as those of a wire: whole buffers of 64 KB, as they come from the sender, would keep others waiting
        for tenths of a second."""
        run(["ip", "-n", space, "link", "set", device, "gso_max_size", PACKET])
        tc = ["tc", "-n", space]
        run(tc + ["qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "2", "r2q", "1000"])
        for number, rate in ((1, 1_000_000_000), (2, uplink)):
            run(tc + ["class", "add", "dev", device, "parent", "1:", "classid", f"1:{number}", "htb", "rate", f"{int(rate * 8)}bit",
                      "burst", "64kb", "quantum", "15000"])
        run(tc + ["filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "u32", "match", "ip", side, f"{NETWORK}.1/32",
                  "flowid", "1:1"])

    def address(self, rack):
        return f"{NETWORK}.{11 + self.racks.index(rack)}"

    def inside(self, rack):
        return ["ip", "netns", "exec", f"{self.name}-{rack}"]

    def measure_round_trips(self):
        """Begins to; the processes are for round_trip()."""
        addresses = [self.address(rack) for rack in self.racks]
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "round_trips.py")
        return [subprocess.Popen(self.inside(rack) + [sys.executable, script, address, *(other for other in addresses if other != address)],
                                 stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
                for rack, address in zip(self.racks, addresses)]

    @staticmethod
    def round_trip(processes):
        """Seconds, in the mean."""
        for process in processes:
            process.terminate()
        return statistics.mean(float(process.communicate(timeout=READY)[0]) for process in processes)

    def crossed(self):
        """Bytes that racks have sent to other racks since they are limited, without the headers of packets: acknowledgements, and
        the connections by which round trips are measured, have nothing else."""
        total = 0
        for rack in self.racks:
            shown = run(["tc", "-n", f"{self.name}-{rack}", "-s", "class", "show", "dev", "eth0", "classid", "1:2"])
            sent, _, packets = shown.split("Sent ")[1].split()[:3]
            total += int(sent) - HEADERS * int(packets)
        return total

    def remove(self):
        for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.splitlines():
            space = line.split()[0]
            if not space.startswith(self.name + "-"):
                continue
            for pid in subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)


class Processors:
    """Control groups that give each worker its part of the processors. Where there can be none, workers share all of them."""

    ROOT = "/sys/fs/cgroup"

    def __init__(self, name, workers):
        self.groups = {}
        second = os.path.exists(f"{self.ROOT}/cgroup.controllers")
        parent = f"{self.ROOT}/{name}" if second else f"{self.ROOT}/cpu/{name}"
        try:
            for worker in workers:
                if worker.processors <= 0:
                    continue
                group = f"{parent}/{worker.name}"
                os.makedirs(group, exist_ok=True)
                if second:
                    self.write(f"{parent}/cgroup.subtree_control", "+cpu")
                    self.write(f"{group}/cpu.max", f"{int(worker.processors * worker.period)} {worker.period}")
                else:
                    self.write(f"{group}/cpu.cfs_period_us", str(worker.period))
                    self.write(f"{group}/cpu.cfs_quota_us", f"{int(worker.processors * worker.period)}")
                self.groups[worker.name] = group
        except OSError as error:
            self.groups = {}
            print(f"workers share all processors: {error}")

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def enter(self, worker):
        """To be called by a process that is about to become the worker."""
        if worker.name in self.groups:
            self.write(f"{self.groups[worker.name]}/cgroup.procs", str(os.getpid()))

    def remove(self):
        for group in self.groups.values():
            for _ in range(100):
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.05)
        for parent in {os.path.dirname(group) for group in self.groups.values()}:
            try:
                os.rmdir(parent)
            except OSError:
                pass


class Cluster:
    """Ready after construction. `state`: what lasts over several clusters, with the chunks of files, programs and profiles."""

    def __init__(self, programs, state, scheduler, workers, log, racks=None, processors=None, files=False, options=()):
        self.programs, self.racks, self.processes = programs, racks, []
        self.bridge = racks.inside("bridge") if racks else []
        at = f"{NETWORK}.1" if racks else "127.0.0.1"
        if racks:
            os.environ.setdefault("WEFT_SECURITY", "insecure")  # nobody else reaches these namespaces
        port = f"{state}/port"
        if os.path.exists(port):
            os.remove(port)
        words = ["master", "--listen", f"{at}:0", "--port-file", port, "--scheduler", scheduler, "--event-log", log,
                 "--directory", f"{state}/programs", "--profiles", f"{state}/profiles", *options]
        if files:
            words += ["--data-dir", f"{state}/namespace"]
        if racks:
            with open(f"{state}/topology", "w") as topology:
                topology.writelines(f"{worker.name} {worker.rack} {int(racks.uplink)}\n" for worker in workers)
            words += ["--topology", f"{state}/topology"]
        self.start("master", self.bridge + [f"{programs}/weft"] + words, state)
        self.until(lambda: os.path.exists(port) and open(port).read().endswith("\n"), "the master does not listen")
        self.address = open(port).read().strip()
        for worker in workers:
            directory = f"{state}/{worker.name}"
            words = ["worker", "--master", self.address, "--name", worker.name, "--host", worker.name, "--share", "false",
                     "--slots", str(worker.slots), "--memory", worker.memory, "--store-memory", worker.memory, "--directory", directory]
            if racks:
                words += ["--rack", worker.rack, "--listen", f"{racks.address(worker.rack)}:0"]
            if files:
                words += ["--chunk-dir", f"{directory}.chunks", "--chunk-reserve", "64MiB"]
            for attribute in worker.attributes:
                words += ["--attribute", attribute]
            space = racks.inside(worker.rack) if racks else []
            enter = (lambda worker=worker: processors.enter(worker)) if processors else None
            slow = {"LD_PRELOAD": f"{programs}/libslow_disk.so",
                    "WEFT_SLOW_DISK": f"{int(worker.disk)} {DISK_CACHE} {directory}.disk {os.path.dirname(state)}/ "
                                      f"{int(worker.seek * 1e6)}"} if worker.disk else {}
            self.start(worker.name, space + [f"{programs}/weft"] + words + worker.options, state, enter, slow)
        self.weft("node", "wait", len(workers), "--timeout", f"{READY}s")

    def start(self, name, words, state, enter=None, environment=None):
        def prepare():
            die_with_parent()
            if enter:
                enter()
        output = open(f"{state}/{name}.log", "a")
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=prepare,
                                   env={**os.environ, **(environment or {})})
        self.processes.append((name, process, output.name))

    def until(self, condition, what):
        end = time.monotonic() + READY
        while not condition():
            for name, process, output in self.processes:
                if process.poll() is not None:
                    raise Failure(f"{name} ended with status {process.returncode}: {open(output).read()[-500:]}")
            if time.monotonic() > end:
                raise Failure(what)
            time.sleep(0.02)

    def weft(self, *words):
        return run(self.bridge + [f"{self.programs}/weft", *words, "--master", self.address])

    def job(self, words, output):
        """Begins a job; the process is that of its driver."""
        words = self.bridge + [f"{self.programs}/{words[0]}", *words[1:], "--quiet", "--cluster", self.address]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                                preexec_fn=die_with_parent)

    def stop(self):
        """Workers first, because executors end with them."""
        for name, process, output in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for name, process, output in reversed(self.processes):
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
