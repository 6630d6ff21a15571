// SPDX-License-Identifier: GPL-2.0
/*
 * The fixture of the fault injection: objects that are created before any failure, and must
 * still work after each step.
 *
 * Called by the task that loads the module.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "fault_inject.h"

#define MESSAGE		512

struct inject_fixture fx;

/* The number of an attempt is its private data, because an old request may still arrive */
static u64 attempt;

static bool is_ours(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	return dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS &&
	       !memcmp(param.private_data, &attempt, sizeof(attempt));
}

/**
 * inject_connect - begin a connection to a service point
 * @active: EP
 * @qual:   of the point
 * @cr:     takes the request
 *
 * Return: 0 or a negative errno.
 */
int inject_connect(DAT_EP_HANDLE active, DAT_CONN_QUAL qual, DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;

	attempt++;
	if (test_connect(&fx.t, active, qual, &attempt, sizeof(attempt)))
		return -EIO;
	for (;;) {
		if (!test_next(fx.t.cr, &event, TEST_HANG_MS))
			return -ETIMEDOUT;
		*cr = event.event_data.cr_arrival_event_data.cr_handle;
		if (is_ours(*cr))
			return 0;
		dat_cr_reject(*cr, 0, NULL);
	}
}

/* Waits for an event of this EP; other events are of attempts that have ended */
static int wait_conn(DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	for (;;) {
		if (!test_next(fx.t.conn, &event, TEST_HANG_MS))
			return -ETIMEDOUT;
		if (event.event_data.connect_event_data.ep_handle == ep)
			return event.event_number == number ? 0 : -ECONNABORTED;
	}
}

int inject_established(DAT_EP_HANDLE ep)
{
	return wait_conn(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Moves an EP to DISCONNECTED by an attempt without an answer */
int inject_broken(DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	if (test_connect(&fx.t, ep, INJECT_NOBODY, NULL, 0))
		return -EIO;
	do {
		if (!test_next(fx.t.conn, &event, TEST_HANG_MS))
			return -ETIMEDOUT;
	} while (event.event_data.connect_event_data.ep_handle != ep);
	return 0;
}

DAT_RETURN inject_make_ep(DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = test_ep_attr(INJECT_BUFFER, 8, 1);

	return dat_ep_create(fx.t.ia, fx.t.pz, fx.t.dto, fx.t.dto, fx.t.conn, &attr, ep);
}

/* ---- does it work? ------------------------------------------------------------------ */

/* A message from one end to the other, compared byte by byte */
static int send_one(DAT_EP_HANDLE from, DAT_EP_HANDLE to, u8 fill)
{
	DAT_LMR_TRIPLET src = kdat_local(&fx.t.mem, 0, MESSAGE);
	DAT_LMR_TRIPLET dst = kdat_local(&fx.t.mem, INJECT_BUFFER / 2, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = fill };
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int i;

	memset(fx.buffer, fill, INJECT_BUFFER);
	memset(fx.buffer, fill + 1, MESSAGE);
	if (dat_ep_post_recv(to, 1, &dst, cookie, 0) != DAT_SUCCESS ||
	    dat_ep_post_send(from, 1, &src, cookie, 0) != DAT_SUCCESS)
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (!test_next(fx.t.dto, &event, TEST_HANG_MS))
			return -ETIMEDOUT;
		dto = &event.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 != fill)
			return -EIO;
	}
	if (memcmp(fx.buffer, fx.buffer + INJECT_BUFFER / 2, MESSAGE) ||
	    fx.buffer[INJECT_BUFFER / 2 + MESSAGE] != fill)
		return -EILSEQ;
	return 0;
}

int inject_transfer(void)
{
	static u8 fill;

	fill += 2;
	return send_one(fx.a, fx.b, fill) ? : send_one(fx.b, fx.a, fill);
}

/**
 * inject_fixture_check - do the objects still work after a failed call?
 *
 * Return: 0 or a negative errno.
 */
int inject_fixture_check(void)
{
	DAT_EP_STATE a, b;
	DAT_LMR_PARAM lmr;
	DAT_PSP_PARAM psp;
	DAT_PZ_PARAM pz;
	DAT_EVENT event;

	if (dat_ep_get_status(fx.a, &a, NULL, NULL) != DAT_SUCCESS ||
	    dat_ep_get_status(fx.b, &b, NULL, NULL) != DAT_SUCCESS ||
	    a != DAT_EP_STATE_CONNECTED || b != DAT_EP_STATE_CONNECTED)
		return -ENOTCONN;
	if (dat_pz_query(fx.t.pz, DAT_PZ_FIELD_ALL, &pz) != DAT_SUCCESS ||
	    dat_psp_query(fx.t.psp, DAT_PSP_FIELD_ALL, &psp) != DAT_SUCCESS ||
	    dat_lmr_query(fx.t.mem.lmr, DAT_LMR_FIELD_ALL, &lmr) != DAT_SUCCESS ||
	    lmr.lmr_context != fx.t.mem.lmr_context)
		return -EBADF;
	/* Nothing was posted, so there must be no event */
	if (dat_evd_dequeue(fx.t.dto, &event) == DAT_SUCCESS)
		return -EEXIST;
	/* Except for the watermark of an SRQ, which may arrive at any time */
	while (dat_evd_dequeue(fx.t.async, &event) == DAT_SUCCESS)
		if (event.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
			return -EEXIST;
	return 0;
}

/* ---- making it ------------------------------------------------------------------------ */

static int make_objects(void)
{
	if (test_fixture_open(&fx.t, test_ia_name))
		return -ENODEV;
	if (test_fixture_make(&fx.t, 16, DAT_EVD_DTO_FLAG, fx.buffer, INJECT_BUFFER) ||
	    test_listen(&fx.t, INJECT_QUAL) || inject_make_ep(&fx.a) || inject_make_ep(&fx.b))
		return -EIO;
	return 0;
}

static int connect_fixture(void)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int err;

	err = inject_connect(fx.a, INJECT_QUAL, &cr);
	if (err)
		return err;
	if (dat_cr_accept(cr, fx.b, 0, NULL) != DAT_SUCCESS)
		return -EIO;
	/* In either order */
	return test_next(fx.t.conn, &event, TEST_HANG_MS) &&
	       test_next(fx.t.conn, &event, TEST_HANG_MS) ? 0 : -ETIMEDOUT;
}

int inject_fixture_open(void)
{
	fx.buffer = kzalloc(INJECT_BUFFER, GFP_KERNEL);
	fx.spare = kzalloc(4 * PAGE_SIZE, GFP_KERNEL);
	if (!fx.buffer || !fx.spare)
		return -ENOMEM;
	return make_objects() ? : connect_fixture() ? : inject_transfer();
}

/* 0 if only the fixture existed, which the graceful close proves */
int inject_fixture_close(void)
{
	int err = 0;

	if (fx.t.ia && (dat_ep_free(fx.a) || dat_ep_free(fx.b) || test_fixture_free(&fx.t)))
		err = -EBUSY;
	if (fx.t.ia && test_fixture_close(&fx.t))
		err = -EBUSY;
	kfree(fx.buffer);
	kfree(fx.spare);
	memset(&fx, 0, sizeof(fx));
	return err;
}
