// SPDX-License-Identifier: GPL-2.0
/*
 * The loopback test of a thousand EPs. Pairs are made, connected and used one after the
 * other, and all of them stay; then they are closed one after the other. The cost of a
 * pair must not grow with the number of existing pairs. Process context, in the work item
 * of the run.
 *
 * The cost is the number of times that the calls sleep: for a grace period, for another
 * EP, for the device or for a lock. The duration of a sleep depends on the load of the
 * machine, but the number of sleeps does not, because preemption does not count as a
 * sleep. A contended lock adds a sleep, so the pair with the sixth lowest count of a
 * hundred represents them all. The benchmark counts the instructions of a post while a
 * thousand EPs exist (tools/kdapl/bench).
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "kdapl_loop.h"

#define MANY_PAIRS	500
#define MANY_BRIEF	40
#define MANY_SAMPLE	100	/* pairs compared at each end of the range */
#define MANY_LESS	5	/* pairs of a sample with lower counts than its representative */
#define MANY_GROWTH	4	/* sleeps that the last pairs may add to those of the first */
/*
 * In process context each of the two EPs also waits for the work item of its CQ: for two markers
 * and when the CQ is freed. It does not sleep if the work item has already run.
 */
#define MANY_WAITS	6
#define MANY_BYTES	8	/* bytes of a message */
#define MANY_MS		TEST_HANG_MS

enum cost { COST_MAKE, COST_CONNECT, COST_USE, COST_CLOSE, COSTS };

static const char * const cost_name[COSTS] = {
	[COST_MAKE] = "making", [COST_CONNECT] = "connecting", [COST_USE] = "using",
	[COST_CLOSE] = "closing",
};

struct many_pair {
	DAT_EP_HANDLE ep[2];	/* A, B */
	u32 sleeps[COSTS];
};

struct many {
	struct loop_run *run;
	struct loop_case *c;
	DAT_EVD_HANDLE dto, conn;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	u64 *mem;		/* for each pair: sent, received */
	unsigned long own_sleeps;	/* sleeps of the case itself while it waited for events */
	u32 npairs;
	struct many_pair *pair;
};

static bool good(struct many *m)
{
	return !READ_ONCE(m->c->verdict.failures) && !READ_ONCE(m->run->abort);
}

static bool expect_ok(struct many *m, const char *what, DAT_RETURN ret)
{
	return loop_expect(m->c, what, ret, DAT_SUCCESS);
}

static void many_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct many *m = data;

	complete(&m->run->wake);
}

static bool next_event(struct many *m, DAT_EVD_HANDLE evd, const char *what, DAT_EVENT *ev)
{
	unsigned long deadline = test_deadline(MANY_MS);
	unsigned long slept;

	while (good(m)) {
		if (dat_evd_dequeue(evd, ev) == DAT_SUCCESS)
			return true;
		if (time_after(jiffies, deadline))
			loop_fail(m->c, "%s: expected an event, got none", what);
		slept = current->nvcsw;
		wait_for_completion_timeout(&m->run->wake, 1);
		m->own_sleeps += current->nvcsw - slept;
	}
	return false;
}

/* Waits for one event at each end of the pair; no other EP may have one. */
static bool both_ends(struct many *m, const struct many_pair *p, DAT_EVENT_NUMBER number)
{
	DAT_EP_HANDLE seen = DAT_HANDLE_NULL, ep;
	DAT_EVENT ev;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (!next_event(m, m->conn, "connection", &ev))
			return false;
		ep = ev.event_data.connect_event_data.ep_handle;
		if (ev.event_number != number || (ep != p->ep[0] && ep != p->ep[1]) ||
		    ep == seen) {
			loop_fail(m->c, "connection event %#x, expected %#x, or of another EP",
				  ev.event_number, number);
			return false;
		}
		seen = ep;
	}
	return true;
}

static DAT_LMR_TRIPLET piece(struct many *m, u32 i)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)&m->mem[i],
		.segment_length = MANY_BYTES,
		.lmr_context = m->context,
	};
}

static bool make_pair(struct many *m, struct many_pair *p)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = MANY_BYTES,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	u32 i;

	for (i = 0; i < 2; i++)
		if (!expect_ok(m, "dat_ep_create",
			       dat_ep_create(m->run->t.ia, m->run->t.pz, m->dto, m->dto, m->conn,
					     &attr, &p->ep[i])))
			return false;
	return true;
}

static bool connect_pair(struct many *m, struct many_pair *p)
{
	unsigned long slept;
	DAT_CR_HANDLE cr;

	if (!expect_ok(m, "dat_ep_connect",
		       dat_ep_connect(p->ep[0], m->run->t.attr.ia_address_ptr, m->run->qual,
				      DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				      DAT_CONNECT_DEFAULT_FLAG)))
		return false;
	slept = current->nvcsw;
	if (loop_wait_cr(m->run, MANY_MS)) {
		loop_fail(m->c, "expected a connection request, got none");
		return false;
	}
	m->own_sleeps += current->nvcsw - slept;
	cr = m->run->cr;
	WRITE_ONCE(m->run->cr, NULL);
	return expect_ok(m, "dat_cr_accept", dat_cr_accept(cr, p->ep[1], 0, NULL)) &&
	       both_ends(m, p, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* One message from A to B. */
static bool use_pair(struct many *m, struct many_pair *p)
{
	u32 n = p - m->pair, i;
	DAT_DTO_COOKIE cookie = { .as_64 = n };
	DAT_LMR_TRIPLET from = piece(m, 2 * n), to = piece(m, 2 * n + 1);
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	m->mem[2 * n] = loop_hash(m->run->args.seed, n);
	m->mem[2 * n + 1] = 0;
	if (!expect_ok(m, "dat_ep_post_recv", dat_ep_post_recv(p->ep[1], 1, &to, cookie, 0)) ||
	    !expect_ok(m, "dat_ep_post_send", dat_ep_post_send(p->ep[0], 1, &from, cookie, 0)))
		return false;
	m->c->posts += 2;
	for (i = 0; i < 2; i++) {
		if (!next_event(m, m->dto, "completion", &ev))
			return false;
		dto = &ev.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 != n ||
		    dto->ep_handle != p->ep[dto->operation == DAT_DTO_RECEIVE]) {
			loop_fail(m->c, "pair %u: status %d, cookie %llu, or another EP", n,
				  dto->status, dto->user_cookie.as_64);
			return false;
		}
		m->c->completions++;
	}
	if (m->mem[2 * n + 1] != m->mem[2 * n]) {
		loop_fail(m->c, "pair %u: expected the message that was sent, got other bytes", n);
		return false;
	}
	m->c->messages++;
	m->c->bytes += MANY_BYTES;
	return true;
}

static bool close_pair(struct many *m, struct many_pair *p)
{
	u32 i;

	if (!expect_ok(m, "dat_ep_disconnect",
		       dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG)) ||
	    !both_ends(m, p, DAT_CONNECTION_EVENT_DISCONNECTED))
		return false;
	for (i = 0; i < 2; i++) {
		if (!expect_ok(m, "dat_ep_free", dat_ep_free(p->ep[i])))
			return false;
		p->ep[i] = DAT_HANDLE_NULL;
	}
	return true;
}

static bool (* const step[COSTS])(struct many *m, struct many_pair *p) = {
	[COST_MAKE] = make_pair, [COST_CONNECT] = connect_pair, [COST_USE] = use_pair,
	[COST_CLOSE] = close_pair,
};

static bool counted(struct many *m, u32 n, enum cost what)
{
	unsigned long begin = current->nvcsw - m->own_sleeps;
	bool done = step[what](m, &m->pair[n]);

	m->pair[n].sleeps[what] = current->nvcsw - m->own_sleeps - begin;
	return done;
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Number of sleeps of a pair, without contended locks */
static u32 least(struct many *m, u32 from, enum cost what)
{
	u32 sleeps[MANY_SAMPLE], i;

	for (i = 0; i < MANY_SAMPLE; i++)
		sleeps[i] = m->pair[from + i].sleeps[what];
	sort(sleeps, MANY_SAMPLE, sizeof(*sleeps), compare, NULL);
	return sleeps[MANY_LESS];
}

/* Compares the pairs made first, with few others, and last. They are closed from the first. */
static void compare_cost(struct many *m, enum cost what, u32 *n)
{
	u32 last = m->npairs - MANY_SAMPLE;
	bool closing = what == COST_CLOSE;
	u32 few = least(m, closing ? last : 0, what), all = least(m, closing ? 0 : last, what);
	struct loop_case *c = m->c;

	*n += scnprintf(c->reason + *n, sizeof(c->reason) - *n, "%s%s %u/%u",
			*n ? ", " : "sleeps: ", cost_name[what], few, all);
	if (all > few + MANY_GROWTH + (test_upcalls_sleep() ? MANY_WAITS : 0))
		loop_fail(c, "%s sleeps %u times with few EPs, %u times with all",
			  cost_name[what], few, all);
}

static void compare_costs(struct many *m)
{
	u32 n = 0;

	compare_cost(m, COST_MAKE, &n);
	compare_cost(m, COST_CONNECT, &n);
	compare_cost(m, COST_USE, &n);
	compare_cost(m, COST_CLOSE, &n);
}

static bool make_fixture(struct many *m)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = m, .upcall_func = many_upcall };
	size_t size = 2 * m->npairs * sizeof(*m->mem);
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT key;
	DAT_VADDR addr;
	DAT_VLEN len;

	m->pair = kvcalloc(m->npairs, sizeof(*m->pair), GFP_KERNEL);
	m->mem = kzalloc(size, GFP_KERNEL);
	if (!m->pair || !m->mem) {
		loop_fail(m->c, "no memory");
		return false;
	}
	region.for_va = m->mem;
	return expect_ok(m, "dat_evd_kcreate",
			 dat_evd_kcreate(m->run->t.ia, 1, DAT_UPCALL_NOTIFY, &upcall,
					 DAT_EVD_DTO_FLAG, &m->dto)) &&
	       expect_ok(m, "dat_evd_kcreate",
			 dat_evd_kcreate(m->run->t.ia, 1, DAT_UPCALL_NOTIFY, &upcall,
					 DAT_EVD_CONNECTION_FLAG, &m->conn)) &&
	       expect_ok(m, "dat_lmr_kcreate",
			 dat_lmr_kcreate(m->run->t.ia, DAT_MEM_TYPE_VIRTUAL, region, size,
					 m->run->t.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG |
					 DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &m->lmr, &m->context, &key,
					 &len, &addr));
}

static void end_fixture(struct many *m)
{
	u32 i;

	for (i = 0; m->pair && i < 2 * m->npairs; i++)
		if (m->pair[i / 2].ep[i % 2])
			expect_ok(m, "dat_ep_free", dat_ep_free(m->pair[i / 2].ep[i % 2]));
	if (m->lmr)
		expect_ok(m, "dat_lmr_free", dat_lmr_free(m->lmr));
	if (m->dto)
		expect_ok(m, "dat_evd_free", dat_evd_free(m->dto));
	if (m->conn)
		expect_ok(m, "dat_evd_free", dat_evd_free(m->conn));
	kvfree(m->pair);
	kfree(m->mem);
}

/**
 * loop_case_many - a thousand EPs, connected, used and closed
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_many(struct loop_run *run, struct loop_case *c)
{
	struct many m = { .run = run, .c = c };
	enum cost what;
	bool go_on;
	u32 i;

	m.npairs = run->args.brief ? MANY_BRIEF : MANY_PAIRS;
	c->count = m.npairs;
	loop_clauses(c, "C-18 C-15 C-41 C-47");
	reinit_completion(&run->wake);
	go_on = make_fixture(&m);
	for (i = 0; go_on && i < m.npairs; i++)
		for (what = COST_MAKE; go_on && what < COST_CLOSE; what++)
			go_on = counted(&m, i, what);
	for (i = 0; go_on && i < m.npairs; i++)
		go_on = counted(&m, i, COST_CLOSE);
	if (go_on && m.npairs >= 2 * MANY_SAMPLE)
		compare_costs(&m);
	end_fixture(&m);
	return READ_ONCE(run->abort) ? -EINTR : 0;
}
