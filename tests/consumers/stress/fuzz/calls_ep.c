// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: endpoints, except for connections and posts.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

/* ---- attributes -------------------------------------------------------------------------- */

/* @known: BAD; MAYBE, if the call may not check the attribute */
static void wild_attr(struct fuzz *f, DAT_EP_ATTR *attr, enum know known)
{
	static const DAT_COUNT count[] = { -1, S32_MIN, S32_MAX, 1 << 30 };
	DAT_COUNT n = count[fuzz_rnd(f, ARRAY_SIZE(count))];
	u32 which = fuzz_rnd(f, 9);

	fuzz_arg(f, "wild attribute", which);
	expect(f, known, which == 1 ? R_MNS : R_IP);
	switch (which) {
	case 0:
		attr->service_type = 1;
		break;
	case 1:
		attr->qos = BIT(fuzz_rnd(f, 4));
		break;
	case 2:
		attr->qos = 0x10;
		break;
	case 3:
		attr->max_request_dtos = n;
		break;
	case 4:
		attr->max_request_iov = n;
		break;
	case 5:
		attr->max_rdma_read_out = n;
		break;
	case 6:
		attr->max_rdma_write_iov = n;
		break;
	case 7:
		attr->request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
		break;
	default:
		attr->ep_provider_specific_count = 1;
	}
}

static void gen_attr(struct fuzz *f, DAT_EP_ATTR *attr, enum know wild)
{
	static const u32 recv_flags[] = { 0, 0, 0, DAT_COMPLETION_UNSIGNALLED_FLAG,
					  DAT_COMPLETION_SOLICITED_WAIT_FLAG };

	*attr = (DAT_EP_ATTR){
		.max_message_size = 256 + fuzz_rnd(f, 4096),
		.max_rdma_size = 256 + fuzz_rnd(f, 4096),
		.recv_completion_flags = recv_flags[fuzz_rnd(f, ARRAY_SIZE(recv_flags))],
		.request_completion_flags = one_in(f, 4) ? DAT_COMPLETION_UNSIGNALLED_FLAG : 0,
		.max_recv_dtos = 1 + fuzz_rnd(f, 16),
		.max_request_dtos = 1 + fuzz_rnd(f, 16),
		.max_recv_iov = fuzz_rnd(f, 5),
		.max_request_iov = fuzz_rnd(f, 5),
		.max_rdma_read_in = fuzz_rnd(f, 5),
		.max_rdma_read_out = fuzz_rnd(f, 5),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = fuzz_rnd(f, 5),
		.max_rdma_write_iov = fuzz_rnd(f, 5),
	};
	if (one_in(f, 12))
		wild_attr(f, attr, wild);
}

/* ---- making ------------------------------------------------------------------------------ */

/* An EVD with the required stream, or none */
static void gen_evd(struct fuzz *f, const struct thing *ia, DAT_EVD_FLAGS stream,
		    struct thing *evd, bool needed)
{
	unsigned int tries;

	gen_optional(f, DAT_HANDLE_TYPE_EVD, evd);
	/* Usually a valid one */
	for (tries = 0; tries < 6 && evd->handle && evd->know != BAD; tries++) {
		struct thing other;

		if (evd->flags & stream && evd->ia == ia->handle)
			break;
		if (pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_EVD, false, &other)) {
			other.know = f->own ? GOOD : MAYBE;
			*evd = other;
		}
	}
	fuzz_arg(f, "evd", (unsigned long)evd->handle);
	if (evd->handle && evd->know != BAD && !(evd->flags & stream))
		evd->know = BAD;
	expect_child(f, evd, ia);
	if (needed && !evd->handle)
		expect(f, MAYBE, R_IH | R_IP);
}

/* What the model knows of an own EP */
static void learn(struct fuzz *f, struct thing *ep)
{
	DAT_EP_PARAM *param = &f->u.ep;

	if (dat_ep_query(ep->handle, DAT_EP_FIELD_EP_ATTR_ALL | DAT_EP_FIELD_PZ_HANDLE |
			 DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE, param) != DAT_SUCCESS)
		return;
	learn_limits(ep, &param->ep_attr);
	ep->pz = param->pz_handle;
	ep->evd[0] = param->recv_evd_handle;
	ep->evd[1] = param->request_evd_handle;
	ep->evd[2] = param->connect_evd_handle;
}

static DAT_RETURN made_ep(struct fuzz *f, DAT_RETURN ret, struct thing *t)
{
	if (ret != DAT_SUCCESS || !t->handle)
		return ret;
	learn(f, t);
	fuzz_part(t, fuzz_rnd(f, 2));
	fuzz_made(f, DAT_HANDLE_TYPE_EP, t);
	return ret;
}

static DAT_RETURN ep_create(struct fuzz *f)
{
	struct thing *ia = &f->with[0], *pz = &f->with[1], *recv = &f->with[2];
	struct thing *request = &f->with[3], *conn = &f->with[4], t = { .hold = LOOSE };
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_EP) ? &t.handle : NULL;
	bool defaults = one_in(f, 6);
	DAT_EP_ATTR attr;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect(f, ia->know, R_IH);
	gen_optional(f, DAT_HANDLE_TYPE_PZ, pz);
	expect_child(f, pz, ia);
	gen_evd(f, ia, DAT_EVD_DTO_FLAG, recv, false);
	gen_evd(f, ia, DAT_EVD_DTO_FLAG, request, false);
	gen_evd(f, ia, DAT_EVD_CONNECTION_FLAG, conn, false);
	if (!defaults)
		gen_attr(f, &attr, BAD);
	/* Other EPs on the EVD may have other completion flags */
	expect(f, MAYBE, R_IP);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia->handle;
	return made_ep(f, dat_ep_create(ia->handle, pz->handle, recv->handle, request->handle,
					conn->handle, defaults ? NULL : &attr,
					gen_out(f, out, R_IP)), &t);
}

/* The zone is usually that of the SRQ, or none yet */
static void gen_srq_zone(struct fuzz *f, const struct thing *srq, const struct thing *ia,
			 struct thing *pz)
{
	memset(pz, 0, sizeof(*pz));
	if (one_in(f, 6)) {
		gen_optional(f, DAT_HANDLE_TYPE_PZ, pz);
		expect_child(f, pz, ia);
	} else {
		pz->handle = srq->pz;
	}
	expect(f, know_if(!pz->handle || pz->handle == srq->pz), R_IP);
}

static DAT_RETURN ep_create_with_srq(struct fuzz *f)
{
	struct thing *ia = &f->with[0], *pz = &f->with[1], *recv = &f->with[2];
	struct thing *request = &f->with[3], *conn = &f->with[4], *srq = &f->with[5];
	struct thing t = { .hold = LOOSE };
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_EP) ? &t.handle : NULL;
	bool there = !one_in(f, 20);
	DAT_EP_ATTR attr;

	gen_handle(f, DAT_HANDLE_TYPE_IA, ia);
	expect(f, ia->know, R_IH);
	gen_handle(f, DAT_HANDLE_TYPE_SRQ, srq);
	expect_child(f, srq, ia);
	gen_srq_zone(f, srq, ia, pz);
	gen_evd(f, ia, DAT_EVD_DTO_FLAG, recv, true);
	gen_evd(f, ia, DAT_EVD_DTO_FLAG, request, true);
	gen_evd(f, ia, DAT_EVD_CONNECTION_FLAG, conn, true);
	fuzz_arg(f, "attr", there);
	/* Without attributes there is nothing to check */
	gen_attr(f, &attr, there ? BAD : GOOD);
	expect(f, there ? MAYBE : BAD, R_IP);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia->handle;
	t.srq = srq->handle;
	return made_ep(f, dat_ep_create_with_srq(ia->handle, pz->handle, recv->handle,
						 request->handle, conn->handle, srq->handle,
						 there ? &attr : NULL,
						 gen_out(f, out, R_IP)), &t);
}

/* ---- asking ------------------------------------------------------------------------------ */

static DAT_RETURN ep_query(struct fuzz *f)
{
	DAT_EP_PARAM_MASK mask;
	struct thing ep;

	gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	mask = gen_mask(f, DAT_EP_FIELD_ALL, R_IP);
	return dat_ep_query(ep.handle, mask, gen_out(f, &f->u.ep, R_IP));
}

static DAT_RETURN ep_get_status(struct fuzz *f)
{
	DAT_BOOLEAN recv, request;
	DAT_EP_STATE state;
	struct thing ep;

	gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	return dat_ep_get_status(ep.handle, one_in(f, 4) ? NULL : &state,
				 one_in(f, 4) ? NULL : &recv, one_in(f, 4) ? NULL : &request);
}

static DAT_RETURN ep_recv_query(struct fuzz *f)
{
	struct thing ep;
	DAT_COUNT n, span;
	void *out[2];

	gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	expect(f, know_if(ep.srq), R_IP);
	out[0] = gen_out(f, &n, R_IP);
	out[1] = gen_out(f, &span, R_IP);
	if (ep.srq && out[0] && out[1])
		expect(f, BAD, R_MNS);
	return dat_ep_recv_query(ep.handle, out[0], out[1]);
}

static DAT_RETURN ep_set_watermark(struct fuzz *f)
{
	enum know soft_known, hard_known;
	DAT_COUNT soft, hard;
	struct thing ep;

	gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	soft = gen_count(f, DAT_WATERMARK_INFINITE, 100, &soft_known);
	hard = gen_count(f, DAT_WATERMARK_INFINITE, 100, &hard_known);
	if (!ep.srq || soft < DAT_WATERMARK_INFINITE || hard < DAT_WATERMARK_INFINITE)
		expect(f, BAD, R_IP);
	else
		expect(f, BAD, R_MNS);
	return dat_ep_set_watermark(ep.handle, soft, hard);
}

/* ---- changing ---------------------------------------------------------------------------- */

#define NEVER	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_COMM | \
		 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL | \
		 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL | \
		 DAT_EP_FIELD_SRQ_HANDLE)
#define ARRAYS	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
		 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
		 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
		 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
#define SOME	(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE | \
		 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | \
		 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV | DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)

static DAT_EP_PARAM_MASK gen_fields(struct fuzz *f)
{
	DAT_EP_PARAM_MASK mask = fuzz_rnd64(f);

	switch (fuzz_rnd(f, 4)) {
	case 0:
		mask &= DAT_EP_FIELD_ALL & ~(NEVER | ARRAYS);
		break;
	case 1:
		if (one_in(f, 3))
			mask = BIT_ULL(fuzz_rnd(f, 40));
		else
			mask &= DAT_EP_FIELD_ALL & ~ARRAYS;
		break;
	default:
		mask &= fuzz_rnd64(f) & SOME;
	}
	fuzz_arg(f, "mask", mask);
	expect(f, know_if(!(mask & (NEVER | ~DAT_EP_FIELD_ALL))), R_IP);
	return mask;
}

/* Values for all fields, of which the mask selects some */
static void gen_values(struct fuzz *f, const struct thing *ep, DAT_EP_PARAM *param)
{
	struct thing *other = &f->with[1];

	memset(param, 0, sizeof(*param));
	/* Other attributes, or the present ones if it exists */
	if (one_in(f, 3) ||
	    dat_ep_query(ep->handle, DAT_EP_FIELD_EP_ATTR_ALL, param) != DAT_SUCCESS)
		gen_attr(f, &param->ep_attr, MAYBE);
	param->ep_attr.ep_provider_specific = NULL;
	param->ep_attr.ep_provider_specific_count = 0;
	gen_optional(f, DAT_HANDLE_TYPE_PZ, other);
	param->pz_handle = other->handle;
	gen_optional(f, DAT_HANDLE_TYPE_EVD, other);
	param->recv_evd_handle = other->handle;
	gen_optional(f, DAT_HANDLE_TYPE_EVD, other);
	param->request_evd_handle = other->handle;
	gen_optional(f, DAT_HANDLE_TYPE_EVD, other);
	param->connect_evd_handle = other->handle;
}

static DAT_RETURN ep_modify(struct fuzz *f)
{
	DAT_EP_PARAM *param = &f->u.ep;
	struct thing *ep = &f->with[0];
	bool there = !one_in(f, 20);
	DAT_EP_PARAM_MASK mask;
	DAT_RETURN ret;

	/* A pair with smaller queues is not useful */
	if (one_in(f, 4))
		gen_handle(f, DAT_HANDLE_TYPE_EP, ep);
	else
		gen_victim(f, DAT_HANDLE_TYPE_EP, ep);
	expect_first(f, ep->know, R_IH);
	mask = gen_fields(f);
	gen_values(f, ep, param);
	fuzz_arg(f, "param", there);
	/* The result depends on the mask and on the state */
	expect(f, know_if(there), R_IP);
	expect(f, MAYBE, mask ? R_IP | R_IS | R_MNS | R_IR : 0);
	ret = dat_ep_modify(ep->handle, mask, there ? param : NULL);
	if (ret == DAT_SUCCESS && f->own) {
		learn(f, ep);
		pool_update(f->pool, DAT_HANDLE_TYPE_EP, ep);
	}
	return ret;
}

static DAT_RETURN ep_reset(struct fuzz *f)
{
	struct thing ep;
	enum know known;

	if (one_in(f, 8))
		gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	else
		gen_victim(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	known = ep_know(f, &ep, S(UNCONNECTED) | S(DISCONNECTED));
	expect(f, known, R_IS);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	return dat_ep_reset(ep.handle);
}

static DAT_RETURN ep_free(struct fuzz *f)
{
	struct thing ep;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	expect(f, ep_know(f, &ep, ~(S(RESERVED) | S(PASSIVE_CONNECTION_PENDING) |
				    S(TENTATIVE_CONNECTION_PENDING))), R_IS);
	ret = dat_ep_free(ep.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_EP, &ep, ret);
	return ret;
}

static const struct fuzz_call calls[] = {
	{ "dat_ep_create", R_OK | R_IH | R_IP | R_MNS | R_IR, 10, false, ep_create },
	{ "dat_ep_create_with_srq", R_OK | R_IH | R_IP | R_IS | R_MNS | R_IR, 8, false,
	  ep_create_with_srq },
	{ "dat_ep_query", R_OK | R_IH | R_IP, 14, true, ep_query },
	{ "dat_ep_get_status", R_OK | R_IH, 16, true, ep_get_status },
	{ "dat_ep_recv_query", R_IH | R_IP | R_MNS, 4, true, ep_recv_query },
	{ "dat_ep_set_watermark", R_IH | R_IP | R_MNS, 4, true, ep_set_watermark },
	{ "dat_ep_modify", R_OK | R_IH | R_IP | R_IS | R_MNS | R_IR, 6, false, ep_modify },
	{ "dat_ep_reset", R_OK | R_IH | R_IS | R_IR, 10, false, ep_reset },
	{ "dat_ep_free", R_OK | R_IH | R_IS, 10, false, ep_free },
};

FUZZ_GROUP(fuzz_ep, calls);
