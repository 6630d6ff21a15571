#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Mutation tests: break the module on purpose, one line at a time.

  tools/kdapl/check/mutate.py [--list] [--apply] [--check] [--only N|A-B|NAME ...]
                           [--jobs N] [--batch N] [--kunit]
                           [--stale | --resume | --missing] [--no-baseline] [--table]

For each breakage in tools/kdapl/check/mutations/*.mut: apply it to a copy of the tree,
build kdapl.ko, and run KUnit and, if that does not catch it, the short loopback on the
own kernel. A test must fail; the first failure ends the trial. A breakage that survives
shows a gap in the tests. A breakage that does not apply or build is an error in the
table. First the tests must pass on the unbroken tree.

  --list         only print the table
  --apply        only check that each breakage applies (seconds)
  --check        only check the verdicts (seconds): each breakage of a file of the
                 posting and completion path (fastpath.py) must have the verdict
                 "caught" for the current version of that file
  --only         select breakages by number, range (3-7) or name
  --jobs         guests at a time (default 2)
  --batch        modules that one KUnit guest tries in turn (default 16)
  --kunit        KUnit only: breakages that it does not catch count as survived, until
                 a run with --resume and without --kunit tries the loopback
  --stale        only breakages that have not been caught yet, or were caught in an
                 older version of the files that they change
  --resume       keep the verdicts of an earlier run over the same product; breakages
                 that survived are tried again if the tests have changed
  --missing      only breakages that have not been caught yet on any product
  --no-baseline  do not test the unbroken tree first
  --table        write the table at the end, even if only some were tried

Prints TAP; exit status 0 if all were caught. tools/kdapl/check/mutations/results.json has
the verdicts. A run over all also writes them as a table to results.rst there.
KDAPL_STRETCH multiplies the time limits on a busy host.
"""

import argparse
import concurrent.futures
import fcntl
import resource
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
import suites  # noqa: E402 (in this folder)
import trials  # noqa: E402
import verdicts  # noqa: E402
from breakages import TOP, Refused, choose, read_table  # noqa: E402
from verdicts import CAUGHT, ERROR, SURVIVED  # noqa: E402


def tap(mutation, result):
    good = "ok" if result["verdict"] == CAUGHT else "not ok"
    print(f"{good} {mutation.number} - {mutation.name}: {mutation.breaks}: "
          f"{result['verdict']}{': ' if result['by'] else ''}{result['by']}",
          flush=True)


class Run:
    """Builds and tries breakages, and records the verdicts."""

    def __init__(self, builder, args, results):
        self.builder, self.args, self.results = builder, args, results
        self.left = []          # breakages that KUnit did not catch

    def baseline(self):
        begin = time.monotonic()
        self.builder.baseline()
        took = f"built in {time.monotonic() - begin:.0f} s"
        if not self.args.no_baseline:
            queue = trials.KunitQueue(self.builder, 1)
            failure = dict(queue.run(["unbroken"])).get("unbroken", "no result")
            if not failure and not self.args.kunit:
                failure = trials.loopback(self.builder, "unbroken")
            if failure:
                raise Refused(f"expected all tests to pass on the unbroken tree: {failure}; see "
                              f"{self.builder.home}/*-unbroken.log")
            took += f", tested in {time.monotonic() - begin:.0f} s"
        print(f"# unbroken tree: {took}", flush=True)

    def settle(self, mutation, verdict, by, loopback_left=False):
        result = {"verdict": verdict, "by": by, "left": loopback_left}
        self.results.put(mutation, result)
        tap(mutation, result)

    def build(self, mutations):
        """Build each breakage. Yields those that build."""
        for mutation in mutations:
            try:
                self.builder.build(mutation)
                yield mutation
            except Refused as reason:
                if trials.STOPPED.is_set():
                    return
                self.builder.same_kernel()
                self.settle(mutation, ERROR, str(reason))

    def fatal(self, mutation):
        """Did it crash or hang its guest in the last trial?"""
        return bool(trials.FATAL_RE.match(self.results.last_by.get(mutation.name, "")))

    def fill(self, queue, todo, half):
        """Build the modules and put them in the queue. One build at a time uses all CPUs."""
        have = suites.wanted(suites.TESTS)
        try:
            for mutation in self.build(todo):
                by = self.results.last_by.get(mutation.name, "")
                queue.put(mutation.name, trials.first_suites(mutation, by, have),
                          alone=self.fatal(mutation))
            self.left += self.build(half)
        finally:
            queue.close()

    def guests(self, queue, named):
        while names := queue.take():
            try:
                for name, failure in queue.run(names):
                    if failure:
                        self.settle(named[name], CAUGHT, f"KUnit: {failure}")
                    else:
                        self.left.append(named[name])
            finally:
                queue.done()

    def kunit(self, todo, half):
        """Build modules, while guests try those that are built."""
        share = -(-len(todo) // self.args.jobs)
        queue = trials.KunitQueue(self.builder, max(1, min(self.args.batch, share)))
        named = {m.name: m for m in todo}
        self.parallel([lambda: self.fill(queue, todo, half)] +
                     [lambda: self.guests(queue, named)] * self.args.jobs)

    def parallel(self, works):
        """Run each in a thread; the first exception ends all."""
        pool = concurrent.futures.ThreadPoolExecutor(len(works))
        try:
            for future in concurrent.futures.as_completed(map(pool.submit, works)):
                future.result()
        except BaseException:
            trials.interrupt()
            raise
        finally:
            pool.shutdown()

    def loop(self):
        while True:
            try:
                mutation = self.left.pop()
            except IndexError:
                return
            failure = trials.loopback(self.builder, mutation.name)
            if failure:
                self.settle(mutation, CAUGHT, f"loopback: {failure}")
            else:
                self.settle(mutation, SURVIVED, "")

    def all(self, mutations):
        again = self.args.resume or self.args.missing or self.args.stale
        half = [m for m in mutations if again and not self.args.kunit and
                self.results.half(m)]
        todo = [m for m in mutations if not self.results.get(m) and m not in half]
        for mutation in mutations:
            if mutation not in todo + half:
                tap(mutation, self.results.get(mutation))
        if todo + half:
            self.baseline()
            begin = cpu_time()
            self.kunit(todo, half)
            if self.args.kunit:
                for mutation in self.left:
                    self.settle(mutation, SURVIVED, "", loopback_left=True)
            else:
                self.parallel([self.loop] * self.args.jobs)
            print(f"# {(cpu_time() - begin) / len(todo + half):.1f} s of CPU for each of "
                  f"{len(todo + half)}", flush=True)
        return [self.results.get(m)["verdict"] for m in mutations]


def cpu_time():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def try_apply(mutations):
    """Apply each to a fresh copy of its files."""
    status = 0
    scratch = trials.cache_dir() / "mutate" / "apply"
    for mutation in mutations:
        for hunk in mutation.hunks:
            target = scratch / hunk.file
            target.parent.mkdir(parents=True, exist_ok=True)
            if (TOP / hunk.file).exists():
                shutil.copy(TOP / hunk.file, target)
        try:
            mutation.apply(scratch)
            print(f"ok {mutation}")
        except Refused as reason:
            print(f"not ok {mutation.number:02d} {reason}")
            status = 1
    shutil.rmtree(scratch, ignore_errors=True)
    return status


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("list", "apply", "check", "kunit", "no-baseline", "table"):
        parser.add_argument(f"--{flag}", action="store_true")
    which = parser.add_mutually_exclusive_group()
    for flag in ("stale", "resume", "missing"):
        which.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--only", action="append", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    if args.jobs < 1 or args.batch < 1:
        parser.error("--jobs and --batch must be at least 1")
    return args


def trial(every, mutations, args):
    """Run over some breakages. Returns the exit status."""
    home = trials.cache_dir() / "mutate"
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("another run of mutate is in progress") from None
        print(f"TAP version 13\n1..{len(mutations)}", flush=True)
        builder = trials.Builder(home)
        results = verdicts.Results(builder.tree, every, args)
        found = Run(builder, args, results).all(mutations)
    count = {v: found.count(v) for v in (CAUGHT, SURVIVED, ERROR)}
    print(f"# {count[CAUGHT]} caught, {count[SURVIVED]} survived, "
          f"{count[ERROR]} errors; logs in {home}")
    if args.table or mutations == every:
        results.write_page(every, trials.KERNEL)
    return 0 if count[CAUGHT] == len(mutations) else 1


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        every = read_table()
        mutations = choose(every, [w for words in args.only for w in words])
        if args.list:
            print("\n".join(f"{m} [{m.hunks[0].file.rpartition('/')[2]}]"
                            for m in mutations))
            return 0
        if args.apply:
            return try_apply(mutations)
        if args.check:
            return 0 if verdicts.check(mutations, verdicts.load()) else 1
        return trial(every, mutations, args)
    except Refused as reason:
        print(f"mutate: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mutate: interrupted; continue with --resume", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
