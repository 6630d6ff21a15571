/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of the cases of the group "hostile": a victim, B, to which a plain-verbs peer
 * connects repeatedly, and two connections between Consumers that must not be affected: one in
 * the victim's zone, one in another.
 *
 * Before each attack all of B's memory is filled with PAIR_FREE, so that every byte that an
 * attack has changed is detected.
 */
#ifndef _KDAPL_LOOP_ADVERSARY_H_
#define _KDAPL_LOOP_ADVERSARY_H_

#include "verbs_peer.h"
#include "conn_pair.h"

struct adv {
	struct pair *d;
	struct pair_end *b;		/* the victim */
	struct pair_end *near;		/* another EP of its zone */
	struct pair_end *far;		/* an EP of another zone */
	struct vpeer *peer;
};

/* adversary.c: process context, the work item of the run. A failure is noted with the case. */

/* Runs a script, with the two other connections established, the victim not connected */
int adv_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	     void (*script)(struct adv *f));
/* Two receives of the victim, cookies 1 and 2 */
#define ADV_RECV	256	/* where they are, and how large */
#define ADV_ROOM	64
void adv_recvs(struct adv *f);
/* The peer connects; it tries @rnr times if no receive is posted */
bool adv_meet_rnr(struct adv *f, u8 rnr);
/* A peer whose receives are those of a shared queue */
bool adv_meet_srq(struct adv *f);
static inline bool adv_meet(struct adv *f)
{
	return adv_meet_rnr(f, VPEER_RNR);
}

/* Expects BROKEN with a cause at the victim, and that the peer is notified */
void adv_broken(struct adv *f);
/* The peer disconnects, which must be the only cause of the end */
void adv_hang_up(struct adv *f);
/* Expects that the receives from @cookie to @last are flushed */
void adv_flushed(struct adv *f, u64 cookie, u64 last);
/* Destroys the peer, and resets the victim for the next */
void adv_part(struct adv *f);
/* Expects that no byte of the victim and of the others has changed */
void adv_untouched(struct adv *f, const char *what);
/* The two others send, write and read, and every byte is compared */
void adv_bystanders(struct adv *f, const char *what);
/*
 * The status of a request at the peer. If the victim has ended the connection before, nobody
 * answers the request, and the status is FLUSHED.
 */
enum ib_wc_status adv_notified(struct adv *f, struct vpeer_req *r);
/* Expects the asynchronous event that @victim was invalidated */
void adv_expect_dead(struct pair *d, DAT_HANDLE victim);
/*
 * adversary_dev.c, on plain verbs: half a message consumes a buffer of a shared receive
 * queue, and the connection ends. Returns true if the device loses that buffer.
 */
bool adv_device_loses_buffers(struct loop_run *run, struct loop_case *c);
/* Expects that there is no such event */
void adv_expect_alive(struct adv *f, const char *what);

#endif /* _KDAPL_LOOP_ADVERSARY_H_ */
