// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_fault_inject.ko: makes every control call of kDAPL with each of its allocations
 * failing (see fault_inject.h).
 *
 * Loading it runs the fault injection; debugfs kdapl_fault_inject/result then shows one line of
 * TAP for each call. The failures are injected by the kernel: fail_nth of the task.
 * Allocations by workers and callbacks are not reached. Public API only.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "fault_inject.h"

#define MAX_POINTS	1000
#define TRANSFER_EVERY	16
#define ENOUGH		4		/* failures of a step */

struct result {
	unsigned int points;		/* number of allocations that failed */
	unsigned int errors;		/* number of these that made the call fail */
	struct test_verdict verdict;
};

static struct result *results;
static unsigned int nsteps;
static struct dentry *dir;
static bool bites;
static int closed = -EBUSY;

/* Both lists; the calls of the second must not fail because of memory */
static const struct inject_step *nth_step(unsigned int i)
{
	return i < inject_nsteps ? &inject_steps[i] : &inject_asks[i - inject_nsteps];
}

/* ---- failing allocations -------------------------------------------------------------- */

/* Makes the @n-th allocation of this task fail; 0: none */
static unsigned int fail_nth(unsigned int n)
{
#ifdef CONFIG_FAULT_INJECTION
	unsigned int left = current->fail_nth;

	WRITE_ONCE(current->fail_nth, n);
	return left;
#else
	return 1;
#endif
}

/* Is the kernel configured to fail allocations that may sleep, too? */
static bool fails(void)
{
	bool slab, page;
	void *p;

	fail_nth(1);
	p = kmalloc(64, GFP_KERNEL | __GFP_NOWARN);
	slab = !p;
	kfree(p);
	fail_nth(1);
	p = (void *)__get_free_page(GFP_KERNEL | __GFP_NOWARN);
	page = !p;
	free_page((unsigned long)p);
	fail_nth(0);
	return slab && page;
}

/* ---- a step ------------------------------------------------------------------------------ */

static void freed(struct result *r, unsigned int n, const char *what, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		test_note(&r->verdict, true, "point %u: dat_%s: %#x", n, what, ret);
}

/* Frees all objects of a step, which must succeed after any result */
static void empty_bag(struct inject_objs *b, struct result *r, unsigned int n)
{
	if (b->rsp)
		freed(r, n, "rsp_free", dat_rsp_free(b->rsp));
	if (b->cr)
		freed(r, n, "cr_reject", dat_cr_reject(b->cr, 0, NULL));
	if (b->ep)
		freed(r, n, "ep_free", dat_ep_free(b->ep));
	if (b->peer)
		freed(r, n, "ep_free", dat_ep_free(b->peer));
	if (b->psp)
		freed(r, n, "psp_free", dat_psp_free(b->psp));
	if (b->rmr)
		freed(r, n, "rmr_free", dat_rmr_free(b->rmr));
	if (b->lmr)
		freed(r, n, "lmr_free", dat_lmr_free(b->lmr));
	if (b->srq)
		freed(r, n, "srq_free", dat_srq_free(b->srq));
	if (b->evd)
		freed(r, n, "evd_free", dat_evd_free(b->evd));
	if (b->pz)
		freed(r, n, "pz_free", dat_pz_free(b->pz));
	if (b->ia)
		freed(r, n, "ia_close", dat_ia_close(b->ia, DAT_CLOSE_ABRUPT_FLAG));
	memset(b, 0, sizeof(*b));
}

/* A call that failed without memory has changed nothing: with memory it succeeds */
static void again(const struct inject_step *step, struct inject_objs *b, struct result *r,
		  unsigned int n)
{
	DAT_RETURN ret = step->call(b);

	if (ret != DAT_SUCCESS)
		test_note(&r->verdict, true, "point %u: expected success with memory, returned %#x",
			  n, ret);
}

/* One attempt with the @n-th allocation failing; true if it was the last */
static bool attempt(const struct inject_step *step, struct result *r, unsigned int n)
{
	struct inject_objs bag = {};
	unsigned int left;
	DAT_RETURN ret;
	int err;

	err = step->before ? step->before(&bag) : 0;
	if (err) {
		test_note(&r->verdict, true, "point %u: the set-up for the call failed: %d",
			  n, err);
		empty_bag(&bag, r, n);
		return true;
	}
	fail_nth(n);
	ret = step->call(&bag);
	left = fail_nth(0);
	if (left && ret != DAT_SUCCESS)
		test_note(&r->verdict, true, "point %u was not reached, but %#x", n, ret);
	else if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES &&
		 (!step->other || DAT_GET_TYPE(ret) != step->other))
		test_note(&r->verdict, true,
			  "point %u: expected INSUFFICIENT_RESOURCES, returned %#x", n, ret);
	else if (ret != DAT_SUCCESS)
		again(step, &bag, r, n);
	empty_bag(&bag, r, n);
	r->points += !left;
	r->errors += ret != DAT_SUCCESS;
	return left;
}

/* Does the contract not allow INSUFFICIENT_RESOURCES for this call? */
static bool never_fails(const struct inject_step *step)
{
	return (step >= inject_asks && step < inject_asks + inject_nasks) ||
	       strstr(step->name, "_free") || strstr(step->name, "_close");
}

static void inject(const struct inject_step *step, struct result *r)
{
	unsigned int n;
	int err;

	for (n = 1; n <= MAX_POINTS; n++) {
		if (attempt(step, r, n))
			break;
		err = inject_fixture_check();
		if (!err && n % TRANSFER_EVERY == 0)
			err = inject_transfer();
		if (err)
			test_note(&r->verdict, true,
				  "point %u: the objects that existed before no longer work: %d",
				  n, err);
		if (r->verdict.failures >= ENOUGH)
			break;
	}
	if (n > MAX_POINTS)
		test_note(&r->verdict, true, "no end after %u points", n);
	if (r->errors && never_fails(step))
		test_note(&r->verdict, true, "failed %u times for lack of memory", r->errors);
	err = inject_transfer();
	if (err)
		test_note(&r->verdict, true, "at the end no transfer: %d", err);
}

/* ---- the module -------------------------------------------------------------------------- */

/* A call that creates an object must have a failure point */
static bool is_good(const struct inject_step *step, const struct result *r)
{
	bool makes = strstr(step->name, "create") || strstr(step->name, "openv") ||
		     strstr(step->name, "allocate");

	return !r->verdict.failures && (r->points || !makes);
}

static void show_step(struct seq_file *m, unsigned int i)
{
	struct result *r = &results[i];

	test_show_notes(m, &r->verdict, "# ");
	test_ok(m, i + 1, is_good(nth_step(i), r), "%s: %u failure points, %u typed errors",
		nth_step(i)->name, r->points, r->errors);
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i, points = 0;

	if (!bites) {
		seq_puts(m, "1..1\n");
		test_ok(m, 1, false, "the kernel fails no allocations");
		return 0;
	}
	seq_printf(m, "1..%u\n", nsteps + 1);
	for (i = 0; i < nsteps; i++) {
		show_step(m, i);
		points += results[i].points;
	}
	test_ok(m, i + 1, !closed, "%u failure points in %u calls, no object left on the IA",
		points, nsteps);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init inject_init(void)
{
	unsigned int i;
	int err;

	nsteps = inject_nsteps + inject_nasks;
	results = kvcalloc(nsteps, sizeof(*results), GFP_KERNEL);
	if (!results)
		return -ENOMEM;
	bites = fails();
	err = inject_fixture_open();
	if (err) {
		inject_fixture_close();
		kvfree(results);
		return err;
	}
	for (i = 0; i < nsteps && bites; i++) {
		test_verdict_init(&results[i].verdict);
		inject(nth_step(i), &results[i]);
		cond_resched();
	}
	closed = inject_fixture_close();
	dir = debugfs_create_dir("kdapl_fault_inject", NULL);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	return 0;
}

static void __exit inject_exit(void)
{
	debugfs_remove(dir);
	kvfree(results);
}

module_init(inject_init);
module_exit(inject_exit);
MODULE_DESCRIPTION("kDAPL allocation fault injection");
MODULE_LICENSE("GPL");
