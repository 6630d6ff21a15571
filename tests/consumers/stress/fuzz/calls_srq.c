// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: shared receive queues, except for the post (calls_post.c).
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

static DAT_SRQ_ATTR *gen_srq_attr(struct fuzz *f, DAT_SRQ_ATTR *attr)
{
	static const DAT_COUNT wild[] = { 0, -1, S32_MIN, S32_MAX };

	*attr = (DAT_SRQ_ATTR){
		.max_recv_dtos = 1 + fuzz_rnd(f, 32),
		.max_recv_iov = 1 + fuzz_rnd(f, 4),
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	if (!one_in(f, 12))
		return attr;
	expect(f, BAD, R_IP);
	switch (fuzz_rnd(f, 4)) {
	case 0:
		fuzz_arg(f, "no attr", 0);
		return NULL;
	case 1:
		attr->max_recv_dtos = wild[fuzz_rnd(f, ARRAY_SIZE(wild))];
		break;
	case 2:
		attr->max_recv_iov = wild[fuzz_rnd(f, ARRAY_SIZE(wild))];
		break;
	default:
		attr->low_watermark = one_in(f, 2) ? -1 : 1;
	}
	fuzz_arg(f, "dtos", attr->max_recv_dtos);
	fuzz_arg(f, "iov", attr->max_recv_iov);
	fuzz_arg(f, "watermark", attr->low_watermark);
	return attr;
}

static DAT_RETURN srq_create(struct fuzz *f)
{
	struct thing t = { .hold = LOOSE }, ia, pz;
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_SRQ) ? &t.handle : NULL;
	DAT_SRQ_ATTR attr, *with;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect(f, ia.know, R_IH);
	gen_handle(f, DAT_HANDLE_TYPE_PZ, &pz);
	expect_child(f, &pz, &ia);
	with = gen_srq_attr(f, &attr);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia.handle;
	t.pz = pz.handle;
	t.limits.recv_iov = attr.max_recv_iov;
	t.limits.recv_dtos = attr.max_recv_dtos;
	ret = dat_srq_create(ia.handle, pz.handle, with, gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_SRQ, &t);
	return ret;
}

static DAT_RETURN srq_free(struct fuzz *f)
{
	struct thing srq;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_SRQ, &srq);
	expect_first(f, srq.know, R_IH);
	if (f->own && srq.know == GOOD)
		expect(f, know_if(!pool_children(f->pool, srq.handle)), R_IS);
	else
		expect(f, MAYBE, R_IS);
	ret = dat_srq_free(srq.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_SRQ, &srq, ret);
	return ret;
}

static DAT_RETURN srq_query(struct fuzz *f)
{
	DAT_SRQ_PARAM_MASK mask;
	DAT_SRQ_PARAM param;
	struct thing srq;

	gen_handle(f, DAT_HANDLE_TYPE_SRQ, &srq);
	expect_first(f, srq.know, R_IH);
	mask = gen_mask(f, DAT_SRQ_FIELD_ALL, R_IP);
	return dat_srq_query(srq.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN srq_resize(struct fuzz *f)
{
	struct thing srq;
	enum know known;
	DAT_RETURN ret;
	DAT_COUNT n;

	gen_handle(f, DAT_HANDLE_TYPE_SRQ, &srq);
	expect_first(f, srq.know, R_IH);
	n = gen_count(f, 1, 64, &known);
	if (n <= 0 || n > fx.attr.max_recv_per_srq)
		expect(f, BAD, R_IP);
	else
		expect(f, MAYBE, R_IS | R_IR);
	ret = dat_srq_resize(srq.handle, n);
	if (ret == DAT_SUCCESS && f->own) {
		srq.limits.recv_dtos = n;
		pool_update(f->pool, DAT_HANDLE_TYPE_SRQ, &srq);
	}
	return ret;
}

static DAT_RETURN srq_set_lw(struct fuzz *f)
{
	struct thing srq;
	enum know known;
	DAT_COUNT mark;

	gen_handle(f, DAT_HANDLE_TYPE_SRQ, &srq);
	expect_first(f, srq.know, R_IH);
	mark = gen_count(f, 0, 32, &known);
	/* There may be more room than requested */
	if (mark < 0 || mark > fx.attr.max_recv_per_srq)
		expect(f, BAD, R_IP);
	else if (!f->own || mark > srq.limits.recv_dtos)
		expect(f, MAYBE, R_IP);
	if (!f->own)
		expect(f, MAYBE, R_IS);
	return dat_srq_set_lw(srq.handle, mark);
}

static const struct fuzz_call calls[] = {
	{ "dat_srq_create", R_OK | R_IH | R_IP | R_IR | R_MNS, 5, false, srq_create },
	{ "dat_srq_free", R_OK | R_IH | R_IS, 5, false, srq_free },
	{ "dat_srq_query", R_OK | R_IH | R_IP, 12, true, srq_query },
	{ "dat_srq_resize", R_OK | R_IH | R_IP | R_IS | R_IR | R_MNS, 6, false, srq_resize },
	{ "dat_srq_set_lw", R_OK | R_IH | R_IP | R_IS | R_MNS, 6, false, srq_set_lw },
};

FUZZ_GROUP(fuzz_srq, calls);
