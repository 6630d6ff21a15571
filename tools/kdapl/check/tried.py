#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A table of the work done by a run: the counts of each job's tests.

  tools/kdapl/check/tried.py FILE.tap...

The counts come from the results and comments in the tests' output, and are summed
over a job. A result that is "not ok" is not counted.
"""

import re
import sys
from pathlib import Path

# Pattern of a line of TAP with a count, and the name of the count
FIGURES = (
    (re.compile(r"^ *ok \d+ - (?:[^:]*: )?each of (\d+) posts is accounted"), "posts accounted for"),
    (re.compile(r"^ *ok \d+ - (\d+) calls, seed"), "random calls"),
    (re.compile(r"^ *ok \d+ - (\d+) failure points in"), "failure points"),
    (re.compile(r"^ *ok \d+ - .*, (\d+) rounds$"), "rounds"),
    (re.compile(r"^ *# (\d+) messages, \d+ posts"), "messages"),
    (re.compile(r"^ *# \d+ messages, (\d+) posts"), "posts"),
    (re.compile(r"^ *# (\d+) events, \d+ CPUs"), "events of several CPUs"),
    (re.compile(r"^ *# netem: .*?\(dropped (\d+),"), "packets lost on purpose"),
    (re.compile(r"^ *# console: \d+ lines of reports, (\d+) data races"), "data races of others"),
    (re.compile(r"^ *# console: (\d+) lines of reports"), "lines of reports"),
)
# Printed even if 0
ALWAYS = ("lines of reports",)


def figures(text):
    """Sums of the counts, in the order of the text."""
    found = {}
    for line in text.splitlines():
        for pattern, name in FIGURES:
            match = pattern.match(line)
            if match and (int(match[1]) or name in ALWAYS):
                found[name] = found.get(name, 0) + int(match[1])
    return found


def summary(text):
    """The sums as text."""
    return ", ".join(f"{count:,} {name}" for name, count in figures(text).items())


def row(name, text, seconds, result):
    """A line of the table, from the output and the result of a job."""
    return (f"   {name:28}{seconds:6.0f} s{result.passed:5} passed{result.failed:3} failed"
            f"{result.skipped:4} skipped  {summary(text)}").rstrip()


def main():
    for name in sys.argv[1:]:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        print(f"{Path(name).stem}: {summary(text) or 'no counts'}")


if __name__ == "__main__":
    main()
