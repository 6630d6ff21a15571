#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A table of the loopback cases and the personalities of the adapter model.

  tools/kdapl/check/matrix.py FILE.tap...

A row is a group of cases, a column a run. An entry is the number of cases that passed,
with those that failed (f), were skipped (s), and were not run (n), although another run has
them. Below are the cases that failed, the first that was not run, and the reasons of skips.
"""

import re
import sys
from pathlib import Path

CASE = re.compile(r"^ *(not )?ok \d+ - loop ([\w-]+)/(\S+)(?:.*# SKIP (.*))?")


def read(text):
    """The results of one run: (group, case) -> passed (""), failed ("f"), or why skipped."""
    found = {}
    for line in text.splitlines():
        match = CASE.match(line)
        if match:
            failed, group, case, skipped = match.groups()
            found[group, case] = "f" if failed else skipped and "s" + skipped or ""
    return found


def entry(run, cases):
    """The counts of a run for some cases."""
    results = [run.get(case, "n")[:1] for case in cases]
    return str(results.count("")) + "".join(f"+{results.count(kind)}{kind}"
                                            for kind in "fsn" if kind in results)


def remarks(name, run, cases):
    """What the entries of a run do not tell."""
    for group, case in cases:
        if run.get((group, case)) == "f":
            yield f"{name}: failed: {group}/{case}"
    missing = ["/".join(case) for case in cases if case not in run]
    if missing:
        yield f"{name}: {len(missing)} not run, the first is {missing[0]}"
    reasons = [result[1:] for result in run.values() if result.startswith("s")]
    for reason in dict.fromkeys(reasons):
        yield f"{name}: {reasons.count(reason)} skipped: {reason}"


def table(runs):
    """The lines of the table for runs: name -> results."""
    cases = list(dict.fromkeys(case for run in runs.values() for case in run))
    groups = {}
    for case in cases:
        groups.setdefault(case[0], []).append(case)
    width = max(map(len, [*groups, "all"]))
    widths = [max(18, len(name) + 2) for name in runs]
    yield f"{'':{width}}" + "".join(map(str.rjust, runs, widths))
    for group, members in [*groups.items(), ("all", cases)]:
        yield f"{group:{width}}" + "".join(
            entry(run, members).rjust(column) for run, column in zip(runs.values(), widths))
    for name, run in runs.items():
        yield from remarks(name, run, cases)


def show(names, folder):
    """Print the table of jobs whose output is in a folder. A job without output has not run."""
    print("== loopback on the adapter model: cases that passed, failed (f), were skipped (s), "
          "not run (n)")
    paths = {name: folder / f"{name}.tap" for name in names}
    for line in table({name: read(path.read_text("utf-8", "replace")) if path.exists() else {}
                       for name, path in paths.items()}):
        print("   " + line)


if __name__ == "__main__":
    for text in table({Path(name).stem: read(Path(name).read_text("utf-8", "replace"))
                       for name in sys.argv[1:]}):
        print(text)
