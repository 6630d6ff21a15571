#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run one command in a virtual machine under one of the test kernels.

  tools/kdapl/lab/run_in_vm.py [options] KERNEL [--] COMMAND...

KERNEL is a kernel that tools/kdapl/lab/setup has prepared: stock-6.12, own-6.12, ...
COMMAND runs as root in the directory given by --dir, which the guest shares
read-write with the host. All other files of the host are visible read-only,
with an overlay; a guest of another architecture (own-6.12-arm64) has another root
file system, and the directory is /run/kdapl there. own-6.12-uml is a process of this machine (User
Mode Linux) with one CPU and no network; options of QEMU have no effect on it. The exit status is
that of COMMAND, or
   97  the kernel printed a report (WARNING, BUG, hung task, ...)
   98  the guest died before COMMAND ended (panic, QEMU failed)
  124  the time limit expired
Every guest has a time limit; KDAPL_STRETCH=2 doubles it on a slow machine. A guest that hangs
during its boot, before COMMAND, is booted a second time, and so is one whose QEMU crashes then.
"""

import argparse
import collections
import ctypes
import fcntl
import mmap
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPORT, DIED, TIMEOUT = 97, 98, 124
# Seconds until COMMAND starts, 5 to 60 in practice. Under TCG, a guest was seen that lost the timer
# interrupt of a CPU when the kernel changed the clock source: it waited forever, 2 s after power-on
BOOT_LIMIT = 240

# Reports of the kernel about itself
REPORT_RE = re.compile(
    r"WARNING: |BUG: |\bOops\b|KASAN|KCSAN: |KFENCE|UBSAN|INFO: task |"
    r"INFO: possible |rcu: INFO|possible (circular|recursive|irq|deadlock)|"
    r"suspicious RCU|Kernel panic|general protection fault|kernel BUG at|"
    r"stack segment|list_(add|del) corruption|refcount_t: |ODEBUG: |"
    r"soft lockup|hard LOCKUP|blocked for more than|self-detected stall|"
    r"unreferenced object|sleeping function called|DEBUG_LOCKS_WARN_ON|"
    r"leaked|Bad page state|\bBUG \S+ \(|unregister_netdevice: waiting|"
    r"softirq: huh, entered|NOHZ tick-stop error|kthread starved for|"
    r"already present!|cannot create duplicate filename|"
    r"cm_destroy_id_wait_timeout|register non-static key|"
    # Without memory for a scan area, kmemleak scans the whole object instead
    r"kmemleak: (Cannot (?!allocate a scan area)|Kernel memory leak detector disabled)")
# A data race counts if a function of one of the project's modules is on one of its two
# stacks. The text outside the stacks does not count: it may name the work item that a
# worker executed before.
RACE_RE = re.compile(r"BUG: KCSAN: ")
RACE_END_RE = re.compile(r"={20}")
FRAME_RE = re.compile(r"\+0x[0-9a-f]+/0x")
OURS_RE = re.compile(r"\[(?:kdapl|datblk)\w*\]")
# A work item that hogged its CPU counts only if its function is in one of the project's
# modules: others may be slow in an emulated guest.
HOG_RE = re.compile(r"workqueue: .* hogged CPU for ")
# If the peer's RTU and DREQ are handled before the work item that rdma_notify() queues, the
# connection manager does not cancel its REP, and the destruction of the ID waits until the
# REP expires (tests/rxe/cm_rep_wait.sh). rdma_cm sends a REP 16 times, every 4.096 s,
# which makes 66 s. A line appears every 10 s.
LATE_REP_RE = re.compile(r"cm_destroy_id_wait_timeout: cm_id=(\w+) timed out\. "
                         r"state 12 -> 0, refcnt=1$")
LATE_REP_LINES = 6


def is_report(line):
    """Is this line a report? init also writes to the kernel log; its lines are none."""
    if HOG_RE.search(line):
        return bool(OURS_RE.search(line))
    return bool(REPORT_RE.search(line)) and "virtme-ng-init:" not in line


def drop_late_reps(console):
    """Remove the lines about a REP (LATE_REP_RE) that ended when it expired."""
    waits = [LATE_REP_RE.search(line) for line in console]
    lines = collections.Counter(wait[1] for wait in waits if wait)
    return [line for line, wait in zip(console, waits)
            if not wait or lines[wait[1]] > LATE_REP_LINES]


def split_races(console):
    """Split the console into the lines outside data races, the lines of races that involve
    the project's modules, and the number of other races."""
    others, ours, elsewhere, race = [], [], 0, None
    for line in console:
        if race is None:
            if not RACE_RE.search(line):
                others.append(line)
                continue
            race = []
        race.append(line)
        if len(race) > 1 and RACE_END_RE.search(line) or len(race) > 200:
            # A race without a stack counts
            frames = [line for line in race if FRAME_RE.search(line)]
            if not frames or any(OURS_RE.search(line) for line in frames):
                ours += race
            else:
                elsewhere += 1
                # Reports that another CPU printed meanwhile
                others += [line for line in race
                           if is_report(line) and "KCSAN" not in line]
            race = None
    # A race that was cut off counts, too
    return others, ours + (race or []), elsewhere


# Drivers of hardware that QEMU emulates and no test needs. Without them the boot takes half
# the time.
SKIP_MODULES = (
    "kvm,kvm_amd,kvm_intel,ccp,ahci,libata,sr_mod,cdrom,sg,scsi_mod,"
    "i2c_i801,lpc_ich,iTCO_wdt,i6300esb,psmouse,pcspkr,evdev,serio_raw,"
    "powernow_k8,acpi_cpufreq,button,snd,snd_pcsp,drm,bochs,parport,"
    "aesni_intel,ghash_clmulni_intel,sha512_ssse3,sha256_ssse3,sha1_ssse3,"
    "crct10dif_pclmul,crc32_pclmul,intel_rapl_msr,rapl,intel_pmc_bxt,joydev")


# Without KVM a guest on a busy host stops for seconds, which its kernel would report as a
# stall. So the kernel's limits are long; the time limit of the run catches real stalls.
# QEMU's HPET loses interrupts on a busy host, which stops a timer; its TSC is one clock for
# all CPUs. With 5-level page tables Linux 6.12 briefly clears their CPU feature bit at boot
# (identify_cpu()), and KASAN reports a wild access by an interrupt during that time. The kernel
# panics at boot if ten timer interrupts do not arrive in time, unless it is told not to look.
KERNEL_ARGS = [
    "oops=panic", "panic=-1", "nokaslr", "net.ifnames=0", "sysrq_always_enabled=1",
    "rcupdate.rcu_cpu_stall_timeout=120", "watchdog_thresh=60"]
PC_KERNEL_ARGS = ["no5lvl", "unknown_nmi_panic=1", "tsc=reliable", "no_timer_check",
                  "modprobe.blacklist=" + SKIP_MODULES]
PC_QEMU_ARGS = ["-machine hpet=off"]
# tests/devices/hca: two instances of a PCI function with a DMA domain of its own and an MSI. With
# strict invalidation an address is unmapped as soon as the driver has said so.
HCA_QEMU_ARGS = ["-machine q35", "-device intel-iommu,intremap=on",
                 "-device edu", "-device edu"]
HCA_KERNEL_ARGS = ["intel_iommu=on", "iommu.strict=1", "iommu.passthrough=0"]
# With a host thread for each CPU, TCG of QEMU 7.2 loses interrupts and runs code that another CPU
# has patched: 2 of 4 runs failed. With one thread for all CPUs none of 8 failed, in the same time
SINGLE_ARGS = ["-accel tcg,thread=single"]
# One instruction takes one nanosecond of the guest's clock, and idle time is skipped, so
# times measured in the guest do not depend on the speed and load of the host.
ICOUNT_ARGS = ["-icount shift=0,sleep=off"]
# The kernel reports a work item that keeps its CPU for this long (HOG_RE). A busy host may
# take a CPU away for longer than the kernel's default of 10 ms.
HOG_US = 1000000
# Grace periods of RCU took half of the time of the KUnit and selftest guests. Kernels with
# sanitizers keep normal grace periods, which find more bugs, unless --short-grace is given:
# they take a third of the ledger's time there.
SHORT_GRACE = "rcupdate.rcu_expedited=1"
# Directory of --dir in a guest of another architecture, which does not see the host's files
FOREIGN_DIR = Path("/run/kdapl")
# The first process of User Mode Linux. /dev/tty1 is stderr of the kernel's process.
UML_INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /run
mount -t hostfs -o {dir} hostfs {dir}
/bin/bash {script} >/dev/tty1
busybox poweroff -f
"""


# Replace udev in a mount namespace, so that only the guest sees it. If this is not allowed,
# the guest boots with the real programs.
REPLACEMENT = Path(__file__).resolve().parent / "udev"
REPLACED = ("/usr/bin/udevadm", "/usr/bin/systemd-tmpfiles")
REPLACE = ["unshare", "--mount", "sh", "-c",
           'replacement=$1; shift\n'
           'while [ "$1" != -- ]; do\n'
           '    mount --bind "$replacement" "$1" || exit\n'
           '    shift\n'
           'done\n'
           'shift; exec "$@"', "sh", str(REPLACEMENT),
           *(path for path in REPLACED if os.path.isfile(path)), "--"]


def replaces():
    """May this user replace systemd-udevd in a mount namespace?"""
    if os.path.realpath("/usr/lib/systemd/systemd-udevd") not in REPLACED:
        return False
    try:
        return subprocess.run([*REPLACE, "true"], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def cache_dir():
    """The directory outside the repository that setup fills."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("KDAPL_CACHE") or Path(base) / "kdapl")


def stretch():
    return float(os.environ.get("KDAPL_STRETCH") or 1)


def fail(text):
    sys.exit(f"run_in_vm: {text}")


def is_foreign(name):
    """Is this a kernel of another architecture? Then QEMU emulates the whole machine, and the
    guest's root file system is that of setup arm64-root."""
    return "-arm64" in name


def is_uml(name):
    return name.endswith("-uml")


def guest_dir(opts):
    """The guest's name of the directory given by --dir."""
    return FOREIGN_DIR if is_foreign(opts.kernel) else opts.dir


def root_args(opts):
    """Options of virtme-ng for the guest's root file system and its shared directory."""
    if is_foreign(opts.kernel):
        return ["--arch", "arm64", "--root", str(cache_dir() / "arm64-root"),
                "--rwdir", f"{FOREIGN_DIR}={opts.dir}"]
    return ["--user", "root", "--rwdir", str(opts.dir)]


def find_kernel(name):
    """Path of the kernel image; setup fills kernels/NAME/{boot,lib}."""
    root = cache_dir() / "kernels" / name
    images = sorted((root / "boot").glob("vmlinuz-*"))
    if not images:
        fail(f"expected a kernel in {root}: run tools/kdapl/lab/setup {name} first")
    return images[0].resolve()


# x86: rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def tsc_khz():
    """Rate of the host's time stamp counter, which TCG passes to its guests, or 0 if it
    cannot be measured."""
    if os.uname().machine != "x86_64":
        return 0
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE,
                         prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    code.write(RDTSC)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def sample():
        """Both clocks, from the shortest of many tries, because it was not preempted."""
        tries = [(time.monotonic_ns(), rdtsc(), time.monotonic_ns())
                 for _ in range(100)]
        before, ticks, after = min(tries, key=lambda t: t[2] - t[0])
        return (before + after) // 2, ticks

    begin = sample()
    time.sleep(0.1)
    end = sample()
    return round((end[1] - begin[1]) * 1000000 / (end[0] - begin[0]))


def config_of(image):
    """The configuration of a kernel, or nothing if it has no file."""
    config = image.with_name(image.name.replace("vmlinuz", "config", 1))
    return config.read_text(encoding="utf-8") if config.exists() else ""


def tsc_args(image, khz):
    """Kernel arguments with the rate of the guest's time stamp counter, and with that of its
    udelay(). Otherwise the kernel measures both during its boot, and on a busy host the results
    may be wrong. 178 MHz instead of 2,596 was seen, so all clocks of the guest were 15 times too
    fast, and all timeouts too short. On the second CPU of a guest, udelay() was seen to end
    after a 2,000th of its time."""
    rate = re.search(r"^CONFIG_HZ=(\d+)$", config_of(image), re.M)
    if not khz:
        return []
    return [f"tsc_early_khz={khz}"] + ([f"lpj={khz * 1000 // int(rate[1])}"] if rate else [])


def hog_args(image):
    """Kernel argument with the limit for work items, for a kernel that reports them."""
    if "CONFIG_WQ_CPU_INTENSIVE_REPORT=y\n" not in config_of(image):
        return []
    return [f"workqueue.cpu_intensive_thresh_us={int(HOG_US * stretch())}"]


def uml_command(image, script, opts):
    """The kernel as a command, which writes the console to stdout and the output to stderr."""
    init = script.with_name("init")
    init.write_text(UML_INIT.format(dir=shlex.quote(str(opts.dir)),
                                    script=shlex.quote(str(script))), encoding="utf-8")
    init.chmod(0o755)
    return [str(image), f"mem={opts.memory}", "con=null", "con0=null,fd:1", "con1=null,fd:2",
            f"uml_dir={init.parent}", "root=/dev/root", "rootfstype=hostfs", "ro", f"init={init}",
            "panic_on_warn=1", SHORT_GRACE, *KERNEL_ARGS, *opts.append]


class Guest:
    """One virtual machine: starts it, copies its output, ends it within the time limit."""

    def __init__(self, image, script, started, opts, kvm):
        self.limit = opts.time * stretch()
        self.boot_limit = min(self.limit, BOOT_LIMIT * stretch())
        self.started = started      # the file that the script creates first
        self.log = open(opts.log, "a", encoding="utf-8", buffering=1)
        self.echo = opts.echo
        self.console = []
        self.lock = threading.Lock()
        self.timed_out = self.boot_failed = False
        # In /tmp: the path of a socket must be short.
        self.private = tempfile.TemporaryDirectory(prefix="kdapl-")
        self.monitor = f"{self.private.name}/monitor"
        self.uml = is_uml(opts.kernel)
        cmd = uml_command(image, script, opts) if self.uml else \
            self.vng_command(image, script, opts, kvm)
        vng = cache_dir() / "venv" / "bin"
        env = dict(os.environ, LC_ALL="C.UTF-8",
                   PATH=f"{vng}:{os.environ['PATH']}:/usr/sbin:/sbin")
        # Pipes, not files: QEMU opens its output a second time by name,
        # which truncates a regular file.
        self.proc = subprocess.Popen(
            cmd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd=opts.dir)

    def vng_command(self, image, script, opts, kvm):
        """virtme-ng as a command, which writes the output to stdout and the console to stderr."""
        vng = cache_dir() / "venv" / "bin" / "vng"
        if not vng.exists():
            fail(f"expected virtme-ng as {vng}: run tools/kdapl/lab/setup first")
        foreign = is_foreign(opts.kernel)
        single = not kvm and not opts.parallel
        qemu_args = PC_QEMU_ARGS * (not foreign) + SINGLE_ARGS * single + \
            ICOUNT_ARGS * opts.icount + \
            HCA_QEMU_ARGS * opts.hca + \
            opts.qemu_opts + [f"-monitor unix:{self.monitor},server=on,wait=off"]
        cmd = ["timeout", "--kill-after=5", str(int(self.limit) + 20),
               str(vng), "--run", str(image), "--force-9p", "--verbose",
               "--cpus", str(opts.cpus), "--memory", opts.memory, *root_args(opts),
               "--exec", "exec /bin/bash " + shlex.quote(str(script))]
        if not foreign and replaces():
            cmd = REPLACE + cmd
        if not kvm:
            cmd.append("--disable-kvm")
        # With panic_on_warn any data race of the kernel would end the guest
        warn = "kcsan" not in opts.kernel
        append = KERNEL_ARGS + PC_KERNEL_ARGS * (not foreign) + [
            f"panic_on_warn={warn:d}"] + hog_args(image) + HCA_KERNEL_ARGS * opts.hca + opts.append
        # With --icount the counter counts instructions; KVM reports its rate
        if not kvm and not opts.icount and not foreign:
            append += tsc_args(image, tsc_khz())
        if opts.short_grace or foreign or not opts.kernel.startswith("own-6.12-"):
            append.append(SHORT_GRACE)
        for arg in append:
            cmd += ["--append", arg]
        return cmd + ["--qemu-opts=" + arg for arg in qemu_args]

    def _copy(self, stream, is_console):
        for raw in stream:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            with self.lock:
                self.log.write(line + "\n")
                if is_console:
                    self.console.append(line)
                elif self.echo:
                    print(line, flush=True)

    def dump_state(self):
        """Make a guest that hangs print its blocked tasks, then panic with the stack of
        a CPU."""
        with socket.socket(socket.AF_UNIX) as monitor:
            try:
                monitor.connect(self.monitor)
                monitor.sendall(b"sendkey alt-sysrq-w\n")
                time.sleep(3)
                monitor.sendall(b"nmi\n")
                self.proc.wait(7)
            except (OSError, subprocess.TimeoutExpired):
                pass

    def stop(self):
        """End the process group of this guest, and nothing else."""
        for sig, wait in ((signal.SIGTERM, 3), (signal.SIGKILL, 10)):
            try:
                os.killpg(self.proc.pid, sig)
            except ProcessLookupError:
                return
            try:
                self.proc.wait(wait)
            except subprocess.TimeoutExpired:
                pass

    def wait(self):
        """Wait until the guest has ended, or has reached a time limit."""
        try:
            self.proc.wait(self.boot_limit)
            # QEMU 7.2 without KVM sometimes crashes while the guest maps its PCI devices
            self.boot_failed = not self.started.exists()
            return
        except subprocess.TimeoutExpired:
            self.boot_failed = not self.started.exists()
        try:
            if not self.boot_failed:
                self.proc.wait(self.limit - self.boot_limit)
                return
        except subprocess.TimeoutExpired:
            pass
        self.timed_out = True
        self.dump_state()

    def run(self):
        """Wait until the guest has ended, and end it at the time limit."""
        copiers = [threading.Thread(target=self._copy, args=a, daemon=True)
                   for a in ((self.proc.stdout, self.uml),
                             (self.proc.stderr, not self.uml))]
        for thread in copiers:
            thread.start()
        try:
            self.wait()
        finally:
            self.stop()
        for thread in copiers:
            thread.join(5)
        self.log.close()
        self.private.cleanup()


def boot_guest(opts, kvm):
    """Boot a guest and run the command. Returns (guest, status)."""
    with tempfile.TemporaryDirectory(prefix=".vm-", dir=opts.dir) as box:
        script = Path(box) / "script"
        status_file = Path(box) / "status"
        inside = guest_dir(opts) / Path(box).name
        script.write_text(
            "exec 2>&1 </dev/null\n"
            f">{shlex.quote(str(inside / 'started'))}\n"
            f"cd {shlex.quote(str(guest_dir(opts)))} || exit 1\n"
            "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root\n"
            f"export KDAPL_STRETCH={stretch()} KDAPL_VM={opts.kernel}\n"
            f"(\n{opts.command}\n)\n"
            "status=$?\n"
            f"echo $status >{shlex.quote(str(inside / status_file.name))}\n"
            "exit $status\n", encoding="utf-8")
        guest = Guest(find_kernel(opts.kernel), inside / script.name, Path(box) / "started",
                      opts, kvm)
        for sig in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, lambda *_: (guest.stop(), sys.exit(DIED)))
        guest.run()
        try:
            status = int(status_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            status = TIMEOUT if guest.timed_out else DIED
    return guest, status


def run_guest(opts, kvm):
    """Boot a guest, run the command, evaluate the console. Returns (status, console lines)."""
    opts.log.unlink(missing_ok=True)
    guest, status = boot_guest(opts, kvm)
    if guest.boot_failed and not kvm and (guest.timed_out or not any(map(
            is_report, guest.console))):
        how = "hung" if guest.timed_out else "died"
        last = guest.console[-1] if guest.console else "none"
        print(f"run_in_vm: {opts.kernel}: the guest {how} during its boot, it is booted again; last "
              f"line: {last}", file=sys.stderr)
        guest, status = boot_guest(opts, kvm)
    others, races, elsewhere = split_races(drop_late_reps(guest.console))
    if "kmemleak=off" in opts.append:
        # kmemleak reports that it is disabled, as requested
        others = [line for line in others if not re.search(
            "kmemleak: Kernel memory leak detector disabled", line)]
    reports = sum(is_report(line) for line in others + races)
    with open(opts.log, "a", encoding="utf-8") as log:
        log.write(f"run_in_vm: {reports} lines of reports, "
                  f"{elsewhere} data races of others\n")
    if races or reports:
        status = REPORT if status in (0, DIED) else status
    return status, others + races


def kvm_works(opts):
    """Does a guest boot and end with KVM? /dev/kvm alone proves nothing: it may exist and
    open, and every guest hangs. Tried once per boot of the host."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = cache_dir() / f"kvm-{boot_id}"
    with open(cache_dir() / "kvm.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)    # one trial for all concurrent runs
        return kvm_verdict(opts, verdict)


def kvm_verdict(opts, verdict):
    if not verdict.exists():
        print("run_in_vm: trying KVM with one guest, up to 40 seconds, once",
              file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=opts.dir, prefix=".kvm-") as box:
            trial = argparse.Namespace(**vars(opts))
            trial.command, trial.time, trial.echo = "true", 40, False
            trial.dir, trial.log = Path(box), Path(box) / "log"
            ok = run_guest(trial, True)[0] == 0
        for old in cache_dir().glob("kvm-*"):
            old.unlink(missing_ok=True)
        verdict.write_text("yes\n" if ok else "no\n", encoding="ascii")
    return verdict.read_text(encoding="ascii").strip() == "yes"


def parse():
    top = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    top.add_argument("--time", type=float, default=300,
                     help="time limit in seconds (default 300)")
    top.add_argument("--dir", type=Path, default=None,
                     help="folder shared read-write (default: a new one)")
    top.add_argument("--log", type=Path, default=None,
                     help="file for console and output (default: DIR/KERNEL.log)")
    top.add_argument("--cpus", type=int, default=2)
    top.add_argument("--memory", default="2G")
    top.add_argument("--short-grace", action="store_true",
                     help="short grace periods of RCU on any kernel")
    top.add_argument("--icount", action="store_true",
                     help="one CPU, with a clock that counts instructions")
    top.add_argument("--parallel", action="store_true",
                     help="a host thread for each CPU of the guest, for tests of races")
    top.add_argument("--hca", action="store_true",
                     help="PCI functions behind an IOMMU, for tests/devices/hca")
    top.add_argument("--append", action="append", default=[],
                     help="an additional kernel argument")
    top.add_argument("--qemu-opts", action="append", default=[])
    top.add_argument("--quiet", dest="echo", action="store_false",
                     help="write the command's output to the log only")
    top.add_argument("kernel")
    top.add_argument("command", nargs=argparse.REMAINDER)
    opts = top.parse_args()
    words = opts.command[1:] if opts.command[:1] == ["--"] else opts.command
    if not words:
        top.error("no command given")
    opts.command = words[0] if len(words) == 1 else shlex.join(words)
    if opts.icount:
        opts.cpus, opts.parallel = 1, False
    opts.dir = (opts.dir or Path(tempfile.mkdtemp(prefix="kdapl-vm-"))).resolve()
    opts.dir.mkdir(parents=True, exist_ok=True)
    opts.log = (opts.log or opts.dir / f"{opts.kernel}.log").resolve()
    opts.log.parent.mkdir(parents=True, exist_ok=True)
    return opts


def main():
    opts = parse()
    find_kernel(opts.kernel)
    begin = time.monotonic()
    status, console = run_guest(
        opts, not (opts.icount or is_foreign(opts.kernel) or is_uml(opts.kernel)) and
        kvm_works(opts))
    if status:
        why = {REPORT: "kernel report", DIED: "guest died",
               TIMEOUT: "time limit"}.get(status, f"status {status}")
        print(f"run_in_vm: {opts.kernel}: {why} after "
              f"{time.monotonic() - begin:.0f} s; excerpt of the console "
              f"(log: {opts.log}):", file=sys.stderr)
        first = next((i for i, line in enumerate(console)
                      if is_report(line)), None)
        size = 40 if status in (DIED, TIMEOUT) else 15
        tail = console[-size:] if first is None else console[first:first + 60]
        for line in tail:
            print("  | " + line, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
