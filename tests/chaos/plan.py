"""What happens to a cluster, and when: a function of the seed alone.

At most two workers suffer at a time, of several masters one, and everything that was done is undone again, so that every command succeeds if it waits
long enough. What is on a disk is damaged on one worker of the cluster only, and only after a while in which nobody suffered: then the others have
everything, too.
"""
import random
from dataclasses import dataclass

# How often a kind is chosen, how long it lasts (seconds), and its variants.
SUFFERING = {
    "kill": (3, (0, 8), [""]),
    "both-kill": (2, (0, 3), ["master first", "worker first"]),
    "stop": (3, (0.5, 13), [""]),
    "partition": (2, (0.5, 13), [""]),
    "one-way": (2, (0.5, 13), ["in", "out"]),
    "master-partition": (2, (0.5, 13), ["both", "in", "out"]),
    "pair": (1, (0.5, 13), ["both", "in", "out"]),
    "slow-network": (1, (2, 10), ["5mbit"]),
    "slow-disk": (2, (2, 10), ["20", "60", "300"]),
    "full-disk": (2, (2, 10), ["", "restart"]),
    "io-errors": (1, (1, 6), ["write", "sync", "read", "open", "write,sync,read"]),
}
DAMAGE = {"flip": (2, (0, 0), ["chunks", "tables", "index", "spill"])}
ALONE = {  # what a master without others suffers
    "master-kill": (3, (0, 3), [""]),
    "master-stop": (2, (0.5, 6), [""]),
    "master-full-disk": (1, (1, 6), ["", "restart"]),
}
BESIDE = {
    "executor-kill": (3, (0, 0), [""]),
    "driver-kill": (2, (0, 0), [""]),
    "detached-kill": (2, (0, 0), [""]),
}
GROUP = {  # what several masters suffer
    "master-kill": (4, (0, 5), [""]),
    "master-stop": (4, (2, 10), [""]),
    "master-full-disk": (1, (1, 6), ["", "restart"]),
    "standby-kill": (2, (0, 5), [""]),
    "standby-stop": (1, (1, 8), [""]),
    "standby-full-disk": (1, (1, 6), ["", "restart"]),
    "leader-cut": (5, (0.5, 8), [f"{peers} {direction}" for peers in ("etcd", "standby", "workers") for direction in ("both", "in", "out")]),
    "etcd-kill": (1, (0, 6), [""]),
    "etcd-stop": (2, (0.5, 8), [""]),
}
KINDS = {**SUFFERING, **DAMAGE, **ALONE, **BESIDE, **GROUP}
DESCRIPTIONS = {
    "kill": "a worker gets SIGKILL and is started again",
    "both-kill": "a worker and the master (of several: the one that leads) get SIGKILL within a second and are started again",
    "stop": "a worker gets SIGSTOP, and SIGCONT later",
    "partition": "a worker is cut off from everybody",
    "one-way": "nothing that is sent to a worker arrives, or nothing that it sends",
    "master-partition": "a worker and the master are cut off from each other, also one way",
    "pair": "two workers are cut off from each other, also one way",
    "slow-network": "a worker's link is slow",
    "slow-disk": "every write and sync of a worker takes long",
    "full-disk": "a worker's disk is full; perhaps the worker is killed and started again meanwhile",
    "io-errors": "a worker's disk gives EIO; the worker is started again when it does no longer",
    "flip": "a bit is flipped in a worker's chunks, tables, index of chunks, or spilled map outputs",
    "master-kill": "the master (of several: the one that leads) gets SIGKILL and is started again",
    "master-stop": "the master (of several: the one that leads) gets SIGSTOP, and SIGCONT later",
    "master-full-disk": "the disk of the master (of several: of the one that leads) is full; perhaps it is killed and started again meanwhile",
    "executor-kill": "an executor gets SIGKILL",
    "driver-kill": "the driver of a job in the foreground gets SIGKILL",
    "detached-kill": "the driver of a job that runs on a worker gets SIGKILL",
    "standby-kill": "the master that follows the leader gets SIGKILL and is started again",
    "standby-stop": "the master that follows the leader gets SIGSTOP, and SIGCONT later",
    "standby-full-disk": "the disk of the master that follows is full; perhaps it is killed and started again meanwhile",
    "leader-cut": "the master that leads is cut off from etcd, from the one that follows, or from all workers, also one way",
    "etcd-kill": "etcd gets SIGKILL and is started again",
    "etcd-stop": "etcd gets SIGSTOP, and SIGCONT later",
}
FIRST = 2.0  # seconds before the first fault
LAST = 3.0  # and after the last one has begun
CALM = 6.0  # before a damage
RECOVERY = 3.0  # of several masters, at least, before one of them suffers again; Injector waits until they have recovered


@dataclass(frozen=True)
class Fault:
    at: float  # seconds from the start
    kind: str
    target: str  # "w1", …, "master", of several "leader" or "standby", "etcd", "" for whoever there is
    lasts: float
    detail: str = ""

    @property
    def until(self):
        return self.at + self.lasts

    def __str__(self):
        target = f" {self.target}" if self.target else ""
        detail = f" ({self.detail})" if self.detail else ""
        lasts = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:5.1f} s  {self.kind}{target}{detail}{lasts}"


@dataclass(frozen=True)
class Plan:
    seed: int
    workers: int
    masters: int
    seconds: float
    faults: tuple

    def __str__(self):
        head = f"seed {self.seed}: {self.workers} workers, {self.masters} master{'s' * (self.masters > 1)}, {self.seconds:g} s, {len(self.faults)} faults"
        return "\n".join([head, *(f"  {fault}" for fault in self.faults)])


def names(workers):
    return [f"w{number}" for number in range(1, workers + 1)]


def make_plan(seed, workers=None, seconds=40, kinds=None, masters=None):
    """`workers` of None: 3 to 5, `masters` of None: 1 or 2, as the seed has it. `kinds`: those of KINDS that may happen; None: all."""
    chance = random.Random(f"plan {seed}")
    count = chance.randint(3, 5)
    masters = masters or random.Random(f"masters {seed}").randint(1, 2)
    maker = _Maker(chance, workers or count, masters, seconds, set(KINDS if kinds is None else kinds))
    return Plan(seed, maker.workers, masters, seconds, tuple(sorted(maker.make(), key=lambda fault: fault.at)))


class _Maker:
    def __init__(self, chance, workers, masters, seconds, kinds):
        self.chance, self.workers, self.masters, self.seconds, self.kinds = chance, workers, masters, seconds, kinds
        self.damaged = chance.choice(names(workers))
        self.faults = []

    def make(self):
        self._workers_suffer()
        self._and_beside()
        if self.masters > 1:
            self._masters_suffer()
        return self.faults

    def _choice(self, table):
        """A kind with a duration and a variant, or None."""
        table = {kind: row for kind, row in table.items() if kind in self.kinds}
        if not table:
            return None
        kind = self.chance.choices(list(table), [weight for weight, _, _ in table.values()])[0]
        _, (least, most), variants = table[kind]
        return kind, round(self.chance.uniform(least, most), 1), self.chance.choice(variants)

    def _add(self, at, kind, target, lasts, detail):
        self.faults.append(Fault(round(at, 1), kind, target, lasts, detail))

    def _workers_suffer(self):
        """Two at a time at most: `free` is when each of the two next has nothing to suffer."""
        free = [FIRST, FIRST + self.chance.expovariate(1 / 3)]
        whom = ["", ""]
        while True:
            lane = free.index(min(free))
            at = free[lane] + self.chance.expovariate(1 / 2)
            drawn = self._choice({**SUFFERING, **DAMAGE})
            if drawn is None:
                return
            kind, lasts, detail = drawn
            if kind in DAMAGE:
                at = max(free) + CALM
            if at > self.seconds - LAST:
                return
            if kind in DAMAGE:
                self._add(at, kind, self.damaged, lasts, detail)
                free, whom = [at + 1, at + 1], ["", ""]
                continue
            suffers = whom[1 - lane] if free[1 - lane] > at else ""
            well = [name for name in names(self.workers) if name not in suffers.split()]
            targets = 2 if kind == "pair" else 1
            if len(well) < targets:
                continue
            target = " ".join(self.chance.sample(well, targets))
            self._add(at, kind, target, lasts, detail)
            free[lane], whom[lane] = at + lasts, target

    def _and_beside(self):
        """To a master without others, executors and drivers, one after the other."""
        at = FIRST
        while True:
            at += self.chance.expovariate(1 / 5)
            drawn = self._choice({**ALONE, **BESIDE} if self.masters == 1 else BESIDE)
            if drawn is None or at > self.seconds - LAST:
                return
            kind, lasts, detail = drawn
            self._add(at, kind, "master" if kind.startswith("master") else "", lasts, detail)
            at += lasts

    def _masters_suffer(self):
        """One of them, or their etcd, at a time. A leader that cannot reach the workers keeps them from mending: that is no calm before a damage."""
        at = FIRST
        damaged = any(fault.kind in DAMAGE for fault in self.faults)
        while True:
            at += self.chance.expovariate(1 / 2)
            drawn = self._choice(GROUP)
            if drawn is None or at > self.seconds - LAST:
                return
            kind, lasts, detail = drawn
            if damaged and detail.startswith("workers"):
                continue
            whom = kind.split("-")[0]
            self._add(at, kind, {"master": "leader"}.get(whom, whom), lasts, detail)
            at += lasts + RECOVERY
