#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A table of what a run has tried: for each job what its tests counted.

  tools/kdapl/check/tried.py FILE.tap...

The figures are read from the results and comments of the tests themselves, and
summed over a job. A result that is "not ok" counts nothing.
"""

import re
import sys
from pathlib import Path

# What a line of TAP says was done, and what to call it
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
# Said even if there are none
ALWAYS = ("lines of reports",)


def figures(text):
    """Sums of what was counted, in the order of the text."""
    found = {}
    for line in text.splitlines():
        for pattern, name in FIGURES:
            match = pattern.match(line)
            if match and (int(match[1]) or name in ALWAYS):
                found[name] = found.get(name, 0) + int(match[1])
    return found


def told(text):
    """The figures as words."""
    return ", ".join(f"{count:,} {name}" for name, count in figures(text).items())


def row(name, text, seconds, result):
    """A line of the table, from what a job printed and how it was judged."""
    return (f"   {name:28}{seconds:6.0f} s{result.passed:5} passed{result.failed:3} failed"
            f"{result.skipped:4} skipped  {told(text)}").rstrip()


def main():
    for name in sys.argv[1:]:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        print(f"{Path(name).stem}: {told(text) or 'nothing counted'}")


if __name__ == "__main__":
    main()
