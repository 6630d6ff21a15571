// SPDX-License-Identifier: GPL-2.0
/*
 * A case of the loopback harness: one EVD is fed by four tasks, each on a CPU
 * of its own as far as there are so many, as fast as they can. Its upcalls run
 * with bottom halves off, and must leave room for everybody else: on every CPU
 * an ordinary task goes on, and grace periods end. Soft lockups and stalls of
 * RCU are for the kernel to report. Once with software events, as no device is so
 * fast; their upcalls are a worker's. Once with the completions of four EPs: as long
 * as upcalls are slower than the device, they are a worker's too, behind the budget of
 * the softirq that came first; when they are quicker, that of softirqs.
 *
 * The work item starts and stops the tasks; the upcall owns what struct starve
 * says, one at a time by the rule that it checks.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "duo.h"

#define FEEDERS		4
#define WATCHERS	8
#define QLEN		256
#define WORK_US		100		/* of an upcall: the feeders are faster */
#define DTO_WORK_US	1000		/* and here the device is, */
#define SLOW_TENTHS	7		/* for so much of the window */
#define SOFTIRQS	100		/* upcalls in softirq, at least */
#define LATE_US		(1000 * 1000LL)		/* times stretch */
#define GRACE_US	(5000 * 1000LL)
#define WINDOW_S	10			/* a whole run; whoever waits longer: */
#define LATE_MOST	(WINDOW_S * USEC_PER_SEC / 2)
#define GRACE_MOST	(WINDOW_S * USEC_PER_SEC * 9 / 10)
#define NAPS		20			/* of each watcher, at least */
#define BYTES		8			/* of a write */

struct starve_task {
	struct starve *s;
	struct task_struct *task;
	u32 id;
	u64 n;			/* events posted; rounds of a watcher */
	u64 full;
	s64 worst;		/* us that a watcher's nap took too long */
};

/* One such case */
struct starve {
	struct loop_case *c;
	struct duo *duo;		/* NULL: software events */
	DAT_EVD_HANDLE evd;
	unsigned long inside;		/* bit 0: an upcall runs */
	u64 next[FEEDERS];		/* number of a feeder's next event; the upcall's */
	u64 got;			/* events that it was given */
	u64 in_softirq;			/* of these */
	bool quick;			/* upcalls of DTOs, now */
	bool ending;			/* the feeders have stopped: wake whoever waits */
	wait_queue_head_t wait;
	struct starve_task feeder[FEEDERS], watcher[WATCHERS];
};

/* What the feeder gave it: number and feeder */
static u64 word_of(struct starve *s, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != (s->duo ? DAT_DTO_COMPLETION_EVENT : DAT_SOFTWARE_EVENT))
		loop_fail(s->c, "event %#x", event->event_number);
	if (!s->duo)
		return (unsigned long)event->event_data.software_event_data.pointer;
	if (dto->status != DAT_DTO_SUCCESS)
		loop_fail(s->c, "write %llu: status %d", dto->user_cookie.as_64, dto->status);
	return dto->user_cookie.as_64;
}

static void starve_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct starve *s = instance;
	u64 what = word_of(s, event);

	if (test_and_set_bit(0, &s->inside))
		loop_fail(s->c, "two upcalls at once");
	if (what >> 2 != s->next[what & 3])
		loop_fail(s->c, "%llu of feeder %llu, not %llu", what >> 2, what & 3,
			  s->next[what & 3]);
	s->next[what & 3]++;
	s->in_softirq += !!in_serving_softirq();
	udelay(s->duo && !READ_ONCE(s->quick) ? DTO_WORK_US : WORK_US);
	clear_bit(0, &s->inside);
	WRITE_ONCE(s->got, s->got + 1);
	if (READ_ONCE(s->ending))
		wake_up(&s->wait);
}

/* ---- the tasks ------------------------------------------------------------------ */

static void until_stopped(void)
{
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
}

/* An event for the EVD, now or soon */
static DAT_RETURN give(struct starve_task *t)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_DTO_COOKIE cookie = { .as_64 = t->n << 2 | t->id };
	struct duo *d = t->s->duo;
	DAT_RMR_TRIPLET to;
	DAT_LMR_TRIPLET iov;

	if (!d) {
		event.event_data.software_event_data.pointer = (void *)(unsigned long)cookie.as_64;
		return dat_evd_post_se(t->s->evd, &event);
	}
	iov = duo_seg(&d->a[t->id], 0, BYTES);
	to = duo_target(&d->b[t->id], 0, BYTES);
	return dat_ep_post_rdma_write(d->a[t->id].ep, 1, &iov, cookie, &to, 0);
}

static int feed(void *arg)
{
	struct starve_task *t = arg;
	DAT_RETURN ret;

	while (!kthread_should_stop()) {
		ret = give(t);
		if (ret == DAT_SUCCESS) {
			t->n++;
		} else if (DAT_GET_TYPE(ret) ==
			   (t->s->duo ? DAT_INSUFFICIENT_RESOURCES : DAT_QUEUE_FULL)) {
			t->full++;
		} else {
			loop_fail(t->s->c, "feeder %u: %#x", t->id, ret);
			break;
		}
		cond_resched();
	}
	until_stopped();
	return 0;
}

static int watch(void *arg)
{
	struct starve_task *t = arg;

	while (!kthread_should_stop()) {
		ktime_t before = ktime_get();

		schedule_timeout_idle(1);
		t->worst = max(t->worst, ktime_us_delta(ktime_get(), before));
		t->n++;
	}
	return 0;
}

static bool start(struct starve *s, struct starve_task *t, int (*fn)(void *), u32 id, u32 cpu)
{
	t->s = s;
	t->id = id;
	t->task = kthread_create(fn, t, "kdapl_starve/%u", id);
	if (IS_ERR(t->task)) {
		t->task = NULL;
		loop_fail(s->c, "no task");
		return false;
	}
	kthread_bind(t->task, cpu);
	wake_up_process(t->task);
	return true;
}

static void stop(struct starve_task *t, u32 n)
{
	while (n--)
		if (t[n].task)
			kthread_stop(t[n].task);
}

/* ---- the case -------------------------------------------------------------------- */

/* Let them; how long did the longest grace period take? */
static s64 starve(struct loop_run *run, struct starve *s, u32 seconds)
{
	ktime_t before, begin = ktime_get();
	ktime_t quick = ktime_add_ms(begin, seconds * MSEC_PER_SEC * SLOW_TENTHS / 10);
	ktime_t end = ktime_add_ms(begin, seconds * MSEC_PER_SEC);
	s64 worst = 0;

	do {
		before = ktime_get();
		WRITE_ONCE(s->quick, ktime_after(before, quick));
		synchronize_rcu();
		worst = max(worst, ktime_us_delta(ktime_get(), before));
		schedule_timeout_idle(1);
	} while (ktime_before(ktime_get(), end) && !READ_ONCE(run->abort));
	return worst;
}

/*
 * On each CPU the watcher went on. However slow the machine, a limit beyond the
 * window would let somebody wait for nothing but its end.
 */
static void judge_waits(struct starve *s, u32 cpus, s64 grace, bool brief)
{
	s64 late = min_t(s64, LATE_US * loop_stretch(), LATE_MOST);
	s64 grace_late = min_t(s64, GRACE_US * loop_stretch(), GRACE_MOST);
	s64 worst = 0;
	u32 i;

	for (i = 0; i < cpus; i++) {
		worst = max(worst, s->watcher[i].worst);
		if (!brief && s->watcher[i].n < NAPS)
			loop_fail(s->c, "the task of CPU %u had %llu turns", i, s->watcher[i].n);
	}
	if (worst > late)
		loop_fail(s->c, "an ordinary task was kept waiting for %lld us", worst);
	if (grace > grace_late)
		loop_fail(s->c, "a grace period took %lld us", grace);
	scnprintf(s->c->reason, sizeof(s->c->reason),
		  "%llu events, %llu in softirq, %u CPUs, a task waited %lld us at most, RCU %lld us",
		  s->got, s->in_softirq, cpus, worst, grace);
}

/* All that is posted has come, and there was more than a queue could hold */
static void judge(struct starve *s, bool brief)
{
	u64 posted = 0, full = 0;
	u32 i;

	for (i = 0; i < FEEDERS; i++) {
		if (!s->feeder[i].n)
			loop_fail(s->c, "feeder %u has posted nothing", i);
		posted += s->feeder[i].n;
		full += s->feeder[i].full;
	}
	if (!full)
		loop_fail(s->c, "no queue was ever full: nobody was in danger");
	WRITE_ONCE(s->ending, true);
	wait_event_timeout(s->wait, READ_ONCE(s->got) >= posted,
			   loop_stretch() * 20 * HZ);
	if (s->got != posted)
		loop_fail(s->c, "%llu events of %llu have come", s->got, posted);
	if (s->duo && !brief && s->in_softirq < SOFTIRQS)
		loop_fail(s->c, "%llu upcalls of %llu were in softirq", s->in_softirq, s->got);
	s->c->completions = s->got;
}

static void starve_all(struct loop_run *run, struct starve *s)
{
	u32 cpu, i, cpus = 0, on[WATCHERS];
	s64 grace = 0;

	for_each_online_cpu(cpu)
		if (cpus < WATCHERS)
			on[cpus++] = cpu;
	for (i = 0; i < cpus; i++)
		if (!start(s, &s->watcher[i], watch, i, on[i]))
			goto out;
	for (i = 0; i < FEEDERS; i++)
		if (!start(s, &s->feeder[i], feed, i, on[i % cpus]))
			goto out;
	grace = starve(run, s, run->args.brief ? 1 : WINDOW_S);
out:
	stop(s->feeder, FEEDERS);
	stop(s->watcher, WATCHERS);
	judge(s, run->args.brief);
	judge_waits(s, cpus, grace, run->args.brief);
}

/* Four connections, whose A complete on the one EVD */
static bool connect_four(struct loop_run *run, struct starve *s)
{
	static const struct duo_cfg cfg = { .pairs = FEEDERS };
	DAT_EP_PARAM param = { .request_evd_handle = s->evd };
	u32 i;

	s->duo = duo_make(run, s->c, &cfg);
	for (i = 0; s->duo && i < FEEDERS; i++)
		if (!loop_expect(s->c, "dat_ep_modify",
				 dat_ep_modify(s->duo->a[i].ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					       &param), DAT_SUCCESS))
			return false;
	return s->duo && !duo_connect(s->duo);
}

static int starve_case(struct loop_run *run, struct loop_case *c, bool dtos)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = starve_upcall };
	struct starve *s = kzalloc(sizeof(*s), GFP_KERNEL);

	loop_clauses(c, "E-02 E-08b E-36");
	if (!s)
		return -ENOMEM;
	s->c = c;
	init_waitqueue_head(&s->wait);
	upcall.instance_data = s;
	if (loop_expect(c, "dat_evd_kcreate",
			dat_evd_kcreate(run->ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					dtos ? DAT_EVD_DTO_FLAG : DAT_EVD_SOFTWARE_FLAG,
					&s->evd), DAT_SUCCESS)) {
		if (!dtos || connect_four(run, s))
			starve_all(run, s);
		if (s->duo)
			duo_end(s->duo);
		loop_expect(c, "dat_evd_free", dat_evd_free(s->evd), DAT_SUCCESS);
	}
	kfree(s);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

/**
 * loop_case_starve - four CPUs feed one EVD
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_starve(struct loop_run *run, struct loop_case *c)
{
	return starve_case(run, c, false);
}

/**
 * loop_case_starve_dtos - the same with the completions of four EPs
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_starve_dtos(struct loop_run *run, struct loop_case *c)
{
	return starve_case(run, c, true);
}
