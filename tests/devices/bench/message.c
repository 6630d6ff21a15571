// SPDX-License-Identifier: GPL-2.0
/*
 * Measures whole messages: the verbs calls and softirqs that they cause, and all instructions
 * from the first post of a burst to the end of its last callback, which include those of the
 * device.
 *
 * main.c calls this in process context. Both sides exist all the time, because the device looks
 * at all queues when it completes a burst.
 */
#include <asm/tsc.h>
#include <linux/kernel_stat.h>
#include <linux/minmax.h>
#include "bench.h"
#include "null.h"

/**
 * struct bench_calls - what BENCH_MESSAGES messages have caused
 * @posts:    calls of post_send and post_recv
 * @polls:    calls of poll_cq
 * @arms:     calls of req_notify_cq
 * @softirqs: runs of the softirq that polls CQs
 * @least:    minimum number of instructions for a burst
 */
struct bench_calls {
	u32 posts;
	u32 polls;
	u32 arms;
	u32 softirqs;
	u64 least;
};

/* The machine has one CPU */
static u32 bench_softirqs(void)
{
	return kstat_softirqs_cpu(IRQ_POLL_SOFTIRQ, 0);
}

/* Posts a burst, and waits until all that it causes has ended. Returns the instructions, or 0 */
static u64 bench_burst(struct ib_device *ibdev, struct bench_side *side,
		       const struct bench_spec *spec)
{
	struct null_dev *dev = bench_null(ibdev);
	int n = atomic_read(&bench_polled) + spec->burst;
	u64 begin = rdtsc_ordered();

	if (bench_sends(spec->kind)) {
		bench_post_many(side, side->recv_kind, spec->burst);
		n += spec->burst;
	}
	bench_post_many(side, spec->kind, spec->burst);
	if (dev)
		null_complete_all(dev);
	return bench_wait_for(&bench_polled, n) ? rdtsc_ordered() - begin : 0;
}

static int bench_count_calls(struct ib_device *ibdev, struct bench_side *side,
			     const struct bench_spec *spec, struct bench_calls *calls)
{
	struct null_dev *dev = bench_null(ibdev);
	u32 posts = dev ? null_posts(dev) : 0, softirqs = bench_softirqs();
	u64 took, least = U64_MAX;
	u32 i;

	bench_probe_reset();
	for (i = 0; i < BENCH_MESSAGES / spec->burst; i++) {
		took = bench_burst(ibdev, side, spec);
		if (!took)
			return -ETIMEDOUT;
		least = min(least, took);
	}
	*calls = (struct bench_calls){
		.posts = dev ? null_posts(dev) - posts : 0,
		.polls = bench_polls,
		.arms = bench_arms,
		.softirqs = bench_softirqs() - softirqs,
		.least = least,
	};
	return bench_settle(ibdev, side, 0);
}

static int bench_print_calls(char *out, size_t size, const char *side,
			     const struct bench_calls *calls)
{
	return scnprintf(out, size,
			 "%s_posts=%u %s_polls=%u %s_arms=%u %s_softirqs=%u %s_burst=%llu ", side,
			 calls->posts, side, calls->polls, side, calls->arms, side,
			 calls->softirqs, side, calls->least);
}

/**
 * bench_run_calls - count the calls, softirqs and instructions of BENCH_MESSAGES messages
 * @ibdev: device; on the null device the messages of a burst complete together
 * @w:     the fixture
 * @spec:  the post and the burst
 * @out:   takes the figures
 * @size:  of @out
 *
 * Posts are counted on the null device only. The callbacks and upcalls do nothing.
 *
 * Context: process.
 * Return: 0, negative errno.
 */
int bench_run_calls(struct ib_device *ibdev, struct fixture *w, const struct bench_spec *spec,
		    char *out, size_t size)
{
	struct bench_calls verbs, dat;
	struct plain_verbs *v;
	int ret, n;

	v = plain_verbs_create(ibdev, spec);
	if (IS_ERR(v))
		return PTR_ERR(v);
	plain_verbs_set_events(v, FIXTURE_EMPTY);
	ret = fixture_set_events(w, FIXTURE_EMPTY) ?:
	      bench_count_calls(ibdev, plain_verbs_side(v), spec, &verbs) ?:
	      bench_count_calls(ibdev, fixture_side(w, spec), spec, &dat);
	plain_verbs_destroy(v);
	if (ret)
		return ret;
	n = scnprintf(out, size, "messages=%u ", BENCH_MESSAGES);
	n += bench_print_calls(out + n, size - n, "verbs", &verbs);
	bench_print_calls(out + n, size - n, "dat", &dat);
	return 0;
}
