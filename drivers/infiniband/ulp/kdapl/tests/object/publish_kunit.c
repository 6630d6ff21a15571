// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: an object that can be found is complete, and its handle was returned.
 *
 * A handle can be guessed, and the object freed as soon as it is in the table. So a call that
 * creates an object must have finished with it by then. A second thread polls the next
 * handle, and reads the caller's output when the handle is valid. Runs in a KUnit thread and
 * the second thread; each test has its own device.
 */
#include "beside.h"
#include "sp_kunit.h"

#define ROUNDS	500
#define LOOKS	100000		/* then the CPU may be wanted by the other thread */

/* The other thread, and the handle that it polls */
static struct {
	struct task_struct *task;
	unsigned int type;
	unsigned long guess;	/* 0: nothing to do */
	bool spinning;
	DAT_HANDLE out;
	DAT_HANDLE seen;	/* the value of @out when the handle became valid */
} finder;

static bool finder_look(unsigned long guess)
{
	bool found = false;
	u32 i;

	rcu_read_lock();
	for (i = 0; !found && i < LOOKS; i++)
		found = kdapl_obj_lookup((DAT_HANDLE)guess, finder.type);
	if (found)
		finder.seen = READ_ONCE(finder.out);
	rcu_read_unlock();
	return found;
}

static int finder_thread(void *unused)
{
	unsigned long guess;

	while (!kthread_should_stop()) {
		/* Pairs with the store-release after the output was cleared */
		guess = smp_load_acquire(&finder.guess);
		if (guess) {
			WRITE_ONCE(finder.spinning, true);
			if (finder_look(guess)) {
				/* Publishes @seen */
				smp_store_release(&finder.guess, 0);
			}
		}
		cond_resched();
	}
	return 0;
}

static void finder_start(struct kunit *test, unsigned int type)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	memset(&finder, 0, sizeof(finder));
	finder.type = type;
	finder.task = beside_run(finder_thread, "kdapl-finder");
	KUNIT_ASSERT_FALSE(test, IS_ERR(finder.task));
}

/* Spins, because it does not take long, and a sleep would */
#define SOON(cond)							\
({									\
	u32 soon_n = 0;							\
	bool soon_came;							\
									\
	while (!(soon_came = (cond)) && soon_n++ < 20000 + 20 * HZ)	\
		if (soon_n < 20000)					\
			cond_resched();					\
		else							\
			schedule_timeout_uninterruptible(1);		\
	soon_came;							\
})

/* Starts polling this handle */
static bool finder_ready(unsigned long guess)
{
	WRITE_ONCE(finder.out, DAT_HANDLE_NULL);
	WRITE_ONCE(finder.spinning, false);
	/* Pairs with the load in the thread */
	smp_store_release(&finder.guess, guess);
	return SOON(READ_ONCE(finder.spinning));
}

/* Was @seen the handle that the call returned? */
static bool finder_content(unsigned long guess)
{
	/* Pairs with the store in the thread */
	return SOON(!smp_load_acquire(&finder.guess)) &&
	       finder.seen == (DAT_HANDLE)guess && finder.out == (DAT_HANDLE)guess;
}

static void finder_stop(void)
{
	beside_stop(finder.task);
}

/* The next object takes the lowest index that is free, and its next generation */
static unsigned long next_handle(unsigned int type)
{
	static struct kdapl_obj probe;

	memset(&probe, 0, sizeof(probe));
	if (kdapl_obj_init(&probe, type, NULL))
		return 0;
	kdapl_obj_exit(&probe);
	return probe.handle + BIT(KDAPL_HANDLE_GEN_SHIFT);
}

/* ---- the objects ---------------------------------------------------------------- */

static void P4_EVD_handle_is_stored_before_the_EVD_is_found(struct kunit *test)
{
	unsigned long guess;
	bool good = true;
	u32 i;

	finder_start(test, DAT_HANDLE_TYPE_EVD);
	/* They are freed with their IA, because a grace period for each would take too long */
	for (i = 0; good && i < ROUNDS; i++) {
		guess = next_handle(DAT_HANDLE_TYPE_EVD);
		good = guess && finder_ready(guess) &&
		       dat_evd_kcreate(sp_ia(), 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
				       &finder.out) == DAT_SUCCESS && finder_content(guess);
	}
	finder_stop();
	KUNIT_EXPECT_TRUE_MSG(test, good, "round %u: handle %#lx found %p, stored %p", i, guess,
			      finder.seen, finder.out);
}

static bool finder_is_ready;

static void look_for(struct kdapl_sp *sp)
{
	finder_is_ready = finder_ready(sp->obj.handle);
}

static void P4_PSP_handle_is_stored_before_the_PSP_is_found(struct kunit *test)
{
	DAT_EVD_HANDLE evd = sp_make_evd(test, 1);
	unsigned long guess = 0;
	DAT_CONN_QUAL qual;
	bool good = true;
	u32 i;

	finder_start(test, DAT_HANDLE_TYPE_PSP);
	for (i = 0; good && i < ROUNDS; i++) {
		qual = SP_QUAL;
		guess = sp_make_told(test, evd, &qual, NULL, look_for, &finder.out)->obj.handle;
		good = finder_is_ready && finder_content(guess) && qual == SP_QUAL &&
		       dat_psp_free((DAT_HANDLE)guess) == DAT_SUCCESS;
	}
	finder_stop();
	KUNIT_EXPECT_TRUE_MSG(test, good, "round %u: handle %#lx found %p, stored %p", i, guess,
			      finder.seen, finder.out);
}

/* ---- suite ---------------------------------------------------------------------- */

static struct kunit_case publish_cases[] = {
	KUNIT_CASE(P4_EVD_handle_is_stored_before_the_EVD_is_found),
	KUNIT_CASE(P4_PSP_handle_is_stored_before_the_PSP_is_found),
	{}
};

static struct kunit_suite publish_suite = {
	.name = "kdapl_publish",
	.init = sp_init,
	.exit = sp_exit,
	.test_cases = publish_cases,
};

kunit_test_suite(publish_suite);
