#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the architecture of a module: calls and includes go in one direction.

  tools/kdapl/check/layers.py DIRECTORY

DIRECTORY contains the sources and objects of drivers/infiniband/ulp/kdapl or drivers/block/datblk.
LAYERS assigns its directories to layers; kdapl-architecture.rst explains those of kdapl.

  1. An object may use symbols of its own directory, and of the directories of lower layers.
  2. A source includes headers of its own directory, and of those below only the public one,
     NAME/NAME.h.

So the call graph between directories has no cycle. The KUnit suites use internal functions, so they
are not checked. Prints a line for each fault.
"""

import re
import subprocess
import sys
from pathlib import Path

# From the bottom to the top. Directories of one layer must not use each other
LAYERS = {
    "kdapl": "base object device event post memory queue connection endpoint ia module".split(),
    "datblk": ["protocol", "client server"],
}
TESTS = "tests"
# Public in addition to NAME/NAME.h: the macros of tracepoints need a header of their own, and
# memory/ also posts requests
ALSO_PUBLIC = ("base/trace.h", "protocol/trace.h", "post/unsignalled.h")
# The files outside the directories, and headers of the kernel for kernels that lack them; the
# compiler includes the headers
OUTSIDE = re.compile(r"\w+_compat\.h|\w+\.mod\.c|compat/.*")
INCLUDE = re.compile(r'^#include (["<])([^">]+)[">]', re.M)


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
    """file: {file that it calls: symbols}, for directory/file without suffix."""
    objects = {f"{path.parent.name}/{path.stem}": symbols(path)
               for path in sorted(folder.glob("*/*.o")) if path.parent.name != TESTS}
    home = {symbol: name for name, (defined, _) in objects.items() for symbol in defined}
    graph = {name: {} for name in objects}
    for name, (_, needed) in objects.items():
        for symbol in sorted(needed & home.keys()):
            if home[symbol] != name:
                graph[name].setdefault(home[symbol], []).append(symbol)
    return graph


def levels(folder):
    """{directory: index of its layer}, for the directories of a module."""
    return {name: index for index, layer in enumerate(LAYERS[folder.name])
            for name in layer.split()}


def goes_down(level, name, other):
    """Is the directory of a file below that of another one, or the same?"""
    own, other = name.partition("/")[0], other.partition("/")[0]
    return own == other or level[other] < level[own]


def check_folders(level, graph, sources):
    """Files outside the layers, and calls that go up."""
    bad = [f"{name}: its directory is not a layer" for name in sources
           if name.partition("/")[0] not in level]
    return bad + [f"{name} calls up: {', '.join(used)} of {called}"
                  for name, calls in graph.items() for called, used in calls.items()
                  if not bad and not goes_down(level, name, called)]


def check_includes(level, sources):
    """Includes of headers that the directory of a source may not see."""
    bad = []
    for name, text in sources.items():
        own = name.partition("/")[0]
        for bracket, header in INCLUDE.findall(text):
            folder = header.partition("/")[0] if "/" in header else own
            if folder == own or (bracket == "<" and folder not in level):
                continue
            public = header == f"{folder}/{folder}.h" or header in ALSO_PUBLIC
            if folder not in level or not public or not goes_down(level, name, header):
                bad.append(f'{name} includes "{header}"')
    return bad


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    graph, level = call_graph(folder), levels(folder)
    sources = {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
               for path in sorted(folder.rglob("*.[ch]"))
               if path.relative_to(folder).parts[0] != TESTS
               and not OUTSIDE.fullmatch(str(path.relative_to(folder)))}
    nothing = [f"no objects in {folder / name}" for name in level
               if not any(file.startswith(f"{name}/") for file in graph)]
    for fault in nothing or check_folders(level, graph, sources) + check_includes(level, sources):
        print(fault)


main()
