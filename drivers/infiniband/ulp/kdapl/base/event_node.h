/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The node that queues an event on an EVD. It is part of the object that the event is
 * about, which may be a slot (slot.h), so it belongs to a lower layer than the EVD.
 */
#ifndef _KDAPL_BASE_EVENT_NODE_H_
#define _KDAPL_BASE_EVENT_NODE_H_

#include <linux/types.h>
#include <dat/kdat.h>

struct kdapl_ep;

enum kdapl_event_kind {
	KDAPL_EV_DTO,		/* node in a kdapl_slot */
	KDAPL_EV_BIND,		/* likewise, delivered as DAT_RMR_BIND_COMPLETION_EVENT */
	KDAPL_EV_CONN,		/* node in a kdapl_conn_event, in the EP */
	KDAPL_EV_CR,		/* node in a kdapl_cr */
	KDAPL_EV_SOFT,		/* node in a kdapl_ring_event */
	KDAPL_EV_ASYNC,		/* likewise */
};

/* Values of kdapl_event.notify: marked; marked, and the last event of the latest marking */
#define KDAPL_NOTIFY		1
#define KDAPL_NOTIFY_LAST	2

/**
 * struct kdapl_event - node of an event
 * @next:   the next younger event; guarded by the lock of the EVD, or of the EP while
 *          it is parked
 * @ep:     the EP it belongs to, or NULL; dat_ep_free() removes the events of its EP
 * @kind:   enum kdapl_event_kind
 * @notify: the event leads to an upcall; KDAPL_NOTIFY_LAST in the queued event that
 *          kdapl_evd.marked points to
 * @flags:  slot: KDAPL_SLOT_*; this and the following two belong to slots (slot.h), and
 *          are here because a post writes them together with the two before
 * @state:  slot: enum kdapl_slot_state
 * @what:   kind and notify together; @bits all four
 * @run_end: slot of a request: position in the run ring, see struct kdapl_sq
 */
struct kdapl_event {
	struct kdapl_event *next;
	struct kdapl_ep *ep;
	union {
		struct {
			union {
				struct {
					u8 kind;
					u8 notify;
				};
				u16 what;
			};
			u8 flags;
			u8 state;
		};
		u32 bits;
	};
	u32 run_end;
};

static_assert(offsetof(struct kdapl_event, state) == offsetof(struct kdapl_event, bits) + 3);
static_assert(offsetof(struct kdapl_event, notify) == offsetof(struct kdapl_event, what) + 1);

/* Returns true if the event has these values. One comparison, if they are constants */
static __always_inline bool kdapl_event_is(const struct kdapl_event *ev, u8 kind, u8 notify,
					   u8 flags, u8 state)
{
	const struct kdapl_event want = {
		.kind = kind,
		.notify = notify,
		.flags = flags,
		.state = state,
	};

	return ev->bits == want.bits;
}

/* Returns true if a DTO completion asks for an upcall. This also takes one comparison */
static __always_inline bool kdapl_event_is_dto(const struct kdapl_event *ev)
{
	const struct kdapl_event want = { .kind = KDAPL_EV_DTO, .notify = KDAPL_NOTIFY };

	return ev->what == want.what;
}

#endif /* _KDAPL_BASE_EVENT_NODE_H_ */
