// SPDX-License-Identifier: GPL-2.0
/*
 * The ledger of the loopback test. It records which posts are pending and checks that
 * each completes exactly once. Each post has a unique cookie: the tag of its queue in the
 * upper half, a sequence number in the lower half. A completion whose cookie is not
 * pending is a duplicate or unknown; a post still pending at the end is lost.
 *
 * All functions but loop_queue_make() and loop_queue_end() run under fx->lock.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "kdapl_loop.h"

/**
 * loop_queue_make - make an empty ledger
 * @q: the queue, all zero
 * @name: shown in notes
 * @depth: maximum number of pending posts
 * @ordered: completions come in posting order
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int loop_queue_make(struct loop_queue *q, const char *name, u32 depth, bool ordered)
{
	/* More entries than the depth: an SRQ may complete an old buffer late. */
	u32 size = roundup_pow_of_two(4 * (depth + 1));

	q->name = name;
	q->depth = depth;
	q->ordered = ordered;
	q->mask = size - 1;
	q->tag = loop_hash((uintptr_t)q, depth) | 1;
	q->ring = kvcalloc(size, sizeof(*q->ring), GFP_KERNEL);
	return q->ring ? 0 : -ENOMEM;
}

void loop_queue_end(struct loop_queue *q)
{
	kvfree(q->ring);
	memset(q, 0, sizeof(*q));
}

/**
 * loop_queue_next - the entry of the next post
 * @q: the queue
 *
 * The entry is not used until loop_queue_commit().
 *
 * Context: under fx->lock.
 * Return: the entry with its cookie, or NULL if an old post still occupies it.
 */
struct loop_post *loop_queue_next(struct loop_queue *q)
{
	struct loop_post *p = &q->ring[q->head & q->mask];

	if (p->pending)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->seq = q->head;
	p->cookie = (u64)q->tag << 32 | p->seq;
	return p;
}

/* Marks an entry as pending, after its post was accepted. */
void loop_queue_commit(struct loop_queue *q, struct loop_post *p)
{
	p->pending = true;
	q->head++;
	q->out++;
}

/* Marks a post as completed, with or without an event. */
void loop_post_retire(struct loop_queue *q, struct loop_post *p)
{
	p->pending = false;
	q->out--;
	while (q->tail != q->head && !q->ring[q->tail & q->mask].pending)
		q->tail++;
}

/**
 * loop_queue_take - find the post of a completion
 * @fx: the fixture in which a wrong cookie is noted
 * @q: the queue that the completion belongs to
 * @cookie: of the event
 *
 * Context: under fx->lock.
 * Return: the entry, still pending; NULL if no such post is pending.
 */
struct loop_post *loop_queue_take(struct loop_fixture *fx, struct loop_queue *q, u64 cookie)
{
	u32 seq = (u32)cookie;
	struct loop_post *p = &q->ring[seq & q->mask];

	if (cookie >> 32 != q->tag) {
		loop_fail(fx->c, "%s: completion with cookie %#llx, which is not pending",
			  q->name, cookie);
		return NULL;
	}
	if (p->cookie == cookie && p->pending)
		return p;
	if (seq < q->head)
		loop_fail(fx->c, "%s: post %u completed twice", q->name, seq);
	else
		loop_fail(fx->c, "%s: post %u completed, only %u were posted",
			  q->name, seq, q->head);
	return NULL;
}

/**
 * loop_queue_missing - note the posts that never completed
 * @fx: the fixture in which they are noted
 * @q: the queue
 *
 * Context: under fx->lock.
 */
void loop_queue_missing(struct loop_fixture *fx, struct loop_queue *q)
{
	char list[64];
	int at = 0, shown = 0;
	u32 seq;

	if (!q->ring || !q->out)
		return;
	list[0] = 0;
	for (seq = q->tail; seq != q->head && shown < 6; seq++) {
		if (!q->ring[seq & q->mask].pending)
			continue;
		at += scnprintf(list + at, sizeof(list) - at, " %u", seq);
		shown++;
	}
	loop_fail(fx->c, "%s: %u of %u posts never completed:%s%s", q->name,
		  q->out, q->head, list, q->out > shown ? " ..." : "");
}
