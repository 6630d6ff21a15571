/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites for event queues: an EVD that belongs to no IA, a pool of slots of an
 * endpoint that does not exist, and an upcall that records its calls.
 *
 * The init and exit functions of the suites create and free it in process context. The
 * recorder runs in the context of upcalls, and so do the hooks of a test.
 */
#ifndef _KDAPL_EVENT_KUNIT_H_
#define _KDAPL_EVENT_KUNIT_H_

#include <kunit/test.h>
#include "../kdapl.h"

#define EVT_QLEN	256
#define EVT_SLOTS	64
#define EVT_RECORDS	2048

/* One recorded upcall */
struct evt_record {
	DAT_EVENT event;
	void *instance;
	bool null;			/* it had no event */
	bool more;
	bool bh_off;
	bool deferred;			/* not on the stack of a done callback */
};

/**
 * struct evt - fixture
 * @evd:     the EVD under test, published
 * @ep:      two endpoints that consist of a header only
 * @pool:    a pool for each
 * @n:       number of upcalls so far, recorded in @rec
 * @inside:  number of upcalls that are running, @max_inside its maximum
 * @caller:  task in a call on whose stack no upcall may run
 * @on_stack: upcalls that ran there
 * @bh_on:   upcalls that ran with bottom halves enabled
 * @hook:    called in the upcall, after recording
 * @data:    private data of the test
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
/* The recording upcall, its instance data is the fixture */
void evt_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more);
/* Policy with the recorder as upcall */
void evt_policy(struct evt *evt, DAT_UPCALL_POLICY policy, DAT_UPCALL_FLAG flag);
/* A completed slot of endpoint @which, with this cookie */
struct kdapl_slot *evt_slot(struct evt *evt, unsigned int which, u64 cookie, bool notify);
/* Reports its completion as the done callback does, with bottom halves disabled */
void evt_done(struct evt *evt, struct kdapl_slot *slot);
/* Does both, for a completion of endpoint 0 */
void evt_dto(struct evt *evt, u64 cookie, bool notify);
/* Calls dat_evd_post_se(), and detects upcalls on this stack */
DAT_RETURN evt_post_se(struct evt *evt, u64 value);
/* Waits until no thread delivers and no delivery is scheduled */
void evt_settle(struct evt *evt);
/* Dequeues the oldest event: its cookie or software pointer, or U64_MAX if empty */
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
