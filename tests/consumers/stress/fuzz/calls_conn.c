// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the fuzzer: connections and their requests. The targets of attempts are the pairs
 * of the threads, random service points, and unused addresses.
 *
 * Called by threads; those of class A by upcalls too.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/socket.h>
#include <linux/string.h>
#include "fuzz.h"

/* ---- arguments --------------------------------------------------------------------------- */

static DAT_TIMEOUT gen_timeout(struct fuzz *f)
{
	static const u32 us[] = { 1, 1000, 20000, 1000000, 5000000, U32_MAX - 1,
				  DAT_TIMEOUT_INFINITE };
	DAT_TIMEOUT timeout = one_in(f, 16) ? 0 : us[fuzz_rnd(f, ARRAY_SIZE(us))];

	fuzz_arg(f, "timeout", timeout);
	expect(f, know_if(timeout), R_IP);
	return timeout;
}

static DAT_QOS gen_qos(struct fuzz *f)
{
	DAT_QOS qos = one_in(f, 16) ? BIT(fuzz_rnd(f, 6)) : DAT_QOS_BEST_EFFORT;

	fuzz_arg(f, "qos", qos);
	/* Also one that does not exist */
	expect(f, know_if(!qos), R_MNS | R_IP);
	return qos;
}

/* NULL, or an address: usually that of the only host */
static DAT_IA_ADDRESS_PTR gen_address(struct fuzz *f, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	u32 which = fuzz_rnd(f, 24);

	*ss = fx.address;
	fuzz_arg(f, "address", which);
	switch (which) {
	case 0:
		expect(f, BAD, R_IP);
		return NULL;
	case 1:
		ss->ss_family = fuzz_rnd64(f);
		expect(f, MAYBE, R_ADDR | R_IP);
		break;
	case 2:
		in->sin_addr.s_addr = htonl(INADDR_ANY);
		expect(f, BAD, R_ADDR);
		break;
	case 3:
		in->sin_addr.s_addr = htonl(0xe0000001);
		expect(f, BAD, R_ADDR);
		break;
	case 4:
		/* An address that does not exist */
		in->sin_addr.s_addr = htonl(ntohl(in->sin_addr.s_addr) + 76);
		break;
	case 5:
		in->sin_addr.s_addr = htonl(fuzz_rnd64(f));
		expect(f, MAYBE, R_ADDR);
		break;
	case 6:
		ss->ss_family = AF_INET6;
		expect(f, BAD, R_ADDR);
		break;
	}
	return (DAT_IA_ADDRESS_PTR)ss;
}

static DAT_CONN_QUAL gen_qual(struct fuzz *f)
{
	struct thing psp;
	DAT_CONN_QUAL qual;

	switch (fuzz_rnd(f, 6)) {
	case 0:
		qual = fuzz_rnd64(f);
		break;
	case 1:
		qual = QUAL - 1 - fuzz_rnd(f, QUALS);
		break;
	case 2:
		if (pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_PSP, false, &psp)) {
			qual = psp.qual;
			break;
		}
		fallthrough;
	default:
		qual = QUAL + fuzz_rnd(f, fuzz_threads);
	}
	fuzz_arg(f, "qual", qual);
	return qual;
}

/* Usually an EP that may be connected, but no pair, which would never be connected */
static void pick_idle(struct fuzz *f, struct thing *ep)
{
	unsigned int tries;

	gen_victim(f, DAT_HANDLE_TYPE_EP, ep);
	for (tries = 0; tries < 4 && ep->know != BAD; tries++) {
		if (ep->evd[2] && ep_states(ep->handle) == S(UNCONNECTED))
			break;
		pool_pick(f, fuzz_pool(f), DAT_HANDLE_TYPE_EP, true, ep);
		ep->know = f->own ? GOOD : MAYBE;
	}
	fuzz_arg(f, "ep", (unsigned long)ep->handle);
}

static void expect_idle(struct fuzz *f, const struct thing *ep)
{
	expect(f, ep->know, R_IH);
	expect(f, ep_know(f, ep, S(UNCONNECTED)), R_IS);
	/* Not without a connect EVD */
	if (!f->own || !ep->evd[2])
		expect(f, MAYBE, R_IH);
}

void gen_idle(struct fuzz *f, struct thing *ep)
{
	pick_idle(f, ep);
	expect_idle(f, ep);
}

/* ---- calls ------------------------------------------------------------------------------- */

static DAT_RETURN ep_connect(struct fuzz *f)
{
	u32 flags = one_in(f, 16) ? BIT(fuzz_rnd(f, 32)) : fuzz_rnd(f, 2);
	struct sockaddr_storage ss;
	DAT_IA_ADDRESS_PTR address;
	DAT_TIMEOUT timeout;
	DAT_CONN_QUAL qual;
	DAT_COUNT size;
	struct thing ep;
	DAT_QOS qos;
	void *data;

	gen_idle(f, &ep);
	address = gen_address(f, &ss);
	qual = gen_qual(f);
	timeout = gen_timeout(f);
	gen_private_data(f, 56, &size, &data);
	qos = gen_qos(f);
	fuzz_arg(f, "flags", flags);
	if (flags == DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
		expect(f, BAD, R_MNS);
	else
		expect(f, know_if(flags <= DAT_CONNECT_MULTIPATH_REQUESTED_FLAG), R_IP);
	/* An IA that is being closed has neither address nor resources */
	if (!f->own)
		expect(f, MAYBE, R_IR | R_ADDR);
	return dat_ep_connect(ep.handle, address, qual, timeout, size, data, qos, flags);
}

static DAT_RETURN ep_dup_connect(struct fuzz *f)
{
	struct thing ep, other;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	DAT_QOS qos;
	void *data;

	gen_idle(f, &ep);
	/* Usually the end of a pair that has connected */
	if (f->own && fuzz_rnd(f, 4)) {
		other = (struct thing){ .handle = f->pair.ep[0], .know = GOOD };
		fuzz_arg(f, "pair", (unsigned long)other.handle);
	} else {
		gen_handle(f, DAT_HANDLE_TYPE_EP, &other);
	}
	expect(f, other.know, R_IH);
	/* Not one that has accepted */
	if (other.handle != f->pair.ep[0])
		expect(f, MAYBE, R_IP);
	expect(f, ep_know(f, &other, S(CONNECTED)), R_IS);
	timeout = gen_timeout(f);
	gen_private_data(f, 56, &size, &data);
	qos = gen_qos(f);
	if (!f->own)
		expect(f, MAYBE, R_IR | R_ADDR);
	return dat_ep_dup_connect(ep.handle, other.handle, timeout, size, data, qos);
}

static DAT_RETURN ep_common_connect(struct fuzz *f)
{
	struct sockaddr_storage ss;
	DAT_IA_ADDRESS_PTR address;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	struct thing ep;
	void *data;

	expect_first(f, BAD, R_MNS);
	gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	address = gen_address(f, &ss);
	timeout = gen_timeout(f);
	gen_private_data(f, 56, &size, &data);
	return dat_ep_common_connect(ep.handle, address, timeout, size, data);
}

static DAT_RETURN ep_disconnect(struct fuzz *f)
{
	u32 flags = one_in(f, 16) ? 2 + fuzz_rnd(f, 1000) : fuzz_rnd(f, 2);
	struct thing ep;

	if (one_in(f, 8))
		gen_handle(f, DAT_HANDLE_TYPE_EP, &ep);
	else
		gen_victim(f, DAT_HANDLE_TYPE_EP, &ep);
	expect_first(f, ep.know, R_IH);
	fuzz_arg(f, "flags", flags);
	expect(f, know_if(flags < 2), R_IP);
	expect(f, ep_know(f, &ep, S(ACTIVE_CONNECTION_PENDING) | S(CONNECTED) |
			  S(DISCONNECT_PENDING) | S(DISCONNECTED) | S(COMPLETION_PENDING)), R_IS);
	return dat_ep_disconnect(ep.handle, flags);
}

static DAT_RETURN cr_query(struct fuzz *f)
{
	DAT_CR_PARAM_MASK mask;
	DAT_CR_PARAM param;
	struct thing cr;

	gen_handle(f, DAT_HANDLE_TYPE_CR, &cr);
	expect_first(f, cr.know, R_IH);
	mask = gen_mask(f, DAT_CR_FIELD_ALL, R_IP);
	return dat_cr_query(cr.handle, mask, gen_out(f, &param, R_IP));
}

/* Is it a request of a PSP, which has no EP for it? */
static bool of_psp(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	return dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param) == DAT_SUCCESS &&
	       !param.local_ep_handle;
}

static DAT_RETURN cr_accept(struct fuzz *f)
{
	struct thing cr, ep = { };
	DAT_CR_PARAM param;
	DAT_COUNT size;
	DAT_RETURN ret;
	void *data;

	gen_victim(f, DAT_HANDLE_TYPE_CR, &cr);
	expect(f, cr.know, R_IH);
	/* DAT_HANDLE_NULL is only valid for the request of an RSP */
	if (one_in(f, 6))
		fuzz_arg(f, "none", 0);
	else
		pick_idle(f, &ep);
	if (ep.handle)
		expect_idle(f, &ep);
	else if (of_psp(cr.handle))
		expect(f, BAD, R_IH);
	expect(f, MAYBE, R_IH | R_IS);
	gen_private_data(f, 196, &size, &data);
	if (!f->own)
		expect(f, MAYBE, R_IR);
	ret = dat_cr_accept(cr.handle, ep.handle, size, data);
	/* After an error it still exists, unless it did not exist before */
	if (ret == DAT_SUCCESS || r_of(dat_cr_query(cr.handle, 0, &param)) == R_IH)
		fuzz_freed(f, DAT_HANDLE_TYPE_CR, &cr, ret);
	return ret;
}

static DAT_RETURN cr_reject(struct fuzz *f)
{
	DAT_COUNT size;
	struct thing cr;
	DAT_RETURN ret;
	void *data;

	gen_victim(f, DAT_HANDLE_TYPE_CR, &cr);
	expect(f, cr.know, R_IH);
	gen_private_data(f, 144, &size, &data);
	ret = dat_cr_reject(cr.handle, size, data);
	fuzz_freed(f, DAT_HANDLE_TYPE_CR, &cr, ret);
	return ret;
}

static DAT_RETURN cr_handoff(struct fuzz *f)
{
	struct thing cr;
	DAT_RETURN ret;

	gen_victim(f, DAT_HANDLE_TYPE_CR, &cr);
	expect_first(f, cr.know, R_IH);
	expect(f, MAYBE, R_IP | R_IR);
	ret = dat_cr_handoff(cr.handle, gen_qual(f));
	fuzz_freed(f, DAT_HANDLE_TYPE_CR, &cr, ret);
	return ret;
}

static const struct fuzz_call calls[] = {
	{ "dat_ep_connect", R_OK | R_IP | R_IH | R_IS | R_MNS | R_ADDR | R_IR, 16, false,
	  ep_connect },
	{ "dat_ep_dup_connect", R_OK | R_IP | R_IH | R_IS | R_MNS | R_ADDR | R_IR, 20, false,
	  ep_dup_connect },
	{ "dat_ep_common_connect", R_MNS, 2, true, ep_common_connect },
	{ "dat_ep_disconnect", R_OK | R_IH | R_IP | R_IS, 8, true, ep_disconnect },
	{ "dat_cr_query", R_OK | R_IH | R_IP, 10, true, cr_query },
	{ "dat_cr_accept", R_OK | R_IH | R_IP | R_IS | R_IR, 20, false, cr_accept },
	{ "dat_cr_reject", R_OK | R_IH | R_IP, 6, false, cr_reject },
	{ "dat_cr_handoff", R_OK | R_IH | R_IP | R_IR, 5, true, cr_handoff },
};

FUZZ_GROUP(fuzz_conn, calls);
