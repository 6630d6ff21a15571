# SPDX-License-Identifier: GPL-2.0
"""The breakages of tests/mutations/*.mut: read, choose and apply them. Used by mutate.py, trials.py.

A record is a line "NAME: RULE", which the breakage breaks, then "FILE FUNCTION()", or FILE alone if
the lines are outside functions, and the lines to replace (-) and their replacement (+). A record
may have several files; one without a file changes that of the record before it. Empty lines
separate records.
"""

import fnmatch
import hashlib
import re
import subprocess
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
TABLE = "tests/mutations"
# All breakages are in this directory, so that only kdapl.ko must be built for each
MODULE = "drivers/infiniband/ulp/kdapl"


class Refused(Exception):
    """The table has an error, or cannot be used on this tree."""


class Hunk:
    """Lines of one function or file, and their replacement."""

    def __init__(self, file="", function=""):
        self.file, self.function = file, function
        self.old, self.new = [], []

    def span(self, text):
        """Begin and end of the function, or of the whole text."""
        if not self.function:
            return 0, len(text)
        # Declarations and calls have a ; before the first line that begins with }
        found = re.search(rf"\n[a-zA-Z#].*\b{self.function}\b.*(?<!;)"
                          r"(?:\n(?:\t.*|(?!\t).*(?<!;)$))*?\n}", text, re.M)
        if not found:
            raise Refused(f"expected function {self.function} in {self.file}: not found")
        return found.span()

    def replace(self, text):
        """The text of the file with the replacement."""
        begin, end = self.span(text)
        old, new = ("\n".join(["", *lines, ""]) for lines in (self.old, self.new))
        count = text.count(old, begin, end)
        if count != 1:
            raise Refused(f"expected once in {self.function or self.file}, found {count} "
                          f"times: {self.old[0].strip()}")
        return text[:begin] + text[begin:end].replace(old, new) + text[end:]

    def differs(self, before, now):
        """Does the function differ between two texts of the file? Without a function: is any line
        that it replaces new?"""
        if not self.function:
            return not set(self.old) <= set(before.split("\n"))
        try:
            return before[slice(*self.span(before))] != now[slice(*self.span(now))]
        except Refused:
            return True


class Mutation:
    """One record of a .mut file: its name, the rule that it breaks, and the hunks. @place: the last
    hunk of the record before it."""

    def __init__(self, number, name="", breaks="", place=Hunk()):
        self.number, self.name, self.breaks, self.hunks = number, name, breaks, []
        self.place = place

    def read(self, line):
        """Read a line below the head: a file and perhaps a function, or a line of a hunk."""
        if line[0] not in "-+":
            file, _, function = line.partition(" ")
            self.hunks.append(Hunk(f"{MODULE}/{file}", function.removesuffix("()")))
            return
        hunk = self.hunks[-1] if self.hunks else self.place
        if not self.hunks or line[0] == "-" and hunk.new:
            hunk = Hunk(hunk.file, hunk.function)
            self.hunks.append(hunk)
        (hunk.old if line[0] == "-" else hunk.new).append(line[1:])

    def check(self):
        if not (self.name and self.breaks and self.hunks and all(h.file and h.old for h in self.hunks)):
            raise Refused(f"record {self.name or '?'} lacks \"name: rule\", a file or a line to "
                          "replace")

    def __str__(self):
        return f"{self.number} - {self.name}: {self.breaks}"

    def record(self):
        """Its name, and a hash of what it changes."""
        change = repr([vars(hunk) for hunk in self.hunks])
        return f"{self.name} {hashlib.sha256(change.encode()).hexdigest()[:16]}"

    def broken(self, tree):
        """File -> its broken text, for all files that it changes in a tree."""
        texts = {}
        try:
            for hunk in self.hunks:
                text = texts.get(hunk.file) or (tree / hunk.file).read_text(encoding="utf-8")
                texts[hunk.file] = hunk.replace(text)
        except (Refused, FileNotFoundError) as reason:
            raise Refused(f"{self.name}: {reason}") from None
        return texts


def parse(text):
    """The breakages of a table."""
    found, current = [], None
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            current = None
            continue
        if current is None:
            place = found[-1].hunks[-1] if found and found[-1].hunks else Hunk()
            current = Mutation(len(found) + 1, *line.split(": ", 1), place=place)
            found.append(current)
        else:
            current.read(line)
    return found


def read_table():
    found = parse("\n\n".join(path.read_text(encoding="utf-8")
                              for path in sorted((TOP / TABLE).glob("*.mut"))))
    count = Counter(mutation.name for mutation in found if not mutation.check())
    if max(count.values()) > 1:
        raise Refused(f"two breakages have the name {count.most_common(1)[0][0]}")
    return found


def choose(mutations, patterns):
    """Those whose name matches a pattern."""
    names = {name for p in patterns for name in fnmatch.filter([m.name for m in mutations], p)}
    if not names:
        raise Refused(f"no breakage has the name {' '.join(patterns)}; see --apply")
    return [m for m in mutations if m.name in names]


def git(*command):
    """The output of a git command; nothing if it fails."""
    return subprocess.run(["git", *command], cwd=TOP, check=False, text=True,
                          capture_output=True).stdout


def since(mutations, rev):
    """Those whose function or record in the working tree differs from that in a commit."""
    if not git("rev-parse", "--verify", f"{rev}^{{commit}}"):
        raise Refused(f"expected a commit, not {rev}")
    tables = [name for name in git("ls-tree", "-r", "--name-only", rev).split()
              if name.endswith(".mut")]
    old = {m.record() for name in tables for m in parse(git("show", f"{rev}:{name}"))}
    texts = {file: (git("show", f"{rev}:{file}"), (TOP / file).read_text(encoding="utf-8"))
             for file in {hunk.file for m in mutations for hunk in m.hunks}}
    return [m for m in mutations if m.record() not in old or
            any(hunk.differs(*texts[hunk.file]) for hunk in m.hunks)]
