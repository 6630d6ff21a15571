#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that every KUnit case of the sources has run, and print those that have not.

  tools/kdapl/check/suites.py CONSOLE

KUnit prints no plan for the suites of a module, so its output does not show whether a
suite is missing or did not run. CONSOLE is the console of a guest.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
TESTS = (TOP / "drivers/infiniband/ulp/kdapl/tests", TOP / "drivers/block/datblk/tests")
SUITE = re.compile(r"\bstruct kunit_suite \w+ = \{(.*?)\n\};", re.S)
NAME = re.compile(r'\.name = "(\w+)"')
ARRAY = re.compile(r"\.test_cases = (\w+)")
CASES = re.compile(r"\bstruct kunit_case (\w+)\[\] = \{(.*?)\n\};", re.S)
CASE = re.compile(r"\bKUNIT_CASE\w*\(\s*(\w+)")
SUBTEST = re.compile(r"^    # Subtest: (\w+)")
RESULT = re.compile(r"^    (?:ok|not ok) \d+ (?:- )?(\w+)")
SUM = re.compile(r"^(?:ok|not ok) \d+ (?:- )?(\w+)")


def wanted(folders):
    """Name of each suite in the sources -> names of its cases."""
    suites = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        cases = {name: CASE.findall(body) for name, body in CASES.findall(text)}
        for body in SUITE.findall(text):
            suites[NAME.search(body)[1]] = cases[ARRAY.search(body)[1]]
    return suites


def ran(console):
    """Name of each suite with a result on the console -> names of its cases with a result."""
    suites, cases = {}, []
    for line in console.splitlines():
        line = re.sub(r"^\[ *[0-9.]+\] ", "", line)
        result, total = RESULT.match(line), SUM.match(line)
        if SUBTEST.match(line):
            cases = []
        elif result:
            cases.append(result[1])
        elif total:
            suites.setdefault(total[1], []).extend(cases)
            cases = []
    return suites


def differences(want, got):
    """Yields a message for each difference."""
    for name in sorted(want.keys() - got.keys()):
        yield f"{name}: the suite is in the sources, but has not run"
    for name in sorted(got.keys() - want.keys()):
        yield f"{name}: the suite has run, but is not in the sources"
    for name in sorted(want.keys() & got.keys()):
        if sorted(want[name]) != sorted(got[name]):
            missing = [case for case in want[name] if case not in got[name]]
            yield (f"{name}: expected the {len(want[name])} cases of the sources, "
                   f"{len(got[name])} have run; missing: {' '.join(missing) or 'none'}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    want = wanted(TESTS)
    got = ran(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace"))
    found = list(differences(want, got))
    if not want:
        found.append("expected KUnit suites in the sources, found none")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
