"""The workloads of the matrix. Each row has a cause of its own for which one scheduler differs from another."""
from dataclasses import dataclass



def network(nodes, cores, racks, *more, nic="125MB", disk="100MB", mode="memory"):
    return ("--nodes", str(nodes), "--cores", str(cores), "--racks", str(racks), "--network", "--nic", nic, "--disk", disk,
            "--shuffle-mode", mode, "--set", "shuffle.fetch=16MiB", *more)


@dataclass(frozen=True)
class Row:
    name: str
    cause: str  # what is special about it, in a few words
    workload: str
    cluster: tuple


def mix(gap, jobs=60, users=6, size="600MB", sorts="bins(60:500MB..4GB,40:4GB..15GB)", more=""):
    return (f"generate:jobs={jobs},mean_gap={gap}s,users={users},input=lognormal({size},1.2){more},"
            "class=grep(weight=3,shuffle_ratio=0.01),class=etl(weight=2,shuffle_ratio=0.4),"
            f"class=sort(weight=2,input={sorts},shuffle_ratio=1.1)")


def over(ratio, *more, nodes=16, cores=4, racks=4, **others):
    return network(nodes, cores, racks, "--oversubscription", str(ratio), *more, **others)


MIXES = tuple(Row(f"mix-{load}-{ratio}", f"{load} load of greps, joins and sorts, uplinks {ratio}:1", mix(gap), over(ratio))
              for load, gap in (("light", 20), ("medium", 12), ("heavy", 7)) for ratio in (1, 3, 10))

LARGE_AND_SMALL = (",class=large(weight=1,user=nightly,input=uniform(8GB,20GB),shuffle_ratio=1),"
                   "class=small(weight=6,input=lognormal(400MB,0.8),shuffle_ratio=0.2)")
GOALS = "generate:jobs=60,mean_gap={}s,users=5,input=lognormal(1.2GB,1),shuffle_ratio=0.5,isolated_slots=20,deadline={}"
HEAVY_TAIL = "bins(60:1MB..100MB,22:100MB..1GB,15:1GB..8GB,3:8GB..60GB)"

TUNED = MIXES + (
    Row("skew", "a few partitions hold most of a shuffle", mix(12, more=",skew=0.9"), over(3)),
    Row("small-jobs", "jobs of a few seconds", "generate:jobs=250,mean_gap=0.8s,users=10,input=lognormal(300MB,0.9),shuffle_ratio=0.3",
        over(3)),
    Row("dags", "random graphs of up to ten stages",
        "generate:jobs=60,kind=dag,mean_gap=14s,users=5,stages=uniform(2,10),parents=uniform(1,3),input=lognormal(1GB,1),"
        "shuffle_ratio=0.7", over(3)),
    Row("one-users-large-jobs", "one user has the large jobs", "generate:jobs=70,mean_gap=6s,users=5" + LARGE_AND_SMALL, over(3)),
    Row("heavy-tail", "sizes as in SWIM's traces: most jobs tiny, most bytes in a few",
        f"generate:jobs=150,mean_gap=3.5s,users=8,input={HEAVY_TAIL},shuffle_ratio=choice(0,0.05,0.3,1)", over(5)),
    Row("queries", "graphs as of TPC-H's queries, bytes take no time",
        "generate:jobs=80,kind=dag,mean_gap=20s,users=4,stages=uniform(3,12),parents=uniform(1,2),tasks=lognormal(12,1),"
        "task_time=lognormal(6s,0.8)", ("--nodes", "16", "--cores", "4")),
    Row("deadlines", "half of the jobs have tight deadlines",
        "generate:jobs=60,mean_gap=4s,users=4,input=lognormal(1GB,1),shuffle_ratio=0.4,isolated_slots=16,"
        "class=goal(weight=1,deadline=uniform(1.5,4)),class=free(weight=1)", over(3)),
    Row("loose-deadlines", "every job has a deadline, three to eight times what it takes alone", GOALS.format(5, "uniform(3,8)"), over(3)),
    Row("tight-deadlines", "every job has a deadline, and half of them are missed", GOALS.format(4, "uniform(1.2,2.5)"), over(3)),
    Row("concentrated-shuffles", "heavy shuffles, a job's input in one rack, uplinks 8:1",
        "generate:jobs=50,mean_gap=7s,users=5,input=lognormal(2GB,0.8),shuffle_ratio=uniform(0.8,1.5)",
        over(8, "--set", "storage.concentration=0.9", nodes=32, cores=2, racks=8)),
    Row("concentrated", "a job's input lies in one rack, uplinks 10:1",
        mix(12), over(10, "--set", "storage.concentration=0.8", nodes=18, racks=6)),
    Row("one-rack", "no uplinks", mix(8), network(16, 4, 1)),
    Row("three-nodes", "a cluster of six slots", mix(35, jobs=40, users=3, size="300MB", sorts="bins(60:300MB..2GB,40:2GB..5GB)"), network(3, 2, 1)),
    Row("one-user", "everything belongs to one user", mix(9, users=1), over(3)),
    Row("memory", "tasks of one to five GiB on nodes of eight",
        "generate:jobs=60,mean_gap=5s,users=5,input=lognormal(1GB,1),shuffle_ratio=0.3,class=lean(weight=3,demand=(cpu=1,memory=1GiB)),"
        "class=fat(weight=2,demand=(cpu=1,memory=5GiB)),class=wide(weight=1,demand=(cpu=2,memory=2GiB))",
        over(3, "--memory", "8GiB")),
    Row("equal-jobs", "all jobs are alike", "generate:jobs=50,mean_gap=4.5s,users=5,input=2GB,shuffle_ratio=0.5", over(3)),
    Row("stragglers", "one attempt in twenty takes up to nine times as long",
        mix(12), over(3, "--set", "faults.stragglers=0.05", "--set", "faults.straggler_factor=5", "--speculation", "on")),
    Row("burst", "forty jobs at once", mix(0.1, jobs=40), over(3)),
    Row("heartbeats", "nodes report each three seconds; shuffles over disks", mix(14), over(3, "--heartbeat", "3s", mode="pull")),
    Row("maps-only", "no shuffles, long tasks", "generate:jobs=70,mean_gap=10s,users=6,shuffle_ratio=0,maps=bins(70:1..20,30:20..200),"
        "map_time=lognormal(10s,0.6)", ("--nodes", "16", "--cores", "4")),
    Row("unequal-nodes", "half of the nodes are half as fast",
        mix(16), over(3, "--set", "groups=count=8,cores=4,speed=0.5", nodes=8)),
    Row("narrow", "few long tasks a job", "generate:jobs=60,mean_gap=7s,users=5,maps=uniform(1,12),reduces=uniform(1,3),"
        "map_time=lognormal(25s,0.7),reduce_time=lognormal(20s,0.7),input=1GB,shuffle_ratio=0.5", ("--nodes", "8", "--cores", "4")),
    Row("weights", "one user's jobs weigh three times as much",
        "generate:jobs=60,mean_gap=3.5s,users=5,input=lognormal(900MB,1.1),shuffle_ratio=0.4,class=gold(weight=1,job_weight=3,user=gold),"
        "class=plain(weight=4)", over(3)),
)

# The same causes, and some others, with parameters that nothing was tuned on.
HELD_OUT = (
    Row("mix-24-nodes", "another cluster: three racks of eight", mix(8, jobs=70, users=4, size="900MB"),
        over(5, nodes=24, cores=2, racks=3)),
    Row("mix-slow-disks", "disks of 40 MB/s, links of 60", mix(16), over(4, nic="60MB", disk="40MB")),
    Row("sorts", "nothing but sorts", "generate:jobs=40,mean_gap=16s,users=3,input=lognormal(2GB,1),shuffle_ratio=1.2", over(6)),
    Row("greps", "nothing but greps", "generate:jobs=150,mean_gap=2s,users=12,input=lognormal(700MB,1.4),shuffle_ratio=0.02", over(6)),
    Row("dags-wide", "graphs with many parents", "generate:jobs=50,kind=dag,mean_gap=28s,users=7,stages=uniform(4,14),"
        "parents=uniform(1,5),tasks=lognormal(14,0.9),task_time=lognormal(4s,1),input=2GB,shuffle_ratio=0.4", over(8)),
    Row("two-users", "one user with many jobs, one with few", "generate:jobs=70,mean_gap=4s,input=lognormal(800MB,1.1),"
        "shuffle_ratio=0.4,class=many(weight=6,user=ann),class=few(weight=1,user=bob)", over(4)),
    Row("heavy-tail-pareto", "sizes of a Pareto distribution", "generate:jobs=120,mean_gap=2.5s,users=5,"
        "input=pareto(100MB,0.9,40GB),shuffle_ratio=uniform(0,0.8)", over(4)),
    Row("eight-slots", "one machine", "generate:jobs=40,mean_gap=20s,users=2,input=lognormal(600MB,1.1),shuffle_ratio=0.5",
        ("--nodes", "1", "--cores", "8")),
    Row("memory-tight", "tasks of two to seven GiB on nodes of eight", "generate:jobs=50,mean_gap=5s,users=4,"
        "input=lognormal(900MB,0.9),shuffle_ratio=0.2,class=lean(weight=2,demand=(cpu=1,memory=2GiB)),"
        "class=fat(weight=1,demand=(cpu=1,memory=7GiB))", over(4, "--memory", "8GiB")),
    Row("deaths", "nodes die and come back", mix(14), over(3, "--set", "faults.between_deaths=3min", "--set", "faults.repair=2min")),
    Row("overload", "a third more work than the cluster can do", mix(4.5), over(3)),
    Row("concentrated-3", "input in one rack, uplinks 3:1", mix(10), over(3, "--set", "storage.concentration=0.9", nodes=24, cores=2, racks=6)),
)

# Made up when the schedulers were done, to see whether the bounds hold elsewhere. ras did not keep them (it crowded nodes at light loads).
FURTHER = (
    Row("bursts", "thirty seconds of arrivals for five minutes of work", "generate:jobs=60,mean_gap=0.5s,users=4,input=lognormal(1GB,1.3),"
        "shuffle_ratio=uniform(0,1)", over(4, nodes=20, cores=2, racks=5)),
    Row("large-nodes", "six nodes of sixteen slots, hardly any load", "generate:jobs=60,mean_gap=5s,users=6,input=pareto(200MB,1.1,30GB),"
        "shuffle_ratio=choice(0.02,0.5,1.2)", over(3, nodes=6, cores=16, racks=2, nic="500MB", disk="400MB")),
    Row("slow-links", "links of 30 MB/s", "generate:jobs=40,mean_gap=15s,users=3,input=lognormal(800MB,1),shuffle_ratio=uniform(0.3,1)",
        network(12, 4, 3, "--oversubscription", "2", nic="30MB")),
    Row("long-tasks", "tasks of half a minute, some of minutes", "generate:jobs=50,mean_gap=14s,users=7,maps=bins(80:1..15,20:40..160),"
        "reduces=bins(80:1..4,20:8..30),map_time=lognormal(20s,0.9),reduce_time=lognormal(15s,0.9),input=2GB,shuffle_ratio=0.6",
        over(4, nodes=20)),
    Row("chains", "one shuffle after the other", "generate:jobs=50,kind=dag,mean_gap=11s,users=5,stages=uniform(3,8),parents=uniform(1,1),"
        "input=lognormal(800MB,0.9),shuffle_ratio=0.9", over(5, nodes=15, racks=3)),
    Row("deep-dags", "graphs of many short stages", "generate:jobs=40,kind=dag,mean_gap=16s,users=6,stages=uniform(6,16),parents=uniform(1,4),"
        "tasks=lognormal(10,0.8),task_time=lognormal(3s,0.8),input=1GB,shuffle_ratio=0.3", over(4)),
    Row("one-heavy-user", "one user has four of five jobs, and the larger ones", "generate:jobs=80,mean_gap=5s,"
        "class=hog(weight=4,user=hog,input=lognormal(2GB,1),shuffle_ratio=0.6),class=rest(weight=1,input=lognormal(300MB,1),shuffle_ratio=0.1)",
        over(3)),
    Row("some-goals", "two thirds of the jobs have deadlines", "generate:jobs=60,mean_gap=6s,users=4,input=lognormal(1.5GB,0.8),"
        "shuffle_ratio=0.6,isolated_slots=24,class=goal(weight=2,deadline=uniform(1.5,5)),class=free(weight=1)", over(4)),
    Row("concentrated-4", "input in one rack of four, heavy shuffles", "generate:jobs=50,mean_gap=7s,users=5,input=lognormal(1.5GB,1),"
        "shuffle_ratio=uniform(0.5,1.2)", over(6, "--set", "storage.concentration=0.7", nodes=24, cores=3)),
    Row("pulled-shuffles", "shuffles over disks of 60 MB/s, light load", "generate:jobs=50,mean_gap=14s,users=5,input=lognormal(1GB,1),"
        "shuffle_ratio=0.7", over(3, mode="pull", nic="100MB", disk="60MB")),
)
