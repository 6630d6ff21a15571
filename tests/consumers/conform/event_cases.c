// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about completion events, and asynchronous events. Process context.
 */
#include <linux/string.h>
#include "conform.h"

/* A sends, B receives; returns after B's completion was polled */
bool cf_transfer(struct cf *cf, int flags)
{
	if (cf_recv(&cf->b, 1, 8) || cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED | flags))
		return false;
	cf_wait(&cf->a);
	return !strcmp(cf_wait(&cf->b), "success");
}

/* The handler is called once for the first of three completions */
static void next(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_arm(&cf->b, IB_CQ_NEXT_COMP);
	if (!cf_transfer(cf, 0) || !cf_fired(&cf->b) || !cf_transfer(cf, 0) || !cf_transfer(cf, 0))
		return;
	/* The last one fires again, and shows that no other is on its way */
	cf_arm(&cf->b, IB_CQ_NEXT_COMP);
	atomic_dec(&cf->b.fired);
	if (cf_transfer(cf, 0) && cf_fired(&cf->b))
		cf_say(cf, "%d", atomic_read(&cf->b.fired));
}

static void solicited(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_arm(&cf->b, IB_CQ_SOLICITED);
	if (!cf_transfer(cf, 0) || !cf_transfer(cf, 0))
		return;
	cf_say(cf, "%d", atomic_read(&cf->b.fired));
	if (cf_transfer(cf, IB_SEND_SOLICITED) && cf_fired(&cf->b))
		cf_say(cf, "%d", atomic_read(&cf->b.fired));
}

/* An error is solicited: a flush, whose peer has sent nothing */
static void solicited_error(struct cf *cf)
{
	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8))
		return;
	cf_arm(&cf->b, IB_CQ_SOLICITED);
	cf_state(&cf->b, IB_QPS_ERR);
	cf_say(cf, "%s", cf_wait(&cf->b));
	/* A device that is silent calls no handler; give it the time of another case */
	cf_say(cf, cf_fired(&cf->b) ? "fired" : "silent");
}

/* A completion that was there before does not fire; the return says that it is there */
static void old_completion(struct cf *cf)
{
	struct ib_wc wc;

	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8) || cf_recv(&cf->b, 2, 8) ||
	    cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED))
		return;
	cf_wait(&cf->a);
	cf_say(cf, "%d missed", cf_entry_waits(&cf->b));
	cf_say(cf, "%d fired", atomic_read(&cf->b.fired));
	cf_send(&cf->a, 2, 8, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	cf_say(cf, cf_fired(&cf->b) ? "fired" : "silent");
	while (ib_poll_cq(cf->b.cq, 1, &wc) == 1)
		;
}

/* Armed for the next completion, a weaker request changes nothing */
static void not_weakened(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_arm(&cf->b, IB_CQ_NEXT_COMP);
	cf_arm(&cf->b, IB_CQ_SOLICITED);
	if (cf_transfer(cf, 0))
		cf_say(cf, cf_fired(&cf->b) ? "fired" : "silent");
}

static void strengthened(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_arm(&cf->b, IB_CQ_SOLICITED);
	cf_arm(&cf->b, IB_CQ_NEXT_COMP);
	if (cf_transfer(cf, 0))
		cf_say(cf, cf_fired(&cf->b) ? "fired" : "silent");
}

static bool access_event(struct cf_end *e)
{
	return atomic_read(&e->events[IB_EVENT_QP_ACCESS_ERR]);
}

static bool comm_est(struct cf_end *e)
{
	return atomic_read(&e->events[IB_EVENT_COMM_EST]);
}

static bool last_wqe(struct cf_end *e)
{
	return atomic_read(&e->events[IB_EVENT_QP_LAST_WQE_REACHED]);
}

static bool limit(struct cf_end *e)
{
	return atomic_read(&e->limits);
}

static void access_error(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	cf_rdma(&cf->a, IB_WR_RDMA_WRITE, 1, 0, CF_BAD_KEY, 8);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_say(cf, cf_until(access_event, &cf->b) ? "QP_ACCESS_ERR" : "no event");
}

/* B is in RTR when the first message arrives */
static void established(struct cf *cf)
{
	cf->setup.rtr = true;
	if (cf_ready(cf) && cf_transfer(cf, 0))
		cf_say(cf, cf_until(comm_est, &cf->b) ? "COMM_EST" : "no event");
}

static void last_receive(struct cf *cf)
{
	cf->setup.srq = true;
	if (!cf_ready(cf) || cf_state(&cf->b, IB_QPS_ERR))
		return;
	cf_say(cf, cf_until(last_wqe, &cf->b) ? "LAST_WQE_REACHED" : "no event");
}

static void srq_limit(struct cf *cf)
{
	struct ib_srq_attr attr = { .srq_limit = 3 };
	u32 i;

	cf->setup.srq = true;
	if (!cf_ready(cf))
		return;
	for (i = 0; i < 5; i++)
		if (cf_recv(&cf->b, i, 8))
			return;
	if (ib_modify_srq(cf->b.srq, &attr, IB_SRQ_LIMIT))
		return;
	for (i = 0; i < 5; i++) {
		cf_send(&cf->a, i, 8, IB_SEND_SIGNALED);
		cf_wait(&cf->a);
		cf_wait(&cf->b);
		if (i == 1)
			cf_say(cf, "%d at 3", atomic_read(&cf->b.limits));
	}
	cf_until(limit, &cf->b);
	cf_say(cf, "%d at 0", atomic_read(&cf->b.limits));
}

/* The SRQ of a QP in ERROR keeps its receives */
static void srq_keeps(struct cf *cf)
{
	struct ib_wc wc;
	u32 i, n = 0;

	cf->setup.srq = true;
	if (!cf_ready(cf) || cf_recv(&cf->b, 1, 8) || cf_state(&cf->b, IB_QPS_ERR) ||
	    cf_send(&cf->b, 2, 8, IB_SEND_SIGNALED))
		return;
	for (i = 0; i < 1 && cf_next(&cf->b, &wc); i++)
		n += wc.wr_id == 1;
	cf_say(cf, "%u flushed", n);
}

const struct cf_case cf_event_cases[] = {
	{ "arm/next", next, "11.4.2.2", "1" },
	{ "arm/solicited", solicited, "11.4.2.2", "0, 1" },
	{ "arm/solicited-error", solicited_error, "11.4.2.2", "flushed, fired", "flushed, silent" },
	{ "arm/old-completion", old_completion, "11.4.2.2", "1 missed, 0 fired, fired" },
	{ "arm/not-weakened", not_weakened, "11.4.2.2", "fired" },
	{ "arm/strengthened", strengthened, "11.4.2.2", "fired" },
	{ "event/access-error", access_error, "11.6.3.2", "REM_ACCESS, QP_ACCESS_ERR",
	  "REM_ACCESS, no event" },
	{ "event/established", established, "11.6.3.1", "COMM_EST", "no event" },
	{ "event/last-receive", last_receive, "11.6.3.1", "LAST_WQE_REACHED", "no event" },
	{ "event/shared-limit", srq_limit, "10.2.9.2", "0 at 3, 1 at 0" },
	{ "event/shared-kept", srq_keeps, "10.2.9.4", "0 flushed" },
	{ }
};
