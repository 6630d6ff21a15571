#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test the scripts that evaluate tests: tap.py, suites.py, contract, vm/run.py, guest,
mutate, coverage, trends, commits, header-docs, version, copy-to-mainline, man-pages, grid.py,
matrix.py and perf/consistent.py.

Prints TAP.

  tools/kdapl/check/tools_test.py
"""

import copy
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True
import breakages  # noqa: E402 (in this folder)
import grid  # noqa: E402
import matrix  # noqa: E402
import mutate  # noqa: E402
import suites  # noqa: E402
import tap  # noqa: E402
import trials  # noqa: E402

HERE = Path(__file__).resolve().parent


def script(path):
    """Import a Python script that lacks the suffix."""
    loader = importlib.machinery.SourceFileLoader(path.name + "_script", str(path))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


commits = script(HERE / "commits.py")
contract = script(HERE / "contract.py")
consistent = script(HERE.parent / "perf/consistent.py")
coverage = script(HERE / "coverage.py")
header_docs = script(HERE / "header_docs.py")
trends = script(HERE / "trends.py")
vm = script(HERE.parent / "vm/run.py")


def equal(got, want):
    if got != want:
        raise AssertionError(f"expected {want!r}, got {got!r}")


def counts(*lines):
    """Numbers of passed, failed and skipped results, and the first lines of the failures."""
    result = tap.Tap().read("\n".join(lines))
    return (result.passed, result.failed, result.skipped,
            [failure.splitlines()[0] for failure in result.failures])


# ---- tap.py -----------------------------------------------------------------


def leaf_results_count_and_sums_do_not():
    equal(counts("1..2", "    1..2", "    ok 1 - a", "    ok 2 - b", "ok 1 - sum",
                 "ok 2 - c"), (3, 0, 0, []))


def a_failed_sum_of_passed_results_counts():
    equal(counts("    1..1", "    ok 1 - a", "not ok 1 - sum"), (1, 1, 0, ["sum"]))


def a_failed_sum_of_a_failure_does_not_count():
    equal(counts("    # Subtest: s", "    1..1", "    not ok 1 - a", "not ok 1 - sum"),
          (0, 1, 0, ["s: a"]))


def fewer_results_than_planned():
    equal(counts("1..3", "ok 1 - a", "ok 2 - b"),
          (2, 1, 0, ["expected 3 results as planned, got 2"]))


def more_results_than_planned():
    equal(counts("1..1", "ok 1 - a", "ok 2 - b")[1], 1)


def a_subtest_without_a_sum():
    equal(counts("    # Subtest: first", "    1..2", "    ok 1 - a",
                 "    # Subtest: second", "    1..1", "    ok 1 - b", "ok 2 - second"),
          (2, 1, 0, ["first: expected 2 results as planned, got 1"]))


def a_second_plan():
    equal(counts("1..2", "ok 1 - a", "1..1", "ok 1 - b")[1], 1)


def a_plan_with_skip():
    equal(counts("    1..0 # SKIP no such hardware", "ok 1 - sum"), (0, 0, 1, []))


def a_plan_without_tests():
    equal(counts("1..0"), (0, 1, 0, ["expected a plan with tests, got 1..0 without SKIP"]))


def skipped_results():
    equal(counts("1..2", "ok 1 - a # SKIP why", "ok 2 # skip"), (0, 0, 2, []))


def a_failure_with_skip_is_a_failure():
    equal(counts("1..1", "not ok 1 - a # SKIP why")[:3], (0, 1, 0))


def comments_before_a_failure_are_kept():
    result = tap.Tap().read("# of a\nok 1 - a\n# of b\nnot ok 2 - b")
    equal(result.failures, ["b\n    # of b"])


def results_of_kdapl_loop_as_tap():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "json")
        Path(path).write_text('{"cases": [{"name": "a", "result": "pass"}, '
                              '{"name": "b", "result": "fail", "notes": ["why"]}]}',
                              encoding="utf-8")
        read, write = os.pipe()
        out = os.dup(1)
        sys.stdout.flush()
        os.dup2(write, 1)
        try:
            tap.from_json(path)
            sys.stdout.flush()
        finally:
            os.dup2(out, 1)
            os.close(out)
            os.close(write)
        with open(read, encoding="utf-8") as file:
            equal(counts(*file.read().splitlines()), (1, 1, 0, ["b"]))


# ---- suites.py ----------------------------------------------------------------

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
SECOND = SUITE.replace("first", "second")
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


def differences(console, *sources):
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(sources):
            (Path(folder) / f"{number}_kunit.c").write_text(text, encoding="utf-8")
        return list(suites.differences(suites.wanted(Path(folder)), suites.ran(console)))


def every_suite_has_run():
    equal(differences(CONSOLE, SUITE), [])


def a_suite_that_has_not_run():
    equal(differences(CONSOLE, SUITE, SECOND), ["second: the suite is in the sources, but has not run"])


def a_suite_without_a_result():
    equal(differences(CONSOLE.replace("] ok 1 first", "]"), SUITE),
          ["first: the suite is in the sources, but has not run"])


def a_case_that_has_not_run():
    equal(differences(CONSOLE, SUITE.replace("one),", "one),\n\tKUNIT_CASE_SLOW(three),")),
          ["first: expected the 3 cases of the sources, 2 have run; missing: three"])


def a_suite_that_is_not_in_the_sources():
    equal(differences(CONSOLE, SECOND),
          ["second: the suite is in the sources, but has not run",
           "first: the suite has run, but is not in the sources"])


def all_suites_of_the_sources_are_found():
    want = suites.wanted(suites.TESTS)
    text = "".join(path.read_text(encoding="utf-8") for path in suites.TESTS.glob("*.c"))
    equal(len(want), text.count("\nkunit_test_suite("))
    equal(sum(map(len, want.values())), len(suites.CASE.findall(text)))


# ---- contract -------------------------------------------------------------------


def claims(*lines):
    """Clauses that passed, clauses that failed, and the number of failures without a clause."""
    found = contract.Claims("job")
    found.read("\n".join(lines))
    return (sorted(found.passed_by), sorted(found.failed_by), found.failed - found.with_clause)


def a_clause_counts_for_its_result():
    equal(claims("1..2", "# clauses: C-01 S-02", "ok 1 - a", "ok 2 - b"),
          (["C-01", "S-02"], [], 0))


def a_clause_of_a_failure():
    equal(claims("1..1", "# t: clauses: C-01", "not ok 1 - a"), ([], ["C-01"], 0))


def a_clause_of_a_skip():
    equal(claims("1..1", "# clauses: C-01", "ok 1 - a # SKIP why"), ([], [], 0))


def a_failure_before_its_clause_is_named():
    equal(claims("1..2", "not ok 1 - a", "# clauses: C-01", "ok 2 - b"), (["C-01"], [], 1))


def a_clause_without_a_result():
    equal(claims("1..2", "ok 1 - a", "# clauses: C-01"), ([], ["C-01"], 1))


# ---- the time stamp counter of guests -------------------------------------------------------------

def two_measurements_of_the_tsc_rate_agree():
    first, second = vm.tsc_khz(), vm.tsc_khz()
    assert (first > 0) == (os.uname().machine == "x86_64"), first
    assert abs(first - second) * 1000 <= first, (first, second)


# ---- the console filter of vm/run.py -----------------------------------------------

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


def reports_are_found():
    equal([line for line in REPORTS.strip().splitlines()
           if not vm.is_report(f"[   12.345678] {line}")], [])


def other_lines_are_not_reports():
    equal([line for line in HARMLESS.strip().splitlines()
           if vm.is_report(f"[   12.345678] {line}")], [])


def a_bounded_wait_for_an_expired_rep_is_accepted():
    line = "[   1.0] cm_destroy_id_wait_timeout: cm_id=00f7 timed out. state 12 -> 0, refcnt=1"
    other = line.replace("12", "2")
    most = [line] * vm.LATE_REP_LINES
    equal(vm.drop_late_reps([*most, other]), [other])
    equal(vm.drop_late_reps([*most, line]), [*most, line])
    equal(vm.drop_late_reps([line.replace("=1", "=2")]), [line.replace("=1", "=2")])


def race(function):
    return ["=" * 66, "BUG: KCSAN: data-race in a / b", f" {function}+0x10/0x20", "=" * 66]


def waiting_guest(started, limit, lasts=60):
    """A guest that lasts this number of seconds, after its wait."""
    guest = object.__new__(vm.Guest)
    with tempfile.TemporaryDirectory() as box:
        guest.started = Path(box) / "started"
        if started:
            guest.started.touch()
        guest.boot_limit, guest.limit = 0.1 if lasts else 60, limit
        guest.timed_out = guest.boot_failed = False
        guest.dump_state = lambda: None
        with subprocess.Popen(["sleep", str(lasts)], start_new_session=True) as guest.proc:
            guest.wait()
            guest.stop()
    return guest.boot_failed, guest.timed_out


def only_a_guest_without_a_command_failed_during_its_boot():
    equal(waiting_guest(started=False, limit=60), (True, True))
    equal(waiting_guest(started=False, limit=60, lasts=0), (True, False))
    equal(waiting_guest(started=True, limit=0.2), (False, True))
    equal(waiting_guest(started=True, limit=60, lasts=0), (False, False))


def races_are_attributed_by_their_stacks():
    others, ours, elsewhere = vm.split_races(
        [*race("kdapl_post [kdapl]").copy(), "between", *race("rxe_post [rdma_rxe]")])
    equal((len(ours), elsewhere, "between" in others), (3, 1, True))


def the_rates_of_the_clock_and_of_delays_are_set():
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "vmlinuz-1"
        equal(vm.tsc_args(image, 0), [])
        equal(vm.tsc_args(image, 2300000), ["tsc_early_khz=2300000"])
        (Path(folder) / "config-1").write_text("CONFIG_HZ_250=y\nCONFIG_HZ=250\n",
                                               encoding="utf-8")
        equal(vm.tsc_args(image, 2300000), ["tsc_early_khz=2300000", "lpj=9200000"])


def the_limit_for_work_items_is_set():
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "vmlinuz-1"
        equal(vm.hog_args(image), [])
        (Path(folder) / "config-1").write_text("CONFIG_WQ_CPU_INTENSIVE_REPORT=y\n",
                                               encoding="utf-8")
        equal(vm.hog_args(image), [f"workqueue.cpu_intensive_thresh_us="
                                   f"{int(vm.HOG_US * vm.stretch())}"])


# ---- guest ----------------------------------------------------------------------

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
for name in kunit_off rxe_setup kdapl_load load_cpus stop_load sanitizer_results; do
	eval "$name() { :; }"
done
kdapl_unload() { return UNLOAD; }
"""
FAKE_LOOP = """#!/bin/bash
echo 1..1
echo "ok 1 - a case"
"""


def run_guest(unload):
    """Exit status of guest for a loopback in which kdapl_unload returns this status."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        shutil.copytree(HERE, top / "tools/kdapl/check")
        shutil.copy(HERE.parent / "cross.sh", top / "tools/kdapl")
        (top / "cache/kernels/some/lib/modules/1").mkdir(parents=True)
        for path, text in (("tools/kdapl/vm/run.py", FAKE_RUN),
                           ("tests/selftests/lib.sh", FAKE_LIB.replace("UNLOAD", str(unload))),
                           ("tools/kdapl/perf/consistent.py", ""),
                           ("tools/kdapl/trace/latency.bt", ""),
                           ("tests/interop/interop.sh", ""),
                           ("tests/conform/conform.sh", ""),
                           ("tests/stress/soak/soak.sh", ""),
                           ("build/1/drivers/none", ""), ("build/1/tests/none", ""),
                           ("build/1/tests/examples/none", ""),
                           ("build/1/tools/kdapl/kdapl-loop", FAKE_LOOP)):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding="ascii")
            (top / path).chmod(0o755)
        return subprocess.run(
            [top / "tools/kdapl/check/guest", "some", "loop"], check=False,
            env={name: value for name, value in os.environ.items()
                 if not name.startswith("KDAPL_")} | {"KDAPL_CACHE": str(top / "cache")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def a_loopback_that_unloads():
    equal(run_guest(0), 0)


def a_loopback_that_does_not_unload():
    equal(run_guest(1), 1)


# ---- mutate ---------------------------------------------------------------------

FILE = f"{breakages.MODULE}/post/post.c"
SOURCE = """
int check(int n);

int other(int n)
{
	return n > 3;
}

int check(int n)
{
	return n > 3;
}
"""
RECORD = f"""name: {{0}}
breaks: a check
file: {FILE}
in: check
-	return n > 3;
+	return n > 4;
"""


def breakage(name="a"):
    return breakages.parse(RECORD.format(name))[0]


def a_breakage_changes_its_function_only():
    hunk = breakage().hunks[0]
    equal(hunk.replace(SOURCE), "n > 4".join(SOURCE.rsplit("n > 3", 1)))
    hunk.function = ""
    try:
        hunk.replace(SOURCE)
    except breakages.Refused as reason:
        equal(str(reason), f"expected once in {FILE}, found 2 times: return n > 3;")
    else:
        raise AssertionError("expected an ambiguous breakage to be refused")


def breakages_of_functions_that_have_changed():
    head, tail = SOURCE.split("int other")
    versions = {"none": SOURCE, "another function": SOURCE.replace("n > 3", "n > 2", 1),
                "a line before": f"{head}\nint more;\nint other{tail}",
                "the function": "n > 2".join(SOURCE.rsplit("n > 3", 1)),
                "no such function": head}
    hunk = breakage().hunks[0]
    equal([name for name, text in versions.items() if hunk.differs(text, SOURCE)],
          ["the function", "no such function"])
    hunk.function = ""
    equal([hunk.differs(text, SOURCE) for text in (SOURCE, head)], [False, True])


def suites_that_share_words_with_a_breakage_run_first():
    have = {"kdapl_pool": ["one"], "kdapl_post": ["checks"], "kdapl_event": ["two"]}
    equal(trials.suites_for(breakage(), have)[0], "kdapl_post")


BEGIN, END = "mutant {0} begins\n", "mutant {0} ends\n"
FINE = BEGIN + "    # Subtest: kdapl_a\n    ok 1 one\nok 1 kdapl_a\n" + END
RED = BEGIN + "# one: EXPECTATION FAILED at\nnot ok 1 kdapl_a\n"
HUNG = BEGIN + "INFO: task insmod:34 blocked for more than 122 seconds.\n"


def judged(status, *parts):
    """The verdicts on breakages a, b, c whose guest has this exit status and console."""
    text = "".join(part.format("abc"[i]) for i, part in enumerate(parts))
    return [(m.name, verdict, reason) for m, verdict, reason in trials.kunit_verdicts(
        [breakage(name) for name in "abc"], {"kdapl_a": ["one"]}, text, status)]


A_FINE, A_RED = ("a", "survived", ""), ("a", "caught", "one")


def verdicts_of_modules_in_one_guest():
    equal(judged(0, FINE, RED + END, FINE),
          [A_FINE, ("b", "caught", "one"), ("c", "survived", "")])
    equal(judged(0, BEGIN + END), [("a", "not decided", "not every case has run")])
    equal(judged(1, BEGIN), [("a", "caught", "status 1")])


def a_time_limit_of_the_host_is_no_verdict():
    equal(judged(124, FINE, BEGIN), [A_FINE, ("b", "not decided", "time limit")])
    equal(judged(124, HUNG)[0][1], "not decided")
    equal(judged(98, BEGIN), [("a", "not decided", "the guest died")])
    equal(judged(124, FINE, RED), [A_FINE, ("b", "caught", "one")])


def a_hang_that_the_kernel_reports_is_caught():
    equal(judged(97, HUNG),
          [("a", "caught", "INFO: task insmod:34 blocked for more than 122 seconds.")])


def a_crash_after_a_failure_is_tried_again():
    equal(judged(97, RED + END, HUNG), [A_RED])
    equal(judged(97, "BUG: before the first"), [])


def a_guest_that_does_not_boot_is_counted():
    said, run = [], trials.run
    with tempfile.TemporaryDirectory() as folder:
        trial = trials.Trials.__new__(trials.Trials)
        trial.home = trial.boxes = trial.built = trial.kernel = trial.root = Path(folder).resolve()
        trial.say, trial.again = said.append, 0
        try:
            trials.run = lambda *_: ("", 124)
            trial.boot(["a"], "", [])
        except breakages.Refused:
            equal((trial.again, said[0]), (3, "# guest ended before a, status 124"))
        else:
            raise AssertionError("expected an error after three guests")
        finally:
            trials.run = run


def verdicts_are_kept_and_those_not_decided_tried_again():
    real, trials.Trials = trials.Trials, type("Trials", (), {"__init__": lambda *_: None,
                                                             "version": lambda _: "v"})
    try:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            first = mutate.Run(Path(folder), io.StringIO())
            for name, verdict in zip("abc", ("caught", "not decided", "survived")):
                first.settle(breakage(name), verdict, "one")
            again = mutate.Run(Path(folder), io.StringIO())
            equal([key[0] for key in again.results], ["a", "c"])
    finally:
        trials.Trials = real


# ---- man-pages --------------------------------------------------------------

MAN = script(HERE.parent / "docs" / "man_pages.py")
KERNEL_DOC = r""".TH "dat_x" 9 "dat_x" "May 2026" "Kernel Hacker's Manual" LINUX
.SH NAME
dat_x \- do it
.SH SYNOPSIS
.B "DAT_RETURN" dat_x
.BI "(DAT_EP_HANDLE ep "  ","
.BI "DAT_COUNT *list[] "  ");"
.SH "RETURN"


* DAT_SUCCESS
* DAT_INVALID_HANDLE - no EP, or one
of ``\fI\fP<another>`` IA

The rest.
"""


def man_page(text=KERNEL_DOC):
    name, text = MAN.page(text, "2026-05-01")
    equal(name, "dat_x")
    return text.splitlines()


def a_manual_page_has_the_prototype():
    text = man_page()
    equal(text[:1], ['.TH DAT_X 9 2026-05-01 "kDAPL 2.0" "kDAPL calls"'])
    equal(text[text.index(".SH SYNOPSIS") + 1:text.index(".SH RETURN")],
          [".nf", ".B #include <dat/kdat.h>", ".PP",
           '.BI "DAT_RETURN dat_x(DAT_EP_HANDLE " ep ,',
           '.BI "                 DAT_COUNT *" list[] );', ".fi"])


def each_return_value_has_a_paragraph():
    text = man_page()
    equal(text[text.index(".SH RETURN") + 1:text.index(".SH SEE ALSO")],
          [".TP", r"\fBDAT_SUCCESS\fP", ".TP", r"\fBDAT_INVALID_HANDLE\fP",
           "no EP, or one", r"of \fB@<another>\fP IA", ".PP", "The rest."])


def an_exported_call_without_a_manual_page():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "dat_x.9").touch()
        found = {Path("x.c"): ["dat_x"], Path("y.c"): ["dat_y"]}
        equal(list(MAN.missing(found, Path(folder))),
              ["y.c: dat_y is exported, but has no manual page"])


# ---- coverage ---------------------------------------------------------------

PAGE = """
post.c: dat_a()
---------------

::

\tfirst();
\tsecond();

Both for
one reason.

::

\tthird();

Now and then a race is lost.
"""
A, B, C = (("post.c", "dat_a", text) for text in ("first();", "second();", "third();"))


def compared(missed, page=PAGE):
    """Numbers of lines without an explanation, and of explanations without a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page"
        path.write_text(page, encoding="ascii")
        return tuple(map(len, coverage.compare(missed, coverage.explained(path))))


def the_function_of_a_line_is_found():
    text = ["static int a(int x)", "{", "\tb(x);", "}", "EXPORT_SYMBOL_GPL(a);", "",
            "static struct c *", "d(int x,", "  int y)", "{", "out:", "\treturn NULL;"]
    equal([coverage.function_of(text, number) for number in (1, 3, 9, 12)],
          ["a", "a", "d", "d"])


def one_explanation_for_several_lines():
    equal(compared({A: [1], B: [2], C: [3]}), (0, 0))


def a_line_without_an_explanation():
    equal(compared({A: [1], B: [2], ("post.c", "dat_b", "first();"): [9]}), (1, 0))
    equal(compared({A: [1, 5], B: [2]}), (1, 0))


def an_explanation_without_a_reason():
    equal(compared({A: [1]}, "post.c: dat_a()\n---\n\n::\n\n\tfirst();\n"), (1, 0))


def an_explanation_for_a_line_that_is_reached():
    equal(compared({A: [1], C: [3]}), (0, 1))


def an_explanation_for_a_line_that_some_runs_reach():
    equal(compared({A: [1], B: [2]}), (0, 0))


def counts_of_guests_are_added():
    def unit(count, *branches):
        return {"files": [{"file": "/copy/drivers/infiniband/ulp/kdapl/post/post.c", "lines": [
            {"line_number": 7, "function_name": "dat_a", "count": count,
             "branches": [{"count": branch} for branch in branches]}]},
                          {"file": "/linux/include/x.h", "lines": [
                              {"line_number": 1, "count": 0, "branches": []}]}]}
    lines = coverage.defaultdict(coverage.Line)
    coverage.add(lines, [unit(1, 1, 0), unit(0, 0, 0)], Path("/copy"))
    coverage.add(lines, [unit(2, 1, 1)], Path("/copy"))
    equal(list(lines), [("post.c", 7)])
    line = lines["post.c", 7]
    equal((line.count, list(line.branches.values())), (3, [2, 1]))


# ---- commits ----------------------------------------------------------------

SIGNED = "Signed-off-by: Some Body <body@example.org>"


def faults(*lines):
    return list(commits.faults("\n".join(lines)))


def a_correct_commit_message():
    equal(faults("kdapl: do it", "", "It was not done.", "", SIGNED), [])
    equal(faults("kdapl_loop: do it", "", "It was not done:", "", "\t" + "x y " * 30, "",
                 SIGNED), [])


def a_commit_without_a_sign_off_or_a_reason():
    equal(faults("tools: do it", "", "Why not."),
          ["no Signed-off-by with a name and an address"])
    equal(faults("tools: do it", "", SIGNED), ["no body with the reason"])


def a_commit_with_a_wrong_subject():
    equal(faults("Do it", "", "Why.", "", SIGNED),
          ['the subject does not have the form "part: imperative summary"'])
    equal(faults("kdapl: " + "a" * 70 + ".", "", "Why.", "", SIGNED),
          ["the subject has 78 columns, at most 75 are allowed", "the subject ends with a full stop"])
    equal(faults("kdapl: do it", "Why.", "", SIGNED), ["the second line is not empty"])


def a_commit_with_a_long_line():
    equal(faults("kdapl: do it", "", "word " * 20, "", SIGNED),
          ["a line has 100 columns, at most 75 are allowed: word word word word word word ..."])


# ---- header-docs ------------------------------------------------------------

HEADER = """
/**
 * enum dat_hue - DAT_HUE: a colour
 * @DAT_RED: red
 * Source: here.
 */
typedef enum dat_hue {
	DAT_RED = 1,	/* not a description */
} DAT_HUE;
/**
 * struct dat_dot - DAT_DOT: a dot
 * @hue: its colours
 * Source: here.
 */
typedef struct dat_dot {
	DAT_HUE hue[2][2];
} DAT_DOT;
/**
 * typedef DAT_MASK - a mask
 * Source: here.
 * * %DAT_HUE_FIELD - hue
 */
typedef u64 DAT_MASK;
#define DAT_HUE_FIELD	1ULL
/**
 * DOC: Pointers
 *
 * .. c:type:: void *DAT_PLACE
 *
 *    An address. Source: here.
 */
typedef void *DAT_PLACE;
"""


def a_documented_header():
    equal(list(header_docs.complaints(HEADER)), [])


def each_line_of_its_comments_is_needed():
    lines = HEADER.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith(" * ") and len(line) > 4:
            text = "".join(lines[:i] + lines[i + 1:])
            if not list(header_docs.complaints(text)):
                raise AssertionError(f"no complaint without {line!r}")


def what_is_new_in_a_header():
    text = HEADER.replace("DAT_RED = 1,", "DAT_RED = 1,\n\tDAT_BLUE = 2,") + "#define DAT_NEW 1\n"
    equal([complaint for _, complaint in header_docs.complaints(text)],
          ["dat_hue: DAT_BLUE is not described", "DAT_NEW has no kernel-doc"])


# ---- version ----------------------------------------------------------------

VERSIONED = {   # file -> an edit that makes its version, or its kernels, wrong
    "drivers/infiniband/ulp/kdapl/ia/main.c": ('MODULE_VERSION("', 'MODULE_VERSION("9'),
    "drivers/infiniband/ulp/kdapl/ia/ia_query.c": (
        ".provider_version_minor = ", ".provider_version_minor = 9"),
    "include/dat/dat_provider.h": ("@provider_version_major: ", "@provider_version_major: 9"),
    "debian/changelog": ("kdapl (", "kdapl (9"),
    "CHANGELOG.md": ("\n## ", "\n## 9"),
    "debian/kdapl-dkms.dkms": ('KERNEL="^(', r'KERNEL="^(9\.9|'),
    "README.md": ("supports Linux ", "supports Linux 9.9, "),
}


def version_complaints(broken=None):
    """Number of lines that check/version prints about a copy with one file broken."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (old, new) in VERSIONED.items():
            text = (HERE.parents[2] / name).read_text(encoding="utf-8")
            if name == broken:
                if old not in text:
                    raise AssertionError(f"expected {old!r} in {name}: not found")
                text = text.replace(old, new, 1)
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        return len(subprocess.run([HERE / "version", folder], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout.splitlines())


def all_versions_agree():
    equal(version_complaints(), 0)


def a_version_that_differs_is_reported():
    equal({name: version_complaints(name) for name in VERSIONED},
          {name: 4 if name.endswith("main.c") else 1 for name in VERSIONED})


# ---- Kbuild ------------------------------------------------------------------

def bench_option(*variables):
    """CONFIG_INFINIBAND_KDAPL_BENCH of "make modules_tests" with these variables of kbuild."""
    top = HERE.parents[2]
    text = (f"src := {top}\ninclude {top}/Kbuild\n"
            "all:\n\t@echo '$(CONFIG_INFINIBAND_KDAPL_BENCH)'\n")
    return subprocess.run(["make", "-s", "-f", "-", "KDAPL_TESTS=m", *variables], input=text,
                          check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def bench_is_built_where_its_kconfig_allows():
    kernel, x86 = ("VERSION=6", "PATCHLEVEL=12"), ("SRCARCH=x86", "CONFIG_X86_64=y")
    others = (kernel + ("SRCARCH=arm64", "CONFIG_ARM64=y"), ("VERSION=6", "PATCHLEVEL=1") + x86,
              ("VERSION=7", "PATCHLEVEL=12") + x86)
    equal((bench_option(*kernel, *x86), [bench_option(*other) for other in others]),
          ("m", ["", "", ""]))


# ---- table of kernels -----------------------------------------------------------

def every_stage_of_a_kernel_has_a_cell():
    def cell(state, *lines):
        return grid.cell(state, tap.Tap().read("\n".join(lines)))

    equal([cell("done", "ok 1 - a", "ok 2 - b # SKIP why"), cell("failed", "not ok 1 - a", "ok 2 - b"),
           cell("done", "ok 1 - a # SKIP why"), grid.cell("failed", None)],
          ["1 passed", "1 failed", "skipped", "not run"])
    equal(list(grid.lines(["one", "other"], ["build", "loop"],
                          {("one", "build"): "1 passed", ("one", "loop"): "not run",
                           ("other", "build"): "1 failed"}, {"one": "6.1.0", "other": "7.3"})),
          ["kernel  release  build     loop",
           "one     6.1.0    1 passed  not run",
           "other   7.3      1 failed  -"])
    equal(grid.reasons("ok 1 - a # SKIP no rxe\nok 2 - b\n"), ["no rxe"])


# ---- table of the adapter model ---------------------------------------------------

def a_personality_that_ends_early_has_cases_that_were_not_run():
    runs = {"all": "    ok 1 - loop srq/0\n    ok 2 - loop srq/1\n    ok 3 - loop flow/a\n",
            "other": "    ok 1 - loop srq/0 # SKIP no SRQ\n    not ok 2 - loop srq/1\n",
            "none": ""}
    lines = list(matrix.table({name: matrix.read(text) for name, text in runs.items()}))
    equal([line.split() for line in lines[:4]],
          [["all", "other", "none"], ["srq", "2", "0+1f+1s", "0+2n"],
           ["flow", "1", "0+1n", "0+1n"], ["all", "3", "0+1f+1s+1n", "0+3n"]])
    equal(lines[4:], ["other: failed: srq/1", "other: 1 not run, the first is flow/a",
                      "other: 1 skipped: no SRQ", "none: 3 not run, the first is srq/0"])


# ---- trends -------------------------------------------------------------------


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


def growing(rows):
    return [entry[0] for entry in trends.evaluate(rows) if entry[-1]]


def noise_is_no_trend():
    equal(growing(soak_rows()), [])


def a_page_for_each_round_is_a_trend():
    equal(growing(soak_rows(kmalloc_bytes=4096)), ["kmalloc_bytes"])


def an_object_in_ten_rounds_is_a_trend():
    equal(growing(soak_rows(objects=0.1)), ["objects"])


def memory_that_shrinks_is_no_trend():
    equal(growing(soak_rows(used_kib=-1000)), [])


def growth_within_the_limit_is_no_trend():
    equal(growing(soak_rows(used_kib=60, vmalloc_kib=0.4)), [])


def noise_hides_growth_of_its_size():
    equal(growing(soak_rows(noise=100000, kmalloc_bytes=2000)), [])


def growth_in_the_first_rounds_does_not_count():
    rows = soak_rows()
    for row in rows[:8]:
        row["used_kib"] = str(float(row["used_kib"]) - 50000)
    equal(growing(rows), [])


def a_run_with_few_rounds_is_not_evaluated():
    try:
        growing(soak_rows(rounds=9))
    except ValueError:
        return
    raise AssertionError("expected ValueError for 9 rounds")


def a_column_that_is_missing_is_a_failure():
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="ascii") as file:
        file.write("round,seconds\n" + "1,1\n" * 20)
        file.flush()
        run = subprocess.run([HERE / "trends.py", file.name], check=False, text=True,
                             capture_output=True)
    equal((run.returncode, run.stdout.splitlines()[-1][:6]), (1, "not ok"))


# ---- copy-to-mainline --------------------------------------------------------

KERNEL_TREE = {
    "drivers/infiniband/Kconfig": 'source "drivers/infiniband/ulp/ipoib/Kconfig"\n',
    "drivers/infiniband/ulp/Makefile": "obj-$(CONFIG_INFINIBAND_IPOIB) += ipoib/\n",
    "Documentation/infiniband/index.rst": ".. toctree::\n   :maxdepth: 1\n\n   ipoib\n",
    "Documentation/ABI/testing/other": "",
    "include/other": "",
    "samples/Kconfig": "if SAMPLES\n\nendif # SAMPLES\n",
    "samples/Makefile": "",
    "MAINTAINERS": "Maintainers List\n----------------\n\nLPC\nF:\tl\n\nKCSAN\nF:\tc\n\n"
                   "KDUMP\nF:\td\n\nLAST\nF:\tx\n",
}


# What a copied page must not name: other pages that were left out, and files of this repository
OUT_OF_TREE = re.compile(r"kdapl-(bench|building|coverage|install|testing|versioning)\b|tools/kdapl|"
                         r"\btests/|``make |KDIR|README|CHANGELOG|CONTRIBUTING|Out of tree")


def kernel_tree(folder):
    """Write the files of a kernel tree that copy-to-mainline changes."""
    tree = Path(folder)
    for name, text in KERNEL_TREE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    return tree


def pages_in_a_kernel_tree_name_no_file_that_it_lacks():
    with tempfile.TemporaryDirectory() as folder:
        tree = kernel_tree(folder)
        subprocess.run([HERE.parent / "copy-to-mainline", tree], check=True)
        pages = {page.name: page.read_text(encoding="utf-8")
                 for page in (tree / "Documentation/infiniband").glob("kdapl*.rst")}
        equal([f"{name}: {line}" for name, text in pages.items() for line in text.splitlines()
               if OUT_OF_TREE.search(line)], [])
        equal(sorted({name for text in pages.values()
                      for name in re.findall(r"\bkdapl-[a-z-]+\.rst", text)} - set(pages)), [])
        equal(len(pages) > 10, True)


def nothing_is_copied_into_half_a_tree():
    with tempfile.TemporaryDirectory() as folder:
        tree = kernel_tree(folder)
        (tree / "MAINTAINERS").unlink()
        before = sorted(tree.rglob("*"))
        run = subprocess.run([HERE.parent / "copy-to-mainline", tree], check=False, text=True,
                             stderr=subprocess.PIPE)
        equal((run.returncode, "MAINTAINERS" in run.stderr, sorted(tree.rglob("*")) == before),
              (2, True, True))


def a_kernel_tree_gets_kdapl_once():
    with tempfile.TemporaryDirectory() as folder:
        tree = kernel_tree(folder)
        texts = []
        for _ in range(2):
            subprocess.run([HERE.parent / "copy-to-mainline", tree], check=True)
            texts.append({path: path.read_bytes() for path in tree.rglob("*") if path.is_file()})
        equal([str(path) for path in texts[1] if texts[1][path] != texts[0].get(path)], [])
        for name, old in KERNEL_TREE.items():
            added = "kdapl" in (tree / name).read_text(encoding="utf-8")
            equal((name, added), (name, not name.endswith("other")))
        names = [entry.split("\n", 1)[0].split(" ", 1)[0] for entry in
                 (tree / "MAINTAINERS").read_text(encoding="utf-8").split("\n\n")]
        equal(names, ["Maintainers", "LPC", "KCSAN", "KDAPL", "KDUMP", "LAST"])
        for name in ("samples/kdapl/tutorial.h", "include/dat/kdat.h",
                     "Documentation/ABI/testing/debugfs-kdapl"):
            equal((name, (tree / name).exists()), (name, True))


# ---- perf/consistent.py --------------------------------------------------------------

BUCKETS = [{"from_ns": low, "to_ns": low + 100, "count": count}
           for low, count in ((900, 5), (1000, 4), (5000, 1))]
LATENCY = {"test": "latency", "operation": "send", "side": "kdapl", "size": 8, "eps": 1,
           "depth": 1, "messages": 10, "bytes": 80, "peer_messages": 10, "wrong_bytes": 0,
           "min_ns": 910, "max_ns": 5050, "median_ns": 990, "average_ns": 1400,
           "deviation_ns": 1200, "p99_ns": 5050, "p999_ns": 5050, "histogram": BUCKETS}
RATE = {"test": "bandwidth", "operation": "write", "side": "kdapl", "size": 8, "eps": 2, "depth": 4,
        "messages": 20, "bytes": 160, "peer_messages": 0, "wrong_bytes": 0, "ns": 160000,
        "mib_per_s": 0.954, "mpps": 0.125, "peak_ns": 30000, "peak_messages": 5}
TABLE = """\
  #bytes side   #iterations
       8 kdapl           10  0.91 5.05 0.99 1.40 1.20 5.05 5.05 1.000
       8 verbs           10  0.91 5.05 0.99 1.40 1.20 5.05 5.05 1
       8 kdapl           20  1.27 0.95 0.125000 1.000
       8 verbs           20  1.27 0.95 0.125000 1
"""


def measured(kinds=(LATENCY, RATE)):
    """What kdapl-loop perf --json prints for ten messages of each of two EPs."""
    rows = [copy.deepcopy(row) | {"side": side} for row in kinds
            for side in ("kdapl", "verbs")]
    return {"error": "", "rows": rows, "ratios": [
        {key: row[key] for key in ("test", "operation", "size")} | {"kdapl_to_verbs": 1.0}
        for row in rows[::2]]}


def contradictions(data, text=TABLE):
    opts = consistent.parse(["-", "--iters", "10", "--qp", "2"])
    return list(consistent.contradictions(data, opts, text))


def consistent_measurements():
    equal(contradictions(measured()), [])


def each_figure_of_a_measurement_is_checked():
    for row, changes in ((LATENCY, {
            "side": "verbs", "size": 9, "eps": 2, "depth": 2, "messages": 11, "bytes": 81,
            "peer_messages": 9, "wrong_bytes": 1, "min_ns": 1000, "max_ns": 5040,
            "median_ns": 1010, "average_ns": 900, "deviation_ns": 5000, "p99_ns": 1010,
            "p999_ns": 5051, "histogram": BUCKETS[:2]}), (RATE, {
                "operation": "read", "eps": 3, "messages": 19, "bytes": 152, "peer_messages": 20,
                "wrong_bytes": 1, "ns": 150000, "mib_per_s": 0.96, "mpps": 0.126,
                "peak_ns": 60000, "peak_messages": 3})):
        for key, value in changes.items():
            data = measured()
            at = next(i for i, r in enumerate(data["rows"]) if r["test"] == row["test"])
            data["rows"][at][key] = value
            equal((row["test"], key, bool(contradictions(data))), (row["test"], key, True))


def an_error_a_wrong_ratio_and_a_missing_row_are_found():
    for key, value in (("error", "no"), ("rows", measured((LATENCY,))["rows"]),
                       ("ratios", [r | {"kdapl_to_verbs": 1.1} for r in measured()["ratios"]])):
        equal((key, bool(contradictions(measured() | {key: value}))), (key, True))


def another_table_is_found():
    for old, new in (("0.99", "0.97"), ("0.125000 1.000", "0.125000 1.100"), ("8 verbs", "9 verbs"),
                     ("kdapl           20", "kdapl           21")):
        equal((old, bool(contradictions(measured(), TABLE.replace(old, new, 1)))), (old, True))


def main():
    tests = [value for name, value in globals().items()
             if callable(value) and getattr(value, "__module__", "") == __name__ and
             not value.__code__.co_argcount and not value.__code__.co_flags & 0x04 and
             name != "main"]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok {number} - {name}")
        except Exception:   # pylint: disable=broad-except # counted as a failure
            failed += 1
            for line in traceback.format_exc().splitlines()[-6:]:
                print(f"# {line}")
            print(f"not ok {number} - {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
