// SPDX-License-Identifier: GPL-2.0
/*
 * The client: it connects to the server and measures one row after the other. The rounds of a
 * row alternate between kDAPL and verbs, so that what changes slowly on the machine affects
 * both. A work item runs it, in process context.
 */
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "perf.h"

/* A measurement: a row for each side */
struct measure {
	struct perf_end *e;
	struct perf_row *row;		/* one for each side */
	u64 *sample[PERF_SIDES];
	u32 samples[PERF_SIDES];
	u32 seed;			/* of the next round */
};

/* ---- connecting ------------------------------------------------------------- */

static int server_address(struct perf_end *e, struct sockaddr_storage *to)
{
	const struct perf_args *args = &e->run->args;
	const struct sockaddr *own = e->t.attr.ia_address_ptr;

	if (args->address[0]) {
		if (inet_pton_with_scope(&init_net, AF_UNSPEC, args->address, NULL, to))
			return perf_fail(e->run, "\"%s\" is not an IP address", args->address);
		return 0;
	}
	memset(to, 0, sizeof(*to));
	memcpy(to, own, own->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						     sizeof(struct sockaddr_in));
	return 0;
}

static int connect_links(struct perf_end *e, struct sockaddr *to)
{
	struct perf_link *l;
	u32 i;

	for (i = 0; i < e->eps; i++) {
		l = &e->link[PERF_KDAPL][i];
		if (perf_dat_make(l) || perf_post_recvs(l) || perf_dat_connect(l, to))
			return -EIO;
	}
	for (i = 0; i < e->eps; i++)
		if (perf_verbs_connect(&e->link[PERF_VERBS][i], to))
			return -EIO;
	return 0;
}

static u32 largest(const struct perf_args *args)
{
	u32 i, most = 0;

	for (i = 0; i < args->sizes; i++)
		most = max(most, args->size[i]);
	return most;
}

static bool is_listening(struct perf_run *server)
{
	return READ_ONCE(server->listening) || READ_ONCE(server->state) == PERF_DONE;
}

static int meet(struct perf_end *e)
{
	const struct perf_args *args = &e->run->args;
	struct sockaddr_storage to;
	struct sockaddr *addr = (struct sockaddr *)&to;

	if (e->run->server)
		test_wait(is_listening(e->run->server) || perf_stopped(e), PERF_WAIT_MS);
	if (server_address(e, &to) || perf_dat_make(&e->control) || perf_control_recv(e) ||
	    perf_dat_connect(&e->control, addr))
		return -EIO;
	perf_out(e)->eps = cpu_to_le32(args->eps);
	perf_out(e)->depth = cpu_to_le32(args->depth);
	perf_out(e)->room = cpu_to_le32(largest(args));
	if (perf_ask(e, PERF_HELLO) ||
	    perf_end_make(e, args->eps, args->depth, largest(args)) || connect_links(e, addr))
		return -EIO;
	perf_put_keys(e);
	if (perf_ask(e, PERF_KEYS))
		return -EIO;
	perf_take_keys(e);
	return 0;
}

/* ---- rounds ----------------------------------------------------------------- */

static int ask_begin(struct perf_end *e)
{
	struct perf_msg *out = perf_out(e);

	out->op = cpu_to_le32(e->spec.op);
	out->kind = cpu_to_le32(e->spec.kind);
	out->side = cpu_to_le32(e->spec.side);
	out->size = cpu_to_le32(e->spec.size);
	out->count = cpu_to_le32(e->spec.count);
	out->ms = cpu_to_le32(e->spec.ms);
	out->seed = cpu_to_le32(e->spec.seed);
	perf_prepare(e);
	return perf_ask(e, PERF_BEGIN);
}

static u32 messages_of(struct perf_end *e)
{
	u32 i, sum = 0;

	if (e->spec.kind == PERF_LAT)
		return e->samples;
	for (i = 0; i < e->eps; i++)
		sum += e->link[e->spec.side][i].completed;
	return sum;
}

static void account(struct measure *m, u32 messages)
{
	struct perf_end *e = m->e;
	struct perf_row *row = &m->row[e->spec.side];
	u64 ns = e->stop - e->start;

	row->messages += messages;
	row->peer += le32_to_cpu(perf_in(e)->messages);
	row->bad += perf_verify(e) + le64_to_cpu(perf_in(e)->bad);
	row->rounds++;
	row->ns += ns;
	m->samples[e->spec.side] += e->samples;
	/* messages / ns > peak_messages / peak_ns */
	if (!row->peak_ns || (u64)messages * row->peak_ns > row->peak_messages * ns) {
		row->peak_ns = ns;
		row->peak_messages = messages;
	}
}

/* One round of the side, kind, operation and size in @m->row */
static int play(struct measure *m, enum perf_side side, u32 count, u32 ms)
{
	const struct perf_row *row = &m->row[side];
	struct perf_end *e = m->e;
	u32 messages;
	int err;

	e->spec = (struct perf_spec) {
		.op = row->op,
		.kind = row->kind,
		.side = side,
		.size = row->size,
		.count = count,
		.ms = ms,
		.seed = m->seed,
	};
	m->seed += 2 * PERF_MAX_EPS;
	e->sample = m->sample[side] + m->samples[side];
	err = ask_begin(e);
	if (!err)
		err = row->kind == PERF_LAT && row->op == PERF_WRITE ? perf_ping(e) : perf_go(e);
	if (!err && !perf_settle(e))
		err = perf_failed(e, "a request");
	if (err)
		return err;
	messages = messages_of(e);
	perf_out(e)->messages = cpu_to_le32(messages);
	err = perf_ask(e, PERF_FINISH);
	if (!err)
		account(m, messages);
	WRITE_ONCE(e->run->round, e->run->round + 1);
	return err;
}

/* ---- rows ------------------------------------------------------------------- */

/* The share of round @i of @rounds, so that the shares add up to @all */
static u32 share(u32 all, u32 i, u32 rounds)
{
	return all / rounds + (i < all % rounds);
}

static int rounds(struct measure *m)
{
	const struct perf_args *args = &m->e->run->args;
	u32 i, s, n = min(args->count, PERF_MAX_ROUNDS);
	int err = 0;

	/* kDAPL, verbs, verbs, kDAPL, and so on: neither is always the first one */
	for (i = 0; i < n; i++)
		for (s = 0; s < PERF_SIDES && !err; s++)
			err = play(m, (i + s) % PERF_SIDES, share(args->count, i, n),
				   args->ms ? max(share(args->ms, i, n), 1U) : 0);
	return err;
}

static int measure(struct measure *m, enum perf_kind kind, enum perf_op op, u32 size)
{
	struct perf_end *e = m->e;
	const struct perf_args *args = &e->run->args;
	u32 side;
	int err;

	memset(m->row, 0, PERF_SIDES * sizeof(*m->row));
	for (side = 0; side < PERF_SIDES; side++) {
		m->samples[side] = 0;
		m->row[side].kind = kind;
		m->row[side].op = op;
		m->row[side].side = side;
		m->row[side].size = size;
		m->row[side].eps = kind == PERF_LAT ? 1 : args->eps;
		m->row[side].depth = kind == PERF_LAT ? 1 : args->depth;
	}
	perf_measuring(e->run, m->row);
	err = rounds(m);
	for (side = 0; side < PERF_SIDES && !err; side++) {
		perf_statistics(&m->row[side], m->sample[side], m->samples[side]);
		perf_publish(e->run, &m->row[side]);
	}
	return err;
}

static int measure_all(struct measure *m)
{
	const struct perf_args *args = &m->e->run->args;
	u32 kind, op, i;
	int err = 0;

	for (kind = 0; kind < PERF_KINDS; kind++)
		for (op = 0; op < PERF_OPS; op++) {
			if (!(args->kinds & BIT(kind)) || !(args->ops & BIT(op)))
				continue;
			for (i = 0; i < args->sizes && !err; i++)
				err = measure(m, kind, op, args->size[i]);
		}
	return err;
}

static void run_client(struct perf_end *e)
{
	struct measure m = { .e = e, .seed = 1 };
	u32 side;

	m.row = kvcalloc(PERF_SIDES, sizeof(*m.row), GFP_KERNEL);
	for (side = 0; side < PERF_SIDES; side++)
		m.sample[side] = kvcalloc(e->run->args.count, sizeof(u64), GFP_KERNEL);
	if (!m.row || !m.sample[PERF_KDAPL] || !m.sample[PERF_VERBS]) {
		perf_fail(e->run, "no memory");
	} else if (!meet(e) && !measure_all(&m)) {
		WRITE_ONCE(e->closing, true);
		perf_ask(e, PERF_BYE);
	}
	/* Until the end is closed, completions may use the samples */
	perf_end_close(e);
	for (side = 0; side < PERF_SIDES; side++)
		kvfree(m.sample[side]);
	kvfree(m.row);
}

/**
 * perf_client - measure, and publish the rows
 * @run: the run; receives the error
 *
 * Context: process.
 */
void perf_client(struct perf_run *run)
{
	struct perf_end *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e) {
		perf_fail(run, "no memory");
		return;
	}
	if (!perf_end_open(e, run))
		run_client(e);
	else
		perf_end_close(e);
	kfree(e);
}
