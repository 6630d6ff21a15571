// SPDX-License-Identifier: GPL-2.0
/*
 * The patterns that completions drive: ping-pong of sends, reads one after the other, and
 * bandwidth. They are the same for kDAPL and for verbs.
 *
 * perf_received() and perf_requested() are called in softirq context, one at a time for each
 * link; the others in process context by the work item of the end.
 */
#include <linux/hash.h>
#include <linux/ktime.h>

#include "perf.h"

/* A link failed: wake the work item, which sees it */
static void link_failed(struct perf_link *l)
{
	WRITE_ONCE(l->failed, true);
	wake_up(&l->end->wait);
}

static bool is_control(const struct perf_link *l)
{
	return l == &l->end->control;
}

/* This end of the link is done with its part of the round */
static void link_done(struct perf_link *l, u64 now)
{
	struct perf_end *e = l->end;

	l->running = false;
	if (atomic_dec_and_test(&e->busy)) {
		e->stop = now;
		wake_up(&e->wait);
	}
}

/*
 * Post the requests that are due. In a ping-pong, the answer to a send can arrive although the
 * acknowledgment of the send was lost, so the queue can be full. In this case, the next completion
 * posts the rest. l->lock held
 */
static void post_due(struct perf_link *l)
{
	const struct perf_spec *spec = &l->end->spec;

	while (l->due && !perf_full(l)) {
		if (!l->calls->request(l, spec->op, spec->size)) {
			link_failed(l);
			return;
		}
		l->due--;
		l->posted++;
	}
}

static void request(struct perf_link *l)
{
	l->due++;
	post_due(l);
}

/**
 * perf_next - take a sample, and decide whether there is a next one
 * @e:   the client's end
 * @l:   its only link of the round
 * @now: time of the sample's end
 *
 * Context: any; one at a time.
 * Return: true if the next sample begins.
 */
bool perf_next(struct perf_end *e, struct perf_link *l, u64 now)
{
	u64 took = now - l->begin;

	/* Of a ping-pong half the round trip; a read is complete when the data have come back */
	e->sample[e->samples++] = e->spec.op == PERF_READ ? took : took / 2;
	return e->samples < e->spec.count && (!e->spec.ms || now < e->deadline) &&
	       !perf_stopped(e);
}

static void sample(struct perf_link *l)
{
	u64 now = ktime_get_ns();

	if (perf_next(l->end, l, now)) {
		l->begin = ktime_get_ns();
		request(l);
	} else {
		link_done(l, now);
	}
}

/* A receive has completed. Softirq context */
void perf_received(struct perf_link *l, bool good, u32 length)
{
	struct perf_end *e = l->end;

	if (!good) {
		if (!READ_ONCE(e->closing))
			link_failed(l);
		return;
	}
	if (is_control(l)) {
		WRITE_ONCE(e->arrived, true);
		wake_up(&e->wait);
		return;
	}
	spin_lock(&l->lock);
	WRITE_ONCE(l->received, l->received + 1);
	if (length != e->spec.size || !l->calls->recv(l))
		link_failed(l);
	else if (e->spec.kind == PERF_LAT && e->server)
		request(l);
	else if (l->running)
		sample(l);
	spin_unlock(&l->lock);
}

/* A bandwidth round: replace the request that has completed */
static void refill(struct perf_link *l)
{
	const struct perf_spec *spec = &l->end->spec;
	u64 now = 0;
	bool more;

	more = l->posted < spec->count && !perf_stopped(l->end);
	if (spec->ms) {
		now = ktime_get_ns();
		more &= now < l->end->deadline;
	}
	if (more)
		request(l);
	else if (l->completed == l->posted)
		link_done(l, now ?: ktime_get_ns());
}

/* A request has completed. Softirq context */
void perf_requested(struct perf_link *l, bool good)
{
	struct perf_end *e = l->end;

	if (!good) {
		if (!READ_ONCE(e->closing))
			link_failed(l);
		return;
	}
	spin_lock(&l->lock);
	WRITE_ONCE(l->completed, l->completed + 1);
	if (is_control(l))
		wake_up(&e->wait);
	else
		post_due(l);
	if (l->running && e->spec.kind == PERF_BW)
		refill(l);
	else if (l->running && e->spec.op == PERF_READ)
		sample(l);
	spin_unlock(&l->lock);
}

/* Post the receives of a link, which is not connected. Return: 0, or -EIO, which is noted */
int perf_post_recvs(struct perf_link *l)
{
	bool good = true;
	u32 i;

	spin_lock_bh(&l->lock);
	for (i = 0; i < l->recvs && good; i++)
		good = l->calls->recv(l);
	spin_unlock_bh(&l->lock);
	return good ? 0 : perf_fail(l->end->run, "%s: posting a receive failed",
				    perf_side_name[l->side]);
}

/* ---- data ------------------------------------------------------------------ */

static u64 word_of(u32 seed, u32 i)
{
	return ((u64)seed << 32 | i) * GOLDEN_RATIO_64;
}

/* The data of a link in a round; the two ends send different ones */
static u32 seed_of(const struct perf_link *l, bool server)
{
	return l->end->spec.seed + 2 * l->index + server;
}

static bool polls(const struct perf_spec *spec)
{
	return spec->kind == PERF_LAT && spec->op == PERF_WRITE;
}

static u32 links(const struct perf_end *e)
{
	return e->spec.kind == PERF_LAT ? 1 : e->eps;
}

/**
 * perf_prepare - fill the sources, clear the sinks and the counters for @e->spec
 * @e: an end with connected links and nothing outstanding
 */
void perf_prepare(struct perf_end *e)
{
	u32 i, w, words = DIV_ROUND_UP(e->spec.size, 8);

	for (i = 0; i < links(e); i++) {
		struct perf_link *l = &e->link[e->spec.side][i];
		u32 seed = seed_of(l, e->server);
		u64 *to = (u64 *)l->area[PERF_SOURCE];

		for (w = 0; w < words; w++)
			to[w] = word_of(seed, w);
		/* No sequence number of a write is 0 */
		memset(l->area[PERF_SINK], 0, e->spec.size);
		spin_lock_bh(&l->lock);
		l->due = 0;
		l->posted = 0;
		l->completed = 0;
		l->received = 0;
		spin_unlock_bh(&l->lock);
	}
	e->samples = 0;
}

/* Does data arrive at this end in a round? */
static bool is_receiver(const struct perf_end *e)
{
	if (e->spec.kind == PERF_LAT && e->spec.op != PERF_READ)
		return true;
	return e->server == (e->spec.op != PERF_READ);
}

/**
 * perf_verify - compare the sinks of a round with what the peer has sent
 * @e: an end, after the round
 *
 * The last byte of a polled write is its number, which the peer has compared.
 *
 * Return: how many bytes are wrong.
 */
u64 perf_verify(struct perf_end *e)
{
	u32 i, b, size = e->spec.size - polls(&e->spec);
	u64 bad = 0;

	if (!is_receiver(e))
		return 0;
	for (i = 0; i < links(e); i++) {
		struct perf_link *l = &e->link[e->spec.side][i];
		u32 seed = seed_of(l, !e->server);
		u64 want;

		for (b = 0; b < size; b++) {
			want = word_of(seed, b / 8);
			bad += l->area[PERF_SINK][b] != ((u8 *)&want)[b % 8];
		}
	}
	return bad;
}

/* ---- rounds ---------------------------------------------------------------- */

/* Has a link failed, or was the run stopped? */
bool perf_broken(struct perf_end *e)
{
	u32 i;

	for (i = 0; i < links(e); i++)
		if (READ_ONCE(e->link[e->spec.side][i].failed))
			return true;
	return READ_ONCE(e->control.failed) || perf_stopped(e);
}

static bool is_quiet(struct perf_end *e)
{
	bool quiet = true;
	u32 i;

	for (i = 0; i < links(e) && quiet; i++) {
		struct perf_link *l = &e->link[e->spec.side][i];

		spin_lock_bh(&l->lock);
		quiet = l->completed == l->posted;
		spin_unlock_bh(&l->lock);
	}
	return quiet;
}

/**
 * perf_settle - wait until all requests of a round have completed
 * @e: an end, after its part of the round
 *
 * In a ping-pong, the answer can arrive before the request completes. Without this wait, the
 * completion would count for the next round.
 *
 * Return: true unless a request is missing or has failed.
 */
bool perf_settle(struct perf_end *e)
{
	return test_wait(is_quiet(e) || perf_broken(e), PERF_WAIT_MS) && !perf_broken(e);
}

/* The first requests of a link */
static void start_link(struct perf_link *l)
{
	const struct perf_spec *spec = &l->end->spec;
	u32 i, n = spec->kind == PERF_LAT ? 1 : min(l->end->depth, spec->count);

	spin_lock_bh(&l->lock);
	l->running = true;
	l->begin = ktime_get_ns();
	for (i = 0; i < n && !READ_ONCE(l->failed); i++)
		request(l);
	spin_unlock_bh(&l->lock);
}

/**
 * perf_go - the client's part of a round, except polled writes
 * @e: the client's end, prepared
 *
 * Return: 0, or -EIO, which is noted unless the run was stopped.
 */
int perf_go(struct perf_end *e)
{
	unsigned long end;
	u32 i;

	atomic_set(&e->busy, links(e));
	e->start = ktime_get_ns();
	e->deadline = e->start + (u64)e->spec.ms * NSEC_PER_MSEC;
	for (i = 0; i < links(e); i++)
		start_link(&e->link[e->spec.side][i]);
	/* A message of 1 MiB may take long in an emulated guest, but each makes progress */
	end = test_deadline(30 * PERF_WAIT_MS + e->spec.ms);
	while (atomic_read(&e->busy) && !READ_ONCE(e->control.failed) &&
	       !time_after(jiffies, end)) {
		wait_event_timeout(e->wait, !atomic_read(&e->busy) || perf_broken(e), HZ / 10);
		if (perf_broken(e) && !perf_stopped(e))
			break;
	}
	if (!atomic_read(&e->busy) && !perf_broken(e))
		return 0;
	return perf_failed(e, "a request");
}

/**
 * perf_failed - note that a round has ended early
 * @e:    the client's end
 * @what: what failed, unless the run was stopped
 *
 * Return: -EIO.
 */
int perf_failed(struct perf_end *e, const char *what)
{
	if (perf_stopped(e))
		return perf_fail(e->run, "the run was stopped");
	return perf_fail(e->run, "%s: %s has failed", perf_side_name[e->spec.side], what);
}
