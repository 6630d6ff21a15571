// SPDX-License-Identifier: GPL-2.0
/*
 * Posting and completing in the loopback test. A slot is filled, posted and entered in
 * the accounting; when the post completes its bytes are verified and the slot is freed. All
 * of it runs under fx->lock, from the work item and from upcalls.
 */
#include <linux/string.h>

#include "kdapl_loop.h"

/* The key of a message, which determines its bytes. */
u64 loop_key(struct loop_fixture *fx, u32 stream, u32 msg)
{
	return loop_hash(loop_hash(fx->seed, stream), msg);
}

/* Sources and targets of requests, by kind. RDMA uses memory of the peer. */
static struct loop_arena *src_arena(struct loop_side *s, enum loop_kind kind)
{
	return kind == LOOP_K_READ ? s->peer->src : s->src;
}

static struct loop_arena *dst_arena(struct loop_side *s, enum loop_kind kind)
{
	switch (kind) {
	case LOOP_K_WRITE:
		return s->peer->dst;
	case LOOP_K_READ:
		return s->dst;
	default:
		return NULL;
	}
}

static void put_slots(struct loop_side *s, struct loop_post *p)
{
	if (p->src)
		loop_arena_put(src_arena(s, p->kind), p->src);
	if (p->dst)
		loop_arena_put(dst_arena(s, p->kind), p->dst);
}

/*
 * With several segments each message gets a new layout, but memory that a peer reaches by
 * RDMA stays in one piece. Otherwise the layout stays. The pump's messages then all have
 * one length and do not touch the guards, so its targets need no poisoning.
 */
static void prepare_dst(struct loop_fixture *fx, struct loop_arena *ar,
			struct loop_slot *s, u64 seed, bool remote)
{
	if (ar->segs > 1)
		loop_slot_cut(s, s->cap, remote ? 1 : ar->segs, ~seed);
	if (ar->segs > 1 || !fx->pumping)
		loop_slot_poison(s);
}

static void prepare_src(struct loop_arena *ar, struct loop_slot *s, u64 key, u32 len,
			bool remote)
{
	if (ar->segs > 1 || s->cap != len) {
		loop_slot_poison(s);
		loop_slot_cut(s, len, remote ? 1 : ar->segs, key);
	}
	loop_slot_fill(s, key, len);
}

static bool get_slots(struct loop_side *s, struct loop_post *p)
{
	struct loop_arena *src = src_arena(s, p->kind);
	struct loop_arena *dst = dst_arena(s, p->kind);

	p->src = loop_arena_get(src);
	p->dst = NULL;
	if (p->src && dst)
		p->dst = loop_arena_get(dst);
	if (p->src && (p->dst || !dst))
		return true;
	put_slots(s, p);
	return false;
}

static void remote_triplet(struct loop_slot *slot, enum loop_kind kind, u32 len,
			   DAT_RMR_TRIPLET *t)
{
	const struct loop_area *area = &slot->area[0];

	t->virtual_address = area->va +
			     (slot->npieces ? slot->piece[0].off : LOOP_GUARD);
	t->segment_length = kind == LOOP_K_READ ? len : slot->cap;
	t->rmr_context = area->rmr;
}

/* Makes the call and then overwrites the iov, which belongs to the caller again (G-04). */
static DAT_RETURN submit(struct loop_side *s, struct loop_post *p,
			 DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov[LOOP_MAX_SEGS];
	DAT_RMR_TRIPLET remote;
	DAT_DTO_COOKIE cookie = test_cookie(&p->t);
	struct loop_slot *local = p->kind == LOOP_K_READ ? p->dst : p->src;
	u32 n = loop_slot_iov(local, iov);
	DAT_LMR_TRIPLET *list = n ? iov : NULL;
	DAT_RETURN ret;

	if (p->kind == LOOP_K_SEND) {
		ret = dat_ep_post_send(s->ep, n, list, cookie, flags);
	} else if (p->kind == LOOP_K_WRITE) {
		remote_triplet(p->dst, p->kind, p->t.length, &remote);
		ret = dat_ep_post_rdma_write(s->ep, n, list, cookie, &remote, flags);
	} else {
		remote_triplet(p->src, p->kind, p->t.length, &remote);
		ret = dat_ep_post_rdma_read(s->ep, n, list, cookie, &remote, flags);
	}
	memset(iov, 0xff, n * sizeof(*iov));
	memset(&remote, 0xff, sizeof(remote));
	return ret;
}

static struct loop_post *begin(struct test_posts *q, enum loop_kind kind)
{
	static const DAT_DTOS operation[] = {
		[LOOP_K_SEND] = DAT_DTO_SEND,
		[LOOP_K_WRITE] = DAT_DTO_RDMA_WRITE,
		[LOOP_K_READ] = DAT_DTO_RDMA_READ,
		[LOOP_K_RECV] = DAT_DTO_RECEIVE,
	};
	struct loop_post *p = loop_entry(test_post_begin(q));

	if (p) {
		p->t.operation = operation[kind];
		p->kind = kind;
	}
	return p;
}

static void count_post(struct loop_fixture *fx)
{
	fx->c->posts++;
	if (fx->in_upcall)
		fx->c->upcall_posts++;
}

/**
 * loop_post_request - post the next message of a side
 * @s: the side
 * @kind: send, RDMA write or RDMA read
 * @len: of the message, bytes
 * @flags: of the post
 *
 * Context: under fx->lock.
 * Return: the value of the posting call, nothing posted unless DAT_SUCCESS;
 * DAT_INTERNAL_ERROR if the test itself has no free slot.
 */
DAT_RETURN loop_post_request(struct loop_side *s, enum loop_kind kind, u32 len,
			     DAT_COMPLETION_FLAGS flags)
{
	struct loop_fixture *fx = s->fx;
	struct loop_post *p = begin(&s->tx, kind);
	DAT_RETURN ret;

	if (!p)
		return DAT_ERROR(DAT_INTERNAL_ERROR, 0);
	p->t.length = len;
	p->t.suppressed = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	p->msg = kind == LOOP_K_SEND ? s->tx_msgs : test_number(&p->t);
	if (!get_slots(s, p)) {
		test_post_return(&s->tx, &p->t);
		return DAT_ERROR(DAT_INTERNAL_ERROR, 0);
	}
	p->key = loop_key(fx, s->stream + (kind == LOOP_K_SEND ? 0 : 16), p->msg);
	prepare_src(src_arena(s, kind), p->src, p->key, len, kind == LOOP_K_READ);
	if (p->dst)
		prepare_dst(fx, dst_arena(s, kind), p->dst, p->key, kind == LOOP_K_WRITE);
	ret = submit(s, p, flags);
	if (ret != DAT_SUCCESS) {
		test_post_return(&s->tx, &p->t);
		put_slots(s, p);
		return ret;
	}
	if (kind == LOOP_K_SEND)
		s->msg_len[s->tx_msgs++ % ARRAY_SIZE(s->msg_len)] = len;
	count_post(fx);
	fx->c->peak = max(fx->c->peak, s->tx.out);
	return ret;
}

/**
 * loop_post_recv - post the next receive of a side, or of its SRQ
 * @s: the side
 * @flags: of the post, none for an SRQ
 *
 * Context: under fx->lock.
 * Return: see loop_post_request().
 */
DAT_RETURN loop_post_recv(struct loop_side *s, DAT_COMPLETION_FLAGS flags)
{
	struct loop_fixture *fx = s->fx;
	bool shared = s->rx == &fx->srq_rx;
	struct loop_arena *ar = shared ? &fx->srq_dst : s->dst;
	struct loop_post *p = begin(s->rx, LOOP_K_RECV);
	DAT_LMR_TRIPLET iov[LOOP_MAX_SEGS];
	DAT_RETURN ret;
	u32 n;

	if (!p)
		return DAT_ERROR(DAT_INTERNAL_ERROR, 0);
	p->dst = loop_arena_get(ar);
	if (!p->dst) {
		test_post_return(s->rx, &p->t);
		return DAT_ERROR(DAT_INTERNAL_ERROR, 0);
	}
	prepare_dst(fx, ar, p->dst, loop_key(fx, s->stream, test_number(&p->t)), false);
	n = loop_slot_iov(p->dst, iov);
	if (shared)
		ret = dat_srq_post_recv(fx->srq, n, n ? iov : NULL, test_cookie(&p->t));
	else
		ret = dat_ep_post_recv(s->ep, n, n ? iov : NULL, test_cookie(&p->t), flags);
	memset(iov, 0xff, n * sizeof(*iov));
	if (ret != DAT_SUCCESS) {
		test_post_return(s->rx, &p->t);
		loop_arena_put(ar, p->dst);
		return ret;
	}
	count_post(fx);
	return ret;
}

/* Several posts that must all succeed. */
bool loop_post_requests(struct loop_side *s, enum loop_kind kind, u32 n, u32 len,
			DAT_COMPLETION_FLAGS flags)
{
	while (n--)
		if (!loop_expect(s->fx->c, "posting a request",
				 loop_post_request(s, kind, len, flags), DAT_SUCCESS))
			return false;
	return true;
}

bool loop_post_recvs(struct loop_side *s, u32 n, DAT_COMPLETION_FLAGS flags)
{
	while (n--)
		if (!loop_expect(s->fx->c, "posting a receive",
				 loop_post_recv(s, flags), DAT_SUCCESS))
			return false;
	return true;
}

static void note_diff(struct loop_fixture *fx, const char *who, struct loop_post *p,
		      const char *where, const struct loop_diff *d)
{
	loop_fail(fx->c, "%s: message %u, %s: %s at %u is %#04x, expected %#04x",
		  who, p->msg, where, d->what, d->at, d->got, d->want);
}

/**
 * loop_finish_tx - verify the memory of a completed request, and free its slots
 * @s: the side that posted it
 * @p: its entry in the accounting
 * @status: of its completion
 *
 * The source must be unchanged. The target of an RDMA operation must hold the message, or
 * after a failure its guards must be unchanged. The target of a write is checked when the
 * requester's completion has arrived. The device has acknowledged the write by then,
 * which is sufficient on one host with coherent memory. The case "write/then-send" tests
 * what the peer's processor may rely on.
 *
 * Context: under fx->lock.
 */
void loop_finish_tx(struct loop_side *s, struct loop_post *p,
		    DAT_DTO_COMPLETION_STATUS status)
{
	struct loop_fixture *fx = s->fx;
	struct loop_diff d;

	if (!(fx->volatile_src && p->kind == LOOP_K_READ) &&
	    !loop_slot_check(p->src, p->key, p->t.length, &d))
		note_diff(fx, s->tx.name, p, "source", &d);
	if (p->dst && status != DAT_DTO_SUCCESS) {
		if (!loop_slot_guards(p->dst, &d))
			note_diff(fx, s->tx.name, p, "target", &d);
	} else if (p->dst) {
		if (!loop_slot_check(p->dst, p->key, p->t.length, &d))
			note_diff(fx, s->tx.name, p, "target", &d);
		fx->c->messages++;
		fx->c->bytes += p->t.length;
		fx->rx_done++;
	}
	put_slots(s, p);
	fx->tx_done++;
	fx->window_out--;
}

/**
 * loop_finish_rx - verify the message of a completed receive, and free its slot
 * @s: the side that received
 * @p: its entry in the accounting
 * @status: of its completion
 * @len: transfered_length of the event
 *
 * Messages of one connection arrive in the order in which they were sent, so the position
 * of the event determines which message it must be.
 *
 * Context: under fx->lock.
 */
void loop_finish_rx(struct loop_side *s, struct loop_post *p,
		    DAT_DTO_COMPLETION_STATUS status, u32 len)
{
	struct loop_fixture *fx = s->fx;
	bool shared = s->rx == &fx->srq_rx;
	struct loop_side *from = s->peer;
	struct loop_diff d;
	u32 want;

	if (status != DAT_DTO_SUCCESS) {
		if (!loop_slot_guards(p->dst, &d))
			note_diff(fx, s->rx->name, p, "target", &d);
	} else if (s->rx_msgs == from->tx_msgs) {
		loop_fail(fx->c, "%s: a message was received that was not sent", s->rx->name);
	} else {
		p->msg = s->rx_msgs++;
		want = from->msg_len[p->msg % ARRAY_SIZE(from->msg_len)];
		if (len != want)
			loop_fail(fx->c, "%s: message %u has length %u, expected %u",
				  s->rx->name, p->msg, len, want);
		else if (!loop_slot_check(p->dst, loop_key(fx, from->stream, p->msg),
					  len, &d))
			note_diff(fx, s->rx->name, p, "target", &d);
		fx->c->messages++;
		fx->c->bytes += len;
		fx->rx_done++;
		if (fx->on_recv)
			fx->on_recv(fx, s, p->msg);
	}
	loop_arena_put(shared ? &fx->srq_dst : s->dst, p->dst);
}
