// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting of the ledger test: the pending posts and their buffers, and the results
 * of the others.
 *
 * Called by the one thread of the test.
 */
#include <linux/build_bug.h>
#include <linux/string.h>
#include "ledger.h"

#define GUARD_BYTE	0xa5
#define EMPTY_BYTE	0xee
#define ENTRY_BITS	10		/* of a cookie; above are the EP's */
#define EP_BITS		6

static struct entry entries[ENTRIES];
static LIST_HEAD(unused);
static u64 serial;

struct ledger_counts counts;

/* The entries, then for each EP an area for writes and one for reads */
int acct_size(void)
{
	return (ENTRIES + 2 * EPS) * STRIDE;
}

u8 *acct_buffer(const struct entry *e)
{
	return fx.arena + (e - entries) * STRIDE + GUARD;
}

u8 *acct_area(const struct end *end, bool target)
{
	return fx.arena + (ENTRIES + 2 * end->index + target) * STRIDE + GUARD;
}

/* The byte at @i of a message, determined by its first eight */
static u8 pattern(u64 key, u32 i)
{
	return i < 8 ? key >> 8 * i : key * 31 + i;
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

void acct_init(void)
{
	unsigned int i;

	BUILD_BUG_ON(ENTRIES > 1 << ENTRY_BITS || EPS > 1 << EP_BITS);
	INIT_LIST_HEAD(&unused);
	memset(fx.arena, GUARD_BYTE, acct_size());
	for (i = 0; i < ENTRIES; i++) {
		list_add_tail(&entries[i].node, &unused);
		memset(acct_buffer(&entries[i]), EMPTY_BYTE, DATA);
	}
	for (i = 0; i < EPS; i++) {
		fx.end[i].index = i;
		fill(acct_area(&fx.end[i], false), i, DATA);
	}
}

/* A cookie contains entry and EP, and increases; the data contains it, too */
static u64 new_cookie(const struct entry *e, const struct end *end)
{
	return ++serial << (EP_BITS + ENTRY_BITS) | (u64)(end ? end->index : 0) << ENTRY_BITS |
	       (e - entries);
}

static bool is_by(u64 cookie, unsigned int index)
{
	return (cookie >> ENTRY_BITS) % (1 << EP_BITS) == index;
}

static bool is_source(const struct entry *e)
{
	return e->kind == K_SEND || e->kind == K_WRITE;
}

/* An entry for a post of this type, with a buffer; NULL if there is none */
struct entry *acct_take(enum kind kind, struct end *end)
{
	struct entry *e = list_first_entry_or_null(&unused, struct entry, node);

	if (!e)
		return NULL;
	list_del(&e->node);
	e->cookie = new_cookie(e, end);
	e->end = end;
	e->kind = kind;
	e->suppressed = false;
	e->lost = false;
	e->length = ledger_rnd(8) ? 8 + ledger_rnd(DATA - 7) : 0;
	if (memchr_inv(acct_buffer(e), EMPTY_BYTE, DATA))
		test_fail("bytes of an unused buffer were written to");
	if (is_source(e))
		fill(acct_buffer(e), e->cookie, DATA);
	return e;
}

/* The post was refused, or the entry is accounted for */
void acct_drop(struct entry *e)
{
	if (is_source(e) && !holds(acct_buffer(e), e->cookie, DATA))
		test_fail("the source of a message or a write was written to");
	memset(acct_buffer(e), EMPTY_BYTE, DATA);
	e->cookie = 0;
	list_add_tail(&e->node, &unused);
}

/* The post succeeded */
void acct_posted(struct entry *e, struct list_head *queue)
{
	counts.posted[e->kind]++;
	list_add_tail(&e->node, queue);
}

static void retire(struct entry *e)
{
	list_del(&e->node);
	acct_drop(e);
}

/*
 * Checks the bytes of a receive or a read, and those after them. Messages of one connection
 * must arrive in the order of their posts, each once, and from the peer.
 */
static void check_data(struct end *end, const struct entry *e, u32 length)
{
	const u8 *at = acct_buffer(e);
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
		end->wrote = e->cookie;
		end->wrote_length = e->length;
	}
}

/* Requests of this EP before @e, or all, which have an event only if they fail */
static void silent_before(struct end *end, const struct entry *e)
{
	struct entry *at, *next;

	list_for_each_entry_safe(at, next, &end->requests, node) {
		if (at == e)
			return;
		if (!at->suppressed) {
			test_fail("EP %u: a request completed before an earlier one", end->index);
			return;
		}
		counts.suppressed[at->kind]++;
		succeeded(end, at, at->length);
		retire(at);
	}
}

void acct_suppressed(struct end *end)
{
	silent_before(end, NULL);
}

static bool is_of_kind(const struct entry *e, DAT_DTOS operation)
{
	static const DAT_DTOS ops[KINDS] = {
		DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ, DAT_DTO_RECEIVE,
		DAT_DTO_RECEIVE,
	};

	return ops[e->kind] == operation;
}

/*
 * Receives complete in the order of their posts, also those of the SRQ, which only one EP
 * uses. A receive that is skipped has lost its completion. A device may keep the receive of
 * the SRQ that it was filling when a connection ended.
 */
static void check_order(struct end *end, const struct entry *e)
{
	struct list_head *queue = e->kind == K_SRQ ? &fx.srq_recvs : &end->recvs;
	struct entry *at;

	list_for_each_entry(at, queue, node) {
		if (at == e)
			break;
		if (at->lost)
			continue;
		if (e->kind != K_SRQ || !fx.srq_ends) {
			test_fail("EP %u: a receive completed before an earlier one",
				  end->index);
			return;
		}
		fx.srq_ends--;
		at->lost = true;
		counts.swallowed++;
	}
	/* A receive that was kept before would have been skipped now */
	if (e->kind == K_SRQ)
		fx.srq_ends = 0;
}

/* Finds the post of an event */
void acct_event(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct entry *e = &entries[dto->user_cookie.as_64 % (1 << ENTRY_BITS) % ENTRIES];
	struct end *end = fixture_end_of(dto->ep_handle);

	if (!end) {
		test_fail("an event of an EP that was freed");
		return;
	}
	if (e->cookie != dto->user_cookie.as_64 || !is_of_kind(e, dto->operation) ||
	    (e->kind == K_SRQ ? end->index != EPS - 1 : e->end != end)) {
		test_fail("EP %u: cookie %#llx, operation %d: no such post pending", end->index,
			  dto->user_cookie.as_64, dto->operation);
		return;
	}
	if (e->kind < K_RECV)
		silent_before(end, e);
	else
		check_order(end, e);
	if (dto->status == DAT_DTO_SUCCESS) {
		counts.completed[e->kind]++;
		if (e->suppressed)
			test_fail("EP %u: a suppressed success has an event", end->index);
		succeeded(end, e, dto->transfered_length);
	} else {
		counts.flushed[e->kind]++;
	}
	retire(e);
}

/* A free or reset has returned these */
void acct_returned(struct list_head *queue)
{
	struct entry *e, *next;

	list_for_each_entry_safe(e, next, queue, node) {
		/* One that the device has kept was counted already */
		if (!e->lost)
			counts.returned[e->kind]++;
		retire(e);
	}
}

/* Number of pending receives of the SRQ, with or without those that the device keeps */
int acct_srq_out(bool lost)
{
	const struct entry *e;
	int n = 0;

	list_for_each_entry(e, &fx.srq_recvs, node)
		n += lost || !e->lost;
	return n;
}

/* Has this EP a post whose event is missing? */
bool acct_waiting(const struct end *end)
{
	const struct entry *e;

	if (!list_empty(&end->recvs))
		return true;
	list_for_each_entry(e, &end->requests, node)
		if (!e->suppressed)
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
