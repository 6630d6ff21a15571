// SPDX-License-Identifier: GPL-2.0
/*
 * A Consumer that holds one object of each type while its device is removed.
 *
 * Loading the module opens an IA, connects two EPs and fills their queues. It
 * also creates a third EP, which stays unconnected and has receives, a service
 * point, and an SRQ with buffers. The selftest then removes the device and reads
 * debugfs kdapl_removal/check. The read checks the events that the Consumer has
 * received, makes the calls that must still work, closes the IA, and prints TAP.
 * The module uses the public API only.
 *
 * Everything runs in process context; dat_evd_dequeue() takes the events.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "kdapl_test.h"

#define QUAL		7471
#define DEPTH		32
#define BUFFER		4096
#define EVENT_WAIT_MS	10000

enum { ACTIVE, PASSIVE, IDLE, NR_EPS };

struct held_ep {
	DAT_EP_HANDLE ep;
	struct test_posts recvs, requests;
	unsigned int ends;		/* DISCONNECTED or BROKEN */
	unsigned int other;		/* any other connection event after ESTABLISHED */
	bool established;
};

static struct {
	struct test_fixture t;
	DAT_SRQ_HANDLE srq;
	struct held_ep eps[NR_EPS];
	unsigned int catastrophic;
	u8 *buffer;
} held;

static struct dentry *dir;

static DAT_RETURN post(struct held_ep *h, bool request)
{
	struct test_post *p = test_post_begin(request ? &h->requests : &h->recvs);
	DAT_LMR_TRIPLET seg = kdat_local(&held.t.mem, 0, 64);

	if (!p)
		return DAT_INTERNAL_ERROR;
	if (request)
		return dat_ep_post_send(h->ep, 1, &seg, test_cookie(p), 0);
	return dat_ep_post_recv(h->ep, 1, &seg, test_cookie(p), 0);
}

static struct held_ep *find_ep(DAT_EP_HANDLE handle)
{
	unsigned int i;

	for (i = 0; i < NR_EPS; i++)
		if (held.eps[i].ep == handle)
			return &held.eps[i];
	return NULL;
}

static void take_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct held_ep *h = find_ep(dto->ep_handle);

	if (!h) {
		test_fail("completion: expected one of the EPs, got another");
		return;
	}
	test_posts_complete(dto->operation == DAT_DTO_RECEIVE ? &h->recvs : &h->requests, dto);
}

static void take_conn(const DAT_EVENT *event)
{
	struct held_ep *h = find_ep(event->event_data.connect_event_data.ep_handle);

	if (!h) {
		test_fail("connection event %#x: expected one of the EPs, got another",
			  event->event_number);
		return;
	}
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		h->established = true;
	else if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		 event->event_number == DAT_CONNECTION_EVENT_BROKEN)
		h->ends++;
	else
		h->other++;
}

/* Takes all events from the EVDs */
static void take_events(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(held.t.dto, &event) == DAT_SUCCESS)
		take_dto(&event.event_data.dto_completion_event_data);
	while (dat_evd_dequeue(held.t.conn, &event) == DAT_SUCCESS)
		take_conn(&event);
	while (dat_evd_dequeue(held.t.async, &event) == DAT_SUCCESS)
		if (event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
			held.catastrophic++;
}

static bool wait_until(bool (*cond)(void))
{
	return test_wait((take_events(), cond()), EVENT_WAIT_MS);
}

static bool both_established(void)
{
	return held.eps[ACTIVE].established && held.eps[PASSIVE].established;
}

static bool is_back(const struct held_ep *h)
{
	return !h->recvs.out && !h->requests.out;
}

static bool all_back(void)
{
	unsigned int i;

	for (i = 0; i < NR_EPS; i++)
		if (!is_back(&held.eps[i]))
			return false;
	return held.eps[ACTIVE].ends && held.eps[PASSIVE].ends && held.catastrophic;
}

static int make_objects(void)
{
	DAT_EP_ATTR attr = test_ep_attr(BUFFER, DEPTH, 1);
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	unsigned int i;

	if (test_fixture_open(&held.t, test_ia_name))
		return -ENODEV;
	if (test_fixture_make(&held.t, 8, DAT_EVD_DTO_FLAG, held.buffer, BUFFER) ||
	    dat_srq_create(held.t.ia, held.t.pz, &srq, &held.srq) || test_listen(&held.t, QUAL))
		return -EIO;
	for (i = 0; i < NR_EPS; i++)
		if (test_posts_make(&held.eps[i].recvs, 2 * i + 1, DEPTH, sizeof(struct test_post),
				    "EP %u receives", i) ||
		    test_posts_make(&held.eps[i].requests, 2 * i + 2, DEPTH,
				    sizeof(struct test_post), "EP %u requests", i) ||
		    dat_ep_create(held.t.ia, held.t.pz, held.t.dto, held.t.dto, held.t.conn, &attr,
				  &held.eps[i].ep))
			return -EIO;
	return 0;
}

static int connect_eps(void)
{
	if (test_pair(&held.t, held.eps[ACTIVE].ep, held.eps[PASSIVE].ep, QUAL, EVENT_WAIT_MS))
		return -EIO;
	return wait_until(both_established) ? 0 : -ETIMEDOUT;
}

/* Fills all queues. The requests outnumber the receives of the peer */
static int fill_queues(void)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_LMR_TRIPLET seg = kdat_local(&held.t.mem, 0, 64);
	unsigned int i, n;

	for (n = 0; n < DEPTH; n++)
		if (post(&held.eps[ACTIVE], false) || post(&held.eps[IDLE], false))
			return -EIO;
	for (i = ACTIVE; i <= PASSIVE; i++)
		for (n = 0; n < DEPTH; n++)
			if (post(&held.eps[i], true))
				return -EIO;
	return dat_srq_post_recv(held.srq, 1, &seg, cookie) ? -EIO : 0;
}

/* ---- the check --------------------------------------------------------- */

static unsigned int result;

static void ok(struct seq_file *m, bool good, const char *what)
{
	test_ok(m, ++result, good, "%s", what);
}

static bool is_type(DAT_RETURN ret, DAT_RETURN type)
{
	return DAT_GET_TYPE(ret) == type;
}

static void check_events(struct seq_file *m)
{
	const struct held_ep *a = &held.eps[ACTIVE], *p = &held.eps[PASSIVE];
	const struct held_ep *idle = &held.eps[IDLE];
	unsigned int i;

	ok(m, wait_until(all_back), "C-57 every outstanding post completed");
	for (i = 0; i < NR_EPS; i++) {
		test_posts_missing(&held.eps[i].recvs);
		test_posts_missing(&held.eps[i].requests);
	}
	ok(m, is_back(a) && is_back(p) && !test_failures(),
	   "P3 each post of the connected EPs completed exactly once");
	ok(m, a->ends == 1 && p->ends == 1 && !a->other && !p->other,
	   "C-31 C-41 each connection ended exactly once");
	ok(m, is_back(idle) && !test_failures() && !idle->ends && !idle->other,
	   "C-57 the unconnected EP was flushed without a connection event");
	ok(m, held.catastrophic == 1, "C-57 the async EVD received IA_CATASTROPHIC once");
}

static bool disconnected(unsigned int i)
{
	DAT_EP_STATE state;

	return dat_ep_get_status(held.eps[i].ep, &state, NULL, NULL) == DAT_SUCCESS &&
	       state == DAT_EP_STATE_DISCONNECTED;
}

/* kDAPL itself flushes the posts to an orphaned EP */
static void check_posts(struct seq_file *m)
{
	struct held_ep *h = &held.eps[ACTIVE];
	DAT_DTO_COOKIE cookie = {};
	DAT_LMR_TRIPLET seg = kdat_local(&held.t.mem, 0, 64);

	ok(m, post(h, true) == DAT_SUCCESS && post(h, false) == DAT_SUCCESS,
	   "C-58 posts to an orphaned EP succeed");
	ok(m, wait_until(all_back) && !test_failures(),
	   "C-58 each of these posts is flushed once");
	ok(m, dat_srq_post_recv(held.srq, 1, &seg, cookie) == DAT_SUCCESS,
	   "C-58 Q-17 a post to an orphaned SRQ succeeds");
}

static void check_calls(struct seq_file *m)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;

	ok(m, disconnected(ACTIVE) && disconnected(PASSIVE) && disconnected(IDLE),
	   "C-57 all EPs are DISCONNECTED");
	ret = dat_pz_create(held.t.ia, &pz);
	ok(m, is_type(ret, DAT_INSUFFICIENT_RESOURCES),
	   "C-57 dat_pz_create on an orphaned IA is refused");
	ret = dat_evd_kcreate(held.t.ia, 1, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd);
	ok(m, is_type(ret, DAT_INSUFFICIENT_RESOURCES),
	   "C-57 dat_evd_kcreate on an orphaned IA is refused");
	ret = dat_ep_reset(held.eps[ACTIVE].ep);
	ok(m, is_type(ret, DAT_INSUFFICIENT_RESOURCES),
	   "C-57 dat_ep_reset of an orphaned EP is refused");
}

static void check_close(struct seq_file *m)
{
	bool good = true;
	unsigned int i;

	ok(m, is_type(dat_ia_close(held.t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE),
	   "graceful close is refused while the IA has objects");
	for (i = 0; i < NR_EPS; i++)
		good &= dat_ep_free(held.eps[i].ep) == DAT_SUCCESS;
	good &= dat_srq_free(held.srq) == DAT_SUCCESS;
	good &= test_fixture_free(&held.t) == DAT_SUCCESS;
	ok(m, good, "C-57 all orphaned objects can be freed");
	ok(m, test_fixture_close(&held.t) == DAT_SUCCESS,
	   "C-57 the orphaned IA closes gracefully");
}

static int check_show(struct seq_file *m, void *unused)
{
	if (held.t.ia == DAT_HANDLE_NULL) {
		seq_puts(m, "# checked already\n");
		return 0;
	}
	result = 0;
	seq_puts(m, "1..15\n");
	check_events(m);
	check_calls(m);
	check_posts(m);
	check_close(m);
	test_show_notes(m, &test_verdict, "# ");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(check);

static void free_memory(void)
{
	unsigned int i;

	if (held.t.ia != DAT_HANDLE_NULL)
		dat_ia_close(held.t.ia, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; i < NR_EPS; i++) {
		test_posts_free(&held.eps[i].recvs);
		test_posts_free(&held.eps[i].requests);
	}
	kfree(held.buffer);
}

static int __init removal_init(void)
{
	int ret;

	held.buffer = kzalloc(BUFFER, GFP_KERNEL);
	if (!held.buffer)
		return -ENOMEM;
	ret = make_objects() ?: connect_eps() ?: fill_queues();
	if (ret) {
		free_memory();
		return ret;
	}
	dir = debugfs_create_dir("kdapl_removal", NULL);
	debugfs_create_file("check", 0400, dir, NULL, &check_fops);
	return 0;
}

static void __exit removal_exit(void)
{
	debugfs_remove(dir);
	free_memory();
}

module_init(removal_init);
module_exit(removal_exit);
MODULE_DESCRIPTION("kDAPL removal test");
MODULE_LICENSE("GPL");
