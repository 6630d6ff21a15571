#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the jobs of targets (jobs.py); called by make and by .ci/run.

  tools/kdapl/check/run_jobs.py [--limit MINUTES] TARGET...    make check, check-ci, check-all, ...
  tools/kdapl/check/run_jobs.py --status       the stored verdicts of all jobs
  tools/kdapl/check/run_jobs.py demo|bench|perf

A job is a script that prints TAP. Two jobs run at a time (KDAPL_ROOM=1: one), each as soon as the
jobs that it needs are done. The output is in build/logs/JOB.tap and JOB.log. A failed job does not
stop those that do not need it. check-all and its parts run only jobs that have not passed for this
tree, according to the cache: first those that failed, then the longest. FRESH=1 discards the
verdicts. check, check-quick and check-ci run all of their jobs. A job that still runs when the
limit is reached is ended and counts as failed.

The last line is "N passed, N failed, N skipped"; the exit status is 0 if none failed. Passes of
jobs that run no code of the product are counted on a line of their own.
"""

import argparse
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import jobs  # noqa: E402 (in this directory)
import tap  # noqa: E402
from store import Store, cells, order, table  # noqa: E402

TOP = Path(__file__).resolve().parents[3]
LOGS = TOP / "build" / "logs"
# Jobs at a time. With more than two guests on two CPUs, timeouts in guests expire late
ROOM = max(1, int(os.environ.get("KDAPL_ROOM", "2")))
# The variables for single guests (test_variables in env.sh) would change what a job does; these do not
PASSED = ("KDAPL_CACHE", "KDAPL_STRETCH")
# These targets run all of their jobs. Those of CONTRACT also check that every clause is asserted
GATES = ("check", "check-ci", "check-quick")
CONTRACT = ("check", "check-ci")
# Commands that store no verdict: the kernel, what else to set up, and the command
COMMANDS = {
    "demo": ("stock-6.12", (), [f"{jobs.CHECK}/run-guest", "stock-6.12", "demo"]),
    "bench": ("stock-6.12", (), ["tools/kdapl/bench/count.py"]),
    "perf": ("stock-6.12", ("plot",), [f"{jobs.CHECK}/run-guest", "stock-6.12", "perf"]),
    "soak": ("stock-6.12", (), [f"{jobs.CHECK}/run-guest", "stock-6.12", "soak"]),
}


def children_cpu():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


class Run:
    """A job that is waiting, running or done."""

    def __init__(self, job):
        self.job, self.name, self.state = job, job.name, "waiting"
        self.proc = self.result = self.key = None
        self.begin = self.took = self.cpu = 0

    def path(self, suffix):
        return LOGS / f"{self.name}.{suffix}"

    def start(self, store):
        print(f"== {self.name}: {self.job.about}", flush=True)
        self.key = store.key(self.job)
        self.begin, self.state = time.monotonic(), "running"
        # A guest that hangs ends before the job, and prints where it hangs
        env = {name: value for name, value in os.environ.items() if name in PASSED or not
               name.startswith(("KDAPL_", "LEDGER_", "TWO_GUESTS_", "FUZZ_", "SCALE_", "RELOAD_",
                                "HOSTILE_", "BLK_", "SELFTEST_"))}
        env["KDAPL_MINUTES"] = str(max(1, int(self.job.minutes) - 2))
        with open(self.path("tap"), "w", encoding="utf-8") as out, \
                open(self.path("log"), "w", encoding="utf-8") as err:
            self.proc = subprocess.Popen(
                self.job.command, cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True)

    def stop(self):
        """End the process group of the job; lab/run_in_vm.py ends its guest."""
        if self.state == "running" and self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGTERM)
            try:
                self.proc.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.proc.pid, signal.SIGKILL)
                self.proc.wait()

    def ended(self):
        """Has it ended? Ends a job that hangs. The CPU time of our children includes that of the
        job as soon as it is reaped."""
        before = children_cpu()
        stretch = float(os.environ.get("KDAPL_STRETCH") or 1)
        if self.proc.poll() is None:
            if time.monotonic() - self.begin < self.job.minutes * 60 * stretch:
                return False
            self.stop()
        self.cpu = children_cpu() - before
        return True

    def finish(self):
        """Evaluate the TAP. A job without results, or with an exit status other than 0, failed."""
        text = self.path("tap").read_text("utf-8", "replace")
        result = tap.Tap().read("" if self.job.step else text)
        status = self.proc.returncode
        if status and not result.failed:
            result.fail(f"no test failed, but exit status {status}, expected 0")
        elif not (self.job.step or result.passed + result.failed + result.skipped):
            result.fail("expected results, but the job printed none")
        self.state = "failed" if result.failed else "done"
        self.took, self.result = time.monotonic() - self.begin, result
        self.show(result)
        return text

    def show(self, result):
        counts = "" if self.job.step else (f"{result.passed} passed, {result.failed} failed, "
                                           f"{result.skipped} skipped in ")
        print(f"== {self.name}: {counts}{self.took:.0f} s, {self.cpu:.0f} of CPU", flush=True)
        for failure in result.failures:
            print(f"   not ok: {failure}")
        if result.failed:
            for line in self.path("log").read_text("utf-8", "replace").splitlines()[-70:]:
                print(f"   | {line}")
            print(f"   full output: build/logs/{self.name}.tap and .log", flush=True)

    def boots(self):
        """The number of guests that were booted again (lab/run_in_vm.py), whatever their result."""
        path = self.path("log")
        return path.read_text("utf-8", "replace").count("it is booted again") if self.proc else 0


class Total:
    """The sum of all jobs: failures of any, passes and skips of those that test the product."""

    def __init__(self):
        self.passed = self.failed = self.skipped = self.others = 0

    def add(self, job, result):
        self.failed += result.failed
        self.skipped += result.skipped * job.product
        self.passed += result.passed * job.product
        self.others += result.passed * (not job.product)


def can_start(run, runs, by_name):
    """Are all jobs that it needs done, and is there room? None if one of them has failed."""
    needs = [by_name[name] for name in run.job.needs if name in by_name]
    if any(need.state == "failed" for need in needs):
        return None
    busy = sum(other.job.weight for other in runs if other.state == "running")
    return all(need.state == "done" for need in needs) and (
        not run.job.weight or min(run.job.weight, ROOM) + busy <= ROOM)


def not_run(run, why, total):
    run.state = "failed"
    total.failed += 1
    print(f"== {run.name}: not run, because {why}", flush=True)


def step(runs, by_name, store, total):
    """Collect what has ended, and start what can be started."""
    for run in runs:
        if run.state == "running" and run.ended():
            text = run.finish()
            total.add(run.job, run.result)
            if run.job.is_guest() or run.job.inputs:
                run.job.took, run.job.cpu = run.took, run.cpu
                store.save(run.job, run.key, run.result, text)
    for run in runs:
        if run.state == "waiting":
            ready = can_start(run, runs, by_name)
            if ready is None:
                failed = [name for name in run.job.needs
                          if name in by_name and by_name[name].state == "failed"]
                not_run(run, f"{', '.join(failed)} failed", total)
            elif ready:
                run.start(store)


def run_jobs(todo, store, limit):
    """Run jobs until all have ended, or until the limit in minutes. Returns the sum."""
    total, runs = Total(), [Run(job) for job in todo]
    by_name = {run.name: run for run in runs}
    deadline, why = time.monotonic() + limit * 60, f"the limit of {limit:.0f} min has expired"
    try:
        while any(run.state in ("waiting", "running") for run in runs):
            if time.monotonic() > deadline:
                break
            step(runs, by_name, store, total)
            time.sleep(0.2)
    except KeyboardInterrupt:
        why = "the run was interrupted"
    for run in runs:
        if run.state in ("waiting", "running"):
            run.stop()
            not_run(run, why, total)
    if again := sum(run.boots() for run in runs):
        print(f"== {again} guests hung or died during their boot and were booted again: "
              f"{', '.join(run.name for run in runs if run.boots())}", flush=True)
    return total


def contract(total):
    """Check that the tests of this run assert every clause."""
    print("== contract: does a test assert every clause?", flush=True)
    if subprocess.run([f"{jobs.CHECK}/contract.py", "--brief"], cwd=TOP, check=False).returncode:
        total.failed += 1
    else:
        total.others += 1


def chosen(targets, store):
    """The jobs to run: all of GATES, else those that have not passed, with the jobs they need."""
    plan = jobs.plan(targets)
    if set(targets) <= set(GATES):
        return plan
    tests = [job for job in plan if job.inputs]
    if os.environ.get("FRESH"):
        for job in tests:
            store.forget(job)
    verdicts = {job.name: store.load(job) for job in tests}
    todo = [job for job in tests if not (
        verdicts[job.name] and verdicts[job.name].current and not verdicts[job.name].failed)]
    print(f"== {len(tests) - len(todo)} of {len(tests)} jobs have passed for this tree", flush=True)
    wanted, by_name = {}, {job.name: job for job in plan}

    def want(job):
        for need in job.needs:
            want(by_name[need])
        wanted[job.name] = job
    for job in order(store, todo):
        want(job)
    return list(wanted.values())


def run_targets(targets, limit):
    begin, store = time.monotonic(), Store(TOP, jobs.cache_dir())
    if set(CONTRACT) & set(targets):
        for old in LOGS.glob("*.tap"):
            old.unlink()
    total = run_jobs(chosen(targets, store), store, limit)
    if set(CONTRACT) & set(targets):
        contract(total)
    for target in jobs.TARGETS if "check-all" in targets else targets:
        if target in jobs.TABLES:
            print("\n".join(f"== {line}" for line in cells(store, jobs.plan([target]))))
    print(f"== {total.others} checks of sources, tools and environment passed, too")
    print(f"== done in {(time.monotonic() - begin) / 60:.1f} min, {children_cpu():.0f} s of CPU; "
          f"logs: {os.path.relpath(LOGS)}")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


def run_command(name):
    """Prepare a kernel and its modules, then run a command that stores no verdict."""
    kernel, what, command = COMMANDS[name]
    todo = [jobs.setup(kernel), jobs.build(kernel), *map(jobs.setup, what)]
    total = run_jobs(todo, Store(TOP, jobs.cache_dir()), 120)
    return 1 if total.failed else subprocess.run(command, cwd=TOP, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--limit", type=float, default=24 * 60, help="minutes for the whole run")
    parser.add_argument("--status", action="store_true")
    parser.add_argument("targets", nargs="*")
    opts = parser.parse_args()
    if opts.status:
        known = [job for job in jobs.plan(["check-all"]) if job.inputs]
        print("\n".join(table(Store(TOP, jobs.cache_dir()), known)))
        return 0
    if not opts.targets:
        parser.error("expected a target")
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(TOP / "build" / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit("another make check or demo is running in this directory")
        try:
            if opts.targets[0] in COMMANDS:
                return run_command(opts.targets[0])
            return run_targets(opts.targets, opts.limit)
        except KeyboardInterrupt:
            return 130


if __name__ == "__main__":
    sys.exit(main())
