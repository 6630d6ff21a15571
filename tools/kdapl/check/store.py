# SPDX-License-Identifier: GPL-2.0
"""Verdicts of jobs, stored in the cache under a hash of what the job depends on.

Used by run_jobs.py. A verdict is a file verdicts/JOB/HASH.json of the cache, with the TAP of the run
beside it. It holds for every tree with the same command, kernel and files (inputs in jobs.py).
"""

import hashlib
import json
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import jobs


@dataclass
class Verdict:
    passed: int
    failed: int
    skipped: int
    seconds: float
    cpu: float
    commit: str
    when: float
    red: int = 0            # runs that failed for the same tree
    current: bool = True    # for the present tree

    def word(self):
        return "FAILED" if self.failed else "ok"


class Store:
    """The verdicts for one tree."""

    def __init__(self, top, cache):
        self.top, self.cache, self.folder = Path(top), Path(cache), Path(cache) / "verdicts"
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        self.files = sorted(set(listed.split("\0")) - {""})
        self.commit = self._git("describe", "--always", "--dirty", "--abbrev=12").strip()
        # Now: the verdict of a file that changes later would be that of the old one
        self.digest = {name: self._digest(name) for name in self.files}

    def _git(self, *words):
        return subprocess.run(["git", "-C", self.top, *words], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def _digest(self, name):
        path = self.top / name
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"

    def inputs(self, job):
        """The files on which the verdict of a job depends."""
        paths = [path for name in job.inputs for path in jobs.files(name)]
        paths += jobs.kernel_files(job.kernel)
        out = [path[1:] for path in paths if path[0] == "-"]

        def within(name, folders):
            return any(folder in (".", name) or name.startswith(folder + "/") for folder in folders)
        # What one group leaves out, another one may have
        chosen = [name for name in self.files if within(name, paths) and not within(name, out)]
        for path in paths:
            if path in out:
                chosen += [name for name in self.files if within(name, [path])]
        return sorted(set(chosen))

    def kernel(self, name):
        """The directory and the version of a kernel that setup has prepared."""
        path = self.cache / "kernels" / name / "complete"
        if not name or not path.exists():
            return ""
        return f"{path.resolve().parent.parent.name} {path.read_text('utf-8').strip()}"

    def key(self, job):
        text = json.dumps([job.name, job.command, self.kernel(job.kernel),
                           [(name, self.digest[name]) for name in self.inputs(job)]])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def load(self, job):
        """Return the verdict for this tree, else the last one for another tree, else None."""
        try:
            now = self.folder / job.name / f"{self.key(job)}.json"
            paths = sorted(now.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            if paths:
                path = now if now in paths else paths[-1]
                return Verdict(**json.loads(path.read_text("utf-8")) | {"current": path == now})
        except (OSError, TypeError, ValueError):
            pass
        return None

    def save(self, job, key, result, text):
        """Store the verdict of a run that began with this key, if the tree has not changed."""
        if key != Store(self.top, self.cache).key(job):
            return
        old = self.load(job)
        red = (old.red if old and old.current else 0) + bool(result.failed)
        verdict = Verdict(result.passed, result.failed, result.skipped, job.took, job.cpu,
                          self.commit, time.time(), red)
        folder = self.folder / job.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{key}.tap").write_text(text, "utf-8")
        (folder / f"{key}.json").write_text(json.dumps(asdict(verdict)), "utf-8")

    def forget(self, job):
        (self.folder / job.name / f"{self.key(job)}.json").unlink(missing_ok=True)


def order(store, todo):
    """Sort jobs: first those that failed, then those that took longest."""
    last = {job.name: store.load(job) for job in todo}

    def rank(job):
        verdict = last[job.name]
        return (not (verdict and verdict.failed),
                -(verdict.seconds if verdict else job.minutes * 60))
    return sorted(todo, key=rank)


def cells(store, known):
    """The table of a target, and its closing line: the verdicts of the jobs that have a cell."""
    verdicts = {job.cell: store.load(job) for job in known if job.cell}
    rows, columns = (list(dict.fromkeys(place)) for place in zip(*verdicts, strict=True))
    words = {cell: "not run" if not (verdict and verdict.current) else
             f"{verdict.failed} failed" if verdict.failed else f"ok {verdict.passed}"
             for cell, verdict in verdicts.items()}
    grid = [["", *columns], *([row, *(words.get((row, column), "-") for column in columns)]
                              for row in rows)]
    width = max(16, *(len(word) + 2 for line in grid for word in line))
    lines = ["".join(f"{word:{width}}" for word in line).rstrip() for line in grid]
    counts = {kind: sum(kind in word for word in words.values())
              for kind in ("ok", "failed", "not run")}
    return [*lines, f"of {len(words)} cells " + ", ".join(
        f"{count} {kind}" for kind, count in counts.items())]


def table(store, known):
    """The lines of make status: each job with its verdict for this tree, or else the last one."""
    lines = [f"{'job':34} {'verdict':8} {'passed':>6} {'failed':>6} {'skipped':>7} {'min':>6} "
             f"{'CPU s':>6} {'red':>3}  commit"]
    for job in known:
        verdict = store.load(job)
        if not verdict:
            lines.append(f"{job.name:34} {'-':8}")
            continue
        word = verdict.word() if verdict.current else f"({verdict.word()})"
        lines.append(f"{job.name:34} {word:8} {verdict.passed:6} {verdict.failed:6} "
                     f"{verdict.skipped:7} {verdict.seconds / 60:6.1f} {verdict.cpu:6.0f} "
                     f"{verdict.red:3}  {verdict.commit}")
    return lines
