#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the tests: make check, check-quick, check-debug, coverage, and more.

  tools/kdapl/check/run.py check|check-ci|check-quick|check-kasan|check-debug|check-races ...
  tools/kdapl/check/run.py check-arm64|check-blk|check-hca|check-kernels|check-packages
  tools/kdapl/check/run.py coverage|demo|bench|perf

A job is a script that prints TAP. Two jobs run at a time (KDAPL_ROOM=1: one), each as
soon as the jobs that it needs are done. The output is in build/logs/JOB.tap and JOB.log.
Several targets form one run. Targets with sanitizers print a table of the work done.
check-kernels prints a table of kernels and stages; KDAPL_KERNELS and KDAPL_STAGES choose.
The last line is "N passed, N failed, N skipped"; the exit status is 0 if none failed.
"""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
import grid  # noqa: E402 (in this folder)
import matrix  # noqa: E402
import tap  # noqa: E402
import tried  # noqa: E402

TOP = Path(__file__).resolve().parents[3]
CHECK = "tools/kdapl/check"
LOGS = TOP / "build" / "logs"
# Jobs at a time. With more than two guests on two CPUs, time-outs in guests expire late
ROOM = max(1, int(os.environ.get("KDAPL_ROOM", "2")))
STOCK = ("stock-6.1", "stock-6.12")


@dataclass
class Job:
    """A script, the jobs that it needs, and its description."""
    name: str
    command: list
    about: str
    needs: tuple = ()
    weight: int = 1     # two guests in one job count twice
    anyway: bool = False    # the jobs that it needs may have failed
    state: str = "waiting"
    proc: subprocess.Popen = None
    begin: float = 0
    took: float = 0
    cpu: float = 0
    result: tap.Tap = None

    def start(self):
        print(f"== {self.name}: {self.about}", flush=True)
        self.begin, self.state = time.monotonic(), "running"
        with open(LOGS / f"{self.name}.tap", "w", encoding="utf-8") as out, \
                open(LOGS / f"{self.name}.log", "w", encoding="utf-8") as err:
            self.proc = subprocess.Popen(
                self.command, cwd=TOP, stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True)

    def stop(self):
        """End the process group of the job; vm/run.py ends its guest."""
        if self.state == "running" and self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGTERM)
            self.proc.wait()

    def ended(self):
        """Has it ended? Its CPU time is added to that of our children when it is reaped."""
        before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        if self.proc.poll() is None:
            return False
        self.cpu = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
        return True

    def finish(self):
        """Evaluate the TAP. A job without results, or with an exit status other than 0, failed."""
        text = (LOGS / f"{self.name}.tap").read_text("utf-8", "replace")
        result = tap.Tap().read(text)
        status = self.proc.returncode
        if status and not result.failed:
            result.fail(f"no test failed, but exit status {status}, expected 0")
        elif not result.passed + result.failed + result.skipped:
            result.fail("expected results, but the job printed none")
        self.state = "failed" if result.failed else "done"
        self.took, self.result = time.monotonic() - self.begin, result
        print(f"== {self.name}: {result.passed} passed, {result.failed} "
              f"failed, {result.skipped} skipped in {self.took:.0f} s, "
              f"{self.cpu:.0f} of CPU", flush=True)
        for failure in result.failures:
            print(f"   not ok: {failure}")
        if result.failed:
            log = (LOGS / f"{self.name}.log").read_text("utf-8", "replace")
            for line in log.splitlines()[-70:]:
                print(f"   | {line}")
            print(f"   full output: build/logs/{self.name}.tap and .log",
                  flush=True)
        return result


def build(kernel, sparse=True):
    command = [f"{CHECK}/build", kernel] + ([] if sparse else ["--no-sparse"])
    return Job(f"build-{kernel}", command,
               f"modules and tool for {kernel}, W=1, sparse (1 to 2 min)")


def guest(kernel, purpose, about, needs, name="", **env):
    """A guest for a purpose, with variables for its environment."""
    name = name or purpose
    env["KDAPL_BOX"] = name
    command = ["env", *(f"{key}={value}" for key, value in env.items())]
    return Job(f"{name}-{kernel}",
               [*command, f"{CHECK}/guest", kernel, purpose],
               f"{about} in a VM with {kernel}", needs)


def style():
    return Job("style", [f"{CHECK}/style"],
               "checkpatch, shellcheck, kernel-doc and house rules (1 min)")


def docs():
    return Job("docs", [f"{CHECK}/docs"],
               "HTML pages and manual pages, without a warning (10 s)")


def intree(kernel="own-6.12"):
    return Job(f"intree-{kernel}", [f"{CHECK}/intree", kernel],
               "the module inside a kernel tree (1 min)")


def kunit(kernel="own-6.12"):
    return guest(kernel, "kunit", "KUnit (1 min)", (f"intree-{kernel}",))


def newest_jobs(kernel="own-newest"):
    """The newest kernel that Debian offers."""
    return [intree(kernel), kunit(kernel), build(kernel, sparse=False),
            guest(kernel, "loop", "full loopback, a 10th of the messages (3 min)",
                  (f"build-{kernel}",), KDAPL_DIVIDE=10)]


def context_jobs(context, kernel="stock-6.12"):
    """Another completion context than softirq, in which all other jobs run."""
    needs = (f"build-{kernel}",)
    return [guest(kernel, "loop", f"full loopback in {context} context, a 50th of the messages "
                  "(1 min)", needs, name=f"loop-{context}", KDAPL_CONTEXT=context,
                  KDAPL_DIVIDE=50),
            guest(kernel, "selftests", f"ledger and lifetimes in {context} context (2 min)", needs,
                  name=f"life-{context}", KDAPL_CONTEXT=context, KDAPL_TESTS="ledger lifetime",
                  LEDGER_POSTS=20000)]


def bench(kernel="stock-6.12"):
    return Job(f"bench-{kernel}", ["tools/kdapl/bench/run.py", "--check"],
               f"instruction counts in a VM with {kernel} (1 min)",
               (f"build-{kernel}",))


def tools():
    return Job("tools", [f"{CHECK}/tools_test.py"], "tests of the scripts that evaluate tests (1 s)")


def models():
    return Job("models", [f"{CHECK}/models"],
               "spin models of the lockless code (2 min)")


def litmus():
    # herd7 comes from another release: if it cannot be fetched, only this job fails
    return Job("litmus", ["sh", "-c", f"tools/kdapl/setup --quiet herd && exec {CHECK}/litmus.py"],
               "barriers of the lockless code against the kernel's memory model (5 s)")


def arm64_jobs(kernel="own-6.12-arm64"):
    """The module cross-compiled, KUnit and a short loopback on arm64. Without sparse, which sees
    the same sources as on x86."""
    needs = (f"build-{kernel}",)
    return [build(kernel, sparse=False),
            guest(kernel, "kunit", "KUnit (3 min)", needs),
            guest(kernel, "loop-short", "short loopback (4 min)", needs)]


# Every kernel that is supported, and what each is tested with. Debian has no kernel with KUnit, and
# only the short loopback is fast enough on an emulated arm64 machine.
KERNELS = (*STOCK, "cloud-6.1", "cloud-6.12", "rt-6.1", "rt-6.12", "deb13", "stock-newest",
           "rt-newest", "own-6.12-arm64")
STAGES = ("build", "kunit", "loop", "selftests", "interop")


def chosen(variable, known):
    """The words of an environment variable, or all that are known."""
    words = os.environ.get(variable, "").split() or known
    if unknown := set(words) - set(known):
        sys.exit(f"{variable}: expected some of {' '.join(known)}, "
                 f"found {' '.join(sorted(unknown))}")
    return tuple(words)


def kernel_jobs():
    """Every stage on every kernel: (kernel, stage) -> job."""
    jobs = {}
    for kernel in chosen("KDAPL_KERNELS", KERNELS):
        needs = (f"build-{kernel}",)
        if kernel.endswith("-arm64"):
            built, kunits, loop = arm64_jobs(kernel)
            of_kernel = {"build": built, "kunit": kunits, "loop": loop}
        else:
            of_kernel = {
                "build": build(kernel),
                "loop": guest(kernel, "loop", "full loopback (5 min)", needs),
                "selftests": guest(kernel, "selftests", "selftests (10 min)", needs),
                "interop": guest(kernel, "interop", "user-space uDAPL's dapltest (5 min)", needs)}
        jobs |= {(kernel, stage): job for stage, job in of_kernel.items()
                 if stage in ("build", *chosen("KDAPL_STAGES", STAGES))}
    # A stage on all kernels before the next one: builds show most faults, and are short
    return dict(sorted(jobs.items(), key=lambda place: STAGES.index(place[0][1])))


def release(kernel):
    """The release of a kernel that setup has prepared."""
    return subprocess.run(["bash", "-c", f'. {CHECK}/env.sh; kernel_release "$0"', kernel], cwd=TOP,
                          check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def kernel_table(jobs):
    """Print the table of check-kernels, and why stages were skipped."""
    by_name = {job.name: job for job in jobs}
    cells = {place: by_name[job.name] for place, job in kernel_jobs().items()}
    kernels = list(dict.fromkeys(kernel for kernel, _ in cells))
    print("== kernels: results of each stage")
    for line in grid.lines(kernels, [stage for stage in STAGES if any(
            place[1] == stage for place in cells)],
            {place: grid.cell(job.state, job.result) for place, job in cells.items()},
            {kernel: release(kernel) for kernel in kernels}):
        print(f"   {line}")
    for job in cells.values():
        if job.result and job.result.skipped and not job.result.passed:
            text = (LOGS / f"{job.name}.tap").read_text("utf-8", "replace")
            print(f"   {job.name}: {'; '.join(grid.reasons(text))}", flush=True)


def two_guests(kernel="stock-6.12"):
    """Seven ledgers with this number of posts: a million in total."""
    return Job(f"two-guests-{kernel}",
               ["env", "TWO_GUESTS_POSTS=150000", f"{CHECK}/two-guests", kernel],
               "ledger between two VMs, over a wire that loses packets "
               "(12 min)", (f"build-{kernel}",), weight=2)


# Kernels with sanitizers: description, form of the loopback, divisor of its messages,
# number of random calls, number of posts of the ledger
DEBUG = {
    "own-6.12-debug": ("KASAN, lockdep, PROVE_RCU, DEBUG_ATOMIC_SLEEP, DEBUG_OBJECTS, "
                       "UBSAN, fault injection, kmemleak",
                       "loop", 10, 1000000, 200000),
    "own-6.12-kcsan": ("KCSAN, fault injection", "loop-short", 20, 50000, 50000),
    "own-6.12-rt": ("PREEMPT_RT, lockdep, PROVE_RCU, DEBUG_ATOMIC_SLEEP, fault injection",
                    "loop-short", 20, 50000, 50000),
}
RACES = ("own-6.12-kcsan", "own-6.12-rt")
TARGETS = ("check", "check-ci", "check-quick", "check-kasan", "check-debug", "check-races", "check-arm64",
           "check-blk", "check-hca", "check-kernels", "check-packages", "coverage")
# The adapter model (kdapl-hca.rst): its personalities, and one with faults of the wire
HCA = {
    "mlx5": "personality=mlx5", "irdma": "personality=irdma",
    "bnxt_re": "personality=bnxt_re", "qedr": "personality=qedr",
    "faults": "drop=100 duplicate=50 delay=300 last_first=1",
}


# Selftests that take long: make check runs them on one kernel, check-kernels on every kernel, and
# check-debug not at all
LONG = ("pressure", "reload", "scale")
# Selftests of Soft-RoCE and the connection manager, without kdapl.ko, and those that take more than
# a minute for what KUnit and the loopback assert, too: check-ci does not run them
NOT_IN_CI = ("accept_timeout", "cm_rep_wait", "qp1_error", "qp1_stall", "trace", "perf")


def selftests_without(those):
    """Names of all other selftests."""
    names = {path.stem for path in (TOP / "tests/selftests").glob("*.sh")}
    return " ".join(sorted(names - {"lib", "run", *those}))


def debug_jobs(kernel):
    """The guests of make check, on one kernel."""
    _, loop, divide, calls, posts = DEBUG[kernel]
    words = "full" if loop == "loop" else "short"
    needs = (f"build-{kernel}",)
    # kmemleak takes more than half of the time of a ledger, so the selftests make fewer
    # posts and calls with it
    few, off, without = ({}, {}, "") if kernel in RACES else (
        {"LEDGER_POSTS": 20000, "FUZZ_CALLS": 40000}, {"KDAPL_KMEMLEAK": "off"},
        ", without kmemleak")
    return [
        build(kernel, sparse=False), intree(kernel),
        guest(kernel, "selftests", "selftests (25 min)", needs,
              KDAPL_TESTS=selftests_without(LONG if few else (*LONG, "fuzz", "ledger")), **few),
        guest(kernel, "ledger", f"{posts:,} posts accounted for{without} (10 min)", needs,
              LEDGER_POSTS=posts, **off),
        guest(kernel, "fuzz", f"{calls:,} random calls{without} (10 min)", needs,
              FUZZ_CALLS=calls, **off),
        kunit(kernel),
        guest(kernel, loop, f"{words} loopback, a {divide}th of the messages (20 min)",
              needs, name="loop", KDAPL_DIVIDE=divide),
        guest(kernel, "interop", "user-space uDAPL's dapltest (10 min)", needs),
        guest(kernel, "loop", "four CPUs feed one EVD (2 min)", needs,
              name="starve", KDAPL_CPUS=4,
              KDAPL_CASES="flow/four-threads,flow/starve,flow/starve-dtos")]


def races():
    """The second part of check-debug."""
    return [job for kernel in RACES for job in debug_jobs(kernel)]


def kasan_jobs(kernel="own-6.12-debug"):
    """The part of check-debug that takes a quarter of an hour."""
    needs = (f"build-{kernel}",)
    return [
        build(kernel, sparse=False), intree(kernel), kunit(kernel),
        guest(kernel, "fuzz", "40,000 random calls (2 min)", needs,
              FUZZ_CALLS=40000),
        guest(kernel, "ledger", "20,000 posts accounted for (4 min)", needs,
              LEDGER_POSTS=20000)]


def ci_jobs(kernel="stock-6.12"):
    """What a continuous integration machine runs: every clause, on one stock kernel, and with
    KASAN. Everything else is left to make check and the other targets."""
    needs = (f"build-{kernel}",)
    return [build(kernel), *kasan_jobs(), tools(), litmus(), style(), docs(),
            guest(kernel, "loop", "full loopback (5 min)", needs),
            guest(kernel, "selftests", "selftests (12 min)", needs,
                  KDAPL_TESTS=selftests_without((*LONG, *NOT_IN_CI))),
            guest(kernel, "limits", "time limits, not stretched (1 min)", needs), bench(kernel)]


def coverage_jobs(kernel="own-6.12"):
    """Guests with a kdapl.ko built for gcov, and the evaluation of their counts."""
    on = {"KDAPL_GCOV": 1}
    compile_ = Job(f"gcov-build-{kernel}",
                   ["env", "KDAPL_GCOV=1", f"{CHECK}/build", kernel, "--no-sparse"],
                   f"modules for {kernel}, built for gcov (2 min)")
    guests = [guest(kernel, purpose, about, (compile_.name,), f"gcov-{purpose}", **on, **more)
              for purpose, about, more in (
                  ("selftests", "selftests and fault injection (6 min)", {}),
                  ("loop", "full loopback, a 10th of the messages (5 min)",
                   {"KDAPL_DIVIDE": 10}),
                  ("kunit", "KUnit (2 min)", {}))]
    # It reads the sources from the copy, because the tree may be edited meanwhile
    return [compile_, *guests,
            Job("coverage", ["bash", "-c", f". {CHECK}/env.sh; KDAPL_GCOV=1; "
                             f'{CHECK}/coverage.py "$(output_of {kernel})" '
                             f"build/vm/{kernel}-gcov-*"],
                "lines and branches that the tests reached (10 s)",
                tuple(job.name for job in guests), anyway=True)]


def hca_jobs(kernel="stock-6.12"):
    """Conformance and the loopback on the adapter model, with each personality."""
    needs = (f"build-{kernel}",)
    return [guest(kernel, "hca", "the adapter model against the specification, and a short "
                  "loopback on it (3 min)", needs)] + [
        guest(kernel, "hca", f"short loopback on the adapter model, {options} (3 min)", needs,
              name=f"hca-{name}", KDAPL_HCA=options) for name, options in HCA.items()]


def blk_kunit(kernel="own-6.12"):
    return guest(kernel, "blk", "KUnit of the block device (1 min)", (f"build-{kernel}",))


def blk_jobs():
    """The block device: KUnit, and the selftest with many restarts of the server."""
    jobs = [build("own-6.12", sparse=False), blk_kunit()]
    for kernel in STOCK:
        jobs += [build(kernel), guest(kernel, "blk", "block device, 20 restarts of its server "
                                      "(5 min)", (f"build-{kernel}",), KDAPL_BLK_ROUNDS=20)]
    return jobs


def plan(target):
    """What setup must prepare for a target, and its jobs."""
    if target == "check-quick":
        return ["docs", "stock-6.12", "own-6.12"], [
            tools(), build("stock-6.12"), intree(), style(), docs(), kunit(),
            guest("stock-6.12", "loop-short", "short loopback (1 min)",
                  ("build-stock-6.12",))]
    if target == "check-ci":
        return ["docs", "stock-6.12", "own-6.12-debug"], ci_jobs()
    if target == "check-kasan":
        return ["stock-6.12", "own-6.12", "own-6.12-debug"], kasan_jobs()
    if target == "check-races":
        return ["stock-6.12", "own-6.12", *RACES], races()
    if target == "check-arm64":
        return ["own-6.12-arm64", "arm64-root"], arm64_jobs()
    if target == "check-kernels":
        kernels = chosen("KDAPL_KERNELS", KERNELS)
        arm64 = ["arm64-root"] if any(name.endswith("-arm64") for name in kernels) else []
        return [*kernels, *arm64], list(kernel_jobs().values())
    if target == "check-hca":
        return ["stock-6.12"], [build("stock-6.12"), *hca_jobs()]
    if target == "check-blk":
        return ["stock-6.1", "stock-6.12", "own-6.12"], blk_jobs()
    if target == "coverage":
        return ["own-6.12"], coverage_jobs()
    if target == "check-packages":
        return ["deb", "stock-6.1", "stock-6.12", "root-package"], [
            Job("deb", ["tools/kdapl/deb"], "Debian packages, lintian (1 min)"),
            Job("package", [f"{CHECK}/package"],
                "install, use, upgrade and purge them in a root of Debian 12 (10 min)",
                ("deb",))]
    if target == "check-debug":
        # The test with two guests needs netem of the stock kernels. A million posts take
        # 92 s there, and an hour on the debug kernel
        million = guest("stock-6.12", "ledger", "1,000,000 posts accounted for (3 min)",
                        ("build-stock-6.12",), LEDGER_POSTS=1000000)
        return ["stock-6.12", "own-6.12", *DEBUG], [
            *debug_jobs("own-6.12-debug"), models(),
            build("stock-6.12"), million, *races(), two_guests()]
    jobs = [tools(), litmus(), *(build(kernel) for kernel in STOCK), intree(),
            style(), docs(), kunit(), build("own-6.12", sparse=False),
            *newest_jobs()]
    for kernel in STOCK:
        needs = (f"build-{kernel}",)
        jobs += [guest(kernel, "loop", "full loopback (5 min)", needs)]
    for kernel in STOCK:
        needs = (f"build-{kernel}",)
        jobs += [guest(kernel, "selftests", "selftests (4 min)", needs,
                       KDAPL_TESTS=selftests_without(LONG))]
    jobs += [guest("stock-6.12", "selftests", "reloads, many objects, little memory (2 min)",
                   ("build-stock-6.12",), name="scale", KDAPL_TESTS=" ".join(LONG))]
    for kernel in STOCK:
        needs = (f"build-{kernel}",)
        jobs += [guest(kernel, "interop", "user-space uDAPL's dapltest (5 min)",
                       needs)]
    # Debian's kernels lack fault injection
    jobs += [blk_kunit(), guest("own-6.12", "selftests", "failing allocations (1 min)",
                   ("build-own-6.12",), name="fault_inject", KDAPL_TESTS="fault_inject"),
             guest("stock-6.12", "limits", "time limits, not stretched (1 min)",
                   ("build-stock-6.12",)),
             hca_jobs()[0], *context_jobs("process"), *context_jobs("poll"), bench()]
    return ["docs", "stock-6.1", "stock-6.12", "own-6.12", "own-newest"], jobs


def plans(targets):
    """The same for several targets; a job of more than one target runs once."""
    kernels, jobs = {}, {}
    for target in targets:
        what, more = plan(target)
        kernels |= dict.fromkeys(what)
        for job in more:
            if jobs.setdefault(job.name, job).command != job.command:
                sys.exit(f"{target} and the targets before it have different jobs {job.name}")
    return list(kernels), list(jobs.values())


def table(jobs):
    """Print the work done by the jobs on kernels with sanitizers and between guests."""
    rows = [job for job in jobs if job.result and
            not job.name.startswith(("build-", "intree-")) and
            ("own-6.12-" in job.name or
             job.name.startswith(("two-", "models", "ledger-")))]
    if not rows:
        return
    print("== work done; any report of a kernel fails its job")
    for kernel, (what, *_) in DEBUG.items():
        if any(job.name.endswith(kernel) for job in rows):
            print(f"   {kernel}: {what}")
    for job in rows:
        text = (LOGS / f"{job.name}.tap").read_text("utf-8", "replace")
        print(tried.row(job.name, text, job.took, job.result), flush=True)


def run_jobs(jobs):
    """Start jobs as soon as possible and collect their results, until all have ended."""
    total = tap.Tap()
    by_name = {job.name: job for job in jobs}
    try:
        while True:
            running = [job for job in jobs if job.state == "running"]
            for job in running:
                if job.ended():
                    result = job.finish()
                    total.passed += result.passed
                    total.failed += result.failed
                    total.skipped += result.skipped
            for job in jobs:
                needs = ["done" if job.anyway and by_name[name].result
                         else by_name[name].state for name in job.needs]
                if job.state == "waiting" and "failed" in needs:
                    job.state = "failed"
                    total.failed += 1
                    print(f"== {job.name}: not run, because one of these failed: "
                          f"{', '.join(job.needs)}", flush=True)
                elif (job.state == "waiting"
                      and all(state == "done" for state in needs)
                      and min(job.weight, ROOM) +
                      sum(j.weight for j in jobs
                          if j.state == "running") <= ROOM):
                    job.start()
            if all(job.state in ("done", "failed") for job in jobs):
                return total
            time.sleep(0.2)
    finally:
        for job in jobs:
            job.stop()


def coverage():
    """Print the table and the uncovered lines that check/coverage.py has printed."""
    path = LOGS / "coverage.tap"
    print("== coverage: lines and branches that the tests reached")
    print("".join(f"   {line.removeprefix('# ')}\n"
                  for line in path.read_text("utf-8").splitlines() if line.startswith("# ")),
          end="", flush=True)


def contract(total):
    """Check that the tests of this run assert every clause."""
    print("== contract: does a test assert every clause?", flush=True)
    verdict = subprocess.run([f"{CHECK}/contract.py", "--brief"], cwd=TOP,
                             check=False).returncode
    if verdict:
        total.fail("contract")
    else:
        total.passed += 1


def setup(what):
    print("== setup: packages, virtme-ng, kernels (cold 6 to 12 min, 13 more for "
          "each kernel with sanitizers; warm 1 s)", flush=True)
    subprocess.run(["tools/kdapl/setup", *what], cwd=TOP, check=True)


def demo():
    setup(["stock-6.12"])
    print("== build: modules and tool for Debian's 6.12 kernel (1 min, "
          "warm 10 s)", flush=True)
    subprocess.run([f"{CHECK}/build", "stock-6.12", "--no-sparse"],
                   cwd=TOP, check=True)
    print("== guest: boots that kernel in a VM, creates an rxe device, loads "
          "kdapl.ko,\n   transfers data and prints a table "
          "(5 min without KVM)", flush=True)
    return subprocess.run([f"{CHECK}/guest", "stock-6.12", "demo"],
                          cwd=TOP, check=False).returncode


def count():
    setup(["stock-6.12"])
    print("== build: modules for Debian's 6.12 kernel (1 min, warm 10 s)",
          flush=True)
    subprocess.run([f"{CHECK}/build", "stock-6.12", "--no-sparse"],
                   cwd=TOP, check=True)
    print("== guest: counts instructions in a VM with that kernel (4 min)",
          flush=True)
    return subprocess.run(["tools/kdapl/bench/run.py"], cwd=TOP,
                          check=False).returncode


def measure():
    setup(["stock-6.12", "plot"])
    print("== build: modules and tool for Debian's 6.12 kernel (1 min, warm 10 s)", flush=True)
    subprocess.run([f"{CHECK}/build", "stock-6.12", "--no-sparse"],
                   cwd=TOP, check=True)
    print("== guests: kdapl-loop perf in a VM with that kernel, then the short form of make bench "
          "(5 min)", flush=True)
    return subprocess.run(["tools/kdapl/perf/run.py"], cwd=TOP, check=False).returncode


def main():
    targets = sys.argv[1:]
    if targets not in (["demo"], ["bench"], ["perf"]) and not (
            targets and set(targets) <= set(TARGETS)):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(TOP / "build" / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit("another make check or demo is running in this folder")
        try:
            if targets == ["demo"]:
                return demo()
            if targets == ["bench"]:
                return count()
            if targets == ["perf"]:
                return measure()
            begin = time.monotonic()
            what, jobs = plans(targets)
            setup(what)
            if {"check", "check-ci"} & set(targets):
                for old in LOGS.glob("*.tap"):
                    old.unlink()
            total = run_jobs(jobs)
            table(jobs)
            if "check-kernels" in targets:
                kernel_table(jobs)
            if "check-hca" in targets:
                matrix.show([job.name for job in jobs if job.name.startswith("hca-")], LOGS)
            if any(job.name == "coverage" and job.result for job in jobs):
                coverage()
            if {"check", "check-ci"} & set(targets):
                contract(total)
        except subprocess.CalledProcessError as error:
            return error.returncode
        except KeyboardInterrupt:
            return 130
    print(f"== done in {(time.monotonic() - begin) / 60:.1f} min; "
          f"logs: {os.path.relpath(LOGS)}")
    print(f"{total.passed} passed, {total.failed} failed, "
          f"{total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
