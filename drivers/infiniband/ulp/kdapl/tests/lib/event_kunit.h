/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites about event queues: an EVD that belongs to no IA, pools of slots
 * of endpoints that consist of a header only, and an upcall that records.
 *
 * The init and exit functions of the suites create and free it in process context. The
 * recording upcall and the hook of a test run in the context of an upcall.
 */
#ifndef _KDAPL_EVENT_KUNIT_H_
#define _KDAPL_EVENT_KUNIT_H_

#include <kunit/test.h>
#include "module.h"
#include "pool_count.h"
#include "nap.h"

#define EVT_QLEN	256
#define EVT_SLOTS	64
#define EVT_RECORDS	2048

/* Record of one upcall */
struct evt_record {
	DAT_EVENT event;
	void *instance;
	bool null;			/* called without an event */
	bool more;
	bool bh_off;
	bool deferred;			/* called by a worker, not by a done callback */
};

/**
 * struct evt - fixture
 * @evd:     the EVD under test, published
 * @ep:      two endpoints that consist of a header only
 * @pool:    a pool of slots for each endpoint
 * @n:       number of upcalls so far
 * @inside:  number of upcalls running now
 * @max_inside: maximum of @inside
 * @caller:  task inside a call; no upcall may run on its stack
 * @on_stack: number of upcalls that ran there nevertheless
 * @bh_on:   number of upcalls that ran with bottom halves on
 * @hook:    called by the upcall after recording
 * @data:    for use by the test
 * @rec:     records of the first EVT_RECORDS upcalls
 */
struct evt {
	struct kdapl_evd evd;
	struct kdapl_ep *ep[2];
	struct kdapl_pool pool[2];
	atomic_t n;
	atomic_t inside;
	atomic_t max_inside;
	struct task_struct *caller;
	atomic_t on_stack;
	atomic_t bh_on;
	void (*hook)(struct evt *evt, const DAT_EVENT *event);
	u64 data;
	struct evt_record rec[EVT_RECORDS];
};

int evt_init(struct kunit *test);
void evt_exit(struct kunit *test);
/* The recording upcall; its instance data is the fixture */
void evt_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more);
/* Sets the policy, with the recording upcall */
void evt_policy(struct evt *evt, DAT_UPCALL_POLICY policy, DAT_UPCALL_FLAG flag);
/* Returns a slot of endpoint @which with this cookie, as a completion leaves it */
struct kdapl_slot *evt_slot(struct evt *evt, unsigned int which, u64 cookie, bool notify);
/* Reports its completion like the done callback, with bottom halves off */
void evt_done(struct evt *evt, struct kdapl_slot *slot);
/* Both of them for endpoint 0 */
void evt_dto(struct evt *evt, u64 cookie, bool notify);
/* Calls dat_evd_post_se(), and checks that no upcall runs on this stack */
DAT_RETURN evt_post_se(struct evt *evt, u64 value);
/* Waits until no thread delivers and no delivery is scheduled */
void evt_settle(struct evt *evt);
/* Pops the oldest event; returns its cookie or software pointer, U64_MAX if there is none */
u64 evt_pop(struct evt *evt);

static inline u64 evt_value(const DAT_EVENT *event)
{
	if (event->event_number == DAT_SOFTWARE_EVENT)
		return (unsigned long)event->event_data.software_event_data.pointer;
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static inline unsigned int evt_calls(struct evt *evt)
{
	return atomic_read(&evt->n);
}

#endif /* _KDAPL_EVENT_KUNIT_H_ */
