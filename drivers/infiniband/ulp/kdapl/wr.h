/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work request slots.
 *
 * A slot holds all that one post needs from the call to the hand-over of its
 * event: the verbs work request with its segments, the Consumer's cookie, and
 * the node that queues its completion on an EVD. Slots are made and
 * preformatted with their EP or SRQ (pool.c); posting fills in what differs
 * (post.c), the completion finds the slot again from wr_cqe (complete.c).
 *
 * Who owns a slot: the free stack; then the call that took it; then the
 * device until done(); then the EVD queue (or the EP's parking list) until
 * its content is copied out. Nobody locks a slot, ownership passes.
 */
#ifndef _KDAPL_WR_H_
#define _KDAPL_WR_H_

#include <rdma/ib_verbs.h>
#include "event.h"

struct kdapl_fast;

/* kdapl_slot.flags: the Consumer's completion flags (DAT_COMPLETION_*) in the low byte, and: */
#define KDAPL_SLOT_SIGNALLED	0x0100	/* raises a CQE also on success */
#define KDAPL_SLOT_RECV		0x0200	/* on a receive queue or an SRQ */
#define KDAPL_SLOT_BINDS	0x0400	/* registers kdapl_slot.fast; and, of an RMR, */
#define KDAPL_SLOT_ENDS		0x0800	/* ends the other MR; alone: ends it */

/* kdapl_slot.state, for the counts of control calls; written by the owner */
enum kdapl_slot_state {
	KDAPL_SLOT_FREE,
	KDAPL_SLOT_POSTED,	/* with the device */
	KDAPL_SLOT_DONE,	/* completed, its event not handed over */
};

/**
 * struct kdapl_slot - one work request from post to hand-over
 * @cqe:     what the completion carries; done is set for good
 * @ev:      node of its completion event; ev.ep is the EP (SRQ: set by done)
 * @cookie:  the Consumer's word
 * @free_next: while free: word of the slot below it on the stack, see pool.h
 * @pool:    where it goes back to
 * @word:    tag and own offset in the pool
 * @run_end: requests: position in the run ring, see struct kdapl_sq
 * @invalidated: receives: key that the peer's message invalidated
 * @flags:   KDAPL_SLOT_*, completion flags
 * @state:   enum kdapl_slot_state
 * @rdma:    the request; @reg one that registers memory; @recv the receive.
 *           sg_list and wr_cqe set for good
 * @fast:    a request that speaks of memory: which; until its completion
 * @rmr:     from then on, of a bind: the RMR, for the event
 * @sge:     room for as many segments as the queue's limit, and for one at least
 */
struct kdapl_slot {
	struct ib_cqe cqe;
	struct kdapl_event ev;
	union {
		u64 cookie;
		u64 free_next;
	};
	struct kdapl_pool *pool;
	u64 word;
	union {
		u32 run_end;
		u32 invalidated;
	};
	u16 flags;
	u8 state;
	u8 unused;	/* written with the two before it, in one store */
	union {
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
		struct ib_recv_wr recv;
	};
	union {
		struct kdapl_fast *fast;
		DAT_RMR_HANDLE rmr;
	};
	struct ib_sge sge[];
};

static inline struct kdapl_slot *kdapl_slot_of_cqe(struct ib_cqe *cqe)
{
	return container_of(cqe, struct kdapl_slot, cqe);
}

static inline struct kdapl_slot *kdapl_slot_of_event(struct kdapl_event *ev)
{
	return container_of(ev, struct kdapl_slot, ev);
}

/*
 * For a request without segments. irdma reads the first entry even if num_sge is 0,
 * and would use the memory that the slot's previous request named there.
 */
static inline void kdapl_slot_no_sge(struct kdapl_slot *slot)
{
	slot->sge[0] = (struct ib_sge){ };
}

#endif /* _KDAPL_WR_H_ */
