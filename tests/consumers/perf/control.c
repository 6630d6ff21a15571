// SPDX-License-Identifier: GPL-2.0
/*
 * The messages of the control link: the client asks, the server answers, so one buffer for
 * each direction is enough. The work item of the end calls these functions.
 */
#include <linux/string.h>

#include "perf.h"

/* The message that was heard */
struct perf_msg *perf_in(struct perf_end *e)
{
	return (struct perf_msg *)e->control.area[PERF_SINK];
}

/* The message that is sent next; fill in its fields, except magic and type */
struct perf_msg *perf_out(struct perf_end *e)
{
	return (struct perf_msg *)e->control.area[PERF_SOURCE];
}

/* Post the receive of the control link, if it has none. Return: 0, or -EIO, which is noted */
int perf_control_recv(struct perf_end *e)
{
	struct perf_link *l = &e->control;
	bool good;

	if (e->hearing)
		return 0;
	WRITE_ONCE(e->arrived, false);
	spin_lock_bh(&l->lock);
	good = l->calls->recv(l);
	spin_unlock_bh(&l->lock);
	e->hearing = good;
	return good ? 0 : perf_fail(e->run, "the control link cannot receive");
}

/**
 * perf_answer - send a message
 * @e:    an end whose control link is connected
 * @type: of the message
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_answer(struct perf_end *e, enum perf_type type)
{
	struct perf_link *l = &e->control;
	struct perf_msg *out = perf_out(e);
	bool good;

	if (perf_control_recv(e))
		return -EIO;
	/* The queue can be full, because acknowledgments of earlier messages may be late */
	if (!test_wait(!perf_full(l) || READ_ONCE(l->failed) || perf_stopped(e), PERF_WAIT_MS))
		return perf_fail(e->run, "the sends of the control link do not complete");
	out->magic = cpu_to_le32(PERF_MAGIC);
	out->type = cpu_to_le32(type);
	spin_lock_bh(&l->lock);
	good = l->calls->request(l, PERF_SEND, sizeof(*out));
	l->posted += good;
	spin_unlock_bh(&l->lock);
	return good ? 0 : perf_fail(e->run, "the control link cannot send");
}

/* A message, the end of the connection, or the end of the run */
static bool is_heard(struct perf_end *e)
{
	return READ_ONCE(e->arrived) || READ_ONCE(e->control.failed) || perf_stopped(e);
}

/**
 * perf_hear - wait for a message; the server waits as long as the connection exists
 * @e:    an end whose control link is connected
 * @type: receives the type
 *
 * Return: 0; -EIO, which is noted unless the run was stopped.
 */
int perf_hear(struct perf_end *e, enum perf_type *type)
{
	unsigned long end = test_deadline(PERF_WAIT_MS);

	while (!is_heard(e) && !perf_dat_ended(&e->control) &&
	       (e->server || !time_after(jiffies, end)))
		wait_event_timeout(e->wait, is_heard(e), HZ / 10);
	if (!READ_ONCE(e->arrived)) {
		if (perf_stopped(e))
			return perf_fail(e->run, "the run was stopped");
		return perf_fail(e->run, "the %s is gone", e->server ? "client" : "server");
	}
	e->hearing = false;
	if (le32_to_cpu(perf_in(e)->magic) != PERF_MAGIC)
		return perf_fail(e->run, "the peer has another version of kdapl_perf");
	*type = le32_to_cpu(perf_in(e)->type);
	return 0;
}

/**
 * perf_ask - send a message and wait for the answer
 * @e:    the client's end
 * @type: of the message
 *
 * Return: 0; -EIO, which is noted, also if the server refuses.
 */
int perf_ask(struct perf_end *e, enum perf_type type)
{
	enum perf_type answer;

	if (perf_answer(e, type) || perf_hear(e, &answer))
		return -EIO;
	if (answer == PERF_OK)
		return 0;
	return perf_fail(e->run, "the server refuses: %.*s",
			 (int)sizeof(perf_in(e)->text) - 1, perf_in(e)->text);
}

/* ---- keys ------------------------------------------------------------------ */

static struct perf_keys keys_of(const struct perf_link *l, enum perf_area area)
{
	if (l->side == PERF_VERBS)
		return (struct perf_keys) { l->mr[area]->iova, l->mr[area]->rkey };
	return (struct perf_keys) {
		.address = (unsigned long)l->area[area],
		.key = l->region[area].rmr_context,
	};
}

/* Fill in the keys of this end's buffers */
void perf_put_keys(struct perf_end *e)
{
	struct perf_msg *out = perf_out(e);
	u32 side, i, a;

	for (side = 0; side < PERF_SIDES; side++)
		for (i = 0; i < e->eps; i++)
			for (a = 0; a < PERF_AREAS; a++) {
				struct perf_keys keys = keys_of(&e->link[side][i], a);

				out->keys[side][i][a].address = cpu_to_le64(keys.address);
				out->keys[side][i][a].key = cpu_to_le32(keys.key);
			}
}

/* Take the keys of the peer's buffers from its message */
void perf_take_keys(struct perf_end *e)
{
	const struct perf_msg *in = perf_in(e);
	u32 side, i, a;

	for (side = 0; side < PERF_SIDES; side++)
		for (i = 0; i < e->eps; i++)
			for (a = 0; a < PERF_AREAS; a++)
				e->link[side][i].remote[a] = (struct perf_keys) {
					.address = le64_to_cpu(in->keys[side][i][a].address),
					.key = le32_to_cpu(in->keys[side][i][a].key),
				};
}
