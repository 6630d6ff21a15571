// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about limits: each limit that dat_ia_query() reports is
 * reached on a real device and exceeded by one, as far as memory and time allow. An SRQ
 * is also resized in use. The limits on the number of objects are left to unit tests,
 * because a device supports too many. Process context.
 */
#include <linux/vmalloc.h>
#include "conn_pair.h"

/* ---- queues without a connection -------------------------------------------------- */

/* As many software events as the EVD has entries, and one more */
static void fill_evd(struct loop_case *c, DAT_EVD_HANDLE evd, DAT_COUNT length)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_COUNT i, n = 0;

	for (i = 0; i < length; i++) {
		event.event_data.software_event_data.pointer = (void *)(unsigned long)(i + 1);
		if (!loop_expect(c, "software event", dat_evd_post_se(evd, &event), DAT_SUCCESS))
			return;
	}
	loop_expect(c, "one software event more", dat_evd_post_se(evd, &event), DAT_QUEUE_FULL);
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		if ((unsigned long)event.event_data.software_event_data.pointer != ++n)
			loop_fail(c, "expected software event %d, got another one", n);
	if (n != length)
		loop_fail(c, "%d software events of %d were delivered", n, length);
}

static void evd_length(struct loop_run *run, struct loop_case *c)
{
	DAT_COUNT most = run->t.attr.max_evd_qlen;
	DAT_EVD_HANDLE evd;

	loop_expect(c, "an EVD too long",
		    dat_evd_kcreate(run->t.ia, most + 1, DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_SOFTWARE_FLAG, &evd), DAT_INSUFFICIENT_RESOURCES);
	if (!loop_expect(c, "the longest EVD",
			 dat_evd_kcreate(run->t.ia, most, DAT_UPCALL_DISABLE, NULL,
					 DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS))
		return;
	fill_evd(c, evd, most);
	loop_expect(c, "dat_evd_resize", dat_evd_resize(evd, 100), DAT_SUCCESS);
	fill_evd(c, evd, 100);
	loop_expect(c, "dat_evd_resize too long", dat_evd_resize(evd, most + 1),
		    DAT_INVALID_PARAMETER);
	loop_expect(c, "dat_evd_resize", dat_evd_resize(evd, most), DAT_SUCCESS);
	fill_evd(c, evd, most);
	loop_expect(c, "dat_evd_free", dat_evd_free(evd), DAT_SUCCESS);
}

/* Accepts @room buffers without bytes, and refuses one more */
static void fill_srq(struct loop_case *c, DAT_SRQ_HANDLE srq, DAT_COUNT room)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_COUNT i;

	for (i = 0; i < room; i++)
		if (!loop_expect(c, "buffer", dat_srq_post_recv(srq, 0, NULL, cookie),
				 DAT_SUCCESS))
			return;
	loop_expect(c, "one buffer more", dat_srq_post_recv(srq, 0, NULL, cookie),
		    DAT_INSUFFICIENT_RESOURCES);
}

static void srq_size(struct loop_run *run, struct loop_case *c)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = run->t.attr.max_recv_per_srq + 1, .max_recv_iov = 1,
	};
	DAT_COUNT most = run->t.attr.max_recv_per_srq, i;
	DAT_SRQ_HANDLE srq;

	loop_expect(c, "an SRQ too large", dat_srq_create(run->t.ia, run->t.pz, &attr, &srq),
		    DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = 1;
	attr.max_recv_iov = run->t.attr.max_iov_segments_per_dto + 1;
	loop_expect(c, "an SRQ of too many segments",
		    dat_srq_create(run->t.ia, run->t.pz, &attr, &srq), DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = most;
	attr.max_recv_iov--;
	if (!loop_expect(c, "the largest SRQ", dat_srq_create(run->t.ia, run->t.pz, &attr, &srq),
			 DAT_SUCCESS))
		return;
	fill_srq(c, srq, most);
	loop_expect(c, "dat_srq_free", dat_srq_free(srq), DAT_SUCCESS);
	/* The same in steps, with buffers posted */
	attr.max_recv_dtos = 5;
	attr.max_recv_iov = 2;
	if (!loop_expect(c, "an SRQ", dat_srq_create(run->t.ia, run->t.pz, &attr, &srq),
			 DAT_SUCCESS))
		return;
	fill_srq(c, srq, 5);
	for (i = 5; i < most; i = min(8 * i, most)) {
		DAT_COUNT next = min(8 * i, most);

		if (!loop_expect(c, "dat_srq_resize", dat_srq_resize(srq, next), DAT_SUCCESS))
			break;
		fill_srq(c, srq, next - i);
	}
	loop_expect(c, "dat_srq_resize too large", dat_srq_resize(srq, most + 1),
		    DAT_INVALID_PARAMETER);
	loop_expect(c, "dat_srq_resize below its posted buffers", dat_srq_resize(srq, most - 1),
		    DAT_INVALID_STATE);
	loop_expect(c, "dat_srq_free", dat_srq_free(srq), DAT_SUCCESS);
}

/* ---- an endpoint with all attributes at their limit ----------------------------------- */

struct large {
	u8 *mem[2];			/* of A and B, as large as the largest LMR */
	DAT_LMR_HANDLE lmr[2];
	DAT_LMR_TRIPLET iov[2][LOOP_MAX_SEGS + 1];
};

static bool make_large(struct pair *d, struct large *l)
{
	u32 block = d->run->t.attr.max_lmr_block_size, i, k;
	DAT_REGION_DESCRIPTION region = {};
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;

	for (i = 0; i < 2; i++) {
		l->mem[i] = vmalloc(block);
		if (!l->mem[i]) {
			loop_fail(d->c, "no memory");
			return false;
		}
		memset(l->mem[i], i ? PAIR_FREE : 0x5a, block);
		region.for_va = l->mem[i];
		if (!loop_expect(d->c, "dat_lmr_kcreate",
				 dat_lmr_kcreate(d->run->t.ia, DAT_MEM_TYPE_VIRTUAL, region, block,
						 d->run->t.pz, DAT_MEM_PRIV_ALL_FLAG,
						 DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
						 &l->lmr[i], &context, &key, NULL, NULL),
				 DAT_SUCCESS))
			return false;
		for (k = 0; k < ARRAY_SIZE(l->iov[i]); k++)
			l->iov[i][k] = (DAT_LMR_TRIPLET) {
				.virtual_address = (uintptr_t)l->mem[i],
				.segment_length = block,
				.lmr_context = context,
			};
	}
	return true;
}

static void end_large(struct pair *d, struct large *l)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		if (l->lmr[i])
			loop_expect(d->c, "dat_lmr_free", dat_lmr_free(l->lmr[i]), DAT_SUCCESS);
		vfree(l->mem[i]);
	}
	kfree(l);
}

/* One message of the maximum size; one more byte is refused */
static void largest_message(struct pair *d, struct large *l)
{
	u32 most = d->run->t.attr.max_message_size, block = d->run->t.attr.max_lmr_block_size;
	u32 n = DIV_ROUND_UP(most, block), last = most - (n - 1) * block;
	DAT_DTO_COOKIE cookie = {};

	if (n > d->run->t.attr.max_iov_segments_per_dto || n > LOOP_MAX_SEGS) {
		loop_fail(d->c, "a message of %u bytes does not go into segments", most);
		return;
	}
	l->iov[0][n - 1].segment_length = last;
	l->iov[1][n - 1].segment_length = last;
	pair_recv(&d->b[0], n, l->iov[1], 1, 0);
	pair_send(&d->a[0], n, l->iov[0], 1, 0);
	d->on_the_way = most;
	pair_dto(&d->b[0], DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS, most, PAIR_UPCALL);
	pair_dto(&d->a[0], DAT_DTO_SEND, 1, DAT_DTO_SUCCESS, most, PAIR_UPCALL);
	d->on_the_way = 0;
	if (pair_ok(d) && memcmp(l->mem[0], l->mem[1], min(block, most)))
		loop_fail(d->c, "largest message: expected the bytes that were sent, got others");
	l->iov[0][0].segment_length--;
	l->iov[0][n] = l->iov[0][0];
	l->iov[0][n].segment_length = 2;
	/* If the segments are already at their limit, no segment is left for that byte */
	if (n < d->run->t.attr.max_iov_segments_per_dto)
		loop_expect(d->c, "a message too large",
			    dat_ep_post_send(d->a[0].ep, n + 1, l->iov[0], cookie, 0),
			    DAT_INVALID_PARAMETER);
}

/* The maximum number of segments, of one byte each; one more is refused */
static void most_segments(struct pair *d)
{
	const DAT_IA_ATTR *ia = &d->run->t.attr;
	DAT_COUNT n = ia->max_iov_segments_per_dto, w = ia->max_iov_segments_per_rdma_write,
		  r = ia->max_iov_segments_per_rdma_read, most = max3(n, w, r), i;
	DAT_RMR_TRIPLET far = pair_target(&d->b[0], 4096, w);
	DAT_DTO_COOKIE cookie = {};
	DAT_LMR_TRIPLET *iov;

	iov = kcalloc(most + 1, sizeof(*iov), GFP_KERNEL);
	if (!iov) {
		loop_fail(d->c, "no memory");
		return;
	}
	pair_fill(&d->a[0], 0, most, 3);
	for (i = 0; i <= most; i++)
		iov[i] = pair_seg(&d->b[0], i, 1);
	pair_recv(&d->b[0], n, iov, 2, 0);
	loop_expect(d->c, "a segment too many", dat_ep_post_recv(d->b[0].ep, n + 1, iov, cookie, 0),
		    DAT_INVALID_PARAMETER);
	for (i = 0; i <= most; i++)
		iov[i] = pair_seg(&d->a[0], i, 1);
	pair_send(&d->a[0], n, iov, 2, 0);
	loop_expect(d->c, "a segment too many", dat_ep_post_send(d->a[0].ep, n + 1, iov, cookie, 0),
		    DAT_INVALID_PARAMETER);
	pair_dto(&d->b[0], DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS, n, PAIR_UPCALL);
	pair_dto(&d->a[0], DAT_DTO_SEND, 2, DAT_DTO_SUCCESS, n, PAIR_UPCALL);
	pair_expect_bytes(&d->b[0], "a send of many segments", 0, n, 3);
	pair_write(&d->a[0], w, iov, 3, &far, 0);
	far.segment_length = w + 1;
	loop_expect(d->c, "a segment too many",
		    dat_ep_post_rdma_write(d->a[0].ep, w + 1, iov, cookie, &far, 0),
		    DAT_INVALID_PARAMETER);
	pair_dto(&d->a[0], DAT_DTO_RDMA_WRITE, 3, DAT_DTO_SUCCESS, w, PAIR_UPCALL);
	pair_expect_bytes(&d->b[0], "a write of many segments", 4096, w, 3);
	pair_clear(&d->a[0]);
	far.segment_length = r;
	pair_read(&d->a[0], r, iov, 4, &far, 0);
	far.segment_length = r + 1;
	loop_expect(d->c, "a segment too many",
		    dat_ep_post_rdma_read(d->a[0].ep, r + 1, iov, cookie, &far, 0),
		    DAT_INVALID_PARAMETER);
	pair_dto(&d->a[0], DAT_DTO_RDMA_READ, 4, DAT_DTO_SUCCESS, r, PAIR_UPCALL);
	pair_expect_bytes(&d->a[0], "a read of many segments", 0, min(r, w), 3);
	kfree(iov);
}

/* More reads than may be outstanding on the connection: all complete */
static void most_reads(struct pair *d)
{
	DAT_COUNT n = d->run->t.attr.max_rdma_read_per_ep_out + 3, i;
	DAT_RMR_TRIPLET far = pair_target(&d->b[0], 0, 32);
	DAT_LMR_TRIPLET near = pair_seg(&d->a[0], 0, 32);

	for (i = 0; i < n; i++)
		pair_read(&d->a[0], 1, &near, 100 + i, &far, 0);
	for (i = 0; i < n && pair_ok(d); i++)
		pair_dto(&d->a[0], DAT_DTO_RDMA_READ, 100 + i, DAT_DTO_SUCCESS, 32,
			 PAIR_ANY_UPCALL);
}

/* The maximum number of receives, one more refused; all are flushed on disconnect */
static void most_receives(struct pair *d)
{
	DAT_COUNT most = d->run->t.attr.max_dto_per_ep, i;
	DAT_DTO_COOKIE cookie = {};

	for (i = 0; i < most && pair_ok(d); i++)
		pair_recv(&d->b[0], 0, NULL, i, 0);
	loop_expect(d->c, "a receive too many",
		    dat_ep_post_recv(d->b[0].ep, 0, NULL, cookie, 0),
		    DAT_INSUFFICIENT_RESOURCES);
	loop_expect(d->c, "dat_ep_disconnect",
		    dat_ep_disconnect(d->a[0].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (i = 0; i < most && pair_ok(d); i++)
		pair_dto(&d->b[0], DAT_DTO_RECEIVE, i, DAT_DTO_ERR_FLUSHED, 0, PAIR_ANY_UPCALL);
}

static void largest_script(struct pair *d)
{
	struct large *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l) {
		loop_fail(d->c, "no memory");
		return;
	}
	most_segments(d);
	most_reads(d);
	/* Tens of megabytes: not in a short run */
	if (make_large(d, l) && !d->run->args.brief)
		largest_message(d, l);
	most_receives(d);
	end_large(d, l);
}

#define NATTRS	8

/* Each EP has one attribute at its limit plus @more, and the other limits at 0 */
static void one_attribute(const DAT_IA_ATTR *ia, DAT_EP_ATTR attr[NATTRS], u32 more)
{
	static const DAT_EP_ATTR none = {
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	u32 i;

	for (i = 0; i < NATTRS; i++)
		attr[i] = none;
	attr[0].max_recv_dtos = ia->max_dto_per_ep + more;
	attr[1].max_request_dtos = ia->max_dto_per_ep + more;
	attr[2].max_recv_iov = ia->max_iov_segments_per_dto + more;
	attr[3].max_request_iov = ia->max_iov_segments_per_dto + more;
	attr[4].max_rdma_read_iov = ia->max_iov_segments_per_rdma_read + more;
	attr[5].max_rdma_write_iov = ia->max_iov_segments_per_rdma_write + more;
	attr[6].max_rdma_read_in = ia->max_rdma_read_per_ep_in + more;
	attr[7].max_rdma_read_out = ia->max_rdma_read_per_ep_out + more;
}

/*
 * Each attribute of an EP is accepted at the limit of the IA, and refused at one more.
 * Without the first check the refusal could have any reason.
 */
static void one_beyond(struct loop_run *run, struct loop_case *c)
{
	DAT_EP_ATTR attr[NATTRS];
	DAT_EP_HANDLE ep;
	u32 i;

	one_attribute(&run->t.attr, attr, 0);
	for (i = 0; i < NATTRS; i++)
		if (loop_expect(c, "an EP that asks for the most",
				dat_ep_create(run->t.ia, run->t.pz, NULL, NULL, NULL, &attr[i],
					      &ep), DAT_SUCCESS))
			loop_expect(c, "dat_ep_free", dat_ep_free(ep), DAT_SUCCESS);
	one_attribute(&run->t.attr, attr, 1);
	for (i = 0; i < NATTRS; i++)
		loop_expect(c, "an EP that asks for one too many",
			    dat_ep_create(run->t.ia, run->t.pz, NULL, NULL, NULL, &attr[i], &ep),
			    DAT_INVALID_PARAMETER);
}

/**
 * loop_case_limits - the limits that dat_ia_query() reports can be reached, not exceeded
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_limits(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg largest = { .largest = true };

	evd_length(run, c);
	if (run->t.attr.max_srqs) {
		srq_size(run, c);
		loop_clauses(c, "Q-24");
	}
	one_beyond(run, c);
	loop_clauses(c, "E-21 E-42 G-17 G-25 D-16");
	/* G-20 needs the largest message, which takes too long for a short run */
	if (!run->args.brief)
		loop_clauses(c, "G-20");
	return pair_play(run, c, &largest, largest_script);
}

/* ---- an SRQ in use ------------------------------------------------------------------ */

static void resize(struct pair *d, DAT_COUNT size, u32 type)
{
	loop_expect(d->c, "dat_srq_resize", dat_srq_resize(d->srq, size), type);
}

/* Transfers @n messages into the buffers, in order */
static void messages(struct pair *d, u64 first, u32 n)
{
	u64 i;

	for (i = first; i < first + n && pair_ok(d); i++) {
		pair_send1(&d->a[0], 0, 8, i, 0);
		pair_dto(&d->b[0], DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
		pair_dto(&d->a[0], DAT_DTO_SEND, i, DAT_DTO_SUCCESS, 8, PAIR_UPCALL);
		pair_expect_bytes(&d->b[0], "a message", 32 * (i % 64), 8, 1);
	}
}

static void buffers(struct pair *d, u64 first, u32 n)
{
	u64 i;

	for (i = first; i < first + n; i++)
		pair_recv1(&d->b[0], 32 * (i % 64), 16, i, 0);
}

/* Shrunk and grown while an EP uses it */
static void resize_script(struct pair *d)
{
	DAT_LMR_TRIPLET seg = pair_seg(&d->b[0], 0, 16);
	DAT_DTO_COOKIE cookie = {};

	pair_fill(&d->a[0], 0, 16, 1);
	resize(d, PAIR_DEPTH + 1, DAT_INSUFFICIENT_RESOURCES);
	buffers(d, 1, 4);
	resize(d, 3, DAT_INVALID_STATE);
	resize(d, 4, DAT_SUCCESS);
	loop_expect(d->c, "a buffer too many", dat_srq_post_recv(d->srq, 1, &seg, cookie),
		    DAT_INSUFFICIENT_RESOURCES);
	messages(d, 1, 2);
	buffers(d, 5, 2);
	resize(d, PAIR_DEPTH, DAT_SUCCESS);
	buffers(d, 7, PAIR_DEPTH - 4);
	loop_expect(d->c, "a buffer too many", dat_srq_post_recv(d->srq, 1, &seg, cookie),
		    DAT_INSUFFICIENT_RESOURCES);
	messages(d, 3, PAIR_DEPTH);
	pair_expect_no_event(d, "an SRQ that changed its size");
}

/* Grown before an EP uses it: the additional buffers work like the first */
static int grown(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .srq = true, .grow = 3 * PAIR_DEPTH };
	struct pair *d = pair_make(run, c, &cfg);
	int err;

	if (!d)
		return -EIO;
	err = pair_connect(d);
	if (!err) {
		pair_fill(&d->a[0], 0, 16, 1);
		buffers(d, 1, 3 * PAIR_DEPTH);
		messages(d, 1, 3 * PAIR_DEPTH);
		resize(d, 2, DAT_SUCCESS);
		buffers(d, 101, 2);
		messages(d, 101, 2);
	}
	pair_end(d);
	return err;
}

/**
 * loop_case_resize - a shared receive queue is resized in use
 * @run: the run
 * @c: the case
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_resize(struct loop_run *run, struct loop_case *c)
{
	struct pair_cfg cfg = { .srq = true };
	int err = pair_play(run, c, &cfg, resize_script);

	return err ?: grown(run, c);
}
