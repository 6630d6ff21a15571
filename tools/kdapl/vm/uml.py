#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run one command under a test kernel that is a process of this machine (User Mode Linux).

  tools/kdapl/vm/uml.py [options] KERNEL [--] COMMAND...

check/guest calls this script instead of run.py for own-6.12-uml. The options, the exit status and
the files are those of run.py, except that options of QEMU have no effect. The guest has one CPU
and no network. It sees all files of the host read-only, and the folder given by --dir read-write.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
import run  # noqa: E402 (in this folder)

# The first process of the guest. /dev/tty1 is stderr of the kernel's process.
INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TMPDIR=/run
export KDAPL_STRETCH={stretch} KDAPL_VM={kernel}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /run
mount -t hostfs -o {dir} hostfs {dir}
cd {dir}
(
{command}
) </dev/null >/dev/tty1 2>&1
echo $? >{status}
busybox poweroff -f
"""


def command_line(opts, init):
    """The kernel as a command, which writes its messages to stdout."""
    return [str(run.find_kernel(opts.kernel)), f"mem={opts.memory}", "con=null", "con0=null,fd:1",
            "con1=null,fd:2", f"uml_dir={init.parent}", "root=/dev/root", "rootfstype=hostfs", "ro",
            f"init={init}", "panic_on_warn=1", run.SHORT_GRACE, *run.KERNEL_ARGS,
            *opts.append]


def copy(stream, log, lines, echo):
    """Copy the output of the kernel to the log, and to lines or stdout."""
    for raw in stream:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        log.write(line + "\n")
        if lines is not None:
            lines.append(line)
        elif echo:
            print(line, flush=True)


def stop(proc):
    """End the kernel and its processes, which are processes of the host."""
    try:
        os.killpg(proc.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    proc.wait()


def boot(opts, init):
    """Boot the kernel and wait until it ends. Returns (in time?, console)."""
    console, limit = [], opts.time * run.stretch()
    with open(opts.log, "w", encoding="utf-8", buffering=1) as log:
        proc = subprocess.Popen(command_line(opts, init), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, cwd=opts.dir)
        for sig in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, lambda *_: (stop(proc), sys.exit(run.DIED)))
        copiers = [threading.Thread(target=copy, args=(stream, log, lines, opts.echo), daemon=True)
                   for stream, lines in ((proc.stdout, console), (proc.stderr, None))]
        for thread in copiers:
            thread.start()
        try:
            proc.wait(limit)
            in_time = True
        except subprocess.TimeoutExpired:
            in_time = False
        stop(proc)
        for thread in copiers:
            thread.join(5)
    return in_time, console


def run_uml(opts):
    """Boot the kernel, run the command, evaluate the console. Returns (status, console)."""
    with tempfile.TemporaryDirectory(prefix=".uml-", dir=opts.dir) as box:
        init, status_file = Path(box) / "init", Path(box) / "status"
        init.write_text(INIT.format(
            stretch=run.stretch(), kernel=opts.kernel, dir=shlex.quote(str(opts.dir)),
            command=opts.command, status=shlex.quote(str(status_file))), encoding="utf-8")
        init.chmod(0o755)
        in_time, console = boot(opts, init)
        try:
            status = int(status_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            status = run.DIED if in_time else run.TIMEOUT
    console = run.drop_late_reps(console)
    if any(map(run.is_report, console)) and status in (0, run.DIED):
        status = run.REPORT
    return status, console


def main():
    opts = run.parse()
    begin = time.monotonic()
    status, console = run_uml(opts)
    if status:
        why = {run.REPORT: "kernel report", run.DIED: "guest died",
               run.TIMEOUT: "time limit"}.get(status, f"status {status}")
        print(f"vm/uml: {opts.kernel}: {why} after {time.monotonic() - begin:.0f} s; excerpt of the "
              f"console (log: {opts.log}):", file=sys.stderr)
        first = next((i for i, line in enumerate(console) if run.is_report(line)), None)
        for line in console[-40:] if first is None else console[first:first + 60]:
            print("  | " + line, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
