// SPDX-License-Identifier: GPL-2.0
/*
 * A case of the loopback test in which a Consumer in poll context sleeps until it is woken. It
 * polls until nothing is left, arms the EVD and sleeps until an upcall wakes it, while two other
 * threads send. They send a few messages each time the Consumer arms the EVD, so that messages
 * arrive before, during and after the arming. Each message must arrive once, and must wake the
 * Consumer.
 *
 * If the Consumer does not poll for a second, a timer of kDAPL polls, which would hide that nobody
 * was woken. So the case counts the sleeps that took a second. There are some if the machine
 * stands still, but never in most of the sleeps.
 *
 * The Consumer is the work item of the run. The upcall runs with bottom halves off, on the stack of
 * a poll or in a work item of kDAPL. The receives that the upcall posts are the credits of the
 * senders.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "conn_pair.h"

#define SENDERS		2
#define BURST		5		/* most messages after an arming */
#define POLL_MAX	4		/* completions in one call */
#define SPINS		100		/* before a sender sleeps until the next arming */
#define SLOT		8		/* bytes of a message, its number */
#define SLOTS		512		/* of each sender, reused long after its completion */

struct armed;

struct sender {
	struct armed *all;
	struct task_struct *task;
	u32 id;
};

struct armed {
	struct loop_run *run;
	struct loop_case *c;
	struct pair *pair;
	DAT_EVD_HANDLE recv;		/* of B, in poll context */
	DAT_EVD_HANDLE sent;		/* of A */
	struct completion wake;
	u32 each;			/* messages of each sender */
	unsigned long *seen;		/* messages that have arrived; the upcall's */
	u32 received;
	atomic_t credits;
	u32 armings, sleeps, late;
	bool stop;
	struct sender sender[SENDERS];
};

static void fail(struct armed *p)
{
	WRITE_ONCE(p->stop, true);
	complete(&p->wake);
}

/* ---- B: receives ------------------------------------------------------------------ */

static void post_receive(struct armed *p, u32 slot)
{
	DAT_LMR_TRIPLET iov = pair_seg(&p->pair->b[0], slot * SLOT, SLOT);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	if (!loop_expect(p->c, "dat_ep_post_recv",
			 dat_ep_post_recv(p->pair->b[0].ep, 1, &iov, cookie, 0), DAT_SUCCESS))
		fail(p);
	else
		atomic_inc(&p->credits);
}

static void arrived(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct armed *p = data;
	u64 slot = dto->user_cookie.as_64, number;

	/* The disconnect at the end flushes receives */
	if (READ_ONCE(p->stop))
		return;
	number = *(u64 *)(p->pair->b[0].mem + slot * SLOT);
	if (dto->status != DAT_DTO_SUCCESS || dto->transfered_length != SLOT ||
	    number >= SENDERS * p->each || test_and_set_bit(number, p->seen)) {
		loop_fail(p->c, "message %llu: status %d, not expected", number, dto->status);
		fail(p);
		return;
	}
	post_receive(p, slot);
	WRITE_ONCE(p->received, p->received + 1);
	complete(&p->wake);
}

static bool over(struct armed *p)
{
	return READ_ONCE(p->received) == SENDERS * p->each || READ_ONCE(p->stop) ||
	       READ_ONCE(p->run->abort);
}

/* False if the test must end */
static bool poll_until_empty(struct armed *p)
{
	DAT_COUNT n;

	do {
		if (!loop_expect(p->c, "kdat_evd_poll", kdat_evd_poll(p->recv, POLL_MAX, &n),
				 DAT_SUCCESS))
			return false;
		cond_resched();
	} while (n);
	return !over(p);
}

/* Returns whether the Consumer may sleep. Senders post from now on */
static bool arm(struct armed *p)
{
	DAT_BOOLEAN again = DAT_TRUE;

	reinit_completion(&p->wake);
	WRITE_ONCE(p->armings, p->armings + 1);
	loop_expect(p->c, "kdat_evd_arm", kdat_evd_arm(p->recv, &again), DAT_SUCCESS);
	/* What ended the test before the completion was reset does not wake */
	return again == DAT_FALSE && !over(p);
}

static void consume(struct armed *p)
{
	unsigned long begin;

	for (;;) {
		begin = jiffies;
		if (!poll_until_empty(p))
			return;
		if (!arm(p))
			continue;
		p->sleeps++;
		if (!wait_for_completion_timeout(&p->wake, test_limit(TEST_HANG_MS))) {
			loop_fail(p->c, "nobody was woken after %u messages", p->received);
			return;
		}
		p->late += time_after_eq(jiffies, begin + HZ);
	}
}

/* ---- A: sends --------------------------------------------------------------------- */

/* The event returns the slot of the request, and nothing else */
static void ignore_sent(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

static DAT_RETURN send(struct armed *p, u32 number)
{
	u32 off = (number / p->each * SLOTS + number % p->each % SLOTS) * SLOT;
	DAT_LMR_TRIPLET iov = pair_seg(&p->pair->a[0], off, SLOT);
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	*(u64 *)(p->pair->a[0].mem + off) = number;
	return dat_ep_post_send(p->pair->a[0].ep, 1, &iov, cookie, 0);
}

/* The credit may be there before the completion of the request that has used it */
static bool send_one(struct armed *p, u32 number)
{
	DAT_RETURN ret;

	while (atomic_dec_if_positive(&p->credits) < 0) {
		if (READ_ONCE(p->stop))
			return false;
		schedule_timeout_idle(1);
	}
	for (;;) {
		ret = send(p, number);
		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES || READ_ONCE(p->stop))
			break;
		schedule_timeout_idle(1);
	}
	return READ_ONCE(p->stop) || loop_expect(p->c, "dat_ep_post_send", ret, DAT_SUCCESS);
}

static bool await_arming(struct armed *p, u32 seen)
{
	u32 i;

	for (i = 0; READ_ONCE(p->armings) == seen && !READ_ONCE(p->stop); i++) {
		if (i < SPINS)
			cond_resched();
		else
			schedule_timeout_idle(1);
	}
	return !READ_ONCE(p->stop);
}

static int send_all(void *data)
{
	struct sender *s = data;
	struct armed *p = s->all;
	u32 i, seen = 0, left = 0;

	for (i = 0; i < p->each; i++, left--) {
		if (!left) {
			if (!await_arming(p, seen))
				break;
			seen = READ_ONCE(p->armings);
			left = 1 + (i + s->id) % BURST;
		}
		if (!send_one(p, s->id * p->each + i)) {
			fail(p);
			break;
		}
	}
	return 0;
}

static bool start(struct armed *p)
{
	struct sender *s;

	for (s = p->sender; s < p->sender + SENDERS; s++) {
		s->all = p;
		s->id = s - p->sender;
		s->task = kthread_create(send_all, s, "kdapl_send/%u", s->id);
		if (IS_ERR(s->task)) {
			s->task = NULL;
			loop_fail(p->c, "no task");
			return false;
		}
		get_task_struct(s->task);
		wake_up_process(s->task);
	}
	return true;
}

static void stop(struct armed *p)
{
	struct sender *s;

	WRITE_ONCE(p->stop, true);
	for (s = p->sender; s < p->sender + SENDERS; s++) {
		if (!s->task)
			continue;
		kthread_stop(s->task);
		put_task_struct(s->task);
	}
}

/* ---- the case --------------------------------------------------------------------- */

static bool make_evd(struct armed *p, DAT_UPCALL_FUNC func, DAT_EVD_FLAGS flags,
		     DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = p, .upcall_func = func };

	return loop_expect(p->c, "dat_evd_kcreate",
			   dat_evd_kcreate(p->run->t.ia, 1, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					   flags, evd), DAT_SUCCESS);
}

static bool use_evd(struct armed *p, struct pair_end *e, DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param = { .recv_evd_handle = evd, .request_evd_handle = evd };

	return loop_expect(p->c, "dat_ep_modify",
			   dat_ep_modify(e->ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
						DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param),
			   DAT_SUCCESS);
}

static bool make(struct armed *p)
{
	static const struct pair_cfg cfg = { .pairs = 1 };
	u32 i;

	if (!make_evd(p, arrived, DAT_EVD_DTO_FLAG | KDAT_EVD_POLL_FLAG, &p->recv) ||
	    !make_evd(p, ignore_sent, test_evd_flags(DAT_EVD_DTO_FLAG, false), &p->sent))
		return false;
	test_poller_add(p->sent);
	p->pair = pair_make(p->run, p->c, &cfg);
	if (!p->pair || !use_evd(p, &p->pair->a[0], p->sent) ||
	    !use_evd(p, &p->pair->b[0], p->recv) || pair_connect(p->pair))
		return false;
	for (i = 0; i < PAIR_DEPTH; i++)
		post_receive(p, i);
	return pair_ok(p->pair);
}

static void run_senders(struct armed *p)
{
	if (start(p))
		consume(p);
	stop(p);
	p->c->messages = p->received;
	scnprintf(p->c->reason, sizeof(p->c->reason), "%u sleeps, %u of a second", p->sleeps,
		  p->late);
	if (!pair_ok(p->pair))
		return;
	if (p->received != SENDERS * p->each)
		loop_fail(p->c, "%u messages, expected %u", p->received, SENDERS * p->each);
	if (2 * p->late > p->sleeps)
		loop_fail(p->c, "only the timer of kDAPL has ended %u of %u sleeps", p->late,
			  p->sleeps);
}

static void end(struct armed *p)
{
	WRITE_ONCE(p->stop, true);
	if (p->pair)
		pair_end(p->pair);
	if (p->recv)
		loop_expect(p->c, "dat_evd_free", dat_evd_free(p->recv), DAT_SUCCESS);
	if (p->sent)
		loop_expect(p->c, "dat_evd_free", dat_evd_free(p->sent), DAT_SUCCESS);
	bitmap_free(p->seen);
	kfree(p);
}

/**
 * loop_case_armed - a Consumer in poll context that sleeps until it is woken
 * @run: the run
 * @c: the case; count is the number of messages of each sender
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_armed(struct loop_run *run, struct loop_case *c)
{
	struct armed *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	p->run = run;
	p->c = c;
	p->each = max(c->count, 30U);
	init_completion(&p->wake);
	p->seen = bitmap_zalloc(SENDERS * p->each, GFP_KERNEL);
	if (p->seen && make(p))
		run_senders(p);
	end(p);
	loop_clauses(c, "E-07");
	return READ_ONCE(run->abort) ? -EINTR : 0;
}
