"""What is run: machines, data, jobs, schedulers and limits of each scenario."""
import gzip
import os
import shutil
from dataclasses import dataclass, field

from machines import Worker, run


@dataclass
class Job:
    name: str
    user: str
    at: float  # seconds after the first
    words: list
    output: bool = True  # writes a directory; else what it prints is its result
    deadline: float = 0  # seconds from its start; 0: none
    fractions: bool = False  # its second column is a sum of fractions, whose last digits depend on their order


@dataclass
class Variant:
    """A scheduler, and what else differs in its runs."""
    label: str
    scheduler: str
    slots: int = 0  # of every worker; 0: as the scenario says

    @property
    def name(self):
        return self.scheduler.split("(")[0]


@dataclass
class Limit:
    """`of` gives the value, by the medians of all variants; nothing when one is missing."""
    text: str
    of: object
    most: float = float("inf")
    least: float = float("-inf")


@dataclass
class Scenario:
    title: str
    workers: list
    variants: list
    limits: list
    rounds: int
    seconds: int  # of all rounds, about
    uplink: float = 0  # bytes a second of each rack, each way
    files: bool = False  # inputs are files of the cluster
    replays: int = 9  # of each log, an odd number
    advises: bool = False  # `weft advise` is asked, too, from the log of the first scheduler
    inputs: object = None  # of the place of the data: the directories that become files of the cluster
    master: list = field(default_factory=list)  # further options

    def racks(self):
        return sorted({worker.rack for worker in self.workers} - {""})


def change(figure, of, against):
    """(of - against) / against."""
    def value(medians):
        if of not in medians or against not in medians:
            return None
        return medians[of][figure] / medians[against][figure] - 1
    return value


def replay_error(label):
    return lambda medians: abs(medians[label]["replay_error"]) if label in medians else None


def difference_of_replays(figure, of, against):
    """Points between the change that was measured and that between the replays of both logs."""
    def value(medians):
        real = change(figure, of, against)(medians)
        told = {label: medians.get(label, {}).get("replayed") for label in (of, against)}
        return None if real is None or not all(told.values()) else abs(real - change(figure, of, against)(told))
    return value


# ---- altruism: many DAGs of three kinds at the same time -----------------------------------------------------------------------

ALTRUISM_SIZES = {"small": 1.2, "middle": 3, "large": 6}  # million sales; twice as many edges


def altruism_data(place, programs, size):
    for name, millions in ALTRUISM_SIZES.items():
        os.makedirs(f"{place}/{name}")
        run([f"{programs}/shop_tables", int(millions * 1e6 * size), f"{place}/{name}"])
        run([f"{programs}/graph_edges", int(2e6 * millions * size), f"{place}/{name}/edges.tsv", int(20_000 * max(size, 0.05))])


def altruism_jobs(place, size, alone):
    """Jobs keep coming while slots are scarce: half of them small, a quarter large, about three a second."""
    def returns(data, number):
        return ["returns", "--returns", f"{data}/returns.tsv", "--stores", f"{data}/stores.tsv", "--customers", f"{data}/customers.tsv",
                "--state", f"S{number % 8}"]

    def tree(data, number):
        return ["jointree", "--orders", f"{data}/orders.tsv", "--customers", f"{data}/customers.tsv", "--lines", f"{data}/lines.tsv",
                "--products", f"{data}/products.tsv"]

    def ranks(data, number):
        return ["pagerank", "--input", f"{data}/edges.tsv", "--iterations", "3"]

    kinds = [(tree, "large"), (returns, "small"), (ranks, "middle"), (returns, "large"), (tree, "small"), (returns, "middle"),
             (ranks, "small"), (tree, "middle"), (returns, "small"), (ranks, "large"), (tree, "small"), (returns, "small")]
    users = ["ann", "bob", "cat", "dan"]
    jobs = []
    for number in range(24):
        make, data = kinds[number % len(kinds)]
        words = make(f"{place}/{data}", number) + ["--partitions", "8"]
        jobs.append(Job(f"{make.__name__}-{data}-{number}", users[number % 4], 0.35 * number, words, fractions=make is ranks))
    return jobs


SHARES_THEN_SHORTEST = "drf(form=closed,mean=all,leftover=[srtf,packing],stages=cpm)"
ALTRUISM = Scenario(
    title="Altruism: 24 returns, join trees and PageRanks of three sizes on four workers, about three a second",
    workers=[Worker(f"w{i}", slots=2, processors=0.45) for i in range(1, 5)],
    variants=[Variant("drf", "drf(form=closed,mean=all,leftover=furthest)"), Variant("fair-srtf", SHARES_THEN_SHORTEST),
              Variant("srtf", "srtf(stages=cpm)"), Variant("carbyne", "carbyne(mode=paper)"),
              Variant("carbyne-lent", "carbyne(mode=paper,loan=share)")],
    limits=[*(Limit(f"{label} against drf: mean completion", change("completion", label, "drf"), most=0)
              for label in ("carbyne", "carbyne-lent")),
            Limit("carbyne-lent against drf that leaves the rest to the shortest: mean completion",
                  change("completion", "carbyne-lent", "fair-srtf"), most=0),
            Limit("carbyne-lent against srtf: mean completion", change("completion", "carbyne-lent", "srtf"), most=0.25),
            Limit("carbyne against fair-srtf: part of the jobs a quarter slower",
                  lambda medians: medians["carbyne"]["slower"] - medians["fair-srtf"]["slower"] if {"carbyne", "fair-srtf"} <= medians.keys()
                  else None, most=0),
            *(Limit(f"{label}: mean completion of the replay", replay_error(label), most=0.10)
              for label in ("drf", "fair-srtf", "srtf", "carbyne", "carbyne-lent"))],
    rounds=10, seconds=1000)


# ---- racks: shuffles over thin links -------------------------------------------------------------------------------------------

TEXTS = {"a": 1.2, "b": 2.4, "c": 4.8, "d": 9.6}  # megabytes
RECORDS = {"small": 15_000, "large": 50_000}
FILES = 24  # of each input: as many as there are tasks that read it


def racks_data(place, programs, size):
    """Each task reads a file, which is one chunk. Where tasks read parts of a chunk as small as these, all that is between two of them
    would be fetched twice: workers send whole pages of 64 KiB."""
    def parts(lines, name):
        os.makedirs(f"{place}/{name}")
        lines = list(lines)
        pieces, filled, most = [[]], 0, -(-sum(map(len, lines)) // FILES)
        for line in lines:
            if filled >= most:
                pieces, filled = pieces + [[]], 0
            pieces[-1].append(line)
            filled += len(line)
        for number, piece in enumerate(pieces):
            with open(f"{place}/{name}/{number:02}", "wb") as file:
                file.writelines(piece)

    os.makedirs(f"{place}/whole")
    run([f"{programs}/shop_tables", int(600_000 * size), f"{place}/whole"])
    with open(f"{place}/whole/item_pairs.tsv", "rb") as lines:
        parts(lines, "pairs")
    for name, megabytes in TEXTS.items():
        os.makedirs(f"{place}/text-{name}")
        for part in range(FILES):
            run([f"{programs}/zipf_text", int(megabytes * 1e6 * size / FILES), f"{place}/text-{name}/{part}", 200_000, 0.6, part])
    for name, records in RECORDS.items():
        run([f"{programs}/terasort", "gen", "--quiet", "--records", int(records * size), "--output", f"{place}/whole/{name}"])
        whole = b"".join(open(f"{place}/whole/{name}/{file}", "rb").read() for file in sorted(os.listdir(f"{place}/whole/{name}"))
                         if file.startswith("part-"))
        parts((whole[at:at + 100] for at in range(0, len(whole), 100)), f"records-{name}")
    shutil.rmtree(f"{place}/whole")


def racks_inputs(place):
    return [f"{place}/text-{name}" for name in TEXTS] + [f"{place}/records-{name}" for name in RECORDS] + [f"{place}/pairs"]


def racks_jobs(place, size, alone):
    """About the parts of a published mix: 40 % of the jobs shuffle much, 20 % some, 40 % little. So many jobs that the throughput is
    not that of the last few alone; they come faster than fair and delay can run them, and about as fast as shufflewatcher can."""
    def text(program, name, *more):
        return [program, "--input", f"weft://in/text-{name}", *more]
    def records(name):
        return ["terasort", "sort", "--input", f"weft://in/records-{name}"]
    pairs = ["selfjoin", "--input", "weft://in/pairs"]
    grep = ("--fixed", "--pattern", "w17")
    kinds = [("rankedindex", text("rankedindex", "c")), ("grep", text("grep", "d", *grep)), ("terasort", records("large")),
             ("wordcount", text("wordcount", "b")), ("selfjoin", pairs), ("grep", text("grep", "c", *grep)),
             ("invertedindex", text("invertedindex", "c")), ("terasort", records("small")), ("wordcount", text("wordcount", "a")),
             ("rankedindex", text("rankedindex", "b")), ("grep", text("grep", "b", *grep)), ("selfjoin", pairs),
             ("invertedindex", text("invertedindex", "b")), ("terasort", records("large")), ("grep", text("grep", "a", *grep)),
             ("rankedindex", text("rankedindex", "d"))]
    users = ["ann", "bob", "cat", "dan"]
    jobs = []
    for number in range(128):
        name, words = kinds[number % len(kinds)]
        # A number of partitions, so that small ones stay apart: replays do not place what was merged.
        jobs.append(Job(f"{name}-{number}", users[(number * 7 // 4) % 4], 0.4 * number, words + ["--partitions", "12"]))
    return jobs


DELAY = "delay(inner=fair,node_wait=500ms,rack_wait=500ms)"
RACKS = Scenario(
    title="Racks: 128 jobs of four users on three racks of two workers",
    # Not compressed, so that replays need no guess of what that saves.
    workers=[Worker(f"w{2 * rack + i}", slots=1, processors=0.3, rack=f"rack-{rack + 1}", options=["--compress", "false"])
             for rack in range(3) for i in (1, 2)],
    variants=[Variant("fair", "fair"), Variant("delay", DELAY),
              Variant("shufflewatcher", f"shufflewatcher(mode=paper,users={DELAY})")],
    limits=[limit for other in ("fair", "delay") for limit in (
                Limit(f"shufflewatcher against {other}: bytes between racks", change("crossed", "shufflewatcher", other), most=-0.25),
                Limit(f"shufflewatcher against {other}: mean turn-around", change("completion", "shufflewatcher", other), most=-0.15),
                Limit(f"shufflewatcher against {other}: throughput", change("throughput", "shufflewatcher", other), least=0.10))]
           + [Limit(f"the same against {other}, replayed: {figure}, off by", difference_of_replays(figure, "shufflewatcher", other), most=0.10)
              for other in ("fair", "delay") for figure in ("crossed", "completion", "throughput")],
    rounds=5, seconds=1700, uplink=6e6, files=True, inputs=racks_inputs, replays=25)


# ---- goals: deadlines, and one worker that is faster ---------------------------------------------------------------------------

def goals_data(place, programs, size):
    run([f"{programs}/zipf_text", int(160e6 * size), f"{place}/text", 50_000])
    run([f"{programs}/gridmix", "gen", "--quiet", "--rows", int(1_200_000 * size), "--output", f"{place}/rows"])
    run([f"{programs}/zipf_text", int(160e6 * size), f"{place}/plain", 50_000, 1, 2])
    os.truncate(f"{place}/plain", os.path.getsize(f"{place}/plain") // 4096 * 4096)


GOALS_MIX = [("wordcount", 0), ("montecarlo-1", 0.5), ("crypt", 1), ("sort", 1.5), ("montecarlo-2", 2)]
TIGHT = {"montecarlo-1": 0.45, "crypt": 0.6, "montecarlo-2": 0.75, "sort": 0.9, "wordcount": 1.05}


def goals_jobs(place, size, alone, tightness="loose"):
    """`alone`: seconds from the first submission to the end of all jobs, as a run under `fair` took. Loose goals are one and a half
    times that, tight ones of each job a part of it. Jobs take several seconds each: of shorter ones their start is most."""
    words = {"wordcount": ["wordcount", "--input", f"{place}/text"],
             "montecarlo-1": ["montecarlo", "--points", int(1e10 * size), "--tasks", 48],
             "montecarlo-2": ["montecarlo", "--points", int(1e10 * size), "--tasks", 48, "--seed", 2],
             "crypt": ["crypt", "--input", f"{place}/plain", "--key", "000102030405060708090a0b0c0d0e0f"],
             "sort": ["gridmix", "sort", "--input", f"{place}/rows"]}
    jobs = []
    for name, at in GOALS_MIX:
        goal = 0
        if alone:
            goal = alone * (1.5 if tightness == "loose" else TIGHT[name]) - at * size  # as jobs come that much sooner
        job = Job(name, "ann", at, list(map(str, words[name])), not name.startswith("montecarlo"), goal)
        jobs.append(job)
    return jobs


def goals(tightness):
    return Scenario(
        title=f"Goals: five jobs with {tightness} deadlines on six workers, one of them accelerated",
        workers=[Worker(f"w{i}", slots=2, processors=0.3, attributes=["accelerator=simd"] if i == 6 else []) for i in range(1, 7)],
        variants=[Variant("fair", "fair"), Variant("drf", "drf"), Variant("srtf", "srtf"), Variant("adaptive", "adaptive(rest=even)")],
        limits=[Limit("adaptive: deadlines met", lambda medians: medians.get("adaptive", {}).get("met"),
                      least=5 if tightness == "loose" else 0)]
               + [Limit(f"adaptive against {other}: deadlines met", more_met("adaptive", other), least=0)
                  for other in ("fair", "drf", "srtf")]
               + [Limit("adaptive: ends expected from half of each job on, off by", lambda medians: medians.get("adaptive", {}).get("expectation"),
                        most=0.15 if tightness == "tight" else 0.2),
                  Limit("adaptive: mean completion of the replay", replay_error("adaptive"), most=0.10)],
        rounds=3, seconds=300)


def more_met(of, against):
    return lambda medians: medians[of]["met"] - medians[against]["met"] if of in medians and against in medians else None


# ---- resources: as many tasks at a time as a node has room for ------------------------------------------------------------------

RESOURCES_POINTS = 6e9
RESOURCES_TASKS = 48


def resources_data(place, programs, size):
    """Rows in compressed files that nobody cuts: there are as many tasks whatever the number of slots."""
    run([f"{programs}/gridmix", "gen", "--quiet", "--rows", int(1_000_000 * size), "--output", f"{place}/plain"])
    rows = b"".join(open(f"{place}/plain/{name}", "rb").read() for name in sorted(os.listdir(f"{place}/plain"))).splitlines(True)
    os.makedirs(f"{place}/rows")
    for part in range(RESOURCES_TASKS):
        with gzip.open(f"{place}/rows/{part:02}.gz", "wb", 1) as file:
            file.writelines(rows[part::RESOURCES_TASKS])
    shutil.rmtree(f"{place}/plain")


def resources_jobs(place, size, alone):
    """As much work for the processors, which montecarlo takes, as for the disks, which sort takes: a worker that does one thing at a
    time takes twice as long as one that does both. Tasks of combine hold a third of a worker's memory each."""
    rows = ["--input", f"{place}/rows", "--shuffle-mode", "pull", "--partitions", "24"]
    jobs = []
    for number in range(2):
        jobs += [Job(f"sort-{number}", "ann", 0.4 * number, ["gridmix", "sort", *rows]),
                 Job(f"montecarlo-{number}", "dan", 0.4 * number + 0.1,
                     ["montecarlo", "--points", str(int(RESOURCES_POINTS * size)), "--tasks", "30"], False),
                 Job(f"combine-{number}", "bob", 0.4 * number + 0.2, ["gridmix", "combine", *rows, "--demand", "cpu=1,memory=340MiB"]),
                 Job(f"select-{number}", "cat", 0.4 * number + 0.3, ["gridmix", "select", *rows, "--below", "2"])]
    return jobs


def against_fixed(which):
    """Makespan of ras over the best, or the worst, of the fixed numbers of slots."""
    def value(medians):
        fixed = [medians[label]["makespan"] for label in medians if label.startswith("fair-")]
        if "ras" not in medians or not fixed:
            return None
        return medians["ras"]["makespan"] / which(fixed) if which is min else which(fixed) / medians["ras"]["makespan"]
    return value


RESOURCES = Scenario(
    title="Resources: jobs bound by processors, memory and disks, with one to eight slots on each of six workers",
    workers=[Worker(f"w{i}", slots=8, processors=0.3, period=20_000, memory="1GiB", disk=8e6, seek=0.004,
                    options=["--capacity", "disk_write=8MB"]) for i in range(1, 7)],
    variants=[Variant(f"fair-{slots}", "fair", slots) for slots in range(1, 9)]
             + [Variant("ras", "ras(mode=paper)")],
    limits=[Limit("ras: makespan over that of the best number of slots", against_fixed(min), most=1.05),
            Limit("ras: makespan of the worst number of slots over its own", against_fixed(max), least=1.5)],
    rounds=2, seconds=440)


SCENARIOS = {
    "altruism": (ALTRUISM, altruism_data, altruism_jobs),
    "racks": (RACKS, racks_data, racks_jobs),
    "goals": (goals("loose"), goals_data, goals_jobs),
    "tight-goals": (goals("tight"), goals_data, lambda *of: goals_jobs(*of, tightness="tight")),
    "resources": (RESOURCES, resources_data, resources_jobs),
}
