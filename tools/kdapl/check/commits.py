#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the messages of commits that are not in origin against CONTRIBUTING.md.

  tools/kdapl/check/commits.py [REVISION...]

Prints a line for each fault. REVISION: arguments for git rev-list, to check other
commits. Without a remote "origin" and arguments, checks nothing.
"""

import re
import subprocess
import sys

SUBJECT = re.compile(r"(kdapl(_\w+)?|tests|selftests|tools|Documentation): [a-z]")
SIGNED = re.compile(r"Signed-off-by: \S.* <\S+@\S+>")
COLUMNS = 75


def git(*args):
    return subprocess.run(["git", *args], check=True, text=True, capture_output=True).stdout


def faults(message):
    """Yields the faults of a commit message."""
    subject, *rest = message.rstrip("\n").split("\n")
    if not subject.startswith('Revert "') and not SUBJECT.match(subject):
        yield 'the subject does not have the form "part: imperative summary"'
    if len(subject) > COLUMNS:
        yield f"the subject has {len(subject)} columns, at most {COLUMNS} are allowed"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if rest and rest[0]:
        yield "the second line is not empty"
    signed = [line for line in rest if SIGNED.fullmatch(line)]
    if not signed:
        yield "no Signed-off-by with a name and an address"
    trailer = re.compile(r"[A-Z][\w-]+: ")
    if not any(line for line in rest if not trailer.match(line)):
        yield "no body with the reason"
    for line in rest:
        # Indented lines and lines of one word may be longer
        if len(line) > COLUMNS and line[0] not in " \t" and " " in line and \
                not trailer.match(line):
            yield f"a line has {len(line)} columns, at most {COLUMNS} are allowed: {line[:30]}..."


def revisions(args):
    if args:
        return args
    if "origin" not in git("remote").split():
        return None
    return ["HEAD", "--not", "--remotes=origin"]


def main():
    wanted = revisions(sys.argv[1:])
    if wanted is None:
        return
    for commit in git("rev-list", "--no-merges", "--reverse", *wanted).split():
        for fault in faults(git("log", "-1", "--format=%B", commit)):
            print(f"{commit[:12]}: {fault}")


if __name__ == "__main__":
    main()
