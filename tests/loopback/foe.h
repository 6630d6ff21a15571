/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the cases of the group "hostile" share: a victim, B, to which a peer of
 * plain verbs connects again and again, and two connections between Consumers,
 * which must not notice: one of the victim's zone, one of another.
 *
 * All of B's memory holds DUO_FREE before each attack, so that each byte that
 * an attack has changed shows, inside of what it aimed at and outside.
 */
#ifndef _KDAPL_LOOP_FOE_H_
#define _KDAPL_LOOP_FOE_H_

#include "bare.h"
#include "duo.h"

struct foe {
	struct duo *d;
	struct duo_end *b;		/* the victim */
	struct duo_end *near;		/* another EP of its zone */
	struct duo_end *far;		/* an EP of another zone */
	struct bare *peer;
};

/* foe.c: process context, the work item of the run. A failure is noted with the case. */

/* Plays a script, with both of the others connected, the victim not */
int foe_play(struct loop_run *run, struct loop_case *c, const struct duo_cfg *cfg,
	     void (*script)(struct foe *f));
/* Two receives of the victim, cookies 1 and 2 */
#define FOE_RECV	256	/* where they are, and how large */
#define FOE_ROOM	64
void foe_recvs(struct foe *f);
/* The peer connects; it tries @rnr times where no receive is posted */
bool foe_meet_rnr(struct foe *f, u8 rnr);
/* One whose receives are those of a shared queue */
bool foe_meet_srq(struct foe *f);
static inline bool foe_meet(struct foe *f)
{
	return foe_meet_rnr(f, BARE_RNR);
}

/* The victim has found out by itself: BROKEN with a cause, and the peer is told */
void foe_broken(struct foe *f);
/* The peer hangs up, and that is all that ends the connection */
void foe_hang_up(struct foe *f);
/* Receives from @cookie to @last are flushed */
void foe_flushed(struct foe *f, u64 cookie, u64 last);
/* The peer is no more, the victim is ready for the next */
void foe_part(struct foe *f);
/* No byte of the victim and of the others has changed */
void foe_untouched(struct foe *f, const char *what);
/* The two others send, write and read, every byte of theirs is looked at */
void foe_others(struct foe *f, const char *what);
/*
 * What the peer is told of a request that the victim's end of the connection may
 * overtake: then nobody answers any more, and that is FLUSHED here
 */
enum ib_wc_status foe_told(struct foe *f, struct bare_req *r);
/* The owner of @victim is told that it is dead */
void foe_expect_dead(struct duo *d, DAT_HANDLE victim);
/*
 * foe_dev.c, on plain verbs: half a message takes a buffer of a shared receive
 * queue, and the connection ends. Returns true if the device loses that buffer.
 */
bool foe_device_loses_buffers(struct loop_run *run, struct loop_case *c);
/* Did nobody say so? */
void foe_expect_alive(struct foe *f, const char *what);

#endif /* _KDAPL_LOOP_FOE_H_ */
