// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime test: an object is freed while other CPUs use it. Additional threads use the
 * *target*. When the free has returned, their calls must report that the handle, or the
 * context, is not valid. Process context, except for the upcall.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "life.h"

#define RACE_QUAL	(LIFE_QUAL + 2)
#define PSP_ATTEMPTS	6
#define UPCALL_US	200		/* of an EVD's that is torn down */

/* A call on the target must return SUCCESS until it is freed, @type afterwards */
static void expect_call(struct life *w, const char *what, bool was_gone, DAT_RETURN ret,
			DAT_RETURN type)
{
	if (ret == DAT_SUCCESS) {
		atomic_inc(&w->target_done);
		if (was_gone)
			test_fail("%s succeeded after the free", what);
	} else if (DAT_GET_TYPE(ret) == type) {
		if (!READ_ONCE(w->target_freeing))
			test_fail("%s returned %#x before the free", what, ret);
		if (was_gone)
			atomic_inc(&w->target_refused);
	} else if (!READ_ONCE(w->closing)) {
		test_fail("%s returned %#x", what, ret);
	}
}

static bool target_used(struct life *w)
{
	return atomic_read(&w->target_done) >= 8;
}

static bool target_refused(struct life *w)
{
	return atomic_read(&w->target_refused) >= 8;
}

static bool target_torn(struct life *w)
{
	return atomic_read(&w->target_torn) >= 8;
}

/* Waits until it is used, frees it, and waits until the threads notice */
static int free_target(struct life *w, const char *what, DAT_RETURN (*fn)(DAT_HANDLE))
{
	if (!life_wait(w, target_used, what))
		return -ETIMEDOUT;
	WRITE_ONCE(w->target_freeing, true);
	if (!test_expect(what, fn(w->target), DAT_SUCCESS))
		return -EIO;
	life_set(&w->target_gone);
	return life_wait(w, target_refused, what) ? 0 : -ETIMEDOUT;
}

static int finish(struct life *w, int ret)
{
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(w);
	life_check(w, false);
	life_end(w);
	return ret;
}

/* ---- an EVD: posted to, dequeued, delivered from, modified --------------- */

/* Software events are in the accounting of an EP that has no binds */
static struct test_posts *soft_posts(struct life *w)
{
	return &w->ep[LIFE_A].queue[LIFE_BIND];
}

static void soft_event(struct life *w, const DAT_EVENT *event)
{
	test_posts_match(soft_posts(w),
			 (unsigned long)event->event_data.software_event_data.pointer,
			 DAT_DTO_SUCCESS);
}

static void soft_upcall(void *instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct life *w = instance;

	if (life_is_set(&w->target_gone))
		test_fail("expected no upcall of an EVD after dat_evd_free, got one");
	if (life_is_set(&w->target_down))
		test_fail("expected no upcall after TEARDOWN, one began");
	soft_event(w, event);
	/* Long enough that TEARDOWN meets a running upcall */
	udelay(UPCALL_US);
	if (life_is_set(&w->target_down))
		test_fail("expected no upcall after TEARDOWN, one ended");
}

/* Disables upcalls, until others have posted and dequeued some events */
static void soft_teardown(struct life *w)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = soft_upcall, .instance_data = w };
	bool gone = life_is_set(&w->target_gone);
	DAT_RETURN ret;

	ret = dat_evd_modify_upcall(w->target, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				    DAT_UPCALL_INVOC_NEW);
	if (ret == DAT_SUCCESS) {
		life_set(&w->target_down);
		atomic_inc(&w->target_torn);
	}
	expect_call(w, "TEARDOWN", gone, ret, DAT_INVALID_HANDLE);
	kdapl_nap(400, 600);
	WRITE_ONCE(w->target_down, false);
	gone = life_is_set(&w->target_gone);
	ret = dat_evd_modify_upcall(w->target, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_UPCALL_INVOC_ANY);
	expect_call(w, "dat_evd_modify_upcall after TEARDOWN", gone, ret, DAT_INVALID_HANDLE);
}

static int soft_poster(void *arg)
{
	struct life *w = arg;
	struct test_posts *q = soft_posts(w);

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		struct test_post *p = test_post_begin(q);
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
		DAT_RETURN ret = DAT_QUEUE_FULL;

		if (p) {
			event.event_data.software_event_data.pointer =
				(void *)(unsigned long)p->cookie;
			ret = dat_evd_post_se(w->target, &event);
			if (ret != DAT_SUCCESS)
				test_post_return(q, p);
			expect_call(w, "dat_evd_post_se", gone, ret, DAT_INVALID_HANDLE);
		}
		if (ret != DAT_SUCCESS)
			kdapl_nap(20, 50);
		cond_resched();
	}
	return 0;
}

static int soft_taker(void *arg)
{
	struct life *w = arg;
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		DAT_RETURN ret = dat_evd_dequeue(w->target, &event);

		if (ret == DAT_SUCCESS)
			soft_event(w, &event);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			expect_call(w, "dat_evd_dequeue", gone, ret, DAT_INVALID_HANDLE);
		else if (gone)
			test_fail("dat_evd_dequeue of a freed EVD: expected INVALID_HANDLE");
		kdapl_nap(20, 50);
	}
	return 0;
}

static int soft_changer(void *arg)
{
	struct life *w = arg;
	unsigned int n = 0;

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		DAT_RETURN ret;

		ret = dat_evd_modify_upcall(w->target, n++ % 4 ? DAT_UPCALL_SINGLE_INSTANCE :
					    DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
					    DAT_UPCALL_INVOC_ANY);
		expect_call(w, "dat_evd_modify_upcall", gone, ret, DAT_INVALID_HANDLE);
		if (!(n % 8))
			soft_teardown(w);
		kdapl_nap(20, 50);
	}
	return 0;
}

/**
 * life_loop_evd - free an EVD that others post to, dequeue from, and deliver
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_evd(unsigned int round)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = soft_upcall };
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	upcall.instance_data = w;
	if (!test_expect("dat_evd_kcreate",
			 dat_evd_kcreate(w->t.ia, 2 * LIFE_DEPTH, DAT_UPCALL_SINGLE_INSTANCE,
					 &upcall, DAT_EVD_SOFTWARE_FLAG, &w->target), DAT_SUCCESS))
		return finish(w, -EIO);
	ret = life_run(w, soft_poster, "soft") ?: life_run(w, soft_poster, "soft") ?:
	      life_run(w, soft_taker, "take") ?: life_run(w, soft_changer, "change");
	if (!ret && !life_wait(w, target_torn, "TEARDOWN"))
		ret = -ETIMEDOUT;
	ret = ret ?: free_target(w, "dat_evd_free", dat_evd_free);
	return finish(w, ret);
}

/* ---- an SRQ: posted to ------------------------------------------------ */

/* Posts without a limit, so that there is always one outstanding */
static int srq_poster(void *arg)
{
	struct life *w = arg;

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		DAT_RETURN ret = life_post_uncounted(w, LIFE_D);

		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			expect_call(w, "dat_srq_post_recv", gone, ret, DAT_INVALID_HANDLE);
		else
			kdapl_nap(5, 10);
		cond_resched();
	}
	return 0;
}

/**
 * life_loop_srq - free an SRQ that others post to, its EP just before
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_srq(unsigned int round)
{
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	w->target = w->srq;
	ret = life_load(w) ?: life_run(w, srq_poster, "srq");
	if (!ret) {
		if (!life_wait(w, target_used, "dat_srq_post_recv"))
			ret = -ETIMEDOUT;
		/* The posts of the load on it are refused from now on */
		WRITE_ONCE(w->ep[LIFE_D].freeing, true);
		if (!test_expect("dat_srq_free", dat_srq_free(w->srq), DAT_INVALID_STATE) ||
		    !test_expect("dat_ep_free", dat_ep_free(w->ep[LIFE_D].handle), DAT_SUCCESS))
			ret = -EIO;
		life_set(&w->ep[LIFE_D].freed);
		ret = ret ?: free_target(w, "dat_srq_free", dat_srq_free);
		life_set(&w->srq_gone);
	}
	return finish(w, ret);
}

/* ---- an LMR: named by posts -------------------------------------------- */

static int lmr_poster(void *arg)
{
	struct life *w = arg;
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		enum life_queue queue = i++ % 2 ? LIFE_REQUEST : LIFE_RECV;
		DAT_RETURN ret = life_post(w, i / 2 % LIFE_EPS, queue, w->target_context);

		/* Suppressed requests of the load may fill the queue */
		if (ret != DAT_QUEUE_FULL && DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			expect_call(w, "a post with the LMR", gone, ret, DAT_PRIVILEGES_VIOLATION);
		else
			kdapl_nap(20, 50);
		cond_resched();
	}
	return 0;
}

/**
 * life_loop_lmr - free an LMR that posts name
 * @round: number of the round
 *
 * This breaks connections, as it must.
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_lmr(unsigned int round)
{
	DAT_RMR_CONTEXT rmr;
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	ret = life_load(w) ?: life_make_lmr(w, w->t.pz, &w->target, &w->target_context, &rmr) ?:
	      life_run(w, lmr_poster, "lmr") ?: free_target(w, "dat_lmr_free", dat_lmr_free);
	return finish(w, ret);
}

/* ---- an RMR: being bound ----------------------------------------------- */

static int binder(void *arg)
{
	struct life *w = arg;
	struct test_posts *q = &w->ep[LIFE_C].queue[LIFE_BIND];
	DAT_LMR_TRIPLET seg = {
		.virtual_address = w->base,
		.segment_length = LIFE_SIZE,
		.lmr_context = w->t.mem.lmr_context,
	};
	DAT_RMR_CONTEXT context;

	while (!kthread_should_stop()) {
		bool gone = life_is_set(&w->target_gone);
		DAT_RMR_COOKIE cookie;
		struct test_post *p;
		DAT_RETURN ret;

		/* One at a time: an RMR that is being bound is busy */
		p = READ_ONCE(q->out) ? NULL : test_post_begin(q);
		if (!p) {
			kdapl_nap(20, 50);
			continue;
		}
		cookie.as_64 = p->cookie;
		ret = dat_rmr_bind(w->target, w->t.mem.lmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				   DAT_VA_TYPE_VA, w->ep[LIFE_C].handle, cookie, 0, &context);
		if (ret != DAT_SUCCESS)
			test_post_return(q, p);
		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			expect_call(w, "dat_rmr_bind", gone, ret, DAT_INVALID_HANDLE);
		cond_resched();
	}
	return 0;
}

static bool lmr_free_again(struct life *w)
{
	return dat_lmr_free(w->t.mem.lmr) == DAT_SUCCESS;
}

/**
 * life_loop_rmr - free an RMR that is being bound
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_rmr(unsigned int round)
{
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	w->target = w->rmr;
	ret = life_load(w) ?: life_run(w, binder, "bind") ?:
	      free_target(w, "dat_rmr_free", dat_rmr_free);
	if (!ret) {
		/* A bind uses the LMR until its request has completed; a post does not use it */
		WRITE_ONCE(w->closing, true);
		if (!life_quiet(w) ||
		    !life_wait(w, lmr_free_again, "the LMR of an RMR that is gone"))
			ret = -ETIMEDOUT;
	}
	return finish(w, ret);
}

/* ---- a PSP: being connected to ----------------------------------------- */

/* One more EP for the attempts */
struct caller {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE conn, cr;
	DAT_IA_ADDRESS_PTR address;
};

static int make_caller(struct life *w, struct caller *c)
{
	DAT_EP_ATTR attr = {
		.max_message_size = LIFE_SIZE,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_IA_ATTR ia;

	if (dat_ia_query(w->t.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &ia, 0, NULL))
		return -EIO;
	c->address = ia.ia_address_ptr;
	return life_evd(w, DAT_EVD_CONNECTION_FLAG, &c->conn) ?:
	       life_evd(w, DAT_EVD_CR_FLAG, &c->cr) ?:
	       test_expect("dat_ep_create",
			   dat_ep_create(w->t.ia, w->t.pz, w->t.dto, w->t.dto, c->conn, &attr,
					 &c->ep), DAT_SUCCESS) ? 0 : -EIO;
}

static bool attempt_failed(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_UNREACHABLE;
}

/* Rejects the requests, and waits for the outcome; -1 if there is none */
static int outcome(struct life *w, struct caller *c)
{
	unsigned long end = test_deadline(LIFE_WAIT_MS);
	DAT_EVENT event;

	while (!time_after(jiffies, end)) {
		if (dat_evd_dequeue(c->cr, &event) == DAT_SUCCESS)
			test_expect("dat_cr_reject",
				    dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle,
						  0, NULL), DAT_SUCCESS);
		if (dat_evd_dequeue(c->conn, &event) == DAT_SUCCESS) {
			if (!attempt_failed(event.event_number))
				test_fail("refused attempt: unexpected event %#x",
					  event.event_number);
			return 0;
		}
		kdapl_nap(100, 200);
	}
	test_fail("%s: expected one, got none", __func__);
	return -ETIMEDOUT;
}

static int attempt(struct life *w, struct caller *c, unsigned int delay)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	int ret;

	if (!test_expect("dat_psp_create",
			 dat_psp_create(w->t.ia, RACE_QUAL, c->cr, DAT_PSP_CONSUMER_FLAG, &psp),
			 DAT_SUCCESS) ||
	    !test_expect("dat_ep_connect",
			 dat_ep_connect(c->ep, c->address, RACE_QUAL,
					DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG), DAT_SUCCESS))
		return -EIO;
	if (delay)
		kdapl_nap(delay, delay + 50);
	if (!test_expect("dat_psp_free", dat_psp_free(psp), DAT_SUCCESS) ||
	    !test_expect("a second dat_psp_free", dat_psp_free(psp), DAT_INVALID_HANDLE))
		return -EIO;
	ret = outcome(w, c);
	if (!ret && !test_expect("dat_ep_reset", dat_ep_reset(c->ep), DAT_SUCCESS))
		ret = -EIO;
	if (!ret && dat_evd_dequeue(c->conn, &event) == DAT_SUCCESS) {
		test_fail("expected one connection event, got a second one, %#x, after the outcome",
			  event.event_number);
		ret = -EIO;
	}
	return ret;
}

/**
 * life_loop_psp - free PSPs while requests arrive
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_psp(unsigned int round)
{
	struct caller c = {};
	struct life *w;
	unsigned int i;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	ret = make_caller(w, &c);
	for (i = 0; i < PSP_ATTEMPTS && !ret; i++)
		ret = attempt(w, &c, (round * 7 + i * 400) % 4000);
	if (!ret && (!test_expect("dat_ep_free", dat_ep_free(c.ep), DAT_SUCCESS) ||
		     !test_expect("dat_evd_free", dat_evd_free(c.cr), DAT_SUCCESS) ||
		     !test_expect("dat_evd_free", dat_evd_free(c.conn), DAT_SUCCESS)))
		ret = -EIO;
	return finish(w, ret);
}
