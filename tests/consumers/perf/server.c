// SPDX-License-Identifier: GPL-2.0
/*
 * The server: it accepts the links of one client, and does its part of each round. A work
 * item runs it, in process context.
 */
#include <linux/slab.h>

#include "perf.h"

static int refuse(struct perf_end *e, const char *why)
{
	strscpy(perf_out(e)->text, why, sizeof(perf_out(e)->text));
	perf_answer(e, PERF_REFUSED);
	return perf_fail(e->run, "refused the client: %s", why);
}

/* The client's links: all with kDAPL, then all with verbs */
static int hello(struct perf_end *e)
{
	const struct perf_msg *in = perf_in(e);
	u32 eps = le32_to_cpu(in->eps), depth = le32_to_cpu(in->depth);
	u32 i, room = le32_to_cpu(in->room);

	if (!eps || eps > PERF_MAX_EPS || !depth || depth > PERF_MAX_DEPTH || !room ||
	    room > PERF_LARGEST)
		return refuse(e, "EPs, depth or size out of range");
	if (perf_end_make(e, eps, depth, room))
		return refuse(e, "no memory");
	for (i = 0; i < eps; i++)
		if (perf_dat_make(&e->link[PERF_KDAPL][i]) ||
		    perf_post_recvs(&e->link[PERF_KDAPL][i]))
			return refuse(e, "cannot create its endpoints");
	if (perf_answer(e, PERF_OK))
		return -EIO;
	for (i = 0; i < eps; i++)
		if (perf_dat_accept(&e->link[PERF_KDAPL][i], false))
			return -EIO;
	for (i = 0; i < eps; i++)
		if (perf_verbs_accept(&e->link[PERF_VERBS][i]))
			return -EIO;
	return 0;
}

static int begin(struct perf_end *e)
{
	const struct perf_msg *in = perf_in(e);
	struct perf_spec spec = {
		.op = le32_to_cpu(in->op),
		.kind = le32_to_cpu(in->kind),
		.side = le32_to_cpu(in->side),
		.size = le32_to_cpu(in->size),
		.count = le32_to_cpu(in->count),
		.ms = le32_to_cpu(in->ms),
		.seed = le32_to_cpu(in->seed),
	};

	if (!e->eps || spec.op >= PERF_OPS || spec.kind >= PERF_KINDS ||
	    spec.side >= PERF_SIDES || !spec.size || spec.size > e->room)
		return refuse(e, "an unknown pattern or a size out of range");
	e->spec = spec;
	perf_prepare(e);
	if (perf_answer(e, PERF_OK))
		return -EIO;
	if (spec.kind == PERF_LAT && spec.op == PERF_WRITE)
		perf_pong(e);
	return 0;
}

static u32 received(struct perf_end *e)
{
	u32 i, sum = 0;

	for (i = 0; i < (e->spec.kind == PERF_LAT ? 1 : e->eps); i++)
		sum += READ_ONCE(e->link[e->spec.side][i].received);
	return sum;
}

/* The receives may complete after the client's requests; then the data are checked */
static int finish_round(struct perf_end *e)
{
	u32 messages = le32_to_cpu(perf_in(e)->messages);

	if (!e->eps)
		return refuse(e, "a round without links");
	if (e->spec.op == PERF_SEND) {
		test_wait(received(e) >= messages || perf_broken(e), PERF_WAIT_MS);
		if (received(e) != messages)
			return refuse(e, "it has not received all messages");
	}
	if (!perf_settle(e))
		return refuse(e, "one of its requests has failed");
	perf_out(e)->messages = cpu_to_le32(received(e));
	perf_out(e)->bad = cpu_to_le64(perf_verify(e));
	return perf_answer(e, PERF_OK);
}

static int obey(struct perf_end *e, enum perf_type type)
{
	switch (type) {
	case PERF_HELLO:
		return e->eps ? refuse(e, "it has greeted twice") : hello(e);
	case PERF_KEYS:
		if (!e->eps)
			return refuse(e, "keys without links");
		perf_take_keys(e);
		perf_put_keys(e);
		return perf_answer(e, PERF_OK);
	case PERF_BEGIN:
		return begin(e);
	case PERF_FINISH:
		return finish_round(e);
	case PERF_BYE:
		/* The client disconnects next */
		WRITE_ONCE(e->closing, true);
		return perf_answer(e, PERF_OK);
	default:
		return refuse(e, "an unknown message");
	}
}

static void serve(struct perf_end *e)
{
	enum perf_type type;

	if (perf_dat_make(&e->control) || perf_control_recv(e) || perf_dat_listen(e) ||
	    perf_verbs_listen(e))
		return;
	WRITE_ONCE(e->run->listening, true);
	if (perf_dat_accept(&e->control, true))
		return;
	do {
		if (perf_hear(e, &type) || obey(e, type))
			return;
	} while (type != PERF_BYE);
	/* The answer must arrive before the EP is freed */
	test_wait(perf_dat_ended(&e->control) || perf_stopped(e), PERF_WAIT_MS);
}

/**
 * perf_server - serve one client
 * @run: the run; receives the error
 *
 * Context: process.
 */
void perf_server(struct perf_run *run)
{
	struct perf_end *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e) {
		perf_fail(run, "no memory");
		return;
	}
	e->server = true;
	if (!perf_end_open(e, run))
		serve(e);
	perf_end_close(e);
	WRITE_ONCE(run->listening, false);
	kfree(e);
}
