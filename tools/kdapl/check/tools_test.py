#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test the scripts whose faults would hide a fault of the product: run_jobs.py, store.py, tap.py,
suites.py, contract.py, trends.py, mutate.py, run-guest and lab/run_in_vm.py. Also test make-dist
and copy-to-mainline.

  tools/kdapl/check/tools_test.py [CLASS[.TEST]...]

The runner is unittest, whose output goes to stderr. Prints one TAP result.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.append(str(HERE.parent / "mutate"))

from breakages import read_table  # noqa: E402 (in mutate)
import contract  # noqa: E402 (in this directory)
import fastpath  # noqa: E402
import jobs  # noqa: E402
from mutate_test import Breakages, Trials  # noqa: E402, F401
import run_jobs as runner  # noqa: E402
import store  # noqa: E402
import suites  # noqa: E402
import tap  # noqa: E402
import trends  # noqa: E402


def script(path):
    """Import a Python script of another directory."""
    spec = importlib.util.spec_from_file_location(path.parent.name + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


vm = script(HERE.parent / "lab/run_in_vm.py")


class Case(unittest.TestCase):
    """A test with a directory of its own."""
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()      # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        """Write a file below the directory, which can be executed."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path


# Lines of TAP, the numbers of passed, failed and skipped results, and the names of the failures
TAPS = {
    "leaf results count and sums do not": (
        "1..2|    1..2|    ok 1 - a|    ok 2 - b|ok 1 - sum|ok 2 - c", 3, 0, 0),
    "a failed sum of passed results counts": (
        "    1..1|    ok 1 - a|not ok 1 - sum", 1, 1, 0, "sum"),
    "a failed sum of a failure does not count": (
        "    # Subtest: s|    1..1|    not ok 1 - a|not ok 1 - sum", 0, 1, 0, "s: a"),
    "fewer results than planned": (
        "1..3|ok 1 - a|ok 2 - b", 2, 1, 0, "expected 3 results as planned, got 2"),
    "more results than planned": (
        "1..1|ok 1 - a|ok 2 - b", 2, 1, 0, "expected 1 results as planned, got 2"),
    "a subtest without a sum": (
        "    # Subtest: first|    1..2|    ok 1 - a|    # Subtest: second|    1..1|    ok 1 - b|"
        "ok 2 - second", 2, 1, 0, "first: expected 2 results as planned, got 1"),
    "a second plan": (
        "1..2|ok 1 - a|1..1|ok 1 - b", 2, 1, 0, "expected one plan, got a second one"),
    "a plan with SKIP": ("    1..0 # SKIP no such hardware|ok 1 - sum", 0, 0, 1),
    "a plan without tests": ("1..0", 0, 1, 0, "expected a plan with tests, got 1..0 without SKIP"),
    "skipped results": ("1..2|ok 1 - a # SKIP why|ok 2 # skip", 0, 0, 2),
    "a failure with SKIP is a failure": ("1..1|not ok 1 - a # SKIP why", 0, 1, 0, "a # SKIP why"),
    "comments before a failure are kept": (
        "# of a|ok 1 - a|# of b|not ok 2 - b", 1, 1, 0, "b\n    # of b"),
}


class Tap(Case):
    """tap.py"""

    def test_results(self):
        for name, (lines, passed, failed, skipped, *failures) in TAPS.items():
            with self.subTest(name):
                found = tap.Tap().read(lines.replace("|", "\n"))
                self.assertEqual((found.passed, found.failed, found.skipped, found.failures),
                                 (passed, failed, skipped, failures))


# Lines of TAP, clauses that passed, clauses that failed, failures without a clause
CLAIMS = {
    "a clause counts for its result": (
        "1..2|# clauses: C-01 S-02|ok 1 - a|ok 2 - b", "C-01 S-02", "", 0),
    "of a failure": ("1..1|# t: clauses: C-01|not ok 1 - a", "", "C-01", 0),
    "of a skip": ("1..1|# clauses: C-01|ok 1 - a # SKIP why", "", "", 0),
    "a failure before its clause is named": (
        "1..2|not ok 1 - a|# clauses: C-01|ok 2 - b", "C-01", "", 1),
    "a clause without a result": ("1..2|ok 1 - a|# clauses: C-01", "", "C-01", 1),
}


class Contract(Case):
    """contract.py"""

    def test_claims(self):
        for name, (lines, passed, failed, unnamed) in CLAIMS.items():
            with self.subTest(name):
                found = contract.Claims("job").read(lines.replace("|", "\n"))
                self.assertEqual((sorted(found.passed_by), sorted(found.failed_by),
                                  found.failed - found.with_clause),
                                 (passed.split(), failed.split(), unnamed))


SUITE = """
static struct kunit_case first_cases[] = {
	KUNIT_CASE(one),
	KUNIT_CASE_PARAM(two, two_gen_params),
	{}
};

static struct kunit_suite first_suite = {
	.name = "first",
	.init = first_init,
	.test_cases = first_cases,
};
kunit_test_suite(first_suite);
"""
CONSOLE = """\
[    0.500000] KTAP version 1
[    0.500001] 1..0
[    1.000000]     KTAP version 1
[    1.000001]     # Subtest: first
[    1.000002]     1..2
[    1.000003]     ok 1 one
[    1.000004]         KTAP version 1
[    1.000005]         # Subtest: two
[    1.000006]         ok 1 seven
[    1.000007]     ok 2 two
[    1.000008] # first: pass:2 fail:0 skip:0 total:2
[    1.000009] ok 1 first
"""


class Suites(Case):
    """suites.py"""

    def test_differences(self):
        other = SUITE.replace("first", "second")
        missing = "the suite is in the sources, but has not run"
        for console, source, expected in (
                (CONSOLE, SUITE, []),
                (CONSOLE, SUITE + other, [f"second: {missing}"]),
                (CONSOLE.replace("] ok 1 first", "]"), SUITE, [f"first: {missing}"]),
                (CONSOLE, SUITE.replace("one),", "one),\n\tKUNIT_CASE_SLOW(three),"), [
                    "first: expected the 3 cases of the sources, 2 have run; missing: three"]),
                (CONSOLE, other, [f"second: {missing}",
                                  "first: the suite has run, but is not in the sources"])):
            self.write("some_kunit.c", source)
            self.assertEqual(list(suites.differences(suites.wanted([self.folder]),
                                                     suites.ran(console))), expected)

    def test_those_of_the_sources_are_found(self):
        want = suites.wanted(suites.TESTS)
        text = "".join(path.read_text(encoding="utf-8") for folder in suites.TESTS
                       for path in folder.rglob("*.c"))
        self.assertEqual((len(want), sum(map(len, want.values()))),
                         (text.count("\nkunit_test_suite("), len(suites.CASE.findall(text))))


REPORTS = """
WARNING: CPU: 0 PID: 1 at kernel/workqueue.c:1 check_flush_dependency+0x1/0x2
BUG: sleeping function called from invalid context at mm/page_alloc.c:1
Oops: general protection fault, probably for non-canonical address 0x6b: 0000 [#1]
INFO: task kworker/0:1:12 blocked for more than 120 seconds.
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: rcu_preempt kthread starved for 5252 jiffies! g1 f0x0 RCU_GP_WAIT_FQS(5)
watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [kworker/1:1:12]
softirq: huh, entered softirq 3 NET_RX 00000000c0 with preempt_count 00000100, exited with 00000101?
workqueue: kdapl_evd_work [kdapl] hogged CPU for >1000000us 4 times, consider switching to WQ_UNBOUND
debugfs: Directory 'rxe0' with parent 'kdapl' already present!
debugfs: File 'eps' in directory 'kdapl' already present!
sysfs: cannot create duplicate filename '/devices/virtual/net/dummy0'
NOHZ tick-stop error: local softirq work is pending, handler #08!!!
infiniband rxe0: cm_destroy_id_wait_timeout: cm_id=0000000 timed out. state 2 -> 0, refcnt=1
cm_destroy_id_wait_timeout: cm_id=0000000 timed out. state 2 -> 0, refcnt=1
INFO: trying to register non-static key.
BUG: KCSAN: data-race in kdapl_one / kdapl_two
unregister_netdevice: waiting for dummy0 to become free. Usage count = 2
kmemleak: Cannot allocate a kmemleak_object structure
"""
HARMLESS = """
kmemleak: Cannot allocate a scan area for object 0xffff
virtme-ng-init: WARNING: something of the guest's own init
workqueue: drain_vmap_area_work hogged CPU for >1000000us 4 times, consider switching to WQ_UNBOUND
workqueue: rxe_do_task [rdma_rxe] hogged CPU for >1000000us 8 times, consider switching to WQ_UNBOUND
kdapl: loaded
rcu: Hierarchical RCU implementation.
NOHZ: Fixed
"""


class Vm(Case):
    """lab/run_in_vm.py: its filter for the console of a guest, and its wait for the guest."""

    def test_reports(self):
        for text, expected in ((REPORTS, True), (HARMLESS, False)):
            for line in text.strip().splitlines():
                with self.subTest(line):
                    self.assertEqual(bool(vm.is_report(f"[   12.345678] {line}")), expected)

    def test_a_bounded_wait_for_an_expired_rep_is_accepted(self):
        line = "[   1.0] cm_destroy_id_wait_timeout: cm_id=00f7 timed out. state 12 -> 0, refcnt=1"
        other, count = line.replace("12", "2"), line.replace("=1", "=2")
        most = [line] * vm.LATE_REP_LINES
        self.assertEqual(vm.drop_late_reps([*most, other]), [other])
        self.assertEqual(vm.drop_late_reps([*most, line]), [*most, line])
        self.assertEqual(vm.drop_late_reps([count]), [count])

    def test_races_are_attributed_by_their_stacks(self):
        def race(function):
            return ["=" * 66, "BUG: KCSAN: data-race in a / b", f" {function}+0x10/0x20", "=" * 66]
        others, ours, elsewhere = vm.split_races(
            [*race("kdapl_post [kdapl]"), "between", *race("rxe_post [rdma_rxe]")])
        self.assertEqual((len(ours), elsewhere, "between" in others), (3, 1, True))

    def waiting_guest(self, started, limit, lasts=60):
        """Did the boot fail, and did the command, of a guest that lasts this number of seconds?"""
        guest = object.__new__(vm.Guest)
        guest.started = self.folder / "started"
        guest.started.unlink(missing_ok=True)
        if started:
            guest.started.touch()
        guest.boot_limit, guest.limit = 0.1 if lasts else 60, limit
        guest.timed_out = guest.boot_failed = False
        guest.dump_state = lambda: None
        with subprocess.Popen(["sleep", str(lasts)], start_new_session=True) as guest.proc:
            guest.wait()
            guest.stop()
        return guest.boot_failed, guest.timed_out

    def test_only_a_guest_without_a_command_failed_during_its_boot(self):
        self.assertEqual(self.waiting_guest(started=False, limit=60), (True, True))
        self.assertEqual(self.waiting_guest(started=False, limit=60, lasts=0), (True, False))
        self.assertEqual(self.waiting_guest(started=True, limit=0.2), (False, True))
        self.assertEqual(self.waiting_guest(started=True, limit=60, lasts=0), (False, False))


# Runs the command of a guest on the host; it calls only functions of FAKE_LIB
FAKE_RUN = """#!/bin/bash
while [ $# -gt 1 ]; do
	[ "$1" != --dir ] || cd "$2"
	[ "$1" != --log ] || : >"$2"
	shift
done
exec bash -c "$1"
"""
FAKE_LIB = """
for name in kunit_off device_setup kdapl_load load_cpus stop_load hca_unload sanitizer_results; do
	eval "$name() { :; }"
done
kdapl_unload() { return UNLOAD; }
hca_innocent() { return FOUND; }
"""
# Lines of TAP from kdapl-loop, exit statuses of the unload and of the question whether the adapter
# model has found a fault, and that of run-guest
LOOPS = (("1..1|ok 1 - a", 0, 0, 0), ("1..1|ok 1 - a", 1, 0, 1), ("1..1|ok 1 - a", 0, 1, 1),
         ("1..1|not ok 1 - a", 0, 0, 1), ("1..2|ok 1 - a", 0, 0, 1), ("1..0", 0, 0, 1))


class Guest(Case):
    """run-guest"""

    def test_a_case_and_a_module_that_cannot_be_unloaded_fail(self):
        check = self.folder / "tools/kdapl/check"
        shutil.copytree(HERE, check)
        (check.parent / "lab").mkdir()
        shutil.copy(HERE.parent / "lab/compilers.sh", check.parent / "lab")
        (self.folder / "cache/kernels/some/lib/modules/1").mkdir(parents=True)
        for name in ("tests/rxe/wire.sh", "tools/kdapl/trace/latency.bt", "tools/datblk/datblkctl",
                     "tests/consumers/interop/interop.sh", "tests/consumers/conform/conform.sh",
                     "tests/consumers/stress/soak/soak.sh", "build/modules/1/kdapl.ko"):
            self.write(name, "")
        self.write("tools/kdapl/lab/run_in_vm.py", FAKE_RUN)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KDAPL_")}
        for lines, unload, found, status in LOOPS:
            self.write("tools/kdapl/loop/kdapl-loop", f"#!/bin/sh\necho '{lines}' | tr '|' '\\n'\n")
            self.write("tests/selftests/lib.sh", FAKE_LIB.replace("UNLOAD", str(unload)).replace(
                "FOUND", str(found)))
            done = subprocess.run([check / "run-guest", "some", "loop"], check=False,
                                  env=clean | {"KDAPL_CACHE": str(self.folder / "cache")},
                                  capture_output=True)
            self.assertEqual((lines, done.returncode), (lines, status), done.stderr)


def everything(condition):
    """Names of the jobs of check-all with verdicts for which a condition holds."""
    return {job.name for job in jobs.plan(["check-all"]) if job.inputs and condition(job)}


class Store(Case):
    """store.py"""

    def setUp(self):
        super().setUp()
        self.top, self.cache = self.folder / "tree", self.folder / "cache"
        for name in {path.lstrip("-") for paths in jobs.SOURCES.values() for path in paths}:
            self.write(f"tree/{name}" if "." in Path(name).name else f"tree/{name}/file.c", "old")
        for name in ("kernel", "debug"):
            self.write(f"tree/tools/kdapl/lab/{name}.config", "old")
        self.kernel = self.write("cache/kernels/stock-6.1/complete", "6.1.1")
        subprocess.run(["git", "init", "-q", self.top], check=True)
        subprocess.run(["git", "-C", self.top, "-c", "user.name=x", "-c", "user.email=x",
                        "commit", "-q", "--allow-empty", "-m", "x"], check=True)

    def keys(self):
        tree = store.Store(self.top, self.cache)
        return {job.name: tree.key(job) for job in jobs.plan(["check-all"]) if job.inputs}

    def stale_after(self, name, text="new"):
        """Names of the jobs that a changed file makes stale."""
        before = self.keys()
        self.write(name, text)
        return {name for name, key in self.keys().items() if key != before[name]}

    def test_a_change_makes_exactly_its_jobs_stale(self):
        def using(*names):
            return everything(lambda job: {*names, "tree"} & set(job.inputs))
        self.assertEqual(self.stale_after("tree/tests/consumers/interop/file.c"), using("interop"))
        self.assertEqual(self.stale_after("tree/drivers/infiniband/ulp/kdapl/tests/file.c"),
                         using("suites"))
        self.assertEqual(self.stale_after("tree/tools/kdapl/check/run-two-guests/file.c"),
                         using("wire"))
        self.assertEqual(self.stale_after("tree/tools/kdapl/lab/debug.config"), everything(
            lambda job: job.kernel == "own-6.12-debug" or "tree" in job.inputs))
        self.assertEqual(self.stale_after("tree/tests/selftests/datblk_swap.sh"), everything(
            lambda job: "datblk_swap" in str(job.command) or
            {"tree", jobs.TESTS} & set(job.inputs)))
        self.assertEqual(self.stale_after("cache/kernels/stock-6.1/complete", "6.1.2"),
                         everything(lambda job: job.kernel == "stock-6.1"))

    def test_a_job_depends_on_the_configuration_of_its_kernel(self):
        for kernel in sorted({job.kernel for job in jobs.plan(["check-all"])}):
            with self.subTest(kernel):
                done = subprocess.run(
                    ["bash", "-c", 'HERE=$1; . "$1/kernels.sh"; fragments "$2"', "bash",
                     jobs.LAB, kernel], cwd=TOP, check=True, text=True, capture_output=True)
                own = kernel.startswith("own-")
                self.assertEqual(list(jobs.kernel_files(kernel)), done.stdout.split() * own)
                self.assertTrue(all((TOP / name).is_file() for name in jobs.kernel_files(kernel)))

    def test_a_job_depends_on_what_its_modules_include(self):
        for job in jobs.plan(["check-all"]):
            paths = {path for name in job.inputs for path in jobs.files(name)}
            for path in paths - {"."}:
                makefile = TOP / path / "Makefile"
                text = makefile.read_text("utf-8") if makefile.is_file() else ""
                for up in set(re.findall(r"\$\(src\)/((?:\.\./)+lib)", text)):
                    with self.subTest(job=job.name, folder=path):
                        self.assertIn(os.path.normpath(f"{path}/{up}"), paths)

    def test_a_verdict_holds_for_its_tree(self):
        job = next(job for job in jobs.plan(["check-kernels"]) if job.name == "interop-stock-6.1")
        job.took = job.cpu = 1
        tree, good = store.Store(self.top, self.cache), tap.Tap().read("ok 1 - a")
        self.assertIsNone(tree.load(job))
        tree.save(job, tree.key(job), good, "")
        self.assertTrue(tree.load(job).current)
        self.write("tree/tests/consumers/interop/file.c", "new")
        self.assertFalse(store.Store(self.top, self.cache).load(job).current)
        # A run during which the tree changes gives no verdict
        tree.save(job, tree.key(job), good, "")
        self.assertFalse(store.Store(self.top, self.cache).load(job).current)

    def test_red_jobs_come_first_then_the_longest(self):
        tree, todo = store.Store(self.top, self.cache), jobs.blk()[1:3] + [jobs.soak()[1]]
        for job, took, text in zip(todo, (1, 2, 3), ("not ok 1 - a", "ok 1 - a", "ok 1 - a")):
            job.took, job.cpu = took, 1
            tree.save(job, tree.key(job), tap.Tap().read(text), "")
        self.assertEqual([job.name for job in store.order(tree, todo)],
                         [todo[0].name, todo[2].name, todo[1].name])

    def test_check_all_runs_each_job_that_has_no_verdict(self):
        tree = store.Store(self.top, self.cache)
        with redirect_stdout(None):
            chosen = runner.chosen(["check-all"], tree)
        self.assertCountEqual(chosen, jobs.plan(["check-all"]))

    def test_the_table_of_check_hca_has_a_cell_for_each_job(self):
        tree, todo = store.Store(self.top, self.cache), [job for job in jobs.hca() if job.cell]
        verdicts = {("loop", "mlx5"): "ok 1 - a|ok 2 - b",
                    ("ledger", "mlx5"): "not ok 1 - a|ok 2 - b"}
        for job in todo:
            if job.cell in verdicts:
                job.took = job.cpu = 1
                text = verdicts[job.cell].replace("|", "\n")
                tree.save(job, tree.key(job), tap.Tap().read(text), text)
        lines = store.cells(tree, todo)
        rows = {line[:16].strip(): re.split("  +", line[16:]) for line in lines[:-1]}
        self.assertEqual(rows[""], list(jobs.HCA))
        self.assertEqual(rows["loop"][:3], ["not run", "ok 2", "not run"])
        self.assertEqual(rows["ledger"][:3], ["not run", "1 failed", "not run"])
        self.assertEqual(rows["conform"][:2], ["not run", "-"])
        self.assertEqual(lines[-1], f"of {len(todo)} cells 1 ok, 1 failed, {len(todo) - 2} not run")


class Runner(Case):
    """run_jobs.py"""

    def sums(self, *todo, limit=1):
        runner.LOGS = self.folder
        tree = type("Tree", (), {"key": lambda *_: "", "save": lambda *_: None})()
        with open(os.devnull, "w", encoding="ascii") as null, redirect_stdout(null):
            total = runner.run_jobs(todo, tree, limit)
        return total.passed, total.failed, total.skipped

    def job(self, name, script, *needs, **more):
        return jobs.Job(name, ["sh", "-c", script], "", needs, **more)

    def test_sums(self):
        good = self.job("good", "echo ok 1 - a")
        bad = self.job("bad", "echo not ok 1 - a; exit 1")
        self.assertEqual(self.sums(good, bad), (1, 1, 0))
        self.assertEqual(self.sums(bad, self.job("needs", "echo ok 1 - a", "bad")), (0, 2, 0))
        self.assertEqual(self.sums(self.job("none", ":")), (0, 1, 0))
        self.assertEqual(self.sums(self.job("status", "echo ok 1 - a; exit 3")), (1, 1, 0))
        self.assertEqual(self.sums(self.job("step", ":", step=True)), (0, 0, 0))
        self.assertEqual(self.sums(self.job("no product", "echo ok 1 - a", product=False)),
                         (0, 0, 0))

    def test_what_hangs_is_ended_and_has_failed(self):
        hangs = self.job("hangs", "sleep 600; echo ok 1 - a", minutes=0.01)
        self.assertEqual(self.sums(hangs, self.job("good", "echo ok 1 - a")), (1, 1, 0))
        slow, waits = (self.job("slow", "sleep 600"), self.job("waits", "echo ok 1 - a", "slow"))
        self.assertEqual(self.sums(slow, waits, limit=0.01), (0, 2, 0))


class Mutations(Case):
    """tests/mutations"""

    def test_each_file_of_the_path_has_breakages(self):
        broken = {hunk.file for mutation in read_table() for hunk in mutation.hunks}
        self.assertEqual([name for name in fastpath.FILES if not (TOP / name).exists()], [])
        self.assertEqual({f"{fastpath.FOLDER}/{name}.c" for name in fastpath.OBJECTS} - broken,
                         set())


def soak_rows(rounds=40, noise=300, **growth):
    """Samples of a long run whose columns grow by these amounts for each round, with noise
    that has no trend."""
    rows = []
    for number in range(rounds):
        wave = noise * ((number * 7919) % 13 - 6) / 6
        row = {"round": str(number), "seconds": str(20 * number)}
        for column in trends.LIMITS:
            quiet = column in ("objects", "slots", "percpu_kib", "vmalloc_kib")
            row[column] = str(100000 + number * growth.get(column, 0) + wave * (not quiet))
        rows.append(row)
    return rows


class Trends(Case):
    """trends.py"""

    def test_growth(self):
        for growth, expected in (
                ({}, []), ({"kmalloc_bytes": 4096}, ["kmalloc_bytes"]),
                ({"objects": 0.1}, ["objects"]), ({"used_kib": -1000}, []),
                ({"used_kib": 60, "vmalloc_kib": 0.4}, []),
                ({"noise": 100000, "kmalloc_bytes": 2000}, [])):
            with self.subTest(growth):
                self.assertEqual([entry[0] for entry in trends.evaluate(soak_rows(**growth))
                                  if entry[-1]], expected)

    def test_few_rounds_and_missing_columns_fail(self):
        self.assertRaises(ValueError, list, trends.evaluate(soak_rows(rounds=9)))
        path = self.write("samples.csv", "round,seconds\n" + "1,1\n" * 20)
        done = subprocess.run([HERE / "trends.py", path], check=False, text=True,
                              stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1][:6]), (1, "not ok"))


class Dist(Case):
    """package/make-dist"""

    def git(self, *words):
        subprocess.run(["git", "-C", self.folder, "-c", "user.name=x", "-c", "user.email=x",
                        *words], check=True, capture_output=True)

    def dist(self):
        """The tarball's bytes, and the text of a file in it."""
        done = subprocess.run([self.folder / "tools/kdapl/package/make-dist"], check=True,
                              text=True, capture_output=True)
        self.assertEqual(done.stdout, "build/kdapl-1.2.tar.gz\n")
        path = self.folder / done.stdout.strip()
        with tarfile.open(path) as archive:
            with archive.extractfile("kdapl-1.2/file.c") as file:
                return path.read_bytes(), file.read().decode()

    def test_a_commit_has_one_tarball(self):
        for name in ("check/env.sh", "lab/compilers.sh", "package/make-dist"):
            self.write(f"tools/kdapl/{name}", (HERE.parent / name).read_text(encoding="utf-8"))
        self.write("drivers/infiniband/ulp/kdapl/module/main.c", 'MODULE_VERSION("1.2");\n')
        self.write("file.c", "old")
        self.write(".gitignore", "/build/\n*.o\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        first = self.dist()
        self.assertEqual(first[1], "old")
        self.write("file.o", "ignored")
        os.utime(self.write("file.c", "old"), (1, 1))
        self.assertEqual(self.dist(), first)
        self.write("file.c", "new")
        self.assertEqual(self.dist()[1], "new")
        self.write("file.c", "old")
        self.assertEqual(self.dist(), first)


KERNEL_TREE = {
    "drivers/infiniband/Kconfig": 'source "drivers/infiniband/ulp/ipoib/Kconfig"\n',
    "drivers/infiniband/ulp/Makefile": "obj-$(CONFIG_INFINIBAND_IPOIB) += ipoib/\n",
    "Documentation/infiniband/index.rst": ".. toctree::\n   :maxdepth: 1\n\n   ipoib\n",
    "drivers/block/Kconfig": 'if BLK_DEV\n\nsource "drivers/block/null_blk/Kconfig"\n\nendif\n',
    "drivers/block/Makefile": "obj-$(CONFIG_BLK_DEV_LOOP)\t+= loop.o\n",
    "Documentation/block/index.rst": ".. toctree::\n\n   data-integrity\n   ioprio\n",
    "Documentation/ABI/testing/other": "",
    "include/other": "",
    "samples/Kconfig": "if SAMPLES\n\nendif # SAMPLES\n",
    "samples/Makefile": "",
    "MAINTAINERS": "Maintainers List\n----------------\n\nDAMON\nF:\td\n\nDAVICOM\nF:\te\n\n"
                   "LPC\nF:\tl\n\nKCSAN\nF:\tc\n\nKDUMP\nF:\td\n\nLAST\nF:\tx\n",
}
# What a copied page must not name: other pages that were left out, and files of this repository
OUT_OF_TREE = re.compile(r"kdapl-(install|testing)\b|tools/(kdapl|datblk)|datblkctl|"
                         r"\btests/|``make |KDIR|(?<!ulp/kdapl/)(?<!block/datblk/)README|"
                         r"CHANGELOG|CONTRIBUTING|Out of tree")


class CopyToMainline(Case):
    """copy-to-mainline"""

    def copy(self):
        """The texts of the tree after a copy."""
        subprocess.run([HERE.parent / "upstream/copy-to-mainline", self.folder], check=True)
        return {str(path.relative_to(self.folder)): path.read_text(encoding="utf-8")
                for path in self.folder.rglob("*") if path.is_file()}

    def test_a_tree_gets_kdapl_and_datblk_once(self):
        for name, text in KERNEL_TREE.items():
            self.write(name, text)
        texts = self.copy()
        self.assertEqual(self.copy(), texts)
        self.assertEqual({name for name in KERNEL_TREE
                          if "kdapl" not in texts[name] and "datblk" not in texts[name]},
                         {"include/other", "Documentation/ABI/testing/other"})
        self.assertEqual(re.findall(r"\n\n(\w+).*\n[MF]:", texts["MAINTAINERS"]),
                         ["DAMON", "DATBLK", "DAVICOM", "LPC", "KCSAN", "KDAPL", "KDUMP", "LAST"])
        abi = {f"Documentation/ABI/testing/{path.name}"
               for path in (TOP / "Documentation/ABI/testing").iterdir()}
        self.assertLess({"samples/kdapl/tutorial.h", "include/dat/kdat.h", *abi}, set(texts))
        self.assertEqual([name for name in texts if "compat" in name], [])
        # The entries of MAINTAINERS cover all files that the tree gets
        entries = re.findall(r"^F:\t(\S+)", texts["MAINTAINERS"], re.M)
        self.assertEqual([name for name in texts if name not in KERNEL_TREE and not any(
            name.startswith(entry) if entry.endswith("/") else Path(name).match(entry)
            for entry in entries)], [])
        pages = {Path(name).name: text for name, text in texts.items()
                 if re.fullmatch(r"Documentation/.*/(kdapl|datblk).*\.rst", name)}
        self.assertGreater(len(pages), 11)
        self.assertNotRegex(texts["drivers/block/datblk/Makefile"], "compat|Out of tree")
        for name, text in pages.items():
            found = [match[0] for match in OUT_OF_TREE.finditer(text)]
            self.assertEqual((name, found), (name, []))
            self.assertEqual((name, set(re.findall(r"\bkdapl-[a-z-]+\.rst", text)) - set(pages)),
                             (name, set()))


if __name__ == "__main__":
    RESULT = unittest.main(exit=False).result
    GOOD = RESULT.wasSuccessful() and RESULT.testsRun
    print(f"1..1\n{'ok' if GOOD else 'not ok'} 1 - the tests of the tools, {RESULT.testsRun} in all")
    sys.exit(not GOOD)
