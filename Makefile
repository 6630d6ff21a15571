# SPDX-License-Identifier: GPL-2.0
# kDAPL: out-of-tree build and tests. "make help" lists the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
CHECK := tools/kdapl/check
MUTATE := tools/kdapl/mutate/mutate.py

TOOL := tools/kdapl/loop/kdapl-loop
TRACE := $(wildcard tools/kdapl/trace/*.bt tools/datblk/*.bt)
DATBLK := tools/datblk/datblkctl
UNITS := $(wildcard tools/datblk/*.service)
RULES := $(wildcard tools/datblk/*.rules)

# Where "make install" puts the tools, and the modules; DESTDIR is a prefix of both
prefix ?= /usr/local
INSTALL_MOD_PATH ?= $(DESTDIR)
INSTALL_MOD_DIR ?= updates
# include/config/kernel.release of Debian's 6.1 headers has another name
RELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
MODULES_TO = $(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)/$(INSTALL_MOD_DIR)
TOOL_TO = $(DESTDIR)$(prefix)
COMPLETION_TO = $(TOOL_TO)/share/bash-completion/completions
TRACE_TO = $(TOOL_TO)/share/kdapl/trace
UNITS_TO = $(TOOL_TO)/lib/systemd/system
RULES_TO = $(TOOL_TO)/lib/udev/rules.d

all: modules

modules: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# With the loopback, the other tests and the examples
modules_tests: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) KDAPL_TESTS=m modules

# kbuild installs what the last build has made, so build without the tests first
install: modules install_tools
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) \
		INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) modules_install
	$(DEPMOD)

uninstall: uninstall_tools | $(KDIR)/Makefile
	rm -f $(MODULES_TO)/drivers/infiniband/ulp/kdapl/kdapl.ko* \
		$(MODULES_TO)/drivers/block/datblk/datblk_*.ko* \
		$(MODULES_TO)/tests/consumers/loopback/kdapl_loop.ko* \
		$(MODULES_TO)/tests/consumers/perf/kdapl_perf.ko*
	-[ ! -d $(MODULES_TO) ] || find $(MODULES_TO) -depth -type d -empty -delete
	$(DEPMOD)

# Not with DESTDIR: the package runs depmod when it is installed
DEPMOD = $(if $(DESTDIR),,depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(RELEASE))

install_tools:
	install -D -m 755 -t $(TOOL_TO)/sbin $(TOOL) $(DATBLK)
	install -D -m 644 -t $(TOOL_TO)/share/man/man8 $(TOOL).8 $(DATBLK).8
	install -D -m 644 $(TOOL).bash-completion $(COMPLETION_TO)/kdapl-loop
	install -D -m 644 $(DATBLK).bash-completion $(COMPLETION_TO)/datblkctl
	install -D -m 644 -t $(TRACE_TO) $(TRACE)
	install -D -m 644 -t $(UNITS_TO) $(UNITS)
	install -D -m 644 -t $(RULES_TO) $(RULES)

uninstall_tools:
	rm -f $(addprefix $(TOOL_TO)/sbin/,kdapl-loop datblkctl) \
		$(addprefix $(TOOL_TO)/share/man/man8/,kdapl-loop.8 datblkctl.8) \
		$(addprefix $(COMPLETION_TO)/,kdapl-loop datblkctl) \
		$(addprefix $(TRACE_TO)/,$(notdir $(TRACE))) \
		$(addprefix $(UNITS_TO)/,$(notdir $(UNITS))) \
		$(addprefix $(RULES_TO)/,$(notdir $(RULES)))
	[ ! -d $(TRACE_TO) ] || rmdir --ignore-fail-on-non-empty $(TRACE_TO) $(dir $(TRACE_TO))

$(KDIR)/Makefile:
	@echo "No kernel headers in $(KDIR)." >&2
	@echo "Install linux-headers-$$(uname -r), or set KDIR: make KDIR=..." >&2
	@false

clean:
	-[ ! -e $(KDIR)/Makefile ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean

distclean: clean
	rm -rf build

setup:
	tools/kdapl/lab/setup

# The packages come first, because check/run_jobs.py needs Python.
# LIMIT=MINUTES: end the run after that time. FRESH=1: discard the verdicts of these jobs.
CHECKS := check check-quick check-ci check-all check-kasan check-debug check-races check-arm64 \
	check-blk check-contexts check-hca check-kernels check-packages check-rxe coverage \
	bench-blk
$(CHECKS) demo bench perf soak:
	@tools/kdapl/lab/setup packages
	@FRESH=$(FRESH) $(CHECK)/run_jobs.py $(if $(LIMIT),--limit $(LIMIT)) $@

status:
	@$(CHECK)/run_jobs.py --status

dist:
	@tools/kdapl/package/make-dist

deb:
	@tools/kdapl/lab/setup deb
	@tools/kdapl/package/build-packages

# LINUX: the kernel source that the series apply to; default: the newest that Debian offers
patchset:
	@tools/kdapl/lab/setup packages $(if $(LINUX),,source-newest)
	@tools/kdapl/upstream/patchset $(LINUX)

docs:
	@tools/kdapl/lab/setup docs
	@tools/kdapl/docs/build-docs
	@echo "build/docs/html/infiniband/kdapl.html; man -M build/docs/man 9 dat_ep_connect"

check-litmus:
	@tools/kdapl/lab/setup herd
	@$(CHECK)/litmus.py

contract:
	@$(CHECK)/contract.py

# SINCE: only the breakages in functions that have changed since this commit
mutate:
	@tools/kdapl/lab/setup packages own-6.12
	@nice $(MUTATE) $(if $(SINCE),--since $(SINCE))

help:
	@echo "make               kdapl.ko (KDIR=headers of the kernel)"
	@echo "make modules_tests kdapl.ko, the test modules and the examples"
	@echo "make install       install kdapl.ko and the tools, as root (DESTDIR, INSTALL_MOD_PATH,"
	@echo "                   prefix); make uninstall removes them"
	@echo "make clean         remove the output of make; distclean also removes build/"
	@echo "make demo          boot a Debian kernel in a VM, transfer data over rxe, print a table"
	@echo "make check         every clause on Linux 6.12, in five VMs; style and costs"
	@echo "make check-quick   style, KUnit and a short loopback, for daily work"
	@echo "make check-ci      what .ci/run runs: make check, tests with KASAN, the oldest and newest kernel"
	@echo "make check-all     everything, on all kernels and with all sanitizers. It continues"
	@echo "                   where it was stopped. FRESH=1 discards the verdicts, LIMIT=MINUTES"
	@echo "                   ends a run after that time. Its parts are:"
	@echo "  check-kernels    builds, loopback, selftests and dapltest on every supported kernel"
	@echo "  check-kasan      some tests with KASAN, lockdep, kmemleak and other sanitizers"
	@echo "  check-debug      all tests with these sanitizers, with KCSAN, and on PREEMPT_RT"
	@echo "  check-races      all tests with KCSAN, and on PREEMPT_RT"
	@echo "  check-arm64      KUnit and a short loopback on emulated arm64, also with KASAN"
	@echo "  check-blk        disks over DAT: verified I/O, restarts of the server"
	@echo "  check-contexts   loopback, ledger and lifetimes in the other completion contexts"
	@echo "  check-hca        tests on a model of an RDMA adapter, with every personality, and a table"
	@echo "  check-rxe        faults of Soft-RoCE, the connection manager and irq_poll, without kdapl.ko"
	@echo "  check-packages   install, upgrade and purge the packages on Debian 12 and 13"
	@echo "  coverage         lines of kdapl.ko that the tests reach (gcov)"
	@echo "  soak, mutate     see below"
	@echo "make status        the verdicts of all jobs, for this tree or (in brackets) for another one"
	@echo "make check-litmus  barriers of the lockless code against the kernel's memory model;"
	@echo "                   part of make check"
	@echo "make soak          transfers for an hour (KDAPL_SOAK=SECONDS), and the trends of memory,"
	@echo "                   objects and slots"
	@echo "make contract      after make check: each clause, and the tests that assert it"
	@echo "make mutate        mutation tests; takes hours, and continues where it was stopped;"
	@echo "                   SINCE=COMMIT: only for functions that have changed since"
	@echo "make bench         count the instructions of each path, print a table"
	@echo "make bench-blk     compare the instructions of an I/O over datblk with nvme-rdma, write"
	@echo "                   build/blk.json and build/blk.svg; part of make check-all"
	@echo "make perf          measure kDAPL and plain verbs in a VM, write build/perf.txt and"
	@echo "                   build/perf.svg (4 minutes)"
	@echo "make docs          HTML pages and section 9 manual pages, in build/docs"
	@echo "make dist          the sources of this version, build/kdapl-VERSION.tar.gz"
	@echo "make deb           Debian packages from that, in build/deb"
	@echo "make patchset      patches that add kDAPL and datblk to a kernel, in build/patchset"
	@echo "make setup         only install packages and fetch kernels for the tests"

.PHONY: all modules modules_tests install uninstall install_tools uninstall_tools clean distclean \
	setup $(CHECKS) demo bench perf soak status dist deb patchset docs check-litmus contract mutate help
