#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does anything in the samples of a long run grow?

  tools/kdapl/check/trends.py FILE

FILE is what tests/consumers/stress/soak writes: a line of names, then one line for each round. A line
is fitted to each column by least squares. The column grows if its slope, less three
standard errors, is more than the limit for a round: then a leak is more likely than noise.
The first fifth of the rounds is left out, because caches are filled in it.

Prints a table as TAP comments, and a TAP result for each column.
"""

import csv
import sys
from statistics import linear_regression, pvariance

# Column: the growth for each round that is accepted, and what it is
LIMITS = {
    "used_kib": (64, "memory in use"),
    "unreclaimable_kib": (16, "slab memory that cannot be freed"),
    "percpu_kib": (0.5, "memory of each CPU"),
    "vmalloc_kib": (0.5, "memory from vmalloc()"),
    "kmalloc_bytes": (1024, "memory from kmalloc()"),
    "objects": (0.02, "objects of kdapl.ko"),
    "slots": (0.5, "slots in use"),
}
LEAST = 10          # rounds
WARM_UP = 0.2
ERRORS = 3


def fit(xs, ys):
    """Slope of the line through the points, and the standard error of the slope."""
    slope, start = linear_regression(xs, ys)
    rest = sum((y - start - slope * x) ** 2 for x, y in zip(xs, ys))
    return slope, (rest / (len(xs) - 2) / (pvariance(xs) * len(xs))) ** 0.5


def evaluate(rows):
    """Yields (column, first, last, slope, error, limit, bad) for each column."""
    if len(rows) < LEAST:
        raise ValueError(f"expected {LEAST} rounds or more, got {len(rows)}")
    rows = rows[int(len(rows) * WARM_UP):]
    rounds = [float(row["round"]) for row in rows]
    for column, (limit, _) in LIMITS.items():
        values = [float(row[column]) for row in rows]
        slope, error = fit(rounds, values)
        yield column, values[0], values[-1], slope, error, limit, slope - ERRORS * error > limit


def main():
    with open(sys.argv[1], encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        found = list(evaluate(rows))
    except (KeyError, TypeError, ValueError) as fault:
        print(f"# {sys.argv[1]}: {fault!r}\nnot ok 1 - the samples can be evaluated")
        return 1
    print(f"# {len(rows)} rounds, {rows[-1]['seconds']} s")
    print(f"# {'':18}{'first':>12}{'last':>12}{'per round':>12}{'error':>10}{'limit':>8}")
    for column, first, last, slope, error, limit, _ in found:
        print(f"# {column:18}{first:12.0f}{last:12.0f}{slope:12.3f}{error:10.3f}{limit:8g}")
    for number, (column, *_, limit, bad) in enumerate(found, 1):
        print(f"{'not ' * bad}ok {number} - {LIMITS[column][1]} does not grow by more than "
              f"{limit:g} for each round ({column})")
    print(f"1..{len(found)}")
    return int(any(entry[-1] for entry in found))


if __name__ == "__main__":
    sys.exit(main())
