#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Generate section 9 manual pages of the dat_* calls from their kernel-doc comments.

  tools/kdapl/docs/man_pages.py KERNEL FOLDER

KERNEL is a kernel source tree, whose scripts/kernel-doc reads the comments. FOLDER
receives a page for each exported call, and dat_ia_open.9, a link to the page of the
call that this macro makes. kernel-doc joins the items of a list into one paragraph
and omits the header and the name of the API; this script corrects both.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
ULP = TOP / "drivers/infiniband/ulp/kdapl"
HEADER = TOP / "include/dat/kdat.h"
EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((k?dat_\w+)\);$", re.M)
ALIAS = re.compile(r"^#define (dat_\w+)\([^)]*\)\s*\\\s*(dat_\w+)\(", re.M)


def exports():
    """File -> the calls that it exports, for files with exports."""
    found = {path: EXPORT.findall(path.read_text("utf-8"))
             for path in sorted(ULP.glob("*/*.c"))}
    return {path: names for path, names in found.items() if names}


def date():
    """Date of the package that is built, else of the last commit; today outside a git tree."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch:
        return time.strftime("%Y-%m-%d", time.gmtime(int(epoch)))
    git = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=TOP, text=True,
                         capture_output=True, check=False)
    return git.stdout.strip() or time.strftime("%Y-%m-%d")


def title(name, day):
    return f'.TH {name.upper()} 9 {day} "kDAPL 2.0" "kDAPL calls"'


def synopsis(lines):
    """The declaration, with one parameter per line, and names in italics."""
    head = re.fullmatch(r'\.B "(.*)" (\w+)', lines[0])
    call = f"{head[1]} {head[2]}("
    out = [".nf", ".B #include <dat/kdat.h>", ".PP"]
    indent = call
    for line in lines[1:]:
        part = re.fullmatch(r'\.BI "\(?(.*?)(\w+(?:\[\w*\])?) "\s+"(,|\);)"', line)
        out.append(f'.BI "{indent}{part[1]}" {part[2]} {part[3]}')
        indent = " " * len(call)
    if not lines[1:]:
        out.append(f'.B "{call}void);"')
    return [*out, ".fi"]


def body(lines):
    """Text of a section: paragraphs, and lists with a paragraph per item."""
    out, gap = [], False
    for line in lines:
        item = re.fullmatch(r"\* (.*)", line)
        if not line.strip():
            gap = True
        elif line.startswith(".IP"):
            out.append(line)
            gap = False
        elif item:
            what, dash, why = item[1].partition(" - ")
            out += [".TP", f"\\fB{what}\\fP"] + ([why] if dash else [])
            gap = False
        else:
            if gap and out:
                out.append(".PP")
            out.append("\\&" + line if line.startswith("'") else line)
            gap = False
    return out


def page(text, day):
    """Format one page of kernel-doc's output. Returns its name and its text."""
    # kernel-doc treats the @ of an address as a parameter without a name
    text = text.replace(r"\fI\fP", "@")
    lines = re.sub(r"``(.*?)``", r"\\fB\1\\fP", text).splitlines()
    name = re.match(r'\.TH "(\w+)"', lines[0])[1]
    out, section, held = [title(name, day)], "", []
    for line in [*lines[1:], ".SH"]:
        if not line.startswith(".SH"):
            held.append(line)
            continue
        out += synopsis(held) if section == "SYNOPSIS" else body(held)
        section, held = line[4:].strip('"'), []
        if section:
            out.append(f".SH {section}")
    out += [".SH SEE ALSO", "Documentation/infiniband/kdapl-api.rst"]
    return name, "\n".join(out) + "\n"


def pages(kernel, files):
    text = subprocess.run(
        ["perl", f"{kernel}/scripts/kernel-doc", "-man", "-export", *files],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.split(r"^(?=\.TH )", text, flags=re.M)[1:]


def missing(found, folder):
    """Yields exported calls without a page, which lack a kernel-doc comment."""
    for path, names in found.items():
        for name in names:
            if not (folder / f"{name}.9").exists():
                yield f"{path.name}: {name} is exported, but has no manual page"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kernel, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    found, day = exports(), date()
    for text in pages(kernel, list(found)):
        name, text = page(text, day)
        (folder / f"{name}.9").write_text(text, "utf-8")
    for alias, call in ALIAS.findall(HEADER.read_text("utf-8")):
        (folder / f"{alias}.9").unlink(missing_ok=True)
        (folder / f"{alias}.9").symlink_to(f"{call}.9")
    for complaint in missing(found, folder):
        print(complaint)


if __name__ == "__main__":
    main()
