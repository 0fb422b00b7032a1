#!/usr/bin/env python3
"""Plans are functions of their seeds, and keep to what they promise."""
import sys
import unittest

sys.dont_write_bytecode = True
from plan import CALM, DAMAGE, DESCRIPTIONS, KINDS, LAST, SUFFERING, Fault, make_plan, names  # noqa: E402

SEEDS = range(300)


class Plans(unittest.TestCase):
    def test_a_seed_is_a_plan(self):
        for seed in SEEDS:
            self.assertEqual(make_plan(seed), make_plan(seed))
        self.assertEqual(len({make_plan(seed).faults for seed in SEEDS}), len(SEEDS))

    def test_a_plan_is_known(self):
        """Whoever changes how plans are made changes what the seeds that somebody has reported mean: do so knowingly, and these lines."""
        plan = make_plan(1)
        self.assertEqual((plan.seed, plan.seconds, len(plan.faults)), (1, 40, KNOWN[0]))
        self.assertEqual(str(plan.faults[0]), KNOWN[1])

    def test_every_kind_happens(self):
        happened = {fault.kind for seed in SEEDS for fault in make_plan(seed).faults}
        self.assertEqual(happened, set(KINDS))
        self.assertEqual(set(DESCRIPTIONS), set(KINDS))

    def test_every_number_of_workers_happens(self):
        self.assertEqual({make_plan(seed).workers for seed in SEEDS}, {3, 4, 5})
        self.assertEqual(make_plan(1, workers=7).workers, 7)

    def test_only_kinds_that_were_asked_for(self):
        for seed in SEEDS:
            self.assertLessEqual({fault.kind for fault in make_plan(seed, kinds=["kill", "flip"]).faults}, {"kill", "flip"})
            self.assertFalse(make_plan(seed, kinds=[]).faults)

    def test_everything_begins_before_the_end(self):
        for seed in SEEDS:
            for fault in make_plan(seed, seconds=20).faults:
                self.assertTrue(0 < fault.at <= 20 - LAST + 0.1, fault)

    def test_targets_are_there(self):
        for seed in SEEDS:
            plan = make_plan(seed)
            for fault in plan.faults:
                whom = fault.target.split()
                self.assertLessEqual(set(whom), {*names(plan.workers), "master"})
                self.assertEqual(len(whom), {"pair": 2, "executor-kill": 0, "driver-kill": 0, "detached-kill": 0}.get(fault.kind, 1))
                self.assertEqual(len(set(whom)), len(whom))

    def test_two_suffer_at_a_time_at_most_and_nobody_twice(self):
        for seed in SEEDS:
            suffering = [fault for fault in make_plan(seed).faults if fault.kind in SUFFERING]
            for fault in suffering:
                beside = [other for other in suffering if other is not fault and other.at <= fault.at < other.until - 0.11]
                self.assertLessEqual(len(beside), 1, fault)
                if beside:
                    self.assertFalse(set(fault.target.split()) & set(beside[0].target.split()))

    def test_damage_is_on_one_worker_and_in_calm(self):
        for seed in SEEDS:
            plan = make_plan(seed)
            damage = [fault for fault in plan.faults if fault.kind in DAMAGE]
            self.assertLessEqual(len({fault.target for fault in damage}), 1)
            for fault in damage:
                for other in plan.faults:
                    if other.kind in SUFFERING:
                        self.assertFalse(other.at < fault.at < other.until + CALM - 0.11, f"{fault} and {other}")

    def test_a_fault_is_a_line(self):
        self.assertEqual(str(Fault(3.25, "one-way", "w2", 4.0, "in")), "  3.2 s  one-way w2 (in) for 4.0 s")


KNOWN = (9, "  2.3 s  one-way w2 (in) for 11.3 s")

if __name__ == "__main__":
    unittest.main()
