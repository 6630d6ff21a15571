#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Report the lines of kdapl.ko that the tests reach.

  tools/kdapl/check/coverage.py COPY BOX...

COPY is the build copy that check/build created with KDAPL_GCOV=1. Each BOX is the folder
of a guest that used it, with the counts of that guest (BOX/gcov/*.gcda). gcovr adds the
counts of all guests. "make coverage" runs the guests and this script.

Prints the table of gcovr, and every line of the posting and completion path
(fastpath.py) that no test reached. Documentation/infiniband/kdapl-coverage.rst must
explain each of these lines, and no other line. An explanation names file and function in
a section title, "post.c: dat_ep_post_send()", repeats the lines in a literal block, and
gives the reason after it. A reason that begins with "Now and then" is for lines that only
some runs reach. Lines with nothing but braces do not count. Prints TAP.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import fastpath  # noqa: E402 (in this folder)

TOP = Path(__file__).resolve().parents[3]
PAGE = TOP / "Documentation/infiniband/kdapl-coverage.rst"
MODULE = fastpath.FOLDER
TITLE = re.compile(r"^([\w.]+): (\w+)\(\)$")
# The line of a function definition with the name. gcov does not report the names of
# functions that are always inlined
HEAD = re.compile(r"^(?=\w)[\w\s*]*?\b(\w+)\((?!.*;$)")
SOMETIMES = "Now and then"


def gcovr(copy, *arguments):
    """Run gcovr. Its warnings are about counts that do not fit the objects in the copy."""
    done = subprocess.run(["gcovr", "--gcov-executable", "gcov-12", "--root", copy / MODULE,
                           *arguments], check=False, text=True, capture_output=True)
    if done.returncode or done.stderr:
        sys.exit(f"gcovr failed on {copy}: {done.stderr.strip()}")
    return done.stdout


def counts(copy, boxes):
    """Add the counts of all guests. Returns file -> {line: count}, and prints a table."""
    with tempfile.TemporaryDirectory() as name:
        added = []
        for number, box in enumerate(boxes):
            folder = Path(name) / str(number)
            folder.mkdir()
            for path in [*(copy / MODULE).glob("*/*.gcno"), *(Path(box) / "gcov").glob("*.gcda")]:
                (folder / path.name).symlink_to(path.resolve())
            gcovr(copy, "--json", f"{folder}.json", folder)
            added += ["--add-tracefile", f"{folder}.json"]
        for line in gcovr(copy, *added, "--json", f"{name}/all", "--txt").splitlines():
            print(f"# {line}")
        files = json.loads(Path(name, "all").read_text(encoding="utf-8"))["files"]
    return {file["file"]: {line["line_number"]: line["count"] for line in file["lines"]
                           if not line["gcovr/noncode"]} for file in files}


def function_of(text, number):
    """Name of the function with line NUMBER in the lines of a file."""
    return next((head[1] for line in reversed(text[:number]) if (head := HEAD.match(line))), "")


def uncovered(lines, copy):
    """Lines of the path that no test reached, as (file, function, text) -> line numbers."""
    found = defaultdict(list)
    for path in sorted(fastpath.FILES):
        text = (copy / path).read_text(encoding="utf-8").splitlines()
        for number, count in sorted(lines.get(path.removeprefix(f"{MODULE}/"), {}).items()):
            if not count:
                key = Path(path).name, function_of(text, number), text[number - 1].strip()
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
    without = [f"{box}: expected gcov/*.gcda, found none" for box in boxes
               if not any(Path(box).glob("gcov/*.gcda"))]
    lines = counts(copy, boxes)
    path = [count for file, found in lines.items() if f"{MODULE}/{file}" in fastpath.FILES
            for count in found.values()]
    print(f"# the tests reach {sum(map(bool, path))} of {len(path)} lines of the path")
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
