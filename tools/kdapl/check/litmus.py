#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the barriers of the lockless code against the kernel's memory model: make check-litmus.

  tools/kdapl/check/litmus.py [-v] [NAME...]

NAME: a test of tests/formal/litmus, without .litmus. -v prints the states that herd7 finds.

The condition of a test describes a bad outcome. herd7 must find that it never happens. Then
one barrier at a time is removed, and the bad outcome, or a data race, must be possible. In the
comment at the head of a test, a line

  TAG: FILE FUNCTION(): TEXT

says that the lines of the test with the comment /* TAG */ mirror TEXT in this function of the
module, which must exist. "TAG: driver ..." is a barrier of another part of the kernel. With the
tag "same", TEXT is code that the test mirrors without a tag.

Prints TAP.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import jobs  # noqa: E402 (in this directory)

TOP = Path(__file__).resolve().parents[3]
TESTS = TOP / "tests/formal/litmus"
MODULE = TOP / "drivers/infiniband/ulp/kdapl"
CACHE = jobs.cache_dir()
HERD = CACHE / "herd/run"

HEAD = re.compile(r"^ \* ([a-z-]+): (\S+)(?: (\w+)\(\): (.+)| .+)$", re.M)
# The same line of a test without its barrier; lines that match none are deleted
WEAKER = (
    (r"smp_store_release\((\w+), (.*)\);", r"WRITE_ONCE(*\1, \2);"),
    (r"rcu_assign_pointer\(", "WRITE_ONCE("),
    (r"smp_load_acquire\((\w+)\)", r"READ_ONCE(*\1)"),
    (r"atomic_read_acquire\(", "atomic_read("),
    (r"(xchg|atomic_fetch_add|atomic_fetch_sub|atomic_sub_return)(_acquire|_release)?\(",
     r"\1_relaxed("),
)


def weaken(line):
    """The line with its operation, but without what that orders."""
    for pattern, instead in WEAKER:
        if re.search(pattern, line):
            return re.sub(pattern, instead, line)
    return ""


class Test:
    """A litmus test: its text, its barriers by tag, and the code that it mirrors."""

    def __init__(self, path):
        self.name, self.text = path.stem, path.read_text(encoding="utf-8")
        head, self.body = self.text.split("*)", 1)
        self.mirrors = HEAD.findall(head)
        self.tags = list(dict.fromkeys(
            tag for tag, *_ in self.mirrors if tag != "same"))

    def faults(self):
        """What is wrong with the tags, or differs from the module."""
        used = set(re.findall(r"/\* ([\w-]+) \*/", self.body))
        if not self.text.startswith(f"C {self.name}\n"):
            yield f'expected "C {self.name}" in the first line: it is missing'
        for tag in used ^ set(self.tags):
            yield f"tag {tag}: expected a line in the head and one in the code, found only one"
        if not self.tags:
            yield "expected a barrier with a tag, found none"
        for _, file, function, text in self.mirrors:
            if not text:
                continue
            found = body_of(MODULE / file, function)
            if found is None:
                yield f"expected {function}() in {file}: it is missing"
            elif text not in found:
                yield f'expected "{text}" in {function}() of {file}: it is missing'

    def without(self, tag):
        """The text with the barriers of this tag removed."""
        head, _ = self.text.split("*)", 1)
        lines = [weaken(line) if f"/* {tag} */" in line else line
                 for line in self.body.split("\n")]
        return head + "*)" + "\n".join(lines)


def body_of(path, function):
    """Text of a function without comments, or None."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(rf"^(?=\w)[^\n;]*\b{function}\([^;{{}}]*?\)\n{{.*?^}}", text, re.M | re.S)
    return found and re.sub(r"/\*.*?\*/", "", found[0], flags=re.S)


def herd(text, model):
    """(does the bad outcome happen: Never, Sometimes, Always, race or error, output)"""
    with tempfile.NamedTemporaryFile("w", suffix=".litmus", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([HERD, "-conf", "linux-kernel.cfg", file.name], cwd=model,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, check=False)
    out = done.stdout
    seen = re.search(r"^Observation \S+ (\w+)", out, re.M)
    if done.returncode or not seen or re.search(r"^(Warning|Error|File )", out, re.M):
        return "error", out
    if re.search(r"^Flag ", out, re.M) and seen[1] == "Never":
        return "race", out
    return seen[1], out


def results(test, model):
    """Yields (good, name, output) for each check of a test."""
    faults = "\n".join(test.faults())
    yield not faults, f"{test.name} mirrors the module", faults
    seen, out = herd(test.text, model)
    yield seen == "Never", f"{test.name}: the bad outcome never happens", out
    for tag in test.tags:
        seen, out = herd(test.without(tag), model)
        what = "there is a data race" if seen == "race" else "the bad outcome happens"
        yield seen in ("Sometimes", "Always", "race"), f"{test.name} without {tag}: {what}", out


def main():
    args = sys.argv[1:]
    verbose = "-v" in args
    wanted = {arg for arg in args if arg != "-v"}
    paths = [path for path in sorted(TESTS.glob("*.litmus"))
             if not wanted or path.stem in wanted]
    if len(paths) < (len(wanted) or 1):
        sys.exit(__doc__)
    model = CACHE / "herd/model"
    for path in (HERD, model):
        if not path.exists():
            sys.exit(f"litmus: expected {path}: run tools/kdapl/lab/setup herd first")
    status = 0
    found = (result for path in paths for result in results(Test(path), model))
    for number, (good, name, out) in enumerate(found, 1):
        for note in out.splitlines() if verbose or not good else ():
            print(f"# {note}")
        print(f"{'' if good else 'not '}ok {number} - {name}", flush=True)
        status |= not good
    return status


if __name__ == "__main__":
    sys.exit(main())
