/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers shared by the cases of the group "hostile". A plain-verbs peer connects
 * repeatedly to a victim, B. Two other connections between Consumers, one in the victim's
 * zone and one in another zone, must not be affected.
 *
 * All of B's memory holds PAIR_FREE before each attack, so that every byte the attack
 * changes can be seen, inside and outside its target.
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

/* Runs a script; the two other pairs are connected, the victim is not */
int adv_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	     void (*script)(struct adv *f));
/* Two receives of the victim, cookies 1 and 2 */
#define ADV_RECV	256	/* their place and size */
#define ADV_ROOM	64
void adv_recvs(struct adv *f);
/* Connects the peer, with RNR retry count @rnr */
bool adv_meet_rnr(struct adv *f, u8 rnr);
/* Connects a peer that receives from an SRQ */
bool adv_meet_srq(struct adv *f);
static inline bool adv_meet(struct adv *f)
{
	return adv_meet_rnr(f, VPEER_RNR);
}

/* The victim has detected the error: it receives BROKEN with a cause, the peer DISCONNECTED */
void adv_broken(struct adv *f);
/* The peer disconnects; no error has ended the connection before */
void adv_hang_up(struct adv *f);
/* Receives with cookies @cookie to @last are flushed */
void adv_flushed(struct adv *f, u64 cookie, u64 last);
/* Frees the peer and resets the victim for the next attack */
void adv_part(struct adv *f);
/* No byte of the victim and of the others has changed */
void adv_untouched(struct adv *f, const char *what);
/* The two others send, write and read; all of their memory is checked */
void adv_bystanders(struct adv *f, const char *what);
/*
 * The peer's status of a request that may still be unanswered when the victim
 * disconnects: such a request is reported as FLUSHED
 */
enum ib_wc_status adv_notified(struct adv *f, struct vpeer_req *r);
/* The owner of @victim receives the asynchronous event about its invalidation */
void adv_expect_dead(struct pair *d, DAT_HANDLE victim);
/*
 * adversary_dev.c, with plain verbs: a partial message uses a buffer of a shared receive
 * queue, and the connection ends. Returns true if the device loses that buffer.
 */
bool adv_device_loses_buffers(struct loop_run *run, struct loop_case *c);
/* Checks that no asynchronous event came */
void adv_expect_alive(struct adv *f, const char *what);

#endif /* _KDAPL_LOOP_ADVERSARY_H_ */
