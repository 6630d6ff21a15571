// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_ledger.ko: posts on many EPs while connections end and devices are removed and
 * added, and checks at the end that every post is accounted for exactly once (see
 * ledger.h).
 *
 * Loading it starts a thread that makes all posts. Meanwhile the selftest deletes and
 * adds the device, at times that it takes from kdapl_ledger/progress in debugfs.
 * Reading kdapl_ledger/verdict waits for the end and prints TAP.
 * With role=server or role=client it is one side of two (side.c).
 * Public API only.
 */
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "ledger.h"

#define CHANGE_ONE_IN	400		/* posts */
#define DRAIN_ONE_IN	8
#define GUARDS_EVERY	20000
#define DEVICE_MS	60000

static unsigned long posts = 20000;
module_param(posts, ulong, 0444);
MODULE_PARM_DESC(posts, "Successful posts to make (default 20000)");

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random numbers (default 1)");

static char *role = "both";
module_param(role, charp, 0444);
MODULE_PARM_DESC(role, "both ends (default), or server or client of two machines");

static char *peer = "";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "IPv4 address of the server, for the client");

unsigned short ledger_round;
module_param_named(round, ledger_round, ushort, 0444);
MODULE_PARM_DESC(round, "Number of the round, the same on both sides (default 0)");

static unsigned int removals;
module_param(removals, uint, 0444);
MODULE_PARM_DESC(removals, "On one machine: times that the device must have gone (default 0)");

bool ledger_survive;
module_param_named(survive, ledger_survive, bool, 0444);
MODULE_PARM_DESC(survive, "With a role: continue until all connections have ended (default N)");

bool ledger_abrupt;
module_param_named(abrupt, ledger_abrupt, bool, 0444);
MODULE_PARM_DESC(abrupt, "Never wait for requests: the device may forget some (default N)");

enum role ledger_role;
struct sockaddr_in ledger_peer = { .sin_family = AF_INET };

static const char * const role_names[] = { "both", "server", "client" };
static const char * const kind_names[KINDS] = { "send", "write", "read", "recv", "srq" };

u32 ledger_rnd(u32 below)
{
	return prandom_u32_state(&fx.rnd) % below;
}

/* The next step depends on the seed and its number, not on the results of others */
void ledger_step(void)
{
	static u64 step;

	prandom_seed_state(&fx.rnd, (hash_64(seed, 64) + ++step) * GOLDEN_RATIO_64);
}

static u64 all_posts(void)
{
	u64 sum = 0;
	int k;

	for (k = 0; k < KINDS; k++)
		sum += counts.posted[k];
	return sum;
}

/* Has everything happened that the test requires? */
bool ledger_enough(void)
{
	if (all_posts() < posts)
		return false;
	if (ledger_role != R_BOTH)
		return side_all_connected();
	return counts.disconnects && counts.resets && counts.frees && counts.srq_checks &&
	       counts.removals >= removals;
}

static bool finished(void)
{
	return ledger_enough() || test_failures() || test_stopping();
}

/* Waits until a removed device is added again, with a timeout */
static int open_fixture(void)
{
	unsigned long end = test_deadline(DEVICE_MS);
	unsigned int pair;
	int err;

	while ((err = fixture_open()) == -EAGAIN) {
		if (time_after(jiffies, end) || test_stopping())
			return -ENODEV;
		msleep(20);
	}
	if (err)
		return err;
	for (pair = 0; pair < PAIRS && !fx.gone; pair++) {
		err = fixture_connect(pair);
		if (err && !fx.gone)
			return err;
	}
	return 0;
}

/* While the device exists */
static void play(void)
{
	u64 guards = all_posts() + GUARDS_EVERY;

	while (!finished() && !fx.gone) {
		ledger_step();
		if (!traffic_post() || !ledger_rnd(DRAIN_ONE_IN))
			fixture_drain();
		if (!fx.gone && !ledger_rnd(CHANGE_ONE_IN))
			traffic_change();
		if (all_posts() >= guards) {
			acct_check_guards();
			guards += GUARDS_EVERY;
		}
		cond_resched();
	}
}

static void both_run(void)
{
	int err;

	while (!finished()) {
		err = open_fixture();
		if (err)
			test_fail("the EPs were not connected: %d", err);
		else
			play();
		if (!fx.t.ia)
			break;
		traffic_end_all();
		fixture_close();
		acct_check_guards();
	}
}

static void run(void)
{
	if (ledger_role == R_BOTH)
		both_run();
	else
		side_run();
}

/* ---- debugfs ------------------------------------------------------------------------------- */

static void show_kind(struct seq_file *m, unsigned int k)
{
	seq_printf(m, "# %-5s %8llu posted = %llu completed + %llu failed", kind_names[k],
		   counts.posted[k], counts.completed[k], counts.flushed[k]);
	seq_printf(m, " + %llu suppressed + %llu returned", counts.suppressed[k],
		   counts.returned[k]);
	if (k == K_SRQ)
		seq_printf(m, " + %llu swallowed by the device (SRQ asked %llu times)",
			   counts.swallowed, counts.srq_checks);
	seq_putc(m, '\n');
}

/* Most posts of each type have succeeded; between two machines, some */
static bool most_succeeded(void)
{
	unsigned int k;

	for (k = 0; k < KINDS; k++)
		if (ledger_role == R_BOTH ?
		    2 * (counts.completed[k] + counts.suppressed[k]) < counts.posted[k] :
		    !counts.completed[k] && (k != K_SRQ || ledger_role != R_CLIENT))
			return false;
	return true;
}

/* Not everything was flushed, and every required event has happened */
static void show_deeds(struct seq_file *m)
{
	bool good = most_succeeded();

	if (ledger_role == R_BOTH) {
		good &= ledger_enough() && counts.writes_seen;
		seq_printf(m, "# %llu connections broken, %llu times the last write seen in memory\n",
			   counts.broken, counts.writes_seen);
		test_ok(m, 2, good,
			"most posts of every kind have succeeded, the device was removed %llu times",
			counts.removals);
		return;
	}
	good &= side_all_connected();
	seq_printf(m, "# %llu connections, %llu broken, %llu left; %llu attempts without one\n",
		   counts.connected, counts.broken, counts.left, counts.failed);
	test_ok(m, 2, good, "posts of every kind have succeeded, every EP was connected");
}

static void show(struct seq_file *m)
{
	unsigned int i;

	test_show_notes(m, &test_verdict, "# ");
	for (i = 0; i < KINDS; i++)
		show_kind(m, i);
	seq_printf(m, "# %llu disconnects, %llu resets, %llu frees, %llu devices gone\n",
		   counts.disconnects, counts.resets, counts.frees, counts.removals);
	test_ok(m, 1, !test_failures() && ledger_enough() && acct_balanced(),
		"each of %llu posts is accounted for exactly once, seed %lu", all_posts(), seed);
	show_deeds(m);
}

/* 100 only if there is enough of everything */
static u64 percent(void)
{
	return ledger_enough() ? 100 : min(div64_u64(all_posts() * 100, posts), 99ULL);
}

static const struct test_job job = { .run = run, .show = show, .percent = percent };

static int __init ledger_init(void)
{
	int err;

	posts = max(posts, 1UL);
	err = match_string(role_names, ARRAY_SIZE(role_names), role);
	if (err < 0)
		return err;
	ledger_role = err;
	if (ledger_role == R_CLIENT &&
	    !in4_pton(peer, -1, (u8 *)&ledger_peer.sin_addr, -1, NULL))
		return -EINVAL;
	fx.arena = vmalloc(acct_size());
	if (!fx.arena)
		return -ENOMEM;
	prandom_seed_state(&fx.rnd, seed);
	err = acct_init() ?: test_job_start(&job);
	if (err) {
		acct_exit();
		vfree(fx.arena);
	}
	return err;
}

static void __exit ledger_exit(void)
{
	test_job_stop();
	acct_exit();
	vfree(fx.arena);
}

module_init(ledger_init);
module_exit(ledger_exit);
MODULE_DESCRIPTION("kDAPL accounting test");
MODULE_LICENSE("GPL");
