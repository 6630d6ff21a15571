# SPDX-License-Identifier: GPL-2.0
"""Read TAP and KTAP: count the leaf results, and print the failures.

Used by run_jobs.py and contract.py. kunit_parser.py of the kernel needs a KTAP header at each level,
ignores results beyond a plan even if they failed, and counts a failure with SKIP as skipped.
"""

import re

RESULT = re.compile(r"^( *)(ok|not ok) (\d+)(?: -)? ?(.*)$")
PLAN = re.compile(r"^( *)1\.\.(\d+)(.*)$")
SKIP = re.compile(r"# *SKIP", re.I)


class Tap:
    """Counts of one TAP text. A result after deeper results is their sum. It counts only
    if it is a failure and none of them is."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []      # name, with the comment lines before it
        self.seen = {}          # indent -> results since its plan
        self.plan = {}          # indent -> results planned
        self.below = {}         # indent -> failures below it
        self.notes = []
        self.names = {}         # indent -> name of the subtest

    def fail(self, name, indent=0):
        path = [self.names[i] for i in sorted(self.names) if i <= indent]
        self.failed += 1
        self.failures.append(
            "\n    ".join([": ".join(path + [name])] + self.notes[-20:]))
        self.notes = []

    def close(self, depth):
        """Everything deeper than depth has ended: compare the results with the plans."""
        for indent in sorted((i for i in self.plan if i > depth), reverse=True):
            want, got = self.plan.pop(indent), self.seen.get(indent, 0)
            if want != got:
                self.fail(f"expected {want} results as planned, got {got}", indent)
        self.names = {i: n for i, n in self.names.items() if i <= depth}
        deeper = [i for i in self.seen if i > depth]
        for indent in deeper:
            del self.seen[indent]
        return bool(deeper)

    def line(self, line):
        plan, result = PLAN.match(line), RESULT.match(line)
        subtest = re.match(r"^( *)# Subtest: (.*)", line)
        if plan:
            indent = len(plan[1])
            self.close(indent)
            if indent in self.plan:
                self.fail("expected one plan, got a second one", indent)
            self.plan[indent], self.seen[indent] = int(plan[2]), 0
            if not int(plan[2]) and SKIP.search(plan[3]):
                self.skipped += 1
            elif not int(plan[2]):
                self.fail("expected a plan with tests, got 1..0 without SKIP", indent)
        elif result:
            self.result(len(result[1]), result[2] == "ok", result[4])
        elif subtest:
            # The previous subtest of this depth has ended, even without a result
            self.close(len(subtest[1]) - 1)
            self.names[len(subtest[1])] = subtest[2]
        elif line.lstrip().startswith("#"):
            self.notes.append(line.strip())

    def result(self, indent, good, name):
        failures = self.failed
        is_sum = self.close(indent)
        self.seen[indent] = self.seen.get(indent, 0) + 1
        before = self.below.pop(indent, 0)
        if not is_sum:
            if not good:
                self.fail(name, indent)
            elif SKIP.search(name):
                self.skipped += 1
            else:
                self.passed += 1
        elif not good and self.failed == failures and not before:
            self.fail(name, indent)
        if good:
            self.notes = []
        for outer in range(indent):
            self.below[outer] = self.below.get(outer, 0) + \
                (self.failed - failures)

    def read(self, text):
        for line in text.splitlines():
            self.line(line.rstrip())
        self.close(-1)
        return self
