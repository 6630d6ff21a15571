#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Report the lines and branches of kdapl.ko that the tests reach.

  tools/kdapl/check/coverage.py COPY BOX...

COPY is the build copy that check/build created with KDAPL_GCOV=1. Each BOX is the folder
of a guest that used it, with the counts of that guest (BOX/gcov/*.gcda). The counts of
all guests are added. "make coverage" runs the guests and this script.

Prints a table of the files, and every line of the posting and completion path
(fastpath.py) that no test reached. Documentation/infiniband/kdapl-coverage.rst must
explain each of these lines, and no other line. An explanation names file and function in
a section title, "post.c: dat_ep_post_send()", repeats the lines in a literal block, and
gives the reason after it. A reason that begins with "Now and then" is for lines that only
some runs reach. Branches are only reported, because the compiler generates branches that
are not in the sources. Prints TAP.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
import fastpath  # noqa: E402 (in this folder)

TOP = Path(__file__).resolve().parents[3]
PAGE = TOP / "Documentation/infiniband/kdapl-coverage.rst"
MODULE = fastpath.FOLDER
PATH = frozenset(Path(file).name for file in fastpath.FILES)
GCOV = ["gcov-12", "--json-format", "--stdout", "--branch-probabilities"]
TITLE = re.compile(r"^([\w.]+): (\w+)\(\)$")
# The line of a function definition with the name. gcov does not report the names of
# functions that are always inlined
HEAD = re.compile(r"^(?=\w)[\w\s*]*?\b(\w+)\((?!.*;$)")
SOMETIMES = "Now and then"


@dataclass
class Line:
    """Counts of one line, summed over all guests."""
    count: int = 0
    branches: Counter = field(default_factory=Counter)


def gcov(copy, counts):
    """Output of gcov for the counts of one guest: a JSON object per source."""
    with tempfile.TemporaryDirectory() as name:
        for notes in (copy / MODULE).glob("*/*.gcno"):
            (Path(name) / notes.name).symlink_to(notes)
        files = sorted(counts.glob("*.gcda"))
        for data in files:
            (Path(name) / data.name).symlink_to(data.resolve())
        if not files:
            return []
        done = subprocess.run([*GCOV, *(data.name for data in files)], cwd=name, check=False,
                              text=True, capture_output=True)
    if done.returncode or "mismatch" in done.stderr:
        sys.exit(f"gcov failed on {counts} with the notes of {copy}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def add(lines, found, copy):
    """Add the output of gcov to lines[file, number]."""
    folder = f"{copy}/{MODULE}/"
    for unit in found:
        for source in unit["files"]:
            if not source["file"].startswith(folder):
                continue
            # No two files of the module that have code have the same name
            name = Path(source["file"]).name
            for row in source["lines"]:
                line = lines[name, row["line_number"]]
                line.count += row["count"]
                for number, branch in enumerate(row["branches"]):
                    line.branches[number] += branch["count"]


def share(part, whole):
    # Rounded down, so that 100 % means all
    return f"{part:5} of {whole:5} {1000 * part // whole / 10 if whole else 100:6.1f} %"


def row(name, lines):
    """A row of the table."""
    branches = [count for line in lines for count in line.branches.values()]
    print(f"# {name:18} {share(sum(line.count > 0 for line in lines), len(lines))}   "
          f"{share(sum(count > 0 for count in branches), len(branches))}")


def table(lines):
    print(f"# {'':18} {'lines':^22}   {'branches':^22}")
    files = sorted({name for name, _ in lines})
    for name in files:
        row(name, [line for (file, _), line in lines.items() if file == name])
    row("the path", [line for (file, _), line in lines.items() if file in PATH])
    row("the module", list(lines.values()))


def function_of(text, number):
    """Name of the function with line NUMBER in the lines of a file."""
    return next((head[1] for line in reversed(text[:number]) if (head := HEAD.match(line))), "")


def uncovered(lines, copy):
    """Lines of the path that no test reached, as (file, function, text) -> line numbers."""
    found = defaultdict(list)
    for path in sorted(fastpath.FILES):
        name = Path(path).name
        text = (copy / path).read_text(encoding="utf-8").splitlines()
        for (file, number), line in sorted(lines.items()):
            if file == name and not line.count:
                key = file, function_of(text, number), text[number - 1].strip()
                found[key].append(number)
    return found


def explained(page):
    """Lines that the page explains, as (file, function, text) -> reasons."""
    found, place, block, reason = defaultdict(list), None, [], []

    def close():
        for text in block:
            found[(*place, text)].append(" ".join(reason))
        block.clear()
        reason.clear()

    for line in page.read_text(encoding="utf-8").splitlines() + ["end: end()"]:
        if title := TITLE.match(line):
            close()
            place = title.groups()
        elif place and line.startswith("\t"):
            if reason:
                close()
            block.append(line.strip())
        elif block and line:
            reason.append(line)
    return found


def compare(missed, reasons):
    """Messages about lines without an explanation and explanations without a line."""
    unexplained, stale = [], []
    for key in sorted(missed.keys() | reasons.keys()):
        name, function, text = key
        numbers, why = missed.get(key, []), reasons.get(key, [])
        if len(numbers) > len(why) or not all(why):
            unexplained.append(f"{name}:{','.join(map(str, numbers))}: {function}(): {text}")
        elif len(numbers) < sum(not reason.startswith(SOMETIMES) for reason in why):
            stale.append(f"{name}: {function}(): {text}")
    return unexplained, stale


def result(number, bad, name):
    for line in bad:
        print(f"# {line}")
    print(f"{'not ok' if bad else 'ok'} {number} - {name}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    copy, boxes = Path(sys.argv[1]).resolve(), sys.argv[2:]
    lines, without = defaultdict(Line), []
    for box in boxes:
        found = gcov(copy, Path(box) / "gcov")
        if not found:
            without.append(f"{box}: expected gcov/*.gcda, found none")
        add(lines, found, copy)
    table(lines)
    missed = uncovered(lines, copy)
    for (name, function, text), numbers in missed.items():
        for number in numbers:
            print(f"# no test reaches {name}:{number}: {function}(): {text}")
    unexplained, stale = compare(missed, explained(PAGE))
    print("1..3")
    result(1, without, "every guest has saved its counts")
    result(2, unexplained, f"{PAGE.name} explains every line of the path that no test reaches")
    result(3, stale, f"{PAGE.name} explains no other line")
    return 1 if without or unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main())
