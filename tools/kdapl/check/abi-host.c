// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the numbers of one flavour of the DAT headers: ours when compiled
 * with ABI_KERNEL, else those that Debian's libdapl-dev installs. The script
 * abi-host compiles it both ways (the two define the same names, so that no
 * unit can include both) and compares the output.
 *
 * What is printed comes out of abi_values.c and abi_layout.c, by way of two
 * lists that the script makes: abi-values.inc and abi-layout.inc.
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
