# SPDX-License-Identifier: GPL-2.0
# kDAPL: out-of-tree build and tests. "make help" lists the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
CHECK := tools/kdapl/check

TOOL := tools/kdapl/kdapl-loop
TOOL_SRC := $(wildcard $(TOOL).c tools/kdapl/loop/*.c)
TOOL_HDR := $(wildcard tools/kdapl/loop/*.h)
CFLAGS ?= -O2 -g
TOOL_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wmissing-prototypes

all: modules tools

modules: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

install: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) \
		$(shell cat $(KDIR)/include/config/kernel.release)

$(KDIR)/Makefile:
	@echo "No kernel headers at $(KDIR)." >&2
	@echo "Install linux-headers-$$(uname -r), or name others: make KDIR=..." >&2
	@false

tools: $(TOOL)

$(TOOL): $(TOOL_SRC) $(TOOL_HDR)
	$(CC) $(TOOL_CFLAGS) $(CFLAGS) -o $@ $(TOOL_SRC) $(LDFLAGS)

clean:
	-[ ! -e $(KDIR)/Makefile ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -f $(TOOL)

distclean: clean
	rm -rf build

setup:
	tools/kdapl/setup

# The packages first: without them there may be no Python to run the rest.
# ALSO=TARGETS: those tests in the same run.
check check-quick check-kasan check-debug check-races coverage demo bench:
	@tools/kdapl/setup packages
	@$(CHECK)/run $@ $(ALSO)

docs:
	@tools/kdapl/setup docs
	@$(CHECK)/docs
	@echo "build/docs/html/index.html; man -M build/docs/man 9 dat_ep_connect"

contract:
	@$(CHECK)/contract

mutate:
	@tools/kdapl/setup packages
	@nice $(CHECK)/mutate

mutate-stale:
	@tools/kdapl/setup packages
	@nice $(CHECK)/mutate --stale

help:
	@echo "make               kdapl.ko, kdapl_loop.ko and kdapl-loop (KDIR=headers of the kernel)"
	@echo "make install       install the modules (as root)"
	@echo "make clean         remove what make built; distclean: build/ too"
	@echo "make demo          boot a Debian kernel in a VM, move data over rxe, show the table"
	@echo "make check         all tests, on Linux 6.1 and 6.12, in VMs"
	@echo "make check-quick   style, KUnit and a short loopback: for the working day"
	@echo "make check-kasan   some of them under KASAN, lockdep, kmemleak and their like"
	@echo "make check-debug   all tests under KASAN, lockdep, kmemleak and their like, then"
	@echo "                   with fewer messages under KCSAN and on PREEMPT_RT (2 hours)"
	@echo "make check-races   the second half of that alone"
	@echo "make contract      after make check: every clause, and the test that holds it"
	@echo "make mutate        break the product once for each line of a table; takes hours"
	@echo "make mutate-stale  the same for files that have changed since their verdicts"
	@echo "make coverage      lines and branches of kdapl.ko that the tests reach, by gcov;"
	@echo "                   not part of make check (20 minutes)"
	@echo "make bench         count the instructions of every path, print a table"
	@echo "make docs          HTML pages and section 9 manual pages, in build/docs"
	@echo "make setup         only install and fetch what the tests need"

.PHONY: all modules install tools clean distclean docs setup help
.PHONY: check check-quick check-kasan check-debug check-races demo bench contract
.PHONY: mutate mutate-stale coverage
