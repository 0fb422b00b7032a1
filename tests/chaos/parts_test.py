#!/usr/bin/env python3
"""What judges a run: that it notices what is wrong, on clusters that are none."""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import references  # noqa: E402
import world  # noqa: E402
from cluster import Daemon, Violations  # noqa: E402
from faults import Injector  # noqa: E402
from footprint import Footprint  # noqa: E402
from group import Beat, Group, encoded  # noqa: E402
from permitted import permitted  # noqa: E402
from plan import Fault, Plan  # noqa: E402
from run import Run  # noqa: E402
from workload_files import FileWorkload  # noqa: E402
from workload_jobs import JobWorkload  # noqa: E402


class Grown(unittest.TestCase):
    """Memory and the like, over half an hour that takes no time."""

    def judged(self, value):
        now = [0]
        me = types.SimpleNamespace(process=types.SimpleNamespace(pid=os.getpid()))
        cluster = types.SimpleNamespace(masters=["master"], workers=[], daemons={"master": me}, disk=lambda name: "/", violations=Violations(lambda text: None))
        footprint = Footprint(cluster, lambda: now[0])
        footprint.thread = types.SimpleNamespace(join=lambda: None)
        with unittest.mock.patch("footprint.memory", lambda pid: value(now[0])):
            for now[0] in range(0, 1800, 60):
                footprint.look()
        self.assertIn("memory of masters: median", footprint.end()[0])
        return str(cluster.violations)

    def test_is_noticed(self):
        self.assertIn("memory of masters grows", self.judged(lambda now: 50 + now / 10))

    def test_is_not_what_comes_and_goes(self):
        self.assertEqual(self.judged(lambda now: 100 + 50 * (now % 300 == 0)), "")

    def test_is_not_what_comes_at_first(self):
        self.assertEqual(self.judged(lambda now: min(200, now)), "")


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

    def test_of_a_worker_that_found_no_disk(self):
        def found_none(last):
            with tempfile.TemporaryDirectory() as directory:
                daemon = Daemon("w1", ["sh", "-c", f"echo info; echo '{last}'; exit 1"], directory + "/log", dict(os.environ))
                daemon.start()
                daemon.process.wait(10)
                return daemon.found_no_disk()

        self.assertTrue(found_none("weft: no data directory works: cannot read /d/weft-chunks: Input/output error"))
        self.assertTrue(found_none("weft: cannot read /d/tables/CLUSTER: Input/output error"))
        self.assertFalse(found_none("weft: cannot write /d/tables/3-0: Input/output error"))
        self.assertFalse(found_none("weft: no data directory works: it is of another cluster"))

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
    def setUp(self):
        self.at = {}

    def permits(self, command, error, begin=8, end=11):
        def happened(kind, begin, end):
            return kind in self.at and self.at[kind][0] < end and begin < self.at[kind][1]

        return permitted(command, error, begin, end, happened)

    def test_no_job_dies_with_its_master(self):
        self.at["master-kill"] = self.at["both-kill"] = self.at["master-full-disk restart"] = 10, 12
        for command in ("job", "local job", "submission"):
            for error in ("lost the master", "the master was restarted, and its program was not kept", "its driver was lost"):
                self.assertFalse(self.permits(command, error))

    def test_a_full_disk_of_a_worker_refuses_rows(self):
        error = "table 't': the disk of worker w2 is full: …"
        self.assertFalse(self.permits("table write", error))
        self.at["full-disk"] = 9, math.inf
        self.assertTrue(self.permits("table write", error))
        self.assertFalse(self.permits("table write", error, 2, 6))
        self.assertFalse(self.permits("local job", error))
        self.assertTrue(self.permits("snapshot", "cannot take a snapshot of 't': partition 2: … cannot be written: its disk is full"))
        self.assertTrue(self.permits("table write", "cannot commit what was written to 't': partition 5: the disk of worker w1 is full: …"))
        self.assertFalse(self.permits("snapshot", "cannot take a snapshot of 't': partition 2: …"))

    def test_a_full_disk_of_the_master_refuses_what_is_new_and_no_job_that_it_has(self):
        error = "the disk of the master is full"
        self.assertFalse(self.permits("job", error))
        self.at["master-full-disk"] = 9, 12
        for command in ("job", "submission", "file write", "snapshot"):
            self.assertTrue(self.permits(command, error), command)
        self.assertFalse(self.permits("local job", error))


class Nobody:
    """No cluster: `commands` answers instead."""

    master_address, programs, masters, network = "nowhere:1", "", ["master"], None

    def __init__(self, directory, answer):
        self.directory, self.answer, self.lines = directory, answer, []
        self.violations = Violations(self.lines.append)

    def path(self, name):
        return f"{self.directory}/{name}"

    def run(self, *words, began=None, **_):
        if began:
            began(unittest.mock.Mock())
            self.began()
        code, err, *out = self.answer(self, list(words))
        return subprocess.CompletedProcess(words, code, *out or [""], err)


class Calm:
    @staticmethod
    def happened(*_):
        return False

    @staticmethod
    def log(_):
        pass


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

    def run_on(self, answer, how="here", chance=1.0, killed=False):
        """`chance`: what is drawn; 1: no submission is cut off or repeated. `killed`: its driver."""
        with tempfile.TemporaryDirectory() as directory:
            cluster = Nobody(directory, answer)
            self.job = job = JobWorkload(cluster, self.Inputs, 1, 0, Calm)
            job.chance.choice = lambda some: how if how in some else some[0]  # wordcount
            job.chance.random = lambda: chance
            cluster.began = job.kill_driver if killed else lambda: None
            job._job("job0-001")
            return cluster.lines

    @staticmethod
    def writes(content, code=0):
        """Also as a detached job, whose end is that of the job."""
        def answer(_, words):
            if words[:2] == ["job", "wait"] or words[1:3] == ["job", "wait"]:
                return code, "some error"
            output = words[words.index("--output") + 1]
            os.makedirs(output, exist_ok=True)
            for name, text in (("part-00000", content), ("_SUCCESS", "")):
                with open(f"{output}/{name}", "w") as file:
                    file.write(text)
            return 0 if "--detach" in words else code, "some error"

        return answer

    @staticmethod
    def killed_and(code):
        """Whose driver dies, and that ends with `code` when it is waited for."""
        def answer(cluster, words):
            if "--detach" in words or "wait" in words:
                return Jobs.writes("a\t1\n", code)(cluster, words)
            return -signal.SIGKILL, ""

        return answer

    def test_a_right_output(self):
        for how in ("here", "continue", "detached"):
            self.assertEqual(self.run_on(self.writes("a\t1\n"), how), [])

    def test_a_wrong_output(self):
        for how in ("here", "detached"):
            self.assertIn("the output is wrong", self.run_on(self.writes("a\t2\n"), how)[0])

    def test_a_job_that_fails(self):
        self.assertIn("a job failed with 1", self.run_on(lambda *_: (1, "some error"))[0])
        self.assertIn("a submission failed with 1", self.run_on(lambda *_: (1, "some error"), "detached")[0])
        self.assertIn("a local job failed with 3", self.run_on(self.writes("", 3), "detached")[0])

    def test_a_job_that_fails_and_has_output(self):
        self.assertIn("a job failed and has output", self.run_on(self.writes("a\t1\n", 1))[1])

    def test_a_job_may_fail_when_its_own_driver_was_killed(self):
        self.assertEqual(self.run_on(self.killed_and(0), "here", killed=True), [])
        self.assertEqual((self.job.failed, self.job.left_over), (1, {"job0-001"}))

    def test_a_job_that_is_to_continue_may_not(self):
        self.assertEqual(self.run_on(self.killed_and(0), "continue", killed=True), [])
        self.assertEqual((self.job.finished, self.job.went_on, self.job.left_over), (1, 1, set()))
        self.assertIn("a local job failed with 4", self.run_on(self.killed_and(4), "continue", killed=True)[0])

    def test_a_submission_that_is_repeated_and_makes_another_job(self):
        self.assertEqual(self.run_on(self.writes("a\t1\n"), "detached", chance=0.3), [])
        answers = iter(range(10))
        lines = self.run_on(lambda cluster, words: (*self.writes("a\t1\n")(cluster, words), f"{next(answers)}\n"), "detached", chance=0.3)
        self.assertIn("a submission that was repeated made another job: 1 instead of 0", lines[0])

    def test_half_of_the_detached_jobs_have_an_id(self):
        for chance, nameless in ((0.3, 0), (0.7, 1)):
            self.assertEqual(self.run_on(self.writes("a\t1\n"), "detached", chance=chance), [])
            self.assertEqual(self.job.nameless, nameless)


class Known(unittest.TestCase):
    """What the master says of all jobs at the end."""

    def said(self, *jobs, finished=0, nameless=1000):
        checked = Run.__new__(Run)
        checked.cluster = Nobody("", lambda *_: (0, "", json.dumps([{"options": {}, "state": "finished", **job} for job in jobs])))
        checked.jobs = [unittest.mock.Mock(finished=finished, nameless=nameless)]
        checked._check_jobs()
        return "\n".join(checked.cluster.lines)

    def test_jobs_that_have_ended(self):
        jobs = {"id": 1, "options": {"request-id": "a"}}, {"id": 2, "state": "failed", "error": "its driver was lost", "options": {"request-id": "b"}}
        self.assertEqual(self.said(*jobs, {"id": 3}, {"id": 4}, finished=3), "")
        self.assertEqual(self.said(*({"id": number} for number in range(1000)), finished=1022), "")

    def test_jobs_that_are_lost(self):
        self.assertIn("the master knows 1 jobs, and 2 have finished", self.said({"id": 1}, finished=2))
        self.assertIn("a job did not outlive its master: job 3", self.said({"id": 3, "state": "failed", "error": "the master was restarted, and …"}))

    def test_two_jobs_of_one_request(self):
        jobs = [{"id": number, "options": {"request-id": "a"}} for number in (1, 2)]
        self.assertIn("several jobs are of one request: ['a']", self.said(*jobs))

    def test_two_jobs_of_a_submission_without_an_id(self):
        jobs = {"id": 1}, {"id": 2}, {"id": 3, "options": {"request-id": "a"}}
        self.assertEqual(self.said(*jobs, nameless=2), "")
        self.assertIn("a submission without an id made several jobs: 2 jobs of 1", self.said(*jobs, nameless=1))


class Leading(unittest.TestCase):
    """Who leads, as etcd has it, and what one client sees of it."""

    class Two(Nobody):
        master_address, masters = "a:1,b:1", ["m1", "m2"]

    def two(self, answer=lambda *_: (0, "")):
        return self.Two("", answer)

    def whole(self, listens=True, **values):
        group = Group(self.two())
        group._listens = lambda address: listens and address == "b:1"
        group._values = lambda: {f"/weft/{key}": value for key, value in values.items()}
        return group.whole()

    def test_a_group_is_whole_when_one_leads_and_the_other_may_take_over(self):
        record = json.dumps({"leader": "x", "address": "b:1", "in_sync": ["x", "y"]})
        self.assertEqual(self.whole(state=record, leader="x"), "m2")
        self.assertIsNone(self.whole(state=record))
        self.assertIsNone(self.whole(listens=False, state=record, leader="x"))
        self.assertIsNone(self.whole(state=json.dumps({"leader": "x", "address": "b:1", "in_sync": ["x"]}), leader="x"))
        self.assertIsNone(self.whole())
        group = Group(self.two())
        with unittest.mock.patch("urllib.request.urlopen", side_effect=OSError("it is away")):
            self.assertIsNone(group.whole())
        self.assertEqual((bool(group), group.standby("m1"), group.standby("m2")), (True, "m2", "m1"))
        self.assertFalse(Group(Nobody("", None)))

    def test_keys_are_read_from_etcd(self):
        answer = unittest.mock.MagicMock()
        answer.__enter__().read.return_value = json.dumps({"kvs": [{"key": encoded("/weft/leader"), "value": encoded("x")}]})
        with unittest.mock.patch("urllib.request.urlopen", return_value=answer):
            self.assertEqual(Group._values(), {"/weft/leader": "x"})

    def beat(self, answer, took=0.0, happened=lambda *_: False, cluster=None):
        cluster = cluster or self.two(answer)
        beat = Beat(cluster, types.SimpleNamespace(happened=happened), lambda _: None)
        with unittest.mock.patch("time.monotonic", side_effect=[100.0, 100.0 + took]):
            beat.step("/beats/1")
        return beat, cluster.lines

    def test_nobody_leads_for_too_long(self):
        right = lambda *_: (0, "")  # noqa: E731
        beat, lines = self.beat(right, 7.9)
        self.assertEqual((beat.longest, beat.made, lines), (unittest.mock.ANY, ["/beats/1"], []))
        self.assertAlmostEqual(beat.longest, 7.9)
        self.assertIn("nobody led for 8.5 s", self.beat(right, 8.5)[1][0])
        self.assertEqual(self.beat(right, 8.5, cluster=Nobody("", right))[1], [])  # one master alone is as long away as the plan says
        beat, lines = self.beat(right, 20.0, lambda kind, *_: kind == "etcd-stop")
        self.assertEqual((beat.longest, lines), (0.0, []))

    def test_a_change_that_fails(self):
        beat, lines = self.beat(lambda *_: (1, "no master leads"))
        self.assertIn("weft fs mkdir: no master leads", lines[0])
        self.assertEqual(beat.made, [])
        self.assertEqual(self.beat(lambda *_: (1, "the disk of the master is full"), happened=lambda kind, *_: kind == "master-full-disk")[1], [])

    def test_a_directory_that_was_made_and_is_not_there(self):
        cluster = self.two(lambda *_: (0, "", json.dumps([{"path": "/beats/1"}])))
        beat = Beat(cluster, Calm, lambda _: None)
        beat.made, beat.thread = ["/beats/1", "/beats/2"], unittest.mock.Mock()
        beat.end()
        self.assertIn("directories that were made are not there: ['/beats/2']", cluster.lines[0])


class Injecting(unittest.TestCase):
    """What several masters suffer."""

    def injected(self, *faults, leaders=None, served=math.inf):
        """What is done to a cluster whose leader is the next of `leaders`, and which has served a client last at that moment."""
        cluster = Leading.Two("", None)
        cluster.workers, done = ["w1", "w2"], []
        cluster.kill_daemon = lambda name: done.append(f"kill {name}")
        cluster.start_daemon = lambda name: done.append(f"start {name}")
        cluster.signal_daemon = lambda name, number: done.append(f"{number.name} {name}")
        cluster.network = types.SimpleNamespace(cut=lambda *words: done.append(f"cut {words}"), heal=lambda _: done.append("heal"))
        injector = Injector(cluster, Plan(1, 2, 2, 10, faults), lambda _: None)
        injector.served = served
        leaders = iter(leaders or ["m1"] * 10)
        injector.group.whole = lambda: next(leaders)
        injector.run()
        return injector, done, cluster.lines

    def test_targets_are_those_of_the_moment(self):
        faults = [Fault(number / 100, kind, target, 0.01, detail) for number, (kind, target, detail) in enumerate(
            [("master-kill", "leader", ""), ("master-stop", "leader", ""), ("standby-kill", "standby", ""), ("leader-cut", "leader", "standby in"),
             ("leader-cut", "leader", "workers out"), ("etcd-stop", "etcd", "")])]
        injector, done, lines = self.injected(*faults, leaders=["m1", "m2", None, "m2", "m1", "m2", "m1"])
        self.assertEqual(done, ["kill m1", "start m1", "SIGSTOP m2", "SIGCONT m2", "kill m1", "start m1", "cut ('m1', ['m2'], 'in')", "heal",
                                "cut ('m2', ['w1', 'w2'], 'out')", "heal", "SIGSTOP etcd", "SIGCONT etcd"])
        self.assertEqual((lines, injector.counts()["leader-cut"]), ([], 2))
        self.assertTrue(injector.happened("etcd-stop", 0, time.monotonic()))

    def test_masters_that_do_not_recover_are_noticed_and_left_alone(self):
        with unittest.mock.patch("faults.RECOVERED", 0):
            injector, done, lines = self.injected(Fault(0, "master-kill", "leader", 0), leaders=[None])
        self.assertIn("no master leads that another follows", lines[0])
        self.assertEqual((done, injector.counts()), ([], {}))

    def test_masters_suffer_again_when_they_have_served_a_client(self):
        two = [Fault(0, "master-kill", "leader", 0), Fault(0.01, "master-stop", "leader", 0)]
        with unittest.mock.patch("faults.RECOVERED", 0):
            injector, done, lines = self.injected(*two, served=0)
        self.assertEqual((done, len(lines)), (["kill m1", "start m1"], 1))
        with unittest.mock.patch("time.monotonic", side_effect=[100.0, 101.0]):
            Beat(Leading.Two("", lambda *_: (0, "")), injector, lambda _: None).step("/beats/1")
        self.assertEqual(injector.served, 101.0)

    def test_a_worker_dies_alone_when_no_other_master_can_take_over(self):
        fault = Fault(0, "both-kill", "w1", 0, "worker first")
        self.assertEqual(self.injected(fault, leaders=[None])[1], ["kill w1", "start w1"])
        both = self.injected(fault, leaders=["m2"])[1]
        self.assertEqual((both[:2], sorted(both[2:])), (["kill w1", "kill m2"], ["start m2", "start w1"]))


class References(unittest.TestCase):
    def test_small_ones(self):
        self.assertEqual(references.wordcount("a b a\n"), ["a\t2", "b\t1"])
        self.assertEqual(references.terasort("b" * 99 + "\n" + "a" * 99 + "\n"), "a" * 99 + "\n" + "b" * 99 + "\n")
        self.assertEqual(references.join("u1\tx\nu2\ty\n", "u2\tp\nu3\tq\nu2\tr\n"), ["u2\ty\tp", "u2\ty\tr"])
        self.assertEqual(references.sums({"a1": 1, "a2": 2, "b1": 5}), {"a": 3, "b": 5})


if __name__ == "__main__":
    unittest.main()
