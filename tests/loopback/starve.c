// SPDX-License-Identifier: GPL-2.0
/*
 * A case of the loopback harness: one EVD is fed by four tasks, each on a CPU
 * of its own as far as there are so many, as fast as they can. Its upcalls run
 * with bottom halves off, and must leave room for everybody else: on every CPU
 * an ordinary task goes on, and grace periods end. Soft lockups and stalls of
 * RCU are for the kernel to report. Software events, since no device is so fast;
 * their upcalls are a worker's. That the budget of those in softirq holds is a
 * matter of unit tests.
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
#include "kdapl_loop.h"

#define FEEDERS		4
#define WATCHERS	8
#define QLEN		256
#define WORK_US		100		/* of an upcall: the feeders are faster */
#define LATE_US		(1000 * 1000LL)		/* times stretch */
#define GRACE_US	(5000 * 1000LL)
#define WINDOW_S	10			/* a whole run; whoever waits longer: */
#define LATE_MOST	(WINDOW_S * USEC_PER_SEC / 2)
#define GRACE_MOST	(WINDOW_S * USEC_PER_SEC * 9 / 10)
#define NAPS		20			/* of each watcher, at least */

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
	DAT_EVD_HANDLE evd;
	unsigned long inside;		/* bit 0: an upcall runs */
	u64 next[FEEDERS];		/* number of a feeder's next event; the upcall's */
	u64 got;			/* events that it was given */
	bool ending;			/* the feeders have stopped: wake whoever waits */
	wait_queue_head_t wait;
	struct starve_task feeder[FEEDERS], watcher[WATCHERS];
};

static void starve_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	unsigned long what = (unsigned long)event->event_data.software_event_data.pointer;
	struct starve *s = instance;

	if (test_and_set_bit(0, &s->inside))
		loop_fail(s->c, "two upcalls at once");
	if (event->event_number != DAT_SOFTWARE_EVENT || what >> 2 != s->next[what & 3])
		loop_fail(s->c, "event %#x, %lu of feeder %lu, not %llu", event->event_number,
			  what >> 2, what & 3, s->next[what & 3]);
	s->next[what & 3]++;
	udelay(WORK_US);
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

static int feed(void *arg)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct starve_task *t = arg;
	DAT_RETURN ret;

	while (!kthread_should_stop()) {
		event.event_data.software_event_data.pointer =
			(void *)(unsigned long)(t->n << 2 | t->id);
		ret = dat_evd_post_se(t->s->evd, &event);
		if (ret == DAT_SUCCESS) {
			t->n++;
		} else if (DAT_GET_TYPE(ret) == DAT_QUEUE_FULL) {
			t->full++;
		} else {
			loop_fail(t->s->c, "dat_evd_post_se: %#x", ret);
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
static s64 starve(struct loop_run *run, u32 seconds)
{
	ktime_t before, end = ktime_add_ms(ktime_get(), seconds * MSEC_PER_SEC);
	s64 worst = 0;

	do {
		before = ktime_get();
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
		  "%llu events, %u CPUs, a task waited %lld us at most, RCU %lld us",
		  s->got, cpus, worst, grace);
}

/* All that is posted has come, and there was more than the EVD could hold */
static void judge(struct starve *s)
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
		loop_fail(s->c, "the EVD was never full: nobody was in danger");
	WRITE_ONCE(s->ending, true);
	wait_event_timeout(s->wait, READ_ONCE(s->got) >= posted,
			   loop_stretch() * 20 * HZ);
	if (s->got != posted)
		loop_fail(s->c, "%llu events of %llu have come", s->got, posted);
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
	grace = starve(run, run->args.brief ? 1 : WINDOW_S);
out:
	stop(s->feeder, FEEDERS);
	stop(s->watcher, WATCHERS);
	judge(s);
	judge_waits(s, cpus, grace, run->args.brief);
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
					DAT_EVD_SOFTWARE_FLAG, &s->evd), DAT_SUCCESS)) {
		starve_all(run, s);
		loop_expect(c, "dat_evd_free", dat_evd_free(s->evd), DAT_SUCCESS);
	}
	kfree(s);
	return 0;
}
