// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about kdat_lmr_fmr_sg(): B registers parts of its memory
 * that begin and end inside pages, as I/O buffers do. Its peer A reads and writes exactly
 * these bytes. Process context.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "conn_pair.h"

#define ENTRIES	3

/* Entries of a list, as offset in B's memory and length */
struct part {
	u32 off, len;
};

struct buffers {
	struct pair *d;
	struct pair_end *a, *b;
	DAT_LMR_HANDLE lmr;
	struct scatterlist sg[ENTRIES];
	struct part part[ENTRIES];
	u32 n, length;
	DAT_VADDR address;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
};

static bool begin(struct buffers *p, struct pair *d)
{
	memset(p, 0, sizeof(*p));
	p->d = d;
	p->a = &d->a[0];
	p->b = &d->b[0];
	return loop_expect(d->c, "dat_lmr_allocate",
			   dat_lmr_allocate(d->run->t.ia, p->b->pz, PAIR_MEM / PAGE_SIZE,
					    DAT_LMR_SCOPE_PZ, &p->lmr), DAT_SUCCESS);
}

static void end(struct buffers *p)
{
	loop_expect(p->d->c, "dat_lmr_free", dat_lmr_free(p->lmr), DAT_SUCCESS);
}

static void take_list(struct buffers *p, const struct part *part)
{
	u32 i;

	p->length = 0;
	for (i = 0; i < ENTRIES && part[i].len; i++) {
		p->part[i] = part[i];
		p->length += part[i].len;
	}
	p->n = i;
	sg_init_table(p->sg, p->n);
	for (i = 0; i < p->n; i++)
		sg_set_buf(&p->sg[i], p->b->mem + part[i].off, part[i].len);
	p->address = offset_in_page(p->b->mem + part[0].off);
}

static DAT_RETURN post(struct buffers *p, u64 cookie)
{
	DAT_LMR_COOKIE c = { .as_64 = cookie };

	return kdat_lmr_fmr_sg(p->lmr, p->sg, p->n, DAT_MEM_PRIV_ALL_FLAG, p->b->ep, c, 0,
			       &p->context, &p->key);
}

static void registered(struct buffers *p, const struct part *part, u64 cookie)
{
	DAT_LMR_PARAM param = {};

	take_list(p, part);
	p->d->c->posts++;
	loop_expect(p->d->c, "kdat_lmr_fmr_sg", post(p, cookie), DAT_SUCCESS);
	pair_dto(p->b, DAT_DTO_LMR_FMR, cookie, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	loop_expect(p->d->c, "dat_lmr_query", dat_lmr_query(p->lmr, DAT_LMR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (param.registered_address != p->address || param.registered_size != p->length ||
	    param.rmr_context != p->key || !param.lmr_state.bound)
		loop_fail(p->d->c, "dat_lmr_query: %llu bytes at %#llx, key %#x",
			  param.registered_size, param.registered_address, param.rmr_context);
}

static DAT_RMR_TRIPLET target(const struct buffers *p, s32 off, u32 len)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = p->address + off,
		.segment_length = len,
		.rmr_context = p->key,
	};
}

/* Is the byte at @off of B's memory in the list? Then @at is its place in the buffer */
static bool inside(const struct buffers *p, u32 off, u32 *at)
{
	u32 i;

	for (*at = 0, i = 0; i < p->n; *at += p->part[i++].len)
		if (off - p->part[i].off < p->part[i].len) {
			*at += off - p->part[i].off;
			return true;
		}
	return false;
}

/* B's memory has A's bytes in the list, and nothing has changed beside it */
static void expect_bytes(struct buffers *p, u32 row)
{
	u32 off, at;

	for (off = 0; off < PAIR_MEM; off++) {
		u8 must = inside(p, off, &at) ? p->a->mem[at] : PAIR_FREE;

		if (p->b->mem[off] == must)
			continue;
		loop_fail(p->d->c, "list %u: byte %u is %#x, expected %#x", row, off,
			  p->b->mem[off], must);
		return;
	}
}

/* A writes the whole buffer, and reads it back in two pieces */
static void transfer(struct buffers *p, u32 row)
{
	u32 half = p->length / 2, rest = p->length - half, there = PAIR_MEM / 2;
	DAT_LMR_TRIPLET out = pair_seg(p->a, 0, p->length), in[2];
	DAT_RMR_TRIPLET t = target(p, 0, p->length);

	if (!pair_ok(p->d))
		return;
	pair_clear(p->a);
	pair_clear(p->b);
	pair_fill(p->a, 0, p->length, 3 * row + 1);
	pair_write(p->a, 1, &out, 101, &t, 0);
	pair_dto(p->a, DAT_DTO_RDMA_WRITE, 101, DAT_DTO_SUCCESS, p->length, PAIR_UPCALL);
	expect_bytes(p, row);
	in[0] = pair_seg(p->a, there + half, rest);
	t = target(p, half, rest);
	pair_read(p->a, 1, in, 102, &t, 0);
	pair_dto(p->a, DAT_DTO_RDMA_READ, 102, DAT_DTO_SUCCESS, rest, PAIR_UPCALL);
	if (half) {
		in[1] = pair_seg(p->a, there, half);
		t = target(p, 0, half);
		pair_read(p->a, 1, &in[1], 103, &t, 0);
		pair_dto(p->a, DAT_DTO_RDMA_READ, 103, DAT_DTO_SUCCESS, half, PAIR_UPCALL);
	}
	pair_expect_bytes(p->a, "read by the peer", there, p->length, 3 * row + 1);
}

/* A's message ends the registration: neither end uses the memory any more */
static void ended_by_peer(struct buffers *p, u64 cookie)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = p->address,
		.segment_length = 1,
		.lmr_context = p->context,
	};
	DAT_DTO_COOKIE none = {};
	DAT_LMR_PARAM param = {};

	if (!pair_ok(p->d))
		return;
	pair_recv1(p->b, 0, 64, cookie, 0);
	pair_send_inv(p->a, 8, cookie, true, p->key);
	pair_got_inv(p->b, cookie, 8, p->key);
	pair_dto(p->a, DAT_DTO_SEND, cookie, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
	loop_expect(p->d->c, "dat_lmr_query", dat_lmr_query(p->lmr, DAT_LMR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (param.lmr_state.bound || param.rmr_context)
		loop_fail(p->d->c, "still registered, key %#x", param.rmr_context);
	loop_expect(p->d->c, "a post in memory that is not registered",
		    dat_ep_post_send(p->b->ep, 1, &seg, none, 0), DAT_PRIVILEGES_VIOLATION);
}

static void exact_script(struct pair *d)
{
	static const struct part lists[][ENTRIES] = {
		{ { 100, 300 } },
		{ { 7, 1 } },
		{ { PAGE_SIZE - 7, 13 } },
		{ { 512, PAGE_SIZE - 512 } },
		/* The second page first */
		{ { PAGE_SIZE + 2500, PAGE_SIZE - 2500 }, { 0, 1111 } },
		/* Two entries meet inside a page */
		{ { 1000, 500 }, { 1500, PAGE_SIZE - 1500 }, { PAGE_SIZE, 9 } },
	};
	DAT_RMR_CONTEXT last = 0;
	struct buffers p;
	u32 i;

	if (!begin(&p, d))
		return;
	for (i = 0; i < ARRAY_SIZE(lists) && pair_ok(d); i++) {
		registered(&p, lists[i], i + 1);
		if (p.key == last)
			loop_fail(d->c, "the key of the last registration");
		last = p.key;
		transfer(&p, i);
		ended_by_peer(&p, 50 + i);
	}
	pair_expect_no_event(d, "I/O buffers");
	end(&p);
}

/* Two parts with a gap, and more pages than the LMR has: nothing is posted */
static void refused_script(struct pair *d)
{
	static const struct part gap[ENTRIES] = { { 0, 100 }, { 101, 100 } };
	static const struct part whole[ENTRIES] = { { 0, PAGE_SIZE }, { 0, PAGE_SIZE }, { 0, 1 } };
	struct buffers p;

	if (!begin(&p, d))
		return;
	take_list(&p, gap);
	loop_expect(d->c, "kdat_lmr_fmr_sg with a gap", post(&p, 1), DAT_INVALID_PARAMETER);
	take_list(&p, whole);
	loop_expect(d->c, "kdat_lmr_fmr_sg of too many pages", post(&p, 2),
		    DAT_INVALID_PARAMETER);
	pair_expect_no_event(d, "refused lists");
	end(&p);
}

/* One byte before or after the buffer: no byte moves, and the connection breaks */
static void one_byte_more(struct buffers *p, u32 pair, s32 off, u32 len, bool read)
{
	struct pair_end *a = &p->d->a[pair];
	DAT_RMR_TRIPLET t = target(p, off, len);
	DAT_LMR_TRIPLET seg = pair_seg(a, 0, len);

	if (!pair_ok(p->d))
		return;
	pair_clear(a);
	if (read)
		pair_read(a, 1, &seg, 103, &t, 0);
	else
		pair_write(a, 1, &seg, 103, &t, 0);
	pair_dto(a, read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE, 103,
		 DAT_DTO_ERR_REMOTE_ACCESS, 0, PAIR_UPCALL);
	pair_ended(a, true);
	pair_ended(&p->d->b[pair], false);
	pair_expect_free(a, "beside an I/O buffer", 0, PAIR_MEM);
	pair_expect_free(p->b, "beside an I/O buffer", 0, PAIR_MEM);
}

static void beside_script(struct pair *d)
{
	static const struct part list[ENTRIES] = { { 100, 300 } };
	struct buffers p;

	if (!begin(&p, d))
		return;
	registered(&p, list, 1);
	pair_clear(p.b);
	one_byte_more(&p, 0, -1, 2, false);
	one_byte_more(&p, 1, 299, 2, false);
	one_byte_more(&p, 2, -1, 1, true);
	one_byte_more(&p, 3, 300, 1, true);
	/* It can be freed while it is registered */
	end(&p);
}

/* B binds an RMR to @len bytes at @off of the buffer; length 0 unbinds */
static void bind(struct buffers *p, DAT_RMR_HANDLE rmr, u32 off, u32 len, u64 cookie)
{
	DAT_LMR_TRIPLET range = {
		.virtual_address = p->address + off,
		.segment_length = len,
		.lmr_context = p->context,
	};
	DAT_RMR_COOKIE c = { .as_64 = cookie };
	DAT_RMR_CONTEXT key;

	p->d->c->posts++;
	loop_expect(p->d->c, "dat_rmr_bind",
		    dat_rmr_bind(rmr, p->lmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG |
				 DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, p->b->ep, c, 0,
				 &key), DAT_SUCCESS);
	pair_dto(p->b, DAT_DTO_BIND_MW, cookie, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	if (len)
		p->key = key;
}

static void expect_refused(struct buffers *p, const char *what, DAT_RETURN ret)
{
	if (ret != DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE))
		loop_fail(p->d->c, "%s of an LMR with an RMR: %#x", what, ret);
}

/*
 * A part of a buffer, to which an RMR is bound. The peer ends the registration, but not the
 * binding; then the RMR is unbound, its key is refused, and the LMR can be registered again.
 */
static void part_script(struct pair *d)
{
	static const struct part list[ENTRIES] = { { PAGE_SIZE - 100, 300 } };
	static const struct part inner = { PAGE_SIZE - 50, 120 };
	DAT_LMR_COOKIE cookie = { .as_64 = 9 };
	DAT_RMR_CONTEXT key, buffer;
	DAT_RMR_HANDLE rmr;
	struct buffers p;

	if (!begin(&p, d))
		return;
	if (!loop_expect(d->c, "dat_rmr_create", dat_rmr_create(p.b->pz, &rmr), DAT_SUCCESS)) {
		end(&p);
		return;
	}
	registered(&p, list, 1);
	buffer = p.key;
	bind(&p, rmr, inner.off - list[0].off, inner.len, 2);
	expect_refused(&p, "dat_lmr_invalidate",
		       dat_lmr_invalidate(p.lmr, p.b->ep, cookie, 0));
	expect_refused(&p, "dat_lmr_free", dat_lmr_free(p.lmr));
	key = p.key;
	p.key = buffer;
	ended_by_peer(&p, 3);
	expect_refused(&p, "kdat_lmr_fmr_sg", post(&p, 4));
	/* The peer still reaches the part */
	p.key = key;
	p.address += inner.off - list[0].off;
	p.part[0] = inner;
	p.length = inner.len;
	transfer(&p, 7);
	bind(&p, rmr, 0, 0, 5);
	registered(&p, list, 6);
	p.key = key;
	pair_clear(p.b);
	one_byte_more(&p, 0, 0, 1, false);
	loop_expect(d->c, "dat_rmr_free", dat_rmr_free(rmr), DAT_SUCCESS);
	end(&p);
}

/**
 * loop_case_buffers - a peer reaches exactly the bytes of a scatterlist
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_buffers(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err;

	err = pair_play(run, c, &cfg, exact_script);
	if (!err)
		err = pair_play(run, c, &cfg, refused_script);
	if (!err)
		err = pair_play(run, c, &cfg, part_script);
	cfg.pairs = 4;
	if (!err)
		err = pair_play(run, c, &cfg, beside_script);
	return err;
}
