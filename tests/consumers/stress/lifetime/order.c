// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime test: frees in the wrong order. For each pair of parent and child, without
 * other objects that use the parent: freeing the parent returns INVALID_STATE, and it stays
 * usable. Then the child is freed, then the parent.
 * Process context.
 */
#include <linux/slab.h>
#include "life.h"

#define PAIR_QUAL	(LIFE_QUAL + 1)

struct pair {
	DAT_HANDLE parent, child;
	DAT_LMR_CONTEXT context;
};

struct pair_kind {
	const char *name;
	int (*make)(struct life *w, struct pair *p);
	DAT_RETURN (*free_parent)(DAT_HANDLE parent);
	DAT_RETURN (*free_child)(DAT_HANDLE child);
	/* Does the parent still work? */
	int (*use)(struct life *w, struct pair *p);
};

/* The parents of an EP of a pair: at most one of them is not the fixture's */
static int make_ep(struct life *w, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
		   DAT_EVD_HANDLE conn, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.max_message_size = LIFE_SIZE,
		.max_rdma_size = LIFE_SIZE,
		.max_recv_dtos = LIFE_DEPTH,
		.max_request_dtos = LIFE_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};

	return test_expect("dat_ep_create",
			   dat_ep_create(w->t.ia, pz, recv, request, conn, &attr, ep),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static int make_recv_evd(struct life *w, struct pair *p)
{
	return life_evd(w, DAT_EVD_DTO_FLAG, &p->parent) ?:
	       make_ep(w, w->t.pz, p->parent, w->t.dto, w->t.conn, &p->child);
}

static int make_request_evd(struct life *w, struct pair *p)
{
	return life_upcall_evd(w, DAT_EVD_DTO_FLAG, &p->parent) ?:
	       make_ep(w, w->t.pz, w->t.dto, p->parent, w->t.conn, &p->child);
}

static int make_connect_evd(struct life *w, struct pair *p)
{
	return life_evd(w, DAT_EVD_CONNECTION_FLAG, &p->parent) ?:
	       make_ep(w, w->t.pz, w->t.dto, w->t.dto, p->parent, &p->child);
}

static int make_psp_evd(struct life *w, struct pair *p)
{
	return life_evd(w, DAT_EVD_CR_FLAG, &p->parent) ?:
	       test_expect("dat_psp_create",
			   dat_psp_create(w->t.ia, PAIR_QUAL, p->parent, DAT_PSP_CONSUMER_FLAG,
					  &p->child), DAT_SUCCESS) ? 0 : -EIO;
}

static int make_pz(struct life *w, struct pair *p)
{
	return test_expect("dat_pz_create", dat_pz_create(w->t.ia, &p->parent),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static int make_pz_lmr(struct life *w, struct pair *p)
{
	DAT_RMR_CONTEXT rmr;

	return make_pz(w, p) ?: life_make_lmr(w, p->parent, &p->child, &p->context, &rmr);
}

static int make_pz_ep(struct life *w, struct pair *p)
{
	return make_pz(w, p) ?: make_ep(w, p->parent, w->t.dto, w->t.dto, w->t.conn, &p->child);
}

static int make_srq(struct life *w, DAT_PZ_HANDLE pz, DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = LIFE_DEPTH, .max_recv_iov = 1 };

	return test_expect("dat_srq_create", dat_srq_create(w->t.ia, pz, &attr, srq),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static int make_pz_srq(struct life *w, struct pair *p)
{
	return make_pz(w, p) ?: make_srq(w, p->parent, &p->child);
}

static int make_pz_rmr(struct life *w, struct pair *p)
{
	return make_pz(w, p) ?: test_expect("dat_rmr_create", dat_rmr_create(p->parent, &p->child),
					    DAT_SUCCESS) ? 0 : -EIO;
}

static int make_srq_ep(struct life *w, struct pair *p)
{
	DAT_EP_ATTR attr = {
		.max_message_size = LIFE_SIZE,
		.max_request_dtos = LIFE_DEPTH,
		.max_request_iov = 1,
	};
	int ret = make_srq(w, w->t.pz, &p->parent);

	if (ret)
		return ret;
	return test_expect("dat_ep_create_with_srq",
			   dat_ep_create_with_srq(w->t.ia, w->t.pz, w->t.dto, w->t.dto, w->t.conn,
						  p->parent, &attr, &p->child),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static bool bind_is_over(struct life *w)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(w->t.dto, &event) == DAT_SUCCESS) {
		life_event(w, &event);
		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
			return true;
	}
	return false;
}

static int make_lmr_rmr(struct life *w, struct pair *p)
{
	struct test_post *post = test_post_begin(&w->ep[LIFE_C].queue[LIFE_BIND]);
	DAT_RMR_COOKIE cookie = { .as_64 = post ? post->cookie : 0 };
	DAT_LMR_TRIPLET seg = { .virtual_address = w->base, .segment_length = LIFE_SIZE };
	DAT_RMR_CONTEXT context;
	int ret;

	ret = life_make_lmr(w, w->t.pz, &p->parent, &p->context, &context);
	if (ret)
		return ret;
	seg.lmr_context = p->context;
	if (!test_expect("dat_rmr_create", dat_rmr_create(w->t.pz, &p->child), DAT_SUCCESS) ||
	    !test_expect("dat_rmr_bind",
			 dat_rmr_bind(p->child, p->parent, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				      DAT_VA_TYPE_VA, w->ep[LIFE_C].handle, cookie, 0, &context),
			 DAT_SUCCESS))
		return -EIO;
	return life_wait(w, bind_is_over, "a bind") ? 0 : -ETIMEDOUT;
}

/* An IA that sends its asynchronous events to an EVD of another one */
static int make_async_evd(struct life *w, struct pair *p)
{
	if (life_evd(w, DAT_EVD_ASYNC_FLAG, &p->parent))
		return -EIO;
	/* dat_ia_open() reads the EVD from the place where it returns one */
	return test_expect("dat_ia_open", dat_ia_open(test_ia_name, 8, &p->parent, &p->child),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static DAT_RETURN close_gracefully(DAT_IA_HANDLE ia)
{
	return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static int use_evd(struct life *w, struct pair *p)
{
	DAT_EVD_PARAM param;

	return test_expect("dat_evd_query", dat_evd_query(p->parent, DAT_EVD_FIELD_ALL, &param),
			   DAT_SUCCESS) &&
	       test_expect("dat_evd_modify_upcall",
			   dat_evd_modify_upcall(p->parent, param.upcall_policy, DAT_UPCALL_SAME,
						 DAT_UPCALL_INVOC_NEW), DAT_SUCCESS) ? 0 : -EIO;
}

/* Posts a receive to an EP of the pair, which its dat_ep_free() returns */
static int use_ep_evd(struct life *w, struct pair *p)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = w->base,
		.segment_length = LIFE_SIZE,
		.lmr_context = w->t.mem.lmr_context,
	};
	DAT_DTO_COOKIE cookie = {};

	if (use_evd(w, p))
		return -EIO;
	return test_expect("dat_ep_post_recv", dat_ep_post_recv(p->child, 1, &seg, cookie, 0),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static int use_pz(struct life *w, struct pair *p)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr;
	DAT_LMR_HANDLE lmr;

	if (life_make_lmr(w, p->parent, &lmr, &context, &rmr))
		return -EIO;
	return test_expect("dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS) ? 0 : -EIO;
}

static int use_srq(struct life *w, struct pair *p)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = w->base,
		.segment_length = LIFE_SIZE,
		.lmr_context = w->t.mem.lmr_context,
	};
	DAT_DTO_COOKIE cookie = {};

	return test_expect("dat_srq_post_recv", dat_srq_post_recv(p->parent, 1, &seg, cookie),
			   DAT_SUCCESS) ? 0 : -EIO;
}

static int use_lmr(struct life *w, struct pair *p)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = w->base,
		.segment_length = LIFE_SIZE,
		.lmr_context = p->context,
	};
	DAT_DTO_COOKIE cookie = {};
	DAT_EP_HANDLE ep;

	return !make_ep(w, w->t.pz, w->t.dto, w->t.dto, w->t.conn, &ep) &&
	       test_expect("a post with the LMR", dat_ep_post_recv(ep, 1, &seg, cookie, 0),
			   DAT_SUCCESS) &&
	       test_expect("dat_ep_free", dat_ep_free(ep), DAT_SUCCESS) ? 0 : -EIO;
}

static int use_other_ia(struct life *w, struct pair *p)
{
	DAT_PZ_HANDLE pz;

	if (!test_expect("close of the IA whose EVD another one uses",
			 dat_ia_close(w->t.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE) ||
	    !test_expect("dat_pz_create", dat_pz_create(p->child, &pz), DAT_SUCCESS) ||
	    !test_expect("dat_pz_free", dat_pz_free(pz), DAT_SUCCESS))
		return -EIO;
	return use_evd(w, p);
}

static const struct pair_kind kinds[] = {
	{ "EVD of receives <- EP", make_recv_evd, dat_evd_free, dat_ep_free, use_ep_evd },
	{ "EVD of requests <- EP", make_request_evd, dat_evd_free, dat_ep_free, use_ep_evd },
	{ "EVD of connections <- EP", make_connect_evd, dat_evd_free, dat_ep_free, use_ep_evd },
	{ "EVD <- PSP", make_psp_evd, dat_evd_free, dat_psp_free, use_evd },
	{ "EVD <- another IA", make_async_evd, dat_evd_free, close_gracefully, use_other_ia },
	{ "PZ <- LMR", make_pz_lmr, dat_pz_free, dat_lmr_free, use_pz },
	{ "PZ <- RMR", make_pz_rmr, dat_pz_free, dat_rmr_free, use_pz },
	{ "PZ <- EP", make_pz_ep, dat_pz_free, dat_ep_free, use_pz },
	{ "PZ <- SRQ", make_pz_srq, dat_pz_free, dat_srq_free, use_pz },
	{ "SRQ <- EP", make_srq_ep, dat_srq_free, dat_ep_free, use_srq },
	{ "LMR <- RMR", make_lmr_rmr, dat_lmr_free, dat_rmr_free, use_lmr },
};

static int try_pair(struct life *w, const struct pair_kind *kind)
{
	struct pair p = {};

	if (kind->make(w, &p) ||
	    !test_expect(kind->name, kind->free_parent(p.parent), DAT_INVALID_STATE) ||
	    kind->use(w, &p) ||
	    !test_expect(kind->name, kind->free_parent(p.parent), DAT_INVALID_STATE) ||
	    !test_expect(kind->name, kind->free_child(p.child), DAT_SUCCESS) ||
	    !test_expect(kind->name, kind->free_child(p.child), DAT_INVALID_HANDLE) ||
	    !test_expect(kind->name, kind->free_parent(p.parent), DAT_SUCCESS) ||
	    !test_expect(kind->name, kind->free_parent(p.parent), DAT_INVALID_HANDLE)) {
		test_info("in the pair %s", kind->name);
		return -EIO;
	}
	return 0;
}

/* One of each on another IA, which cannot be closed before the last is freed */
static int try_one_of_each(struct life *other)
{
	static DAT_RETURN (*const fn[])(DAT_HANDLE) = {
		dat_ep_free, dat_psp_free, dat_srq_free, dat_rmr_free, dat_lmr_free, dat_pz_free,
		dat_evd_free, dat_evd_free,
	};
	enum { EP, PSP, SRQ, RMR, LMR, PZ, DTO, CONN };
	DAT_HANDLE obj[ARRAY_SIZE(fn)];
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr;
	unsigned int i;

	if (!test_expect("dat_ia_open", dat_ia_open(test_ia_name, 8, &other->t.async, &other->t.ia),
			 DAT_SUCCESS))
		return -EIO;
	if (life_evd(other, DAT_EVD_DTO_FLAG, &obj[DTO]) ||
	    life_evd(other, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &obj[CONN]) ||
	    !test_expect("dat_pz_create", dat_pz_create(other->t.ia, &obj[PZ]), DAT_SUCCESS) ||
	    life_make_lmr(other, obj[PZ], &obj[LMR], &context, &rmr) ||
	    !test_expect("dat_rmr_create", dat_rmr_create(obj[PZ], &obj[RMR]), DAT_SUCCESS) ||
	    make_srq(other, obj[PZ], &obj[SRQ]) ||
	    !test_expect("dat_psp_create",
			 dat_psp_create(other->t.ia, PAIR_QUAL, obj[CONN], DAT_PSP_CONSUMER_FLAG,
					&obj[PSP]), DAT_SUCCESS) ||
	    make_ep(other, obj[PZ], obj[DTO], obj[DTO], obj[CONN], &obj[EP]))
		goto err;
	for (i = 0; i < ARRAY_SIZE(fn); i++)
		if (!test_expect("graceful close", close_gracefully(other->t.ia),
				 DAT_INVALID_STATE) ||
		    life_free("a free in the right order", fn[i], obj[i]))
			goto err;
	/* It exists as long as the IA */
	if (!test_expect("dat_evd_free of the asynchronous EVD", dat_evd_free(other->t.async),
			 DAT_INVALID_STATE) ||
	    !test_expect("graceful close", close_gracefully(other->t.ia), DAT_SUCCESS))
		goto err;
	return test_expect("dat_evd_free of the asynchronous EVD", dat_evd_free(other->t.async),
			   DAT_INVALID_HANDLE) ? 0 : -EIO;
err:
	dat_ia_close(other->t.ia, DAT_CLOSE_ABRUPT_FLAG);
	return -EIO;
}

static int try_ia(struct life *w)
{
	struct life *other = kzalloc(sizeof(*other), GFP_KERNEL);
	int ret;

	if (!other)
		return -ENOMEM;
	other->base = w->base;
	ret = try_one_of_each(other);
	kfree(other);
	return ret;
}

/**
 * life_loop_order - try all pairs
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_order(unsigned int round)
{
	struct life *w;
	unsigned int i;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(kinds) && !ret; i++)
		ret = try_pair(w, &kinds[i]);
	ret = ret ?: try_ia(w);
	/* The fixture must still transfer data */
	ret = ret ?: life_load(w);
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(w);
	life_check(w, false);
	life_end(w);
	return ret;
}
