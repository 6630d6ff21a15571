#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the architecture of kdapl.ko: calls and includes go in one direction.

  tools/kdapl/check/layers.py FOLDER

FOLDER contains the sources and objects of drivers/infiniband/ulp/kdapl. Its folders are the
layers in FOLDERS; kdapl-architecture.rst explains them.

  1. An object may use symbols of its own folder, and of the folders before it.
  2. The call graph between files has no cycle, not even inside a folder.
  3. A source includes headers of its own folder, and of the folders before it only the
     public one, NAME/NAME.h.

The KUnit suites use internal functions, so they are not checked. Prints TAP.
"""

import re
import subprocess
import sys
from pathlib import Path

# From the bottom to the top
FOLDERS = "base object device event post memory queue connection endpoint ia".split()
TESTS = "tests"
# Public in addition to NAME/NAME.h: the macros of tracepoints need a header of their own
ALSO_PUBLIC = ("base/trace.h",)
# The one file outside the folders; the compiler includes it
COMPAT = "kdapl_compat.h"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def symbols(obj):
    """Global symbols that an object defines, and symbols that it needs."""
    out = subprocess.run(["nm", "-g", obj], check=True, text=True,
                         capture_output=True).stdout
    defined, needed = set(), set()
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        (needed if kind in "Uw" else defined).add(name)
    return defined, needed


def call_graph(folder):
    """file: {file that it calls: symbols}, for folder/file without suffix."""
    objects = {f"{path.parent.name}/{path.stem}": symbols(path)
               for path in sorted(folder.glob("*/*.o")) if path.parent.name != TESTS}
    home = {symbol: name for name, (defined, _) in objects.items() for symbol in defined}
    graph = {name: {} for name in objects}
    for name, (_, needed) in objects.items():
        for symbol in sorted(needed & home.keys()):
            if home[symbol] != name:
                graph[name].setdefault(home[symbol], []).append(symbol)
    return graph


def level(name):
    """The layer of a file or header, as an index of FOLDERS."""
    return FOLDERS.index(name.partition("/")[0])


def check_folders(graph, sources):
    """Files outside the layers, and calls that go up."""
    bad = [f"{name}: its folder is not a layer" for name in sources
           if name.partition("/")[0] not in FOLDERS]
    return bad + [f"{name} calls up: {', '.join(used)} of {called}"
                  for name, calls in graph.items() for called, used in calls.items()
                  if not bad and level(called) > level(name)]


def cycle(graph):
    """The files of one cycle, or none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):]
        if name in done:
            return []
        path.append(name)
        found = next(filter(None, map(visit, graph[name])), [])
        if not found:
            done.add(path.pop())
        return found

    return next(filter(None, map(visit, graph)), [])


def check_cycles(graph):
    """The first cycle, with the symbols of each call."""
    found = cycle(graph)
    return [f"{name} calls {called}: {', '.join(graph[name][called])}"
            for name, called in zip(found, found[1:] + found[:1])]


def check_includes(sources):
    """Includes of headers that the folder of a source may not see."""
    bad = []
    for name, text in sources.items():
        own = name.partition("/")[0]
        for header in INCLUDE.findall(text):
            folder = header.partition("/")[0] if "/" in header else own
            if folder == own:
                continue
            public = header == f"{folder}/{folder}.h" or header in ALSO_PUBLIC
            if folder not in FOLDERS or not public or level(header) > level(name):
                bad.append(f'{name} includes "{header}"')
    return bad


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    graph = call_graph(folder)
    sources = {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
               for path in sorted(folder.rglob("*.[ch]"))
               if path.relative_to(folder).parts[0] != TESTS
               and path.name not in (COMPAT, "kdapl.mod.c")}
    nothing = [] if graph else [f"no objects in {folder}"]
    status = 0
    for number, (what, bad) in enumerate((
            ("calls between folders go down", nothing or check_folders(graph, sources)),
            ("calls between files make no cycle", nothing or check_cycles(graph)),
            ("other folders include only the public header",
             nothing or check_includes(sources))), 1):
        for line in bad:
            print(f"# {line}")
        print(f"{'not ok' if bad else 'ok'} {number} - {what}")
        status |= bool(bad)
    sys.exit(status)


main()
