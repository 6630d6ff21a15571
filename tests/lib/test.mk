# SPDX-License-Identifier: GPL-2.0
# Included by the Makefile of each test module. Kbuild cannot share an object between
# modules, so each module compiles the sources of this directory that it names.

testlib := $(dir $(lastword $(MAKEFILE_LIST)))

ccflags-y += -I$(testlib)

# The stem has to be the name of the object: Kbuild finds the module by it
$(obj)/%.o: $(testlib)%.c FORCE
	$(call if_changed_rule,cc_o_c)
