# SPDX-License-Identifier: GPL-2.0
"""The verdicts on the breakages: storage, age, and the table in the documentation."""

import hashlib
import json
import re
import threading

import fastpath
from breakages import TABLE, TOP

RESULTS = TABLE / "results.json"
PAGE = TABLE / "results.rst"
CAUGHT, SURVIVED, ERROR = "caught", "survived", "error"

# A string, a character, or white space and comments
TOKEN_RE = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|"""
                      r"(?:\s|\\\n|//[^\n]*|/\*.*?\*/)+", re.S)
UNSEEN_RE = re.compile(r"\\\n|//[^\n]*|/\*.*?\*/", re.S)
# Local paths: up to a folder of the sources, or to the file
ROOT_RE = re.compile(r"(?<![\w.])/\S*?/(?=(?:drivers|include|tests|tools|arch)/)")
PATH_RE = re.compile(r"(?<![\w.])/(?:[^\s:/]+/)+(?=[^\s:/]*)")


def source_words(text):
    """C source without comments and with single spaces. Each directive has its own line."""
    lines = TOKEN_RE.sub(
        lambda m: m[1] or ("\n" if "\n" in UNSEEN_RE.sub("", m[0]) else " "),
        text).split("\n")
    words, after_directive = "", False
    for line in filter(None, (line.strip() for line in lines)):
        directive = line.startswith("#")
        words += ("\n" if directive or after_directive else " ") + line
        after_directive = directive
    return words.strip()


def file_version(path):
    """A hash of a file without comments and white space."""
    if not path.exists():
        return "-"
    words = source_words(path.read_text(encoding="utf-8"))
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def file_versions(mutations, tree=TOP):
    """File -> version, for all files that these breakages change."""
    return {file: file_version(tree / file)
            for file in sorted({file for m in mutations for file in m.files()})}


def sources_digest(tree, tests):
    """A hash of the module's sources, or of its tests."""
    digest = hashlib.sha256()
    for folder in ("drivers", "include", "tests", "tools/kdapl"):
        for path in sorted((tree / folder).rglob("*")):
            name = path.relative_to(tree)
            is_test = "tests" in name.parts or "tools" in name.parts
            if (path.suffix in (".c", ".h", ".sh") and is_test == tests and
                    not path.name.endswith(".mod.c")):
                digest.update(str(name).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def without_paths(text):
    """Text of a compiler or a kernel without local paths."""
    return PATH_RE.sub("", ROOT_RE.sub("", text))


def load(path=RESULTS):
    """Digest of a breakage -> verdict."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def why_stale(mutation, result, versions):
    """Why a verdict is not "caught" for these versions of the files, or None."""
    if not result:
        return "has no verdict"
    if result["verdict"] != CAUGHT:
        return f"{result['verdict']}{': ' if result['by'] else ''}{result['by']}"
    known = result.get("files", {})
    changed = [file.rpartition("/")[2] for file in mutation.files()
               if known.get(file) != versions[file]]
    return f"its verdict is for an older {' and '.join(changed)}" if changed else None


def check(mutations, data, tree=TOP):
    """Print TAP: every breakage of the posting and completion path must have the verdict
    "caught" for the current sources. Returns True if all have."""
    due = [m for m in mutations if fastpath.FILES.intersection(m.files())]
    versions = file_versions(due, tree)
    print(f"1..{len(due) or 1}")
    if not due:
        print("not ok 1 - expected breakages of the posting and completion path, found none")
        return False
    good = True
    for number, mutation in enumerate(due, 1):
        reason = why_stale(mutation, data.get(mutation.digest()), versions)
        good = good and not reason
        print(f"{'not ok' if reason else 'ok'} {number} - mutate: {mutation.name}"
              f"{': ' if reason else ''}{reason or ''}")
    if not good:
        print("# make mutate-stale tries these breakages again")
    return good


class Results:
    """The last verdict on each breakage, on any version of the module. Stored with the
    sources, so that a long run can be continued later or on another machine."""

    def __init__(self, tree, mutations, args):
        self.args, self.lock = args, threading.Lock()
        self.key, self.tests = sources_digest(tree, False), sources_digest(tree, True)
        self.versions = file_versions(mutations, tree)
        self.fresh = set()
        known, kept = {m.digest() for m in mutations}, load()
        self.data = {d: r for d, r in kept.items() if d in known}
        # By name, because a change of the lines around a breakage changes its digest
        self.last_by = {r["name"]: r["by"] for r in kept.values()}

    def last(self, mutation):
        return self.data.get(mutation.digest())

    def get(self, mutation):
        """The verdict that this run can keep, or None. After a change of the tests, "caught" is
        kept, but "survived" is not."""
        result = self.last(mutation)
        if not result or mutation.digest() in self.fresh:
            return result
        caught = result["verdict"] == CAUGHT
        if self.args.stale:
            return None if why_stale(mutation, result, self.versions) else result
        if self.args.missing:
            return result if caught else None
        if self.args.resume and result["product"] == self.key:
            return result if caught or result["tests"] == self.tests else None
        return None

    def half(self, mutation):
        """Did KUnit miss it with the same product and tests, so that only the loopback is left?"""
        result = self.last(mutation)
        return (result and result.get("left") and result["product"] == self.key and
                result["tests"] == self.tests)

    def put(self, mutation, result):
        with self.lock:
            result.update(name=mutation.name, product=self.key, tests=self.tests,
                          by=without_paths(result["by"]),
                          files={file: self.versions[file] for file in mutation.files()})
            self.data[mutation.digest()] = result
            self.fresh.add(mutation.digest())
            rows = sorted(self.data.items(), key=lambda row: row[1]["name"])
            RESULTS.write_text("{\n" + ",\n".join(
                f"{json.dumps(d)}: {json.dumps(r, sort_keys=True)}"
                for d, r in rows) + "\n}\n", encoding="utf-8")

    def write_page(self, mutations, kernel):
        tried = [self.last(m) for m in mutations if self.last(m)]
        caught = sum(result["verdict"] == CAUGHT for result in tried)
        by_kunit = sum(result["by"].startswith("KUnit") for result in tried)
        lines = [".. SPDX-License-Identifier: GPL-2.0",
                 ".. Written by tools/kdapl/check/mutate.py; do not edit.", "",
                 "================", "Mutation results", "================", "",
                 f"{len(mutations)} breakages, {len(tried)} tried, {caught} caught, "
                 f"{by_kunit} of them by KUnit, on the kernel {kernel}.",
                 "The last trial of each. The first failure ends a trial. Product: a hash of the "
                 "module's sources,", f"the newest is {self.key[:8]}. See kdapl-testing.rst.", "",
                 ".. list-table::", "   :header-rows: 1",
                 "   :widths: 4 18 30 8 30 10", "",
                 "   * - #", "     - Breakage", "     - What it breaks",
                 "     - Result", "     - Shown by", "     - Product"]
        for m in mutations:
            result = self.last(m) or {"verdict": "not tried", "by": "", "product": "-"}
            lines += [f"   * - {m.number}", f"     - {m.name}",
                      f"     - {m.breaks}", f"     - {result['verdict']}",
                      f"     - {result['by'] or '-'}", f"     - {result['product'][:8]}"]
        PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
