// SPDX-License-Identifier: GPL-2.0
/*
 * Service points in the loopback test: handoff of requests, the mapping of qualifiers to
 * ports and the qualifiers the Provider chooses, and the size of private data. Process
 * context, in the work item.
 */
#include <linux/bottom_half.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "sp.h"

/* ---- handoff --------------------------------------------------------------------- */

/* Called with bottom halves off, like an upcall, where it is legal */
static void hand_off(struct pair *d, DAT_CR_HANDLE cr, DAT_CONN_QUAL to)
{
	DAT_RETURN ret;

	if (!pair_ok(d))
		return;
	local_bh_disable();
	ret = dat_cr_handoff(cr, to);
	local_bh_enable();
	sp_ok(d, "dat_cr_handoff", ret);
	loop_expect(d->c, "dat_cr_reject of a request that was handed on",
		    dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE);
}

static void handoff_script(struct pair *d, struct pair_evd *evd)
{
	DAT_CONN_QUAL q1 = sp_qual(d, 0), q2 = sp_qual(d, 1), q3 = sp_qual(d, 2);
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_PSP_HANDLE one, two;
	struct pair_evd other;
	DAT_RSP_HANDLE rsp;
	const u8 *data;
	DAT_CR_HANDLE cr;

	if (!pair_cr_evd(d, &other, 1))
		return;
	one = sp_listen(d, evd, q1);
	two = sp_listen(d, &other, q2);
	/* Accepted at the service point that received it */
	if (pair_ok(d) && pair_call_at(a, q1, NULL, 0)) {
		cr = pair_request(d, evd, one, q1);
		loop_expect(d->c, "dat_cr_handoff to nobody", dat_cr_handoff(cr, q3),
			    DAT_INVALID_PARAMETER);
		hand_off(d, cr, q2);
		sp_answer(a, b, pair_request(d, &other, two, q2), b->ep);
		sp_talk(a, b, false);
		pair_disconnect(a, b);
	}
	/* Rejected there, after two handoffs */
	if (pair_ok(d) && pair_call_at(a, q1, NULL, 0)) {
		hand_off(d, pair_request(d, evd, one, q1), q2);
		hand_off(d, pair_request(d, &other, two, q2), q1);
		hand_off(d, pair_request(d, evd, one, q1), q2);
		sp_ok(d, "dat_cr_reject",
		      dat_cr_reject(pair_request(d, &other, two, q2), 4, "away"));
		if (pair_conn_data(a, DAT_CONNECTION_EVENT_PEER_REJECTED, &data) != REJECT_DATA ||
		    memcmp(data, "away", 4))
			loop_fail(d->c, "reject: expected the data that was sent, got other data");
		pair_reset(a);
	}
	/* Handed off to an RSP; the first service point has been freed by then */
	rsp = sp_reserve(b, &other, q3);
	if (pair_ok(d) && pair_call_at(a, q1, NULL, 0)) {
		cr = pair_request(d, evd, one, q1);
		sp_free_psp(d, one);
		one = DAT_HANDLE_NULL;
		hand_off(d, cr, q3);
		sp_answer(a, b, pair_request(d, &other, rsp, q3), DAT_HANDLE_NULL);
		sp_talk(a, b, false);
		pair_disconnect(b, a);
	}
	sp_free_rsp(d, rsp);
	sp_free_psp(d, one);
	sp_free_psp(d, two);
	pair_free_evd(d, &other);
}

/* The caller withdraws after the handoff */
static void handoff_withdrawn_script(struct pair *d, struct pair_evd *evd)
{
	DAT_CONN_QUAL q1 = sp_qual(d, 0), q2 = sp_qual(d, 1);
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_PSP_HANDLE one = sp_listen(d, evd, q1), two = sp_listen(d, evd, q2);
	DAT_CR_HANDLE cr;

	if (pair_ok(d) && pair_call_at(a, q1, NULL, 0)) {
		hand_off(d, pair_request(d, evd, one, q1), q2);
		sp_ok(d, "dat_ep_disconnect", dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
		pair_conn(a, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_reset(a);
		cr = pair_request(d, evd, two, q2);
		pair_settle(d, 100);
		sp_ok(d, "dat_cr_accept", dat_cr_accept(cr, b->ep, 0, NULL));
		pair_conn(b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		pair_reset(b);
	}
	sp_free_psp(d, one);
	sp_free_psp(d, two);
}

/**
 * loop_case_handoff - hand off a request to another service point
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_handoff(struct loop_run *run, struct loop_case *c)
{
	int err;

	err = sp_play(run, c, 1, handoff_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, handoff_withdrawn_script);
	loop_clauses(c, "C-04 C-12 C-16 C-19");
	return err;
}

/* ---- qualifiers and addresses -------------------------------------------------------- */

static u16 port_of(DAT_CONN_QUAL qual)
{
	return qual <= U16_MAX ? qual : qual % 32001 + 33534;
}

static void expect_ports(struct pair_end *a, struct pair_end *b, u16 port)
{
	DAT_EP_PARAM pa = {}, pb = {};

	if (!pair_ok(a->pair))
		return;
	sp_ok(a->pair, "dat_ep_query", dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &pa));
	sp_ok(a->pair, "dat_ep_query", dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &pb));
	if (pa.remote_port_qual != port || pb.local_port_qual != port)
		loop_fail(a->pair->c, "ports %llu and %llu, expected %u",
			  (u64)pa.remote_port_qual, (u64)pb.local_port_qual, port);
	if (pa.local_port_qual != pb.remote_port_qual)
		loop_fail(a->pair->c, "A's own port is %llu, to B it is %llu",
			  (u64)pa.local_port_qual, (u64)pb.remote_port_qual);
}

/* The address of the IA; an IPv4 address is mapped to IPv6 */
static void wrap(struct sockaddr_storage *out, const struct sockaddr *in)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (in->sa_family == AF_INET6) {
		*sin6 = *(const struct sockaddr_in6 *)in;
		return;
	}
	sin6->sin6_family = AF_INET6;
	/* The qualifier determines the port; a port in the address is ignored */
	sin6->sin6_port = htons(9);
	ipv6_addr_set_v4mapped(((const struct sockaddr_in *)in)->sin_addr.s_addr,
			       &sin6->sin6_addr);
}

static void call_wrapped(struct pair_end *a, DAT_CONN_QUAL qual)
{
	struct sockaddr_storage addr;

	wrap(&addr, a->pair->run->t.attr.ia_address_ptr);
	sp_ok(a->pair, "dat_ep_connect",
	      dat_ep_connect(a->ep, (struct sockaddr *)&addr, qual,
			     PAIR_CONNECT_MS * test_stretch() * 1000U, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The event names the service point's qualifier, whichever alias the caller used */
static void qualifier(struct pair *d, struct pair_evd *evd, DAT_CONN_QUAL qual, DAT_CONN_QUAL call)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_PSP_HANDLE psp = sp_listen(d, evd, qual), twice;

	if (!pair_ok(d))
		return;
	loop_expect(d->c, "dat_psp_create on a port in use",
		    dat_psp_create(d->run->t.ia, call, evd->handle, DAT_PSP_CONSUMER_FLAG, &twice),
		    DAT_CONN_QUAL_IN_USE);
	loop_expect(d->c, "dat_rsp_create on a port in use",
		    dat_rsp_create(d->run->t.ia, call, b->ep, evd->handle, &twice),
		    DAT_CONN_QUAL_IN_USE);
	pair_expect_state(b, DAT_EP_STATE_UNCONNECTED);
	if (pair_call_at(a, call, NULL, 0)) {
		sp_answer(a, b, pair_request(d, evd, psp, qual), b->ep);
		expect_ports(a, b, port_of(qual));
		pair_disconnect(a, b);
	}
	sp_free_psp(d, psp);
}

#define ANY	8

static void any_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_PSP_HANDLE psp[ANY] = {};
	DAT_CONN_QUAL qual[ANY];
	DAT_PSP_PARAM param;
	u32 i, k;

	for (i = 0; i < ANY && pair_ok(d); i++) {
		sp_ok(d, "dat_psp_create_any",
		      dat_psp_create_any(d->run->t.ia, &qual[i], evd->handle,
					 DAT_PSP_CONSUMER_FLAG, &psp[i]));
		sp_ok(d, "dat_psp_query", dat_psp_query(psp[i], DAT_PSP_FIELD_ALL, &param));
		if (qual[i] < 1024 || qual[i] > U16_MAX || param.conn_qual != qual[i])
			loop_fail(d->c, "qualifier %llu, asked again %llu", qual[i],
				  param.conn_qual);
		for (k = 0; k < i; k++)
			if (qual[k] == qual[i])
				loop_fail(d->c, "expected different qualifiers, got %llu twice",
					  qual[i]);
	}
	for (i = 0; i < ANY; i += ANY - 1) {
		if (!pair_ok(d) || !pair_call_at(a, qual[i], NULL, 0))
			return;
		sp_answer(a, b, pair_request(d, evd, psp[i], qual[i]), b->ep);
		expect_ports(a, b, qual[i]);
		pair_disconnect(a, b);
		sp_free_psp(d, psp[i]);
		psp[i] = DAT_HANDLE_NULL;
		if (pair_ok(d) && pair_call_at(a, qual[i], NULL, 0))
			pair_conn(a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		pair_reset(a);
	}
	for (i = 0; i < ANY; i++)
		sp_free_psp(d, psp[i]);
}

static void qualifiers_script(struct pair *d, struct pair_evd *evd)
{
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	DAT_CONN_QUAL qual = sp_qual(d, 0);
	DAT_PSP_HANDLE psp;

	/* 7.1: a port, an alias of a port, and qualifiers that share one */
	qualifier(d, evd, 0x10000, 0x10000);
	qualifier(d, evd, 0x10000, 0x10000 + 32001);
	qualifier(d, evd, 0x123456789abcdef0, port_of(0x123456789abcdef0));
	qualifier(d, evd, 40000, 40000 - 33534 + 3 * 32001);
	qualifier(d, evd, U64_MAX, U64_MAX);
	psp = sp_listen(d, evd, qual);
	if (pair_ok(d)) {
		call_wrapped(a, qual);
		sp_answer(a, b, pair_request(d, evd, psp, qual), b->ep);
		pair_disconnect(b, a);
	}
	sp_free_psp(d, psp);
}

/**
 * loop_case_qualifiers - qualifiers, ports and forms of addresses
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_qualifiers(struct loop_run *run, struct loop_case *c)
{
	int err;

	err = sp_play(run, c, 1, qualifiers_script);
	if (!err && !c->verdict.failures)
		err = sp_play(run, c, 1, any_script);
	loop_clauses(c, "C-04 C-15 C-18 C-20");
	return err;
}

/* ---- private data ---------------------------------------------------------------------- */

/* Byte k of private data of a length; never 0, so that the fill after it can be seen */
static u8 data_byte(u32 len, u32 k)
{
	return (len * 31 + k * 7) % 255 + 1;
}

static void make_data(u8 *data, u32 len)
{
	u32 k;

	for (k = 0; k < len; k++)
		data[k] = data_byte(len, k);
}

static void expect_data(struct pair *d, const char *what, const u8 *data, u32 size, u32 len,
			u32 field)
{
	u32 k;

	if (!pair_ok(d))
		return;
	if (size != field) {
		loop_fail(d->c, "%s of %u bytes: the size is %u, expected %u", what, len, size,
			  field);
		return;
	}
	for (k = 0; k < size; k++) {
		u8 want = k < len ? data_byte(len, k) : 0;

		if (data[k] == want)
			continue;
		loop_fail(d->c, "%s of %u bytes: byte %u is %#04x, expected %#04x", what, len, k,
			  data[k], want);
		return;
	}
}

static DAT_CR_HANDLE request_of(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp, u32 len)
{
	u8 data[REQUEST_DATA];
	DAT_CR_PARAM param = {};
	DAT_CR_HANDLE cr;

	make_data(data, len);
	if (!pair_ok(d) || !pair_call_at(&d->a[0], sp_qual(d, 0), data, len))
		return DAT_HANDLE_NULL;
	/* The call must have copied the bytes */
	memset(data, 0xee, sizeof(data));
	cr = pair_request(d, evd, psp, sp_qual(d, 0));
	if (pair_ok(d) && sp_ok(d, "dat_cr_query", dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		expect_data(d, "a request", param.private_data, param.private_data_size, len,
			    REQUEST_DATA);
	return cr;
}

static void accept_with(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp, u32 len)
{
	DAT_CR_HANDLE cr = request_of(d, evd, psp, min_t(u32, len, REQUEST_DATA));
	struct pair_end *a = &d->a[0], *b = &d->b[0];
	u8 data[REPLY_DATA + 1];
	const u8 *got;
	DAT_COUNT size;

	make_data(data, len);
	if (!pair_ok(d))
		return;
	if (len == REPLY_DATA)
		loop_expect(d->c, "dat_cr_accept with a byte too many",
			    dat_cr_accept(cr, b->ep, len + 1, data), DAT_INVALID_PARAMETER);
	sp_ok(d, "dat_cr_accept", dat_cr_accept(cr, b->ep, len, len ? data : NULL));
	memset(data, 0xee, sizeof(data));
	size = pair_conn_data(a, DAT_CONNECTION_EVENT_ESTABLISHED, &got);
	expect_data(d, "an accept", got, size, len, REPLY_DATA);
	size = pair_conn_data(b, DAT_CONNECTION_EVENT_ESTABLISHED, &got);
	if (pair_ok(d) && size)
		loop_fail(d->c, "ESTABLISHED at the passive end has %d bytes", size);
	pair_disconnect(a, b);
}

static void reject_with(struct pair *d, struct pair_evd *evd, DAT_PSP_HANDLE psp, u32 len)
{
	DAT_CR_HANDLE cr = request_of(d, evd, psp, 8);
	struct pair_end *a = &d->a[0];
	u8 data[REJECT_DATA + 1];
	const u8 *got;
	DAT_COUNT size;

	make_data(data, len);
	if (!pair_ok(d))
		return;
	if (len == REJECT_DATA)
		loop_expect(d->c, "dat_cr_reject with a byte too many",
			    dat_cr_reject(cr, len + 1, data), DAT_INVALID_PARAMETER);
	sp_ok(d, "dat_cr_reject", dat_cr_reject(cr, len, len ? data : NULL));
	size = pair_conn_data(a, DAT_CONNECTION_EVENT_PEER_REJECTED, &got);
	expect_data(d, "a reject", got, size, len, REJECT_DATA);
	pair_reset(a);
}

/* Every length; in a short run the first, the last, and some in between */
static u32 next_len(struct pair *d, u32 len, u32 most)
{
	if (!d->run->args.brief || len < 2 || len >= most - 2)
		return len + 1;
	return min(len + 41, most - 2);
}

static void data_script(struct pair *d, struct pair_evd *evd)
{
	DAT_PSP_HANDLE psp = sp_listen(d, evd, sp_qual(d, 0));
	struct sockaddr *addr = d->run->t.attr.ia_address_ptr;
	u8 data[REQUEST_DATA + 1] = {};
	u32 len;

	loop_expect(d->c, "dat_ep_connect with a byte too many",
		    dat_ep_connect(d->a[0].ep, addr, sp_qual(d, 0), 1000000, sizeof(data), data,
				   DAT_QOS_BEST_EFFORT, 0), DAT_INVALID_PARAMETER);
	for (len = 0; len <= REPLY_DATA && pair_ok(d); len = next_len(d, len, REPLY_DATA))
		accept_with(d, evd, psp, len);
	for (len = 0; len <= REJECT_DATA && pair_ok(d); len = next_len(d, len, REJECT_DATA))
		reject_with(d, evd, psp, len);
	sp_free_psp(d, psp);
}

/**
 * loop_case_data - private data of every length, in every message that has private data
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_data(struct loop_run *run, struct loop_case *c)
{
	int err = sp_play(run, c, 1, data_script);

	loop_clauses(c, "C-18 C-19 C-46");
	return err;
}
