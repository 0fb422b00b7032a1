#!/usr/bin/env python3
"""Jobs that fail or suffer for a known cause on real clusters, and jobs that are well: `weft job diagnose` names the cause of the first
and says nothing of the others. Prints a table.

diagnose_test.py BIN [CASE …]    with CASEs: only those whose name contains one of the words
"""
import concurrent.futures, gzip, os, random, shutil, signal, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
from diagnose_cluster import Cluster  # noqa: E402
from waiting import content, until  # noqa: E402

bin_dir, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
scratch = tempfile.mkdtemp(prefix="weft-diagnose-")
Cluster.programs, Cluster.scratch = bin_dir, scratch
REQUIRED = 0.9  # of the causes
FAILURES, HEALTHY = [], []


def failure(name, kind):
    return lambda case: FAILURES.append((name, kind, case))


def healthy(name):
    return lambda case: HEALTHY.append((name, None, case))


# What fails or suffers. Each answers with what is said of the job in question.

def memory_group(bytes_):
    """A control group of version 1 or 2; nothing where none can be made."""
    name = f"/weft-diagnose-{os.getpid()}"
    for path, file in (("/sys/fs/cgroup/memory" + name, "memory.limit_in_bytes"), ("/sys/fs/cgroup" + name, "memory.max")):
        try:
            os.mkdir(path)
            with open(f"{path}/{file}", "w") as limit:
                limit.write(str(bytes_))
            return path
        except OSError:
            if os.path.isdir(path):
                os.rmdir(path)
    return None


@failure("memory: killed by the kernel", "out_of_memory")
def _():
    group = memory_group(192 << 20)
    if not group:
        return None
    try:
        with Cluster(0) as cluster:
            cluster.add_worker(within=["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"'])
            cluster.job("cluster_probe", "allocate", "--tasks", "1", "--max-attempts", "2", fails=True)
            return cluster.kinds()
    finally:
        until(lambda: not content(group + "/cgroup.procs"), "the control group to be empty")
        os.rmdir(group)


@failure("memory: an allocation fails", "out_of_memory")
def _():
    with Cluster(0) as cluster:
        cluster.add_worker("--memory", "64MiB", "--store-memory", "64MiB", within=["prlimit", f"--as={1 << 30}"])
        cluster.job("cluster_probe", "allocate", "--tasks", "1", "--max-attempts", "2", fails=True)
        return cluster.kinds()


def hot_key(mode):
    with Cluster() as cluster:
        cluster.job("ailing_probe", mode, "--partitions", "8")
        said = cluster.kinds()
        assert any("of its records have the key '0'" in finding for _, finding in said), said
        return said


failure("a hot partition", "skew")(lambda: hot_key("hot"))
failure("a hot partition of a sort", "skew")(lambda: hot_key("hot_sort"))


@failure("a slow node", "slow_node")
def _():
    with Cluster(4) as cluster:
        cluster.job("ailing_probe", "even", "--tasks", "40", "--milliseconds", "700", "--on", "w2")
        return cluster.kinds()


@failure("a slow node, few tasks", "slow_node")
def _():
    with Cluster(4, ("--speculation", "off")) as cluster:
        cluster.job("ailing_probe", "even", "--tasks", "8", "--milliseconds", "500", "--on", "w3")
        return cluster.kinds()


def hold(cluster, *words):
    """A job whose tasks have begun and wait."""
    marker = f"{cluster.directory}/hold{len(cluster.processes)}"
    process = cluster.begin("ailing_probe", "hold", "--marker", marker, *words)
    until(lambda: os.path.exists(marker), "a task")
    return process, lambda: open(marker + ".go", "w").close()


@failure("a lost worker", "lost_worker")
def _():
    with Cluster() as cluster:
        job, go = hold(cluster)
        cluster.has("task_launched", 6)
        cluster.workers[1].kill()
        cluster.has("worker_lost")
        go()
        assert job.wait(60) == 0
        return cluster.kinds()


@failure("a lost worker that had map outputs", "lost_worker")
def _():
    with Cluster() as cluster:
        marker = cluster.directory + "/reduce"
        job = cluster.begin("cluster_probe", "hold", "--marker", marker)
        until(lambda: os.path.exists(marker + ".held"), "a reduce")
        cluster.workers[0].kill()
        cluster.has("worker_lost")
        open(marker + ".go", "w").close()
        assert job.wait(60) == 0
        return cluster.kinds()


@failure("bad records, left out", "bad_record")
def _():
    with Cluster() as cluster:
        cluster.job("ailing_probe", "drop", "--tasks", "100", "--milliseconds", "5", "--max-bad-records", "10")
        return cluster.kinds()


@failure("bad records, too many", "bad_record")
def _():
    with Cluster() as cluster:
        cluster.job("cluster_probe", "bad", "--max-bad-records", "5", fails=True)
        return cluster.kinds()


@failure("a full disk", "disk_full")
def _():
    with Cluster(0) as cluster:
        small = f"{cluster.directory}/w1"
        os.mkdir(small)
        cluster.add_worker("--memory", "16MiB", "--store-memory", "16MiB", within=["unshare", "-m", "sh", "-c",
                           f'mount -t tmpfs -o size=24m none {small} && exec "$0" "$@"'])
        cluster.job("ailing_probe", "hot", "--records", "500000", "--max-attempts", "2", fails=True)
        return cluster.kinds()


@failure("a demand far above what is held", "wrong_demand")
def _():
    with Cluster(worker=("--memory", "4GiB")) as cluster:
        cluster.job("ailing_probe", "even", "--demand", "cpu=1,memory=3GiB")
        return cluster.kinds()


@failure("a demand that no worker can meet", "wrong_demand")
def _():
    with Cluster(worker=("--memory", "512MiB")) as cluster:
        cluster.job("ailing_probe", "even", "--demand", "cpu=1,memory=64GiB", fails=True)
        return cluster.kinds()


@failure("a queue in which others have the slots", "starved")
def _():
    with Cluster() as cluster:
        first, go = hold(cluster)
        second = cluster.begin("ailing_probe", "even", "--tasks", "2")
        cluster.has("plan_extended", 2)
        time.sleep(5.5)  # the wait that is the ailment
        go()
        assert first.wait(60) == 0 and second.wait(60) == 0
        return cluster.kinds(2)


@failure("a cluster without workers", "starved")
def _():
    with Cluster(0) as cluster:
        job = cluster.begin("ailing_probe", "even", "--tasks", "2")
        cluster.has("plan_extended")
        time.sleep(5.5)  # as above
        cluster.add_worker()
        assert job.wait(60) == 0
        return cluster.kinds()


def records(cluster, count):
    """Of 100 bytes each."""
    path = cluster.directory + "/records"
    subprocess.run([bin_dir + "/terasort", "gen", "--quiet", "--records", str(count), "--output", path], check=True)
    return path


@failure("spills", "spill")
def _():
    with Cluster(2, worker=("--memory", "8MiB")) as cluster:
        cluster.job("terasort", "sort", "--input", records(cluster, 1000000), "--output", cluster.directory + "/sorted")
        return cluster.kinds()


@failure("input on other machines", "remote_input")
def _():
    with Cluster(0) as cluster:
        data = records(cluster, 1000000)
        cluster.add_worker("--local-data", data)
        cluster.add_worker()
        cluster.weft("node", "wait", "2")
        job, go = hold(cluster, "--tasks", "1")  # on the one that has the data, which has no other slot then
        cluster.weft("node", "set", "w1", "slots=1")
        cluster.job("terasort", "sort", "--input", data, "--output", out(cluster))
        go()
        assert job.wait(60) == 0
        return cluster.kinds(2)


@failure("a program that throws", "user_code")
def _():
    with Cluster() as cluster:
        cluster.job("cluster_probe", "throw", fails=True)
        return cluster.kinds()


@failure("a program with a wild pointer", "crash")
def _():
    with Cluster() as cluster:
        cluster.job("cluster_probe", "segfault", fails=True)
        return cluster.kinds()


@failure("an executor that somebody kills", "crash")
def _():
    with Cluster(1) as cluster:
        cluster.job("cluster_probe", "once", "--marker", cluster.directory + "/once")
        return cluster.kinds()


@failure("a program that exits", "crash")
def _():
    with Cluster() as cluster:
        cluster.job("cluster_probe", "exit", fails=True)
        return cluster.kinds()


@failure("tasks longer than their timeout", "timeout")
def _():
    with Cluster(worker=("--stop-grace", "100ms")) as cluster:
        cluster.job("cluster_probe", "loop", "--marker", cluster.directory + "/loops", "--task-timeout", "500ms", "--max-attempts", "2", fails=True)
        return cluster.kinds()


@failure("input that was removed", "unreadable_input")
def _():
    with Cluster(0) as cluster:
        text = cluster.directory + "/text"
        with open(text, "w") as file:
            file.write("a line\n" * 1000)
        job = cluster.begin("ailing_probe", "read", "--input", text)
        cluster.has("plan_extended")
        os.remove(text)
        cluster.add_worker()
        assert job.wait(60) != 0
        return cluster.kinds()


@failure("a node on which every task fails", "failing_node")
def _():
    with Cluster() as cluster:
        cluster.job("ailing_probe", "broken", "--on", "w2", "--tasks", "24")
        return cluster.kinds()


@failure("another program on the workers", "plan_mismatch")
def _():
    with Cluster() as cluster:
        cluster.job("ailing_probe", "changing", fails=True)
        return cluster.kinds()


@failure("one large file that cannot be split", "uneven_input")
def _():
    with Cluster() as cluster:
        data = cluster.directory + "/data"
        os.mkdir(data)
        chosen = random.Random(1)
        for number in range(6):
            with gzip.open(f"{data}/{number}.gz", "wb") as file:
                file.write(b"".join(chosen.randbytes(250).hex().encode() + b"\n" for _ in range(2500 if number == 3 else 250)))
        cluster.job("ailing_probe", "read", "--input", data)
        return cluster.kinds()


@failure("a compressed file that was cut off", "unreadable_input")
def _():
    with Cluster() as cluster:
        data = cluster.directory + "/data"
        os.mkdir(data)
        for number in range(4):
            packed = gzip.compress(words(number, 300000))
            with open(f"{data}/{number}.gz", "wb") as file:
                file.write(packed[:len(packed) // 2] if number == 2 else packed)
        cluster.job("wordcount", "--input", data, "--output", out(cluster), fails=True)
        return cluster.kinds()


@failure("a worker that is frozen", "lost_worker")
def _():
    with Cluster() as cluster:
        job, go = hold(cluster)
        cluster.has("task_launched", 6)
        cluster.workers[1].send_signal(signal.SIGSTOP)
        cluster.has("worker_silent")
        go()
        assert job.wait(60) == 0
        cluster.workers[1].send_signal(signal.SIGCONT)
        return cluster.kinds()


@failure("a master that is killed and comes back", "lost_master")
def _():
    with Cluster(1) as cluster:
        job, go = hold(cluster)
        cluster.processes[0].kill()
        cluster.processes[0].wait()
        cluster.start("weft", "master", "--listen", cluster.address, "--http", "none", "--event-log", cluster.log)
        job.wait(60)
        cluster.has("log_started", 2)
        return cluster.kinds()


@failure("a queue that may use one slot", "starved")
def _():
    queues = scratch + "/queues.toml"
    with open(queues, "w") as file:
        file.write('[[queue]]\nname = "small"\ncapacity = 17\nmax_capacity = 17\n[[queue]]\nname = "default"\ncapacity = 83\n')
    with Cluster(3, ("--scheduler", f"capacity(queues={queues})")) as cluster:
        first, go = hold(cluster, "--tasks", "1", "--pool", "small")
        second = cluster.begin("ailing_probe", "even", "--tasks", "2", "--pool", "small")
        cluster.has("plan_extended", 2)
        time.sleep(5.5)  # as above
        go()
        assert first.wait(60) == 0 and second.wait(60) == 0
        return cluster.kinds(2)


@failure("a join on a key that most rows have", "skew")
def _():
    with Cluster() as cluster:
        for name, line in (("left", lambda i: f"{7 if i % 10 < 7 else i}\t{'x' * 120}{i}\n"), ("right", lambda i: f"{i}\t{i}\n")):
            with open(f"{cluster.directory}/{name}", "w") as file:
                file.write("".join(line(i) for i in range(0, 400000, 1 if name == "left" else 3)))
        cluster.job("join", "--left", cluster.directory + "/left", "--right", cluster.directory + "/right", "--output", out(cluster), "--partitions", "8")
        return cluster.kinds()


@failure("a work directory that vanishes", "failing_node")
def _():
    with Cluster() as cluster:
        shutil.rmtree(cluster.directory + "/w2")
        cluster.job("terasort", "sort", "--input", records(cluster, 400000), "--output", out(cluster))
        return cluster.kinds()


@failure("tasks that are too small", "tiny_tasks")
def _():
    with Cluster() as cluster:
        cluster.job("cluster_probe", "noop", "--tasks", "24000")
        return cluster.kinds()


@failure("a deadline that is too near", "late")
def _():
    with Cluster() as cluster:
        cluster.job("ailing_probe", "even", "--tasks", "24", "--deadline", "100ms")
        return cluster.kinds()


@failure("a job that somebody kills", "killed")
def _():
    with Cluster() as cluster:
        job, go = hold(cluster)
        cluster.weft("job", "kill", "1", "--reason", "wrong input")
        assert job.wait(60) != 0
        return cluster.kinds()


@failure("a driver that dies", "lost_driver")
def _():
    with Cluster() as cluster:
        job, go = hold(cluster)
        job.kill()
        cluster.has("job_failed")
        return cluster.kinds()


# What is well.

def words(seed, size):
    """Lines of about 500 bytes."""
    chosen = random.Random(seed)
    line = " ".join("w%d" % int(chosen.paretovariate(0.8)) for _ in range(100)) + "\n"
    return (line * (size // len(line) + 1))[:size].encode()


def texts(cluster, files=6, size=300000):
    path = cluster.directory + "/texts"
    os.mkdir(path)
    for number in range(files):
        with open(f"{path}/{number}", "wb") as file:
            file.write(words(number, size))
    return path


def pairs(cluster, name, rows):
    path = f"{cluster.directory}/{name}"
    with open(path, "w") as file:
        for row in range(rows):
            file.write(f"{row * 7 % 5000}\t{row * 31 % 5000}\n")
    return path


def one(*words_, **options):
    """A job alone on a cluster: words are made of it."""
    def case():
        with Cluster(**options) as cluster:
            words = [word(cluster) if callable(word) else word for word in words_]
            cluster.job(*words)
            return cluster.kinds()
    return case


def out(cluster):
    return cluster.directory + "/out"


healthy("words are counted")(one("wordcount", "--input", texts, "--output", out))
healthy("words of one file, on one worker")(one("wordcount", "--input", lambda c: texts(c, 1), "--output", out, workers=1))
healthy("words, far more partitions than words")(one("wordcount", "--input", texts, "--output", out, "--partitions", "64"))
healthy("words of a thousand small files")(one("wordcount", "--input", lambda c: texts(c, 1000, 200), "--output", out))
healthy("records are sorted")(one("terasort", "sort", "--input", lambda c: records(c, 400000), "--output", out))
healthy("records are sorted, pull mode")(one("terasort", "sort", "--input", lambda c: records(c, 200000), "--output", out, "--shuffle-mode", "pull"))
healthy("maps' outputs are kept twice")(one("terasort", "sort", "--input", lambda c: records(c, 200000), "--output", out, "--shuffle-replicas", "2"))
healthy("reduces start early")(one("terasort", "sort", "--input", lambda c: records(c, 200000), "--output", out, "--slow-start", "0.2"))
healthy("tables are joined")(one("join", "--left", lambda c: pairs(c, "left", 60000), "--right", lambda c: pairs(c, "right", 5000), "--output", out))
healthy("a table is sent to every task")(one("join", "--left", lambda c: pairs(c, "left", 60000), "--right", lambda c: pairs(c, "right", 500), "--output", out, "--broadcast"))
healthy("pages are ranked, in rounds")(one("pagerank", "--input", lambda c: pairs(c, "graph", 20000), "--output", out, "--iterations", "4"))
healthy("an index is made")(one("invertedindex", "--input", texts, "--output", out))
healthy("lines are searched")(one("grep", "--input", texts, "--output", out, "--pattern", "w1[0-9]"))
healthy("pi is estimated")(one("montecarlo", "--points", "20000000", "--tasks", "12"))
healthy("tasks that wait, evenly")(one("ailing_probe", "even", "--tasks", "30"))
healthy("hundreds of short tasks")(one("cluster_probe", "noop", "--tasks", "500"))
healthy("a loop over actions")(one("cluster_probe", "iterate", "--records", "2000"))
healthy("a deadline that is met")(one("ailing_probe", "even", "--deadline", "10min"))
healthy("a demand that is right")(one("ailing_probe", "even", "--demand", "cpu=1,memory=64MiB", worker=("--memory", "512MiB")))
healthy("a join whose hot key the master splits")(one("cluster_probe", "skewed_join", "--records", "20000"))
healthy("one task")(one("ailing_probe", "even", "--tasks", "1"))


@healthy("input where it lies")
def _():
    with Cluster(0) as cluster:
        data = records(cluster, 800000)
        for _ in range(2):
            cluster.add_worker("--local-data", data)
        cluster.weft("node", "wait", "2")
        cluster.job("terasort", "sort", "--input", data, "--output", out(cluster))
        return cluster.kinds()


@healthy("two pools at a time")
def _():
    with Cluster(master=("--scheduler", "fair")) as cluster:
        jobs = [cluster.begin("ailing_probe", "even", "--tasks", "20", "--pool", pool) for pool in ("a", "b")]
        assert all(job.wait(60) == 0 for job in jobs)
        return cluster.kinds(1) + cluster.kinds(2)


@healthy("eight jobs at a time")
def _():
    with Cluster(master=("--scheduler", "fair")) as cluster:
        jobs = [cluster.begin("ailing_probe", "even", "--tasks", "6", "--milliseconds", "50") for _ in range(8)]
        assert all(job.wait(60) == 0 for job in jobs)
        return [each for job in range(1, 9) for each in cluster.kinds(job)]


@healthy("a worker that leaves in good order")
def _():
    with Cluster() as cluster:
        cluster.job("ailing_probe", "even", "--tasks", "6")
        cluster.workers[2].terminate()
        cluster.has("worker_lost")
        cluster.job("ailing_probe", "even", "--tasks", "6")
        return cluster.kinds(1) + cluster.kinds(2)


@healthy("beside a job that fails, and after it")
def _():
    with Cluster() as cluster:
        well = cluster.begin("ailing_probe", "even", "--tasks", "20")
        cluster.has("plan_extended")
        cluster.job("cluster_probe", "segfault", fails=True)
        assert well.wait(60) == 0
        cluster.job("ailing_probe", "even")
        return cluster.kinds(1) + cluster.kinds(3)


def examine(case):
    name, expected, run = case
    began = time.monotonic()
    try:
        said = run()
    except Exception as error:  # of the case itself
        return name, expected, None, f"{type(error).__name__}: {error}", time.monotonic() - began
    if said is None:
        return name, expected, True, "skipped: no control group can be made here", 0
    right = not said if expected is None else bool(said) and said[0][0] == expected
    return name, expected, right, "; ".join(f"{kind}: {text}" for kind, text in said), time.monotonic() - began


def main():
    chosen = [case for case in FAILURES + HEALTHY if not only or any(word in case[0] for word in only)]
    began = time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
            results = list(pool.map(examine, chosen))
    finally:
        if os.environ.get("WEFT_KEEP"):
            print("kept:", scratch)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    for name, expected, right, said, seconds in results:
        print(f"{'ok ' if right else 'BAD'} {seconds:5.1f} s  {expected or 'nothing':16} {name:42} {said[:200]}")
    broken = [result for result in results if result[2] is None]  # a cause whose case broke is not named; a healthy one must be whole
    causes = [result for result in results if result[1]]
    named = sum(result[2] is True for result in causes)
    alarms = sum(result[2] is False for result in results if not result[1])
    print(f"{named} of {len(causes)} causes named, {alarms} false alarms in {len(results) - len(causes)} healthy cases, {len(broken)} cases broken; "
          f"{time.monotonic() - began:.0f} s")
    return 1 if alarms or named < REQUIRED * len(causes) or any(not result[1] for result in broken) else 0


sys.exit(main())
