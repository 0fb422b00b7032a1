#!/usr/bin/env python3
"""What judges a run: that it notices what is wrong, on clusters that are none."""
import math
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import references  # noqa: E402
import world  # noqa: E402
from cluster import Daemon, Violations  # noqa: E402
from permitted import permitted  # noqa: E402
from workload_files import FileWorkload  # noqa: E402
from workload_jobs import JobWorkload  # noqa: E402


class Ends(unittest.TestCase):
    """Of daemons: each is a shell here."""

    def ended(self, script, signals=()):
        with tempfile.TemporaryDirectory() as directory:
            daemon = Daemon("w1", ["sh", "-c", script], directory + "/log", dict(os.environ))
            daemon.start()
            for number in signals:
                daemon.signal(number)
            daemon.process.wait(10)
            return daemon.unexpected()

    def setUp(self):
        self.at, world.Network.at = world.Network.at, staticmethod(lambda host: [])

    def tearDown(self):
        world.Network.at = self.at

    def test_by_a_signal_that_was_not_sent(self):
        self.assertEqual(self.ended("kill -ABRT $$"), "ended by SIGABRT")
        self.assertEqual(self.ended("kill -KILL $$", [signal.SIGCONT]), "ended by SIGKILL")

    def test_by_itself_whatever_the_exit_code(self):
        self.assertEqual(self.ended("exit 1"), "ended with exit code 1")
        self.assertEqual(self.ended("exit 0"), "ended with exit code 0")

    def test_as_it_was_told_to(self):
        self.assertIsNone(self.ended("sleep 60", [signal.SIGKILL]))
        self.assertIsNone(self.ended("trap 'exit 0' TERM; while :; do sleep 0.01; done", [signal.SIGTERM]))

    def test_who_runs_has_not_ended(self):
        with tempfile.TemporaryDirectory() as directory:
            daemon = Daemon("w1", ["sleep", "60"], directory + "/log", dict(os.environ))
            daemon.start()
            self.assertIsNone(daemon.unexpected())
            daemon.signal(signal.SIGKILL)
            daemon.process.wait()


class Violating(unittest.TestCase):
    def test_the_same_but_for_numbers_is_said_three_times_and_counted(self):
        lines = []
        violations = Violations(lines.append)
        for number in range(10):
            violations.add(f"w{number} ended by SIGABRT", f"detail {number}")
        violations.add("something else")
        self.assertEqual((len(violations), len(lines)), (2, 4))
        self.assertIn("10 × wN ended by SIGABRT", str(violations))


class Permitting(unittest.TestCase):
    def test_a_job_dies_with_its_master_and_says_so(self):
        at = {"master-kill": (10, 12)}

        def happened(kind, begin, end):
            return kind in at and at[kind][0] < end and begin < at[kind][1]

        self.assertTrue(permitted("job", "lost the master", 8, 11, happened))
        self.assertFalse(permitted("job", "task 6 was lost 20 times", 8, 11, happened))
        self.assertFalse(permitted("job", "lost the master", 20, 30, happened))
        self.assertFalse(permitted("file write", "no master answers", 8, 11, happened))
        self.assertFalse(permitted("table write", "table 't': the disk of worker w2 is full: …", 8, 11, happened))
        at["full-disk"] = 9, math.inf
        self.assertTrue(permitted("table write", "table 't': the disk of worker w2 is full: …", 8, 11, happened))


class Nobody:
    """No cluster: `commands` answers instead."""

    master_address, programs = "nowhere:1", ""

    def __init__(self, directory, answer):
        self.directory, self.answer, self.lines = directory, answer, []
        self.violations = Violations(self.lines.append)

    def path(self, name):
        return f"{self.directory}/{name}"

    def run(self, *words, **_):
        code, err = self.answer(self, list(words))
        return subprocess.CompletedProcess(words, code, "", err)


class Calm:
    @staticmethod
    def happened(*_):
        return False


class Files(unittest.TestCase):
    """On files of a dict, which may forget something."""

    def run_on(self, answer):
        with tempfile.TemporaryDirectory() as directory:
            cluster = Nobody(directory, answer)
            cluster.files = {}
            workload = FileWorkload(cluster, 1, 0, Calm)
            for _ in range(100):
                workload.step()
            workload.check()
            return cluster.lines

    @staticmethod
    def right(cluster, words):
        verb, *rest = words[2:words.index("--patience")]
        missing = 1, f"weft: {rest[0]} does not exist"
        if verb == "put":
            with open(rest[0], "rb") as file:
                cluster.files[rest[1]] = file.read()
            return 0, ""
        source = rest[0] if verb != "mv" else rest[1]
        if source not in cluster.files:
            return missing
        if verb == "get":
            with open(rest[1], "wb") as file:
                file.write(cluster.files[source])
        elif verb == "rm":
            del cluster.files[source]
        else:
            cluster.files[rest[2]] = cluster.files.pop(source)
        return 0, ""

    def test_of_a_right_cluster_are_right(self):
        self.assertEqual(self.run_on(self.right), [])

    def test_that_are_lost_are_noticed(self):
        def forgets(cluster, words):
            answer = self.right(cluster, words)
            if words[2] == "put" and len(cluster.files) > 3:
                cluster.files.pop(next(iter(cluster.files)))
            return answer

        self.assertTrue(any("has nothing instead of" in line for line in self.run_on(forgets)))

    def test_whose_bytes_change_are_noticed(self):
        def damages(cluster, words):
            answer = self.right(cluster, words)
            if words[2] == "put":
                cluster.files[words[4]] += b"x"
            return answer

        self.assertTrue(any(" instead of " in line for line in self.run_on(damages)))

    def test_a_command_that_fails_is_noticed_and_may_have_done_its_work(self):
        def fails_late(cluster, words):
            answer = self.right(cluster, words)
            return (1, "connection lost") if words[2] == "put" else answer

        lines = self.run_on(fails_late)
        self.assertTrue(lines)
        self.assertTrue(all("connection lost" in line for line in lines), lines)


class Jobs(unittest.TestCase):
    class Inputs:
        directory = "/nowhere"
        counts, sorted, joined, sums = ["a\t1"], "b", ["c"], {}

    def run_on(self, answer):
        with tempfile.TemporaryDirectory() as directory:
            cluster = Nobody(directory, answer)
            job = JobWorkload(cluster, self.Inputs, 1, 0, Calm)
            job.chance.choice = lambda some: some[0]  # wordcount
            job._job("0-1")
            return cluster.lines

    @staticmethod
    def writes(content, code=0):
        def answer(_, words):
            output = words[words.index("--output") + 1]
            os.makedirs(output)
            for name, text in (("part-00000", content), ("_SUCCESS", "")):
                with open(f"{output}/{name}", "w") as file:
                    file.write(text)
            return code, "some error"

        return answer

    def test_a_right_output(self):
        self.assertEqual(self.run_on(self.writes("a\t1\n")), [])

    def test_a_wrong_output(self):
        self.assertIn("the output is wrong", self.run_on(self.writes("a\t2\n"))[0])

    def test_a_job_that_fails(self):
        self.assertIn("a job failed with 1", self.run_on(lambda *_: (1, "some error"))[0])

    def test_a_job_that_fails_and_has_output(self):
        self.assertIn("a job failed and has output", self.run_on(self.writes("a\t1\n", 1))[1])


class References(unittest.TestCase):
    def test_small_ones(self):
        self.assertEqual(references.wordcount("a b a\n"), ["a\t2", "b\t1"])
        self.assertEqual(references.terasort("b" * 99 + "\n" + "a" * 99 + "\n"), "a" * 99 + "\n" + "b" * 99 + "\n")
        self.assertEqual(references.join("u1\tx\nu2\ty\n", "u2\tp\nu3\tq\nu2\tr\n"), ["u2\ty\tp", "u2\ty\tr"])
        self.assertEqual(references.sums({"a1": 1, "a2": 2, "b1": 5}), {"a": 3, "b": 5})


if __name__ == "__main__":
    unittest.main()
