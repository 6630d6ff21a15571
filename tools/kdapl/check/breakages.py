# SPDX-License-Identifier: GPL-2.0
"""The breakages of mutations/*.mut: read, select and apply them."""

import hashlib
import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
TABLE = TOP / "tools/kdapl/check/mutations"
# All breakages are in this folder, so that only kdapl.ko must be built for each
MODULE = "drivers/infiniband/ulp/kdapl"


class Refused(Exception):
    """The table has an error, or cannot be used on this tree."""


class Hunk:
    """Lines of one function or file, and their replacement."""

    def __init__(self, file="", function=""):
        self.file, self.function = file, function
        self.old, self.new = [], []

    def span(self, lines):
        """First and last line to search: the function, or the whole file."""
        if not self.function:
            return 0, len(lines)
        head = re.compile(r"^[a-zA-Z#].*\b" + re.escape(self.function) + r"\b")
        for first in (i for i, l in enumerate(lines) if head.match(l)):
            for last in range(first, len(lines)):
                if lines[last].startswith("}"):
                    return first, last
                # A declaration or a call, not the definition
                if lines[last].endswith(";") and lines[last][:1] != "\t":
                    break
        raise Refused(f"expected function {self.function} in {self.file}: not found")

    def apply(self, tree):
        path = tree / self.file
        if not path.exists():
            raise Refused(f"expected file {self.file}: not found")
        lines = path.read_text().split("\n")
        first, last = self.span(lines)
        n = len(self.old)
        hits = [i for i in range(first, last) if lines[i:i + n] == self.old]
        if len(hits) != 1:
            raise Refused(f"expected once in {self.function or self.file}, found {len(hits)} "
                          f"times: {self.old[0].strip()}")
        lines[hits[0]:hits[0] + n] = self.new
        path.write_text("\n".join(lines))


class Mutation:
    """One record of a .mut file: its name, the rule that it breaks, and the hunks."""

    def __init__(self, number, source):
        self.number, self.source = number, source
        self.name = self.breaks = ""
        self.hunks = []

    def read(self, line):
        if line[0] in "-+":
            hunk = self.hunks[-1] if self.hunks else Hunk()
            if line[0] == "-" and hunk.new:     # the next hunk
                hunk = Hunk(hunk.file, hunk.function)
                self.hunks.append(hunk)
            (hunk.old if line[0] == "-" else hunk.new).append(line[1:])
            return
        key, _, value = line.partition(":")
        value = value.strip()
        if key in ("name", "breaks"):
            setattr(self, key, value)
        elif key == "file":
            self.hunks.append(Hunk(value))
        elif key == "in" and self.hunks:
            if self.hunks[-1].old:
                self.hunks.append(Hunk(self.hunks[-1].file))
            self.hunks[-1].function = value
        else:
            raise Refused(f"{self.source}: expected name, breaks, file, in, - or +: {line}")

    def check(self):
        if not (self.name and self.breaks and self.hunks and
                all(h.file and h.old for h in self.hunks)):
            raise Refused(f"{self.source}: record {self.name or '?'} lacks "
                          "name, breaks, file or a line to replace")
        for file in self.files():
            if not file.startswith(MODULE + "/"):
                raise Refused(f"{self.source}: {file} is not in {MODULE}")
        return self

    def files(self):
        """The files that it changes, each once."""
        return list(dict.fromkeys(h.file for h in self.hunks))

    def __str__(self):
        return f"{self.number:02d} {self.name}: {self.breaks}"

    def apply(self, tree):
        for hunk in self.hunks:
            try:
                hunk.apply(tree)
            except Refused as reason:
                raise Refused(f"{self.name}: {reason}") from None

    def digest(self):
        text = "\n".join("\n".join([h.file, h.function, *h.old, "+", *h.new])
                         for h in self.hunks)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_table():
    found = []
    for path in sorted(TABLE.glob("*.mut")):
        current = None
        for line in path.read_text().split("\n"):
            if not line or line.startswith("#"):
                current = None
                continue
            if current is None:
                current = Mutation(len(found) + 1, path.name)
                found.append(current)
            current.read(line)
    names = [m.check().name for m in found]
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"two breakages have the name {name}")
    return found


def choose(mutations, words):
    if not words:
        return mutations
    wanted = set()
    for word in ",".join(words).split(","):
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if span:
            wanted |= set(range(int(span[1]), int(span[2] or span[1]) + 1))
        else:
            wanted |= {m.number for m in mutations if m.name == word}
            if word not in [m.name for m in mutations]:
                raise Refused(f"no breakage has the name {word}; see --list")
    return [m for m in mutations if m.number in wanted]
