// SPDX-License-Identifier: GPL-2.0
/*
 * A look between the RDMA core and a device.
 *
 * While attached, the device's poll_cq is ours: it asks the device, and notes
 * the time at its end. The core then runs the done callbacks of the batch, and
 * asks again after a full one, or arms the CQ after any other: what has passed
 * until then is the cost of those callbacks and of the core's own loop, which
 * is the same for both sides.
 *
 * Owns the windows. Called by the core in softirq and by measure.c.
 */
#include <asm/tsc.h>
#include <linux/minmax.h>
#include "bench.h"

#define BENCH_MAX_DEVICES	4

static struct {
	struct ib_device *ibdev;
	int (*poll)(struct ib_cq *cq, int num_entries, struct ib_wc *wc);
	int (*notify)(struct ib_cq *cq, enum ib_cq_notify_flags how);
} attached[BENCH_MAX_DEVICES];

/* A CQ in process or poll context: the end of the last poll with a result, and of the run */
static struct {
	const struct ib_cq *cq;
	u64 begin, end;
} direct;

static struct {
	struct ib_cq *cq;	/* whose batch is being worked on, or NULL */
	unsigned int n;
	bool recv;
	u64 begin;
	u64 least[2][BENCH_POLL_MAX + 1];
} probe;

atomic_t bench_polled;
u32 bench_polls;
u32 bench_arms;

static int bench_probe_find(const struct ib_device *ibdev)
{
	int i;

	for (i = 0; i < BENCH_MAX_DEVICES; i++)
		if (attached[i].ibdev == ibdev)
			return i;
	return -ENOENT;
}

/* The callbacks of a batch have run */
static void bench_probe_end(const struct ib_cq *cq, u64 now)
{
	u64 *least;

	if (probe.cq != cq || probe.n > BENCH_POLL_MAX)
		return;
	least = &probe.least[probe.recv][probe.n];
	*least = *least ? min(*least, now - probe.begin) : now - probe.begin;
	probe.cq = NULL;
}

/* In another function: the clock stands at the ends of the caller */
static noinline int bench_probe_poll(struct ib_cq *cq, int num_entries, struct ib_wc *wc, u64 now)
{
	int n, i = bench_probe_find(cq->device);

	bench_probe_end(cq, now);
	probe.cq = NULL;
	n = attached[i].poll(cq, num_entries, wc);
	bench_polls += cq->poll_ctx == IB_POLL_SOFTIRQ;
	if (n > 0 && cq->poll_ctx == IB_POLL_SOFTIRQ) {
		probe.cq = cq;
		probe.n = n;
		probe.recv = wc->opcode & IB_WC_RECV;
		bench_count(&bench_polled, n);
		bench_touch_polled(wc, n);
	}
	return n;
}

static int bench_poll_cq(struct ib_cq *cq, int num_entries, struct ib_wc *wc)
{
	u64 now = rdtsc_ordered();
	int n = bench_probe_poll(cq, num_entries, wc, now);

	probe.begin = rdtsc_ordered();
	/* Only a CQ that the core polls has memory for completions; QP 1 has another workqueue */
	if (n > 0 && (!cq->wc || cq->poll_ctx == IB_POLL_DIRECT ||
		      cq->poll_ctx == IB_POLL_WORKQUEUE)) {
		direct.cq = cq;
		direct.end = 0;
		direct.begin = rdtsc_ordered();
	}
	return n;
}

static int bench_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags how)
{
	u64 now = rdtsc_ordered();

	bench_probe_end(cq, now);
	if (direct.cq == cq && !direct.end)
		WRITE_ONCE(direct.end, now);
	bench_arms += cq->poll_ctx == IB_POLL_SOFTIRQ;
	return attached[bench_probe_find(cq->device)].notify(cq, how);
}

/**
 * bench_probe_attach - put the probe before a device
 * @ibdev: device, nobody polls a CQ of it now
 *
 * Context: process.
 * Return: 0, -ENOSPC.
 */
int bench_probe_attach(struct ib_device *ibdev)
{
	int i = bench_probe_find(NULL);

	if (i < 0)
		return -ENOSPC;
	attached[i].ibdev = ibdev;
	attached[i].poll = ibdev->ops.poll_cq;
	attached[i].notify = ibdev->ops.req_notify_cq;
	WRITE_ONCE(ibdev->ops.poll_cq, bench_poll_cq);
	WRITE_ONCE(ibdev->ops.req_notify_cq, bench_req_notify_cq);
	return 0;
}

/**
 * bench_probe_detach - take it away
 * @ibdev: device, nobody polls a CQ of it now
 *
 * Context: process.
 */
void bench_probe_detach(struct ib_device *ibdev)
{
	int i = bench_probe_find(ibdev);

	if (i < 0)
		return;
	WRITE_ONCE(ibdev->ops.poll_cq, attached[i].poll);
	WRITE_ONCE(ibdev->ops.req_notify_cq, attached[i].notify);
	attached[i].ibdev = NULL;
}

/**
 * bench_probe_reset - forget all windows and counts
 *
 * Context: process, nothing is outstanding.
 */
void bench_probe_reset(void)
{
	memset(&probe, 0, sizeof(probe));
	memset(&direct, 0, sizeof(direct));
	atomic_set(&bench_polled, 0);
	bench_polls = 0;
	bench_arms = 0;
}

/**
 * bench_probe_until_armed - cost of the last run of a work item
 *
 * Context: process. Waits for the end of the run.
 * Return: instructions from the poll that has found something to the arming of the CQ; 0 if
 * there was none.
 */
u64 bench_probe_until_armed(void)
{
	unsigned long end = jiffies + BENCH_WAIT;

	while (!READ_ONCE(direct.end) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return direct.end ? direct.end - direct.begin : 0;
}

/**
 * bench_probe_until_now - cost of a poll by the caller
 *
 * Context: process.
 * Return: instructions since the poll of a CQ has found something.
 */
u64 bench_probe_until_now(void)
{
	return rdtsc_ordered() - direct.begin;
}

/**
 * bench_probe_window - least cost of a batch
 * @recv: of receives, else of requests
 * @n:    completions in the batch
 *
 * Context: process.
 * Return: instructions, 0 if there was no such batch.
 */
u64 bench_probe_window(bool recv, unsigned int n)
{
	return probe.least[recv][n];
}
