#!/usr/bin/env python3
"""The matrix of workloads: its ratios and intervals, its bounds, and a run of one of its rows. matrix_test.py ROOT WEFT"""
import importlib.machinery
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

ROOT, WEFT = sys.argv.pop(1), sys.argv.pop(1)
DIRECTORY = os.path.join(ROOT, "benchmarks", "matrix")
MATRIX = os.path.join(DIRECTORY, "matrix")
sys.path.insert(0, DIRECTORY)
sys.dont_write_bytecode = True

import ratios  # noqa: E402
import rows  # noqa: E402
from bounds import BOUNDS  # noqa: E402

loader = importlib.machinery.SourceFileLoader("matrix", MATRIX)
matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("matrix", loader))
loader.exec_module(matrix)


def run_of(*completions, user="ann", mean=None):
    jobs = [{"outcome": "finished", "user": user, "completion": one} for one in completions]
    return {"jobs": jobs, "metrics": {"completion_mean": mean or sum(completions) / len(completions), "jobs_not_finished": 0}}


class Ratios(unittest.TestCase):
    def test_the_mean_is_geometric(self):
        self.assertAlmostEqual(ratios.ratio_of([0.5, 2.0]).mean, 1.0)

    def test_one_seed_has_no_interval(self):
        ratio = ratios.ratio_of([0.7])
        self.assertEqual((ratio.low, ratio.high), (ratio.mean, ratio.mean))
        self.assertIsNone(ratios.ratio_of([]))

    def test_the_interval_is_students(self):
        ratio = ratios.ratio_of([math.exp(0.1), math.exp(0.2), math.exp(0.3)])
        self.assertAlmostEqual(math.log(ratio.mean), 0.2)
        self.assertAlmostEqual(math.log(ratio.high), 0.2 + 4.303 * 0.1 / math.sqrt(3), places=6)

    def test_figures_are_paired_by_seed(self):
        base, runs = [run_of(10), run_of(20)], [run_of(5), run_of(30)]
        self.assertEqual(ratios.paired(base, runs, "completion_mean"), [0.5, 1.5])
        self.assertEqual(ratios.paired(base, runs, "deadlines_missed"), [])

    def test_rows_weigh_the_same(self):
        self.assertAlmostEqual(ratios.over_rows([[0.5, 0.5], [2.0, 2.0]]).mean, 1.0)

    def test_the_worst_job_and_user_are_found(self):
        base = [{"jobs": run_of(10, 10)["jobs"] + run_of(4, user="bob")["jobs"], "metrics": {}}]
        runs = [{"jobs": run_of(15, 5)["jobs"] + run_of(5, user="bob")["jobs"], "metrics": {}}]
        self.assertAlmostEqual(ratios.worst_job(base, runs), 1.5)
        self.assertAlmostEqual(ratios.worst_user(base, runs)[0], 1.25)


class Bounds(unittest.TestCase):
    def misses(self, means, tails=(1.0, 1.0, 1.0), missed=None):
        scheduler = next(iter(BOUNDS))
        row = {"completion_mean": list(means), "completion_p95": list(tails), "worst_user": [1.0] * 3, "unfinished": 0,
               "missed": missed, "missed_by_base": 0.1, "cross_rack_bytes": [1.0] * 3}
        return list(matrix.misses(scheduler, {"row": {scheduler: row}}))

    def test_what_is_worse_beyond_doubt_is_told(self):
        self.assertTrue(self.misses([1.5, 1.52, 1.51]))
        self.assertTrue(self.misses([0.5, 0.5, 0.5], [2.0, 2.01, 2.02]))

    def test_deadlines_that_are_missed_more_often_are_told(self):
        self.assertTrue(self.misses([0.6, 0.61, 0.62], missed=0.9))
        self.assertEqual(self.misses([0.6, 0.61, 0.62], missed=0.1), [])

    def test_what_may_be_chance_is_not(self):
        self.assertEqual(self.misses([0.6, 1.6, 0.7]), [])
        self.assertEqual(self.misses([0.6, 0.61, 0.62]), [])


class Rows(unittest.TestCase):
    def test_there_are_enough_and_their_names_differ(self):
        self.assertGreaterEqual(len(rows.TUNED), 20)
        names = [row.name for row in rows.TUNED + rows.HELD_OUT + rows.FURTHER]
        self.assertEqual(len(names), len(set(names)))

    def test_every_workload_can_be_made(self):
        for row in rows.TUNED + rows.HELD_OUT + rows.FURTHER:
            with self.subTest(row.name):
                words = [WEFT, "simulate", "--describe", "--workload", row.workload]
                self.assertEqual(subprocess.run(words, capture_output=True, text=True).stderr, "")

    def test_a_row_runs_and_its_figures_are_written(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "figures.json")
            words = [MATRIX, "--binary", WEFT, "--only", "three-nodes", "--seeds", "2", "--scheduler", "fifo", "--details", "--json", path]
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fifo over fair", done.stdout)
            with open(path) as file:
                self.assertEqual(len(json.load(file)["rows"]["three-nodes"]["fifo"]["completion_mean"]), 2)

    def test_an_unknown_row_is_refused(self):
        done = subprocess.run([MATRIX, "--binary", WEFT, "--only", "nobody"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no row has one of nobody", done.stderr)

    def test_a_scheduler_that_is_not_there_is_an_error_of_one_line(self):
        words = [MATRIX, "--binary", WEFT, "--only", "three-nodes", "--seeds", "1", "--scheduler", "nobody"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^matrix: three-nodes: weft: .*unknown scheduler 'nobody'.*\n$")


if __name__ == "__main__":
    unittest.main()
