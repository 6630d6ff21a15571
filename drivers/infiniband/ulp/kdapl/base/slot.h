/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work request slots.
 *
 * A slot holds all that one post needs from the call until its event is delivered: the
 * Consumer's cookie, the node that queues its completion on an EVD, and the verbs work request
 * if it has one segment. A work request with more segments is on the stack of the post, because
 * the driver copies it before the verbs call returns. Slots are allocated and preset together
 * with their EP or SRQ (pool.c). A post fills in the rest (post.c), and the completion finds the
 * slot by wr_cqe (complete.c).
 *
 * A slot has no lock; it has one owner at a time. The owner is the free stack, then the
 * call that has taken the slot, then the device until done() is called, then the queue
 * of the EVD (or the list of parked completions) until the event is copied out.
 */
#ifndef _KDAPL_SLOT_H_
#define _KDAPL_SLOT_H_

#include <rdma/ib_verbs.h>
#include "event_node.h"

struct kdapl_mr;

/* kdapl_slot.ev.flags */
#define KDAPL_SLOT_SUPPRESS	0x01	/* a success has no event */
#define KDAPL_SLOT_SIGNALLED	0x02	/* also a success raises a CQE */
#define KDAPL_SLOT_RECV		0x04	/* on a receive queue or an SRQ */
#define KDAPL_SLOT_REGISTERS	0x08	/* registers kdapl_dto.mr */
/* Invalidates kdapl_dto.mr; together with REGISTERS, the other MR of the RMR */
#define KDAPL_SLOT_INVALIDATES	0x10

/* kdapl_slot.ev.state, for the counts of control calls; written by the owner */
enum kdapl_slot_state {
	KDAPL_SLOT_FREE,
	KDAPL_SLOT_POSTED,	/* with the device */
	KDAPL_SLOT_DONE,	/* completed, its event not delivered */
};

/**
 * struct kdapl_dto - members of DAT_DTO_COMPLETION_EVENT_DATA from user_cookie on
 * @cookie:    the Consumer's cookie
 * @free_next: while the slot is free: word of the slot below it on the stack, see pool.h
 * @status:    DAT_DTO_COMPLETION_STATUS
 * @length:    bytes transferred
 * @mr:        until the completion of a request that registers or invalidates memory: its MR
 * @op:        DAT_DTOS
 * @key:       DAT_DTO_RECEIVE_WITH_INVALIDATE: key that the peer's message invalidated,
 *             otherwise 0
 *
 * The delivery of an event copies it, so its layout is that of the DAT structure.
 */
struct kdapl_dto {
	union {
		u64 cookie;
		u64 free_next;
	};
	union {
		struct {
			u32 status;
			u32 length;
		};
		struct kdapl_mr *mr;
	};
	u32 op;
	u32 key;
};

static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) + sizeof(struct kdapl_dto) ==
	      sizeof(DAT_DTO_COMPLETION_EVENT_DATA));
static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, status) ==
	      offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) +
	      offsetof(struct kdapl_dto, status));
static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length) ==
	      offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) +
	      offsetof(struct kdapl_dto, length));
static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, operation) ==
	      offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) +
	      offsetof(struct kdapl_dto, op));
static_assert(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, rmr_context) ==
	      offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) +
	      offsetof(struct kdapl_dto, key));

/**
 * struct kdapl_slot - one work request, from the post until its event is delivered
 * @cqe:     what the completion carries; done does not change
 * @ev:      node of its completion event; ev.ep is the EP (SRQ: set by done)
 * @dto:     contents of its completion event
 * @word:    tag, and the offset of the slot from the head of its stack, see pool.h
 * @rdma:    a request of one segment; @reg: one that registers memory. sg_list and wr_cqe do
 *           not change
 * @sge:     its segment
 * @rmr:     a bind, after its completion: the RMR, for the event
 * @recv:    a receive of one segment; sg_list and wr_cqe do not change
 * @recv_sge: its segment
 *
 * The slots of receives are shorter than those of requests.
 */
struct kdapl_slot {
	struct ib_cqe cqe;
	struct kdapl_event ev;
	struct kdapl_dto dto;
	u64 word;
	union {
		struct {
			union {
				struct ib_rdma_wr rdma;
				struct ib_reg_wr reg;
			};
			union {
				DAT_RMR_HANDLE rmr;
				struct ib_sge sge;
			};
		};
		struct {
			struct ib_recv_wr recv;
			struct ib_sge recv_sge;
		};
	};
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
 * Begins a post: fills in what the slots of all posts have. Adjacent constants become one store.
 *
 * @op:     DAT_DTOS
 * @notify: the event of a success leads to an upcall
 * @flags:  KDAPL_SLOT_*
 * @state:  POSTED; FREE if the caller releases POSTED later
 * @cookie: the Consumer's
 */
static __always_inline void kdapl_slot_start(struct kdapl_slot *slot, DAT_DTOS op, bool notify,
					     u8 flags, enum kdapl_slot_state state, u64 cookie)
{
	slot->ev.kind = KDAPL_EV_DTO;
	slot->ev.notify = notify;
	slot->ev.flags = flags;
	slot->ev.state = state;
	slot->dto.cookie = cookie;
	slot->dto.status = DAT_DTO_SUCCESS;
	slot->dto.op = op;
	slot->dto.key = 0;
}

/* More segments than any device that kDAPL supports has; the limits of an IA are not higher */
#define KDAPL_MAX_IOV	32

#endif /* _KDAPL_SLOT_H_ */
