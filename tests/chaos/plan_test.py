#!/usr/bin/env python3
"""Plans are functions of their seeds, and keep to what they promise."""
import sys
import unittest

sys.dont_write_bytecode = True
from plan import ALONE, CALM, DAMAGE, DESCRIPTIONS, GROUP, KINDS, LAST, RECOVERY, SUFFERING, Fault, make_plan, names  # noqa: E402

SEEDS = range(300)


class Plans(unittest.TestCase):
    def test_a_seed_is_a_plan(self):
        for seed in SEEDS:
            self.assertEqual(make_plan(seed), make_plan(seed))
        self.assertEqual(len({make_plan(seed).faults for seed in SEEDS}), len(SEEDS))

    def test_a_plan_is_known(self):
        """Whoever changes how plans are made changes what the seeds that somebody has reported mean: do so knowingly, and these lines."""
        for masters, (faults, one) in KNOWN.items():
            plan = make_plan(1, masters=masters)
            self.assertEqual((plan.seed, plan.masters, plan.seconds, len(plan.faults)), (1, masters, 40, faults))
            self.assertEqual(str(plan.faults[1]), one)

    def test_every_kind_happens(self):
        happened = {fault.kind for seed in SEEDS for fault in make_plan(seed).faults}
        self.assertEqual(happened, set(KINDS))
        self.assertEqual(set(DESCRIPTIONS), set(KINDS))

    def test_every_number_of_workers_happens(self):
        self.assertEqual({make_plan(seed).workers for seed in SEEDS}, {3, 4, 5})
        self.assertEqual(make_plan(1, workers=7).workers, 7)

    def test_about_half_of_the_seeds_have_two_masters(self):
        masters = [make_plan(seed).masters for seed in SEEDS]
        self.assertEqual(set(masters), {1, 2})
        self.assertTrue(len(SEEDS) / 3 < masters.count(2) < len(SEEDS) * 2 / 3, masters.count(2))
        self.assertEqual({make_plan(seed, masters=2).masters for seed in SEEDS}, {2})

    def test_workers_suffer_the_same_whatever_masters_there_are(self):
        for seed in SEEDS:
            one, two = ([fault for fault in make_plan(seed, masters=masters).faults if fault.kind in {**SUFFERING, **DAMAGE}] for masters in (1, 2))
            self.assertEqual(one, two)

    def test_masters_suffer_one_at_a_time(self):
        for seed in SEEDS:
            faults = [fault for fault in make_plan(seed, masters=2).faults if fault.kind in GROUP]
            for one, other in zip(faults, faults[1:]):
                self.assertGreaterEqual(other.at, one.until + RECOVERY - 0.11)

    def test_each_variant_of_what_cuts_a_leader_off_happens(self):
        cut = {fault.detail for seed in SEEDS for fault in make_plan(seed, masters=2).faults if fault.kind == "leader-cut"}
        self.assertEqual(cut, {f"{peers} {how}" for peers in ("etcd", "standby", "workers") for how in ("both", "in", "out")})

    def test_a_leader_is_not_cut_off_from_workers_where_bits_are_flipped(self):
        for seed in SEEDS:
            faults = make_plan(seed, masters=2).faults
            if any(fault.kind in DAMAGE for fault in faults):
                self.assertFalse([fault for fault in faults if fault.detail.startswith("workers")])

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
                self.assertLessEqual(set(whom), {*names(plan.workers), *(["master"] if plan.masters == 1 else ["leader", "standby", "etcd"])})
                self.assertFalse(fault.kind in {**GROUP, **ALONE} and whom[0] in names(plan.workers), fault)
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


KNOWN = {1: (9, " 11.5 s  driver-kill"), 2: (14, "  3.2 s  standby-full-disk standby for 3.9 s")}

if __name__ == "__main__":
    unittest.main()
