// SPDX-License-Identifier: GPL-2.0
/*
 * The module parameter "context": the context of the EVDs of a test that receive completions, and
 * in poll context the thread that polls them, which calls kdat_evd_poll() as a Consumer would.
 *
 * Called by the tests in process context.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include "kdapl_test.h"
#include "test_verbs.h"

#define POLLED_EVDS	128
#define POLL_MAX	32		/* completions in one call */

static char *context = "softirq";
module_param(context, charp, 0444);
MODULE_PARM_DESC(context, "Context of EVDs that receive completions: softirq, process, poll");

static struct task_struct *poller;
static DEFINE_SPINLOCK(lock);		/* guards the array; a handle may be stale */
static DAT_EVD_HANDLE polled[POLLED_EVDS];

/* May upcalls for completions sleep? */
bool test_upcalls_sleep(void)
{
	return !strcmp(context, "process");
}

/* Do upcalls for completions run in softirq? */
bool test_upcalls_in_softirq(void)
{
	return TEST_SOFTIRQ_POLLS && !strcmp(context, "softirq");
}

/*
 * Adds the context to the flags of an EVD with DAT_EVD_DTO_FLAG. An EP in solicited-wait mode
 * cannot be polled, so its EVDs stay in softirq
 */
DAT_EVD_FLAGS test_evd_flags(DAT_EVD_FLAGS flags, bool solicited)
{
	if (!(flags & DAT_EVD_DTO_FLAG))
		return flags;
	if (!strcmp(context, "process"))
		return flags | KDAT_EVD_PROCESS_FLAG;
	return !strcmp(context, "poll") && !solicited ? flags | KDAT_EVD_POLL_FLAG : flags;
}

/* Lets the thread poll an EVD until it is freed */
void test_poller_add(DAT_EVD_HANDLE evd)
{
	u32 i;

	if (!poller)
		return;
	spin_lock(&lock);
	for (i = 0; i < POLLED_EVDS && polled[i]; i++)
		;
	if (i < POLLED_EVDS)
		polled[i] = evd;
	spin_unlock(&lock);
	if (i == POLLED_EVDS)
		test_fail("more than %u EVDs to poll", POLLED_EVDS);
}

/* Returns the number of completions. An EVD in another context cannot be polled */
static DAT_COUNT poll_one(u32 i)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	spin_lock(&lock);
	evd = polled[i];
	spin_unlock(&lock);
	if (!evd)
		return 0;
	ret = kdat_evd_poll(evd, POLL_MAX, &n);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE) {
		spin_lock(&lock);
		if (polled[i] == evd)
			polled[i] = DAT_HANDLE_NULL;
		spin_unlock(&lock);
	} else if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE) {
		test_expect("kdat_evd_poll", ret, DAT_SUCCESS);
	}
	return n;
}

static int poll_all(void *unused)
{
	DAT_COUNT n;
	u32 i;

	while (!kthread_should_stop()) {
		for (n = 0, i = 0; i < POLLED_EVDS; i++)
			n += poll_one(i);
		if (n)
			cond_resched();
		else
			kdapl_nap(200, 400);
	}
	return 0;
}

/* Starts the thread if the context needs one; 0 or -errno */
int test_poller_start(void)
{
	if (strcmp(context, "poll"))
		return 0;
	memset(polled, 0, sizeof(polled));
	poller = kthread_run(poll_all, NULL, "kdapl_poller");
	if (IS_ERR(poller)) {
		int err = PTR_ERR(poller);

		poller = NULL;
		return err;
	}
	return 0;
}

void test_poller_stop(void)
{
	if (poller)
		kthread_stop(poller);
	poller = NULL;
}
