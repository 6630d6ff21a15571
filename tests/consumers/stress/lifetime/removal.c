// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime test: the fixture whose device the selftest removes, under full load and with
 * the Consumer in an upcall. Process context, except for the hook.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include "life.h"

/* Time for the selftest to begin the removal */
#define HOLD_MS		2000

static struct life *held;
static atomic_t holding;
static atomic_t caught;

static bool removal_has_begun(struct life *w)
{
	DAT_EP_STATE state;
	unsigned int i;

	for (i = 0; i < LIFE_EPS; i++)
		if (dat_ep_get_status(w->ep[i].handle, &state, NULL, NULL) == DAT_SUCCESS &&
		    state == DAT_EP_STATE_DISCONNECTED)
			return true;
	return false;
}

/* Stays inside one upcall until the removal has begun */
static void hold_hook(struct life *w, const DAT_EVENT *event)
{
	ktime_t end = ktime_add_ms(ktime_get(), HOLD_MS * test_stretch());

	if (atomic_cmpxchg(&holding, 0, 1))
		return;
	while (ktime_before(ktime_get(), end)) {
		if (removal_has_begun(w)) {
			/* Time for the removal to reach its wait for the upcall */
			mdelay(20);
			atomic_inc(&caught);
			return;
		}
		cpu_relax();
	}
}

static bool is_holding(struct life *w)
{
	return atomic_read(&holding);
}

/**
 * life_removal_start - create the fixture and start the load
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_removal_start(void)
{
	int ret;

	if (held)
		return -EBUSY;
	atomic_set(&holding, 0);
	atomic_set(&caught, 0);
	ret = life_open(&held) ?: life_load(held);
	if (ret)
		life_removal_exit();
	return ret;
}

/**
 * life_removal_hold - block the next upcall, and return when it is blocked
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_removal_hold(void)
{
	if (!held)
		return -ENOENT;
	life_set_hook(held, hold_hook);
	return life_wait(held, is_holding, "an upcall") ? 0 : -ETIMEDOUT;
}

static bool all_back(struct life *w)
{
	unsigned int i, q;

	for (i = 0; i < LIFE_EPS; i++) {
		if (!w->ep[i].ends)
			return false;
		for (q = 0; q < LIFE_SUPPRESSED; q++)
			if (READ_ONCE(w->ep[i].queue[q].out))
				return false;
	}
	return w->catastrophic;
}

/**
 * life_removal_settle - check that the removal has raised every event once, and close
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_removal_settle(void)
{
	struct life *w = held;
	unsigned int i;
	DAT_PZ_HANDLE pz;
	int ret = 0;

	if (!w)
		return -ENOENT;
	/* The load continues: posts on an orphaned IA are flushed */
	ret = life_moves(w);
	test_expect("dat_pz_create on an orphaned IA", dat_pz_create(w->t.ia, &pz),
		    DAT_INSUFFICIENT_RESOURCES);
	if (!life_quiet(w) || !life_wait(w, all_back, "everything owed"))
		ret = -ETIMEDOUT;
	for (i = 0; i < LIFE_EPS; i++)
		if (w->ep[i].ends != 1 || w->ep[i].other)
			test_fail("EP %u: %u ends, %u other connection events", i, w->ep[i].ends,
				  w->ep[i].other);
	if (w->catastrophic != 1)
		test_fail("IA_CATASTROPHIC came %u times, expected once", w->catastrophic);
	/* Orphaned objects can be freed */
	ret = ret ?: life_free_all(w);
	life_close(w, ret ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
	life_halt(w);
	life_check(w, !ret);
	if (atomic_read(&caught))
		test_info("the removal began inside an upcall");
	life_end(w);
	held = NULL;
	return ret;
}

/**
 * life_removal_exit - the module is unloaded: close an open IA under load
 *
 * Context: process.
 */
void life_removal_exit(void)
{
	if (!held)
		return;
	life_close(held, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(held);
	life_check(held, false);
	life_end(held);
	held = NULL;
}
