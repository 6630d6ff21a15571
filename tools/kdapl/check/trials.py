# SPDX-License-Identifier: GPL-2.0
"""Trials of breakages: build the broken module, and run KUnit and the loopback on it.

All work is done in a folder outside the tree: tree/ is a copy to which breakages are
applied, built/ is the unbroken copy with its objects, and modules/ is the folder of the
guests.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from breakages import MODULE, TOP, Refused

KERNEL = "own-6.12"
# Time limits in seconds: boot of a guest, KUnit of one module, silence of its console, one
# loopback, one build. A breakage that hangs counts as caught.
BOOT, KUNIT, QUIET, LOOP, BUILD = 100, 200, 60, 240, 900
REPORT_RE = re.compile(r"((?:BUG|WARNING|Oops|Kernel panic|KASAN|INFO)\b.*)")
# Verdicts on breakages that crashed or hung their guest
FATAL_RE = re.compile(r"KUnit: (?:BUG|WARNING|Oops|Kernel panic|KASAN|INFO|time limit|"
                      "the guest died)")
CHILDREN = set()        # running process groups
STOPPED = threading.Event()     # interrupted: the end of a killed child is not a verdict

# KUnit suites to run first for a breakage of a file, before all others. The first failure
# ends the trial, and most breakages fail in the suites of their file.
FIRST = {"post.c": "kdapl_post*", "post_slow.c": "kdapl_post*", "post_recv.c": "kdapl_post*",
         "request.h": "kdapl_post* kdapl_complete", "run.h": "kdapl_run kdapl_complete kdapl_post*",
         "run.c": "kdapl_run kdapl_complete kdapl_teardown",
         "segment.c": "kdapl_post*", "segment.h": "kdapl_post*",
         "pool.h": "kdapl_pool kdapl_post_slot", "pool.c": "kdapl_pool kdapl_modify*",
         "ep_state.c": "kdapl_ep_state kdapl_post_state kdapl_complete",
         "complete.c": "kdapl_outcome kdapl_teardown kdapl_complete kdapl_break",
         "evd_queue.c": "kdapl_ev*", "evd.h": "kdapl_upcall kdapl_ev*",
         "event.h": "kdapl_upcall kdapl_ev*",
         "evd_policy.c": "kdapl_ev*", "evd_queue.h": "kdapl_ev*",
         "scq.c": "kdapl_solicited kdapl_complete",
         "handle.h": "kdapl_handle kdapl_post*", "handle.c": "kdapl_handle kdapl_publish",
         "cm.c": "kdapl_outcome kdapl_break kdapl_linger kdapl_connect",
         "cm_id.c": "kdapl_connect kdapl_sp kdapl_addr",
         "cm_connect.c": "kdapl_connect kdapl_break kdapl_addr kdapl_failover kdapl_roce",
         "pz.c": "kdapl_lmr kdapl_usage", "constants.h": "kdapl_teardown kdapl_strip",
         "notice.c": "kdapl_notice", "keepalive.c": "kdapl_keepalive",
         "addr.c": "kdapl_addr kdapl_failover kdapl_roce",
         "sp_backlog.c": "kdapl_sp kdapl_rsp kdapl_merge",
         "sp_listen.c": "kdapl_sp kdapl_publish kdapl_merge kdapl_failover",
         "rsp.c": "kdapl_rsp kdapl_sp",
         "cr.c": "kdapl_sp kdapl_rsp kdapl_merge",
         "drain.c": "kdapl_teardown kdapl_strip kdapl_complete kdapl_rmr_end kdapl_rmr_lost",
         "evd.c": "kdapl_ia kdapl_publish kdapl_flip kdapl_evd*",
         "ep.h": "kdapl_ep_state kdapl_post_state",
         "ep.c": "kdapl_usage kdapl_post_state kdapl_flip", "ep_attr.c": "kdapl_query kdapl_modify",
         "ep_qp.c": "kdapl_teardown kdapl_strip kdapl_linger",
         "ep_strip.c": "kdapl_teardown kdapl_strip", "ep_reset.c": "kdapl_teardown kdapl_linger",
         "ep_parents.c": "kdapl_usage kdapl_flip", "cq.c": "kdapl_teardown kdapl_srq*",
         "ep_modify.c": "kdapl_modify*", "srq_lw.c": "kdapl_srq*",
         "srq.c": "kdapl_teardown kdapl_flip kdapl_srq*",
         "ia.c": "kdapl_ia kdapl_publish", "ia_open.c": "kdapl_ia kdapl_query",
         "ia_event.c": "kdapl_addr kdapl_failover",
         "client.c": "kdapl_addr kdapl_failover kdapl_roce",
         "ia_close.c": "kdapl_ia kdapl_usage kdapl_upcall",
         "lmr_free.c": "kdapl_usage kdapl_fmr_end",
         "lmr_table.c": "kdapl_lmr kdapl_usage", "lmr_region.c": "kdapl_usage kdapl_lmr",
         "page.c": "kdapl_page",
         "unsupported.c": "kdapl_usage", "device.c": "kdapl_addr kdapl_failover kdapl_query",
         "srq_resize.c": "kdapl_srq*", "lmr_advice.c": "kdapl_provider",
         "rmr.c": "kdapl_rmr*", "rmr_bind.c": "kdapl_rmr* kdapl_invalidate",
         "mr_wr.c": "kdapl_rmr* kdapl_fmr*",
         "lmr_invalidate.c": "kdapl_fmr* kdapl_invalidate", "lmr_fmr.c": "kdapl_fmr*",
         "lmr_repair.c": "kdapl_fmr* kdapl_invalidate",
         "lmr_alloc.c": "kdapl_fmr* kdapl_invalidate"}


def first_suites(mutation, by, have):
    """Globs of suites to run first: the suite with the case that caught the breakage the last
    time, then those of its files. @have: all suites in the sources -> their cases."""
    words = [suite for suite, cases in have.items() if by.removeprefix("KUnit: ") in cases]
    words += [word for file in mutation.files()
              for word in FIRST.get(Path(file).name, "").split()]
    return " ".join(dict.fromkeys(words))


def stretch():
    return float(os.environ.get("KDAPL_STRETCH") or 1)


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("KDAPL_CACHE") or Path(base) / "kdapl")


def interrupt():
    """End all children; no verdict is recorded from now on."""
    STOPPED.set()
    for group in list(CHILDREN):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGTERM)


def run(limit, cwd, *command, late=lambda: False):
    """Run a command in its own process group. Returns output and exit status (124: time-out)."""
    end = time.monotonic() + limit * stretch()
    status = None
    if STOPPED.is_set():
        raise Refused("interrupted")
    with subprocess.Popen(command, cwd=cwd, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as child:
        CHILDREN.add(child.pid)
        try:
            while status is None:
                try:
                    output = child.communicate(timeout=1)[0]
                    status = child.returncode
                except subprocess.TimeoutExpired:
                    if time.monotonic() >= end or late():
                        status = 124
                        os.killpg(child.pid, signal.SIGTERM)
                        output = last_output(child)
        finally:
            CHILDREN.discard(child.pid)
    if STOPPED.is_set():
        raise Refused("interrupted")
    return output, status


def last_output(child):
    """Give vm/run.py time to end its guest, then kill it. Returns the output."""
    try:
        return child.communicate(timeout=30)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0]


class Builder:
    """One copy of the tree. After each breakage the objects of the unbroken module are
    restored, so that the next build compiles only what the next breakage changes."""

    def __init__(self, home):
        self.home, self.tree, self.built = home, home / "tree", home / "built"
        self.boxes, self.lock = home / "modules", threading.Lock()
        self.kernel = cache_dir() / "kernels" / KERNEL
        self.root = self.kernel.resolve()
        self.headers = self.root.parent / "build"
        for gone in ("pristine", "tree-0", "tree-1"):   # of older versions of this tool
            shutil.rmtree(home / gone, ignore_errors=True)
        self.copy()
        shutil.rmtree(self.boxes, ignore_errors=True)
        shutil.copytree(TOP / "tests/selftests", self.boxes / "selftests")

    def copy(self):
        """Copy the current tree, which may be edited during the run. A changed file gets a new
        time stamp; if a source was deleted, all objects are removed."""
        if self.built.exists():
            self.restore()
        command = ["rsync", "-rlpc", "--delete", "--itemize-changes", "--exclude=/build",
                   "--exclude=/.git", "--exclude=*.o", "--exclude=*.o.d", "--exclude=*.ko",
                   "--exclude=*.mod", "--exclude=*.mod.c", "--exclude=.*.cmd",
                   "--exclude=modules.order", "--exclude=Module.symvers",
                   "--exclude=/tools/kdapl/kdapl-loop", f"{TOP}/", f"{self.tree}/"]
        self.tree.mkdir(parents=True, exist_ok=True)
        changes = subprocess.run(command, check=True, text=True, capture_output=True).stdout
        if re.search(r"^\*deleting.*[^/]$", changes, re.M):
            shutil.rmtree(self.tree)
            self.tree.mkdir()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def save(self):
        subprocess.run(["rsync", "-a", "--delete", f"{self.tree}/", f"{self.built}/"],
                       check=True)

    def restore(self):
        subprocess.run(["rsync", "-a", "--delete", f"{self.built}/", f"{self.tree}/"],
                       check=True)

    def make(self, *targets):
        """Build these modules, or raise Refused. The lock keeps "make check" from configuring
        the same kernel tree meanwhile."""
        with open(self.root.parent / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            self.same_kernel()
            output, status = run(BUILD, self.tree, "make", "-s",
                                 f"-j{os.cpu_count()}", "-C", self.headers,
                                 f"M={self.tree}", "KDAPL_TESTS=m", *targets)
        if status:
            error = [l for l in output.split("\n") if "error" in l][:1] or ["time limit"]
            raise Refused("does not build: " + error[0])

    def same_kernel(self):
        """Raise Refused if setup has replaced the kernel, because the modules would not fit."""
        if self.kernel.resolve() != self.root:
            raise Refused(f"the kernel {KERNEL} was replaced; continue with --resume")

    def baseline(self):
        """Build the unbroken module and the loopback. Breakages do not affect the loopback, so
        it is built once."""
        with self.lock:
            self.make(f"{MODULE}/kdapl.ko", "tests/loopback/kdapl_loop.ko")
            output, status = run(BUILD, self.tree, "make", "-s", "tools")
            if status:
                raise Refused(f"kdapl-loop does not build: {output}")
            for path in ("tests/loopback/kdapl_loop.ko", "tools/kdapl/kdapl-loop"):
                shutil.copy(self.tree / path, self.boxes)
            self.put("unbroken")
            self.save()

    def put(self, name):
        box = self.boxes / name
        box.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.tree / MODULE / "kdapl.ko", box)

    def build(self, mutation):
        with self.lock:
            try:
                mutation.apply(self.tree)
                self.make(f"{MODULE}/kdapl.ko")
                self.put(mutation.name)
            finally:
                self.restore()


# Scripts of the guests. The marks on the console show which module was tested.
KUNIT_SCRIPT = """
. selftests/lib.sh
ip netns add other
kdapl_fail_allocs
set -f
try() {{ # NAME SUITES...
	local name=$1 suite status=0
	shift
	KDAPL_DIR=$PWD/$name
	for suite in "$@"; do
		printf %s "$suite" >/sys/module/kunit/parameters/filter_glob
		kdapl_insmod kdapl && rmmod kdapl || return
		! dmesg | sed "1,/mutant $name begins/d" | grep -q 'not ok' || break
	done
}}
while read -r name suites; do
	echo "mutant $name begins" >/dev/kmsg
	status=0
	try $name $suites </dev/null || status=1
	echo "mutant $name ends with $status" >/dev/kmsg
	[ $status = 0 ] || exit 1
done <<'END'
{names}
END
"""
LOOP_SCRIPT = """
mkdir -p {name} && cp kdapl_loop.ko {name} || exit 1
export KDAPL_DIR=$PWD/{name}
. selftests/lib.sh
kunit_off
rxe_setup && kdapl_load || exit 1
./kdapl-loop --json --short >{name}/loop.json; status=$?
kdapl_unload && exit $status
"""


class Watch:
    """Follows the console of a guest to detect a hang, which the guest itself may not be able
    to. There are time limits for the boot, for each module and for silence."""

    def __init__(self, log):
        self.log, self.size, self.rest, self.begun = log, 0, "", False
        self.since = self.heard = time.monotonic()

    def late(self):
        now = time.monotonic()
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(self.size)
            text = log.read()
            self.size = log.tell()
        if text:
            # Repeated reports of the kernel's watchdogs are not progress
            if not self.begun or re.search(r"\bok \d|# \w|mutant ", text):
                self.heard = now
            self.rest = (self.rest + text)[-4000:]
            if re.search(r"mutant \S+ (?:begins|ends)", self.rest):
                self.since, self.begun, self.rest = now, True, ""
        quiet, limit = (QUIET, KUNIT) if self.begun else (BOOT, BOOT)
        return (now - self.heard > quiet * stretch() or
                now - self.since > limit * stretch())


def boot(builder, log, limit, script, watch=False):
    """Run a guest in the folder of the modules. Returns console and output, and the status."""
    builder.same_kernel()
    log.write_text("", encoding="utf-8")
    output, status = run(limit + 60, builder.boxes, builder.built / "tools/kdapl/vm/run.py",
                         "--time", str(limit), "--dir", builder.boxes, "--log", log,
                         KERNEL, script, late=Watch(log).late if watch else lambda: False)
    return log.read_text(encoding="utf-8", errors="replace") + output, status


def first_failure(text):
    """Name of the first test that failed: the case, if KUnit printed it, not its parameter."""
    found = re.search(r"# (\S+): (?:EXPECTATION|ASSERTION) FAILED", text)
    if found:
        return found[1]
    for line in re.findall(r"^(?:\[[ 0-9.]*\] )? *not ok \d+ (?:- )?(.*)$",
                           text, re.M):
        return line.split("#")[0].strip()
    return None


def report_in(text):
    found = REPORT_RE.search(text)
    # Without the path of the build
    return found[1].split(" at /")[0].strip()[:70] if found else None


class KunitQueue:
    """Modules to try, several in one guest. A crash of the guest is a verdict only if all
    modules before it in that guest passed; otherwise the module is tried again, alone."""

    def __init__(self, builder, size):
        self.builder, self.size = builder, size
        self.suites = {}        # name of a module -> suites to run first
        self.waiting, self.alone = [], []
        self.open, self.busy, self.lost = True, 0, 0
        self.changed = threading.Condition()

    def put(self, name, suites, alone=False):
        with self.changed:
            self.suites[name] = suites
            (self.alone if alone else self.waiting).append(name)
            self.changed.notify_all()

    def close(self):
        """No more modules follow."""
        with self.changed:
            self.open = False
            self.changed.notify_all()

    def is_due(self):
        return (STOPPED.is_set() or self.alone or len(self.waiting) >= self.size or
                (not self.open and (self.waiting or not self.busy)))

    def take(self):
        """Wait for enough modules for a guest and return them; an empty list at the end."""
        with self.changed:
            while not self.changed.wait_for(self.is_due, timeout=1):
                pass
            if STOPPED.is_set():
                return []
            if self.alone:
                taken = [self.alone.pop()]
            else:
                taken, self.waiting = (self.waiting[:self.size],
                                       self.waiting[self.size:])
            self.busy += bool(taken)
            return taken

    def done(self):
        """The guest for the modules of one take() has ended."""
        with self.changed:
            self.busy -= 1
            self.changed.notify_all()

    def run(self, names):
        """Run one guest. Yields the name of each module and its failure, or None."""
        log = self.builder.home / f"kunit-{names[0]}.log"
        lines = "\n".join(f"{name} {self.suites.get(name, '')} *"
                          for name in names)
        text, status = boot(self.builder, log, BOOT + KUNIT * len(names),
                            KUNIT_SCRIPT.format(names=lines), watch=True)
        clean = True
        for i, name in enumerate(names):
            part = re.search(rf"mutant {name} begins(.*?)(?:mutant {name} ends "
                             r"with (\d+)|\Z)", text, re.S)
            if not part:
                self.never_began(names[i:], log, first=i == 0)
                return
            failure = first_failure(part[1])
            if part[2] == "0" and not re.search(r"\bok \d+ kdapl_", part[1]):
                raise Refused(f"expected results of KUnit suites, found none, see {log}")
            if not failure and part[2] is None:
                failure = report_in(part[1]) or \
                    ("time limit" if status == 124 else "the guest died")
            elif not failure and part[2] != "0":
                failure = "the module cannot be loaded and unloaded"
            if part[2] != "0" and not clean and not first_failure(part[1]):
                # A module before it may be the cause
                self.again([name], alone=True)
                self.again(names[i + 1:])
                return
            yield name, failure
            clean = clean and not failure
            if part[2] != "0":
                self.again(names[i + 1:])
                return

    def never_began(self, names, log, first):
        """The guest ended between two modules, or did not boot, so try the rest again."""
        self.lost = self.lost + 1 if first else 0
        if self.lost > 3:
            raise Refused(f"four guests in a row did not boot, see {log}")
        self.again(names)

    def again(self, names, alone=False):
        with self.changed:
            if alone:
                self.alone += names
            else:
                self.waiting = names + self.waiting
            self.changed.notify_all()


def loopback(builder, name):
    """Run a short loopback. Returns the failure, or None."""
    result = builder.boxes / name / "loop.json"
    result.unlink(missing_ok=True)
    text, status = boot(builder, builder.home / f"loop-{name}.log", BOOT + LOOP,
                        LOOP_SCRIPT.format(name=name))
    if status == 0:
        return None
    cases = ""
    if result.exists():
        cases, _ = run(60, builder.home, builder.built / "tools/kdapl/check/tap.py",
                       "--from-json", result)
    if status == 124:
        return "time limit"
    return first_failure(cases) or report_in(text) or f"exit status {status}"
