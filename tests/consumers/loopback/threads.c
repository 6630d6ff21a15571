// SPDX-License-Identifier: GPL-2.0
/*
 * A case of the loopback test in which four tasks post to one EP, each on a different CPU if
 * there are enough: signalled requests, which take no lock, between suppressed ones, which
 * do. Each signalled request must have one event, no suppressed one may have any, and
 * afterwards the queue must have room for exactly as many requests as at the beginning.
 *
 * The main thread dequeues the events. A lost slot shows in the last step, or if no post
 * succeeds any more: the limit is for the time without progress. Process context.
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "conn_pair.h"

#define POSTERS		4
#define SIGNALLED(n)	((n) % 3 == 0)	/* others are suppressed */
#define BYTES		8		/* of a write */

struct posters;

struct poster {
	struct posters *all;
	struct task_struct *task;
	u32 id;
	u32 posted;
	u32 full;
};

struct posters {
	struct loop_run *run;
	struct loop_case *c;
	struct pair *pair;
	DAT_EVD_HANDLE evd;
	u32 rounds;			/* posts of each task */
	unsigned long *seen;		/* signalled requests whose event has come */
	u32 events;
	bool stop;
	struct poster poster[POSTERS];
};

static DAT_RETURN post(struct posters *p, u64 number, DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_LMR_TRIPLET iov = pair_seg(&p->pair->a[0], 0, BYTES);
	DAT_RMR_TRIPLET to = pair_target(&p->pair->b[0], 0, BYTES);

	return dat_ep_post_rdma_write(p->pair->a[0].ep, 1, &iov, cookie, &to, flags);
}

static int post_all(void *arg)
{
	struct poster *t = arg;
	struct posters *p = t->all;
	DAT_RETURN ret;

	while (t->posted < p->rounds && !READ_ONCE(p->stop)) {
		ret = post(p, (u64)t->id * p->rounds + t->posted,
			   SIGNALLED(t->posted) ? 0 : DAT_COMPLETION_SUPPRESS_FLAG);
		if (ret == DAT_SUCCESS) {
			WRITE_ONCE(t->posted, t->posted + 1);
		} else if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
			t->full++;
		} else {
			loop_fail(p->c, "post %u of task %u: %#x", t->posted, t->id, ret);
			WRITE_ONCE(p->stop, true);
		}
		cond_resched();
	}
	return 0;
}

static bool start(struct posters *p)
{
	u32 cpu = cpumask_first(cpu_online_mask), i;
	struct poster *t;

	for (i = 0; i < POSTERS; i++) {
		t = &p->poster[i];
		t->all = p;
		t->id = i;
		t->task = kthread_create(post_all, t, "kdapl_post/%u", i);
		if (IS_ERR(t->task)) {
			t->task = NULL;
			loop_fail(p->c, "no task");
			return false;
		}
		get_task_struct(t->task);
		kthread_bind(t->task, cpu);
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		wake_up_process(t->task);
	}
	return true;
}

static void stop(struct posters *p)
{
	u32 i;

	WRITE_ONCE(p->stop, true);
	for (i = 0; i < POSTERS; i++) {
		if (!p->poster[i].task)
			continue;
		kthread_stop(p->poster[i].task);
		put_task_struct(p->poster[i].task);
	}
}

/* Dequeues what has come; false if an event is wrong or has come twice */
static bool take(struct posters *p)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	u64 number;

	dto = &event.event_data.dto_completion_event_data;
	while (dat_evd_dequeue(p->evd, &event) == DAT_SUCCESS) {
		number = dto->user_cookie.as_64;
		if (dto->status == DAT_DTO_SUCCESS && number < (u64)POSTERS * p->rounds &&
		    SIGNALLED(number % p->rounds) && !test_and_set_bit(number, p->seen)) {
			p->events++;
			continue;
		}
		loop_fail(p->c, "unexpected event of post %llu, status %d", number, dto->status);
		return false;
	}
	return true;
}

static u32 posted(struct posters *p)
{
	u32 i, n = 0;

	for (i = 0; i < POSTERS; i++)
		n += READ_ONCE(p->poster[i].posted);
	return n;
}

/* Waits until @want events have come, and all tasks have posted everything */
static bool wait_events(struct posters *p, u32 want)
{
	unsigned long limit = test_limit(TEST_HANG_MS), deadline = jiffies + limit;
	u32 before = 0, now;

	for (;;) {
		if (!take(p) || READ_ONCE(p->run->abort))
			return false;
		now = p->events + posted(p);
		if (p->events >= want && posted(p) == POSTERS * p->rounds)
			return true;
		if (now != before)
			deadline = jiffies + limit;
		before = now;
		if (READ_ONCE(p->stop))
			return false;
		if (time_after(jiffies, deadline)) {
			loop_fail(p->c, "no progress after %u posts and %u events", posted(p),
				  p->events);
			return false;
		}
		schedule_timeout_idle(1);
	}
}

/* A signalled request at the end accounts for all before it; then the queue is empty */
static bool settle(struct posters *p)
{
	clear_bit(0, p->seen);
	return loop_expect(p->c, "last write", post(p, 0, 0), DAT_SUCCESS) &&
	       wait_events(p, p->events + 1);
}

/* Every event that is not dequeued keeps its slot: the queue takes its depth and no more */
static void fill(struct posters *p)
{
	u32 i;

	for (i = 0; i < PAIR_DEPTH; i++)
		if (!loop_expect(p->c, "write into an empty queue", post(p, 0, 0), DAT_SUCCESS))
			return;
	loop_expect(p->c, "write into a full queue", post(p, 0, 0), DAT_INSUFFICIENT_RESOURCES);
}

static void run_posters(struct posters *p)
{
	u32 each = DIV_ROUND_UP(p->rounds, 3), full = 0, i;
	bool good;

	good = start(p) && wait_events(p, POSTERS * each);
	stop(p);
	for (i = 0; i < POSTERS; i++)
		full += p->poster[i].full;
	p->c->posts = posted(p);
	p->c->completions = p->events;
	p->c->full = full;
	if (!good)
		return;
	if (p->events != POSTERS * each)
		loop_fail(p->c, "%u events, expected %u", p->events, POSTERS * each);
	if (settle(p))
		fill(p);
}

/* The completions of A's requests come to an EVD without upcalls */
static bool connect(struct posters *p)
{
	static const struct pair_cfg cfg = { .pairs = 1 };
	DAT_EP_PARAM param = { .request_evd_handle = p->evd };

	p->pair = pair_make(p->run, p->c, &cfg);
	return p->pair &&
	       loop_expect(p->c, "dat_ep_modify",
			   dat_ep_modify(p->pair->a[0].ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					 &param), DAT_SUCCESS) &&
	       !pair_connect(p->pair);
}

/**
 * loop_case_threads - four tasks post signalled and suppressed requests to one EP
 * @run: the run
 * @c: the case; count is the number of posts of each task
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_threads(struct loop_run *run, struct loop_case *c)
{
	struct posters *p = kzalloc(sizeof(*p), GFP_KERNEL);

	loop_clauses(c, "G-34 S-15");
	if (!p)
		return -ENOMEM;
	p->run = run;
	p->c = c;
	p->rounds = max(c->count, 30U);
	p->seen = bitmap_zalloc(POSTERS * p->rounds, GFP_KERNEL);
	if (p->seen && loop_expect(c, "dat_evd_kcreate",
				   dat_evd_kcreate(run->t.ia, 2 * PAIR_DEPTH, DAT_UPCALL_DISABLE,
						   NULL, test_evd_flags(DAT_EVD_DTO_FLAG, false),
						   &p->evd),
				   DAT_SUCCESS)) {
		if (connect(p))
			run_posters(p);
		if (p->pair)
			pair_end(p->pair);
		loop_expect(c, "dat_evd_free", dat_evd_free(p->evd), DAT_SUCCESS);
	}
	bitmap_free(p->seen);
	kfree(p);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}
