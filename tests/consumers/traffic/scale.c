// SPDX-License-Identifier: GPL-2.0
/*
 * The scale test: many service points on one IA, and as many EPs, all connected at once. The
 * EPs are connected in pairs, several attempts at a time, each to a service point of its own:
 * the first time to those of the first half, then, after a reset, to the others. The script
 * runs the steps one by one and looks at debugfs between them.
 *
 * main.c calls these functions in process context, one at a time. There are no upcalls.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include "traffic.h"

#define SCALE_QUAL	10000		/* of the first service point */
#define AT_ONCE		16		/* connection attempts */
#define EVENT_MS	20000
#define MOST		2000

struct scale_ep {
	DAT_EP_HANDLE ep;
	unsigned int established, ended, sent, received;
};

static struct {
	struct test_fixture t;
	unsigned int count;		/* service points, EPs */
	unsigned int first;		/* service point of the first pair */
	DAT_PSP_HANDLE *psp;
	struct scale_ep *ep;		/* pairs are neighbours */
	u64 *memory;			/* of each EP: a message to send, one received */
} scale;

static bool good(const char *what, DAT_RETURN ret)
{
	return test_expect(what, ret, DAT_SUCCESS);
}

static unsigned int sum(size_t offset)
{
	unsigned int i, n = 0;

	for (i = 0; i < scale.count; i++)
		n += *(unsigned int *)((char *)&scale.ep[i] + offset);
	return n;
}

#define total(member)	sum(offsetof(struct scale_ep, member))

/* ---- events ----------------------------------------------------------------- */

static struct scale_ep *find_ep(DAT_EP_HANDLE handle)
{
	unsigned int i;

	for (i = 0; i < scale.count; i++)
		if (scale.ep[i].ep == handle)
			return &scale.ep[i];
	return NULL;
}

/* A request comes to the service point of its pair, whose second EP accepts it */
static void take_request(const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	unsigned int point = cr->conn_qual - SCALE_QUAL, pair = point - scale.first;

	if (2 * pair >= scale.count || cr->sp_handle.psp_handle != scale.psp[point])
		test_fail("request: expected one to a service point in use, got qualifier %llu",
			  cr->conn_qual);
	else
		good("dat_cr_accept", dat_cr_accept(cr->cr_handle, scale.ep[2 * pair + 1].ep, 0,
						    NULL));
}

static void take_conn(const DAT_EVENT *event)
{
	struct scale_ep *e = find_ep(event->event_data.connect_event_data.ep_handle);

	if (e && event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		e->established++;
	else if (e && event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		e->ended++;
	else
		test_fail("unexpected connection event %#x", event->event_number);
}

static void take_completion(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct scale_ep *e = dto->user_cookie.as_64 < scale.count ?
			     &scale.ep[dto->user_cookie.as_64] : NULL;

	if (!e || dto->ep_handle != e->ep || dto->status != DAT_DTO_SUCCESS)
		test_fail("completion: cookie %llu, status %d, or another EP",
			  dto->user_cookie.as_64, dto->status);
	else if (dto->operation == DAT_DTO_RECEIVE)
		e->received++;
	else
		e->sent++;
}

/* Takes all events; returns their number */
static unsigned int take_events(void)
{
	unsigned int n = 0;
	DAT_EVENT event;

	for (; dat_evd_dequeue(scale.t.cr, &event) == DAT_SUCCESS; n++)
		take_request(&event.event_data.cr_arrival_event_data);
	for (; dat_evd_dequeue(scale.t.conn, &event) == DAT_SUCCESS; n++)
		take_conn(&event);
	for (; dat_evd_dequeue(scale.t.dto, &event) == DAT_SUCCESS; n++)
		take_completion(&event.event_data.dto_completion_event_data);
	return n;
}

/* Take events until there are @least; the limit is for each event, not for all */
static bool wait_total(size_t offset, unsigned int least)
{
	while (sum(offset) < least && !test_failures() && test_wait(take_events(), EVENT_MS))
		;
	return sum(offset) >= least;
}

#define wait_for(member, least)	wait_total(offsetof(struct scale_ep, member), least)

/* ---- steps ------------------------------------------------------------------ */

static bool make_memory(unsigned int count)
{
	scale.psp = kvcalloc(count, sizeof(*scale.psp), GFP_KERNEL);
	scale.ep = kvcalloc(count, sizeof(*scale.ep), GFP_KERNEL);
	scale.memory = kvcalloc(2 * count, sizeof(*scale.memory), GFP_KERNEL);
	return scale.psp && scale.ep && scale.memory;
}

static void free_memory(void)
{
	kvfree(scale.psp);
	kvfree(scale.ep);
	kvfree(scale.memory);
	memset(&scale, 0, sizeof(scale));
}

static bool make_objects(char *name)
{
	DAT_EP_ATTR attr = test_ep_attr(sizeof(u64), 1, 1);
	unsigned int i;

	if (!good("open", test_fixture_open(&scale.t, name)) ||
	    !good("make", test_fixture_make(&scale.t, scale.count, DAT_EVD_DTO_FLAG,
					    scale.memory, 2 * scale.count * sizeof(u64))))
		return false;
	for (i = 0; i < scale.count; i++) {
		if (!good("dat_psp_create",
			  dat_psp_create(scale.t.ia, SCALE_QUAL + i, scale.t.cr,
					 DAT_PSP_CONSUMER_FLAG, &scale.psp[i])) ||
		    !good("dat_ep_create",
			  dat_ep_create(scale.t.ia, scale.t.pz, scale.t.dto, scale.t.dto,
					scale.t.conn, &attr, &scale.ep[i].ep)))
			return false;
	}
	return true;
}

/**
 * scale_open - open an IA with many service points and EPs
 * @name:  of the IA
 * @count: number of each, even
 *
 * Context: process.
 * Return: 0; -EINVAL; -EIO after a failure, which was noted.
 */
int scale_open(char *name, unsigned int count)
{
	if (scale.count || !count || count % 2 || count > MOST)
		return -EINVAL;
	if (!make_memory(count)) {
		free_memory();
		return -ENOMEM;
	}
	scale.count = count;
	if (make_objects(name))
		return 0;
	scale_kill();
	return -EIO;
}

/* Connect each pair, to the service points from @first on */
int scale_connect(unsigned int first)
{
	unsigned int i, pair, pairs = scale.count / 2;

	if (!scale.count || first > pairs)
		return -EINVAL;
	scale.first = first;
	for (pair = 0; pair < pairs; pair++) {
		if (!good("dat_ep_connect", test_connect(&scale.t, scale.ep[2 * pair].ep,
							 SCALE_QUAL + first + pair, NULL, 0)))
			return -EIO;
		if (pair >= AT_ONCE && !wait_for(established, 2 * (pair - AT_ONCE)))
			break;
	}
	if (!wait_for(established, scale.count))
		test_fail("expected %u EPs to be connected, got %u events", scale.count,
			  total(established));
	for (i = 0; i < scale.count; i++)
		if (scale.ep[i].established > 1)
			test_fail("EP %u: expected one event, got %u", i, scale.ep[i].established);
	return test_failures() ? -EIO : 0;
}

static bool post(unsigned int i, bool receive)
{
	DAT_LMR_TRIPLET seg = kdat_local(&scale.t.mem, (2 * i + receive) * sizeof(u64),
					 sizeof(u64));
	DAT_DTO_COOKIE cookie = { .as_64 = i };

	return good(receive ? "dat_ep_post_recv" : "dat_ep_post_send",
		    receive ? dat_ep_post_recv(scale.ep[i].ep, 1, &seg, cookie, 0) :
			      dat_ep_post_send(scale.ep[i].ep, 1, &seg, cookie, 0));
}

/* One message from each EP to its peer, all at once */
int scale_exchange(void)
{
	unsigned int i;

	for (i = 0; i < scale.count; i++) {
		scale.memory[2 * i] = scale.first * 0x100000000ULL + i;
		scale.memory[2 * i + 1] = ~0ULL;
		if (!post(i, true))
			return -EIO;
	}
	for (i = 0; i < scale.count; i++)
		if (!post(i, false))
			return -EIO;
	if (!wait_for(sent, scale.count) || !wait_for(received, scale.count))
		test_fail("expected %u sends and receives to complete, got %u and %u",
			  scale.count, total(sent), total(received));
	for (i = 0; i < scale.count; i++)
		if (scale.memory[2 * i + 1] != scale.memory[2 * (i ^ 1)] ||
		    scale.ep[i].sent != 1 || scale.ep[i].received != 1)
			test_fail("EP %u: expected one message from its peer, got another", i);
	return test_failures() ? -EIO : 0;
}

/* End all connections, and make the EPs ready for others */
int scale_disconnect(void)
{
	unsigned int i;

	for (i = 0; i < scale.count; i += 2)
		good("dat_ep_disconnect",
		     dat_ep_disconnect(scale.ep[i].ep, DAT_CLOSE_ABRUPT_FLAG));
	if (!wait_for(ended, scale.count))
		test_fail("expected %u EPs to be disconnected, got %u events", scale.count,
			  total(ended));
	for (i = 0; i < scale.count; i++) {
		good("dat_ep_reset", dat_ep_reset(scale.ep[i].ep));
		scale.ep[i] = (struct scale_ep) { .ep = scale.ep[i].ep };
	}
	return test_failures() ? -EIO : 0;
}

/* Free everything in order; the graceful close proves that nothing is left */
int scale_close(void)
{
	unsigned int i;

	if (!scale.count)
		return -EINVAL;
	for (i = 0; i < scale.count; i++) {
		good("dat_ep_free", dat_ep_free(scale.ep[i].ep));
		good("dat_psp_free", dat_psp_free(scale.psp[i]));
	}
	good("free", test_fixture_free(&scale.t));
	good("dat_ia_close", test_fixture_close(&scale.t));
	free_memory();
	return test_failures() ? -EIO : 0;
}

/* Close the IA, whatever it is doing */
void scale_kill(void)
{
	if (scale.t.ia)
		dat_ia_close(scale.t.ia, DAT_CLOSE_ABRUPT_FLAG);
	free_memory();
}
