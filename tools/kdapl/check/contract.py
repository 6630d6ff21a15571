#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check which tests assert which clauses of the contract.

  tools/kdapl/check/contract.py [--brief]

Reads build/logs/*.tap, the output of the last make check, and the clauses of
Documentation/infiniband/kdapl-contract.rst. A test names the clauses that it
asserts in a diagnostic "clauses: S-31 G-25" before its result. They count if the
result is a pass, not a failure or a skip. The sources of the tests are not read.

Prints a table and, as its last line, "clauses: N of M asserted, K open". Fails if a
T clause is neither asserted nor listed as open, if a test that names it failed or has
no result, if a test without clauses failed, if a test names an unknown clause, or if
more than 8 clauses are open.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import tap  # noqa: E402 (in this directory)

TOP = Path(__file__).resolve().parents[3]
DOCUMENT = TOP / "Documentation/infiniband/kdapl-contract.rst"
LOGS = TOP / "build/logs"
MOST_OPEN = 8
CLAUSE = re.compile(r"^([A-Z]-\d\d[a-z]?) \(([TND])\)$")
FAMILIES = re.compile(r"^Families: ([A-Z](?: [A-Z])*)\.$")
OPEN = re.compile(r"^:open ([A-Z]-\d\d[a-z]?): (.*\S)")
CLAIM = re.compile(r"^ *# (?:[^:]*: )?clauses: (.*)$")


class Contract:
    """The clauses of the document: id -> kind, and id -> reason for being open."""

    def __init__(self, path):
        self.kind, self.open, self.families = {}, {}, []
        self.errors = []
        lines = path.read_text("utf-8").splitlines()
        for line, text in zip(lines, lines[1:] + [""]):
            clause, is_open = CLAUSE.match(line), OPEN.match(line)
            families = FAMILIES.match(line)
            if families:
                self.families = families[1].split()
            elif clause:
                if clause[1] in self.kind:
                    self.errors.append(f"{DOCUMENT.name} defines {clause[1]} twice")
                if not re.match(r" +\S", text):
                    self.errors.append(f"{DOCUMENT.name}: {clause[1]} has no text")
                self.kind[clause[1]] = clause[2]
            elif is_open:
                self.open[is_open[1]] = is_open[2]
        for name in sorted({name[0] for name in self.kind} ^ set(self.families)):
            self.errors.append(f"{DOCUMENT.name}: family {name} is not both "
                               "listed at the top and defined")
        for name in self.open:
            if self.kind.get(name) != "T":
                self.errors.append(f"{DOCUMENT.name}: {name} is open, but not a T clause")


class Claims(tap.Tap):
    """A TAP text, with the clauses that each leaf result names."""

    def __init__(self, job):
        super().__init__()
        self.job = job
        self.claimed = []
        self.passed_by = defaultdict(list)
        self.failed_by = defaultdict(list)
        self.with_clause = 0        # failures that name a clause

    def line(self, line):
        claim = CLAIM.match(line)
        if claim:
            self.claimed += claim[1].split()
        super().line(line)

    def result(self, indent, good, name):
        # Must come before super().result(), which closes the deeper results
        is_sum = any(i > indent for i in self.seen)
        path = [self.names[i] for i in sorted(self.names) if i <= indent]
        super().result(indent, good, name)
        if is_sum:
            return
        if not good or not tap.SKIP.search(name):
            self.with_clause += not good and bool(self.claimed)
            by = self.passed_by if good else self.failed_by
            for clause in dict.fromkeys(self.claimed):
                by[clause].append((self.job, path, name))
        self.claimed = []

    def read(self, text):
        super().read(text)
        # Clauses were named, but no result followed
        for clause in dict.fromkeys(self.claimed):
            self.failed_by[clause].append((self.job, [], "no result"))
        return self


def short(tests):
    """Job and name of the first two tests, and the number of others."""
    names = []
    for job, path, name in tests:
        # The parameters of a parameterized case count as the case
        suite = [p for p in path if p not in ("run.sh",)]
        test = suite[-1] if len(suite) > 1 else name.split(" # ")[0]
        test = f"{re.sub('-(own|stock)-', '-', job)}: {test}"
        if test not in names:
            names.append(test)
    more = f" +{len(names) - 2}" if len(names) > 2 else ""
    return "; ".join(names[:2]) + more


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--brief", action="store_true",
                        help="print only errors and the last line")
    args = parser.parse_args()
    contract = Contract(DOCUMENT)
    passed, failed = defaultdict(list), defaultdict(list)
    logs = sorted(LOGS.glob("*.tap"))
    unnamed = []
    for log in logs:
        claims = Claims(log.stem)
        claims.read(log.read_text("utf-8", "replace"))
        if claims.failed > claims.with_clause:
            # The test may have failed before it named the clauses that it asserts
            unnamed.append(f"{log.stem}: {claims.failed - claims.with_clause} failures "
                          "without a clause")
        for clause, tests in claims.passed_by.items():
            passed[clause] += tests
        for clause, tests in claims.failed_by.items():
            failed[clause] += tests
    errors = contract.errors + unnamed
    if not logs:
        errors.append(f"expected *.tap in {LOGS}: run make check first")
    for clause in sorted((set(passed) | set(failed)) - set(contract.kind)):
        errors.append(f"{DOCUMENT.name} does not define {clause}, which a test names: "
                      f"{short(passed[clause] + failed[clause])}")
    asserted = still_open = wanted = 0
    for clause, kind in contract.kind.items():
        result, where = {"N": "not relied on", "D": "documented"}.get(kind), ""
        if kind == "T":
            wanted += 1
            where = short(failed[clause] or passed[clause])
            if failed[clause]:
                result = "FAILED"
                errors.append(f"{clause}: this test failed: {where}")
            elif passed[clause]:
                result = "asserted"
                asserted += 1
            elif clause in contract.open:
                result, where = "open", contract.open[clause]
                still_open += 1
            else:
                result = "MISSING"
                errors.append(f"{clause}: no test that ran asserts it")
        if not args.brief:
            print(f"{clause:5} {kind} {result:13} {where}".rstrip())
    if still_open > MOST_OPEN:
        errors.append(f"expected at most {MOST_OPEN} open clauses, {still_open} are open")
    for error in errors:
        print(f"not ok: {error}")
    print(f"clauses: {asserted} of {wanted} asserted, {still_open} open")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
