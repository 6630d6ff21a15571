# SPDX-License-Identifier: GPL-2.0
# Included by the Kbuild of a Consumer, a module that calls dat_*. Adds the headers of kDAPL, and
# the symbols of the kdapl.ko that DKMS has installed for the kernel that the Consumer is built
# for. kdapl-install.rst shows an example.

kdapl-dev := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
kdapl-symvers := $(wildcard \
	/var/lib/dkms/kdapl/kernel-$(KERNELRELEASE)-$(UTS_MACHINE)/module/Module.symvers)

ifeq ($(kdapl-symvers),)
$(warning kdapl.ko is not installed for $(KERNELRELEASE): see "dkms status kdapl")
endif

subdir-ccflags-y += -I$(kdapl-dev)/include
KBUILD_EXTRA_SYMBOLS += $(kdapl-symvers)
