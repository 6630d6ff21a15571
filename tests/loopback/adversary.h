/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of the group "hostile" share: a victim, B, to which a peer of
 * plain verbs connects again and again, and two connections between Consumers,
 * which must not notice: one of the victim's zone, one of another.
 *
 * All of B's memory holds PAIR_FREE before each attack, so that each byte that
 * an attack has changed shows, inside of what it aimed at and outside.
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

/* Plays a script, with both of the others connected, the victim not */
int adv_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	     void (*script)(struct adv *f));
/* Two receives of the victim, cookies 1 and 2 */
#define ADV_RECV	256	/* where they are, and how large */
#define ADV_ROOM	64
void adv_recvs(struct adv *f);
/* The peer connects; it tries @rnr times where no receive is posted */
bool adv_meet_rnr(struct adv *f, u8 rnr);
/* One whose receives are those of a shared queue */
bool adv_meet_srq(struct adv *f);
static inline bool adv_meet(struct adv *f)
{
	return adv_meet_rnr(f, VPEER_RNR);
}

/* The victim has found out by itself: BROKEN with a cause, and the peer is told */
void adv_broken(struct adv *f);
/* The peer hangs up, and that is all that ends the connection */
void adv_hang_up(struct adv *f);
/* Receives from @cookie to @last are flushed */
void adv_flushed(struct adv *f, u64 cookie, u64 last);
/* The peer is no more, the victim is ready for the next */
void adv_part(struct adv *f);
/* No byte of the victim and of the others has changed */
void adv_untouched(struct adv *f, const char *what);
/* The two others send, write and read, every byte of theirs is looked at */
void adv_bystanders(struct adv *f, const char *what);
/*
 * What the peer is told of a request that the victim's end of the connection may
 * overtake: then nobody answers any more, and that is FLUSHED here
 */
enum ib_wc_status adv_notified(struct adv *f, struct vpeer_req *r);
/* The owner of @victim is told that it is dead */
void adv_expect_dead(struct pair *d, DAT_HANDLE victim);
/*
 * adversary_dev.c, on plain verbs: half a message takes a buffer of a shared receive
 * queue, and the connection ends. Returns true if the device loses that buffer.
 */
bool adv_device_loses_buffers(struct loop_run *run, struct loop_case *c);
/* Did nobody say so? */
void adv_expect_alive(struct adv *f, const char *what);

#endif /* _KDAPL_LOOP_ADVERSARY_H_ */
