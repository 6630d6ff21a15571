// SPDX-License-Identifier: GPL-2.0
/*
 * The fixture of the lifetime test: creation, connection, destruction and checks. All in
 * process context, by one thread; others (load.c) use its handles meanwhile.
 */
#include <linux/slab.h>
#include "life.h"

#define REGION		(16 * PAGE_SIZE)
#define GUARD		0xa7

int life_evd(struct life *w, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return test_expect("dat_evd_kcreate",
			   test_evd(&w->t, 32, test_evd_flags(flags, false), evd),
			   DAT_SUCCESS) ? 0 : -EIO;
}

int life_upcall_evd(struct life *w, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = w->tag, .upcall_func = life_upcall };

	if (!test_expect("dat_evd_kcreate",
			 dat_evd_kcreate(w->t.ia, 32, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					 test_evd_flags(flags, false), evd), DAT_SUCCESS))
		return -EIO;
	test_poller_add(*evd);
	return 0;
}

int life_make_lmr(struct life *w, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
		  DAT_RMR_CONTEXT *rmr_context)
{
	struct kdat_region region;
	DAT_RETURN ret = kdat_register(w->t.ia, pz, (void *)(unsigned long)w->base, REGION,
				       DAT_MEM_PRIV_ALL_FLAG, &region);

	*lmr = region.lmr;
	*context = region.lmr_context;
	*rmr_context = region.rmr_context;
	return test_expect("dat_lmr_kcreate", ret, DAT_SUCCESS) ? 0 : -EIO;
}

int life_make_ep(struct life *w, unsigned int i)
{
	DAT_EVD_HANDLE evd = i <= LIFE_B ? w->up : w->t.dto;
	DAT_EP_ATTR attr = test_ep_attr(LIFE_SIZE, LIFE_DEPTH, 1);
	struct life_ep *ep = &w->ep[i];
	DAT_RETURN ret;

	attr.max_request_dtos = 3 * LIFE_DEPTH;
	attr.max_rdma_write_iov = 1;
	if (i == LIFE_D)
		ret = dat_ep_create_with_srq(w->t.ia, w->t.pz, evd, evd, w->t.conn, w->srq, &attr,
					     &ep->handle);
	else
		ret = dat_ep_create(w->t.ia, w->t.pz, evd, evd, w->t.conn, &attr, &ep->handle);
	ep->recv = i == LIFE_D ? &w->srq_recv : &ep->queue[LIFE_RECV];
	return test_expect("dat_ep_create", ret, DAT_SUCCESS) ? 0 : -EIO;
}

static int make_objects(struct life *w)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 2 * LIFE_DEPTH, .max_recv_iov = 1 };
	DAT_EVD_FLAGS dto = test_evd_flags(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, false);
	unsigned int i;
	int ret = 0;

	if (!test_expect("creating the fixture",
			 test_fixture_make(&w->t, 32, dto, (void *)(unsigned long)w->base, REGION),
			 DAT_SUCCESS) ||
	    life_upcall_evd(w, dto, &w->up) ||
	    !test_expect("dat_rmr_create", dat_rmr_create(w->t.pz, &w->rmr), DAT_SUCCESS) ||
	    !test_expect("dat_srq_create", dat_srq_create(w->t.ia, w->t.pz, &srq, &w->srq),
			 DAT_SUCCESS) ||
	    !test_expect("dat_psp_create", test_listen(&w->t, LIFE_QUAL), DAT_SUCCESS))
		return -EIO;
	for (i = 0; i < LIFE_EPS && !ret; i++)
		ret = life_make_ep(w, i);
	return ret;
}

/* Dequeues the events of the connection and the asynchronous EVD */
void life_take_conn(struct life *w)
{
	struct life_ep *ep;
	DAT_EVENT event;

	while (dat_evd_dequeue(w->t.conn, &event) == DAT_SUCCESS) {
		for (ep = w->ep; ep < w->ep + LIFE_EPS; ep++)
			if (ep->handle == event.event_data.connect_event_data.ep_handle)
				break;
		if (ep == w->ep + LIFE_EPS || ep->freed)
			test_fail("connection event %#x of an EP that was freed",
				  event.event_number);
		else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			ep->established++;
		else if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			 event.event_number == DAT_CONNECTION_EVENT_BROKEN)
			ep->ends++;
		else
			ep->other++;
	}
	while (dat_evd_dequeue(w->t.async, &event) == DAT_SUCCESS)
		if (event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
			w->catastrophic++;
}

static bool taken(struct life *w, bool (*cond)(struct life *w))
{
	life_take_conn(w);
	return cond(w);
}

/**
 * life_wait - wait for a condition, and dequeue connection events meanwhile
 * @w:    the fixture
 * @cond: true when it is met
 * @what: for the message
 *
 * Context: process.
 * Return: false after LIFE_WAIT_MS, with a message.
 */
bool life_wait(struct life *w, bool (*cond)(struct life *w), const char *what)
{
	if (test_wait(taken(w, cond), LIFE_WAIT_MS))
		return true;
	test_fail("timed out waiting for: %s", what);
	return false;
}

static bool first_pair_up(struct life *w)
{
	return w->ep[LIFE_A].established && w->ep[LIFE_B].established;
}

static bool both_pairs_up(struct life *w)
{
	return w->ep[LIFE_C].established && w->ep[LIFE_D].established;
}

static int make_accounting(struct life *w)
{
	static const char * const name[] = { "receives", "requests", "binds" };
	unsigned int i, q;
	int ret;

	ret = test_posts_make(&w->srq_recv, life_cookies(LIFE_D, LIFE_RECV), LIFE_DEPTH,
			      sizeof(struct test_post), "SRQ");
	for (i = 0; i < LIFE_EPS; i++)
		for (q = 0; q < ARRAY_SIZE(name) && !ret; q++)
			ret = test_posts_make(&w->ep[i].queue[q], life_cookies(i, q), LIFE_DEPTH,
					      sizeof(struct test_post), "EP %u %s", i, name[q]);
	return ret;
}

static int connect_pair(struct life *w, unsigned int i, bool (*up)(struct life *w))
{
	if (!test_expect("connecting a pair", test_pair(&w->t, w->ep[i].handle,
							w->ep[i + 1].handle, LIFE_QUAL,
							LIFE_WAIT_MS), DAT_SUCCESS))
		return -EIO;
	return life_wait(w, up, "ESTABLISHED") ? 0 : -ETIMEDOUT;
}

static int open_ia(struct life *w)
{
	return test_expect("dat_ia_open", test_fixture_open(&w->t, test_ia_name), DAT_SUCCESS) ?
	       0 : -ENODEV;
}

/**
 * life_open - create a fixture, connected, with nothing posted
 * @out: the fixture
 *
 * Context: process.
 * Return: 0; an error, with a message and without any objects.
 */
int life_open(struct life **out)
{
	struct life *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!w)
		return ret;
	w->memory = kmalloc(REGION + 2 * PAGE_SIZE, GFP_KERNEL);
	w->tag = kzalloc(sizeof(*w->tag), GFP_KERNEL);
	if (!w->memory || !w->tag)
		goto err;
	memset(w->memory, GUARD, REGION + 2 * PAGE_SIZE);
	w->base = (unsigned long)w->memory + PAGE_SIZE;
	w->tag->w = w;
	ret = make_accounting(w) ?: open_ia(w);
	if (ret)
		goto err;
	ret = make_objects(w) ?:
	      connect_pair(w, LIFE_A, first_pair_up) ?:
	      connect_pair(w, LIFE_C, both_pairs_up);
	if (ret) {
		life_close(w, DAT_CLOSE_ABRUPT_FLAG);
		goto err;
	}
	*out = w;
	return 0;
err:
	life_end(w);
	return ret;
}

int life_free(const char *what, DAT_RETURN (*fn)(DAT_HANDLE handle), DAT_HANDLE handle)
{
	if (handle == DAT_HANDLE_NULL)
		return 0;
	/* It must not move, because other threads use it */
	return test_expect(what, fn(handle), DAT_SUCCESS) ? 0 : -EIO;
}

/**
 * life_free_all - free everything except the IA, in the right order
 * @w: the fixture
 *
 * Context: process.
 * Return: 0, -EIO with a message.
 */
int life_free_all(struct life *w)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < LIFE_EPS && !ret; i++) {
		if (w->ep[i].freed)
			continue;
		WRITE_ONCE(w->ep[i].freeing, true);
		ret = test_expect("dat_ep_free", dat_ep_free(w->ep[i].handle), DAT_SUCCESS) ?
		      0 : -EIO;
		/* An upcall that starts now must not have its events */
		life_set(&w->ep[i].freed);
	}
	/* Threads that dequeue from them now get INVALID_HANDLE */
	WRITE_ONCE(w->closing, true);
	ret = ret ?: life_free("dat_rmr_free", dat_rmr_free, w->rmr) ?:
	      life_free("dat_srq_free", dat_srq_free, w->srq);
	if (ret)
		return ret;
	life_set(&w->srq_gone);
	ret = life_free("dat_evd_free", dat_evd_free, w->up);
	return test_expect("freeing the fixture", test_fixture_free(&w->t), DAT_SUCCESS) ?
	       ret : -EIO;
}

/**
 * life_close - close the IA in any state
 * @w:     the fixture
 * @flags: how
 *
 * Context: process.
 */
void life_close(struct life *w, DAT_CLOSE_FLAGS flags)
{
	unsigned int i;

	WRITE_ONCE(w->closing, true);
	for (i = 0; i < LIFE_EPS; i++)
		WRITE_ONCE(w->ep[i].freeing, true);
	test_expect("dat_ia_close", dat_ia_close(w->t.ia, flags), DAT_SUCCESS);
	/* No upcall runs, and none will start */
	life_set(&w->closed);
	for (i = 0; i < LIFE_EPS; i++)
		life_set(&w->ep[i].freed);
	life_set(&w->srq_gone);
	if (atomic_read(&w->in_upcall))
		test_fail("expected no upcall after dat_ia_close, one runs");
}

/**
 * life_check - check the accounting and the guards
 * @w:        the fixture, nobody posts
 * @all_back: every post must have had its event; else some were returned by a
 *            free or by the close
 *
 * Context: process.
 */
void life_check(struct life *w, bool all_back)
{
	unsigned int i, q;

	for (i = 0; i < LIFE_EPS; i++) {
		/* dat_srq_free() returns the unused buffers of the SRQ */
		for (q = 0; q < LIFE_SUPPRESSED && all_back; q++)
			test_posts_missing(&w->ep[i].queue[q]);
		if (atomic_read(&w->ep[i].failed) > atomic_read(&w->ep[i].suppressed))
			test_fail("suppressed requests: expected one completion each, got more");
	}
	if (memchr_inv(w->memory, GUARD, PAGE_SIZE) ||
	    memchr_inv(w->memory + PAGE_SIZE + REGION, GUARD, PAGE_SIZE))
		test_fail("expected unchanged bytes around the LMR, some were written");
}

/**
 * life_end - free the memory of a closed fixture
 * @w: the fixture; no thread runs
 *
 * Context: process. An upcall that is not over now will be seen by KASAN.
 */
void life_end(struct life *w)
{
	unsigned int i, q;

	for (i = 0; i < LIFE_EPS; i++)
		for (q = 0; q < LIFE_SUPPRESSED; q++)
			test_posts_free(&w->ep[i].queue[q]);
	test_posts_free(&w->srq_recv);
	kfree(w->tag);
	kfree(w->memory);
	kfree(w);
}
