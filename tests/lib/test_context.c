// SPDX-License-Identifier: GPL-2.0
/*
 * The module parameter "context": kdapl.completion_context of the endpoints of a test, and in
 * poll context the thread that polls their EVDs, which calls kdat_evd_poll() as a Consumer would.
 *
 * Called by the tests in process context.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include "kdapl_test.h"

#define POLLED_EVDS	128
#define POLL_MAX	32		/* completions in one call */

static char *context = "softirq";
module_param(context, charp, 0444);
MODULE_PARM_DESC(context, "kdapl.completion_context of the endpoints: softirq, process, poll");

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
	return !strcmp(context, "softirq");
}

/* Adds the attribute; a solicited-wait EP cannot be polled, and stays in softirq */
void test_context_attr(DAT_EP_ATTR *attr)
{
	static DAT_NAMED_ATTR named = { .name = "kdapl.completion_context" };

	named.value = context;
	if (!strcmp(context, "poll") &&
	    attr->recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return;
	attr->ep_provider_specific_count = 1;
	attr->ep_provider_specific = &named;
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

/* Returns the number of completions. An EVD without endpoints cannot be polled yet */
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
