"""What event logs and replays say of runs, and the tables of it."""
import json
import statistics
import subprocess

from machines import Failure

FIGURES = [("completion", "mean completion [s]", 1), ("makespan", "makespan [s]", 1), ("throughput", "jobs a minute", 1),
           ("crossed", "between racks [MB]", 1e6), ("wasted", "prefetched and not read [MB]", 1e6),
           ("round_trip", "a round trip between racks [ms]", 1e-3),
           ("slower", "jobs a quarter slower [%]", 0.01), ("met", "deadlines met", 1),
           ("expectation", "expected end at half, off by [%]", 0.01)]


def read_log(path, jobs):
    """Seconds of each job from its submission to its end, in the order of their submission, and what the master counts by."""
    submitted, ended, deadline = {}, {}, {}
    with open(path) as lines:
        for line in lines:
            if '"event":"job_' not in line:
                continue
            event = json.loads(line)
            job, at = event.get("job"), event["time_ns"] / 1e9
            if event["event"] == "job_submitted":
                submitted[job] = at
                if event.get("deadline_ns"):
                    deadline[job] = event["deadline_ns"] / 1e9
            elif event["event"] == "job_finished":
                ended[job] = at
    if len(submitted) != jobs or set(ended) != set(submitted):
        raise Failure(f"{path}: {len(submitted)} jobs were submitted and {len(ended)} finished, of {jobs}")
    completions = [ended[job] - submitted[job] for job in sorted(submitted)]
    makespan = max(ended.values()) - min(submitted.values())
    found = {"completions": completions, "completion": statistics.mean(completions), "makespan": makespan,
             "throughput": 60 * jobs / makespan}
    if deadline:
        found["met"] = sum(ended[job] <= end for job, end in deadline.items())
    return found


def expectation_error(asked):
    """How far the ends were off that were expected of jobs from half of each on, as parts of what they took: the mean of the jobs'
    means; nothing when no end was told. `asked`: lists of jobs, in the order of time; the last one with a job says how long that
    took."""
    took = {job["id"]: job["seconds"] for jobs in asked for job in jobs}
    errors = {}
    for jobs in asked:
        for job in jobs:
            end = job.get("expected", {}).get("end_seconds")
            if job["state"] == "running" and end is not None and job["seconds"] > took[job["id"]] / 2:
                errors.setdefault(job["id"], []).append(abs(job["seconds"] + end - took[job["id"]]) / took[job["id"]])
    return statistics.mean(map(statistics.mean, errors.values())) if errors else None


def advised(programs, log, network, schedulers):
    """The mean completion time under each scheduler over that of the log's own, as `weft advise` tells from the log."""
    words = [f"{programs}/weft", "advise", "--quiet", "--json", "--seeds", "3", "--from-log", log, *network]
    for one in schedulers:
        words += ["--scheduler", one]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip()}")
    ratios = {one["scheduler"]: one["completion_mean"].get("ratio", {}).get("mean", 1) for one in json.loads(done.stdout)["candidates"]}
    return {one: ratios[one] for one in schedulers}


STRETCHED = 0.02
STRIDE = 7  # has no divisor in common with the numbers of replays


def simulate(programs, log, scheduler, network, count, uplink=0):
    """What the log's jobs take in a simulation on the log's cluster under the scheduler: medians of so many (an odd number), in which
    the jobs come up to a part of STRETCHED sooner or later, and uplinks of so many bytes a second carry up to as much more or less.
    Schedules depend on who comes first by milliseconds: one is one of many. While jobs wait in line it does not matter when they
    came; that tasks take longer or shorter does."""
    runs = []
    for number in range(count):
        coming, carried = (1 + STRETCHED * (2 * place / (count - 1) - 1) for place in (number, number * STRIDE % count))
        options = ["--uplink", str(int(carried * uplink))] if uplink else []
        runs.append(simulate_once(programs, log, scheduler, network + options + ["--arrival-scale", f"{coming:.6f}"]))
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def simulate_once(programs, log, scheduler, options):
    words = [f"{programs}/weft", "simulate", "--quiet", "--json", "--from-log", log, "--scheduler", scheduler]
    done = subprocess.run(words + options, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip()}")
    told = json.loads(done.stdout)["schedulers"][0]["runs"][0]
    metrics = told["metrics"]
    found = {"completion": metrics["completion_mean"], "makespan": metrics["makespan"], "throughput": metrics["jobs_per_hour"] / 60,
             "met": len(told["jobs"]) * (1 - metrics.get("deadlines_missed", 0))}
    if "--network" in options:
        found["crossed"] = metrics["cross_rack_bytes"]
    return found


def count_slower(runs, first):
    """Adds to each run the part of its jobs that take a quarter longer than in the median of the first variant's runs: below 0.8 of
    its speed, as papers count them."""
    usual = [statistics.median(times) for times in zip(*(run["completions"] for run in first))]
    for run in runs:
        run["slower"] = statistics.mean(took > 1.25 * before for took, before in zip(run["completions"], usual))


def medians_of(runs):
    """Of the runs of one variant: the median of each figure, and of what simulations say of it."""
    medians = {key: statistics.median(run[key] for run in runs) for key, _, _ in FIGURES if key in runs[0]}
    if "replayed" in runs[0]:
        medians["replayed"] = {key: statistics.median(run["replayed"][key] for run in runs) for key in runs[0]["replayed"]}
        medians["replay_error"] = statistics.median(run["replayed"]["completion"] / run["completion"] - 1 for run in runs)
    if all("advised" in run for run in runs):
        medians["advised"] = statistics.median(run["advised"] for run in runs)
    if all("predicted" in run for run in runs):
        medians["predicted"] = {key: statistics.median(run["predicted"][key] for run in runs) for key in runs[0]["predicted"]}
    return medians


def percent(value):
    return f"{100 * value:+.1f} %"


def table(variants, runs, medians):
    """Medians, with the least and the most, and the change against the first variant."""
    first = variants[0].label
    print(f"{'':36}" + "".join(f"{variant.label:>30}" for variant in variants))
    for key, label, unit in FIGURES:
        if key not in medians[first]:
            continue
        cells = []
        for variant in variants:
            values = [run[key] / unit for run in runs[variant.label]]
            cell = f"{medians[variant.label][key] / unit:.1f} ({min(values):.1f}-{max(values):.1f})"
            if variant.label != first and medians[first][key]:
                cell += " " + percent(medians[variant.label][key] / medians[first][key] - 1)
            cells.append(f"{cell:>30}")
        print(f"{label:36}" + "".join(cells))
    rows = [("replayed: mean completion", lambda of: f"{of['replayed']['completion']:.1f} {percent(of['replay_error'])}" if "replayed" in of else "")]
    for key in ("makespan", "crossed"):
        unit, label = next((unit, label) for name, label, unit in FIGURES if name == key)
        if key in medians[first].get("replayed", {}):
            rows.append((f"replayed: {label.split(' [')[0]}", lambda of, key=key, unit=unit:
                         f"{of['replayed'][key] / unit:.1f} {percent(of['replayed'][key] / of[key] - 1)}"))
    for key, label, _ in FIGURES:
        if key in medians[first] and key not in ("wasted", "round_trip", "slower", "expectation"):
            rows.append((f"simulated change: {label.split(' [')[0]}",
                         lambda of, key=key: percent(of["predicted"][key]) if key in of.get("predicted", {}) else ""))
    if "advised" in medians[first]:
        rows.append(("advised: mean completion", lambda of: percent(of["advised"] - 1)))
    for label, cell in rows:
        cells = [cell(medians[variant.label]) for variant in variants]
        if any(cells):
            print(f"{label:36}" + "".join(f"{text:>30}" for text in cells))
    print()


def judge(limits, medians):
    """Prints each limit with what was measured; False when one is missed. What cannot be said is no miss."""
    held = True
    for limit in limits:
        value = limit.of(medians)
        bound = f"at most {limit.most:+.2f}" if limit.most < float("inf") else f"at least {limit.least:+.2f}"
        if value is None:
            print(f"  {limit.text:66} not measured   ({bound})")
            continue
        missed = not limit.least <= value <= limit.most
        held = held and not missed
        print(f"  {limit.text:66} {value:+8.3f}   ({bound}){'   MISSED' if missed else ''}")
    return held
