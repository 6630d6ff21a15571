// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_fuzz.ko: random calls of several threads and of upcalls. Each must return a type that
 * the contract allows for its arguments (see fuzz.h).
 *
 * Loading it starts a thread that starts the others, waits for them and frees
 * what they have left. debugfs kdapl_fuzz/progress tells how far it is, reading
 * kdapl_fuzz/verdict waits for the end and prints TAP. What one thread draws
 * follows from seed and thread; what it finds also from what the others do
 * meanwhile. Public API only.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "fuzz.h"

#define TICK_EVERY	8		/* calls of a thread */
#define PAIR_UP		20		/* ticks, in one of which a pair must be connected */
#define GUARDS_EVERY	5000
#define BUDGET_MAX	64
#define RETURNS		24

unsigned int fuzz_threads = 4;
module_param_named(threads, fuzz_threads, uint, 0444);
MODULE_PARM_DESC(threads, "Threads that make calls (default 4)");

static unsigned long calls = 20000;
module_param(calls, ulong, 0444);
MODULE_PARM_DESC(calls, "Total number of calls of all threads (default 20000)");

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random numbers (default 1)");

struct fuzz *fuzz_actor[ACTORS];
/* Number of calls that upcalls may make: at most one for each call of a thread */
atomic_t fuzz_budget = ATOMIC_INIT(0);

static const struct fuzz_group * const groups[] = {
	&fuzz_ia, &fuzz_evd, &fuzz_ep, &fuzz_conn, &fuzz_post, &fuzz_lmr, &fuzz_rmr, &fuzz_srq,
	&fuzz_sp,
};

static struct task_struct *maker[THREADS_MAX];
static DECLARE_COMPLETION(all_made);
static atomic_t making = ATOMIC_INIT(0);
/* The threads must stop: one of them was not started */
static bool failed;
static bool ending;
static unsigned int all_weight, any_weight;

bool fuzz_ending(void)
{
	return READ_ONCE(ending);
}

/* ---- the calls --------------------------------------------------------------------------- */

const struct fuzz_call *fuzz_call_at(unsigned int i)
{
	unsigned int g;

	for (g = 0; g < ARRAY_SIZE(groups); g++) {
		if (i < groups[g]->calls)
			return &groups[g]->call[i];
		i -= groups[g]->calls;
	}
	return NULL;
}

unsigned int fuzz_calls(void)
{
	unsigned int g, n = 0;

	for (g = 0; g < ARRAY_SIZE(groups); g++)
		n += groups[g]->calls;
	return n;
}

static void weigh(void)
{
	const struct fuzz_call *c;
	unsigned int i;

	for (i = 0; (c = fuzz_call_at(i)); i++) {
		all_weight += c->weight;
		if (c->any_context)
			any_weight += c->weight;
	}
}

/* Chooses one of the calls by weight; returns its number */
static unsigned int gen_call(struct fuzz *f, bool atomic)
{
	u32 at = fuzz_rnd(f, atomic ? any_weight : all_weight);
	const struct fuzz_call *c;
	unsigned int i;

	for (i = 0; (c = fuzz_call_at(i)); i++) {
		if (atomic && !c->any_context)
			continue;
		if (at < c->weight)
			break;
		at -= c->weight;
	}
	f->call = c;
	return i;
}

/* One random call; @atomic: one that may be made in an upcall */
void fuzz_call(struct fuzz *f, bool atomic)
{
	unsigned int i = gen_call(f, atomic);
	DAT_RETURN ret;

	WRITE_ONCE(f->number, f->number + 1);
	f->atomic = atomic;
	f->own = f->pool && fuzz_rnd(f, 2);
	expect_begin(f);
	ret = f->call->make(f);
	expect_end(f, ret);
	WRITE_ONCE(f->made[i], f->made[i] + 1);
	if (ret == DAT_SUCCESS)
		WRITE_ONCE(f->good[i], f->good[i] + 1);
}

/* ---- threads ----------------------------------------------------------------------------- */

static void make_one(struct fuzz *f)
{
	static DEFINE_SPINLOCK(some_lock);

	switch (fuzz_rnd(f, 10)) {
	case 0:
		local_bh_disable();
		fuzz_call(f, true);
		local_bh_enable();
		break;
	case 1:
		spin_lock_bh(&some_lock);
		fuzz_call(f, true);
		spin_unlock_bh(&some_lock);
		break;
	default:
		fuzz_call(f, false);
	}
}

static int make_calls(void *data)
{
	struct fuzz *f = data;
	u64 most = div64_u64(calls, fuzz_threads) + 1;

	while (f->number < most && !READ_ONCE(failed) && !test_stopping()) {
		make_one(f);
		atomic_add_unless(&fuzz_budget, 1, BUDGET_MAX);
		if (f->number % TICK_EVERY == 0)
			pair_tick(f);
		if (!f->index && f->number % TICK_EVERY == 0)
			fixture_reject();
		if (!f->index && f->number % GUARDS_EVERY == 0 && fixture_guards())
			test_fail("call %llu: a guard page has been written to", f->number);
		cond_resched();
	}
	if (atomic_dec_and_test(&making))
		complete(&all_made);
	test_await_stop();
	return 0;
}

static u64 all_calls(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < fuzz_threads; i++)
		sum += READ_ONCE(fuzz_actor[i]->number);
	return sum;
}

static int start_makers(void)
{
	unsigned int i;
	int err = 0;

	atomic_set(&making, 1);
	for (i = 0; i < fuzz_threads && !err; i++) {
		atomic_inc(&making);
		maker[i] = kthread_run(make_calls, fuzz_actor[i], "kdapl_fuzz/%u", i);
		if (IS_ERR(maker[i])) {
			err = PTR_ERR(maker[i]);
			maker[i] = NULL;
			atomic_dec(&making);
		}
	}
	if (err)
		WRITE_ONCE(failed, true);
	if (atomic_dec_and_test(&making))
		complete(&all_made);
	return err;
}

static int open_all(void)
{
	unsigned int i;
	int err = fixture_open();

	if (err)
		return err;
	fixture_put(fuzz_shared);
	for (i = 0; i < fuzz_threads && !err; i++) {
		fixture_put(fuzz_actor[i]->pool);
		err = pair_open(fuzz_actor[i]);
	}
	return err;
}

/* The thread of the module: from the first object to the last */
static void run(void)
{
	unsigned int i;
	int err = open_all();

	if (!err)
		err = start_makers();
	if (err)
		test_fail("the objects could not be made: %d", err);
	/*
	 * This may take many minutes, and an interruptible sleep is not reported as a
	 * hung task
	 */
	while (!err && wait_for_completion_interruptible(&all_made))
		;
	WRITE_ONCE(ending, true);
	for (i = 0; i < fuzz_threads; i++)
		if (maker[i])
			kthread_stop(maker[i]);
	fuzz_end_all();
}

/* ---- debugfs ----------------------------------------------------------------------------- */

static u64 sum_of(unsigned int i, bool good)
{
	u64 sum = 0;
	unsigned int a;

	for (a = 0; a < ACTORS; a++)
		if (fuzz_actor[a])
			sum += good ? READ_ONCE(fuzz_actor[a]->good[i]) :
				      READ_ONCE(fuzz_actor[a]->made[i]);
	return sum;
}

/* Prints for each call how often it was made, and how often it succeeded */
static u64 show_calls(struct seq_file *m, unsigned int *missing)
{
	const struct fuzz_call *c;
	u64 made, good, sum = 0;
	unsigned int i;

	for (i = 0; (c = fuzz_call_at(i)); i++) {
		made = sum_of(i, false);
		good = sum_of(i, true);
		sum += made;
		*missing += c->may & R_OK ? !good : !made;
		seq_printf(m, "# %s: %llu calls, ", c->name, made);
		if (c->may & R_OK)
			seq_printf(m, "%llu succeeded\n", good);
		else
			seq_puts(m, "never succeeds\n");
	}
	return sum;
}

/* Was each pair connected in enough checks? Posts succeed on DISCONNECTED EPs, too */
static bool show_pairs(struct seq_file *m)
{
	u64 connected = 0, ended = 0, ticks = 0, up = 0;
	const struct pair *p;
	bool good = true;
	unsigned int i;

	for (i = 0; i < fuzz_threads; i++) {
		p = &fuzz_actor[i]->pair;
		connected += p->connected;
		ended += p->ended;
		ticks += p->ticks;
		up += p->up;
		good &= p->connected && PAIR_UP * p->up >= p->ticks;
	}
	seq_printf(m, "# pairs connected %llu times, ended %llu times, up in %llu of %llu ticks\n",
		   connected, ended, up, ticks);
	return good;
}

static void show(struct seq_file *m)
{
	unsigned int missing = 0, guards = fixture_guards();
	u64 sum = show_calls(m, &missing);
	bool up = show_pairs(m);

	seq_puts(m, "# clauses: G-07 G-16 G-18 G-23 G-24 G-35\n");
	/* At the end, which is in a truncated log, too */
	test_show_notes(m, &test_verdict, "# ");
	test_ok(m, 1, !test_failures() && sum >= calls,
		"%llu calls, seed %lu: each returns what the contract allows", sum, seed);
	if (test_failures())
		seq_printf(m, "# %u do not\n", test_failures());
	test_ok(m, 2, !missing && up,
		"each of the %u calls that can succeed has succeeded, and pairs were connected",
		fuzz_calls());
	test_ok(m, 3, !guards, "no byte outside registered memory has changed");
}

static u64 percent(void)
{
	return min(div64_u64(all_calls() * 99, calls), 100ULL);
}

static const struct test_job job = { .run = run, .show = show, .percent = percent };

/* ---- module ------------------------------------------------------------------------------ */

static void forget(void)
{
	unsigned int a;

	for (a = 0; a < ACTORS; a++) {
		if (fuzz_actor[a])
			kvfree(fuzz_actor[a]->pool);
		kvfree(fuzz_actor[a]);
	}
	kvfree(fuzz_shared);
	fixture_memory_free();
}

static int make_actors(void)
{
	struct fuzz *f;
	unsigned int a;

	for (a = 0; a < ACTORS; a++) {
		if (a >= fuzz_threads && a < THREADS_MAX)
			continue;
		f = kvzalloc(sizeof(*f), GFP_KERNEL);
		if (!f)
			return -ENOMEM;
		f->index = a;
		prandom_seed_state(&f->rnd, seed * ACTORS + a);
		fuzz_actor[a] = f;
		if (a >= THREADS_MAX)
			continue;
		f->pool = pool_new();
		if (!f->pool)
			return -ENOMEM;
	}
	fuzz_shared = pool_new();
	return fuzz_shared ? fixture_memory() : -ENOMEM;
}

static int __init fuzz_init(void)
{
	int err;

	calls = max(calls, 1UL);
	fuzz_threads = clamp(fuzz_threads, 1U, (unsigned int)THREADS_MAX);
	weigh();
	err = fuzz_calls() > CALLS_MAX ? -E2BIG : make_actors();
	if (!err)
		err = test_job_start(&job);
	if (err)
		forget();
	return err;
}

static void __exit fuzz_exit(void)
{
	test_job_stop();
	forget();
}

module_init(fuzz_init);
module_exit(fuzz_exit);
MODULE_DESCRIPTION("kDAPL fuzzer");
MODULE_LICENSE("GPL");
