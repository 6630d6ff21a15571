#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the exports of kdapl.ko with the headers, the comments of the calls, and the pages.

  tools/kdapl/check/entry_points.py MODULE

include/dat declares exactly the exported calls. The comment of each has a context. A call whose
comment does not name DAT_SUCCESS is refused: its comment gives the reason. No call returns
DAT_NOT_IMPLEMENTED, and kdapl-api.rst includes every file with exports. Prints a line for each
fault.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
ULP = TOP / "drivers/infiniband/ulp/kdapl"
SOURCES = sorted(path for path in ULP.glob("*/*.c") if path.parent.name != "tests")
PAGE = TOP / "Documentation/infiniband/kdapl-api.rst"
COMMENT = re.compile(r"^/\*\*\n \* (dat_\w+) - .*\n((?: \*.*\n)*?) \*/$", re.M)
EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((dat_\w+)\);$", re.M)
DECLARED = re.compile(r"^DAT_RETURN (dat_\w+)\(", re.M)


class Call:
    """The kernel-doc comment of a call."""

    def __init__(self, body):
        text = re.sub(r"^ \* ?", "", body, flags=re.M)
        context = re.search(r"^Context: (.*)", text, re.M)
        self.context = context[1] if context else ""
        self.returns = text.partition("\nReturn:")[2]
        # After the arguments, before Context: or Return:
        prose = re.split(r"^(?:Context|Return):", text, flags=re.M)[0]
        self.why = re.sub(r"\A(?:@.*\n(?:[ \t]+\S.*\n)*)*", "", prose).strip()

    def is_refused(self, calls):
        same = re.match(r"\s*as for (dat_\w+)\(\)", self.returns)
        if same and same[1] in calls:
            return calls[same[1]].is_refused(calls)
        return "DAT_SUCCESS" not in self.returns


def faults(names, texts):
    calls = {name: Call(body) for text in texts.values() for name, body in COMMENT.findall(text)}
    declared = {name for path in (TOP / "include/dat").glob("*.h")
                for name in DECLARED.findall(path.read_text("utf-8"))}
    api = PAGE.read_text("utf-8")
    if not names:
        yield "expected exports dat_* in the module, found none"
    for name in sorted(declared ^ names):
        yield f"{name} is {'declared in include/dat' if name in declared else 'exported'} only"
    for name in sorted(names):
        call = calls.get(name)
        if not call:
            yield f"{name} has no kernel-doc comment"
        elif not re.match(r"any|process|as for dat_\w+\(\)", call.context):
            yield f'{name}: expected Context: any or process, got "{call.context}"'
        elif call.is_refused(calls) and not call.why:
            yield f"{name} is refused, but its comment gives no reason"
    for path, text in texts.items():
        # status.c has a table of all names
        if path.stem != "status" and "DAT_NOT_IMPLEMENTED" in text:
            yield f"{path.name} mentions DAT_NOT_IMPLEMENTED"
        if EXPORT.search(text) and f"kdapl/{path.relative_to(ULP)}\n" not in api:
            yield f"{PAGE.name} does not include {path.name}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = subprocess.run(["nm", sys.argv[1]], check=True, text=True, capture_output=True).stdout
    names = set(re.findall(r" __ksymtab_(dat_\w+)$", out, re.M))
    found = list(faults(names, {path: path.read_text("utf-8") for path in SOURCES}))
    print("\n".join(found), end="\n" * bool(found))
    sys.exit(bool(found))


main()
