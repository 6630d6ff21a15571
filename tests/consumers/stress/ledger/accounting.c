// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting of the ledger test: the pending posts and their buffers, and the results
 * of the others.
 *
 * Called by the one thread of the test.
 */
#include <linux/string.h>
#include "ledger.h"

#define GUARD_BYTE	0xa5
#define EMPTY_BYTE	0xee

/* Of each EP; the last one has no receives of its own */
static struct test_posts requests[EPS], recvs[EPS - 1], srq_recvs;

struct ledger_counts counts;

/* The entries, then for each EP an area for writes and one for reads */
int acct_size(void)
{
	return (ENTRIES + 2 * EPS) * STRIDE;
}

u8 *acct_area(const struct end *end, bool target)
{
	return fx.arena + (ENTRIES + 2 * end->index + target) * STRIDE + GUARD;
}

/* The byte at @i of a message, which its first eight determine */
static u8 pattern(u64 key, u32 i)
{
	return i < 8 ? key >> 8 * i : (key ^ key >> 32) * 31 + i;
}

static void fill(u8 *at, u64 key, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		at[i] = pattern(key, i);
}

static bool holds(const u8 *at, u64 key, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (at[i] != pattern(key, i))
			return false;
	return true;
}

static struct entry *entry_of(struct test_post *t)
{
	return container_of(t, struct entry, t);
}

/* The upper half of a request's cookie. It differs from the tags of receives */
static u32 tag_of(unsigned int index)
{
	return 2 * index + 1;
}

/* Is it the cookie of a request of this EP? The data contains it, too, and it increases */
static bool is_by(u64 cookie, unsigned int index)
{
	return cookie >> 32 == tag_of(index);
}

static int make_queue(struct test_posts *q, u32 tag, u32 slots, const char *name, u8 **at)
{
	int err = test_posts_make(q, tag, slots, sizeof(struct entry), "EP %u %s", tag / 2, name);
	struct entry *e = q->post;
	u32 i;

	for (i = 0; i < slots && !err; i++, *at += STRIDE) {
		e[i].at = *at;
		memset(*at, EMPTY_BYTE, DATA);
	}
	return err;
}

/* Returns 0 or -ENOMEM; acct_exit() follows in both cases */
int acct_init(void)
{
	u8 *at = fx.arena + GUARD;
	unsigned int i;
	int err;

	memset(fx.arena, GUARD_BYTE, acct_size());
	err = make_queue(&srq_recvs, 2 * EPS - 2, SRQ_DEPTH, "SRQ", &at);
	for (i = 0; i < EPS && !err; i++) {
		err = make_queue(&requests[i], tag_of(i), REQUESTS, "requests", &at);
		if (!err && i < EPS - 1)
			err = make_queue(&recvs[i], tag_of(i) - 1, DEPTH, "receives", &at);
		fx.end[i].index = i;
		fill(acct_area(&fx.end[i], false), i, DATA);
	}
	return err;
}

void acct_exit(void)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		test_posts_free(&requests[i]);
	for (i = 0; i < EPS - 1; i++)
		test_posts_free(&recvs[i]);
	test_posts_free(&srq_recvs);
}

/* The queues of an EP */
void acct_init_end(struct end *end)
{
	end->requests = &requests[end->index];
	end->recvs = end->index == EPS - 1 ? &srq_recvs : &recvs[end->index];
}

static bool is_source(const struct entry *e)
{
	return e->kind == K_SEND || e->kind == K_WRITE;
}

/* An entry for a post of this type; NULL if there is none */
struct entry *acct_take(enum kind kind, struct end *end)
{
	static const DAT_DTOS ops[KINDS] = {
		DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ, DAT_DTO_RECEIVE,
		DAT_DTO_RECEIVE,
	};
	struct test_post *t = test_post_begin(kind < K_RECV ? end->requests : end->recvs);
	struct entry *e;

	if (!t)
		return NULL;
	e = entry_of(t);
	e->kind = kind;
	e->lost = false;
	e->length = ledger_rnd(8) ? 8 + ledger_rnd(DATA - 7) : 0;
	t->operation = ops[kind];
	if (memchr_inv(e->at, EMPTY_BYTE, DATA))
		test_fail("bytes of an unused buffer were written to");
	if (is_source(e))
		fill(e->at, t->cookie, DATA);
	counts.posted[kind]++;
	return e;
}

/* The entry is accounted for */
static void drop(struct entry *e)
{
	if (is_source(e) && !holds(e->at, e->t.cookie, DATA))
		test_fail("the source of a message or a write was written to");
	memset(e->at, EMPTY_BYTE, DATA);
}

/* The post was refused */
void acct_refused(struct end *end, struct entry *e)
{
	counts.posted[e->kind]--;
	test_post_return(e->kind < K_RECV ? end->requests : end->recvs, &e->t);
	drop(e);
}

/*
 * Checks the bytes of a receive or a read, and those after them. Messages of one connection
 * must arrive in the order of their posts, each once, and from the peer.
 */
static void check_data(struct end *end, const struct entry *e, u32 length)
{
	const u8 *at = e->at;
	u64 key = end->index ^ 1;

	if (e->kind != K_READ && length >= 8) {
		memcpy(&key, at, sizeof(key));
		if (!is_by(key, end->index ^ 1) || key <= end->last_key)
			test_fail("EP %u has received %#llx after %#llx", end->index, key,
				  end->last_key);
		end->last_key = key;
	}
	if (length > DATA || (e->kind == K_READ && length != e->length) ||
	    !holds(at, key, length) ||
	    (length < DATA && memchr_inv(at + length, EMPTY_BYTE, DATA - length)))
		test_fail("wrong bytes, kind %d, %u long", e->kind, length);
}

/* With an event, or without; @length: of the event, or of the request */
static void succeeded(struct end *end, const struct entry *e, u32 length)
{
	if (e->kind >= K_READ)
		check_data(end, e, length);
	if (e->kind >= K_RECV)
		end->received++;
	if (e->kind == K_SEND)
		end->sent++;
	if (e->kind == K_WRITE && e->length) {
		end->wrote = e->t.cookie;
		end->wrote_length = e->length;
	}
}

/* Requests of this EP before @t, or all, which have an event only if they fail */
static void silent_before(struct end *end, const struct test_post *t)
{
	struct test_post *at;

	while ((at = test_posts_silent(end->requests, t))) {
		struct entry *e = entry_of(at);

		counts.suppressed[e->kind]++;
		succeeded(end, e, e->length);
		drop(e);
	}
}

void acct_suppressed(struct end *end)
{
	silent_before(end, NULL);
}

/*
 * Only one EP uses the SRQ, so its receives complete in the order of their posts, too. But a
 * device may keep the receive that it was filling when a connection ended.
 */
static void check_srq_order(const struct test_post *t)
{
	struct test_post *at = NULL;

	while ((at = test_posts_next(&srq_recvs, at)) && test_number(at) < test_number(t)) {
		if (entry_of(at)->lost)
			continue;
		if (!fx.srq_ends) {
			test_fail("SRQ: receive %u: a later one completed before it",
				  test_number(at));
			return;
		}
		fx.srq_ends--;
		entry_of(at)->lost = true;
		counts.swallowed++;
	}
	/* A receive that was kept before would have been skipped now */
	fx.srq_ends = 0;
}

/* Finds the post of an event */
void acct_event(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct end *end = fixture_end_of(dto->ep_handle);
	struct test_post *t;
	struct entry *e;

	if (!end || !end->requests) {
		test_fail("an event of an EP that was freed, or has no posts");
		return;
	}
	t = test_posts_complete(dto->operation == DAT_DTO_RECEIVE ? end->recvs : end->requests,
				dto);
	if (!t)
		return;
	e = entry_of(t);
	if (e->kind < K_RECV)
		silent_before(end, t);
	else if (e->kind == K_RECV)
		test_posts_silent(end->recvs, t);
	else
		check_srq_order(t);
	if (dto->status == DAT_DTO_SUCCESS) {
		counts.completed[e->kind]++;
		succeeded(end, e, dto->transfered_length);
	} else {
		counts.flushed[e->kind]++;
	}
	drop(e);
}

/* A free or reset has returned these */
void acct_returned(struct test_posts *q)
{
	struct test_post *t = NULL;

	while ((t = test_posts_next(q, t))) {
		/* One that the device has kept was counted already */
		if (!entry_of(t)->lost)
			counts.returned[entry_of(t)->kind]++;
		test_post_return(q, t);
		drop(entry_of(t));
	}
}

/* Number of pending receives of the SRQ, with or without those that the device keeps */
int acct_srq_out(bool lost)
{
	struct test_post *t = NULL;
	int n = 0;

	while ((t = test_posts_next(&srq_recvs, t)))
		n += lost || !entry_of(t)->lost;
	return n;
}

/* Has this EP a post whose event is missing? */
bool acct_waiting(const struct end *end)
{
	struct test_post *t = NULL;

	/* The free of the SRQ returns its receives */
	if (end->index != EPS - 1 && end->recvs->out)
		return true;
	while ((t = test_posts_next(end->requests, t)))
		if (!t->suppressed)
			return true;
	return false;
}

/*
 * After all requests of this EP: the area of its peer must contain its last successful write,
 * or a later one that has arrived although it failed.
 */
void acct_check_written(const struct end *end)
{
	const u8 *at = acct_area(&fx.end[end->index ^ 1], true);
	u64 key;

	if (!end->wrote)
		return;
	memcpy(&key, at, sizeof(key));
	if (key < end->wrote || !is_by(key, end->index) ||
	    (key == end->wrote && !holds(at, key, end->wrote_length)))
		test_fail("EP %u has written %#llx, its peer's memory has %#llx", end->index,
			  end->wrote, key);
	counts.writes_seen += key == end->wrote;
}

/* The bytes between the buffers must never change */
void acct_check_guards(void)
{
	const u8 *at = fx.arena;
	unsigned int i;

	for (i = 0; i < ENTRIES + 2 * EPS; i++, at += STRIDE)
		if (memchr_inv(at, GUARD_BYTE, GUARD) ||
		    memchr_inv(at + GUARD + DATA, GUARD_BYTE, GUARD))
			test_fail("bytes around buffer %u were written to", i);
	for (i = 0; i < EPS; i++)
		if (!holds(acct_area(&fx.end[i], false), i, DATA))
			test_fail("the source of reads of EP %u was written to", i);
}

/* Is every post accounted for, and none twice? */
bool acct_balanced(void)
{
	unsigned int k;
	u64 sum;

	for (k = 0; k < KINDS; k++) {
		sum = counts.completed[k] + counts.flushed[k] + counts.suppressed[k] +
		      counts.returned[k] + (k == K_SRQ ? counts.swallowed : 0);
		if (sum != counts.posted[k])
			return false;
	}
	return true;
}
