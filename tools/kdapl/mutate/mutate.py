#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Mutation tests: break the module on purpose, one line at a time.

  tools/kdapl/mutate/mutate.py [--apply] [--since REV] [PATTERN...]

For each breakage in tests/mutations/*.mut: apply it to a copy of the tree, build
kdapl.ko, and run KUnit and, if that does not catch it, the short loopback in a guest. A test
must fail; the first failure ends the trial. A breakage that survives shows a gap in the tests.
One that does not apply or build is an error in the table. First the tests must pass on the
unbroken tree.

  --apply    only print them, and check that each applies (seconds); check-style does this
  --since    only breakages that are new since a commit, or whose function has changed
  PATTERN    only breakages with these names

Prints TAP, also to build/mutate.tap; the exit status is 0 if all were caught. The cache keeps
the verdicts on a tree, so a run that was stopped continues where it stopped. A trial that
reaches a time limit of the host gives no verdict, and the next run tries it again.
"""

import argparse
import concurrent.futures
import fcntl
import signal
import sys

sys.dont_write_bytecode = True
from breakages import TOP, Mutation, Refused, choose, read_table, since  # noqa: E402
import trials  # noqa: E402 (in this directory)
from trials import CAUGHT, ERROR, SURVIVED, UNDECIDED  # noqa: E402

BATCH, JOBS = 8, 2      # modules that one KUnit guest tries in turn, guests at a time


class Run:
    """Tries breakages, and prints and stores the verdicts."""

    def __init__(self, home, tap):
        self.tap, self.trials = tap, trials.Trials(home, self.say)
        # Record of a breakage -> its result on this tree, in a line of a file
        path = home / "verdicts" / self.trials.version()
        path.parent.mkdir(exist_ok=True)
        self.file = open(path, "a+", encoding="utf-8", buffering=1)
        self.file.seek(0)
        self.results = dict(line.rstrip("\n").split("\t") for line in self.file)

    def say(self, line):
        print(line, flush=True)
        print(line, file=self.tap, flush=True)

    def settle(self, mutation, verdict, reason=""):
        result = " ".join(f"{verdict}{reason and ': '}{reason}".split())
        self.results[mutation.record()] = result
        if verdict in (CAUGHT, SURVIVED):
            self.file.write(f"{mutation.record()}\t{result}\n")
        self.show(mutation)

    def show(self, mutation):
        result = self.results[mutation.record()]
        good = result.startswith(CAUGHT if mutation.hunks else SURVIVED)
        self.say(f"{'ok' if good else 'not ok'} {mutation}: {result}")

    def survivors(self, what, trial):
        """Settle all others of a trial, which yields breakages, verdicts and reasons."""
        for mutation, verdict, reason in trial:
            if verdict == SURVIVED:
                yield mutation
            else:
                self.settle(mutation, verdict, f"{what}: {reason}")

    def batch(self, mutations):
        """Build some breakages, and try them until a test fails."""
        left = self.survivors("build", map(self.trials.build, mutations))
        left = self.survivors("KUnit", self.trials.kunit(list(left)))
        for mutation in self.survivors("loopback", map(self.trials.loopback, list(left))):
            self.settle(mutation, SURVIVED)

    def batches(self, mutations):
        """Try two batches at a time, one of which may build; an exception ends all."""
        size = max(1, min(BATCH, -(-len(mutations) // JOBS)))
        parts = [mutations[i:i + size] for i in range(0, len(mutations), size)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            try:
                list(pool.map(self.batch, parts))
            except BaseException:
                trials.interrupt()
                raise

    def all(self, mutations):
        """Returns the exit status."""
        unbroken = Mutation(0, "unbroken", "all tests pass")
        self.say(f"TAP version 13\n1..{len(mutations) + 1}")
        todo = [m for m in [unbroken, *mutations] if m.record() not in self.results]
        for mutation in [unbroken, *mutations]:
            if mutation not in todo:
                self.show(mutation)
        if todo:
            self.trials.build_unbroken()
        if unbroken in todo:
            self.batches([todo.pop(0)])
        if self.results[unbroken.record()] != SURVIVED:
            raise Refused(f"a test fails on the unbroken tree, see {self.trials.home}/unbroken.log")
        self.batches(todo)
        found = [self.results[m.record()].partition(":")[0] for m in mutations]
        self.say("# " + ", ".join(f"{found.count(v)} {v}" for v in
                                  (CAUGHT, SURVIVED, UNDECIDED, ERROR)) +
                 f"; {self.trials.again} guests booted again; logs in {self.trials.home}")
        return 0 if found.count(CAUGHT) == len(found) else 1


def try_apply(mutations):
    """Does each apply?"""
    status = 0
    for mutation in mutations:
        try:
            mutation.broken(TOP)
            print(f"ok {mutation}")
        except Refused as reason:
            print(f"not ok {mutation.number} {reason}")
            status = 1
    return status


def try_all(mutations):
    """Returns the exit status."""
    home = trials.CACHE / "mutate"
    home.mkdir(parents=True, exist_ok=True)
    _ = [mutation.broken(TOP) for mutation in mutations]    # refused, if one does not apply
    (TOP / "build").mkdir(exist_ok=True)
    with open(home / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("another run of mutate is in progress") from None
        with open(TOP / "build/mutate.tap", "w", encoding="utf-8") as tap:
            return Run(home, tap).all(mutations)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--since", metavar="REV")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        mutations = choose(read_table(), args.patterns or ["*"])
        if args.since:
            mutations = since(mutations, args.since)
        if not mutations:
            print(f"1..0 # no function with a breakage differs from {args.since}")
            return 0
        return try_apply(mutations) if args.apply else try_all(mutations)
    except Refused as reason:
        sys.exit(f"mutate: {reason}")
    except KeyboardInterrupt:
        sys.exit("mutate: interrupted; the next run continues")


if __name__ == "__main__":
    sys.exit(main())
