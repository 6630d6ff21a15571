/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work request slots.
 *
 * A slot holds all that one post needs from the call until its event is delivered: the
 * verbs work request with its segments, the Consumer's cookie, and the node that
 * queues its completion on an EVD. Slots are allocated and preset together with their
 * EP or SRQ (pool.c). A post fills in the rest (post.c), and the completion finds the
 * slot by wr_cqe (complete.c).
 *
 * A slot has no lock; it has one owner at a time. The owner is the free stack, then the
 * call that has taken the slot, then the device until done() is called, then the queue
 * of the EVD (or the list of parked completions) until the event is copied out.
 */
#ifndef _KDAPL_WR_H_
#define _KDAPL_WR_H_

#include <rdma/ib_verbs.h>
#include "event_node.h"

struct kdapl_mr;

/* kdapl_slot.flags: the Consumer's completion flags (DAT_COMPLETION_*) in the low byte, and: */
#define KDAPL_SLOT_SIGNALLED	0x0100	/* also a success raises a CQE */
#define KDAPL_SLOT_RECV		0x0200	/* on a receive queue or an SRQ */
#define KDAPL_SLOT_REGISTERS	0x0400	/* registers kdapl_slot.mr */
/* Invalidates kdapl_slot.mr; together with REGISTERS, the other MR of the RMR */
#define KDAPL_SLOT_INVALIDATES	0x0800

/* kdapl_slot.state, for the counts of control calls; written by the owner */
enum kdapl_slot_state {
	KDAPL_SLOT_FREE,
	KDAPL_SLOT_POSTED,	/* with the device */
	KDAPL_SLOT_DONE,	/* completed, its event not delivered */
};

/**
 * struct kdapl_slot - one work request, from the post until its event is delivered
 * @cqe:     what the completion carries; done does not change
 * @ev:      node of its completion event; ev.ep is the EP (SRQ: set by done)
 * @cookie:  the Consumer's cookie
 * @free_next: while free: word of the slot below it on the stack, see pool.h
 * @pool:    the pool it belongs to
 * @word:    tag, and the offset of the slot in the pool
 * @run_end: requests: position in the run ring, see struct kdapl_sq
 * @invalidated: receives: key that the peer's message has invalidated
 * @flags:   KDAPL_SLOT_*, completion flags
 * @state:   enum kdapl_slot_state
 * @rdma:    the request; @reg: one that registers memory; @recv: the receive.
 *           sg_list and wr_cqe do not change
 * @mr:      the MR that the request registers or invalidates, until it completes
 * @rmr:     a bind, after its completion: the RMR, for the event
 * @sge:     room for as many segments as the limit of the queue, and at least one
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
	u8 unused;	/* written together with the two before it, in one store */
	union {
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
		struct ib_recv_wr recv;
	};
	union {
		struct kdapl_mr *mr;
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
