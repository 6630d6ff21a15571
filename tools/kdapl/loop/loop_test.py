#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of kdapl-loop with files in place of those of the modules. Prints TAP."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

STATUS = "state={} run=1 cases=3 finished={} failed=1 aborted=0 name=send/b done=2 count=9\n"
CASE = ("case name=send/{0} op=send size=4096 segs={1} count=9 messages=8 bytes=32768 posts=16 "
        "completions=7 silent=1 upcalls=0 dequeued=8 ms=1250 result={2}\n")
RESULTS = (CASE.format("a", 0, "pass") + "clauses S-31 G-25\nclauses W-01\n" +
           CASE.format("b", 4, "fail") + "note byte 3: expected 1, got 2\n" +
           CASE.format("c", 4, "skip") + "note there is no SRQ\n")
TAP = """TAP version 13
1..3
# clauses: S-31 G-25 W-01
ok 1 - loop send/a
# byte 3: expected 1, got 2
not ok 2 - loop send/b
ok 3 - loop send/c # SKIP there is no SRQ
# 24 messages, 48 posts
"""
ROW = ("test={0} op=read side={1} size=1048576 eps=2 depth=16 messages=100 peer=0 bad={2} min=1000 "
       "max=9000 average=3500 deviation=10 p50=3000 p99=8000 p999=9000 ns=1000000000 "
       "peak_ns=1000000 peak_messages=1 histogram=1000-2000:5,2000-3000:10,\n")
BAD_OPTIONS = (
    ("--sizes 1048577", "--sizes: expected a number from 0 to 1048576, got \"1048577\""),
    ("--sizes 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "--sizes: at most 16 values are allowed"),
    ("--op send,foo", "--op: \"foo\" is unknown"), ("--device=", "--device: expected one word"),
    ("--seed 1_0", "--seed: expected a number"), ("foo", "foo"),
    ("perf -s 0", "kdapl-loop perf: --size: expected a number from 1"),
    ("perf -n 1 -D 1", "--iters and --duration exclude each other"),
    ("perf --server a", "a server takes no address"),
    ("perf --last -a", "--last: expected only --histogram with it"))


class Loop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        loader = importlib.machinery.SourceFileLoader("loop", f"{Path(__file__).parent}/kdapl-loop")
        self.tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("loop", loader))
        loader.exec_module(self.tool)
        self.tool.DEBUGFS = folder.name
        for name in ("kdapl_loop", "kdapl_perf"):
            (self.folder / name).mkdir()

    def write(self, name, text):
        (self.folder / name).write_text(text, "utf-8")

    def loop(self, results, state="done", finished=3, error=""):
        self.write("kdapl_loop/status", STATUS.format(state, finished) + error)
        self.write("kdapl_loop/results", results)

    def perf(self, *rows, state="done", error=""):
        self.write("kdapl_perf/status", f"client state={state} device=rxe0/1 rows={len(rows)} "
                   f"planned={len(rows)} round=0 listening=0\n{error}server state=idle\n")
        self.write("kdapl_perf/results", "".join(rows))

    def run_it(self, line, status=0):
        """Run the program with the arguments in a line. Returns what it prints, and sets @wrote to
        what it writes."""
        commands = [self.folder / name for name in (
            "kdapl_loop/run", "kdapl_loop/abort", "kdapl_perf/command")]
        for path in commands:
            path.write_text("", "utf-8")
        out = io.StringIO()
        with unittest.mock.patch.object(os, "geteuid", lambda: 0), \
             unittest.mock.patch.object(os.path, "ismount", lambda _: True), \
             unittest.mock.patch.object(sys, "argv", ["kdapl-loop", *line.split()]), \
             contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                done = self.tool.main()
            except SystemExit as left:
                done = left.code
        self.assertEqual(done, status, out.getvalue())
        self.wrote = "".join(path.read_text("utf-8") for path in commands)
        return out.getvalue()

    def test_options_become_the_command(self):
        self.loop(CASE.format("a", 1, "pass"))
        for line, command in (
                ("", "short=0"), ("--abort", "1\n"), ("--list", "dry=1"),
                ("--op send,read --op=srq --sizes 1,0x10 --tap --short",
                 "ops=send,read ops=srq sizes=1,16 short=1"),
                ("--device rxe0/1 --seed 18446744073709551615 --case a,b",
                 "device=rxe0/1 seed=18446744073709551615 cases=a,b")):
            self.run_it(line)
            self.assertEqual(self.wrote, command)
        self.perf(ROW.format("bw", "kdapl", 0), ROW.format("bw", "verbs", 0))
        self.run_it("perf 10.9.9.1 -q4 -D 2 --size 1,2 -d rxe0 --op=read")
        self.assertEqual(self.wrote, "client eps=4 ms=2000 sizes=1,2 device=rxe0 ops=read "
                                     "address=10.9.9.1")

    def test_errors_are_named(self):
        for line, text in BAD_OPTIONS:
            self.assertIn(text, self.run_it(line, status=2))
            self.assertEqual(self.wrote, "")
        self.loop("", finished=0, error="error no device\n")
        self.assertIn("cannot use device x (no device)", self.run_it("--device x", status=3))
        self.perf(error="client-error cannot open it\n")
        self.assertIn("cannot measure: cannot open it", self.run_it("perf", status=3))
        self.perf(state="idle")
        self.assertIn("nothing was measured", self.run_it("perf --last", status=3))

    def test_cases_are_printed(self):
        self.loop(RESULTS)
        self.assertEqual(self.run_it("--tap", status=1), TAP)
        table = self.run_it("", status=1)
        self.assertRegex(table, r"send/a +4096 +max +8 +32768 +16 +8 dequeue +1\.2  pass\n")
        self.assertIn("    byte 3: expected 1, got 2\n", table)
        self.assertIn("1 passed, 1 failed, 1 skipped; 24 messages and 98304 bytes verified", table)
        self.assertRegex(self.run_it("--list"), r"send/b +send +4096 +4 +9\n")

    def test_a_signal_stops_the_run(self):
        self.loop(CASE.format("a", 0, "running"), "running", 0)
        with unittest.mock.patch.object(self.tool.signal, "sigtimedwait") as wait:
            wait.side_effect = lambda *_: self.loop(RESULTS) or True
            self.assertEqual(self.run_it("--tap", status=1), TAP)
        self.assertEqual(self.wrote, "short=01\n")

    def test_measurements_are_printed(self):
        self.perf(*(ROW.format(test, side, 0) for test in ("lat", "bw")
                    for side in ("kdapl", "verbs")))
        text = self.run_it("perf --last --histogram")
        self.assertIn("RDMA read latency (whole read), 2 EPs, at most 16 outstanding\n", text)
        self.assertRegex(text, r"1048576 kdapl +100 +1.00 +9.00 +3.00 +3.50 +0.01 +8.00 +9.00  1.000")
        self.assertRegex(text, r"1048576 verbs +100 +1000.00 +100.00 +0.000100 +1\n")
        self.assertIn(f"  2.00 to       3.00        10 {'#' * 50}\n", text)
        self.assertIn("4 measurements in 0.0 s, 0 wrong bytes\n", text)
        self.perf(ROW.format("bw", "kdapl", 3), ROW.format("bw", "verbs", 0))
        self.assertIn("3 wrong bytes", self.run_it("perf --last", status=1))


if __name__ == "__main__":
    RESULT = unittest.main(exit=False).result
    GOOD = RESULT.wasSuccessful() and RESULT.testsRun
    print(f"1..1\n{'ok' if GOOD else 'not ok'} 1 - the tests of kdapl-loop, {RESULT.testsRun} in all")
    sys.exit(not GOOD)
