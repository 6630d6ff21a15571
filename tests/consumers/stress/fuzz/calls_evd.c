// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: event dispatchers.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

static const DAT_UPCALL_OBJECT upcall = { .upcall_func = fuzz_upcall };

/* Policy and function; TEARDOWN sleeps */
static DAT_UPCALL_POLICY gen_policy(struct fuzz *f, bool may_tear, const DAT_UPCALL_OBJECT **with)
{
	static const DAT_UPCALL_OBJECT none = { .instance_data = NULL };
	DAT_UPCALL_POLICY policy = fuzz_rnd(f, 3);

	if (one_in(f, 10)) {
		static const int other[] = { DAT_UPCALL_TEARDOWN, DAT_UPCALL_MANY, 3, -2, S32_MIN };

		policy = other[fuzz_rnd(f, ARRAY_SIZE(other))];
		if (policy == DAT_UPCALL_TEARDOWN && f->atomic)
			policy = DAT_UPCALL_MANY;
	}
	*with = &upcall;
	if (one_in(f, 10))
		*with = one_in(f, 2) ? NULL : &none;
	fuzz_arg(f, "policy", policy);
	fuzz_arg(f, *with == &upcall ? "upcall" : "no upcall", !!*with);
	switch ((int)policy) {
	case DAT_UPCALL_TEARDOWN:
		expect(f, know_if(may_tear), R_IP);
		break;
	case DAT_UPCALL_DISABLE:
	case DAT_UPCALL_SINGLE_INSTANCE:
	case DAT_UPCALL_NOTIFY:
		break;
	case DAT_UPCALL_MANY:
		expect(f, BAD, R_MNS | R_IP);
		break;
	default:
		expect(f, BAD, R_IP);
	}
	return policy;
}

static DAT_RETURN evd_kcreate(struct fuzz *f)
{
	static const u32 streams[] = { DAT_EVD_DTO_FLAG, DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG,
				       DAT_EVD_CR_FLAG, DAT_EVD_CONNECTION_FLAG, DAT_EVD_ASYNC_FLAG,
				       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				       DAT_EVD_SOFTWARE_FLAG, 0xf1, 0xf1 };
	struct thing t = { .hold = LOOSE }, ia;
	DAT_HANDLE *out = pool_room(fuzz_pool(f), DAT_HANDLE_TYPE_EVD) ? &t.handle : NULL;
	const DAT_UPCALL_OBJECT *with;
	DAT_UPCALL_POLICY policy;
	enum know known;
	DAT_COUNT qlen;
	DAT_RETURN ret;

	t.flags = streams[fuzz_rnd(f, ARRAY_SIZE(streams))];
	gen_handle(f, DAT_HANDLE_TYPE_IA, &ia);
	expect(f, ia.know, R_IH);
	qlen = gen_count(f, 1, 64, &known);
	/* A length that is too large has another return than a length of 0 */
	if (known == BAD)
		expect(f, qlen <= 0 ? BAD : MAYBE, qlen <= 0 ? R_IP : R_IR);
	policy = gen_policy(f, false, &with);
	if (policy != DAT_UPCALL_DISABLE)
		expect(f, know_if(with == &upcall), R_IP);
	if (one_in(f, 16)) {
		static const u32 wild[] = { 0, 2, 0x200, 0x80000000, 0x1f1, 0x101 };

		t.flags = wild[fuzz_rnd(f, ARRAY_SIZE(wild))];
		expect(f, BAD, R_IP);
	}
	fuzz_arg(f, "streams", t.flags);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	t.ia = ia.handle;
	ret = dat_evd_kcreate(ia.handle, qlen, policy, with, t.flags, gen_out(f, out, R_IP));
	if (ret == DAT_SUCCESS && t.handle)
		fuzz_made(f, DAT_HANDLE_TYPE_EVD, &t);
	return ret;
}

static DAT_RETURN evd_modify_upcall(struct fuzz *f)
{
	u32 flag = one_in(f, 16) ? 2 + fuzz_rnd(f, 1000) : fuzz_rnd(f, 2);
	const DAT_UPCALL_OBJECT *with;
	DAT_UPCALL_POLICY policy;
	struct thing evd;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	policy = gen_policy(f, true, &with);
	/* The present function stays, which may be NULL */
	if (!with)
		expect(f, MAYBE, R_IP);
	else if (policy == DAT_UPCALL_SINGLE_INSTANCE || policy == DAT_UPCALL_NOTIFY)
		expect(f, know_if(with == &upcall), R_IP);
	fuzz_arg(f, "flag", flag);
	expect(f, know_if(flag < 2), R_IP);
	return dat_evd_modify_upcall(evd.handle, policy, with, flag);
}

static DAT_RETURN evd_query(struct fuzz *f)
{
	DAT_EVD_PARAM_MASK mask;
	DAT_EVD_PARAM param;
	struct thing evd;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	mask = gen_mask(f, DAT_EVD_FIELD_ALL, R_IP);
	return dat_evd_query(evd.handle, mask, gen_out(f, &param, R_IP));
}

static DAT_RETURN evd_resize(struct fuzz *f)
{
	struct thing evd;
	enum know known;
	DAT_COUNT qlen;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	qlen = gen_count(f, 1, 64, &known);
	if (qlen <= 0 || qlen > fx.attr.max_evd_qlen)
		expect(f, BAD, R_IP);
	else
		expect(f, MAYBE, R_IS);
	return dat_evd_resize(evd.handle, qlen);
}

static DAT_RETURN evd_post_se(struct fuzz *f)
{
	DAT_EVENT *event = &f->u.event;
	struct thing evd;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	memset(event, 0, sizeof(*event));
	event->event_number = one_in(f, 16) ? fuzz_rnd64(f) : DAT_SOFTWARE_EVENT;
	event->event_data.software_event_data.pointer = (void *)(unsigned long)fuzz_rnd64(f);
	fuzz_arg(f, "number", event->event_number);
	expect(f, know_if(event->event_number == DAT_SOFTWARE_EVENT), R_IP);
	expect(f, know_if(evd.flags & DAT_EVD_SOFTWARE_FLAG), R_IP);
	expect(f, MAYBE, R_FULL);
	return dat_evd_post_se(evd.handle, gen_out(f, event, R_IP));
}

static DAT_RETURN evd_dequeue(struct fuzz *f)
{
	DAT_EVENT *event = &f->u.event;
	struct thing evd;
	DAT_RETURN ret;

	gen_handle(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	expect(f, MAYBE, R_EMPTY);
	ret = dat_evd_dequeue(evd.handle, gen_out(f, event, R_IP));
	if (ret == DAT_SUCCESS)
		fixture_event(event);
	return ret;
}

static DAT_RETURN evd_free(struct fuzz *f)
{
	struct thing evd;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_EVD, &evd);
	expect_first(f, evd.know, R_IH);
	if (f->own && evd.know == GOOD)
		expect(f, know_if(!pool_children(f->pool, evd.handle)), R_IS);
	else
		expect(f, MAYBE, R_IS);
	ret = dat_evd_free(evd.handle);
	fuzz_freed(f, DAT_HANDLE_TYPE_EVD, &evd, ret);
	return ret;
}

static const struct fuzz_call calls[] = {
	{ "dat_evd_kcreate", R_OK | R_IH | R_IP | R_MNS | R_IR, 10, false, evd_kcreate },
	{ "dat_evd_modify_upcall", R_OK | R_IH | R_IP | R_IS | R_MNS, 10, true, evd_modify_upcall },
	{ "dat_evd_query", R_OK | R_IH | R_IP, 12, true, evd_query },
	{ "dat_evd_resize", R_OK | R_IH | R_IP | R_IS | R_IR, 6, false, evd_resize },
	{ "dat_evd_post_se", R_OK | R_IH | R_IP | R_FULL, 30, true, evd_post_se },
	{ "dat_evd_dequeue", R_OK | R_IH | R_IP | R_EMPTY, 60, true, evd_dequeue },
	{ "dat_evd_free", R_OK | R_IH | R_IS, 9, false, evd_free },
};

FUZZ_GROUP(fuzz_evd, calls);
