// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners with a public or a reserved service point, accept, connect with
 * retries, disconnect, and reuse of an EP. Process context, except the upcall of
 * a listener: it wakes the listening thread, which dequeues the request itself,
 * because an accept may sleep.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "interop.h"

#define BACKLOG		8	/* requests that may wait */
#define TRIES		8	/* attempts while the peer rejects */
#define RETRY_MS	200
#define SLICE		(HZ / 4)
#define PRIVATE_DATA	56	/* bytes of a request on the wire */

static void request_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct interop_listener *ls = data;

	wake_up(&ls->wait);
}

static int make_service_point(struct interop_listener *ls, DAT_EP_HANDLE rsp_ep)
{
	struct interop_fixture *w = ls->fx;
	DAT_RETURN ret;

	if (!rsp_ep) {
		ret = dat_psp_create(w->t.ia, ls->port, ls->evd, DAT_PSP_CONSUMER_FLAG,
				     &ls->psp);
		if (interop_good(ls->who, "dat_psp_create", ret))
			return 0;
		ls->psp = DAT_HANDLE_NULL;
		return -EIO;
	}
	ret = dat_rsp_create(w->t.ia, ls->port, rsp_ep, ls->evd, &ls->rsp);
	if (interop_good(ls->who, "dat_rsp_create", ret))
		return 0;
	ls->rsp = DAT_HANDLE_NULL;
	return -EIO;
}

/**
 * interop_listen - create a service point and its EVD
 * @ls: the listener
 * @who: name in failure messages
 * @w: the fixture
 * @port: connection qualifier
 * @rsp_ep: the EP of a reserved service point; DAT_HANDLE_NULL for a public one
 * @mode: by notification or by polling
 *
 * Context: process.
 * Return: 0; -EIO, which is recorded; then nothing must be freed.
 */
int interop_listen(struct interop_listener *ls, const char *who, struct interop_fixture *w,
		   u32 port, DAT_EP_HANDLE rsp_ep, enum interop_mode mode)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = ls, .upcall_func = request_upcall };
	bool poll = mode == INTEROP_POLL;
	DAT_RETURN ret;

	memset(ls, 0, sizeof(*ls));
	ls->who = who;
	ls->fx = w;
	ls->mode = mode;
	ls->port = port;
	init_waitqueue_head(&ls->wait);
	ret = dat_evd_kcreate(w->t.ia, BACKLOG, poll ? DAT_UPCALL_DISABLE : DAT_UPCALL_NOTIFY,
			      poll ? NULL : &upcall, DAT_EVD_CR_FLAG, &ls->evd);
	if (!interop_good(who, "dat_evd_kcreate", ret)) {
		ls->evd = DAT_HANDLE_NULL;
		return -EIO;
	}
	if (!make_service_point(ls, rsp_ep))
		return 0;
	interop_unlisten(ls);
	return -EIO;
}

/* Free the objects of a listener that may not exist */
void interop_unlisten(struct interop_listener *ls)
{
	if (ls->psp)
		interop_good(ls->who, "dat_psp_free", dat_psp_free(ls->psp));
	if (ls->rsp)
		interop_good(ls->who, "dat_rsp_free", dat_rsp_free(ls->rsp));
	if (ls->evd)
		interop_good(ls->who, "dat_evd_free", dat_evd_free(ls->evd));
	ls->psp = DAT_HANDLE_NULL;
	ls->rsp = DAT_HANDLE_NULL;
	ls->evd = DAT_HANDLE_NULL;
}

static bool take_request(struct interop_listener *ls, DAT_CR_HANDLE *cr)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_EVENT event;

	if (*cr)
		return true;
	if (dat_evd_dequeue(ls->evd, &event) != DAT_SUCCESS)
		return false;
	d = &event.event_data.cr_arrival_event_data;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT ||
	    event.evd_handle != ls->evd) {
		interop_fail(ls->who, "request EVD: expected CONNECTION_REQUEST, event %#x",
			     event.event_number);
		return false;
	}
	if (d->conn_qual != ls->port || d->truncate_flag != DAT_FALSE)
		interop_fail(ls->who, "request: expected port %u, truncate_flag 0; got %llu, %d",
			     ls->port, d->conn_qual, d->truncate_flag);
	if (ls->psp ? d->sp_handle.psp_handle != ls->psp :
		      d->sp_handle.rsp_handle != ls->rsp)
		interop_fail(ls->who, "request: expected this service point, got another one");
	ls->requests++;
	*cr = d->cr_handle;
	return true;
}

/**
 * interop_request - wait for a connection request
 * @ls: the listener
 * @cr: the request
 * @ms: limit; 0 for none
 *
 * Context: process.
 * Return: 0; -ETIMEDOUT, which is recorded; -EINTR if the module is unloaded.
 */
int interop_request(struct interop_listener *ls, DAT_CR_HANDLE *cr, u32 ms)
{
	unsigned long end = test_deadline(ms);

	*cr = DAT_HANDLE_NULL;
	while (!take_request(ls, cr)) {
		if (READ_ONCE(ls->fx->stop))
			return -EINTR;
		if (ms && time_after(jiffies, end)) {
			interop_fail(ls->who, "expected a request on port %u within %u ms: none",
				     ls->port, ms);
			return -ETIMEDOUT;
		}
		if (ls->mode == INTEROP_POLL)
			kdapl_nap(100, 200);
		else
			wait_event_timeout(ls->wait, take_request(ls, cr), SLICE);
	}
	return 0;
}

/* The private data must be the greeting, with zeros to the end of the field */
static void check_request(struct interop_link *l, DAT_CR_HANDLE cr, const char *hello)
{
	size_t len = hello ? strlen(hello) : 0;
	DAT_CR_PARAM param = {};
	DAT_RETURN ret;

	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (!interop_good(l->name, "dat_cr_query", ret))
		return;
	if (param.private_data_size != PRIVATE_DATA ||
	    (len && memcmp(param.private_data, hello, len)) ||
	    memchr_inv(param.private_data + len, 0, PRIVATE_DATA - len))
		interop_fail(l->name, "request: expected a greeting of %d bytes, got %d bytes",
			     PRIVATE_DATA, param.private_data_size);
	if (!param.remote_ia_address_ptr || !param.remote_port_qual)
		interop_fail(l->name, "request: expected address and port of the sender");
}

/* A request on a reserved service point changes the state of the EP */
static void check_reserved(struct interop_link *l)
{
	DAT_EP_STATE state;
	DAT_RETURN ret = dat_ep_get_status(l->ep, &state, NULL, NULL);

	if (interop_good(l->name, "dat_ep_get_status", ret) &&
	    state != DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
		interop_fail(l->name, "request: EP state %d, expected PASSIVE_CONNECTION_PENDING",
			     state);
}

/**
 * interop_accept - accept a request and wait for the outcome
 * @l: the link
 * @ls: the listener; a reserved service point has its own EP
 * @cr: the request
 * @hello: expected private data; NULL for none
 *
 * Context: process.
 * Return: 0; -ECONNABORTED if the peer withdrew; -EIO, -ETIMEDOUT, which are recorded;
 * -EINTR.
 */
int interop_accept(struct interop_link *l, struct interop_listener *ls, DAT_CR_HANDLE cr,
		   const char *hello)
{
	DAT_RETURN ret;
	int err;

	check_request(l, cr, hello);
	if (ls->rsp)
		check_reserved(l);
	ret = dat_cr_accept(cr, ls->rsp ? DAT_HANDLE_NULL : l->ep, 0, NULL);
	if (!interop_good(l->name, "dat_cr_accept", ret))
		return -EIO;
	err = interop_wait(l, INTEROP_WANT_OUTCOME, 0);
	if (err)
		return err;
	return l->outcome == DAT_CONNECTION_EVENT_ESTABLISHED ? 0 : -ECONNABORTED;
}

/**
 * interop_reuse - reset an EP whose connection has ended
 * @l: the link, disconnected
 *
 * Context: process.
 * Return: 0; -EIO, -ETIMEDOUT, which are recorded; -EINTR.
 */
int interop_reuse(struct interop_link *l)
{
	int err;

	err = interop_wait(l, INTEROP_WANT_QUIET, 0);
	if (err)
		return err;
	if (!interop_good(l->name, "dat_ep_reset", dat_ep_reset(l->ep)))
		return -EIO;
	spin_lock_bh(&l->lock);
	l->outcome = 0;
	l->ends = 0;
	l->may_end = false;
	l->failed = false;
	spin_unlock_bh(&l->lock);
	return 0;
}

/**
 * interop_connect - connect to the peer
 * @l: the link
 * @address: of the peer
 * @port: connection qualifier
 * @hello: private data; NULL for none
 * @post: posts the receives of a connection; a failed attempt flushes them
 * @data: for @post
 *
 * A busy peer rejects the attempt; then it is repeated.
 *
 * Context: process.
 * Return: 0; -ECONNREFUSED, -EIO, -ETIMEDOUT: -EIO and -ETIMEDOUT are recorded; -EINTR;
 * an error of @post.
 */
int interop_connect(struct interop_link *l, DAT_IA_ADDRESS_PTR address, u32 port,
		    const char *hello, int (*post)(void *data), void *data)
{
	DAT_TIMEOUT limit = INTEROP_WAIT_MS / 2 * test_stretch() * 1000;
	DAT_RETURN ret;
	u32 try;
	int err;

	l->active = true;
	for (try = 1;; try++) {
		err = post(data);
		if (err)
			return err;
		ret = dat_ep_connect(l->ep, address, port, limit,
				     hello ? strlen(hello) : 0, (const DAT_PVOID)hello,
				     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
		if (!interop_good(l->name, "dat_ep_connect", ret))
			return -EIO;
		err = interop_wait(l, INTEROP_WANT_OUTCOME, 0);
		if (err)
			return err;
		if (l->outcome == DAT_CONNECTION_EVENT_ESTABLISHED)
			return 0;
		if (l->outcome != DAT_CONNECTION_EVENT_PEER_REJECTED || try == TRIES)
			return interop_wait(l, INTEROP_WANT_QUIET, 0) ?: -ECONNREFUSED;
		err = interop_reuse(l);
		if (err)
			return err;
		msleep(RETRY_MS);
	}
}

/* End the connection, if there is one, and wait for its end and all completions */
int interop_disconnect(struct interop_link *l, DAT_CLOSE_FLAGS flag)
{
	DAT_RETURN ret;

	spin_lock_bh(&l->lock);
	l->may_end = true;
	spin_unlock_bh(&l->lock);
	if (l->outcome != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;
	ret = dat_ep_disconnect(l->ep, flag);
	if (!interop_good(l->name, "dat_ep_disconnect", ret))
		return -EIO;
	return interop_wait(l, INTEROP_WANT_END, 0) ?:
	       interop_wait(l, INTEROP_WANT_QUIET, 0);
}

/**
 * interop_part - end a connection at the end of a test
 * @l: the link
 * @wait_for_peer: wait for the peer to disconnect first
 *
 * The peer expects its last completion to succeed. If this end disconnected first,
 * the acknowledgment of the last message might be lost with the QP.
 *
 * Context: process.
 * Return: 0; -EIO, -ETIMEDOUT, which are recorded; -EINTR.
 */
int interop_part(struct interop_link *l, bool wait_for_peer)
{
	int err = 0;

	spin_lock_bh(&l->lock);
	l->may_end = true;
	spin_unlock_bh(&l->lock);
	if (wait_for_peer)
		err = interop_wait(l, INTEROP_WANT_END, 0);
	return interop_disconnect(l, DAT_CLOSE_ABRUPT_FLAG) ?: err;
}
