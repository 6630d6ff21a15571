// SPDX-License-Identifier: GPL-2.0
/*
 * Measures posts one by one, and completions in batches.
 *
 * A round posts a batch with interrupts off and reads the clock before and
 * after each post. It then lets all posts complete, so that every round starts
 * with empty queues. The result is the minimum of all rounds, because any other
 * activity of the machine can only add to it. The cost of an empty function,
 * which is called and timed in the same way, is subtracted.
 *
 * main.c calls this in process context. The kDAPL side and the plain-verbs side
 * take turns.
 */
#include <asm/tsc.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include "bench.h"
#include "null.h"

/**
 * struct bench_figure - the cost of a call
 * @least: minimum number of instructions, including those of the measurement
 * @sum:   sum over all calls
 * @n:     number of calls
 */
struct bench_figure {
	u64 least;
	u64 sum;
	u32 n;
};

static void bench_nothing(struct bench_op *op)
{
	op->failed |= 0;
}

static void bench_dequeue(struct bench_op *op)
{
	op->failed |= dat_evd_dequeue(op->handle, &op->event);
}

static noinline void bench_batch(bench_fn fn, struct bench_op *op, int n, struct bench_figure *fig)
{
	unsigned long flags;
	u64 begin, took;

	while (n--) {
		local_irq_save(flags);
		if (bench_marking)
			bench_mark(BENCH_MARK_CALL);
		begin = rdtsc_ordered();
		fn(op);
		took = rdtsc_ordered() - begin;
		if (bench_marking)
			bench_mark(BENCH_MARK_END);
		local_irq_restore(flags);
		fig->least = fig->n ? min(fig->least, took) : took;
		fig->sum += took;
		fig->n++;
	}
}

/* Returns the cost of the measurement itself */
static u64 bench_empty(void)
{
	/* Not on the stack, which it would fill in a kernel with KASAN */
	static struct bench_op op;
	struct bench_figure fig = {};

	bench_batch(bench_nothing, &op, BENCH_ROUNDS, &fig);
	return fig.least;
}

/**
 * bench_regs_fill - describe pages to be registered
 * @regs:  filled in, except the LMRs and MRs
 * @area:  the pages
 * @spec:  their number, and whether they are one entry of the scatterlist
 *
 * Context: any.
 */
void bench_regs_fill(struct bench_regs *regs, void *area, const struct bench_spec *spec)
{
	u32 i, size = spec->same ? spec->segs * PAGE_SIZE : PAGE_SIZE;

	for (i = 0; i < spec->segs; i++)
		regs->page[i] = virt_to_phys(area + i * PAGE_SIZE);
	regs->nents = spec->same ? 1 : spec->segs;
	sg_init_table(regs->sgl, regs->nents);
	for (i = 0; i < regs->nents; i++)
		sg_set_buf(&regs->sgl[i], area + i * PAGE_SIZE, size);
}

/**
 * bench_settle - complete everything outstanding
 * @ibdev:  device
 * @side:   the side that has posted
 * @events: number of events or completions that it must have counted then
 *
 * Context: process.
 * Return: 0, -ETIMEDOUT, -EIO if a call has failed.
 */
int bench_settle(struct ib_device *ibdev, struct bench_side *side, int events)
{
	struct null_dev *dev = bench_null(ibdev);
	int i;

	if (dev)
		null_complete_all(dev);
	if (!bench_wait_for(&side->done, events))
		return -ETIMEDOUT;
	atomic_set(&side->done, 0);
	for (i = 0; i < BENCH_NR_KINDS; i++)
		if (side->op[i].failed || side->quiet[i].failed)
			return -EIO;
	return 0;
}

/**
 * bench_post_many - post without reading the clock
 * @side: the side
 * @kind: what to post
 * @n:    how often
 *
 * Context: process.
 */
void bench_post_many(struct bench_side *side, enum bench_kind kind, int n)
{
	while (n--)
		side->fn[kind](&side->op[kind]);
}

/* One round of posts */
static int bench_round(struct ib_device *ibdev, struct bench_side *side,
		       const struct bench_spec *spec, struct bench_figure *fig)
{
	bool request = spec->kind < BENCH_RECV;
	int events = request && !spec->suppress ? BENCH_BATCH : 0;

	if (bench_sends(spec->kind)) {
		bench_post_many(side, side->recv_kind, BENCH_BATCH + !!spec->suppress);
		events += BENCH_BATCH + !!spec->suppress;
	}
	bench_batch(side->fn[spec->kind],
		    spec->suppress ? &side->quiet[spec->kind] : &side->op[spec->kind],
		    BENCH_BATCH, fig);
	if (bench_registers(spec->kind)) {
		bench_post_many(side, BENCH_INVALIDATE, BENCH_BATCH);
		events += BENCH_BATCH;
	}
	if (!request) {
		bench_post_many(side, BENCH_SEND, BENCH_BATCH);
		events += 2 * BENCH_BATCH;
	} else if (spec->suppress) {
		/* Its completion covers the suppressed ones before it */
		bench_post_many(side, spec->kind, 1);
		events++;
	}
	return bench_settle(ibdev, side, events);
}

static int bench_rounds(struct ib_device *ibdev, struct bench_side *side,
			const struct bench_spec *spec, struct bench_figure *fig)
{
	int i, ret = 0;

	memset(fig, 0, sizeof(*fig));
	atomic_set(&side->done, 0);
	for (i = 0; i < BENCH_ROUNDS && !ret; i++)
		ret = bench_round(ibdev, side, spec, fig);
	return ret;
}

/**
 * bench_run_post - measure a post with plain verbs and with dat_*()
 * @ibdev: device
 * @w:     the fixture
 * @spec:  the measurement
 * @out:   takes the figures
 * @size:  of @out
 *
 * Context: process.
 * Return: 0, negative errno.
 */
int bench_run_post(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		   char *out, size_t size)
{
	struct bench_figure verbs_fig, dat_fig;
	u64 empty = bench_empty();
	struct plain_verbs *v;
	int ret;

	v = plain_verbs_create(ibdev, spec);
	if (IS_ERR(v))
		return PTR_ERR(v);
	ret = bench_rounds(ibdev, plain_verbs_side(v), spec, &verbs_fig);
	plain_verbs_destroy(v);
	if (ret)
		return ret;
	ret = fixture_set_events(w, FIXTURE_COUNT);
	if (ret)
		return ret;
	bench_marking = spec->touch;
	ret = bench_rounds(ibdev, fixture_side(w, spec), spec, &dat_fig);
	bench_marking = false;
	if (ret)
		return ret;
	scnprintf(out, size, "verbs=%llu dat=%llu mean=%llu empty=%llu", verbs_fig.least - empty,
		  dat_fig.least - empty, div_u64(dat_fig.sum, dat_fig.n) - empty, empty);
	return 0;
}

/* ---- completions ------------------------------------------------------- */

/* Posts one batch of messages, or of requests if @kind needs no receives */
static int bench_messages(struct ib_device *ibdev, struct bench_side *side, enum bench_kind kind)
{
	struct null_dev *dev = bench_null(ibdev);
	bool send = bench_sends(kind) || kind >= BENCH_RECV;
	int before = atomic_read(&bench_polled);
	int n = send ? 2 * BENCH_BATCH : BENCH_BATCH;

	if (send)
		bench_post_many(side, side->recv_kind, BENCH_BATCH);
	bench_post_many(side, kind >= BENCH_RECV ? BENCH_SEND : kind, BENCH_BATCH);
	if (dev)
		null_complete_all(dev);
	return bench_wait_for(&bench_polled, before + n) ? 0 : -ETIMEDOUT;
}

static int bench_take_events(struct fixture *w, bool recv, bool mark, struct bench_figure *fig)
{
	static struct bench_op op;

	op.handle = fixture_evd(w, recv);
	op.failed = 0;
	bench_marking = mark;
	bench_batch(bench_dequeue, &op, BENCH_BATCH, fig);
	bench_marking = false;
	return op.failed ? -EIO : 0;
}

static int bench_dat_completions(struct ib_device *ibdev, struct fixture *w,
				 const struct bench_spec *spec, bool dequeue,
				 struct bench_figure *fig)
{
	struct bench_figure other = {};
	struct bench_side *side = fixture_side(w, spec);
	bool recv = spec->kind >= BENCH_RECV;
	bool both = recv || bench_sends(spec->kind);
	int i, ret;

	memset(fig, 0, sizeof(*fig));
	ret = fixture_set_events(w, dequeue ? FIXTURE_DEQUEUE : FIXTURE_EMPTY);
	bench_probe_reset();
	bench_touch_callbacks(spec->touch, recv);
	for (i = 0; i < BENCH_ROUNDS && !ret; i++) {
		ret = bench_messages(ibdev, side, spec->kind);
		if (!ret && dequeue)
			ret = bench_take_events(w, recv, spec->touch, fig);
		if (!ret && dequeue && both)
			ret = bench_take_events(w, !recv, false, &other);
	}
	bench_touch_callbacks(false, recv);
	return ret;
}

static int bench_verbs_completions(struct ib_device *ibdev, const struct bench_spec *spec)
{
	struct plain_verbs *v = plain_verbs_create(ibdev, spec);
	int i, ret = 0;

	if (IS_ERR(v))
		return PTR_ERR(v);
	plain_verbs_set_events(v, FIXTURE_EMPTY);
	bench_probe_reset();
	for (i = 0; i < BENCH_ROUNDS && !ret; i++)
		ret = bench_messages(ibdev, plain_verbs_side(v), spec->kind);
	plain_verbs_destroy(v);
	return ret;
}

/**
 * bench_run_completion - measure the path from a completion to the Consumer
 * @ibdev:   device
 * @w:       the fixture
 * @spec:    the measurement
 * @dequeue: true if dat_evd_dequeue() takes the events, false if an upcall that
 *           does nothing takes them
 * @out:     takes the figures, which are of batches of the same size
 * @size:    of @out
 *
 * Context: process.
 * Return: 0, -ENODATA if the two sides had no batch of the same size.
 */
int bench_run_completion(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
			 bool dequeue, char *out, size_t size)
{
	bool recv = spec->kind >= BENCH_RECV;
	u64 verbs[BENCH_POLL_MAX + 1];
	u64 empty = bench_empty();
	struct bench_figure fig;
	int n, ret;

	ret = bench_verbs_completions(ibdev, spec);
	if (ret)
		return ret;
	for (n = 1; n <= BENCH_POLL_MAX; n++)
		verbs[n] = bench_probe_window(recv, n);
	ret = bench_dat_completions(ibdev, w, spec, dequeue, &fig);
	if (ret)
		return ret;
	for (n = BENCH_POLL_MAX; n > 0; n--)
		if (verbs[n] && bench_probe_window(recv, n))
			break;
	if (!n)
		return -ENODATA;
	scnprintf(out, size, "batch=%d verbs_batch=%llu dat_batch=%llu dequeue=%llu mean=%llu", n,
		  verbs[n], bench_probe_window(recv, n), dequeue ? fig.least - empty : 0,
		  dequeue ? div_u64(fig.sum, fig.n) - empty : 0);
	return 0;
}

/* ---- process and poll context --------------------------------------------------- */

/* Fewer than kDAPL asks for in a poll, so that one poll empties the CQ */
#define BENCH_FEW	3
#define BENCH_MORE	7

/* The number of completions that a poll by the caller has handled; @v NULL: of the EVD */
static int bench_context_poll(struct fixture *w, struct plain_verbs *v)
{
	DAT_COUNT count;

	if (v)
		return plain_verbs_poll(v, BENCH_POLL_MAX);
	return kdat_evd_poll(fixture_evd(w, false), BENCH_POLL_MAX, &count) ? -EIO : count;
}

/* The least cost of @n RDMA writes that complete together, from the poll to the last callback */
static int bench_context_round(struct ib_device *ibdev, struct fixture *w, struct plain_verbs *v,
			       const struct bench_spec *spec, int n, u64 *least)
{
	struct bench_side *side = v ? plain_verbs_side(v) : fixture_side(w, spec);
	struct null_dev *dev = bench_null(ibdev);
	u64 took;
	int i;

	for (i = 0, *least = 0; i < BENCH_ROUNDS; i++) {
		atomic_set(&side->done, 0);
		bench_post_many(side, BENCH_WRITE, n);
		bench_probe_reset();
		null_complete_all(dev);
		if (spec->context == KDAT_EVD_POLL_FLAG) {
			if (bench_context_poll(w, v) != n)
				return -EIO;
			took = bench_probe_until_now();
		} else {
			/* The work item ends with the arming */
			took = bench_probe_until_armed();
			if (!took || atomic_read(&side->done) != n)
				return -ETIMEDOUT;
		}
		*least = *least ? min(*least, took) : took;
	}
	return side->op[BENCH_WRITE].failed ? -EIO : 0;
}

/* Two numbers of completions tell the cost of each from that of a run; @v NULL: kDAPL */
static int bench_context_side(struct ib_device *ibdev, struct fixture *w, struct plain_verbs *v,
			      const struct bench_spec *spec, u64 *each, u64 *run)
{
	u64 few, more;
	int ret;

	ret = bench_context_round(ibdev, w, v, spec, BENCH_FEW, &few) ?:
	      bench_context_round(ibdev, w, v, spec, BENCH_MORE, &more);
	if (ret)
		return ret;
	*each = div_u64(more - few, BENCH_MORE - BENCH_FEW);
	*run = few - BENCH_FEW * *each;
	return 0;
}

/**
 * bench_run_context - measure completions in process and poll context
 * @ibdev: the null device
 * @w:     the fixture, whose EVDs have the context
 * @spec:  the context
 * @out:   takes the figures: the cost of each completion, and that of a run of the work item or
 *         of a call that polls
 * @size:  of @out
 *
 * The upcalls, or the callbacks of plain verbs, count, or do nothing in poll context.
 *
 * Context: process.
 * Return: 0, -EOPNOTSUPP on other devices, negative errno.
 */
int bench_run_context(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		      char *out, size_t size)
{
	enum fixture_events how = spec->context == KDAT_EVD_POLL_FLAG ? FIXTURE_EMPTY :
									FIXTURE_TALLY;
	u64 verbs_each, verbs_run, dat_each, dat_run;
	struct plain_verbs *v;
	int ret;

	if (!bench_null(ibdev))
		return -EOPNOTSUPP;
	v = plain_verbs_create(ibdev, spec);
	if (IS_ERR(v))
		return PTR_ERR(v);
	plain_verbs_set_events(v, how);
	ret = bench_context_side(ibdev, w, v, spec, &verbs_each, &verbs_run);
	plain_verbs_destroy(v);
	ret = ret ?: fixture_set_events(w, how) ?:
	      bench_context_side(ibdev, w, NULL, spec, &dat_each, &dat_run);
	if (ret)
		return ret;
	scnprintf(out, size, "verbs_each=%llu verbs_run=%llu dat_each=%llu dat_run=%llu",
		  verbs_each, verbs_run, dat_each, dat_run);
	return 0;
}

/**
 * bench_run_suppressed - count the completions that suppressed posts generate
 * @ibdev: the null device; only it counts unsignaled requests
 * @w:     the fixture
 * @spec:  the post
 * @out:   takes the figures
 * @size:  of @out
 *
 * The device completes its requests whenever a quarter of the queue is full.
 *
 * Context: process.
 * Return: 0, -EOPNOTSUPP on other devices, -EIO.
 */
int bench_run_suppressed(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
			 char *out, size_t size)
{
	struct bench_side *side = fixture_side(w, spec);
	struct bench_op *op = &side->quiet[spec->kind];
	struct null_dev *dev = bench_null(ibdev);
	int i, ret, posts = 8 * BENCH_DEPTH;

	if (!dev)
		return -EOPNOTSUPP;
	ret = fixture_set_events(w, FIXTURE_COUNT);
	if (ret)
		return ret;
	bench_probe_reset();
	for (i = 1; i <= posts; i++) {
		side->fn[spec->kind](op);
		if (i % (BENCH_DEPTH / 4) == 0)
			null_complete_all(dev);
	}
	scnprintf(out, size, "posts=%d cqes=%d", posts, atomic_read(&bench_polled));
	/* The remaining suppressed posts wait for a signaled one */
	bench_post_many(side, spec->kind, 1);
	atomic_set(&side->done, 0);
	return op->failed ? -EIO : bench_settle(ibdev, side, 1);
}
