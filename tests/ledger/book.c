// SPDX-License-Identifier: GPL-2.0
/*
 * The book of the conservation test: which posts are out, in which buffers,
 * and what became of the others.
 *
 * Called by the one thread of the test.
 */
#include <linux/string.h>
#include "ledger.h"

#define GUARD_BYTE	0xa5
#define EMPTY_BYTE	0xee

static struct entry entries[ENTRIES];
static LIST_HEAD(unused);
static u64 serial;

struct ledger_counts counts;

/* Entries first, then each EP's area to be written to and that to be read */
int book_size(void)
{
	return (ENTRIES + 2 * EPS) * STRIDE;
}

u8 *book_buffer(const struct entry *e)
{
	return world.arena + (e - entries) * STRIDE + GUARD;
}

u8 *book_area(const struct end *end, bool target)
{
	return world.arena + (ENTRIES + 2 * end->index + target) * STRIDE + GUARD;
}

/* What the byte at @i of a message is, told by its first eight */
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

void book_init(void)
{
	unsigned int i;

	INIT_LIST_HEAD(&unused);
	memset(world.arena, GUARD_BYTE, book_size());
	for (i = 0; i < ENTRIES; i++)
		list_add_tail(&entries[i].node, &unused);
	for (i = 0; i < EPS; i++) {
		world.end[i].index = i;
		fill(book_area(&world.end[i], false), i, DATA);
	}
}

/* An entry for a post, with a buffer of the kind; NULL if there is none */
struct entry *book_take(enum kind kind, struct end *end)
{
	struct entry *e = list_first_entry_or_null(&unused, struct entry, node);

	if (!e)
		return NULL;
	list_del(&e->node);
	e->cookie = ++serial << 16 | (e - entries);
	e->end = end;
	e->kind = kind;
	e->suppressed = false;
	e->length = ledger_rnd(8) ? 8 + ledger_rnd(DATA - 7) : 0;
	if (kind == K_SEND || kind == K_WRITE)
		fill(book_buffer(e), e->cookie, DATA);
	else
		memset(book_buffer(e), EMPTY_BYTE, DATA);
	return e;
}

/* The post was refused, or the entry is accounted for */
void book_drop(struct entry *e)
{
	e->cookie = 0;
	list_add_tail(&e->node, &unused);
}

/* The post succeeded */
void book_posted(struct entry *e, struct list_head *queue)
{
	counts.posted[e->kind]++;
	list_add_tail(&e->node, queue);
}

static void retire(struct entry *e)
{
	list_del(&e->node);
	book_drop(e);
}

/* Requests of this EP before @e, or all, that had to show only if they failed */
static void silent_before(struct end *end, const struct entry *e)
{
	struct entry *at, *next;

	list_for_each_entry_safe(at, next, &end->requests, node) {
		if (at == e)
			return;
		if (!at->suppressed) {
			ledger_fail("EP %u: a request completed before an earlier one", end->index);
			return;
		}
		counts.suppressed[at->kind]++;
		retire(at);
	}
}

void book_silent(struct end *end)
{
	silent_before(end, NULL);
}

/* The bytes that a receive or a read brought, and those behind them */
static void check_data(const struct entry *e, u32 length)
{
	const u8 *at = book_buffer(e);
	u64 key = 0;

	if (e->kind == K_READ)
		key = e->end->index ^ 1;
	else if (length >= 8)
		memcpy(&key, at, sizeof(key));
	if (length > DATA || (e->kind == K_READ && length != e->length) ||
	    !holds(at, key, length) ||
	    (length < DATA && memchr_inv(at + length, EMPTY_BYTE, DATA - length)))
		ledger_fail("wrong bytes, kind %d, %u long", e->kind, length);
}

static bool is_of_kind(const struct entry *e, DAT_DTOS operation)
{
	static const DAT_DTOS ops[KINDS] = {
		DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ, DAT_DTO_RECEIVE,
		DAT_DTO_RECEIVE,
	};

	return ops[e->kind] == operation;
}

/* An event: whose post was it? */
void book_event(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct entry *e = &entries[(dto->user_cookie.as_64 & 0xffff) % ENTRIES];
	struct end *end = world_end_of(dto->ep_handle);

	if (!end) {
		ledger_fail("an event of an EP that is gone");
		return;
	}
	if (e->cookie != dto->user_cookie.as_64 || !is_of_kind(e, dto->operation) ||
	    (e->kind == K_SRQ ? end->index != EPS - 1 : e->end != end)) {
		ledger_fail("EP %u: cookie %#llx, operation %d: no such post is out", end->index,
			    dto->user_cookie.as_64, dto->operation);
		return;
	}
	if (e->kind < K_RECV)
		silent_before(end, e);
	if (dto->status == DAT_DTO_SUCCESS) {
		counts.completed[e->kind]++;
		if (e->suppressed)
			ledger_fail("EP %u: a suppressed success has an event", end->index);
		if (e->kind >= K_READ)
			check_data(e, dto->transfered_length);
	} else {
		counts.flushed[e->kind]++;
	}
	retire(e);
}

/* A free or reset took these back */
void book_returned(struct list_head *queue)
{
	struct entry *e, *next;

	list_for_each_entry_safe(e, next, queue, node) {
		if (e->kind == K_SRQ)
			counts.swallowed++;
		else
			counts.returned[e->kind]++;
		retire(e);
	}
}

/* Does this EP owe an event? */
bool book_waiting(const struct end *end)
{
	const struct entry *e;

	if (!list_empty(&end->recvs))
		return true;
	list_for_each_entry(e, &end->requests, node)
		if (!e->suppressed)
			return true;
	return false;
}

/* Nothing may be written between the buffers, ever */
void book_check_guards(void)
{
	const u8 *at = world.arena;
	unsigned int i;

	for (i = 0; i < ENTRIES + 2 * EPS; i++, at += STRIDE)
		if (memchr_inv(at, GUARD_BYTE, GUARD) ||
		    memchr_inv(at + GUARD + DATA, GUARD_BYTE, GUARD))
			ledger_fail("bytes around buffer %u were written to", i);
	for (i = 0; i < EPS; i++)
		if (!holds(book_area(&world.end[i], false), i, DATA))
			ledger_fail("the source of reads of EP %u was written to", i);
}

/* Is every post accounted for, and none twice? */
bool book_balanced(void)
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
