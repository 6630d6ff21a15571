// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile cases about keys: a peer writes and reads with keys that are wrong, revoked or
 * belong to others, beyond the ends of its memory, and in a loop while the memory of its
 * key is revoked. Process context; the loops run in softirq.
 */
#include <linux/string.h>

#include "adversary.h"

#define AT		1024	/* offset of the target */
#define LEN		64
#define OWN		0x11	/* fills all of the peer's memory */
#define RIGHTS		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* ---- forged keys ----------------------------------------------------------------- */

enum forgery {
	GOOD, NEIGHBOUR, TAG, INDEX, NONE, ALL, OWN_KEY, FREED, UNBOUND, RIGHT, BOUND_RIGHT,
	FOREIGN, FOREIGN_RMR, FORGERIES,
};

static const char * const forgery_name[FORGERIES] = {
	"its key", "a key of the same zone", "a key with another tag", "a key of nothing",
	"key 0", "key ~0", "a key of the peer's own", "a key that was freed",
	"a key that was unbound", "a key without the right", "a binding without the right",
	"a key of another zone", "a binding of another zone",
};

struct forged {
	struct pair_end *at;		/* the end whose memory is the target */
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
};

/* Bound through an EP that stays connected, in the zone of @by */
static void forge_rmr(struct forged *k, struct pair_end *e, struct pair_end *by,
		      DAT_MEM_PRIV_FLAGS priv, bool unbind)
{
	if (!loop_expect(e->pair->c, "dat_rmr_create", dat_rmr_create(by->pz, &k->rmr),
			 DAT_SUCCESS))
		return;
	k->at = e;
	k->key = pair_bind(e, k->rmr, by, AT, 2 * LEN, priv, 5, 0);
	pair_dto(by, DAT_DTO_BIND_MW, 5, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	if (!unbind)
		return;
	pair_bind(e, k->rmr, by, 0, 0, priv, 6, 0);
	pair_dto(by, DAT_DTO_BIND_MW, 6, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
}

static void forge_lmr(struct forged *k, DAT_MEM_PRIV_FLAGS priv, bool gone)
{
	DAT_LMR_CONTEXT context;

	if (!pair_register(k->at, k->at->pz, AT, 2 * LEN, priv, &k->lmr, &context, &k->key) ||
	    !gone)
		return;
	loop_expect(k->at->pair->c, "dat_lmr_free", dat_lmr_free(k->lmr), DAT_SUCCESS);
	k->lmr = DAT_HANDLE_NULL;
}

static void forge(struct adv *f, enum forgery what, bool read, struct forged *k)
{
	DAT_MEM_PRIV_FLAGS other = read ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
					  DAT_MEM_PRIV_REMOTE_READ_FLAG;

	*k = (struct forged) { .at = f->b, .key = f->b->key };
	switch (what) {
	case NEIGHBOUR:
		k->at = f->near;
		k->key = f->near->key;
		break;
	case TAG:
		k->key ^= 0x5a;
		break;
	case INDEX:
		k->key += 0x30000000;
		break;
	case NONE:
		k->key = 0;
		break;
	case ALL:
		k->key = ~0U;
		break;
	case OWN_KEY:
		k->key = f->peer->pd->local_dma_lkey;
		break;
	case FREED:
		forge_lmr(k, DAT_MEM_PRIV_ALL_FLAG, true);
		break;
	case UNBOUND:
		forge_rmr(k, f->b, f->near, RIGHTS, true);
		break;
	case RIGHT:
		forge_lmr(k, other, false);
		break;
	case BOUND_RIGHT:
		forge_rmr(k, f->b, f->near, other, false);
		break;
	case FOREIGN:
		k->at = f->far;
		k->key = f->far->key;
		break;
	case FOREIGN_RMR:
		forge_rmr(k, f->far, f->far, RIGHTS, false);
		break;
	default:
		break;
	}
}

static void melt(struct adv *f, struct forged *k)
{
	if (k->rmr)
		loop_expect(f->d->c, "dat_rmr_free", dat_rmr_free(k->rmr), DAT_SUCCESS);
	if (k->lmr)
		loop_expect(f->d->c, "dat_lmr_free", dat_lmr_free(k->lmr), DAT_SUCCESS);
}

/* The peer's memory and that of all others are unchanged */
static void expect_nothing(struct adv *f, const char *what)
{
	adv_untouched(f, what);
	if (memchr_inv(f->peer->mem, OWN, VPEER_MEM))
		loop_fail(f->d->c, "%s: the peer has read something", what);
}

/* The statuses a device may return for a refused access */
static void expect_refused(struct adv *f, const char *what, enum ib_wc_status status)
{
	if (status != IB_WC_REM_ACCESS_ERR && status != IB_WC_REM_INV_REQ_ERR)
		loop_fail(f->d->c, "%s: peer's request: status %d, expected %d", what, status,
			  IB_WC_REM_ACCESS_ERR);
	expect_nothing(f, what);
	adv_flushed(f, 1, 2);
	adv_broken(f);
}

static void expect_granted(struct adv *f, const char *what, enum ib_wc_status status, bool read,
			   struct pair_end *at)
{
	if (status != IB_WC_SUCCESS)
		loop_fail(f->d->c, "%s: the peer's request has unexpected status %d", what, status);
	if (read && memchr_inv(f->peer->mem, PAIR_FREE, LEN))
		loop_fail(f->d->c, "%s: the peer has not read it", what);
	if (!read && memchr_inv(at->mem + AT, OWN, LEN))
		loop_fail(f->d->c, "%s: expected it to arrive, it has not", what);
	memset(at->mem + AT, PAIR_FREE, LEN);
	adv_untouched(f, what);
	pair_expect_state(f->b, DAT_EP_STATE_CONNECTED);
	adv_hang_up(f);
	adv_flushed(f, 1, 2);
}

static void try_key(struct adv *f, enum forgery what, bool read)
{
	enum ib_wc_status status;
	struct forged k;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	forge(f, what, read, &k);
	memset(f->peer->mem, OWN, VPEER_MEM);
	if (pair_ok(f->d)) {
		status = vpeer_rdma(f->peer, read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
				    (uintptr_t)k.at->mem + AT, k.key, LEN);
		if (what == GOOD || what == NEIGHBOUR)
			expect_granted(f, forgery_name[what], status, read, k.at);
		else
			expect_refused(f, forgery_name[what], status);
	}
	melt(f, &k);
	adv_part(f);
}

static void keys_script(struct adv *f)
{
	u32 i;

	for (i = 0; i < 2 * FORGERIES && pair_ok(f->d); i++) {
		try_key(f, i / 2, i & 1);
		/* In a short run the others transfer after every other attack only */
		if (!(i & 2) || !f->d->run->args.brief)
			adv_bystanders(f, forgery_name[i / 2]);
		if (!pair_ok(f->d))
			loop_fail(f->d->c, "that was: %s, %s", forgery_name[i / 2],
				  i & 1 ? "read" : "write");
	}
}

/**
 * loop_case_keys - keys that are wrong, revoked, or belong to others
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_keys(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, keys_script);

	loop_clauses(c, "W-30 W-31 W-32 D-15 C-30 C-41 C-52 C-54 C-60 G-31 G-36");
	return err;
}

/* ---- beyond the ends of the memory ----------------------------------------------- */

#define SUB		2048	/* offset and length of the memory granted to the peer */
#define SUB_LEN		1500

/* Number of bytes and start: relative to SUB, except for @plain */
static const struct {
	const char *what;
	s64 off;
	u32 len;
	bool plain;
	bool reads_only;		/* too long for a write */
} beyond[] = {
	{ "the byte after the end", SUB_LEN, 1 },
	{ "a write over the end", SUB_LEN - 8, 16 },
	{ "all and a byte", 0, SUB_LEN + 1 },
	{ "much more than there is", 0, 8192 },
	{ "the byte in front", -1, 1 },
	{ "a byte too early", -1, 16 },
	{ "address 0", 0, 16, true },
	{ "the last address", -16, 16, true },
	{ "a range that wraps", -8, 16, true },
	{ "a gigabyte", 0, SZ_1G, false, true },
};

static void try_beyond(struct adv *f, u32 i, bool read, DAT_RMR_CONTEXT key)
{
	u64 addr = beyond[i].off + (beyond[i].plain ? 0 : (uintptr_t)f->b->mem + SUB);
	struct vpeer_req *r;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	memset(f->peer->mem, OWN, VPEER_MEM);
	r = vpeer_req(f->peer, 0, read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, 0, beyond[i].len);
	vpeer_aim(r, addr, key);
	if (vpeer_post(r))
		expect_refused(f, beyond[i].what, vpeer_wait(r));
	adv_part(f);
}

static void beyond_script(struct adv *f)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	u32 i;

	if (!pair_register(f->b, f->b->pz, SUB, SUB_LEN, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
			   &key))
		return;
	for (i = 0; i < 2 * ARRAY_SIZE(beyond) && pair_ok(f->d); i++) {
		if (beyond[i / 2].reads_only && !(i & 1))
			continue;
		try_beyond(f, i / 2, i & 1, key);
		if (!(i & 2) || !f->d->run->args.brief)
			adv_bystanders(f, beyond[i / 2].what);
		if (!pair_ok(f->d))
			loop_fail(f->d->c, "that was: %s, %s", beyond[i / 2].what,
				  i & 1 ? "read" : "write");
	}
	loop_expect(f->d->c, "dat_lmr_free", dat_lmr_free(lmr), DAT_SUCCESS);
}

/**
 * loop_case_beyond - RDMA beyond the ends of the memory of a key
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_beyond(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, beyond_script);

	loop_clauses(c, "W-32 D-15 C-30 C-41 C-54 C-60 G-31 G-36");
	return err;
}

/* ---- in a loop ------------------------------------------------------------------- */

#define LOOPS		4	/* requests at once */
#define FIRST		0	/* two ranges of the victim's memory, and their length */
#define SECOND		4096
#define RANGE		2000	/* two packets */
#define BYTE		0x22	/* fills the first range */
#define FORBIDDEN	0x33	/* fills the second range */
#define BINDS		32	/* limit; the loops must have ended before */

/*
 * In softirq: the data must be of the first range, then read again. A device may report a
 * read refused half-way as a success (rxe of 6.1), which ends the loop.
 */
static bool read_again(struct vpeer_req *r)
{
	u8 *got = r->b->mem + r->sge[0].addr - r->b->dma;
	u8 *odd = memchr_inv(got, BYTE, RANGE);

	if (odd && (*odd || memchr(got, FORBIDDEN, RANGE)))
		loop_fail(r->b->c, "old key: expected a refusal, it read %#04x after %u reads",
			  *odd, r->rounds);
	if (!odd)
		memset(got, 0, RANGE);
	return !odd;
}

static bool write_again(struct vpeer_req *r)
{
	return true;
}

static void start_loops(struct adv *f, enum ib_wr_opcode op, DAT_RMR_CONTEXT key,
			bool (*again)(struct vpeer_req *r))
{
	struct vpeer_req *r;
	u32 i;

	memset(f->peer->mem, op == IB_WR_RDMA_WRITE ? OWN : 0, VPEER_MEM);
	for (i = 0; i < LOOPS; i++) {
		r = vpeer_req(f->peer, i, op, i * (VPEER_MEM / LOOPS), RANGE);
		vpeer_aim(r, (uintptr_t)f->b->mem + FIRST, key);
		r->again = again;
		vpeer_post(r);
	}
}

/* Waits until each loop has done one more round */
static void wait_rounds(struct adv *f)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);
	u32 i, from[LOOPS];

	for (i = 0; i < LOOPS; i++)
		from[i] = READ_ONCE(f->peer->req[i].rounds);
	for (i = 0; i < LOOPS; i++)
		while (pair_ok(f->d) && READ_ONCE(f->peer->req[i].rounds) == from[i]) {
			if (time_after(jiffies, deadline))
				loop_fail(f->d->c, "loop of the peer: expected progress, none");
			wait_for_completion_timeout(&f->d->run->wake, 1);
		}
}

static bool all_stopped(struct adv *f)
{
	u32 i;

	for (i = 0; i < LOOPS; i++)
		if (!completion_done(&f->peer->req[i].done))
			return false;
	return true;
}

static bool one_refused(struct adv *f)
{
	u32 i;

	for (i = 0; i < LOOPS; i++)
		if (completion_done(&f->peer->req[i].done) &&
		    f->peer->req[i].status == IB_WC_REM_ACCESS_ERR)
			return true;
	return false;
}

/*
 * The refusal and the disconnect of the victim reach the peer on different ways. The refusal was
 * sent first, but on a slow machine the disconnect may be handled first.
 */
static void wait_refused(struct adv *f)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (pair_ok(f->d) && !one_refused(f) && !all_stopped(f) &&
	       time_before(jiffies, deadline))
		wait_for_completion_timeout(&f->d->run->wake, 1);
}

/* Until no request of the loops can be on the way: they ended, or the victim's QP was drained */
static void wait_stopped(struct adv *f)
{
	unsigned long deadline = test_deadline(LOOP_QUIET_MS);

	while (pair_ok(f->d) && !all_stopped(f) &&
	       READ_ONCE(f->peer->last) != RDMA_CM_EVENT_DISCONNECTED) {
		if (time_after(jiffies, deadline))
			loop_fail(f->d->c, "expected the loops of the peer to end, they have not");
		wait_for_completion_timeout(&f->d->run->wake, 1);
	}
}

/*
 * The device has stopped the loops, and one of them reports the reason. A refusal in the
 * middle of a read may not be reported, because the requester may not recognize it (rxe
 * of 6.1).
 */
static void expect_stopped(struct adv *f, const char *what, bool reads)
{
	enum ib_wc_status status;
	u32 i, refused = 0;

	if (!reads)
		wait_refused(f);
	for (i = 0; i < LOOPS && pair_ok(f->d); i++) {
		status = adv_notified(f, &f->peer->req[i]);
		refused += status == IB_WC_REM_ACCESS_ERR;
		if (status != IB_WC_REM_ACCESS_ERR && status != IB_WC_WR_FLUSH_ERR &&
		    !(reads && status == IB_WC_SUCCESS))
			loop_fail(f->d->c, "%s: a loop ends with %d", what, status);
	}
	if (pair_ok(f->d) && !refused && !reads)
		loop_fail(f->d->c, "%s: no loop ended with the expected error", what);
}

static void rebound_once(struct adv *f, DAT_RMR_HANDLE rmr)
{
	struct pair_end *by = f->near;
	DAT_RMR_CONTEXT key;
	u32 i;

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	memset(f->b->mem + FIRST, BYTE, RANGE);
	memset(f->b->mem + SECOND, FORBIDDEN, RANGE);
	key = pair_bind(f->b, rmr, by, FIRST, RANGE, RIGHTS, 1, 0);
	pair_dto(by, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	start_loops(f, IB_WR_RDMA_READ, key, read_again);
	wait_rounds(f);
	adv_bystanders(f, "reads in a loop");
	wait_rounds(f);
	/*
	 * Binds alternately to the two MRs of the RMR, always to the second range. The second bind
	 * maps the first MR anew, and Soft-RoCE reads the mapping without a lock
	 * (tests/rxe/late_packet.c)
	 */
	for (i = 2; i < BINDS && pair_ok(f->d) && !(i > 4 && all_stopped(f)); i++) {
		if (i == 3 && pair_soft(f->d))
			wait_stopped(f);
		pair_bind(f->b, rmr, by, SECOND, RANGE, RIGHTS, i, 0);
		pair_dto(by, DAT_DTO_BIND_MW, i, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	}
	expect_stopped(f, "reads by an old key", true);
	if (memchr(f->peer->mem, FORBIDDEN, VPEER_MEM))
		loop_fail(f->d->c, "expected no byte of the new range at the peer, found some");
	adv_flushed(f, 1, 2);
	adv_broken(f);
	pair_clear(f->b);
	adv_part(f);
}

static void rebound_script(struct adv *f)
{
	DAT_RMR_HANDLE rmr;
	u32 i;

	if (!loop_expect(f->d->c, "dat_rmr_create", dat_rmr_create(f->b->pz, &rmr), DAT_SUCCESS))
		return;
	for (i = 0; i < f->d->c->count && pair_ok(f->d); i++)
		rebound_once(f, rmr);
	adv_bystanders(f, "reads in a loop, and bindings");
	loop_expect(f->d->c, "dat_rmr_free", dat_rmr_free(rmr), DAT_SUCCESS);
}

/**
 * loop_case_rebound - a peer reads in a loop while its RMR is bound elsewhere
 * @run: the run
 * @c: the case; count is the number of rounds
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_rebound(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, rebound_script);

	loop_clauses(c, "B-05 B-24 C-30 C-54 G-31");
	return err;
}

/* Frees or unbinds the memory during the peer's writes; then it must not change any more */
static void revoked_once(struct adv *f, bool bound)
{
	struct forged k = { .at = f->b };
	DAT_LMR_CONTEXT context;
	u32 i, rounds[LOOPS];

	adv_recvs(f);
	if (!adv_meet(f))
		return;
	if (bound) {
		if (loop_expect(f->d->c, "dat_rmr_create", dat_rmr_create(f->b->pz, &k.rmr),
				DAT_SUCCESS))
			k.key = pair_bind(f->b, k.rmr, f->near, FIRST, RANGE, RIGHTS, 3, 0);
		pair_dto(f->near, DAT_DTO_BIND_MW, 3, DAT_DTO_SUCCESS, 0, PAIR_UPCALL);
	} else {
		pair_register(f->b, f->b->pz, FIRST, RANGE, DAT_MEM_PRIV_ALL_FLAG, &k.lmr, &context,
			      &k.key);
	}
	start_loops(f, IB_WR_RDMA_WRITE, k.key, write_again);
	wait_rounds(f);
	adv_bystanders(f, "writes in a loop");
	wait_rounds(f);
	melt(f, &k);
	for (i = 0; i < LOOPS; i++)
		rounds[i] = READ_ONCE(f->peer->req[i].rounds);
	expect_stopped(f, "writes to memory that was taken away", false);
	/* One request may have been in flight; the device checks the key of the next */
	for (i = 0; i < LOOPS && pair_ok(f->d); i++)
		if (f->peer->req[i].rounds > rounds[i] + 1)
			loop_fail(f->d->c, "expected no write to memory that was freed, got %u",
				  f->peer->req[i].rounds - rounds[i]);
	pair_clear(f->b);
	pair_settle(f->d, 20);
	adv_untouched(f, "writes to memory that was taken away");
	adv_flushed(f, 1, 2);
	adv_broken(f);
	adv_part(f);
}

static void revoked_script(struct adv *f)
{
	u32 i;

	for (i = 0; i < f->d->c->count && pair_ok(f->d); i++)
		revoked_once(f, i & 1);
	adv_bystanders(f, "memory taken away");
}

/**
 * loop_case_revoked - a peer writes in a loop while its memory is revoked
 * @run: the run
 * @c: the case; count is the number of rounds
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_revoked(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = {};
	int err = adv_play(run, c, &cfg, revoked_script);

	loop_clauses(c, "B-06 W-32 C-30 C-54 C-60 G-31");
	return err;
}
