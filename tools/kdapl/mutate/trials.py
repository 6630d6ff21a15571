# SPDX-License-Identifier: GPL-2.0
"""Trials of breakages, for mutate.py: build the broken module, run KUnit and the loopback on it.

All work is done in a directory of the cache: tree/ is a copy to which breakages are applied, built/
the unbroken copy with its objects, and modules/ the directory of the guests.
"""

import contextlib
import hashlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from breakages import MODULE, TOP, Refused
sys.path.append(str(TOP / "tools/kdapl/check"))
import jobs  # noqa: E402
import suites  # noqa: E402

CACHE = jobs.cache_dir()
KERNEL = "own-6.12"
CAUGHT, SURVIVED = "caught", "survived"
UNDECIDED, ERROR = "not decided", "error"       # these are not stored, but tried again
# Seconds of host time for each module in a guest. A trial that takes longer is not decided.
LIMIT = 1800
DIED, TIMEOUT = 98, 124     # exit status of lab/run_in_vm.py without a report of the kernel
# The kernel ends a guest in which a task or a CPU hangs; before KUnit's timeout of 300 s, which
# waits for the end of the task without a limit
HANGS = [word for name in ("hung_task_panic=1", "hung_task_timeout_secs=250",
                           "hung_task_check_interval_secs=30", "panic_on_rcu_stall=1")
         for word in ("--append", f"sysctl.kernel.{name}")]
REPORT_RE = re.compile(r"((?:BUG|WARNING|Oops|Kernel panic|KASAN|INFO)\b.*)")
CHILDREN = set()        # running process groups
STOPPED = threading.Event()     # interrupted: the end of a killed child is not a verdict

# Scripts of the guests. The marks on the console show which module was tested.
KUNIT_SCRIPT = """
. selftests/lib.sh
ip netns add other
kdapl_fail_allocs
while read -r name suites; do
	echo "mutant $name begins" >/dev/kmsg
	KDAPL_DIR=$PWD/$name
	for suite in $suites; do
		printf %s "$suite" >/sys/module/kunit/parameters/filter_glob
		kdapl_insmod kdapl && rmmod kdapl || exit 1
		! dmesg -c | grep 'not ok' >/dev/null || break
	done </dev/null
	echo "mutant $name ends" >/dev/kmsg
done <<'END'
{lines}
END
"""
LOOP_SCRIPT = """
. selftests/lib.sh
kunit_off
cp kdapl_loop.ko {name} && rxe_setup || exit 1
export KDAPL_DIR=$PWD/{name}
echo "mutant {name} begins" >/dev/kmsg
kdapl_insmod kdapl && kdapl_insmod kdapl_loop exact=1 || exit 1
./kdapl-loop --tap --short; status=$?
kdapl_unload && exit $status
"""


def interrupt():
    """End all children; no verdict is recorded from now on."""
    STOPPED.set()
    for group in list(CHILDREN):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGTERM)


def run(cwd, *command):
    """Run a command in its own process group. Returns output and exit status."""
    if STOPPED.is_set():
        raise Refused("interrupted")
    with subprocess.Popen(command, cwd=cwd, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as child:
        CHILDREN.add(child.pid)
        output = child.communicate()[0]
        CHILDREN.discard(child.pid)
    if STOPPED.is_set():
        raise Refused("interrupted")
    return output, child.returncode


def sync(*args):
    """rsync OPTION... SOURCE TARGET"""
    subprocess.run(["rsync", "--delete", *args[:-2], f"{args[-2]}/", f"{args[-1]}/"], check=True)


def words(*texts):
    """The words of prose and names, without the s of a plural."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]{2,}|\d+", " ".join(texts).lower())}


def suites_for(mutation, have):
    """All suites; first those whose names and cases share the most words with the breakage. A word
    of few suites counts more. @have: suite -> its cases."""
    known = {suite: words(suite, *cases) for suite, cases in have.items()}
    number = Counter(word for found in known.values() for word in found)
    asked = words(mutation.name, mutation.breaks,
                  *(word for hunk in mutation.hunks for word in (hunk.file, hunk.function)))
    return sorted(have, key=lambda suite: -sum(math.log(len(have) / number[word])
                                               for word in asked & known[suite]))


def first_failure(text):
    """Name of the first test that failed: the case, if KUnit printed it, not its parameter."""
    found = re.search(r"# (\S+): (?:EXPECTATION|ASSERTION) FAILED", text) or \
        re.search(r"^(?:\[[ 0-9.]*\] )? *not ok \d+ (?:- )?([^#\n]*)", text, re.M)
    return found[1].strip() if found else None


def why_ended(text, status):
    """Verdict on a module whose guest ended before its tests, and the reason."""
    failure, report = first_failure(text), REPORT_RE.search(text)
    if failure:
        return CAUGHT, failure
    if status in (DIED, TIMEOUT):
        return UNDECIDED, "time limit" if status == TIMEOUT else "the guest died"
    return CAUGHT, report[1].split(" at /")[0].strip()[:70] if report else f"status {status}"


def kunit_verdicts(mutations, have, text, status):
    """Breakages, verdicts and reasons of one guest. If it dies, a module before the last one may
    be the cause, so the last one gives a verdict only if all before it were fine."""
    clean = True
    for mutation in mutations:
        part = re.search(rf"mutant {mutation.name} begins(.*?)"
                         rf"(?:mutant {mutation.name} (ends)|\Z)", text, re.S)
        failure = part and first_failure(part[1])
        if not part or not (part[2] or failure or clean):
            return
        if failure or not part[2]:
            yield mutation, *why_ended(part[1], status)
        elif list(suites.differences(have, suites.ran(part[1]))):
            yield mutation, UNDECIDED, "not every case has run"
        else:
            yield mutation, SURVIVED, ""
        clean = clean and not failure


class Trials:
    """A copy of the tree, and guests for its modules. After each breakage the objects of the
    unbroken module are restored, so that a build compiles only what the next breakage changes."""

    def __init__(self, home, say):
        self.say, self.again = say, 0       # guests booted again
        self.home, self.tree, self.built = home, home / "tree", home / "built"
        self.boxes, self.lock = home / "modules", threading.Lock()
        self.kernel = CACHE / "kernels" / KERNEL
        self.root = self.kernel.resolve()
        # The tree may be edited during the run. A changed file gets a new time stamp
        if self.built.exists():
            sync("-a", self.built, self.tree)
        self.tree.mkdir(parents=True, exist_ok=True)
        sync("-rlpc", f"--exclude-from={TOP}/.gitignore", "--exclude=/.git", TOP, self.tree)
        self.suites = suites.wanted([self.tree / suites.TESTS[0].relative_to(TOP)])
        shutil.rmtree(self.boxes, ignore_errors=True)
        shutil.copytree(self.tree / "tests/selftests", self.boxes / "selftests")

    def version(self):
        """A hash of the kernel, the module, the tests and the scripts."""
        digest = hashlib.sha256(str(self.root).encode())
        for path in sorted(self.tree.rglob("*")):
            if (path.suffix in (".c", ".h", ".mk", ".py", ".sh") or path.name in (
                    "Kbuild", "Makefile", "kdapl-loop")) and not path.name.endswith(".mod.c"):
                digest.update(f"{path.relative_to(self.tree)}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:32]

    def make(self, *targets):
        """Build these modules. Returns the first error, or None. "make check" takes the lock
        when it configures the kernel tree."""
        output, status = run(self.tree, "flock", "--shared", self.root.parent / "lock",
                             "make", "-s", f"-j{os.cpu_count()}", "-C", self.root.parent / "build",
                             f"M={self.tree}", "KDAPL_TESTS=m", *targets)
        return ([l for l in output.split("\n") if "error" in l] or [output])[0] if status else None

    def build_unbroken(self):
        """Build the unbroken module and, once for all breakages, the loopback."""
        failure = self.make(f"{MODULE}/kdapl.ko", "tests/consumers/loopback/kdapl_loop.ko")
        if failure:
            raise Refused(f"expected the unbroken tree to build: {failure}")
        for path in ("tests/consumers/loopback/kdapl_loop.ko", "tools/kdapl/loop/kdapl-loop"):
            shutil.copy(self.tree / path, self.boxes)
        sync("-a", self.tree, self.built)

    def build(self, mutation):
        """Build the module with a breakage. Returns it, ERROR if that fails, and the reason."""
        (self.boxes / mutation.name).mkdir(exist_ok=True)
        with self.lock:
            try:
                for file, text in mutation.broken(self.tree).items():
                    (self.tree / file).write_text(text, encoding="utf-8")
                failure = self.make(f"{MODULE}/kdapl.ko")
                if not failure:
                    shutil.copy(self.tree / MODULE / "kdapl.ko", self.boxes / mutation.name)
            finally:
                sync("-a", self.built, self.tree)
        return mutation, ERROR if failure else SURVIVED, failure

    def boot(self, names, script, *options):
        """Run a guest; up to three, until one begins its first trial. Returns its log and its
        status."""
        log = self.home / f"{names[0]}.log"
        for _ in range(3):
            if self.kernel.resolve() != self.root:
                raise Refused(f"setup has replaced the kernel {KERNEL}; start again")
            log.write_text("", encoding="utf-8")
            output, status = run(self.boxes, self.built / "tools/kdapl/lab/run_in_vm.py", "--dir",
                                 self.boxes, "--time", str(LIMIT * len(names)), "--log", log,
                                 *HANGS, *options, KERNEL, script)
            text = log.read_text(encoding="utf-8", errors="replace")
            began = f"mutant {names[0]} begins" in text
            for reason in re.findall("run_in_vm: .*booted again.*", output) + \
                    [f"guest ended before {names[0]}, status {status}"] * (not began):
                self.again += 1
                self.say(f"# {reason}")
            if began:
                return text, status
        raise Refused(f"three guests in a row ended before their first trial, see {log}")

    def kunit(self, mutations):
        """Run KUnit on modules in turn, in as few guests as possible. Yields each, its verdict
        and the reason."""
        while mutations:
            lines = "\n".join(" ".join([m.name, *suites_for(m, self.suites)]) for m in mutations)
            text, status = self.boot([m.name for m in mutations], KUNIT_SCRIPT.format(lines=lines))
            tried = list(kunit_verdicts(mutations, self.suites, text, status))
            yield from tried
            mutations = mutations[len(tried):]

    def loopback(self, mutation):
        """Run a short loopback. Returns the breakage, the verdict and the reason."""
        # The clock counts instructions, so no timeout depends on the load of the host
        script = LOOP_SCRIPT.format(name=mutation.name)
        text, status = self.boot([mutation.name], script, "--icount")
        begun = text.partition(f"mutant {mutation.name} begins")[2]
        return mutation, *(why_ended(begun, status) if status else (SURVIVED, ""))
