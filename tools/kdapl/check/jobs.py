# SPDX-License-Identifier: GPL-2.0
"""The jobs of all targets: the purpose of each, its needs, and the files its verdict depends on.

Used by run_jobs.py, which runs them, and by store.py, which stores their verdicts.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

CHECK = "tools/kdapl/check"
LAB = "tools/kdapl/lab"
TESTS = "tests/selftests"
HOSTILE = "tests/consumers/stress/blk_hostile"
STOCK = ("stock-6.1", "stock-6.12")

# Groups of files, by name. "-PATH" leaves a path out. A job that runs a kernel also depends on the
# configuration of that kernel (kernel_files()).
SOURCES = {
    "kdapl": ("drivers/infiniband/ulp/kdapl", "-drivers/infiniband/ulp/kdapl/tests", "include",
              "Kbuild"),
    "suites": ("drivers/infiniband/ulp/kdapl/tests", f"{CHECK}/suites.py"),
    "datblk-suites": ("drivers/block/datblk/tests",),
    "datblk": ("drivers/block/datblk", "-drivers/block/datblk/tests", "tools/datblk"),
    "guest": (f"{CHECK}/run-guest", f"{CHECK}/build-modules", f"{CHECK}/env.sh",
              f"{LAB}/compilers.sh", f"{LAB}/run-in-root", f"{LAB}/run_in_vm.py", f"{LAB}/udev",
              f"{LAB}/requirements.txt",
              f"{TESTS}/lib.sh", "tests/lib", "tests/rxe/qp1_wake.c", "Makefile"),
    "loop": ("tests/consumers/loopback", "tests/lib", "tools/kdapl/loop"),
    "selftests": (f"{TESTS}/run.sh", "tests/consumers/actor", "tests/consumers/perf",
                  "tests/consumers/stress", f"-{HOSTILE}", "tests/consumers/traffic",
                  "tests/examples", "tests/lib", "tools/kdapl/trace", "tools/kdapl/loop"),
    "stress": ("tests/consumers/stress", f"-{HOSTILE}", "tests/lib", f"{TESTS}/run.sh",
               f"{TESTS}/ledger.sh", f"{TESTS}/fuzz.sh"),
    "interop": ("tests/consumers/interop", "tests/consumers/loopback"),
    "rxe": ("tests/rxe", f"{TESTS}/run.sh"),
    "hca": ("tests/devices/hca", "tests/consumers/conform"),
    "bench": ("tests/devices/bench", "tools/kdapl/bench"),
    "wire": (f"{CHECK}/run-two-guests", f"{CHECK}/connect_guests.py", "tests/rxe"),
    "docs": ("Documentation", "tools/kdapl/docs"),
    "litmus": ("tests/formal/litmus", f"{CHECK}/litmus.py"),
    "models": ("tests/formal/models", f"{CHECK}/check-models"),
    "mutate": ("tools/kdapl/mutate", "tests/mutations", f"{CHECK}/suites.py"),
    "coverage": (f"{CHECK}/report-coverage", f"{CHECK}/fastpath.py"),
    "soak": (f"{CHECK}/trends.py", "tests/consumers/stress"),
    "packages": ("tools/debian", "tools/kdapl/package", f"{LAB}/package-root.sh",
                 "tests/consumers/perf", "tests/examples", "Documentation/block/datblk.rst"),
    "tree": (".",),
}


@dataclass
class Job:
    """A command that prints TAP. A step, such as setup, is a command that prints no results."""
    name: str
    command: list
    about: str
    needs: tuple = ()
    inputs: tuple = ()      # names of SOURCES, and paths
    kernel: str = ""
    step: bool = False
    product: bool = True    # it executes code of kdapl.ko or datblk, so its passes are counted
    weight: int = 1         # 2 for two guests; 0 for a setup that only fetches, under its lock
    minutes: int = 30       # only a job that hangs takes longer
    cell: tuple = ()        # row and column of the table of its target

    def is_guest(self):
        return bool(self.kernel) and not self.step


def files(name):
    """The paths of a group of SOURCES. Any other name is a path."""
    return SOURCES.get(name, (name,))


def has_kunit(kernel):
    return kernel.startswith("own-")


def kernel_files(kernel):
    """The files with the configuration of a kernel that setup builds."""
    if not kernel.startswith("own-"):
        return ()
    variant = kernel.split("-")[2:] or (["newest"] if kernel == "own-newest" else [])
    common = [] if kernel.endswith("-uml") else ["kernel"]
    return tuple(f"{LAB}/{name}.config" for name in [*common, *variant])


def setup(what):
    return Job(f"setup-{what}", [f"{LAB}/setup", "--quiet", what],
               f"fetch or build {what}, unless the cache has it", step=True, product=False,
               weight=int(what.startswith("own-")), minutes=60)


def script(name, about, *inputs, needs=(), command=()):
    """A job that runs no code of the product."""
    return Job(name, list(command) or [f"{CHECK}/check-{name}"], about, needs, inputs or ("tree",),
               product=False)


def build(kernel):
    return Job(f"build-{kernel}", [f"{CHECK}/build-modules", kernel],
               f"modules for {kernel}, W=1: interfaces of that kernel",
               (f"setup-{kernel}",), step=False, product=False)


def guest(kernel, purpose, about, *inputs, name="", **more):
    """A guest for a purpose; upper-case arguments are variables of its environment."""
    name = name or purpose
    env = {"KDAPL_BOX": name} | {key: more.pop(key) for key in list(more) if key.isupper()}
    # A kernel with sanitizers is several times slower
    more.setdefault("minutes", 60 if kernel.count("-") > 1 else 30)
    suites = ["suites", *(["datblk-suites"] if "datblk" in inputs else [])]
    inputs = ("kdapl", "guest", *(suites if has_kunit(kernel) else []), *inputs)
    return Job(f"{name}-{kernel}",
               ["env", *(f"{key}={value}" for key, value in env.items()),
                f"{CHECK}/run-guest", kernel, purpose],
               about, (f"build-{kernel}",), tuple(dict.fromkeys(inputs)), kernel, **more)


def selftests(kernel, name, about, tests, **more):
    """Selftests by name; all, or with only --short all short ones, if there is none."""
    names = [test for test in tests.split() if test != "--short"]
    # A script of another directory is in the group of that directory
    inputs = ["selftests", *(f"{TESTS}/{test}.sh" for test in names if "/" not in test)]
    if not names:
        inputs.append(TESTS)
    if not names or "datblk" in tests:
        inputs.append("datblk")
    if not names or {"datblk_hostile", "datblk_auth"} & set(names):
        inputs.append(HOSTILE)
    if "KDAPL_HCA" in more:
        inputs.append("hca")
    return guest(kernel, "selftests", about, *inputs, name=name, KDAPL_TESTS=tests, **more)


# ---- what a change must pass ------------------------------------------------------

def style():
    return script("style", "checkpatch, shellcheck, kernel-doc, project rules",
                  needs=("setup-docs",))


def docs():
    return script("docs", "pages and manual pages build without a warning", "docs", "kdapl",
                  needs=("setup-docs",), command=["tools/kdapl/docs/build-docs"])


def sources():
    """Checks that need no guest: of the sources, the pages, and the tools."""
    return [style(), docs(),
            script("tools", "the scripts that evaluate results work",
                   command=[f"{CHECK}/tools_test.py"]),
            script("datblkctl", "what datblkctl writes to the kernel and prints",
                   command=["tools/datblk/datblkctl_test.py"]),
            script("kdapl-loop", "what kdapl-loop writes to its modules and prints",
                   command=["tools/kdapl/loop/loop_test.py"]),
            # herd7 comes from another release: if it cannot be fetched, only this job fails
            script("litmus", "barriers of the lockless code against the kernel's memory model",
                   "litmus", needs=("setup-herd",), command=[f"{CHECK}/litmus.py"])]


def kunit(kernel):
    return guest(kernel, "kunit", "mechanisms of kdapl.ko and datblk over a fake device", "datblk",
                 cell=(kernel, "kunit"))


def loop(kernel):
    return guest(kernel, "loop", f"the loopback on {kernel}", "loop", cell=(kernel, "loop"))


def check(kunit_kernel="own-6.12", kernel="stock-6.12"):
    """Every clause, in five guests. KUnit can also run on a kernel with sanitizers."""
    return [build(kunit_kernel), build(kernel), *sources(), kunit(kunit_kernel),
            selftests(kernel, "short", "what needs a whole system: load, removal, namespaces, a "
                      "ledger, disks", "--short"),
            guest(kernel, "loop-short", "what a wire can show, on Soft-RoCE", "loop"),
            guest(kernel, "limits", "time limits of the contract, counted in instructions", "loop"),
            bench(kernel)]


def bench(kernel):
    return Job(f"bench-{kernel}", ["tools/kdapl/bench/count.py", "--check"],
               "instructions of each path: no path becomes slower", (f"build-{kernel}",),
               ("kdapl", "guest", "bench"), kernel)


def kasan(kernel="own-6.12-debug"):
    """Memory errors, locks and leaks on the paths that random and failing calls reach."""
    return [build(kernel), kunit(kernel),
            guest(kernel, "ledger", "20,000 posts accounted for, with KASAN, lockdep, kmemleak",
                  "stress", LEDGER_POSTS=20000),
            selftests(kernel, "fuzz", "40,000 random calls and failing allocations, with KASAN",
                      "fault_inject fuzz", FUZZ_CALLS=40000),
            selftests(kernel, "datblk", "disks, and a server that restarts, with KASAN",
                      "--short datblk")]


def ci():
    """make check, with KUnit on a kernel with sanitizers; the server of disks; other kernels."""
    debug = "own-6.12-debug"
    server = next(job for job in blk() if job.name == "blk-server-stock-6.12")
    return [*check(debug), *kasan(debug), server,
            *(job for kernel in ("stock-6.1", "stock-newest")
              for job in (build(kernel), loop(kernel)))]


def quick(kernel="stock-6.12", native="own-6.12-uml"):
    """For daily work: User Mode Linux runs KUnit in a process of this machine, with one CPU."""
    return [style(), docs(), build(native), kunit(native), build(kernel),
            guest(kernel, "loop-short", "what a wire can show, on Soft-RoCE", "loop")]


# ---- everything else ----------------------------------------------------------------

# Debian's kernels that are supported. They have no KUnit. The cloud kernels lack Soft-RoCE, which
# guests need: modules are built for them, but they are not booted
KERNELS = (*STOCK, "rt-6.1", "rt-6.12", "deb13", "stock-newest", "rt-newest")
ONLY_BUILT = ("cloud-6.1", "cloud-6.12")
ALL_TESTS = ""      # of run.sh


def arm64():
    """Only the short loopback is fast enough on an emulated machine."""
    plain, kasan_tags = "own-6.12-arm64", "own-6.12-arm64-kasan"
    return [build(plain), kunit(plain),
            guest(plain, "loop-short", "short loopback on arm64", "loop", cell=(plain, "loop")),
            build(kasan_tags), kunit(kasan_tags),
            guest(kasan_tags, "loop-short", "short loopback on arm64 with KASAN", "loop",
                  cell=(kasan_tags, "loop"), KDAPL_DIVIDE=10)]


def kernels():
    jobs = [intree(name) for name in ("own-6.12", "own-newest")]
    jobs += [build("own-newest"), kunit("own-newest"), *arm64(), build("own-6.12"),
             guest("own-6.12", "kunit", "races of a few instructions, which need parallel CPUs",
                   "datblk", name="kunit-parallel", cell=("own-6.12", "kunit, parallel"),
                   KDAPL_PARALLEL=1),
             *map(only_build, ONLY_BUILT)]
    for kernel in KERNELS:
        jobs += [build(kernel), loop(kernel),
                 selftests(kernel, "selftests", f"all selftests on {kernel}", ALL_TESTS,
                           minutes=90, cell=(kernel, "selftests")),
                 guest(kernel, "interop", f"user-space uDAPL's dapltest on {kernel}", "interop",
                       cell=(kernel, "interop"))]
    return jobs


def only_build(kernel):
    """Other builds run when a job needs them. This one is a test, and has a verdict."""
    return replace(build(kernel), kernel=kernel, cell=(kernel, "build"), inputs=(
        "kdapl", "datblk", "guest", "loop", "selftests", "interop", "rxe", "hca"))


def intree(kernel):
    return Job(f"intree-{kernel}", [f"{CHECK}/build-in-tree", kernel],
               "the modules in a kernel tree", (f"setup-{kernel}",),
               ("kdapl", "suites", "datblk", "datblk-suites", f"{CHECK}/build-in-tree",
                "tools/kdapl/upstream"), kernel, product=False, cell=(kernel, "build"))


def patchset():
    """Must not run beside intree-own-newest, which changes the source that it copies: weight 2."""
    return [Job("patchset", ["tools/kdapl/upstream/patchset"],
                "each patch of the series for a kernel compiles", ("setup-source-newest",),
                ("kdapl", "suites", "datblk", "datblk-suites", "docs", "tests/examples",
                 "tools/kdapl/upstream", "tools/kdapl/bench/reference.json", f"{LAB}/kernel.config",
                 f"{CHECK}/env.sh", "MAINTAINERS"), product=False, weight=2, minutes=120)]


def contexts(kernel="stock-6.12"):
    """Completion contexts other than softirq."""
    jobs = [build(kernel)]
    for name in ("process", "poll"):
        jobs += [guest(kernel, "loop", f"the loopback in {name} context", "loop",
                       name=f"loop-{name}", KDAPL_CONTEXT=name, KDAPL_DIVIDE=50),
                 selftests(kernel, f"life-{name}", f"ledger and lifetimes in {name} context",
                           "ledger lifetime", KDAPL_CONTEXT=name, LEDGER_POSTS=20000)]
    return jobs


# Kernels with sanitizers: description, form of the loopback, divisor of its messages, random calls,
# posts of the ledger, and whether the test needs CPUs that run at the same time
DEBUG = {
    "own-6.12-debug": ("KASAN and lockdep", "loop", 10, 1000000, 200000, {}),
    "own-6.12-kcsan": ("KCSAN", "loop-short", 20, 50000, 50000, {"KDAPL_PARALLEL": 1}),
    "own-6.12-rt": ("PREEMPT_RT", "loop-short", 20, 50000, 50000, {}),
}


def debug(kernel):
    """Many random calls, posts and messages on a kernel with sanitizers."""
    what, loop, divide, calls, posts, env = DEBUG[kernel]
    # kmemleak takes more than half of the time of a ledger
    env = env | ({"KDAPL_KMEMLEAK": "off"} if kernel == "own-6.12-debug" else {})
    return [
        build(kernel), kunit(kernel),
        selftests(kernel, "selftests", f"all selftests with {what}", ALL_TESTS, LEDGER_POSTS=20000,
                  FUZZ_CALLS=40000, minutes=240),
        guest(kernel, "ledger", f"{posts:,} posts accounted for, with {what}", "stress",
              name="ledger-long", LEDGER_POSTS=posts, minutes=240, **env),
        guest(kernel, "fuzz", f"{calls:,} random calls, with {what}", "stress", name="fuzz-long",
              FUZZ_CALLS=calls, minutes=240, **env),
        guest(kernel, loop, f"the loopback with {what}", "loop", name="loop", KDAPL_DIVIDE=divide,
              minutes=120),
        guest(kernel, "interop", f"dapltest with {what}", "interop", minutes=60),
        selftests(kernel, "parallel", f"CPUs free what other CPUs use, with {what}",
                  "lifetime ledger", LEDGER_POSTS=20000, KDAPL_PARALLEL=1, minutes=120),
        guest(kernel, "loop", "four CPUs feed one EVD", "loop", name="starve", KDAPL_CPUS=4,
              KDAPL_PARALLEL=1,
              KDAPL_CASES="flow/four-threads,flow/armed,flow/starve,flow/starve-dtos")]


def debugs():
    """All kernels with sanitizers, and the long ledgers that need a stock kernel."""
    kernel = "stock-6.12"
    return [*debug("own-6.12-debug"), *contexts("own-6.12-debug"), *races(), build(kernel),
            script("models", "spin models of the lockless code", "models"),
            guest(kernel, "ledger", "1,000,000 posts accounted for", "stress",
                  LEDGER_POSTS=1000000),
            selftests(kernel, "blk-hostile-long",
                      "peers that break the protocol of disks, 100,000 messages each",
                      "datblk_hostile", HOSTILE_MESSAGES=100000, SELFTEST_TIME=30000, minutes=600),
            # The test with two guests needs netem of the stock kernels
            Job(f"two-guests-{kernel}",
                ["env", "TWO_GUESTS_POSTS=150000", f"{CHECK}/run-two-guests", kernel],
                "ledger between two VMs, over a wire that loses packets", (f"build-{kernel}",),
                ("kdapl", "guest", "stress", "wire"), kernel, weight=2, minutes=120)]


def races():
    kcsan = "own-6.12-kcsan"
    return [*(job for kernel in (kcsan, "own-6.12-rt") for job in debug(kernel)),
            selftests(kcsan, "blk-parallel", "data races of disks and their server",
                      "--short datblk datblk_share", KDAPL_PARALLEL=1, minutes=120)]


# The adapter model (tests/devices/hca/README.rst): its personalities, and faults of the wire
HCA = {
    "ibta": "personality=ibta", "mlx5": "personality=mlx5", "irdma": "personality=irdma",
    "bnxt_re": "personality=bnxt_re", "qedr": "personality=qedr", "rxe": "personality=rxe",
    "faults": "drop=100 duplicate=50 delay=300 last_first=2",
}
# The selftests that run on it: description, names, variables
HCA_TESTS = {
    "ledger": ("200,000 posts accounted for", "ledger", {"LEDGER_POSTS": 200000}),
    "life": ("lifetimes, CPUs that go offline", "lifetime hotplug", {}),
    "fuzz": ("100,000 random calls", "fuzz", {"FUZZ_CALLS": 100000}),
    "datblk": ("disks", "--short datblk", {}),
    "users": ("nvme-rdma and plain verbs", "conform/nvme perf", {}),
    "device": ("links that go down, posts that are refused or forgotten",
               "conform/link conform/faults", {}),
}
# Options that only some tests endure: what they do is a part of the test, or changes what it expects.
# Without a translating IOMMU, and with a copy for each mapping, no memory can be registered
HCA_ALONE = {
    ("refused", "faults"): ("one in 100 posts is refused, 100,000 accounted for", "ledger",
                            {"KDAPL_HCA": "post_enomem=100", "LEDGER_POSTS": 100000}),
    ("forgotten", "faults"): ("one in 2,000 posts is forgotten, 100,000 accounted for", "ledger",
                              {"KDAPL_HCA": "doorbell=2000", "LEDGER_POSTS": 100000}),
    ("bounce", "ibta"): ("memory that needs DMA syncs is refused", "conform/bounce",
                         {"KDAPL_HCA": "personality=ibta",
                          "KDAPL_APPEND": "swiotlb=force iommu.passthrough=1"}),
}
# The same with KASAN and lockdep. What fails when an allocation does depends on the objects of the
# device, not on the behaviour of the wire
HCA_DEBUG = {
    "ledger": ("20,000 posts accounted for", "ledger", {"LEDGER_POSTS": 20000}, ("mlx5", "faults")),
    "fault": ("failing allocations", "fault_inject", {}, ("ibta", "irdma")),
    "fuzz": ("20,000 random calls", "fuzz", {"FUZZ_CALLS": 20000}, ("bnxt_re",)),
}


def hca_test(kernel, case, personality, about, tests, env, row):
    # Only the loopback runs without shared receive queues
    options = HCA[personality] + " srq=1" * (personality == "irdma")
    return selftests(kernel, f"hca-{case}-{personality}",
                     f"{about}, on the adapter model, {options}", tests, cell=(row, personality),
                     KDAPL_HCA=options, **env)


def hca(kernel="stock-6.12", debug_kernel="own-6.12-debug"):
    """Each personality, and what it has to pass."""
    # Personalities other than the default differ from the specification
    jobs = [build(kernel), build(debug_kernel), guest(
        kernel, "conform", "Soft-RoCE and the adapter model against the specification", "hca",
        product=False, cell=("conform", "ibta"))]
    for name, options in HCA.items():
        # Without LAST_WQE_REACHED each EP with an SRQ waits for a timeout. The job takes half an
        # hour, in which it is mostly idle
        jobs.append(guest(kernel, "loop", f"the loopback on the adapter model, {options}", "hca",
                          "loop", name=f"hca-loop-{name}", cell=("loop", name), KDAPL_HCA=options,
                          KDAPL_DIVIDE=20, minutes=60 if name == "rxe" else 30))
        jobs += [hca_test(kernel, case, name, about, tests, env, case)
                 for case, (about, tests, env) in HCA_TESTS.items()]
        jobs += [hca_test(debug_kernel, case, name, about, tests, env, f"{case}, KASAN")
                 for case, (about, tests, env, names) in HCA_DEBUG.items() if name in names]
    jobs += [selftests(kernel, f"hca-{'-'.join(cell)}", f"{about}, on the adapter model", tests,
                       cell=cell, **env) for cell, (about, tests, env) in HCA_ALONE.items()]
    return jobs


def blk(debug="own-6.12-debug"):
    """Without the long runs: check-debug has 100,000 hostile messages, and KCSAN."""
    # With another allocation failing in each, the server restarts more than 300 times
    jobs, limit = [], {"blk-fault": {"SELFTEST_TIME": 7200}}
    for kernel in (debug, *STOCK, "stock-newest"):
        # What a restart can hit does not depend on the kernel
        many = {"stock-6.12": 20, debug: 2}.get(kernel, 4)
        tests = {"blk": ("disks over {many} restarts of the server, keys, shared connections",
                         "datblk datblk_auth datblk_share"),
                 "blk-server": ("the server of disks, datblkctl", "datblk_server datblkctl"),
                 "blk-paths": ("disks whose paths fail in turn", "datblk_paths"),
                 "blk-hostile": ("peers that break the protocol of disks", "datblk_hostile")}
        if kernel == debug:
            tests["blk-fault"] = "disks when allocations fail", "datblk_fault"
        else:
            tests["blk-devices"] = ("disks on devices that hang, power cuts, swap, trace scripts",
                                    "datblk_slow datblk_power datblk_swap datblk_trace")
            jobs.append(Job(
                f"blk-crash-{kernel}",
                ["env", f"BLK_CRASHES={many}", f"{CHECK}/run-two-guests", kernel, "disk"],
                f"disks between two VMs: the server's is killed {many} times", (f"build-{kernel}",),
                ("kdapl", "guest", "datblk", "stress", "wire"), kernel, weight=2, minutes=120,
                cell=("blk-crash", kernel)))
        jobs += [build(kernel), *(
            selftests(kernel, name, about.format(many=many), scripts, KDAPL_BLK_ROUNDS=many,
                      HOSTILE_MESSAGES=500 if kernel == debug else 2000, minutes=120,
                      cell=(name, kernel), **limit.get(name, {}))
            for name, (about, scripts) in tests.items())]
    return [*jobs, build("own-newest"), selftests(
        "own-newest", "blk", "disks on a self-built newest kernel", "datblk", KDAPL_BLK_ROUNDS=4,
        minutes=120, cell=("blk", "own-newest"))]


def bench_blk(kernel="stock-6.12"):
    return [build(kernel), Job(
        "bench-blk", ["tools/kdapl/bench/blk.py"],
        "instructions of an I/O, compared with nvme-rdma", (f"build-{kernel}",),
        ("kdapl", "guest", "datblk", "bench"), kernel, minutes=90)]


def rxe(rt_kernels=("rt-6.12", "rt-newest")):
    """Reproducers, without kdapl.ko, of kernel faults below kDAPL."""
    own = "rxe/qp1_error rxe/qp1_stall rxe/cm_rep_wait rxe/late_packet"
    scripts = dict.fromkeys(STOCK, own) | dict.fromkeys(rt_kernels, "rxe/irq_poll")
    jobs = []
    for kernel, names in scripts.items():
        jobs += [build(kernel), selftests(kernel, "rxe", "kernel faults that kDAPL or tests avoid",
                                          names, product=False)]
        jobs[-1].inputs = ("guest", "rxe")
    return jobs


def coverage(kernel="own-6.12"):
    """Guests with a kdapl.ko built for gcov, and the evaluation of their counts."""
    on = {"KDAPL_GCOV": 1}
    compile_ = Job(f"gcov-build-{kernel}",
                   ["env", "KDAPL_GCOV=1", f"{CHECK}/build-modules", kernel],
                   f"modules for {kernel}, built for gcov", (f"setup-{kernel}",), product=False)
    guests = [guest(kernel, "selftests", "selftests, for gcov", "selftests", TESTS, "datblk",
                    name="gcov-selftests", minutes=90, **on),
              guest(kernel, "loop", "the loopback, for gcov", "loop", name="gcov-loop",
                    KDAPL_DIVIDE=10, **on),
              guest(kernel, "kunit", "KUnit, for gcov", "datblk", name="gcov-kunit", **on)]
    for job in guests:
        job.needs = (compile_.name,)
    inputs = tuple(dict.fromkeys(name for job in guests for name in job.inputs))
    return [compile_, *guests, Job(
        "coverage", [f"{CHECK}/report-coverage", kernel],
        "the tests reach every line of the posting and completion path",
        tuple(job.name for job in guests), (*inputs, "coverage"), kernel, product=False)]


# Releases of Debian on which the packages are tested, and the kernel to which the test upgrades
RELEASES = {"bookworm": "stock-6.1", "trixie": "stock-newest"}


def packages():
    return [script("deb", "Debian packages, lintian", "tree", needs=("setup-deb",),
                   command=["tools/kdapl/package/build-packages"]),
            *(Job(f"package-{release}", ["tools/kdapl/package/test-packages", release],
                  f"install, use, upgrade and purge the packages on Debian's {release}",
                  ("deb", f"setup-root-package-{release}"),
                  ("kdapl", "guest", "datblk", "loop", "packages"), kernel, minutes=90)
              for release, kernel in RELEASES.items())]


def soak():
    return [job for kernel in ("stock-6.12", "stock-newest") for job in (build(kernel), Job(
        f"soak-{kernel}", [f"{CHECK}/run-guest", kernel, "soak"],
        "an hour of transfers and a disk: memory and slots do not grow",
        (f"build-{kernel}",), ("kdapl", "guest", "selftests", "datblk", "soak"), kernel,
        minutes=120))]


def mutate(kernel="own-6.12"):
    return [build(kernel), Job(
        "mutate", ["nice", "tools/kdapl/mutate/mutate.py"],
        "a test fails for each breakage of the module",
        (f"build-{kernel}", "setup-stock-6.12"), ("kdapl", "suites", "loop", "guest", "mutate"),
        kernel, product=False, weight=2, minutes=600)]


TARGETS = {
    "check": check, "check-ci": ci, "check-quick": quick, "check-kasan": kasan,
    "check-debug": debugs, "check-races": races, "check-arm64": arm64, "check-blk": blk,
    "bench-blk": bench_blk,
    "check-contexts": contexts, "check-hca": hca, "check-kernels": kernels,
    "check-packages": packages, "check-rxe": rxe, "coverage": coverage, "soak": soak,
    "mutate": mutate, "patchset": patchset,
}
# Targets that end with a table of the current verdicts, including those of earlier runs
TABLES = ("check-blk", "check-hca", "check-kernels")


def plan(targets):
    """The jobs of these targets, and all jobs that they need, once. check-all is all targets."""
    if "check-all" in targets:
        targets = list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        sys.exit(f"unknown targets: {' '.join(sorted(unknown))}; known: {' '.join(TARGETS)}")
    jobs = {}
    for target in targets:
        for job in TARGETS[target]():
            if jobs.setdefault(job.name, job) != job:
                sys.exit(f"{target} and the targets before it have different jobs {job.name}")
    needed = dict.fromkeys(need for job in jobs.values() for need in job.needs)
    steps = {name: setup(name.removeprefix("setup-")) for name in needed if name not in jobs}
    if any("-arm64" in job.kernel for job in jobs.values()):
        steps["setup-arm64-root"] = setup("arm64-root")
        for job in jobs.values():
            if "-arm64" in job.kernel:
                job.needs = (*job.needs, "setup-arm64-root")
    return list((steps | jobs).values())


def cache_dir():
    """The directory outside the repository that setup fills."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("KDAPL_CACHE") or Path(base) / "kdapl")
