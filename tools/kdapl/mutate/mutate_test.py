# SPDX-License-Identifier: GPL-2.0
"""Test mutate.py, trials.py and breakages.py: which breakages are tried, and what a guest's
console says about them. Run by tools_test.py.
"""

import io
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import breakages
import mutate
import trials

SOURCE = """
int check(int n);

int other(int n)
{
	return n > 3;
}

int check(int n)
{
	return n > 3;
}
"""
RECORD = """{0}: a check
post/post.c check()
-	return n > 3;
+	return n > 4;
"""
SECOND = "b: another\n-\treturn n > 3;\n+\treturn n > 5;\n"
BEGIN, END = "mutant {0} begins\n", "mutant {0} ends\n"
FINE = BEGIN + "    # Subtest: kdapl_a\n    ok 1 one\nok 1 kdapl_a\n" + END
RED = BEGIN + "# one: EXPECTATION FAILED at\nnot ok 1 kdapl_a\n"
HANG = "INFO: task insmod:34 blocked for more than 122 seconds."
HUNG = f"{BEGIN}{HANG}\n"


def breakage(name="a"):
    return breakages.parse(RECORD.format(name))[0]


def last(old, new):
    """SOURCE with the last OLD replaced."""
    return new.join(SOURCE.rsplit(old, 1))


class Breakages(unittest.TestCase):
    """breakages.py"""

    def test_a_breakage_changes_its_function_only(self):
        hunk = breakage().hunks[0]
        self.assertEqual(hunk.replace(SOURCE), last("n > 3", "n > 4"))
        hunk.function = ""
        self.assertRaisesRegex(breakages.Refused, "found 2 times", hunk.replace, SOURCE)

    def test_a_record_without_a_file_changes_that_of_the_record_before_it(self):
        first, second = breakages.parse(f"{RECORD.format('a')}\n{SECOND}")
        second.check()
        self.assertEqual(second.hunks[0].replace(SOURCE), last("n > 3", "n > 5"))
        self.assertEqual(len(first.hunks), 1)
        self.assertRaises(breakages.Refused, breakages.parse(SECOND)[0].check)

    def test_breakages_of_functions_that_have_changed(self):
        head, tail = SOURCE.split("int other")
        hunk = breakage().hunks[0]
        for name, text, differs in (
                ("none", SOURCE, False),
                ("another function", SOURCE.replace("n > 3", "n > 2", 1), False),
                ("a line before", f"{head}\nint more;\nint other{tail}", False),
                ("the function", last("n > 3", "n > 2"), True), ("no such function", head, True)):
            with self.subTest(name):
                self.assertEqual(hunk.differs(text, SOURCE), differs)
        hunk.function = ""
        self.assertEqual([hunk.differs(text, SOURCE) for text in (SOURCE, head)], [False, True])


class Trials(unittest.TestCase):
    """trials.py and mutate.py"""

    def test_suites_that_share_words_with_a_breakage_run_first(self):
        have = {"kdapl_pool": ["one"], "kdapl_post": ["checks"], "kdapl_event": ["two"]}
        self.assertEqual(trials.suites_for(breakage(), have)[0], "kdapl_post")

    def check(self, status, parts, *expected):
        """The guest of breakages a, b, c has this exit status and console; compare verdicts."""
        text = "".join(part.format("abc"[i]) for i, part in enumerate(parts))
        found = [(m.name, verdict, reason) for m, verdict, reason in trials.kunit_verdicts(
            [breakage(name) for name in "abc"], {"kdapl_a": ["one"]}, text, status)]
        self.assertEqual(found, list(expected))

    def test_verdicts_of_modules_in_one_guest(self):
        fine, red = ("a", "survived", ""), ("a", "caught", "one")
        self.check(0, (FINE, RED + END, FINE), fine, ("b", "caught", "one"), ("c", "survived", ""))
        self.check(0, (BEGIN + END,), ("a", "not decided", "not every case has run"))
        self.check(1, (BEGIN,), ("a", "caught", "status 1"))
        # A time limit of the host, and a guest that died, are no verdicts
        self.check(124, (FINE, BEGIN), fine, ("b", "not decided", "time limit"))
        self.check(124, (HUNG,), ("a", "not decided", "time limit"))
        self.check(98, (BEGIN,), ("a", "not decided", "the guest died"))
        self.check(124, (FINE, RED), fine, ("b", "caught", "one"))
        # A hang that the kernel reports is a verdict; a crash after a failure is tried again
        self.check(97, (HUNG,), ("a", "caught", HANG))
        self.check(97, (RED + END, HUNG), red)
        self.check(97, ("BUG: before the first",))

    def test_a_guest_that_does_not_boot_is_counted(self):
        said = []
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(trials, "run", lambda *_: ("", 124)):
            trial = trials.Trials.__new__(trials.Trials)
            trial.home = trial.boxes = trial.built = trial.kernel = trial.root = \
                Path(folder).resolve()
            trial.say, trial.again = said.append, 0
            self.assertRaises(breakages.Refused, trial.boot, ["a"], "", [])
        self.assertEqual((trial.again, said[0]), (3, "# guest ended before a, status 124"))

    def test_verdicts_are_kept_and_those_not_decided_tried_again(self):
        fake = type("Trials", (), {"__init__": lambda *_: None, "version": lambda _: "v"})
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), \
                mock.patch.object(trials, "Trials", fake):
            first = mutate.Run(Path(folder), io.StringIO())
            for name, verdict in zip("abc", ("caught", "not decided", "survived")):
                first.settle(breakage(name), verdict, "one")
            again = mutate.Run(Path(folder), io.StringIO())
            self.assertEqual([key[0] for key in again.results], ["a", "c"])
