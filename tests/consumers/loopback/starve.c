// SPDX-License-Identifier: GPL-2.0
/*
 * Two cases of the loopback test in which four tasks post events to one EVD as fast as
 * they can, each on a different CPU if there are enough. The upcalls run with bottom
 * halves off and must leave CPU time for everything else: on every CPU an ordinary task
 * makes progress, and grace periods end. The kernel itself reports soft lockups and RCU
 * stalls. The first case uses software events, because no device is as fast; a worker
 * delivers them. The second uses the completions of four EPs, which softirq delivers
 * first.
 *
 * Every stage ends when enough events were counted, so the speed of the machine only
 * affects how long a stage takes:
 * - the upcall is disabled until every feeder has found its queue full; enabling it
 *   starts the worker with this backlog;
 * - a flood lasts until enough events were delivered, every watcher had its turns and
 *   some grace periods ended. With completions a second flood follows, which begins on
 *   an empty EVD and so in softirq;
 * - with completions, rounds follow. The feeders pause until everything has been
 *   delivered and there is no delivery owner any more. The first completion of a round is
 *   therefore delivered in softirq, whatever the load on the machine.
 *
 * If nothing is counted any more during a flood, the owner has kept the ownership.
 * The feeders then stop without waiting for the work item, because the delivery owner may
 * occupy the CPU of the task that would stop them.
 *
 * The work item starts and stops the tasks. The upcall owns the fields that struct starve
 * marks; that only one upcall runs at a time is one of the rules that the case checks.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "conn_pair.h"

#define FEEDERS		4
#define WATCHERS	8
#define QLEN		256
/* us that an upcall takes, so that the feeders are faster */
#define WORK_US		100
/* the same with completions, so that the device is faster */
#define DTO_WORK_US	1000
#define EVENTS		1000		/* minimum events of a flood */
#define NAPS		20		/* minimum sleeps of each watcher during a flood */
#define GRACES		10		/* minimum grace periods during a flood */
#define BURST		32		/* posts of a feeder in a round */
#define ROUNDS		4		/* minimum number of rounds */
#define SOFTIRQS	100		/* minimum upcalls in softirq during all rounds */
#define BRIEFLY		10		/* a short run divides the minimums by this */
#define BYTES		8			/* of a write */

struct starve_task {
	struct starve *s;
	struct task_struct *task;
	u32 id;
	u64 n;			/* events posted; turns of a watcher */
	u64 before;		/* turns of a watcher before this flood */
	u64 limit;		/* of n; changes while @feeding is held for writing */
	u64 full;
	s64 worst;		/* longest sleep of a watcher, us */
};

/* The state of one case */
struct starve {
	struct loop_run *run;
	struct loop_case *c;
	struct pair *pair;		/* NULL: software events */
	DAT_EVD_HANDLE evd;
	u32 part;			/* of EVENTS, NAPS and so on: 1, or BRIEFLY */
	u32 cpus, on[WATCHERS];
	unsigned long inside;		/* bit 0: an upcall runs */
	u64 next[FEEDERS];		/* number of a feeder's next event; owned by the upcall */
	u64 got;			/* events delivered; owned by the upcall */
	u64 in_softirq;			/* of these */
	bool quick;			/* upcalls of completions take WORK_US, too */
	struct rw_semaphore feeding;	/* held for reading by a feeder that posts */
	bool flooding;			/* the feeders check the progress */
	spinlock_t progress_lock;	/* guards the next two */
	u64 progress;			/* what was counted in this flood */
	unsigned long deadline;		/* jiffies: @progress must have grown by then */
	u64 before;			/* events delivered before this flood */
	u32 graces;			/* grace periods that ended in it */
	s64 worst;			/* longest grace period, us */
	unsigned long gave_up;		/* bit 0: something failed, the feeders stop */
	struct starve_task feeder[FEEDERS], watcher[WATCHERS];
};

/* The number and the feeder that the event names */
static u64 word_of(struct starve *s, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != (s->pair ? DAT_DTO_COMPLETION_EVENT : DAT_SOFTWARE_EVENT))
		loop_fail(s->c, "event %#x", event->event_number);
	if (!s->pair)
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
		loop_fail(s->c, "expected one upcall at a time, got two");
	if (what >> 2 != s->next[what & 3])
		loop_fail(s->c, "%llu of feeder %llu, not %llu", what >> 2, what & 3,
			  s->next[what & 3]);
	s->next[what & 3]++;
	s->in_softirq += !!in_serving_softirq();
	udelay(s->pair && !READ_ONCE(s->quick) ? DTO_WORK_US : WORK_US);
	clear_bit(0, &s->inside);
	WRITE_ONCE(s->got, s->got + 1);
}

/* ---- the tasks ------------------------------------------------------------------ */

static unsigned long hang_at(void)
{
	return test_deadline(TEST_HANG_MS);
}

static u64 turns_of(struct starve *s, u32 i)
{
	return READ_ONCE(s->watcher[i].n) - s->watcher[i].before;
}

/* The CPU whose watcher had the fewest turns during this flood */
static u32 slowest(struct starve *s)
{
	u32 i, slow = 0;

	for (i = 1; i < s->cpus; i++)
		if (turns_of(s, i) < turns_of(s, slow))
			slow = i;
	return slow;
}

/* Has this flood reached all its minimums? */
static bool enough(struct starve *s)
{
	u32 i;

	for (i = 0; i < FEEDERS; i++)
		if (!READ_ONCE(s->feeder[i].n))
			return false;
	return READ_ONCE(s->got) - s->before >= EVENTS / s->part &&
	       READ_ONCE(s->graces) >= GRACES / s->part &&
	       turns_of(s, slowest(s)) >= NAPS / s->part;
}

/*
 * Events beyond the minimum do not count, nor do further turns of a CPU that has reached
 * its minimum: otherwise a thread that occupies a CPU could make progress forever.
 */
static u64 counted(struct starve *s)
{
	u64 sum = min_t(u64, READ_ONCE(s->got) - s->before, EVENTS / s->part);
	u32 i;

	sum += min_t(u64, READ_ONCE(s->graces), GRACES / s->part);
	for (i = 0; i < FEEDERS; i++)
		sum += !!READ_ONCE(s->feeder[i].n);
	for (i = 0; i < s->cpus; i++)
		sum += min_t(u64, turns_of(s, i), NAPS / s->part);
	return sum;
}

/* Was nothing counted for too long? */
static bool stands_still(struct starve *s)
{
	u64 sum = counted(s);
	bool still;

	spin_lock(&s->progress_lock);
	if (sum > s->progress) {
		s->progress = sum;
		s->deadline = hang_at();
	}
	still = time_after(jiffies, s->deadline);
	spin_unlock(&s->progress_lock);
	return still && !enough(s);
}

static bool over(struct starve *s)
{
	return test_bit(0, &s->gave_up) || READ_ONCE(s->run->abort);
}

/* The first feeder that detects it notes the counts, which change once all have stopped */
static void give_up(struct starve *s)
{
	u32 slow = slowest(s);

	if (test_and_set_bit(0, &s->gave_up))
		return;
	loop_fail(s->c, "a flood did not end: %llu events, %llu turns of CPU %u, %u grace periods",
		  READ_ONCE(s->got) - s->before, turns_of(s, slow), s->on[slow],
		  READ_ONCE(s->graces));
}

/* Posts an event that the EVD gets now or soon */
static DAT_RETURN give(struct starve_task *t)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_DTO_COOKIE cookie = { .as_64 = t->n << 2 | t->id };
	struct pair *d = t->s->pair;
	DAT_RMR_TRIPLET to;
	DAT_LMR_TRIPLET iov;

	if (!d) {
		event.event_data.software_event_data.pointer = (void *)(unsigned long)cookie.as_64;
		return dat_evd_post_se(t->s->evd, &event);
	}
	iov = pair_seg(&d->a[t->id], 0, BYTES);
	to = pair_target(&d->b[t->id], 0, BYTES);
	return dat_ep_post_rdma_write(d->a[t->id].ep, 1, &iov, cookie, &to, 0);
}

/* Posts once, if allowed. Returns false if the feeder has nothing to do now */
static bool feed_one(struct starve_task *t)
{
	struct starve *s = t->s;
	DAT_RETURN ret;

	if (s->flooding && stands_still(s))
		give_up(s);
	if (t->n >= t->limit || over(s))
		return false;
	ret = give(t);
	if (ret == DAT_SUCCESS) {
		WRITE_ONCE(t->n, t->n + 1);
	} else if (DAT_GET_TYPE(ret) ==
		   (s->pair ? DAT_INSUFFICIENT_RESOURCES : DAT_QUEUE_FULL)) {
		WRITE_ONCE(t->full, t->full + 1);
	} else {
		loop_fail(s->c, "feeder %u: %#x", t->id, ret);
		set_bit(0, &s->gave_up);
		return false;
	}
	return true;
}

static int feed(void *arg)
{
	struct starve_task *t = arg;
	bool busy;

	while (!kthread_should_stop()) {
		down_read(&t->s->feeding);
		busy = feed_one(t);
		up_read(&t->s->feeding);
		if (busy)
			cond_resched();
		else
			schedule_timeout_idle(1);
	}
	return 0;
}

static int watch(void *arg)
{
	struct starve_task *t = arg;

	while (!kthread_should_stop()) {
		ktime_t before = ktime_get();

		schedule_timeout_idle(1);
		t->worst = max(t->worst, ktime_us_delta(ktime_get(), before));
		WRITE_ONCE(t->n, t->n + 1);
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

/* ---- stages: the feeders pause before and after each, feeding is held for writing -- */

static u64 posted(struct starve *s)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < FEEDERS; i++)
		sum += READ_ONCE(s->feeder[i].n);
	return sum;
}

static bool all_full(struct starve *s)
{
	u32 i;

	for (i = 0; i < FEEDERS; i++)
		if (!READ_ONCE(s->feeder[i].full))
			return over(s);
	return true;
}

static bool all_come(struct starve *s)
{
	return READ_ONCE(s->got) == posted(s);
}

/* Has every feeder posted its quota of this round, and was all of it delivered? */
static bool round_over(struct starve *s)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < FEEDERS; i++)
		sum += s->feeder[i].limit;
	return READ_ONCE(s->got) == sum || over(s);
}

static bool await(struct starve *s, bool (*met)(struct starve *s), const char *what)
{
	unsigned long end = hang_at();
	u64 last = 0, now;

	while (!met(s)) {
		now = READ_ONCE(s->got) + posted(s);
		if (now != last)
			end = hang_at();
		last = now;
		if (time_after(jiffies, end)) {
			loop_fail(s->c, "never %s: %llu events of %llu have come", what,
				  READ_ONCE(s->got), posted(s));
			return false;
		}
		schedule_timeout_idle(1);
	}
	return true;
}

/* Lets every feeder post this many more events */
static void let(struct starve *s, u64 more)
{
	u32 i;

	for (i = 0; i < FEEDERS; i++)
		s->feeder[i].limit = more == U64_MAX ? more : s->feeder[i].n + more;
	up_write(&s->feeding);
}

/* The EVD stays disabled until every feeder has found its queue full */
static bool fill(struct starve *s)
{
	bool good;

	let(s, U64_MAX);
	good = await(s, all_full, "full");
	down_write(&s->feeding);
	return loop_expect(s->c, "dat_evd_modify_upcall",
			   dat_evd_modify_upcall(s->evd, DAT_UPCALL_SINGLE_INSTANCE,
						 DAT_UPCALL_SAME, DAT_UPCALL_INVOC_ANY),
			   DAT_SUCCESS) && good;
}

static bool flood(struct starve *s)
{
	ktime_t before;
	u32 i;

	for (i = 0; i < s->cpus; i++)
		s->watcher[i].before = READ_ONCE(s->watcher[i].n);
	s->before = READ_ONCE(s->got);
	s->graces = 0;
	s->progress = 0;
	s->deadline = hang_at();
	s->flooding = true;
	let(s, U64_MAX);
	while (!enough(s) && !over(s)) {
		before = ktime_get();
		synchronize_rcu();
		s->worst = max(s->worst, ktime_us_delta(ktime_get(), before));
		WRITE_ONCE(s->graces, s->graces + 1);
		schedule_timeout_idle(1);
		if (stands_still(s))
			give_up(s);
	}
	down_write(&s->feeding);
	s->flooding = false;
	return !over(s);
}

/*
 * Waits until everything was delivered and there is no delivery owner: a delivery owner
 * keeps bottom halves off, so a grace period waits for it.
 */
static bool settle(struct starve *s)
{
	if (!await(s, all_come, "empty"))
		return false;
	synchronize_rcu();
	return true;
}

static void play_rounds(struct starve *s)
{
	u32 i, least = test_upcalls_in_softirq() ? SOFTIRQS / s->part : 0;
	u64 before = s->in_softirq;
	bool good;

	WRITE_ONCE(s->quick, true);
	/* Each round delivers at least one event in softirq, unless the context is another one */
	for (i = 0; i < ROUNDS || (i < least && s->in_softirq - before < least); i++) {
		let(s, BURST);
		good = await(s, round_over, "over") && !over(s);
		down_write(&s->feeding);
		if (!good)
			return;
		synchronize_rcu();
	}
	if (s->in_softirq - before < least)
		loop_fail(s->c, "%llu upcalls in softirq in %u rounds", s->in_softirq - before, i);
}

static void starve(struct starve *s)
{
	if (!fill(s) || !flood(s) || !settle(s) || !s->pair)
		return;
	if (flood(s) && settle(s))
		play_rounds(s);
}

/* ---- the case -------------------------------------------------------------------- */

/* The times are only informative, because they depend on the machine */
static void note_waits(struct starve *s)
{
	s64 worst = 0;
	u32 i;

	for (i = 0; i < s->cpus; i++)
		worst = max(worst, s->watcher[i].worst);
	scnprintf(s->c->reason, sizeof(s->c->reason),
		  "%llu events, %llu in softirq, %u CPUs, a task waited %lld us at most, RCU %lld us",
		  s->got, s->in_softirq, s->cpus, worst, s->worst);
}

static void starve_all(struct starve *s)
{
	u32 cpu, i;

	for_each_online_cpu(cpu)
		if (s->cpus < WATCHERS)
			s->on[s->cpus++] = cpu;
	down_write(&s->feeding);
	for (i = 0; i < s->cpus; i++)
		if (!start(s, &s->watcher[i], watch, i, s->on[i]))
			goto out;
	for (i = 0; i < FEEDERS; i++)
		if (!start(s, &s->feeder[i], feed, i, s->on[i % s->cpus]))
			goto out;
	starve(s);
out:
	/* Everything posted must be delivered, also after a failure */
	settle(s);
	for (i = 0; i < FEEDERS; i++)
		s->feeder[i].limit = 0;
	up_write(&s->feeding);
	stop(s->feeder, FEEDERS);
	stop(s->watcher, WATCHERS);
	s->c->completions = s->got;
	note_waits(s);
}

/* Four connections; the completions of the A ends share the EVD */
static bool connect_four(struct loop_run *run, struct starve *s)
{
	static const struct pair_cfg cfg = { .pairs = FEEDERS };
	DAT_EP_PARAM param = { .request_evd_handle = s->evd };
	u32 i;

	s->pair = pair_make(run, s->c, &cfg);
	for (i = 0; s->pair && i < FEEDERS; i++)
		if (!loop_expect(s->c, "dat_ep_modify",
				 dat_ep_modify(s->pair->a[i].ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					       &param), DAT_SUCCESS))
			return false;
	return s->pair && !pair_connect(s->pair);
}

static int starve_case(struct loop_run *run, struct loop_case *c, bool dtos)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = starve_upcall };
	struct starve *s = kzalloc(sizeof(*s), GFP_KERNEL);

	loop_clauses(c, "E-02 E-08b E-36");
	if (!s)
		return -ENOMEM;
	s->run = run;
	s->c = c;
	s->part = run->args.brief ? BRIEFLY : 1;
	init_rwsem(&s->feeding);
	spin_lock_init(&s->progress_lock);
	upcall.instance_data = s;
	if (loop_expect(c, "dat_evd_kcreate",
			dat_evd_kcreate(run->t.ia, QLEN, DAT_UPCALL_DISABLE, &upcall,
					dtos ? test_evd_flags(DAT_EVD_DTO_FLAG, false) :
					       DAT_EVD_SOFTWARE_FLAG, &s->evd), DAT_SUCCESS)) {
		test_poller_add(s->evd);
		if (!dtos || connect_four(run, s))
			starve_all(s);
		if (s->pair)
			pair_end(s->pair);
		loop_expect(c, "dat_evd_free", dat_evd_free(s->evd), DAT_SUCCESS);
	}
	kfree(s);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}

/**
 * loop_case_starve - four CPUs post events to one EVD
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
