// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: posts. Their checks are made in a fixed order, and the model is told
 * about the arguments in this order. Of an own EP everything is known except whether the
 * queue has room.
 *
 * Called by threads and upcalls, in any context.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

#define POSTING		(S(CONNECTED) | S(DISCONNECTED))
#define DEVICE_IOV	32		/* no EP takes more segments, on rxe */

static bool known(struct fuzz *f, const struct thing *owner)
{
	return f->own && owner->know == GOOD;
}

/* Usually an end of the pair, whose posts are transferred */
static void gen_poster(struct fuzz *f, struct thing *ep)
{
	if (f->own && fuzz_rnd(f, 10) < 7)
		gen_pair(f, ep);
	else
		gen_handle(f, DAT_HANDLE_TYPE_EP, ep);
}

/* Step 3, the count and the vector */
static DAT_COUNT gen_segment_count(struct fuzz *f, const struct thing *owner, DAT_COUNT limit,
				   DAT_LMR_TRIPLET **iov)
{
	enum know unused;
	DAT_COUNT n;

	if (limit > DEVICE_IOV || owner->know == BAD)
		limit = 4;
	n = gen_count(f, limit && fuzz_rnd(f, 20) ? 1 : 0, limit, &unused);
	if (n == 0 && owner->no_empty) {
		n = -1;
		fuzz_arg(f, "no, count", n);
	}
	if (n < 0 || n > DEVICE_IOV)
		expect_first(f, BAD, R_IP);
	else if (n > limit || !known(f, owner))
		expect_first(f, known(f, owner) ? BAD : MAYBE, R_IP);
	*iov = f->iov;
	if (one_in(f, 30) || (n == 0 && one_in(f, 2))) {
		*iov = NULL;
		fuzz_arg(f, "no iov", 0);
		expect_first(f, know_if(n <= 0), R_IP);
	}
	return n;
}

/* Step 3, the remote buffer */
static const DAT_RMR_TRIPLET *gen_there(struct fuzz *f, DAT_RMR_TRIPLET *there)
{
	if (!one_in(f, 40))
		return there;
	fuzz_arg(f, "no remote buffer", 0);
	expect_first(f, BAD, R_IP);
	return NULL;
}

/* Steps 4 and 5 */
static DAT_COMPLETION_FLAGS gen_post_flags(struct fuzz *f, const struct thing *ep, u32 legal,
					   DAT_COMPLETION_FLAGS configured)
{
	u32 most = legal | DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_COMPLETION_FLAGS flags;
	enum know unused;

	legal |= configured & DAT_COMPLETION_UNSIGNALLED_FLAG;
	flags = gen_flags(f, legal, &unused);
	if (flags & ~most)
		expect_first(f, BAD, R_IP);
	else if (known(f, ep))
		expect_first(f, know_if(!(flags & ~legal)), R_IP);
	else if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		expect_first(f, MAYBE, R_IP);
	return flags;
}

/* Step 8 */
static void check_total(struct fuzz *f, const struct thing *ep, u64 total, DAT_SEG_LENGTH limit)
{
	if (total > U32_MAX)
		expect_first(f, BAD, R_IP);
	else if (known(f, ep))
		expect_first(f, know_if(total <= limit), R_IP);
	else
		expect_first(f, MAYBE, R_IP);
}

#define SEND_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define RDMA_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* All checks of a request in their order; @limit: of segments */
static DAT_COUNT gen_request(struct fuzz *f, const struct thing *ep, DAT_COUNT limit, u32 legal,
			     DAT_LMR_TRIPLET **iov, DAT_COMPLETION_FLAGS *flags)
{
	DAT_COUNT n = gen_segment_count(f, ep, limit, iov);

	*flags = gen_post_flags(f, ep, legal, ep->limits.request_flags);
	return n;
}

static DAT_RETURN post_send(struct fuzz *f)
{
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET *iov;
	struct thing ep;
	DAT_COUNT n;
	u64 total;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	n = gen_request(f, &ep, ep.limits.request_iov, SEND_FLAGS, &iov, &flags);
	expect_first(f, ep_know(f, &ep, POSTING), R_IS);
	gen_segments(f, &ep, DAT_MEM_PRIV_LOCAL_READ_FLAG, SOME_BYTES, n, &total);
	check_total(f, &ep, total, ep.limits.message);
	expect_first(f, MAYBE, R_IR);
	return dat_ep_post_send(ep.handle, n, iov, cookie, flags);
}

/* A key that a peer has bound, or that of an LMR that others may free */
static DAT_RMR_CONTEXT gen_key(struct fuzz *f)
{
	DAT_HANDLE_TYPE type = f->own || one_in(f, 2) ? DAT_HANDLE_TYPE_RMR : DAT_HANDLE_TYPE_LMR;
	struct thing t;

	if (pool_pick(f, fuzz_pool(f), type, true, &t) && t.hold == LOOSE)
		return t.key;
	return fuzz_rnd64(f) | BIT(31);
}

static DAT_RETURN post_send_with_invalidate(struct fuzz *f)
{
	u32 invalidate = one_in(f, 16) ? 2 + fuzz_rnd(f, 100) : one_in(f, f->own ? 8 : 2);
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_RMR_CONTEXT key = gen_key(f);
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET *iov;
	struct thing ep;
	DAT_COUNT n;
	u64 total;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	fuzz_arg(f, "invalidate", invalidate);
	/* The flag is an argument like the others */
	expect_first(f, know_if(invalidate < 2), R_IP);
	n = gen_request(f, &ep, ep.limits.request_iov, SEND_FLAGS, &iov, &flags);
	expect_first(f, ep_know(f, &ep, POSTING), R_IS);
	gen_segments(f, &ep, DAT_MEM_PRIV_LOCAL_READ_FLAG, SOME_BYTES, n, &total);
	check_total(f, &ep, total, ep.limits.message);
	expect_first(f, MAYBE, R_IR);
	return dat_ep_post_send_with_invalidate(ep.handle, n, iov, cookie, flags, invalidate, key);
}

static DAT_RETURN post_rdma_write(struct fuzz *f)
{
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_RMR_TRIPLET buffer = { };
	const DAT_RMR_TRIPLET *there;
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET *iov;
	struct thing ep;
	DAT_COUNT n;
	u64 total;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	there = gen_there(f, &buffer);
	n = gen_request(f, &ep, ep.limits.write_iov, RDMA_FLAGS, &iov, &flags);
	expect_first(f, ep_know(f, &ep, POSTING), R_IS);
	gen_segments(f, &ep, DAT_MEM_PRIV_LOCAL_READ_FLAG, SOME_BYTES, n, &total);
	check_total(f, &ep, total, ep.limits.rdma);
	gen_remote(f, total, &buffer);
	expect_first(f, know_if(buffer.segment_length >= total), R_LEN);
	expect_first(f, MAYBE, R_IR);
	return dat_ep_post_rdma_write(ep.handle, n, iov, cookie, there, flags);
}

static DAT_RETURN post_rdma_read(struct fuzz *f)
{
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_RMR_TRIPLET buffer = { };
	const DAT_RMR_TRIPLET *there;
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET *iov;
	struct thing ep;
	DAT_COUNT n;
	u64 total;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	there = gen_there(f, &buffer);
	n = gen_request(f, &ep, ep.limits.read_iov, RDMA_FLAGS, &iov, &flags);
	expect_first(f, ep_know(f, &ep, POSTING), R_IS);
	gen_segments(f, &ep, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, SOME_BYTES, n, &total);
	check_total(f, &ep, total, ep.limits.rdma);
	gen_remote_source(f, &ep, total, &buffer);
	expect_first(f, know_if(buffer.segment_length <= total), R_LEN);
	expect_first(f, MAYBE, R_IR);
	return dat_ep_post_rdma_read(ep.handle, n, iov, cookie, there, flags);
}

static DAT_RETURN post_rdma_read_to_rmr(struct fuzz *f)
{
	DAT_RMR_TRIPLET here = { .virtual_address = fuzz_rnd64(f) }, there = here;
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	struct thing ep;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	expect_first(f, BAD, R_MNS);
	return dat_ep_post_rdma_read_to_rmr(ep.handle, one_in(f, 4) ? NULL : &here, cookie,
					    one_in(f, 4) ? NULL : &there, fuzz_rnd64(f));
}

static DAT_RETURN post_recv(struct fuzz *f)
{
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET *iov;
	struct thing ep;
	DAT_COUNT n;
	u64 total;

	gen_poster(f, &ep);
	expect_first(f, ep.know, R_IH);
	/* An SRQ has another limit, but the post is refused anyway */
	if (ep.srq && ep.know != BAD) {
		expect_first(f, MAYBE, R_IP);
		expect_first(f, BAD, R_IS | R_IP);
	}
	n = gen_segment_count(f, &ep, ep.limits.recv_iov, &iov);
	flags = gen_post_flags(f, &ep, 0, ep.limits.recv_flags);
	expect_first(f, ep_know(f, &ep, ~S(UNCONFIGURED_UNCONNECTED)), R_IS);
	gen_segments(f, &ep, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, ROOM, n, &total);
	if (total > U32_MAX)
		expect_first(f, BAD, R_IP);
	expect_first(f, MAYBE, R_IR);
	return dat_ep_post_recv(ep.handle, n, iov, cookie, flags);
}

static DAT_RETURN srq_post_recv(struct fuzz *f)
{
	DAT_DTO_COOKIE cookie = { .as_64 = f->number };
	DAT_LMR_TRIPLET *iov;
	struct thing srq;
	DAT_COUNT n;
	u64 total;

	gen_handle(f, DAT_HANDLE_TYPE_SRQ, &srq);
	expect_first(f, srq.know, R_IH);
	n = gen_segment_count(f, &srq, srq.limits.recv_iov, &iov);
	gen_segments(f, &srq, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, ROOM, n, &total);
	if (total > U32_MAX)
		expect_first(f, BAD, R_IP);
	expect_first(f, MAYBE, R_IR);
	return dat_srq_post_recv(srq.handle, n, iov, cookie);
}

#define R_POST	(R_OK | R_IH | R_IP | R_IS | R_PRIV | R_PROT | R_IR)

static const struct fuzz_call calls[] = {
	{ "dat_ep_post_send", R_POST, 90, true, post_send },
	{ "dat_ep_post_send_with_invalidate", R_POST, 30, true, post_send_with_invalidate },
	{ "dat_ep_post_recv", R_POST, 120, true, post_recv },
	{ "dat_ep_post_rdma_read", R_POST | R_LEN, 50, true, post_rdma_read },
	{ "dat_ep_post_rdma_write", R_POST | R_LEN, 60, true, post_rdma_write },
	{ "dat_ep_post_rdma_read_to_rmr", R_IH | R_MNS, 6, true, post_rdma_read_to_rmr },
	{ "dat_srq_post_recv", R_POST & ~R_IS, 40, true, srq_post_recv },
};

FUZZ_GROUP(fuzz_post, calls);
