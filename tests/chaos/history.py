#!/usr/bin/env python3
"""Histories of tables, checked for strict serialisability.

A history is a list of operations: what each read and wrote, and when it was called and returned. It is strictly serialisable when all operations can
be put into one order in which every read sees the newest write before it, and an operation that returned before another was called comes first.

Values are unique among the writes of a key, so a read tells who wrote what it saw. The check has two parts:

 1. Orders that every such order must contain are derived until nothing is new (as Elle does for registers, and as Gibbons and Korach do for one
    register): who returned before another was called; a read after its write; a write that precedes a read also precedes the write that was read;
    a write that follows the write that was read also follows the read. A cycle is a contradiction, and its operations are the explanation.
 2. An order is searched for that has all these (Wing and Gong's search with Lowe's memory of what was tried, as in Porcupine). Reads are taken as
    soon as they fit, and no write is taken while somebody still has to read what it replaces, so this hardly ever goes back.

A write of unknown outcome may have happened at any moment after its call, or never: it counts when somebody has read it. What was aborted must not be
read. Operations without a common key, directly or through others, are independent and are checked by themselves: strict serialisability of the parts
is that of the whole.

A part is cut wherever no operation was running, since all that came before such a moment precedes all that came after. What each slice leaves to the
next are the values that are read later: each of them is a read at the end of a slice, and a write at the beginning of the next. A value that nobody
reads any more does not matter. So the time that a check takes grows with the length of a history, not with its square.
"""
import json
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace

OK, UNKNOWN, ABORTED = "ok", "unknown", "aborted"
NEVER = float("inf")
MOST_STEPS = 2_000_000  # of a search
MOST_STARTS = 200  # of cycles that are compared
MOST_REASONS = 20  # that are said


@dataclass
class Operation:
    """Reads and writes happen at one moment between call and return. A value of None is: no such key."""

    process: str
    call: int
    returned: float
    reads: dict = field(default_factory=dict)
    writes: dict = field(default_factory=dict)
    outcome: str = OK
    name: str = ""

    def __str__(self):
        def listed(values):
            shown = [f"{key}={value}" for key, value in values.items()]
            return " ".join(shown[:6] + ([f"… ({len(shown)})"] if len(shown) > 6 else []))

        parts = [f"{verb} {listed(values)}" for verb, values in (("read", self.reads), ("wrote", self.writes)) if values]
        end = "?" if self.returned == NEVER else f"{self.returned / 1e9:.6f}"
        how = "" if self.outcome == OK else f" ({self.outcome})"
        return f"[{self.call / 1e9:.6f}, {end}] {self.process} {self.name or 'operation'}{how}: {'; '.join(parts)}"


@dataclass
class Verdict:
    """Of a history: `problem` is empty when it is strictly serialisable; `decided` is false when time ran out before that was known."""

    problem: str = ""
    operations: list = field(default_factory=list)  # that contradict each other
    decided: bool = True

    def __bool__(self):
        return not self.problem

    def __str__(self):
        return "\n".join([self.problem, *(f"  {operation}" for operation in self.operations)])


def check(operations, initial=None, seconds=30):
    """The first contradiction, or a verdict without one. `initial` has the values of keys before the first operation."""
    deadline = time.monotonic() + seconds
    undecided = Verdict(decided=True)
    for part in components(operations):
        for some in slices(part, initial or {}):
            verdict = _Part(some, initial or {}).check(deadline)
            if not verdict:
                return verdict
            if not verdict.decided:
                undecided = verdict
    return undecided


def write(operations, path):
    """A line of JSON for each."""
    with open(path, "w") as file:
        file.writelines(json.dumps(asdict(operation)) + "\n" for operation in operations)


def read(path):
    with open(path) as file:
        return [Operation(**json.loads(line)) for line in file]


def components(operations):
    """Lists of operations; those of different lists have no key in common. Each key belongs to one."""
    parent = {}

    def root(key):
        while parent.setdefault(key, key) != key:
            parent[key] = key = parent[parent[key]]
        return key

    keys = [list({**operation.reads, **operation.writes}) for operation in operations]
    for some in keys:
        for key in some[1:]:
            parent[root(key)] = root(some[0])
    parts = defaultdict(list)
    for operation, some in zip(operations, keys):
        if some:
            parts[root(some[0])].append(operation)
    return list(parts.values())


def slices(operations, initial):
    """The operations of each slice, in turn. If all slices are strictly serialisable, then all operations are."""
    operations = sorted(operations, key=lambda operation: operation.call)
    sources = _sources(operations, initial)
    ends = _ends(operations, sources)
    slice_of, last_end = [], NEVER
    for operation, end in zip(operations, ends):
        quiet = operation.call > last_end
        slice_of.append(slice_of[-1] + quiet if slice_of else 0)
        last_end = end if quiet or len(slice_of) == 1 else max(last_end, end)
    parts = [[] for _ in range(slice_of[-1] + 1)]
    counts = _that_count(operations)
    last_reader = {}  # key, and the number of the write that was read → the last operation that read it
    for number, operation in enumerate(operations):
        parts[slice_of[number]].append(operation)
        if counts[number]:
            last_reader |= {(key, source): number for key, source in sources[number].items()}
    for (key, source), reader in last_reader.items():
        first = 0 if source is None else slice_of[source]
        for number in range(first, slice_of[reader]):
            parts[number].append(replace(operations[reader], reads={key: operations[reader].reads[key]}, writes={}, outcome=OK))
            if source is not None:
                wrote = {key: operations[source].writes[key]}
                parts[number + 1].append(replace(operations[source], returned=ends[source], reads={}, writes=wrote, outcome=OK))
    return parts


def _that_count(operations):
    """Whether each does: those that happened, and of the others those whose writes one that counts has read. Not what was aborted."""
    writers = {pair: number for number, operation in enumerate(operations) for pair in operation.writes.items()}
    counting = [number for number, operation in enumerate(operations) if operation.outcome == OK]
    counts = [operation.outcome == OK for operation in operations]
    for reader in counting:  # grows meanwhile
        for number in map(writers.get, operations[reader].reads.items()):
            if number is not None and operations[number].outcome == UNKNOWN and not counts[number]:
                counts[number] = True
                counting.append(number)
    return counts


def _sources(operations, initial):
    """For each operation the number of the write that each of its reads saw; None is the initial value. Reads of what nobody wrote have none."""
    writers = {}
    for number, operation in enumerate(operations):
        for pair in operation.writes.items():
            if pair in writers:
                raise ValueError(f"{pair[0]}={pair[1]} is written twice: values of a key must be unique")
            writers[pair] = number
    for key in {key for operation in operations for key in operation.reads}:
        writers.setdefault((key, initial.get(key)), None)
    return [{key: writers[key, value] for key, value in operation.reads.items() if (key, value) in writers} for operation in operations]


def _ends(operations, sources):
    """When each has happened for certain. What contradicts the times alone, or reads what was aborted, is not cut from what explains it."""
    ends = [operation.call if operation.outcome == UNKNOWN else operation.returned for operation in operations]
    seen = {}  # writes of unknown outcome → when the first read of them had returned
    for number, reads in enumerate(sources):
        for source in (source for source in reads.values() if source is not None):
            ends[number] = max(ends[number], operations[source].call)
            if operations[source].outcome == ABORTED:
                ends[source] = max(ends[source], operations[number].call)
            elif operations[source].outcome == UNKNOWN:
                seen[source] = min(seen.get(source, NEVER), operations[number].returned)
    for number, returned in seen.items():
        ends[number] = max(ends[number], returned)
    return ends


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Contradiction(Exception):
    def __init__(self, problem, operations):
        super().__init__(problem)
        self.verdict = Verdict(problem, operations)


class _Part:
    """Operations that are connected by keys. Number 0 is the write of all initial values; sets of operations are the bits of an int."""

    def __init__(self, operations, initial):
        first = Operation("initially", -1, -1, writes=defaultdict(lambda: None, initial), name="the table")
        counted = [operation for operation, counts in zip(operations, _that_count(operations)) if counts]
        self.operations = [first, *sorted(counted, key=lambda operation: operation.call)]  # numbers are in the order of calls
        self.aborted = [operation for operation in operations if operation.outcome == ABORTED]
        self.writers = defaultdict(dict)  # key → value → number
        self.sources = [{} for _ in self.operations]  # key → number of the write that was read
        self.direct = []  # operations that must precede this one; others that must do precede one of these
        self.why = {}  # (before, after) → reason, and which order it follows from, if any; those without follow from time alone

    def check(self, deadline):
        try:
            self._find_sources()
            self._order_by_time()
            before = self._saturate(deadline)
            return Verdict(decided=False) if before is None else self._search(before, deadline)
        except _Contradiction as contradiction:
            return contradiction.verdict

    # -- what is known at once -----------------------------------------------------------------------------------------------------------------

    def _find_sources(self):
        for number, operation in enumerate(self.operations[1:], 1):
            for key, value in operation.writes.items():
                self.writers[key][value] = number
        for number, operation in enumerate(self.operations[1:], 1):
            for key, value in operation.reads.items():
                if value == self.operations[0].writes[key]:
                    source = self.writers[key].setdefault(value, 0)
                elif value in self.writers[key]:
                    source = self.writers[key][value]
                else:
                    raise self._from_nowhere(operation, key, value)
                if source == number:
                    raise _Contradiction(f"a read of {key} saw its own operation's write", [operation])
                self.sources[number][key] = source
        for key, numbers in self.writers.items():
            numbers.setdefault(self.operations[0].writes[key], 0)

    def _from_nowhere(self, reader, key, value):
        writer = next((one for one in self.aborted if key in one.writes and one.writes[key] == value), None)
        if writer:
            return _Contradiction(f"a read from an aborted transaction: {key}={value}", [writer, reader])
        return _Contradiction(f"a read of what nobody has written: {key}={value}", [reader])

    def _order_by_time(self):
        """Whoever returned before a call precedes it. Noted are the last of them: those that returned when all the others had been called."""
        by_return = sorted(range(len(self.operations)), key=lambda number: self.operations[number].returned)
        latest, next_return, last_call = [], 0, -1  # of those that have returned
        for number, operation in enumerate(self.operations):
            while self.operations[by_return[next_return]].returned < operation.call:
                latest.append(by_return[next_return])
                last_call = max(last_call, self.operations[latest[-1]].call)
                next_return += 1
            latest = [one for one in latest if self.operations[one].returned >= last_call]
            self.direct.append(sum(1 << one for one in latest if one != number))
        for number, sources in enumerate(self.sources):
            for key, source in sources.items():
                self._add(source, number, f"which read its {key}")

    def _add(self, before, after, why, because=None):
        """Whether that is new."""
        new = not self.direct[after] >> before & 1
        if new:
            self.direct[after] |= 1 << before
            self.why[before, after] = why, because
        return new

    # -- what follows --------------------------------------------------------------------------------------------------------------------------

    def _closure(self):
        """For each operation all that must precede it, and all that must follow it; a cycle is a contradiction."""
        count = len(self.operations)
        before, after, waiting = [0] * count, [0] * count, [mask.bit_count() for mask in self.direct]
        followers = [[] for _ in self.operations]
        for number, mask in enumerate(self.direct):
            for one in bits(mask):
                followers[one].append(number)
        ordered = [number for number in range(count) if waiting[number] == 0]
        for number in ordered:  # grows meanwhile
            for one in followers[number]:
                before[one] |= before[number] | 1 << number
                waiting[one] -= 1
                if waiting[one] == 0:
                    ordered.append(one)
        if len(ordered) < count:
            raise self._cycle([number for number in range(count) if waiting[number] > 0])
        for number in reversed(ordered):
            for one in followers[number]:
                after[number] |= after[one] | 1 << one
        return before, after

    def _saturate(self, deadline):
        """What must precede each operation when nothing more follows; None when there is no time for it."""
        masks = {key: sum(1 << number for number in numbers.values()) for key, numbers in self.writers.items()}
        while True:
            before, after = self._closure()
            if time.monotonic() > deadline:
                return None
            news = False
            for number, sources in enumerate(self.sources):
                for key, source in sources.items():
                    others = masks[key] & ~(1 << source) & ~(1 << number)
                    for writer in bits(others & before[number] & ~before[source]):
                        news |= self._add(writer, source, f"because #{number} came later and read {key} of #{source}", (writer, number))
                    for writer in bits(others & after[source] & ~after[number]):
                        news |= self._add(number, writer, f"which replaced the {key} that #{number} read", (source, writer))
            if not news:
                return before

    def _cycle(self, numbers):
        """The shortest through one of these operations."""
        inside = sum(1 << number for number in numbers)
        cycles = filter(None, (self._cycle_through(start, inside) for start in numbers[:MOST_STARTS]))
        return self._explained(min(cycles, key=len, default=numbers))

    def _cycle_through(self, start, inside):
        """In the order of the operations; None when there is none."""
        path = self._path(start, start, lambda _, after: inside >> after & 1)
        return path and path[:-1]

    def _path(self, first, last, usable):
        """The shortest one from first to last over orders that are usable."""
        follower, queue = {}, [last]
        for number in queue:  # grows meanwhile
            for one in bits(self.direct[number]):
                if one not in follower and usable(one, number):
                    follower[one] = number
                    if one == first:
                        path = [first, follower[first]]
                        while path[-1] != last:
                            path.append(follower[path[-1]])
                        return path
                    queue.append(one)
        return None

    def _explained(self, cycle):
        """Each operation must precede the next, and the last the first; and so on for what that follows from."""
        age = {order: number for number, order in enumerate(self.why)}
        lines, said, mentioned = [], set(), set()
        waiting = [cycle + cycle[:1]]
        while waiting and len(said) < MOST_REASONS:
            for before, after in self._without_detours(waiting.pop(0)):
                if (before, after) in said:
                    continue
                said.add((before, after))
                mentioned |= {before, after}
                reason, because = self.why.get((before, after), ("which was called after it had returned", None))
                lines.append(f"#{before} precedes #{after}, {reason}")
                if because:
                    older = age[before, after]
                    waiting.append(self._path(*because, lambda *order: age.get(order, -1) < older))
        numbered = [replace(self.operations[number], name=f"#{number} {self.operations[number].name}", writes=dict(self.operations[number].writes))
                    for number in sorted(mentioned)]
        return _Contradiction("these operations have no order: " + "; ".join(lines), numbered)

    def _without_detours(self, path):
        """Its steps. Several that are one after the other in time are one."""
        steps = []
        for step in zip(path, path[1:]):
            if steps and step not in self.why and steps[-1] not in self.why:
                step = steps.pop()[0], step[1]
            steps.append(step)
        return steps

    # -- whether an order exists ---------------------------------------------------------------------------------------------------------------

    def _search(self, before, deadline):
        """Puts operations one after the other. A state is what is done, and whose values the keys have."""
        self.readers = defaultdict(int)  # (key, writer) → operations that read it
        for number, sources in enumerate(self.sources):
            for key, source in sources.items():
                self.readers[key, source] |= 1 << number
        everything = (1 << len(self.operations)) - 1
        tried, stack, furthest, steps = set(), [(1, dict.fromkeys(self.writers, 0))], 1, 0
        while stack:
            done, current = stack.pop()
            done = self._with_reads(done, current, before)
            if done == everything:
                return Verdict()
            furthest = max(furthest, done, key=int.bit_count)
            state = (done, tuple(current.values()))
            if state in tried:
                continue
            tried.add(state)
            steps += 1
            if steps > MOST_STEPS or (steps % 256 == 0 and time.monotonic() > deadline):
                return Verdict(decided=False)
            stack += [(done | 1 << number, {**current, **dict.fromkeys(self.operations[number].writes, number)})
                      for number in self._next(done, before) if self._may_write(number, done, current)]
        stuck = [self.operations[number] for number in self._next(furthest, before)]
        return Verdict("no order of all operations exists: behind the longest, none of these fits", stuck)

    def _next(self, done, before):
        """Those that may come next, as far as the order goes. Whoever is called after one of the rest has returned may not."""
        earliest = NEVER
        for number in bits(((1 << len(self.operations)) - 1) & ~done):
            if self.operations[number].call > earliest:
                return
            earliest = min(earliest, self.operations[number].returned)
            if not before[number] & ~done:
                yield number

    def _sees(self, number, current):
        return all(current[key] == source for key, source in self.sources[number].items())

    def _with_reads(self, done, current, before):
        """Also done are the reads that fit now: that changes nothing for anybody else."""
        while fitting := [one for one in self._next(done, before) if not self.operations[one].writes and self._sees(one, current)]:
            for number in fitting:
                done |= 1 << number
        return done

    def _may_write(self, number, done, current):
        """Whether it sees what it read, and nobody else still has to read what it replaces."""
        waiting = ~done & ~(1 << number)
        keys = self.operations[number].writes
        return bool(keys) and self._sees(number, current) and not any(self.readers[key, current[key]] & waiting for key in keys)


if __name__ == "__main__":  # history.py FILE: checks what a run of scripts/chaos has kept (logs/history)
    found = check(read(sys.argv[1]), seconds=600)
    print(found if not found else ("strictly serialisable" if found.decided else "not decided in ten minutes"))
    sys.exit(0 if found else 1)
