// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile cases about messages that invalidate keys which do not belong to their sender:
 * unknown keys, keys of others in the same zone and in another zone, and invalid keys.
 * Process context.
 *
 * Devices differ in what they allow. Soft-RoCE checks only the key and so lets a peer
 * invalidate any registration of the device (adversary_dev.c shows that with plain
 * verbs). In that case the owner must receive an event, and its connection must stay up.
 */
#include <linux/string.h>

#include "adversary.h"

#define AT	1024
#define LEN	128
#define SENT	32	/* bytes of the message */
#define OWN	0x11
#define RIGHTS	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

enum aim { TAG, INDEX, FREED, LMR_NEAR, LMR_FAR, RMR_NEAR, RMR_FAR, UNBOUND, AIMS };

/* The possible results */
enum fate {
	REFUSED,	/* the receive fails, the connection breaks */
	KILLED,		/* if the device allows it: delivered, object invalid, connection breaks */
	IGNORED,	/* or: delivered, no other effect (its MR may stay valid a moment longer) */
};

static const struct {
	const char *what;
	enum fate fate;
} aim[AIMS] = {
	{ "a key with another tag", REFUSED },
	{ "a key of nothing", REFUSED },
	{ "a key that was freed", IGNORED },
	{ "an LMR of the zone", KILLED },
	{ "an LMR of another zone", KILLED },
	{ "a binding of the zone", KILLED },
	{ "a binding of another zone", KILLED },
	{ "a key that was unbound", IGNORED },
};

/* The target, created for each attack: the others keep their own memory */
struct target {
	struct pair_end *e;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
};

static void bind_target(struct target *p, u64 cookie, u32 len)
{
	p->key = pair_bind(p->e, p->rmr, p->e, len ? AT : 0, len, RIGHTS, cookie, 0);
	pair_dto(p->e, DAT_DTO_BIND_MW, cookie, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
}

static void make_target(struct adv *f, enum aim what, struct target *p)
{
	struct loop_case *c = f->d->c;

	*p = (struct target) { .e = f->near, .key = f->near->key };
	if (what == LMR_FAR || what == RMR_FAR)
		p->e = f->far;
	switch (what) {
	case TAG:
		p->key ^= 0x5a;
		break;
	case INDEX:
		p->key += 0x30000000;
		break;
	case FREED:
	case LMR_NEAR:
	case LMR_FAR:
		pair_register(p->e, p->e->pz, AT, LEN, DAT_MEM_PRIV_ALL_FLAG, &p->lmr, &p->context,
			      &p->key);
		break;
	default:
		if (!loop_expect(c, "dat_rmr_create", dat_rmr_create(p->e->pz, &p->rmr),
				 DAT_SUCCESS))
			return;
		bind_target(p, 5, LEN);
		break;
	}
	if (what == FREED) {
		loop_expect(c, "dat_lmr_free", dat_lmr_free(p->lmr), DAT_SUCCESS);
		p->lmr = DAT_HANDLE_NULL;
	} else if (what == UNBOUND) {
		DAT_RMR_CONTEXT key = p->key;

		bind_target(p, 6, 0);
		p->key = key;
	}
}

static void expect_bound(struct adv *f, struct target *p, bool bound)
{
	DAT_RMR_PARAM param = {};

	loop_expect(f->d->c, "dat_rmr_query", dat_rmr_query(p->rmr, DAT_RMR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	if (bound != !!param.rmr_context)
		loop_fail(f->d->c, "dat_rmr_query: unexpected key %#x", param.rmr_context);
}

/* Invalid for its owner too; the owner's other objects still work */
static void expect_killed(struct adv *f, struct target *p)
{
	DAT_LMR_TRIPLET seg = {
		.virtual_address = (uintptr_t)p->e->mem + AT,
		.segment_length = 8,
		.lmr_context = p->context,
	};
	DAT_DTO_COOKIE cookie = {};

	adv_expect_dead(f->d, p->rmr ?: p->lmr);
	if (!p->rmr) {
		loop_expect(f->d->c, "a post in an LMR that is dead",
			    dat_ep_post_send(p->e->ep, 1, &seg, cookie, 0),
			    DAT_PRIVILEGES_VIOLATION);
		return;
	}
	expect_bound(f, p, false);
	bind_target(p, 7, LEN);
	expect_bound(f, p, true);
}

static void free_target(struct adv *f, struct target *p)
{
	if (p->rmr)
		loop_expect(f->d->c, "dat_rmr_free", dat_rmr_free(p->rmr), DAT_SUCCESS);
	if (p->lmr)
		loop_expect(f->d->c, "dat_lmr_free", dat_lmr_free(p->lmr), DAT_SUCCESS);
}

/* The receive's event: what the device did with the message */
static bool delivered(struct adv *f, enum aim what, const struct target *p)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	if (!pair_ok(f->d) || !pair_next(f->d, &f->b->recv, PAIR_UPCALL, "the message", &ev))
		return false;
	dto = &ev.event_data.dto_completion_event_data;
	if (dto->status == DAT_DTO_ERR_REMOTE_RESPONDER)
		return false;
	if (aim[what].fate == REFUSED || dto->status != DAT_DTO_SUCCESS ||
	    dto->operation != DAT_DTO_RECEIVE_WITH_INVALIDATE || dto->user_cookie.as_64 != 1 ||
	    dto->transfered_length != SENT || dto->rmr_context != p->key)
		loop_fail(f->d->c, "status %d, operation %d, cookie %llu, length %u, key %#x",
			  dto->status, dto->operation, dto->user_cookie.as_64,
			  dto->transfered_length, dto->rmr_context);
	if (memchr_inv(f->b->mem + ADV_RECV, OWN, SENT))
		loop_fail(f->d->c, "message: expected all its bytes, some differ");
	return true;
}

/* Soft-RoCE reports success even if the key is unknown */
static void expect_notified(struct adv *f, struct vpeer_req *r)
{
	enum ib_wc_status status = adv_notified(f, r);

	if (status != IB_WC_SUCCESS && status != IB_WC_REM_ACCESS_ERR &&
	    status != IB_WC_REM_INV_REQ_ERR && status != IB_WC_REM_OP_ERR &&
	    status != IB_WC_WR_FLUSH_ERR)
		loop_fail(f->d->c, "the peer's request has unexpected status %d", status);
}

static void try_aim(struct adv *f, enum aim what)
{
	struct vpeer_req *r;
	struct target p;
	bool came;

	adv_recvs(f);
	make_target(f, what, &p);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	r = vpeer_req(f->peer, 0, IB_WR_SEND_WITH_INV, 0, SENT);
	r->rdma.wr.ex.invalidate_rkey = p.key;
	if (vpeer_post(r))
		expect_notified(f, r);
	came = delivered(f, what, &p);
	if (came && aim[what].fate == KILLED) {
		adv_flushed(f, 2, 2);
		adv_broken(f);
		expect_killed(f, &p);
	} else if (came) {
		pair_expect_state(f->b, DAT_EP_STATE_CONNECTED);
		adv_hang_up(f);
		adv_flushed(f, 2, 2);
	} else {
		adv_flushed(f, 2, 2);
		adv_broken(f);
	}
	pair_settle(f->d, 20);
	adv_expect_alive(f, aim[what].what);
	memset(f->b->mem + ADV_RECV, PAIR_FREE, SENT);
	adv_untouched(f, aim[what].what);
	adv_part(f);
	/* Of the same owner, through its other LMR */
	adv_bystanders(f, aim[what].what);
	free_target(f, &p);
}

static void aims_script(struct adv *f)
{
	u32 i;

	for (i = 0; i < AIMS && pair_ok(f->d); i++) {
		try_aim(f, i);
		if (!pair_ok(f->d))
			loop_fail(f->d->c, "that was: %s", aim[i].what);
	}
}

/**
 * loop_case_aims - a peer invalidates keys of others
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_aims(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, aims_script);

	loop_clauses(c, "I-05 I-10 C-30 C-41 C-54 C-60 G-31 G-36");
	return err;
}
