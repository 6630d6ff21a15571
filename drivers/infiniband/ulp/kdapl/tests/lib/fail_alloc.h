/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failing allocations, for KUnit suites.
 *
 * The kernel's fault injection fails every allocation of a task that has make_it_fail set. It must
 * be switched on before the module is loaded (kdapl_fail_allocs of tests/selftests/lib.sh). Process
 * context; affects only the calling thread.
 */
#ifndef _KDAPL_TESTS_FAIL_ALLOC_H_
#define _KDAPL_TESTS_FAIL_ALLOC_H_

#include <linux/fault-inject.h>
#include <linux/sched.h>
#include <linux/slab.h>

static inline void kdapl_fail_allocations(bool fail)
{
#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = fail;
#endif
}

/* Do allocations of the slab fail? False if the kernel has no fault injection */
static inline bool kdapl_slab_fails(gfp_t gfp)
{
	void *p = kmalloc(64, gfp);

	kfree(p);
	return !p;
}

#endif /* _KDAPL_TESTS_FAIL_ALLOC_H_ */
