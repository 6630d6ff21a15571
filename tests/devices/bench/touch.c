// SPDX-License-Identifier: GPL-2.0
/*
 * Marks calls and done callbacks for a plugin of the emulator, which lists the memory that they
 * access and the locked instructions that they execute (tools/kdapl/bench/touch.c).
 *
 * measure.c marks calls. This file marks done callbacks: the completion that the core receives
 * names our callback, which restores the completion and calls the real one. This file also
 * reports where the EP and its slots are. For that it includes headers of kdapl.ko: the
 * completion leads to the slot, and the slot to the rest.
 *
 * Called by probe.c in softirq, by measure.c and main.c in process context.
 */
#include <linux/irqflags.h>
#include "object/object.h"
#include "bench.h"

/**
 * struct touch_cqe - a completion whose callback is marked
 * @cqe:  what the core sees
 * @real: the cqe of the work request
 */
struct touch_cqe {
	struct ib_cqe cqe;
	struct ib_cqe *real;
};

bool bench_marking;

static bool touch_callbacks, touch_recv;
static struct ib_cqe *touch_last[2];	/* of the last request and of the last receive */

static void touch_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ib_cqe *real = container_of(wc->wr_cqe, struct touch_cqe, cqe)->real;
	unsigned long flags;

	wc->wr_cqe = real;
	/* What an interrupt touches does not count */
	local_irq_save(flags);
	bench_mark(BENCH_MARK_DONE);
	real->done(cq, wc);
	bench_mark(BENCH_MARK_END);
	local_irq_restore(flags);
}

/**
 * bench_touch_polled - a CQ was polled by the core
 * @wc: the completions
 * @n:  their number, not 0; all are receives, or all are requests
 *
 * Context: softirq.
 */
void bench_touch_polled(struct ib_wc *wc, int n)
{
	static struct touch_cqe cqes[BENCH_POLL_MAX];
	bool recv = wc->opcode & IB_WC_RECV;
	int i;

	touch_last[recv] = wc->wr_cqe;
	for (i = 0; touch_callbacks && recv == touch_recv && i < n; i++) {
		cqes[i].cqe.done = touch_done;
		cqes[i].real = wc[i].wr_cqe;
		wc[i].wr_cqe = &cqes[i].cqe;
	}
}

/**
 * bench_touch_callbacks - select the done callbacks to be marked
 * @mark: false: none
 * @recv: those of receives, else of requests
 *
 * Context: process; nothing is outstanding.
 */
void bench_touch_callbacks(bool mark, bool recv)
{
	touch_callbacks = mark;
	touch_recv = recv;
}

/**
 * bench_touch_ranges - where are the EP and the slots of the last completion?
 * @recv: of the last receive, else of the last request; kDAPL has posted it
 * @out:  takes the addresses and sizes
 * @size: of @out
 *
 * Context: process; the EP exists.
 */
void bench_touch_ranges(bool recv, char *out, size_t size)
{
	const struct kdapl_slot *slot = kdapl_slot_of_cqe(touch_last[recv]);
	const struct kdapl_pool *pool = kdapl_slot_head(slot)->pool;

	scnprintf(out, size, " ep=%lu ep_size=%zu slots=%lu slots_size=%zu",
		  (unsigned long)slot->ev.ep, sizeof(*slot->ev.ep), (unsigned long)pool->base,
		  sizeof(struct kdapl_pool_head) + (size_t)pool->depth * pool->stride);
}
