"""How true the simulator and `weft advise` are: three mixes of jobs on eight workers in four racks with thin uplinks, each under four
schedulers, and the same jobs simulated from the event logs. Tasks wait instead of computing (`paced`), so that what one takes does not
depend on what else this machine does; the bytes that they read and shuffle really go over the uplinks."""
import itertools
import os

from machines import Worker, run
from scenarios import Job, Limit, Scenario, Variant, replay_error

UPLINK = 3e6  # bytes a second of each rack, each way
TEXTS = {"small": 0.8, "middle": 2.4, "large": 7.2}  # megabytes
# Files, as many as there are tasks that read them: where tasks read parts of a file as small as these, all that is between two of them
# would be fetched twice, because workers send whole pages of 64 KiB.
PARTS = {"small": 16, "middle": 48, "large": 72}
USERS = ("ann", "bob", "cat", "dan")
MATTERS = 0.10  # differences of less than this between two schedulers are not told
VARIANTS = [Variant("fair", "fair"), Variant("fsp", "fsp"), Variant("tetris", "tetris"), Variant("shufflewatcher", "shufflewatcher")]


def data(place, programs, size):
    for name, megabytes in TEXTS.items():
        os.makedirs(f"{place}/{name}")
        for part in range(PARTS[name]):
            run([f"{programs}/zipf_text", int(megabytes * 1e6 * size / PARTS[name]), f"{place}/{name}/{part:02}", 200_000, 0.6, part])


def inputs(place):
    return [f"{place}/{name}" for name in TEXTS]


def read(name, percent, map_ms, reduces, reduce_ms):
    return ["read", "--input", f"weft://in/{name}", "--percent", percent, "--map-ms", map_ms, "--reduces", reduces, "--reduce-ms", reduce_ms]


def made(kind, maps, map_ms, reduces, reduce_ms):
    return [kind, "--maps", maps, "--map-ms", map_ms, "--reduces", reduces, "--reduce-ms", reduce_ms]


# Most jobs are small, as in the traces of SWIM; what they shuffle differs.
LIGHT = [read("large", 20, 700, 4, 400), read("small", 30, 500, 2, 300), read("middle", 20, 600, 4, 300), read("small", 10, 400, 1, 300),
         read("small", 40, 600, 2, 400), read("middle", 10, 500, 2, 300), read("small", 20, 300, 1, 200), read("large", 30, 500, 8, 300)]
HEAVY = [read("large", 100, 400, 12, 300), read("small", 100, 300, 4, 300), read("middle", 100, 400, 8, 300), read("small", 40, 300, 2, 200),
         read("middle", 60, 300, 8, 200), read("small", 100, 400, 4, 200), read("large", 60, 300, 12, 300), read("small", 20, 300, 2, 200)]
GRAPHS = [made("join", 16, 500, 8, 500), read("small", 60, 300, 4, 300), made("sort", 12, 400, 6, 400), read("middle", 40, 400, 6, 300),
          made("wordcount", 6, 300, 2, 300), made("join", 6, 400, 4, 300), read("large", 30, 400, 8, 400), made("sort", 4, 300, 2, 300)]


def jobs_of(kinds, gap, rounds):
    """All kinds, one after the other, again and again."""
    def jobs(place, size, alone):
        times = max(1, round(rounds * size))
        return [Job(f"{kind[0]}-{number}", USERS[number * 7 // 4 % 4], gap * number, ["paced", *map(str, kind)], output=False)
                for number, kind in enumerate(itertools.chain.from_iterable(itertools.repeat(kinds, times)))]
    return jobs


def bytes_error(label):
    def value(medians):
        found = medians.get(label)
        return abs(found["replayed"]["crossed"] / found["crossed"] - 1) if found and found["crossed"] else None
    return value


def wrong_order(medians):
    """Pairs of schedulers whose mean completion times really differ by more than MATTERS, and of which `weft advise` told from the log of
    the first scheduler that the slower one is the faster."""
    if not all("advised" in of for of in medians.values()):
        return None
    real = {label: of["completion"] for label, of in medians.items()}
    told = {label: of["advised"] for label, of in medians.items()}
    return sum(real[slow] > (1 + MATTERS) * real[fast] and told[slow] < told[fast] for slow in real for fast in real)


def fidelity(what):
    # Not compressed, so that replays need no guess of what that saves.
    workers = [Worker(f"w{2 * rack + i}", slots=2, rack=f"rack-{rack + 1}", options=["--compress", "false"]) for rack in range(4) for i in (1, 2)]
    limits = [limit for variant in VARIANTS for limit in (
        Limit(f"{variant.label}: mean completion of the replay, off by", replay_error(variant.label), most=0.10),
        Limit(f"{variant.label}: bytes between racks of the replay, off by", bytes_error(variant.label), most=0.10))]
    limits.append(Limit("pairs that differ by more than a tenth, told the wrong way round", wrong_order, most=0))
    return Scenario(title=f"Fidelity: {what} on four racks of two workers with two slots", workers=workers, variants=VARIANTS, limits=limits,
                    rounds=1, seconds=260, uplink=UPLINK, files=True, inputs=inputs, replays=9, advises=True)


FIDELITY = {
    "fidelity-light": (fidelity("40 jobs that shuffle little"), data, jobs_of(LIGHT, 0.6, 5)),
    "fidelity-heavy": (fidelity("32 jobs that shuffle much"), data, jobs_of(HEAVY, 0.9, 4)),
    "fidelity-graphs": (fidelity("40 joins, sorts and counts"), data, jobs_of(GRAPHS, 0.6, 5)),
}
