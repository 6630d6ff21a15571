// SPDX-License-Identifier: GPL-2.0
/*
 * Prints values, sizes and offsets of one set of DAT headers: include/dat if
 * compiled with ABI_KERNEL, else those of Debian's libdapl-dev. Both define the
 * same names, so no unit can include both. The script abi-host compiles this file
 * with each and compares the output.
 *
 * The script creates abi-values.inc and abi-layout.inc, the lists of what is
 * printed, from abi_values.c and abi_layout.c.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef ABI_KERNEL
#include <dat/kdat.h>
#else
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#endif

#define VALUE(name) \
	printf("value %s %lld\n", #name, (long long)(name))
#define SIZE(type) \
	printf("size %s %zu\n", #type, sizeof(type))
#define AT(type, member) \
	printf("offset %s.%s %zu\n", #type, #member, offsetof(type, member))

int main(void)
{
#include "abi-values.inc"
#include "abi-layout.inc"
	return 0;
}
