// SPDX-License-Identifier: GPL-2.0
/*
 * The fixture of the fault injection: objects that are created before any failure, and must
 * still work after each step.
 *
 * Called by the task that loads the module.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "../../../drivers/infiniband/ulp/kdapl/tests/nap.h"
#include "fault_inject.h"

#define WAIT_MS		10000
#define MESSAGE		512

struct inject_fixture fx;

/* The number of an attempt is its private data, because an old request may still arrive */
static u64 attempt;

static unsigned long deadline(void)
{
	return jiffies + msecs_to_jiffies(WAIT_MS * inject_stretch);
}

/* Waits for the next event of the EVD, with a time-out */
static int next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	unsigned long end = deadline();

	while (dat_evd_dequeue(evd, event) != DAT_SUCCESS) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		kdapl_nap(500, 1000);
	}
	return 0;
}

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
	if (dat_ep_connect(active, fx.attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE,
			   sizeof(attempt), &attempt, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS)
		return -EIO;
	for (;;) {
		if (next_event(fx.cr, &event))
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
		if (next_event(fx.conn, &event))
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

	if (dat_ep_connect(ep, fx.attr.ia_address_ptr, INJECT_NOBODY, DAT_TIMEOUT_INFINITE, 0,
			   NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS)
		return -EIO;
	do {
		if (next_event(fx.conn, &event))
			return -ETIMEDOUT;
	} while (event.event_data.connect_event_data.ep_handle != ep);
	return 0;
}

DAT_RETURN inject_make_ep(DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.max_message_size = INJECT_BUFFER,
		.max_rdma_size = INJECT_BUFFER,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};

	return dat_ep_create(fx.ia, fx.pz, fx.dto, fx.dto, fx.conn, &attr, ep);
}

/* ---- does it work? ------------------------------------------------------------------ */

/* A message from one end to the other, compared byte by byte */
static int send_one(DAT_EP_HANDLE from, DAT_EP_HANDLE to, u8 fill)
{
	DAT_LMR_TRIPLET src = { .virtual_address = (unsigned long)fx.buffer,
				.segment_length = MESSAGE, .lmr_context = fx.context };
	DAT_LMR_TRIPLET dst = src;
	DAT_DTO_COOKIE cookie = { .as_64 = fill };
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int i;

	dst.virtual_address += INJECT_BUFFER / 2;
	memset(fx.buffer, fill, INJECT_BUFFER);
	memset(fx.buffer, fill + 1, MESSAGE);
	if (dat_ep_post_recv(to, 1, &dst, cookie, 0) != DAT_SUCCESS ||
	    dat_ep_post_send(from, 1, &src, cookie, 0) != DAT_SUCCESS)
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (next_event(fx.dto, &event))
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
	if (dat_pz_query(fx.pz, DAT_PZ_FIELD_ALL, &pz) != DAT_SUCCESS ||
	    dat_psp_query(fx.psp, DAT_PSP_FIELD_ALL, &psp) != DAT_SUCCESS ||
	    dat_lmr_query(fx.lmr, DAT_LMR_FIELD_ALL, &lmr) != DAT_SUCCESS ||
	    lmr.lmr_context != fx.context)
		return -EBADF;
	/* Nothing was posted, so there must be no event */
	if (dat_evd_dequeue(fx.dto, &event) == DAT_SUCCESS)
		return -EEXIST;
	/* Except for the watermark of an SRQ, which may arrive at any time */
	while (dat_evd_dequeue(fx.async, &event) == DAT_SUCCESS)
		if (event.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
			return -EEXIST;
	return 0;
}

/* ---- making it ------------------------------------------------------------------------ */

static int make_evd(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(fx.ia, 16, DAT_UPCALL_DISABLE, NULL, flags, evd) ? -EIO : 0;
}

static int make_objects(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = fx.buffer };
	DAT_RMR_CONTEXT key;
	DAT_VLEN length;
	DAT_VADDR addr;

	if (dat_ia_open(inject_ia_name, 8, &fx.async, &fx.ia)) {
		fx.ia = DAT_HANDLE_NULL;
		return -ENODEV;
	}
	dat_ia_query(fx.ia, NULL, DAT_IA_FIELD_ALL, &fx.attr, 0, NULL);
	if (dat_pz_create(fx.ia, &fx.pz) || make_evd(DAT_EVD_DTO_FLAG, &fx.dto) ||
	    make_evd(DAT_EVD_CONNECTION_FLAG, &fx.conn) ||
	    make_evd(DAT_EVD_CR_FLAG, &fx.cr) ||
	    dat_lmr_kcreate(fx.ia, DAT_MEM_TYPE_VIRTUAL, region, INJECT_BUFFER, fx.pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			    &fx.lmr, &fx.context, &key, &length, &addr) ||
	    dat_psp_create(fx.ia, INJECT_QUAL, fx.cr, DAT_PSP_CONSUMER_FLAG, &fx.psp) ||
	    inject_make_ep(&fx.a) || inject_make_ep(&fx.b))
		return -EIO;
	return 0;
}

static int connect_fixture(void)
{
	DAT_CR_HANDLE cr;
	int err;

	err = inject_connect(fx.a, INJECT_QUAL, &cr);
	if (err)
		return err;
	if (dat_cr_accept(cr, fx.b, 0, NULL) != DAT_SUCCESS)
		return -EIO;
	/* In either order */
	return next_event(fx.conn, &(DAT_EVENT) {}) ? : next_event(fx.conn, &(DAT_EVENT) {});
}

int inject_fixture_open(void)
{
	fx.buffer = kzalloc(INJECT_BUFFER, GFP_KERNEL);
	fx.spare = kzalloc(4 * PAGE_SIZE, GFP_KERNEL);
	if (!fx.buffer || !fx.spare)
		return -ENOMEM;
	return make_objects() ? : connect_fixture() ? : inject_transfer();
}

static int free_objects(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(fx.cr, &event) == DAT_SUCCESS)
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	return dat_ep_free(fx.a) || dat_ep_free(fx.b) || dat_psp_free(fx.psp) ||
	       dat_lmr_free(fx.lmr) || dat_pz_free(fx.pz) || dat_evd_free(fx.dto) ||
	       dat_evd_free(fx.conn) || dat_evd_free(fx.cr) ? -EBUSY : 0;
}

/* 0 if only the fixture existed, which the graceful close proves */
int inject_fixture_close(void)
{
	int err = 0;

	if (fx.ia) {
		err = free_objects();
		if (!err && dat_ia_close(fx.ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
			err = -EBUSY;
		if (err)
			dat_ia_close(fx.ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	kfree(fx.buffer);
	kfree(fx.spare);
	memset(&fx, 0, sizeof(fx));
	return err;
}
