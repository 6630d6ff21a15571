#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A table of the loopback cases and the personalities of the adapter model.

  tools/kdapl/check/matrix.py FILE.tap...

A row is a group of cases, a column a run. An entry is the number of cases that passed,
with those that failed (f) and were skipped (s). Below are the cases that failed.
"""

import re
import sys
from pathlib import Path

CASE = re.compile(r"^ *(not )?ok \d+ - loop ([\w-]+)/(\S+)(.*SKIP)?")


def read(text):
    """The results of one run: (group, case) -> passed, failed or skipped."""
    found = {}
    for line in text.splitlines():
        match = CASE.match(line)
        if match:
            failed, group, case, skipped = match.groups()
            found[group, case] = "f" if failed else "s" if skipped else ""
    return found


def entry(run, group):
    """The counts of a group."""
    results = [result for (name, _), result in run.items() if name == group]
    text = str(results.count(""))
    return text + "".join(f"+{results.count(kind)}{kind}" for kind in "fs" if kind in results)


def table(runs):
    """The lines of the table for runs: name -> results."""
    groups = list(dict.fromkeys(group for run in runs.values() for group, _ in run))
    yield f"{'':12}" + "".join(f"{name:>18}" for name in runs)
    for group in groups:
        yield f"{group:12}" + "".join(f"{entry(run, group):>18}" for run in runs.values())
    for name, run in runs.items():
        for (group, case), result in run.items():
            if result == "f":
                yield f"{name}: failed: {group}/{case}"


def show(names, folder):
    """Print the table of jobs whose output is in a folder."""
    print("== loopback on the adapter model: cases that passed, failed (f), were skipped (s)")
    for line in table({name: read((folder / f"{name}.tap").read_text("utf-8", "replace"))
                       for name in names if (folder / f"{name}.tap").exists()}):
        print("   " + line)


if __name__ == "__main__":
    for text in table({Path(name).stem: read(Path(name).read_text("utf-8", "replace"))
                       for name in sys.argv[1:]}):
        print(text)
