// SPDX-License-Identifier: GPL-2.0
/*
 * Errors of the loopback test that only a completion can report: the post is accepted,
 * and the device or the peer refuses it. The status must be the one that the contract
 * names, both ends are disconnected once, later posts are flushed, no byte outside the
 * target changes, and the EP keeps its first error. The option --repeat shows how often
 * the status is lost on a loaded machine. Process context.
 */
#include <linux/string.h>

#include "kdapl_loop.h"

/* In the order of add_errors(). */
enum error { ERR_LONG, ERR_KEY, ERR_WRITE, ERR_READ, ERR_REVOKED, ERR_FREED };

#define BEHIND		4	/* sends posted after the request that fails */
#define NO_KEY		0xfedcba98U

/* Frees the first LMR of an arena; its memory stays allocated. */
static void free_lmrs(struct loop_fixture *fx, struct loop_arena *ar)
{
	u32 i;

	for (i = 0; i < ar->nchunks; i++) {
		loop_expect(fx->c, "dat_lmr_free", dat_lmr_free(ar->chunk[i].lmr),
			    DAT_SUCCESS);
		ar->chunk[i].lmr = DAT_HANDLE_NULL;
	}
}

/* Where A looks for the memory of B: at another address, or with an invalid key. */
static void misplace(struct loop_arena *ar, struct loop_arena *other)
{
	u32 i;

	for (i = 0; i < ar->nslots; i++) {
		ar->slot[i].area[0].rmr = other ? other->slot[i].area[0].rmr : NO_KEY;
		if (other)
			ar->slot[i].area[0].va = other->slot[i].area[0].va;
	}
}

static void shorten(struct loop_fixture *fx, struct loop_arena *ar)
{
	u32 i;

	for (i = 0; i < ar->nslots; i++)
		loop_slot_cut(&ar->slot[i], fx->cfg.size / 2, 1, i);
}

static enum loop_kind trap_kind(enum error what)
{
	if (what == ERR_LONG || what == ERR_FREED)
		return LOOP_K_SEND;
	return what == ERR_READ ? LOOP_K_READ : LOOP_K_WRITE;
}

/*
 * B prepares the error. It also posts receives: their flush reports a refused RDMA
 * operation to B at once, so that B's disconnect races with the answer to A.
 */
static void set_trap(struct loop_fixture *fx, enum error what)
{
	struct loop_side *b = &fx->b[0];

	if (what == ERR_LONG)
		shorten(fx, b->dst);
	spin_lock_bh(&fx->lock);
	loop_post_recvs(b, BEHIND, DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
	if (what == ERR_KEY)
		misplace(b->dst, NULL);
	if (what == ERR_WRITE)
		misplace(b->dst, b->src);
	if (what == ERR_READ)
		misplace(b->src, b->dst);
	if (what == ERR_REVOKED || what == ERR_FREED)
		free_lmrs(fx, b->dst);
}

static void spring_trap(struct loop_fixture *fx, enum error what)
{
	struct loop_side *a = &fx->a[0];

	spin_lock_bh(&fx->lock);
	fx->may_end = true;
	fx->may_flush = true;
	fx->may_fail = true;
	loop_post_requests(a, trap_kind(what), 1, fx->cfg.size, DAT_COMPLETION_DEFAULT_FLAG);
	loop_post_requests(a, LOOP_K_SEND, BEHIND, fx->cfg.size, DAT_COMPLETION_DEFAULT_FLAG);
	spin_unlock_bh(&fx->lock);
}

static void expect_status(struct loop_fixture *fx, const char *who, u32 got, u32 want)
{
	if (got != want)
		loop_fail(fx->c, "%s failed with status %u, expected %u", who, got, want);
}

/* Memory that A must not reach is unchanged. */
static void check_untouched(struct loop_fixture *fx, struct loop_arena *ar)
{
	struct loop_diff d;
	u32 i;

	for (i = 0; i < ar->nslots; i++) {
		if (loop_slot_check(&ar->slot[i], 0, 0, &d))
			continue;
		loop_fail(fx->c, "byte %u of a buffer out of reach is %#04x, expected %#04x",
			  d.at, d.got, d.want);
		return;
	}
}

/* A broken EP reports its first error. */
static void check_first_error(struct loop_fixture *fx, struct loop_side *s)
{
	const char *text = NULL;
	DAT_EP_PARAM param = {};
	DAT_COUNT i;

	if (!s->broken)
		return;
	if (!loop_expect(fx->c, "dat_ep_query",
			 dat_ep_query(s->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS))
		return;
	if (param.ep_state != DAT_EP_STATE_DISCONNECTED)
		loop_fail(fx->c, "%s: state %d after the error", s->name, param.ep_state);
	for (i = 0; i < param.ep_attr.ep_provider_specific_count; i++)
		if (!strcmp(param.ep_attr.ep_provider_specific[i].name, "kdapl.first_error"))
			text = param.ep_attr.ep_provider_specific[i].value;
	if (!text || !strcmp(text, "none"))
		loop_fail(fx->c, "%s: kdapl.first_error is %s", s->name,
			  text ? text : "not there");
}

static void check_error(struct loop_fixture *fx, enum error what)
{
	struct loop_side *a = &fx->a[0], *b = &fx->b[0];

	switch (what) {
	case ERR_LONG:
		expect_status(fx, "the send", a->tx_error, DAT_DTO_ERR_REMOTE_RESPONDER);
		expect_status(fx, "the receive", b->rx_error, DAT_DTO_ERR_LOCAL_LENGTH);
		if (!b->broken)
			loop_fail(fx->c, "B ended with DISCONNECTED, expected BROKEN");
		check_first_error(fx, b);
		break;
	case ERR_FREED:
		/* No particular status is guaranteed, but success would be wrong. */
		if (b->rx_msgs)
			loop_fail(fx->c, "receive into a freed LMR: expected a failure, success");
		check_untouched(fx, b->dst);
		return;
	default:
		expect_status(fx, "the request", a->tx_error, DAT_DTO_ERR_REMOTE_ACCESS);
		check_untouched(fx, b->dst);
	}
	if (!a->broken)
		loop_fail(fx->c, "A ended with DISCONNECTED, expected BROKEN");
	check_first_error(fx, a);
}

static int error_round(struct loop_run *run, struct loop_case *c, enum loop_mode mode)
{
	struct loop_cfg cfg = {
		.op = LOOP_SEND,
		.mode = mode,
		.size = c->size,
		.segs = 1,
		.depth = c->depth,
		.conns = 1,
		.both = true,
	};
	struct loop_fixture *fx = loop_fixture_make(run, c, &cfg);
	int err;

	if (!fx)
		return -EIO;
	err = loop_fixture_connect(fx);
	if (!err) {
		set_trap(fx, c->variant);
		spring_trap(fx, c->variant);
		err = loop_fixture_settle(fx);
		check_error(fx, c->variant);
	}
	loop_fixture_end(fx);
	return err;
}

/**
 * loop_case_error - a request that cannot succeed
 * @run: the run
 * @c: the case; its variant is the reason, count the number of attempts
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_error(struct loop_run *run, struct loop_case *c)
{
	static const char * const ids[] = {
		[ERR_LONG] = "S-48 R-20 R-22 G-31 G-36",
		[ERR_KEY] = "W-32 G-31 G-36",
		[ERR_WRITE] = "W-31 G-31 G-36",
		[ERR_READ] = "D-15 G-31 G-36",
		[ERR_REVOKED] = "L-05",
		[ERR_FREED] = "L-05",
	};
	u32 i, fails, bad = 0;
	int err = 0;

	for (i = 0; i < c->count && !err; i++) {
		fails = c->verdict.failures;
		err = error_round(run, c, i & 1 ? LOOP_DEQUEUE : LOOP_UPCALL);
		bad += c->verdict.failures != fails;
	}
	if (bad)
		scnprintf(c->reason, sizeof(c->reason), "%u of %u rounds failed", bad, i);
	loop_clauses(c, ids[c->variant]);
	return err;
}
