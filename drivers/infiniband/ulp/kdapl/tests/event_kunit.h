/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites over event queues share: an EVD that belongs to no IA, a
 * pool of slots of an endpoint that is not there, and an upcall that records.
 *
 * Made and freed by the suites' init and exit, in process context. The
 * recorder runs where upcalls run, and so do the hooks that a test gives it.
 */
#ifndef _KDAPL_EVENT_KUNIT_H_
#define _KDAPL_EVENT_KUNIT_H_

#include <kunit/test.h>
#include "../kdapl.h"

#define EVT_QLEN	256
#define EVT_SLOTS	64
#define EVT_RECORDS	2048

/* One upcall, as it was seen */
struct evt_record {
	DAT_EVENT event;
	void *instance;
	bool null;			/* no event came with it */
	bool more;
	bool bh_off;
	bool deferred;			/* on another stack than a done callback's */
};

/**
 * struct evt - fixture
 * @evd:     the EVD under test, published
 * @ep:      two endpoints that consist of a header only
 * @pool:    a pool for each
 * @n:       upcalls so far, @rec what they saw
 * @inside:  upcalls running now, @max_inside the most ever
 * @caller:  task inside a call on whose stack no upcall may run
 * @on_stack: upcalls that ran there all the same
 * @bh_on:   upcalls that ran with bottom halves on
 * @hook:    called in the upcall, after recording
 * @data:    the test's
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
/* A slot of endpoint @which as a completion leaves it, with this cookie */
struct kdapl_slot *evt_slot(struct evt *evt, unsigned int which, u64 cookie, bool notify);
/* Its completion as the done callback reports it, bottom halves off */
void evt_done(struct evt *evt, struct kdapl_slot *slot);
/* Both: a completion of endpoint 0 */
void evt_dto(struct evt *evt, u64 cookie, bool notify);
/* dat_evd_post_se(), watched for upcalls on this stack */
DAT_RETURN evt_post_se(struct evt *evt, u64 value);
/* Until nobody delivers and nobody is going to */
void evt_settle(struct evt *evt);
/* What the oldest event carries (cookie or software pointer), or U64_MAX when empty */
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
