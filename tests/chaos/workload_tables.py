"""Tables: registers, groups of rows that are written together, a bank, snapshots with names; and the history of all that, checked at the end.

The keys of a register are written and read one by one. The rows of a group are written by transactions of several clients and read by snapshots,
which must be the group as of one moment. All rows of the sheet, which are in all partitions, are always written together and with one value: for the
checker they are one register. In the bank one client after the other moves money, so its sum is the same in every snapshot. What is aborted is never
seen. A named snapshot is read again later and must not have changed.
"""
import random
import subprocess
import threading
import time

import history
from history import ABORTED, NEVER, OK, UNKNOWN, Operation
from permitted import permitted

CLIENTS = 4
TABLE = "t"
PARTITIONS, REPLICATIONS = (4, 16, 300), (3, 2, 3, 3)  # by seeds, in turn
REGISTERS, GROUPS, GROUP_ROWS, ACCOUNTS = 6, 2, 12, 5
SHEET = [f"sheet-{row}" for row in range(150)]
BALANCE = 100  # of each account at first
SNAPSHOTS = 6
DEADLINE = 150  # seconds for a command; clients wait for 60 of them


class Client:
    """A program that does to tables what it is told to."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.process = cluster, name, None

    def ask(self, *words):
        """The outcome, the moments of call and return, and rows or an error's text. Starts a program when there is none (any more)."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([f"{self.cluster.programs}/chaos_tables_client", self.cluster.master_address], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=open(self.cluster.path(f"logs/{self.name}"), "ab"), text=True,
                                            env=self.cluster.environment)
        asked = time.monotonic_ns()
        watch = threading.Timer(DEADLINE, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(" ".join(words) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        watch.cancel()
        if not line:
            status = self.process.wait()
            how = f"hangs: no answer after {DEADLINE} s" if time.monotonic_ns() - asked > DEADLINE * 1e9 else f"ended with {status}"
            self.cluster.violations.add(f"table client {how}: {' '.join(words)}")
            return "unknown", asked, time.monotonic_ns(), {}, "no answer"
        result, call, returned, *rest = line.rstrip("\n").split("\t")
        rows = dict(row.split("=", 1) for row in rest) if result == "ok" else {}
        return result, int(call), int(returned), rows, "" if result == "ok" else " ".join(rest)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)


class Bank:
    """Accounts whose balances are known to whoever holds the lock. After a transfer of unknown outcome another bank is opened."""

    def __init__(self):
        self.lock, self.opened, self.balances = threading.Lock(), 0, {}

    def change(self, chance):
        """Accounts with new balances: all of a bank that is opened, two of one that is open."""
        if not self.balances:
            self.opened += 1
            return dict.fromkeys(range(ACCOUNTS), BALANCE)
        giver, taker = chance.sample(range(ACCOUNTS), 2)
        amount = chance.randint(1, BALANCE)
        return {giver: self.balances[giver] - amount, taker: self.balances[taker] + amount}


class TableWorkload:
    def __init__(self, cluster, seed, injector, log):
        self.cluster, self.seed, self.injector, self.log = cluster, seed, injector, log
        self.operations, self.lock, self.numbers = [], threading.Lock(), 0
        self.clients = [Client(cluster, f"table-client-{number}") for number in range(CLIENTS)]
        self.bank, self.snapshots, self.named = Bank(), {}, 0  # name → prefix and rows; so many names
        self.registers = [f"register{number}" for number in range(REGISTERS)]
        self.groups = {f"group{group}-": [f"group{group}-{row}" for row in range(GROUP_ROWS)] for group in range(GROUPS)}

    def create(self):
        """Returns what went wrong."""
        partitions, replication = PARTITIONS[self.seed % len(PARTITIONS)], REPLICATIONS[self.seed % len(REPLICATIONS)]
        result, *_, error = self.clients[0].ask("create", TABLE, str(partitions), str(replication))
        return "" if result == "ok" else error

    def runs(self):
        """What each client does until its argument is set."""
        return [lambda stop, client=client, number=number: self._client(client, number, stop) for number, client in enumerate(self.clients)]

    def check(self):
        """Reads everything once more, and checks the history."""
        client = self.clients[0]
        for register in self.registers:
            self._read(client, [register])
        for prefix in self.groups:
            self._scan(client, prefix)
        self._scan_sheet(client)
        self._read_sheet(client)
        self._scan_bank(client)
        for name in list(self.snapshots):
            self._again(client, name)
        for client in self.clients:
            client.end()
        self._sums()
        history.write(self.operations, self.cluster.path("logs/history"))
        verdict = history.check(self.operations)
        if not verdict:
            self.cluster.violations.add("tables are not strictly serialisable", str(verdict))
        if not verdict.decided:
            self.log(f"the history of {len(self.operations)} operations could not be decided in time")

    # -- what clients do -----------------------------------------------------------------------------------------------------------------------

    def _client(self, client, number, stop):
        chance = random.Random(f"tables {self.seed} {number}")
        actions = [(self._put, 6), (self._get, 6), (self._commit, 4), (self._scan_group, 4), (self._abort, 1), (self._transfer, 3),
                   (self._scan_bank, 2), (self._write_sheet, 2), (self._scan_sheet, 1), (self._snapshot, 1), (self._any_again, 1)]
        while not stop.is_set():
            chance.choices([action for action, _ in actions], [weight for _, weight in actions])[0](client, chance)
            time.sleep(chance.uniform(0, 0.03))

    def _value(self):
        with self.lock:
            self.numbers += 1
            return str(self.numbers)

    def _write(self, client, command, writes):
        result, call, returned, _, error = client.ask(command, TABLE, *(f"{key}={value}" for key, value in writes.items()))
        outcome = ABORTED if command == "abort" or result == "none" else OK if result == "ok" else UNKNOWN
        singly = [{key: value} for key, value in writes.items()] if command == "put" else [writes]
        for some in singly:
            self._add(Operation(client.name, call, NEVER if outcome == UNKNOWN else returned, writes=some, outcome=outcome, name=command))
        if result != "ok":
            self._failed(client, command, call, returned, error)
        return outcome

    def _read(self, client, keys):
        result, call, returned, rows, error = client.ask("get", TABLE, *keys)
        if result != "ok":
            return self._failed(client, "get", call, returned, error)
        for key in keys:
            self._add(Operation(client.name, call, returned, reads={key: rows.get(key)}, name="get"))
        return None

    def _scan(self, client, prefix, keys=None, command=("scan", TABLE)):
        keys = keys or self.groups[prefix]
        result, call, returned, rows, error = client.ask(*command, prefix)
        if result != "ok":
            return self._failed(client, command[0], call, returned, error)
        if unknown := rows.keys() - set(keys):
            self.cluster.violations.add(f"a scan of {prefix} gave rows of other keys: {unknown}")
        self._add(Operation(client.name, call, returned, reads={key: rows.get(key) for key in keys}, name=command[0]))
        return rows

    def _add(self, operation):
        with self.lock:
            self.operations.append(operation)

    def _failed(self, client, command, call, returned, error):
        kind = {"put": "table write", "commit": "table write", "abort": "table write", "get": "table read"}.get(command, "snapshot")
        if not permitted(kind, error, call / 1e9, returned / 1e9, self.injector.happened):
            self.cluster.violations.add(f"{command} of {client.name} failed after {(returned - call) / 1e9:.1f} s: {error}")

    def _put(self, client, chance):
        keys = chance.sample(self.registers, chance.choice([1, 1, 2, 3]))
        self._write(client, "put", {key: self._value() for key in keys})

    def _get(self, client, chance):
        keys = chance.choice([self.registers, *self.groups.values()])
        self._read(client, chance.sample(keys, chance.choice([1, 1, 3, len(keys)])))

    def _rows_of_group(self, chance):
        keys = chance.choice(list(self.groups.values()))
        value = self._value()
        return dict.fromkeys(keys if chance.random() < 0.5 else chance.sample(keys, chance.randint(2, len(keys))), value)

    def _commit(self, client, chance):
        """Half of the time all that was written is read at once, one by one."""
        rows = self._rows_of_group(chance)
        self._write(client, "commit", rows)
        if chance.random() < 0.5:
            self._read(client, list(rows))

    def _abort(self, client, chance):
        self._write(client, "abort", self._rows_of_group(chance))

    def _scan_group(self, client, chance):
        self._scan(client, chance.choice(list(self.groups)))

    def _transfer(self, client, chance):
        bank = self.bank
        with bank.lock:
            changed = bank.change(chance)
            rows = {f"bank{bank.opened}-{account}": f"{balance}/{self._value()}" for account, balance in changed.items()}
            outcome = self._write(client, "commit", rows)
            if outcome == OK:
                bank.balances.update(changed)
            elif outcome == UNKNOWN:
                bank.balances = {}

    def _write_sheet(self, client, _=None):
        """And reads it at once."""
        value = self._value()
        result, call, returned, _, error = client.ask("commit", TABLE, *(f"{row}={value}" for row in SHEET))
        outcome = {"ok": OK, "none": ABORTED}.get(result, UNKNOWN)
        self._add(Operation(client.name, call, NEVER if outcome == UNKNOWN else returned, writes={"sheet": value}, outcome=outcome, name="commit"))
        if result != "ok":
            self._failed(client, "commit", call, returned, error)
        self._read_sheet(client)

    def _read_sheet(self, client, _=None):
        """Row by row: those may differ, but each must be right."""
        result, call, returned, rows, error = client.ask("get", TABLE, *SHEET)
        if result != "ok":
            return self._failed(client, "get", call, returned, error)
        for value in {rows.get(row) for row in SHEET}:
            self._add(Operation(client.name, call, returned, reads={"sheet": value}, name="get"))
        return None

    def _scan_sheet(self, client, _=None):
        result, call, returned, rows, error = client.ask("scan", TABLE, "sheet-")
        if result != "ok":
            return self._failed(client, "scan", call, returned, error)
        values = {rows.get(row) for row in SHEET}
        if len(values) > 1:
            self.cluster.violations.add(f"a snapshot of rows that are always written together has {len(values)} values of them", f"{values}")
        for value in values:
            self._add(Operation(client.name, call, returned, reads={"sheet": value}, name="scan"))
        return None

    def _scan_bank(self, client, _=None):
        if opened := self.bank.opened:
            prefix = f"bank{opened}-"
            self._scan(client, prefix, [f"{prefix}{account}" for account in range(ACCOUNTS)])

    def _snapshot(self, client, chance):
        with self.lock:
            if self.named >= SNAPSHOTS:
                return
            self.named += 1
            name = f"snapshot{self.named}"
        prefix = chance.choice(list(self.groups))
        rows = self._scan(client, prefix, command=("snapshot", TABLE, name))
        if rows is not None:
            self.snapshots[name] = prefix, rows

    def _any_again(self, client, chance):
        if self.snapshots:
            self._again(client, chance.choice(list(self.snapshots)))

    def _again(self, client, name):
        prefix, rows = self.snapshots[name]
        result, call, returned, found, error = client.ask("again", TABLE, name, prefix)
        if result != "ok":
            self._failed(client, "again", call, returned, error)
        elif found != rows:
            self.cluster.violations.add("a snapshot changed", f"{name}: {rows} became {found}")

    # -- what must hold ------------------------------------------------------------------------------------------------------------------------

    def _sums(self):
        """Of every snapshot of the bank; simple, and independent of the checker."""
        for operation in self.operations:
            values = [value for key, value in operation.reads.items() if key.startswith("bank")]
            present = [int(value.split("/")[0]) for value in values if value is not None]
            if present and (len(present) < len(values) or sum(present) != ACCOUNTS * BALANCE):
                found = f"{sum(present)} in {len(present)} accounts instead of {ACCOUNTS * BALANCE}"
                self.cluster.violations.add("the bank's sum is wrong", f"{found}: {operation}")
