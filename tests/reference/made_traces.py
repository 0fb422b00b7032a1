#!/usr/bin/env python3
"""Makes the traces in tests/engine/simulator/data/made, what is to be counted in them, and when each job of its DAGs ends.

  tests/reference/made_traces.py DIRECTORY

One small file for each format that weft loads, of jobs drawn here; figures.csv says what was drawn (kind,figure,value). The DAGs (dags.txt, the
format of the Carbyne authors' simulator) are run on one machine by the serial program below, which shares no code with weft: dags_times.csv has
the seconds of each job under each policy (arrivals,policy,job,seconds), with all jobs at once and as they arrive. All numbers are such that
sums and products of them are exact, so the times are to be met to the second.
"""
import json
import math
import pathlib
import random
import sys

MACHINES = 4  # the one machine is as large as so many
KINDS = ('cpu', 'memory', 'network_in', 'network_out', 'disk_read', 'disk_write')  # the order of the format
SUM_ORDER = (0, 1, 4, 5, 2, 3)  # the order in which weft has them


# ---- DAGs on one machine -------------------------------------------------------------------------------------------------


def draw_dags(rng):
    jobs = []
    arrival = 0
    for index in range(24):
        stages = []
        for number in range(rng.randint(1, 6)):
            demand = [rng.randint(0, 8) / 16 for _ in KINDS]
            demand[0] = rng.randint(1, 12) / 16
            stages.append({'duration': rng.randint(1, 20), 'demand': demand, 'tasks': rng.randint(1, 12),
                           'parents': sorted(rng.sample(range(number), rng.randint(0, min(number, 2))))})
        jobs.append({'index': index, 'arrival': arrival, 'stages': by_depth(stages)})
        arrival += rng.randint(0, 12)
    return jobs


def by_depth(stages):
    """The stages in the order of their depth, as weft numbers them."""
    depth = []
    for stage in stages:
        depth.append(1 + max((depth[parent] for parent in stage['parents']), default=-1))
    order = sorted(range(len(stages)), key=lambda number: (depth[number], number))
    return [dict(stages[number], parents=sorted(order.index(parent) for parent in stages[number]['parents'])) for number in order]


def dag_text(jobs):
    lines = []
    for job in jobs:
        lines += [f'# made {job["index"]}', f'{len(job["stages"])} {job["index"]} {job["arrival"]}']
        for number, stage in enumerate(job['stages']):
            lines.append(f'S{number} {stage["duration"]} ' + ' '.join(f'{part:g}' for part in stage['demand']) + f' {stage["tasks"]}')
        edges = [f'S{parent} S{child} ata' for child, stage in enumerate(job['stages']) for parent in stage['parents']]
        lines += [str(len(edges))] + edges
    return '\n'.join(lines) + '\n'


class Running:
    """A job while it runs."""

    def __init__(self, job, arrival):
        self.index, self.arrival, self.stages = job['index'], arrival, job['stages']
        self.pending = [stage['tasks'] for stage in self.stages]
        self.left = [stage['tasks'] for stage in self.stages]  # not finished
        self.ready_since = [None] * len(self.stages)
        self.used = [0.0] * len(KINDS)
        self.depth = []
        for stage in self.stages:
            self.depth.append(1 + max((self.depth[parent] for parent in stage['parents']), default=-1))
        self.path = [0] * len(self.stages)
        for number in reversed(range(len(self.stages))):
            below = [self.path[child] for child, stage in enumerate(self.stages) if number in stage['parents']]
            self.path[number] = self.stages[number]['duration'] + max(below, default=0)

    def note_ready(self, now):
        for number, stage in enumerate(self.stages):
            if self.ready_since[number] is None and all(self.left[parent] == 0 for parent in stage['parents']):
                self.ready_since[number] = now

    def runnable(self):
        return [number for number in range(len(self.stages)) if self.ready_since[number] is not None and self.pending[number] > 0]

    def work(self):
        """The norm of the demand as part of the cluster, times tasks not launched, times duration (srtf)."""
        total = 0.0
        for number, stage in enumerate(self.stages):
            if self.left[number] > 0:
                squares = sum((stage['demand'][kind] / MACHINES) ** 2 for kind in SUM_ORDER)
                total += math.sqrt(squares) * self.pending[number] * stage['duration']
        return total


def by_definition(job):
    return job.runnable()


def breadth_first(job):
    return sorted(job.runnable(), key=lambda number: (job.depth[number], job.ready_since[number], number))


def longest_path_first(job):
    return sorted(job.runnable(), key=lambda number: (-job.path[number], number))


def in_order(rank, stages):
    """The first task that fits, of jobs in the order of their rank and stages of each."""
    def choose(jobs, fits):
        for job in sorted(jobs, key=lambda job: (rank(job), job.arrival, job.index)):
            for number in stages(job):
                if fits(job.stages[number]['demand']):
                    return job, number
        return None
    return choose


def best_aligned(jobs, fits):
    """Tetris, the dot product only: of equal ones the first."""
    best = None
    for job in sorted(jobs, key=lambda job: (job.arrival, job.index)):
        for number in job.runnable():
            demand = job.stages[number]['demand']
            if not fits(demand):
                continue
            align = sum(part / MACHINES * free / MACHINES for part, free in zip(demand, fits.free()))
            score = math.floor(align / 1e-6 + 0.5)
            if best is None or score > best[0]:
                best = (score, job, number)
    return best and best[1:]


POLICIES = {
    'fifo': in_order(lambda job: 0, by_definition),
    'srtf': in_order(Running.work, longest_path_first),
    'sjf': in_order(lambda job: max(job.path), longest_path_first),
    'drf': in_order(lambda job: max(used / MACHINES for used in job.used), breadth_first),
    'tetris': best_aligned,
}


def run(jobs, at_once, choose):
    """Seconds that each job takes. In each second what has ended is counted first, then jobs come, then tasks are launched."""
    coming = [Running(job, 0 if at_once else job['arrival']) for job in jobs]
    there, tasks, times, now = [], [], {}, 0
    used = [0.0] * len(KINDS)

    def fits(demand):
        return all(total + part <= MACHINES for total, part in zip(used, demand))
    fits.free = lambda: [MACHINES - total for total in used]

    while coming or there:
        for end, job, number in [task for task in tasks if task[0] == now]:
            tasks.remove((end, job, number))
            job.left[number] -= 1
            for kind, part in enumerate(job.stages[number]['demand']):
                used[kind] -= part
                job.used[kind] -= part
            if sum(job.left) == 0:
                times[job.index] = now - job.arrival
                there.remove(job)
        there += [job for job in coming if job.arrival == now]
        coming = [job for job in coming if job.arrival > now]
        for job in there:
            job.note_ready(now)
        while True:
            chosen = choose([job for job in there if job.runnable()], fits)
            if not chosen:
                break
            job, number = chosen
            job.pending[number] -= 1
            for kind, part in enumerate(job.stages[number]['demand']):
                used[kind] += part
                job.used[kind] += part
            tasks.append((now + job.stages[number]['duration'], job, number))
        now += 1
    return times


# ---- the other formats ---------------------------------------------------------------------------------------------------


def swim(rng, figures):
    block, per_reduce = 64 << 20, 1 << 30
    lines, now = [], 0
    total = dict(jobs=60, tasks=0, first_stage_tasks=0, largest_first_stage=0, input_bytes=0, shuffle_bytes=0, output_bytes=0, without_shuffle=0,
                 heavy=0, large_shuffles=0, stages=0, edges=0)
    for number in range(60):
        gap = rng.randint(0, 30) if number else 0
        now += gap
        read = rng.choice([0, rng.randint(1, 1000), rng.randint(1, 40 * block), block, 3 * block])
        moved = rng.choice([0, 0, rng.randint(1, 1000), rng.randint(1, 30 * per_reduce), per_reduce])
        wrote = rng.randint(0, 1 << 32)
        lines.append(f'job{number}\t{now}\t{gap}\t{read}\t{moved}\t{wrote}')
        maps = max(1, -(-read // block))
        reduces = -(-moved // per_reduce)
        total['tasks'] += maps + reduces
        total['first_stage_tasks'] += maps
        total['largest_first_stage'] = max(total['largest_first_stage'], maps)
        total['stages'] += 1 if moved == 0 else 2
        total['edges'] += 0 if moved == 0 else 1
        total['input_bytes'] += read
        total['shuffle_bytes'] += moved
        total['output_bytes'] += wrote
        total['without_shuffle'] += moved == 0
        total['heavy'] += moved > read
        total['large_shuffles'] += moved >= 10 ** 10
    first = int(lines[0].split('\t')[1])
    total['span_seconds'] = now - first
    figures['swim'] = total
    return '\n'.join(lines) + '\n'


def coflow(rng, figures):
    ports, count, now = 12, 30, 0
    lines, total = [f'{ports} {count}'], dict(jobs=count, hosts=ports, stages=2 * count, edges=count, tasks=0, first_stage_tasks=0, shuffle_bytes=0,
                                              large_shuffles=0)
    for number in range(count):
        now += rng.randint(0, 5000) if number else 0
        senders = rng.sample(range(ports), rng.randint(1, 8))
        receivers = [(port, rng.choice([1.5, 2.25, 20, 4000])) for port in rng.sample(range(ports), rng.randint(1, 8))]
        lines.append(f'{number + 1} {now} {len(senders)} ' + ' '.join(map(str, senders)) + f' {len(receivers)} '
                     + ' '.join(f'{port}:{size}' for port, size in receivers))
        moved = sum(size for _, size in receivers) * 10 ** 6
        total['tasks'] += len(senders) + len(receivers)
        total['first_stage_tasks'] += len(senders)
        total['shuffle_bytes'] += moved
        total['large_shuffles'] += moved >= 10 ** 10
    total['span_seconds'] = now / 1000
    figures['coflow'] = total
    return '\n'.join(lines) + '\n'


def decima(rng, figures):
    lines, total = [], dict(jobs=0, stages=0, edges=0, tasks=0, most_stages=0, work_seconds=0.0)
    for query in range(1, 16):
        for scale in (2, 100):
            stages, edges = [], []
            for stage in range(rng.randint(1, 9)):
                tasks = rng.randint(1, 20)
                first = [rng.randint(1, 4000) * 125 for _ in range(rng.randint(1, tasks))]
                rest = [rng.randint(1, 4000) * 125 for _ in range(tasks - len(first))]
                stages.append({'id': stage, 'num_tasks': tasks, 'first_wave': {'5': [1], '50': first}, 'rest_wave': {'5': [1], '50': rest}, 'fresh': {}})
                edges += [[parent, stage] for parent in rng.sample(range(stage), rng.randint(0, min(stage, 3)))]
                if scale == 100:
                    total['tasks'] += tasks
                    total['work_seconds'] += sum(first + rest) / 1000
            lines.append(json.dumps({'query': query, 'scale_gb': scale, 'num_stages': len(stages), 'edges': edges, 'stages': stages}))
            if scale == 100:
                total['jobs'] += 1
                total['stages'] += len(stages)
                total['edges'] += len(edges)
                total['most_stages'] = max(total['most_stages'], len(stages))
    figures['decima'] = total
    return '\n'.join(lines) + '\n'


def alibaba(rng, figures):
    lines = ['job,task_name,instances,status,start_time,end_time,mean_instance_duration,actual_duration,cpu_requested,cpu_usage,mem_requested,mem_usage']
    total = dict(jobs=40, stages=0, edges=0, tasks=0, most_stages=0, work_seconds=0.0)
    for number in range(40):
        count = rng.randint(1, 8)
        for task in range(1, count + 1):
            parents = sorted(rng.sample(range(1, task), rng.randint(0, min(task - 1, 3))), reverse=True)
            name = rng.choice('MRJ') + '_'.join(map(str, [task] + parents))
            instances, seconds = rng.randint(1, 50), rng.randint(1, 600)
            start = 1000 + 10 * number + task
            lines.append(f'j_{number},{name},{instances}.0,Terminated,{start},{start + seconds + 5},{seconds + 1},{seconds},{rng.choice([50, 100])}.0,,0.25,')
            total['edges'] += len(parents)
            total['tasks'] += instances
            total['work_seconds'] += instances * seconds
        total['stages'] += count
        total['most_stages'] = max(total['most_stages'], count)
    figures['alibaba'] = total
    return '\n'.join(lines) + '\n'


def rumen(rng, figures):
    racks = {f'rack{rack}': [f'node{rack}-{node}' for node in range(3)] for rack in range(4)}
    places = [(rack, node) for rack, nodes in racks.items() for node in nodes]
    total = dict(jobs=12, stages=0, tasks=0, first_stage_tasks=0, largest_first_stage=0, input_bytes=0, output_bytes=0, hosts=12, racks=4, users=3)
    documents, now = [], 10000
    for number in range(12):
        now += rng.randint(0, 60000)
        maps, reduces = rng.randint(1, 30), rng.randint(0, 5)
        map_tasks, reduce_tasks = [], []
        for task in range(maps):
            read = rng.randint(1, 1 << 26)
            wrote = 0 if reduces else rng.randint(1, 1 << 20)
            begin = now + rng.randint(0, 5000)
            where = [{'layers': list(place)} for place in rng.sample(places, 2)]
            success = {'result': 'SUCCESS', 'hostName': '/' + '/'.join(rng.choice(places)), 'startTime': begin, 'finishTime': begin + rng.randint(1, 9000),
                       'hdfsBytesRead': read, 'hdfsBytesWritten': wrote}
            failed = {'result': 'FAILED', 'startTime': begin - 1, 'finishTime': begin, 'hdfsBytesRead': 7}
            map_tasks.append({'taskID': f'm{task}', 'preferredLocations': where, 'attempts': ([failed] if task % 5 == 0 else []) + [success]})
            total['input_bytes'] += read
            total['output_bytes'] += wrote
        for task in range(reduces):
            wrote, begin = rng.randint(1, 1 << 24), now + 20000
            reduce_tasks.append({'taskID': f'r{task}', 'attempts': [{'result': 'SUCCESS', 'startTime': begin, 'shuffleFinished': begin + 10,
                                                                     'finishTime': begin + 3000, 'hdfsBytesWritten': wrote, 'reduceShuffleBytes': 100}]})
            total['output_bytes'] += wrote
        documents.append(json.dumps({'jobID': f'job_{number}', 'user': 'abc'[number % 3], 'queue': 'default', 'priority': 'NORMAL', 'submitTime': now,
                                     'finishTime': now + 40000, 'mapTasks': map_tasks, 'reduceTasks': reduce_tasks, 'otherTasks': []}))
        total['stages'] += 1 if reduces == 0 else 2
        total['tasks'] += maps + reduces
        total['first_stage_tasks'] += maps
        total['largest_first_stage'] = max(total['largest_first_stage'], maps)
    topology = {'name': '<root>', 'children': [{'name': rack, 'children': [{'name': node, 'children': None} for node in nodes]}
                                               for rack, nodes in racks.items()]}
    figures['rumen'] = total
    return '\n'.join(documents) + '\n', json.dumps(topology) + '\n'


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    figures = {}
    dags = draw_dags(random.Random(1))
    (directory / 'dags.txt').write_text(dag_text(dags))
    figures['carbyne'] = dict(jobs=len(dags), stages=sum(len(job['stages']) for job in dags), edges=sum(len(stage['parents']) for job in dags for stage in job['stages']),
                              tasks=sum(stage['tasks'] for job in dags for stage in job['stages']), most_stages=max(len(job['stages']) for job in dags),
                              work_seconds=sum(stage['tasks'] * stage['duration'] for job in dags for stage in job['stages']))
    (directory / 'swim.tsv').write_text(swim(random.Random(2), figures))
    (directory / 'coflow.txt').write_text(coflow(random.Random(3), figures))
    (directory / 'decima.jsonl').write_text(decima(random.Random(4), figures))
    (directory / 'alibaba.csv').write_text(alibaba(random.Random(5), figures))
    jobs, topology = rumen(random.Random(6), figures)
    (directory / 'rumen.json').write_text(jobs)
    (directory / 'rumen_topology.json').write_text(topology)
    (directory / 'figures.csv').write_text(''.join(f'{kind},{name},{value}\n' for kind, all_of in figures.items() for name, value in all_of.items()))
    with (directory / 'dags_times.csv').open('w') as file:
        for arrivals in ('at_once', 'as_they_come'):
            for policy, choose in POLICIES.items():
                for job, seconds in sorted(run(dags, arrivals == 'at_once', choose).items()):
                    file.write(f'{arrivals},{policy},{job},{seconds}\n')


if __name__ == '__main__':
    main()
