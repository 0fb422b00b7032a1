#!/usr/bin/env python3
"""Of histories that are known to be right or wrong."""
import itertools
import random
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from history import ABORTED, NEVER, OK, UNKNOWN, Operation, check, components, read, slices, write  # noqa: E402


def at(process, call, returned, reads=None, writes=None, outcome=OK):
    return Operation(process, call, returned, reads or {}, writes or {}, outcome)


def orders(operations, initial):
    """Whether an order exists, by trying all: the definition, with nothing in common with what is tested."""
    known = [operation for operation in operations if operation.outcome == OK]
    perhaps = [operation for operation in operations if operation.outcome == UNKNOWN]
    for count in range(len(perhaps) + 1):
        for some in itertools.combinations(perhaps, count):
            for order in itertools.permutations(known + list(some)):
                if any(later.returned < earlier.call for earlier, later in itertools.combinations(order, 2)):
                    continue
                state = dict(initial)
                for operation in order:
                    if any(state.get(key) != value for key, value in operation.reads.items()):
                        break
                    state.update(operation.writes)
                else:
                    return True
    return False


class Right(unittest.TestCase):
    def right(self, *operations, **options):
        verdict = check(list(operations), **options)
        self.assertTrue(verdict, verdict)
        self.assertTrue(verdict.decided)

    def test_one_after_the_other(self):
        self.right(at("a", 1, 2, writes={"x": 1}), at("b", 3, 4, {"x": 1}), at("a", 5, 6, writes={"x": 2}), at("b", 7, 8, {"x": 2}))

    def test_a_key_that_is_not_there_yet(self):
        self.right(at("a", 1, 2, {"x": None}), at("a", 3, 4, writes={"x": 1}), at("a", 5, 6, {"x": 1, "y": None}))

    def test_initial_values(self):
        self.right(at("a", 1, 2, {"x": 7}), initial={"x": 7})

    def test_at_the_same_time_either_may_be_first(self):
        self.right(at("a", 1, 9, writes={"x": 1}), at("b", 1, 9, writes={"x": 2}), at("c", 10, 11, {"x": 1}))
        self.right(at("a", 1, 9, writes={"x": 1}), at("b", 1, 9, writes={"x": 2}), at("c", 10, 11, {"x": 2}))

    def test_a_write_of_unknown_outcome_never_happened(self):
        self.right(at("a", 1, 2, writes={"x": 1}), at("b", 3, NEVER, writes={"x": 2}, outcome=UNKNOWN), at("c", 4, 99, {"x": 1}))

    def test_a_write_of_unknown_outcome_happened_much_later(self):
        self.right(at("a", 1, 2, writes={"x": 1}), at("b", 3, NEVER, writes={"x": 2}, outcome=UNKNOWN), at("c", 50, 51, {"x": 1}),
                   at("c", 52, 53, {"x": 2}))

    def test_transactions_that_see_each_other_whole(self):
        self.right(at("a", 1, 5, writes={"x": 1, "y": 1}), at("b", 2, 6, writes={"x": 2, "y": 2}), at("c", 3, 4, {"x": 2, "y": 2}),
                   at("c", 7, 8, {"x": 1, "y": 1}))

    def test_an_aborted_transaction_that_nobody_saw(self):
        self.right(at("a", 1, 2, writes={"x": 1}), at("b", 3, 4, writes={"x": 2}, outcome=ABORTED), at("c", 5, 6, {"x": 1}))


class Wrong(unittest.TestCase):
    def wrong(self, *operations, problem="no order", named=None, **options):
        """`named` are the operations, by their places here, that the verdict must show."""
        verdict = check(list(operations), **options)
        self.assertFalse(verdict)
        self.assertIn(problem, verdict.problem)
        shown = [(operation.process, operation.call) for operation in verdict.operations]
        for place in named or range(len(operations)):
            self.assertIn((operations[place].process, operations[place].call), shown, verdict)

    def test_a_lost_write(self):
        self.wrong(at("a", 1, 2, writes={"x": 1}), at("a", 3, 4, writes={"x": 2}), at("b", 5, 6, {"x": 1}))

    def test_a_write_that_nobody_sees_at_all(self):
        self.wrong(at("a", 1, 2, writes={"x": 1}), at("b", 5, 6, {"x": None}))

    def test_a_stale_read_after_a_newer_one(self):
        self.wrong(at("a", 1, 2, writes={"x": 1}), at("a", 3, 20, writes={"x": 2}), at("b", 5, 6, {"x": 2}), at("c", 7, 8, {"x": 1}), named=[1, 2, 3])

    def test_a_lost_update(self):
        self.wrong(at("a", 1, 10, {"x": 0}, {"x": 1}), at("b", 1, 10, {"x": 0}, {"x": 2}), initial={"x": 0})

    def test_write_skew(self):
        self.wrong(at("a", 1, 10, {"x": 0, "y": 0}, {"x": 1}), at("b", 1, 10, {"x": 0, "y": 0}, {"y": 1}), initial={"x": 0, "y": 0})

    def test_a_torn_commit(self):
        self.wrong(at("a", 1, 2, writes={"x": 1, "y": 1}), at("b", 3, 20, writes={"x": 2, "y": 2}), at("c", 4, 5, {"x": 2, "y": 1}), named=[1, 2])

    def test_a_commit_of_unknown_outcome_that_is_there_in_part(self):
        self.wrong(at("a", 1, 2, writes={"x": 1, "y": 1}), at("b", 3, NEVER, writes={"x": 2, "y": 2}, outcome=UNKNOWN),
                   at("c", 40, 50, {"x": 2, "y": 1}), named=[1, 2])

    def test_snapshots_in_opposite_orders(self):
        self.wrong(at("a", 1, 20, writes={"x": 1}), at("b", 1, 20, writes={"y": 1}), at("c", 2, 10, {"x": 1, "y": None}),
                   at("d", 2, 10, {"x": None, "y": 1}))

    def test_a_read_from_an_aborted_transaction(self):
        self.wrong(at("a", 1, 2, writes={"x": 1}, outcome=ABORTED), at("b", 3, 4, {"x": 1}), problem="aborted")

    def test_a_read_of_what_nobody_wrote(self):
        self.wrong(at("b", 3, 4, {"x": 1}), problem="nobody has written")

    def test_a_write_that_comes_back(self):
        self.wrong(at("a", 1, 2, writes={"x": 1}), at("b", 3, 4, writes={"x": 2}), at("c", 5, 6, {"x": 2}), at("c", 7, 8, {"x": 1}), named=[0, 1, 3])

    def test_a_read_before_its_write_was_called(self):
        self.wrong(at("a", 1, 2, {"x": 1}), at("b", 3, 4, writes={"x": 1}))

    def test_only_the_search_finds_that_two_writes_have_no_order(self):
        """Whichever of the concurrent writes comes first, one of the later transactions read both of their values at once."""
        self.wrong(at("a", 1, 50, writes={"x": 1, "y": 1}), at("b", 1, 50, writes={"y": 2, "z": 2}), at("c", 1, 50, writes={"z": 3, "x": 3}),
                   at("r", 60, 61, {"x": 1, "y": 2, "z": 3}))


class Whole(unittest.TestCase):
    def test_unique_values_are_required(self):
        with self.assertRaisesRegex(ValueError, "written twice"):
            check([at("a", 1, 2, writes={"x": 1}), at("a", 3, 4, writes={"x": 1})])

    def test_parts_are_connected_by_keys(self):
        operations = [at("a", 1, 2, writes={"x": 1}), at("a", 1, 2, writes={"y": 1}), at("a", 1, 2, writes={"z": 1}), at("a", 3, 4, {"x": 1, "z": 1})]
        self.assertEqual(sorted(len(part) for part in components(operations)), [1, 3])

    def test_agrees_with_trying_all_orders(self):
        chance, wrong = random.Random(39), 0
        for _ in range(3000):
            operations, written = [], {key: [None] for key in "xy"}
            initial = {"x": 0} if chance.random() < 0.3 else {}
            for number in range(chance.randint(2, 5)):
                call = chance.randint(1, 25)
                outcome = chance.choices([OK, UNKNOWN, ABORTED], [8, 2, 1])[0]
                keys = chance.sample("xy", chance.randint(1, 2))
                writes = {key: number + 1 for key in keys if chance.random() < 0.5 or outcome != OK}
                for key, value in writes.items():
                    written[key].append(value)
                returned = NEVER if outcome == UNKNOWN else call + chance.randint(0, 10)
                reads = dict.fromkeys(set(keys) - writes.keys() if outcome != UNKNOWN or chance.random() < 0.5 else keys)
                operations.append(at("abcde"[number], call, returned, {} if outcome == ABORTED else reads, writes, outcome))
            for operation in operations:
                for key in operation.reads:
                    before = [value for value in written[key] if value != operation.writes.get(key, operation)]
                    operation.reads[key] = initial.get(key) if chance.random() < 0.2 else chance.choice(before)
            expected = orders(operations, initial)
            wrong += not expected
            self.assertEqual(bool(check(operations, initial)), expected, "\n".join(map(str, operations)))
        self.assertTrue(600 < wrong < 2400, wrong)

    def test_what_an_operation_of_unknown_outcome_read_does_not_count_where_it_does_not(self):
        history = [at("a", 1, 2, writes={"x": 1}), at("a", 3, 4, writes={"x": 2}), at("b", 5, 6, {"x": 1})]
        self.assertFalse(check([*history, at("c", 7, NEVER, {"x": 1}, {"y": 1}, UNKNOWN)]))
        self.assertTrue(check([*history[:2], at("c", 7, NEVER, {"x": 1}, {"y": 1}, UNKNOWN)]))
        self.assertFalse(check([*history[:2], at("c", 7, NEVER, {"x": 1}, {"y": 1}, UNKNOWN), at("d", 8, 9, {"y": 1})]))

    def test_the_initial_value_may_be_written(self):
        self.assertTrue(check([at("a", 1, 2, writes={"x": 1}), at("a", 3, 4, writes={"x": None}), at("b", 5, 6, {"x": None})]))

    def test_slices_end_where_nothing_runs(self):
        operations = [at("a", 1, 2, writes={"x": 1, "y": 1}), at("b", 3, 6, writes={"x": 2}), at("a", 4, 5, {"y": 1}),
                      at("b", 8, NEVER, writes={"x": 3}, outcome=UNKNOWN), at("a", 9, 10, {"x": 2}), at("a", 20, 21, {"x": 3}),
                      at("b", 30, 31, {"y": 1})]
        calls = [{one.call for one in some} for some in slices(operations, {})]
        self.assertEqual(calls, [{1, 30}, {1, 3, 4, 9, 30}, {1, 3, 8, 9, 20, 30}, {1, 30}])  # with whoever wrote what is read later, and reads it

    def simulated(self, chance, operations, processes=6, pause=5):
        """A history of a right table: every operation happens at a random moment of its time."""
        free, state, number, made = [0] * processes, {}, 0, []
        moments = []
        for _ in range(operations):
            process = min(range(processes), key=lambda one: free[one])
            call = free[process] + chance.randint(1, pause)
            returned = call + chance.randint(2, 60)
            free[process] = returned
            moments.append((chance.randint(call, returned), process, call, returned))
        for _, process, call, returned in sorted(moments):
            number += 1
            keys = chance.sample("uvwxyz", chance.randint(1, 6))
            if chance.random() < 0.4:
                lost = chance.random() < 0.1
                if not lost or chance.random() < 0.5:
                    state.update(dict.fromkeys(keys, number))
                made.append(at(f"p{process}", call, NEVER if lost else returned, writes=dict.fromkeys(keys, number), outcome=UNKNOWN if lost else OK))
            else:
                made.append(at(f"p{process}", call, returned, {key: state.get(key) for key in keys}))
        return made

    def test_long_histories_take_little_time(self):
        history = self.simulated(random.Random(1), 1500)
        began = time.monotonic()
        verdict = check(history)
        self.assertTrue(verdict, verdict)
        self.assertTrue(verdict.decided)
        self.assertLess(time.monotonic() - began, 20)

    def test_histories_of_half_an_hour_are_decided(self):
        history = self.simulated(random.Random(4), 20_000, pause=300)
        began = time.monotonic()
        self.assertTrue(check(history).decided)
        self.assertLess(time.monotonic() - began, 20)
        reader = next(one for one in history[15_000:] if one.reads)
        reader.reads = dict.fromkeys(reader.reads)  # as if nothing had been written yet
        self.assertFalse(check(history))

    def test_one_wrong_read_in_a_long_history_is_found(self):
        for seed in range(10):
            chance = random.Random(seed)
            history = self.simulated(chance, 200)
            self.assertTrue(check(history))
            reader = chance.choice([one for one in history[100:] if any(value is not None for value in one.reads.values())])
            key = next(key for key, value in reader.reads.items() if value is not None)
            reader.reads[key] = None
            verdict = check(history)
            self.assertFalse(verdict)
            self.assertIn((reader.process, reader.call), [(one.process, one.call) for one in verdict.operations])

    def test_a_history_is_read_as_it_was_written(self):
        history = self.simulated(random.Random(3), 50)
        with tempfile.TemporaryDirectory() as directory:
            write(history, directory + "/history")
            self.assertEqual(read(directory + "/history"), history)

    def test_no_time_is_no_verdict(self):
        self.assertFalse(check(self.simulated(random.Random(2), 300), seconds=0).decided)


if __name__ == "__main__":
    unittest.main()
