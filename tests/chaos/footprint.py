"""What the daemons take of memory, descriptors and disk while they are used: in a long run it must stay the same."""
import os
import statistics
import threading

EVERY = 5  # seconds between two looks
LONG = 600  # a run of fewer seconds tells nothing about growth
# Of what, in which unit, and by how much the median of the last third of a run may be above that of the second third: a part, and an amount. What is
# kept of the past grows at first: a thousand jobs, the names of the files that there are, snapshots of logs until they are cut.
MEASURES = {"memory": ("MiB", 0.25, 24), "descriptors": ("", 0.2, 24), "disk": ("MiB", 0.25, 32)}


def memory(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def disk(path):
    room = os.statvfs(path)
    return (room.f_blocks - room.f_bfree) * room.f_frsize / (1 << 20)


def growth(samples):
    """Medians of the second and the last third of (time, value) pairs."""
    first, last = samples[0][0], samples[-1][0]
    third = (last - first) / 3
    middle = [value for when, value in samples if first + third <= when < first + 2 * third]
    end = [value for when, value in samples if when >= first + 2 * third]
    return (statistics.median(middle), statistics.median(end)) if middle else (end[0], end[0])


class Footprint:
    def __init__(self, cluster, clock):
        self.cluster, self.clock = cluster, clock
        self.samples = {(measure, kind): [] for measure in MEASURES for kind in ("masters", "workers")}
        self.stop, self.thread = threading.Event(), None

    def begin(self):
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.stop.wait(EVERY):
            self.look()

    def look(self):
        for kind, names in (("masters", self.cluster.masters), ("workers", self.cluster.workers)):
            for name in names:
                process = self.cluster.daemons[name].process
                for measure, value in (("memory", lambda: memory(process.pid)), ("descriptors", lambda: descriptors(process.pid)),
                                       ("disk", lambda name=name: disk(self.cluster.disk(name)))):
                    try:
                        self.samples[measure, kind].append((self.clock(), value()))
                    except (OSError, AttributeError, IndexError):  # it has just ended
                        pass

    def end(self):
        """What was seen, a line each. What has grown is a violation."""
        self.stop.set()
        self.thread.join()
        lines = []
        for (measure, kind), samples in self.samples.items():
            if not samples:
                continue
            unit, part, amount = MEASURES[measure]
            before, after = growth(samples)
            lines.append(f"{measure} of {kind}: median {before:.0f}, then {after:.0f} {unit}, at most {max(value for _, value in samples):.0f}".replace(" ,", ","))
            if samples[-1][0] - samples[0][0] >= LONG and after > before * (1 + part) + amount:
                self.cluster.violations.add(f"{measure} of {kind} grows: {before:.0f} {unit} in the second third of the run, {after:.0f} in the last")
        return lines
