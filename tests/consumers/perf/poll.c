// SPDX-License-Identifier: GPL-2.0
/*
 * Latency of RDMA writes: each end writes to the other and polls the last byte of its sink,
 * which is the number of the write. No event tells the receiver of a write, so both work items
 * spin, in process context. Completions only limit how many writes are outstanding.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "perf.h"

/* Never 0, and different from the one before */
static u8 number_of(u32 i)
{
	return i % 255 + 1;
}

/* Spin until the write @i arrives; false if the round ends first */
static bool await(struct perf_link *l, u32 i)
{
	const u8 *last = l->area[PERF_SINK] + l->end->spec.size - 1;
	struct perf_end *e = l->end;

	/* The device writes this byte */
	while (data_race(READ_ONCE(*last)) != number_of(i)) {
		if (perf_broken(e) || (e->server && READ_ONCE(e->arrived)))
			return false;
		cpu_relax();
		cond_resched();
	}
	/* The payload is read after its last byte */
	smp_rmb();
	return true;
}

static bool write(struct perf_link *l, u32 i)
{
	struct perf_end *e = l->end;
	bool good;

	while (perf_full(l)) {
		if (perf_broken(e))
			return false;
		cond_resched();
	}
	l->area[PERF_SOURCE][e->spec.size - 1] = number_of(i);
	spin_lock_bh(&l->lock);
	l->posted++;
	good = l->calls->request(l, PERF_WRITE, e->spec.size);
	spin_unlock_bh(&l->lock);
	return good;
}

/**
 * perf_ping - the client's part of a round of polled writes
 * @e: the client's end, prepared
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_ping(struct perf_end *e)
{
	struct perf_link *l = &e->link[e->spec.side][0];
	bool more;

	e->start = ktime_get_ns();
	e->deadline = e->start + (u64)e->spec.ms * NSEC_PER_MSEC;
	do {
		u32 i = e->samples;

		l->begin = ktime_get_ns();
		if (!write(l, i) || !await(l, i))
			return perf_failed(e, "an RDMA write");
		more = perf_next(e, l, ktime_get_ns());
	} while (more);
	e->stop = ktime_get_ns();
	return 0;
}

/* The server's part: answer each write, until the client says that it has finished */
void perf_pong(struct perf_end *e)
{
	struct perf_link *l = &e->link[e->spec.side][0];
	u32 i;

	for (i = 0; await(l, i) && write(l, i); i++)
		l->received++;
}
