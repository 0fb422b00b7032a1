"""A world of its own for one run: process, network and mount namespaces. Nothing in it outlives it, and nobody outside sees its mounts and links.

Hosts are network namespaces at one switch. The programs that use the cluster run beside the switch; each master, each worker, and etcd run on a host.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading

CLIENTS = "10.77.0.1"
MASTERS = {1: {"master": "10.77.0.2"}, 2: {"m1": "10.77.0.2", "m2": "10.77.0.3"}}  # addresses of hosts, by how many masters there are
ETCD = "10.77.0.5"
PR_SET_PDEATHSIG = 1


def missing(several_masters):
    """Why there can be no such world here; empty when there can. `several_masters`: they meet in an etcd."""
    os.environ["PATH"] = search_path()
    if os.geteuid() != 0:
        return "it needs root for namespaces"
    programs = [("unshare", "util-linux"), ("ip", "iproute2"), ("tc", "iproute2"), ("iptables", "iptables")]
    for program, package in programs + ([("etcd", "etcd-server")] if several_masters else []):
        if not shutil.which(program):
            return f"there is no {program} here (Debian: {package}; scripts/setup --network)"
    tried = subprocess.run(command(["ip", "link", "set", "lo", "up"]), capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"no namespaces can be made here: {tried.stderr.strip()}"


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def command(words):
    """That runs `words` as the first process of a world. It ends with the process that runs this."""
    return ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--propagation", "private", *words]


def die_with_parent():
    """For the child, before it becomes another program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def enter():
    """In the first process of the world: goes on in a child and reaps whatever is left to the first process, which is its only work."""
    child = os.fork()
    if child == 0:
        die_with_parent()
        os.environ["PATH"] = search_path()
        run("mount -t tmpfs -o mode=0755 none /run")  # of iptables' lock and the namespaces' names
        run("mount -t tmpfs -o mode=1777 none /dev/shm")
        os.mkdir("/run/netns")
        return
    while True:
        ended, status = os.wait()
        if ended == child:
            sys.exit(os.waitstatus_to_exitcode(status) & 0xff)


def run(words):
    """`words` are split at spaces."""
    done = subprocess.run(words.split(), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr.strip()}")


class Network:
    """Hosts "master", or "m1", "m2" and "etcd", and "w1", …; addresses by name."""

    lock = threading.Lock()  # changes are made one after the other

    def __init__(self, workers, masters):
        self.addresses = {**MASTERS[masters], **({"etcd": ETCD} if masters > 1 else {})}
        self.addresses |= {f"w{number}": f"10.77.0.{10 + number}" for number in range(1, workers + 1)}
        self.cuts = {}  # number → commands that undo it
        self.made = 0
        run("ip link set lo up")
        run("ip link add switch type bridge")
        run(f"ip address add {CLIENTS}/24 dev switch")
        run("ip link set switch up")
        for host, address in self.addresses.items():
            run(f"ip netns add {host}")
            run(f"ip -n {host} link set lo up")
            run(f"ip link add port-{host} type veth peer name eth0 netns {host}")
            run(f"ip link set port-{host} mtu 1500 master switch up")
            run(f"ip -n {host} address add {address}/24 dev eth0")
            run(f"ip -n {host} link set eth0 mtu 1500 up")

    @staticmethod
    def at(host):
        """The beginning of a command that runs there. The process keeps its id."""
        return ["ip", "netns", "exec", host]

    def cut(self, host, peers=(), direction="both"):
        """Between a host and its peers, or everybody: "in" loses what would come to the host, "out" what it sends. Returns a number for
        heal()."""
        rules = []
        if direction in ("both", "in"):
            rules += [f"INPUT {source} -j DROP" for source in [f"-s {self.addresses[peer]}" for peer in peers] or ["-i eth0"]]
        if direction in ("both", "out"):
            rules += [f"OUTPUT {target} -j DROP" for target in [f"-d {self.addresses[peer]}" for peer in peers] or ["-o eth0"]]
        for rule in rules:
            self._change(f"ip netns exec {host} iptables -w -A {rule}")
        return self._keep([f"ip netns exec {host} iptables -w -D {rule}" for rule in rules])

    def slow(self, host, rate):
        links = [f"dev port-{host}", f"dev eth0 -n {host}"]
        commands = []
        for link in links:
            device, _, space = link.partition(" -n ")
            tc = "tc" + (f" -n {space}" if space else "")
            self._change(f"{tc} qdisc replace {device} root tbf rate {rate} burst 256kb latency 50ms")
            commands.append(f"{tc} qdisc delete {device} root")
        return self._keep(commands)

    def heal(self, number):
        for undo in self.cuts.pop(number, []):
            self._change(undo)

    def heal_all(self):
        for number in list(self.cuts):
            self.heal(number)

    def _keep(self, commands):
        with self.lock:
            self.made += 1
            self.cuts[self.made] = commands
            return self.made

    def _change(self, words):
        with self.lock:
            run(words)
