#!/usr/bin/env python3
"""What a master tells of its jobs while it is there is what its event log tells when it is gone: every number of every answer, of jobs that
finish, fail, are killed, lose a worker, speculate, spill and prefetch.

same_test.py BIN
"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../../support")
from waiting import content, until  # noqa: E402

bin_dir = os.path.abspath(sys.argv[1])
scratch = tempfile.mkdtemp(prefix="weft-same-")
processes = []
PARTS = ("", "/counters", "/tasks?count=100000", "/shuffle", "/shuffle?by=rack", "/findings", "/path", "/trace")
# What only a master knows, and what goes on with the clock.
LIVE = {"submitted_seconds_ago", "reason", "predicted_task_seconds", "predicted_by", "predicted_shuffle_bytes", "predicted_largest_partition_bytes",
        "rounds_deferred", "deferred_bytes", "rounds_evicted", "rounds_returned", "replicas", "replicas_abandoned", "replicas_used", "bad_record_examples", "version"}


def start(*words, **environment):
    out = f"{scratch}/{len(processes)}.out"
    process = subprocess.Popen([f"{bin_dir}/{words[0]}", *words[1:]], stdout=open(out, "w"), stderr=subprocess.STDOUT, env=dict(os.environ, **environment))
    processes.append(process)
    return process, out


def page_of(out):
    return until(lambda: re.search(r"http://([^/]+)/", content(out)), "a page")[1]


def ask(page, path):
    return json.load(urllib.request.urlopen(f"http://{page}/api/v1{path}", timeout=60))


def compared(value):
    """Without what only a master knows, and without the last digits of numbers."""
    if isinstance(value, dict):
        return {name: compared(one) for name, one in value.items() if name not in LIVE}
    if isinstance(value, list):
        return [compared(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def differences(live, past, path=""):
    if isinstance(live, dict) and isinstance(past, dict):
        return [each for name in sorted(live.keys() | past.keys()) for each in differences(live.get(name, "nothing"), past.get(name, "nothing"), f"{path}.{name}")]
    if isinstance(live, list) and isinstance(past, list) and len(live) == len(past):
        return [each for i, (a, b) in enumerate(zip(live, past)) for each in differences(a, b, f"{path}[{i}]")]
    return [] if live == past else [f"{path}: the master said {str(live)[:200]}, the log {str(past)[:200]}"]


def told(page):
    answers = {"/jobs": ask(page, "/jobs")}
    for job in answers["/jobs"]:
        for part in PARTS:
            answers[f"/jobs/{job['id']}{part}"] = ask(page, f"/jobs/{job['id']}{part}")
    answers["/nodes"] = sorted([node["id"], node["name"], node["host"], node["rack"]] for node in ask(page, "/nodes"))
    return {path: compared(answer) for path, answer in answers.items()}


def main():
    log = scratch + "/events"
    master, out = start("weft", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", scratch + "/port", "--event-log", log)
    page = page_of(out)
    address = until(lambda: content(scratch + "/port").strip(), "the master's port")
    workers = [start("weft", "worker", "--master", address, "--name", f"w{i}", "--host", f"h{i}", "--rack", f"r{i % 2}", "--slots", "2", "--share", "false", "--memory", "4MiB", "--store-memory", "48MiB",
                     "--directory", f"{scratch}/w{i}", WEFT_TEST_NODE=f"w{i}")[0] for i in range(4)]

    def begin(*words):
        return start(*words, "--quiet", "--cluster", address)[0]

    def job(*words, ok=True):
        code = begin(*words).wait(120)
        assert (code == 0) == ok, f"{words} ended with {code}: " + content(f"{scratch}/{len(processes) - 1}.out")

    subprocess.run([bin_dir + "/weft", "node", "wait", "4", "--master", address], check=True, timeout=60, stdout=subprocess.DEVNULL)
    subprocess.run([bin_dir + "/terasort", "gen", "--quiet", "--records", "800000", "--output", scratch + "/records"], check=True, timeout=60)
    job("cluster_probe", "sums", "--records", "20000", "--tasks", "24", "--deadline", "10min", "--pool", "a")
    job("terasort", "sort", "--input", scratch + "/records", "--output", scratch + "/sorted")
    job("terasort", "sort", "--input", scratch + "/records", "--output", scratch + "/twice", "--shuffle-replicas", "2")
    job("cluster_probe", "throw", ok=False)
    job("cluster_probe", "bad", "--max-bad-records", "100%")
    job("cluster_probe", "iterate", "--records", "2000")
    job("cluster_probe", "skewed_join", "--records", "20000")
    job("ailing_probe", "even", "--tasks", "40", "--milliseconds", "200", "--on", "w2")
    waiting = begin("cluster_probe", "wait", "--records", "100000", "--tasks", "2", "--marker", scratch + "/mark")
    until(lambda: os.path.exists(scratch + "/mark") or content(log).count('"event":"task_launched","job":9,'), "a task")
    subprocess.run([bin_dir + "/weft", "job", "kill", "9", "--master", address, "--reason", "enough"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    waiting.wait(60)
    losing = begin("ailing_probe", "hold", "--marker", scratch + "/held")
    until(lambda: content(log).count('"event":"task_launched","job":10,') >= 8, "eight tasks")
    workers[3].kill()
    until(lambda: '"event":"worker_lost"' in content(log), "the loss")
    open(scratch + "/held.go", "w").close()
    assert losing.wait(120) == 0

    def at_rest():
        """Workers say what became of prefetched blocks a moment after a job's end."""
        before = told(page)
        time.sleep(1.5)
        after = told(page)
        return after if before == after else None

    live = until(at_rest, "the last reports")
    assert sum(live[f"/jobs/{each}"]["prefetch"]["prefetched_bytes"] for each in (2, 3)) > 0, "nothing was prefetched"
    assert any(stage["task_figures"]["spilled_bytes"]["total"] > 0 for stage in live["/jobs/2"]["stages"]), "nothing was spilled"
    assert live["/jobs/10"]["workers_lost"] == 1
    slices = {event["name"].split()[0] for event in live["/jobs/2/trace"]["traceEvents"] if event["ph"] == "X"}
    assert {"prefetch", "spill", "fetch", "write"} <= slices, slices
    for process in workers[:3] + [master]:
        process.send_signal(signal.SIGTERM)
    assert master.wait(30) == 0

    for follow in ((), ("--follow",)):
        history, out = start("weft", "history", log, "--http", "127.0.0.1:0", *follow)
        past = told(page_of(out))
        found = differences(live, past)
        assert not found, f"weft history {' '.join(follow)}\n" + "\n".join(found[:40])
        history.send_signal(signal.SIGTERM)
        assert history.wait(30) == 0
    jobs = [job["id"] for job in live["/jobs"]]
    for each in jobs:
        said = subprocess.run([bin_dir + "/weft", "job", "diagnose", str(each), "--event-log", log, "--json"], check=True, capture_output=True, text=True, timeout=60).stdout
        found = differences(live[f"/jobs/{each}/findings"], compared(json.loads(said)))
        assert not found, f"weft job diagnose {each}\n" + "\n".join(found)
    print(f"ok: {len(live)} answers about {len(jobs)} jobs")


try:
    main()
finally:
    for process in processes[::-1]:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(scratch, ignore_errors=True)
