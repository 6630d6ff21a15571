// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime test: calls in an upcall that would wait for it, and the end of upcalls. The
 * hooks run in the upcall with bottom halves disabled; everything else runs in process
 * context.
 */
#include <linux/slab.h>
#include "life.h"

/* Set by the hooks, which must not wait */
static atomic_t tried;
static struct work_struct free_work;
static struct life *free_fixture;
static atomic_t freed;

static void refuse(const char *what, DAT_RETURN ret)
{
	test_expect(what, ret, DAT_INVALID_STATE);
}

/*
 * Every call that would wait for this upcall; none may change anything. In process context the
 * calls of an EP do not wait for it
 */
static void try_all(struct life *w)
{
	refuse("dat_ia_close GRACEFUL from the upcall",
	       dat_ia_close(w->t.ia, DAT_CLOSE_GRACEFUL_FLAG));
	refuse("dat_ia_close ABRUPT from the upcall", dat_ia_close(w->t.ia, DAT_CLOSE_ABRUPT_FLAG));
	refuse("dat_evd_free from the upcall", dat_evd_free(w->up));
	refuse("TEARDOWN from the upcall",
	       dat_evd_modify_upcall(w->up, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				     DAT_UPCALL_INVOC_NEW));
	if (test_upcalls_sleep())
		return;
	refuse("dat_ep_reset from the upcall", dat_ep_reset(w->ep[LIFE_A].handle));
	refuse("dat_ep_free from the upcall", dat_ep_free(w->ep[LIFE_A].handle));
	refuse("dat_ep_free of the peer from the upcall", dat_ep_free(w->ep[LIFE_B].handle));
}

static void try_hook(struct life *w, const DAT_EVENT *event)
{
	if (atomic_read(&tried) < 8) {
		try_all(w);
		atomic_inc(&tried);
	}
}

static bool all_tried(struct life *w)
{
	return atomic_read(&tried) >= 8;
}

/* Process context, scheduled by the upcall, which continues meanwhile */
static void free_from_work(struct work_struct *work)
{
	struct life *w = free_fixture;

	if (test_expect("dat_ep_free started by the upcall",
			dat_ep_free(w->ep[LIFE_A].handle), DAT_SUCCESS))
		life_set(&w->ep[LIFE_A].freed);
	atomic_set(&freed, 1);
}

static void free_hook(struct life *w, const DAT_EVENT *event)
{
	if (atomic_cmpxchg(&tried, 8, 9) == 8) {
		WRITE_ONCE(w->ep[LIFE_A].freeing, true);
		schedule_work(&free_work);
	}
}

static bool is_freed(struct life *w)
{
	return atomic_read(&freed);
}

/* Its peer was freed: the reset waits for an upcall with its flushes */
static void reset_hook(struct life *w, const DAT_EVENT *event)
{
	DAT_EP_STATE state;

	if (atomic_read(&tried) != 9 || w->ep[LIFE_B].freed ||
	    dat_ep_get_status(w->ep[LIFE_B].handle, &state, NULL, NULL) != DAT_SUCCESS ||
	    state != DAT_EP_STATE_DISCONNECTED)
		return;
	if (!test_upcalls_sleep())
		refuse("dat_ep_reset of a DISCONNECTED EP from the upcall",
		       dat_ep_reset(w->ep[LIFE_B].handle));
	atomic_set(&tried, 10);
}

static bool reset_tried(struct life *w)
{
	return atomic_read(&tried) == 10;
}

static int run_hooks(struct life *w)
{
	int ret = life_load(w);

	if (ret)
		return ret;
	life_set_hook(w, try_hook);
	if (!life_wait(w, all_tried, "upcalls"))
		return -ETIMEDOUT;
	/* The fixture must still work */
	ret = life_moves(w);
	if (ret)
		return ret;
	life_set_hook(w, free_hook);
	if (!life_wait(w, is_freed, "dat_ep_free started by the upcall"))
		return -ETIMEDOUT;
	life_set_hook(w, reset_hook);
	if (!life_wait(w, reset_tried, "flushes in the upcall"))
		return -ETIMEDOUT;
	return life_moves(w);
}

/**
 * life_loop_upcall - free from the upcall
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_upcall(unsigned int round)
{
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	atomic_set(&tried, 0);
	atomic_set(&freed, 0);
	free_fixture = w;
	INIT_WORK(&free_work, free_from_work);
	ret = run_hooks(w);
	flush_work(&free_work);
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(w);
	life_check(w, false);
	life_end(w);
	return ret;
}

/* ---- TEARDOWN ---------------------------------------------------------- */

/* After TEARDOWN the instance data is freed */
static int teardown(struct life *w)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = life_upcall };
	struct life_tag *tag;
	int upcalls;

	if (!test_expect("TEARDOWN",
			 dat_evd_modify_upcall(w->up, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
					       DAT_UPCALL_INVOC_NEW), DAT_SUCCESS))
		return -EIO;
	upcalls = atomic_read(&w->upcalls);
	if (atomic_read(&w->in_upcall))
		test_fail("expected no upcall after TEARDOWN, one runs");
	tag = w->tag;
	w->tag = NULL;
	WRITE_ONCE(tag->gone, true);
	kfree(tag);
	/* Long enough for a running upcall to use it */
	kdapl_nap(1000, 2000);
	if (atomic_read(&w->upcalls) != upcalls)
		test_fail("expected no upcall after TEARDOWN, got some");
	tag = kzalloc(sizeof(*tag), GFP_KERNEL);
	if (!tag)
		return -ENOMEM;
	tag->w = w;
	w->tag = tag;
	upcall.instance_data = tag;
	return test_expect("dat_evd_modify_upcall",
			   dat_evd_modify_upcall(w->up, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
						 DAT_UPCALL_INVOC_ANY), DAT_SUCCESS) ?
	       life_moves(w) : -EIO;
}

/**
 * life_loop_teardown - disable the upcalls of an EVD under load, and enable them again
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_teardown(unsigned int round)
{
	unsigned int i;
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	ret = life_load(w);
	for (i = 0; i < 10 && !ret; i++)
		ret = teardown(w);
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(w);
	life_check(w, false);
	life_end(w);
	return ret;
}
