// SPDX-License-Identifier: GPL-2.0
/*
 * The kDAPL side: two connected pairs of EPs, and further EPs and LMRs.
 *
 * It owns the IA and everything in it, and uses the public API only. EP 0 of a
 * pair posts requests, EP 1 takes receives; the second pair uses an SRQ for them.
 * All LMRs register the same page, so that tens of thousands of them need no
 * memory except their own; the LMRs in use are spread evenly among them. Requests register
 * other pages in LMRs of dat_lmr_allocate(). The further EPs stay unconnected and are created
 * before the pairs.
 *
 * main.c and measure.c create and use it in process context; its upcalls count
 * events.
 */
#include <linux/slab.h>
#include "bench.h"
#include "kdapl_test.h"

#define FIXTURE_QUAL	7472
#define FIXTURE_SIZE	(BENCH_MAX_SEGS * BENCH_SEG_LEN)

struct fixture {
	struct bench_side side;
	struct bench_spec spec;
	struct test_fixture t;		/* without @dto and @mem */
	DAT_EVD_HANDLE request, recv;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep[2][2];		/* [with an SRQ][end] */
	DAT_LMR_CONTEXT *lmr;
	DAT_RMR_CONTEXT rmr;
	void *page;
	void *area;			/* BENCH_AREA bytes to be registered */
	struct bench_regs regs;
	DAT_CR_HANDLE request_handle;
	atomic_t requests;
	atomic_t established;
};

/* ---- the calls --------------------------------------------------------- */

static void fixture_send(struct bench_op *op)
{
	op->failed |= dat_ep_post_send(op->handle, op->n, op->iov, op->cookie, op->flags);
}

static void fixture_write(struct bench_op *op)
{
	op->failed |= dat_ep_post_rdma_write(op->handle, op->n, op->iov, op->cookie,
					     &op->remote, op->flags);
}

static void fixture_read(struct bench_op *op)
{
	op->failed |= dat_ep_post_rdma_read(op->handle, op->n, op->iov, op->cookie,
					    &op->remote, op->flags);
}

static void fixture_send_inv(struct bench_op *op)
{
	op->failed |= dat_ep_post_send_with_invalidate(op->handle, op->n, op->iov, op->cookie,
						       op->flags, DAT_TRUE, op->remote.rmr_context);
}

static void fixture_fmr(struct bench_op *op)
{
	DAT_REGION_DESCRIPTION desc = { .for_physical = op->regs->page };
	DAT_LMR_HANDLE lmr = op->regs->lmr[op->turn++ % BENCH_BATCH];
	DAT_LMR_COOKIE cookie = { .as_64 = op->cookie.as_64 };

	op->failed |= dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, desc, op->n, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_VA, op->handle, cookie, op->flags,
				  &op->iov[0].lmr_context, &op->remote.rmr_context);
}

static void fixture_fmr_sg(struct bench_op *op)
{
	struct bench_regs *regs = op->regs;
	DAT_LMR_HANDLE lmr = regs->lmr[op->turn++ % BENCH_BATCH];
	DAT_LMR_COOKIE cookie = { .as_64 = op->cookie.as_64 };

	op->failed |= kdat_lmr_fmr_sg(lmr, regs->sgl, regs->nents, DAT_MEM_PRIV_ALL_FLAG,
				      op->handle, cookie, op->flags, &op->iov[0].lmr_context,
				      &op->remote.rmr_context);
}

static void fixture_invalidate(struct bench_op *op)
{
	DAT_LMR_HANDLE lmr = op->regs->lmr[op->turn++ % BENCH_BATCH];
	DAT_LMR_COOKIE cookie = { .as_64 = op->cookie.as_64 };

	op->failed |= dat_lmr_invalidate(lmr, op->handle, cookie, op->flags);
}

static void fixture_recv(struct bench_op *op)
{
	op->failed |= dat_ep_post_recv(op->handle, op->n, op->iov, op->cookie, op->flags);
}

static void fixture_srq_recv(struct bench_op *op)
{
	op->failed |= dat_srq_post_recv(op->handle, op->n, op->iov, op->cookie);
}

static const bench_fn fixture_fn[BENCH_NR_KINDS] = {
	[BENCH_SEND] = fixture_send,
	[BENCH_WRITE] = fixture_write,
	[BENCH_READ] = fixture_read,
	[BENCH_SEND_INV] = fixture_send_inv,
	[BENCH_FMR] = fixture_fmr,
	[BENCH_FMR_SG] = fixture_fmr_sg,
	[BENCH_INVALIDATE] = fixture_invalidate,
	[BENCH_RECV] = fixture_recv,
	[BENCH_SRQ_RECV] = fixture_srq_recv,
};

static void fixture_fill(struct fixture *w, struct bench_op *op,
			 const struct bench_spec *spec, DAT_HANDLE handle,
			 DAT_COMPLETION_FLAGS flags)
{
	u32 i;

	op->failed = 0;
	op->turn = 0;
	op->regs = &w->regs;
	op->handle = handle;
	op->flags = flags;
	op->n = spec->segs;
	op->cookie.as_64 = 1;
	for (i = 0; i < spec->segs; i++) {
		u32 lmr = spec->same ? 0 : i * (w->spec.lmrs / spec->segs);

		/* The newest LMRs are used first */
		op->iov[i].lmr_context = w->lmr[w->spec.lmrs - 1 - lmr];
		op->iov[i].virtual_address = (unsigned long)w->page + i * BENCH_SEG_LEN;
		op->iov[i].segment_length = BENCH_SEG_LEN;
	}
	op->remote.virtual_address = (unsigned long)w->page;
	op->remote.segment_length = spec->segs * BENCH_SEG_LEN;
	op->remote.rmr_context = w->rmr;
}

/**
 * fixture_side - the part of the fixture that measure.c uses
 * @w:    the fixture
 * @spec: the segments and their LMRs
 *
 * Context: process.
 * Return: the side.
 */
struct bench_side *fixture_side(struct fixture *w, const struct bench_spec *spec)
{
	DAT_EP_HANDLE *ep = w->ep[spec->kind == BENCH_SRQ_RECV];
	struct bench_side *side = &w->side;
	int i;

	side->fn = fixture_fn;
	bench_regs_fill(&w->regs, w->area, spec);
	side->recv_kind = spec->kind == BENCH_SRQ_RECV ? BENCH_SRQ_RECV : BENCH_RECV;
	for (i = BENCH_SEND; i < BENCH_RECV; i++) {
		fixture_fill(w, &side->op[i], spec, ep[0], DAT_COMPLETION_DEFAULT_FLAG);
		fixture_fill(w, &side->quiet[i], spec, ep[0], DAT_COMPLETION_SUPPRESS_FLAG);
	}
	fixture_fill(w, &side->op[BENCH_RECV], spec, ep[1], DAT_COMPLETION_DEFAULT_FLAG);
	fixture_fill(w, &side->op[BENCH_SRQ_RECV], spec, w->srq, DAT_COMPLETION_DEFAULT_FLAG);
	return side;
}

/* ---- upcalls ----------------------------------------------------------- */

static void fixture_upcall_count(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct fixture *w = instance;

	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		w->side.op[BENCH_SEND].failed = 1;
	bench_count(&w->side.done, 1);
}

/* Wakes nobody */
static void fixture_upcall_tally(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct fixture *w = instance;

	atomic_inc(&w->side.done);
}

static void fixture_upcall_empty(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

static void fixture_upcall_conn(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct fixture *w = instance;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		bench_count(&w->established, 1);
	else if (event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		pr_info("kdapl_bench: connection event 0x%x\n", event->event_number);
}

static void fixture_upcall_cr(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct fixture *w = instance;

	w->request_handle = event->event_data.cr_arrival_event_data.cr_handle;
	bench_count(&w->requests, 1);
}

/**
 * fixture_set_events - select the delivery of completion events
 * @w:   the fixture, with nothing outstanding
 * @how: upcalls that count, and wake whoever waits or do not; that do nothing; or no upcalls
 *
 * Context: process.
 * Return: 0, -EIO.
 */
int fixture_set_events(struct fixture *w, enum fixture_events how)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = w,
		.upcall_func = how == FIXTURE_EMPTY ? fixture_upcall_empty :
			       how == FIXTURE_TALLY ? fixture_upcall_tally : fixture_upcall_count,
	};
	DAT_UPCALL_POLICY policy = how == FIXTURE_DEQUEUE ? DAT_UPCALL_DISABLE :
							  DAT_UPCALL_SINGLE_INSTANCE;

	if (dat_evd_modify_upcall(w->request, policy, &upcall, DAT_UPCALL_INVOC_NEW) ||
	    dat_evd_modify_upcall(w->recv, policy, &upcall, DAT_UPCALL_INVOC_NEW))
		return -EIO;
	return 0;
}

/**
 * fixture_evd - return an EVD of completions
 * @w:    the fixture
 * @recv: true for the EVD of receives, false for that of requests
 *
 * Context: any.
 * Return: the EVD.
 */
DAT_EVD_HANDLE fixture_evd(const struct fixture *w, bool recv)
{
	return recv ? w->recv : w->request;
}

/* ---- the objects ------------------------------------------------------- */

/* Logs the step of fixture_create() that failed */
static int fixture_try(const char *what, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	pr_err("kdapl_bench: %s: 0x%x\n", what, ret);
	return -EIO;
}

static int fixture_make_evd(struct fixture *w, DAT_EVD_FLAGS flags, DAT_UPCALL_FUNC func,
			    DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = w, .upcall_func = func };

	return fixture_try("dat_evd_kcreate",
			   dat_evd_kcreate(w->t.ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall, flags,
					   evd));
}

static int fixture_make_lmrs(struct fixture *w)
{
	struct kdat_region region;
	int ret = 0;
	u32 i;

	w->lmr = kvcalloc(w->spec.lmrs, sizeof(*w->lmr), GFP_KERNEL);
	if (!w->lmr)
		return -ENOMEM;
	for (i = 0; i < w->spec.lmrs && !ret; i++) {
		ret = fixture_try("dat_lmr_kcreate",
				  kdat_register(w->t.ia, w->t.pz, w->page, FIXTURE_SIZE,
						DAT_MEM_PRIV_ALL_FLAG, &region));
		w->lmr[i] = region.lmr_context;
		w->rmr = region.rmr_context;
	}
	return ret;
}

static int fixture_allocate_lmrs(struct fixture *w)
{
	int i, ret = 0;

	for (i = 0; i < BENCH_BATCH && !ret; i++)
		ret = fixture_try("dat_lmr_allocate",
				  dat_lmr_allocate(w->t.ia, w->t.pz, BENCH_MAX_SEGS,
						   DAT_LMR_SCOPE_PZ, &w->regs.lmr[i]));
	return ret;
}

/**
 * fixture_fill_attr - attributes of an EP to be measured
 * @attr: filled in
 * @iov:  segments of all kinds
 *
 * Context: any.
 */
void fixture_fill_attr(DAT_EP_ATTR *attr, DAT_COUNT iov)
{
	*attr = (DAT_EP_ATTR) {
		.max_message_size = PAGE_SIZE,
		.max_rdma_size = PAGE_SIZE,
		.max_recv_dtos = BENCH_DEPTH,
		.max_request_dtos = BENCH_DEPTH,
		.max_recv_iov = iov,
		.max_request_iov = iov,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = iov,
		.max_rdma_write_iov = iov,
	};
}

/* One EP is measured; its peer and the other pair are not in the number of EPs */
static int fixture_make_idle_eps(struct fixture *w)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	int ret = 0;
	u32 i;

	fixture_fill_attr(&attr, 1);
	attr.max_recv_dtos = 4;
	attr.max_request_dtos = 4;
	for (i = 1; i < w->spec.eps && !ret; i++)
		ret = fixture_try("dat_ep_create",
				  dat_ep_create(w->t.ia, w->t.pz, w->recv, w->request, w->t.conn,
						&attr, &ep));
	return ret;
}

static int fixture_make_ep(struct fixture *w, DAT_SRQ_HANDLE srq, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr;

	fixture_fill_attr(&attr, BENCH_MAX_SEGS);
	if (srq == DAT_HANDLE_NULL)
		return fixture_try("dat_ep_create",
				   dat_ep_create(w->t.ia, w->t.pz, w->recv, w->request, w->t.conn,
						 &attr, ep));
	return fixture_try("dat_ep_create_with_srq",
			   dat_ep_create_with_srq(w->t.ia, w->t.pz, w->recv, w->request, w->t.conn,
						  srq, &attr, ep));
}

static int fixture_connect(struct fixture *w, DAT_EP_HANDLE *ep)
{
	int ret;

	atomic_set(&w->requests, 0);
	atomic_set(&w->established, 0);
	ret = fixture_try("dat_ep_connect", test_connect(&w->t, ep[0], FIXTURE_QUAL, NULL, 0));
	if (ret)
		return ret;
	if (!bench_wait_for(&w->requests, 1))
		return -ETIMEDOUT;
	ret = fixture_try("dat_cr_accept", dat_cr_accept(w->request_handle, ep[1], 0, NULL));
	if (ret)
		return ret;
	return bench_wait_for(&w->established, 2) ? 0 : -ETIMEDOUT;
}

static int fixture_make_pairs(struct fixture *w)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = BENCH_DEPTH, .max_recv_iov = BENCH_MAX_SEGS };

	return fixture_try("dat_srq_create", dat_srq_create(w->t.ia, w->t.pz, &attr, &w->srq)) ?:
	       fixture_make_ep(w, DAT_HANDLE_NULL, &w->ep[0][0]) ?:
	       fixture_make_ep(w, DAT_HANDLE_NULL, &w->ep[0][1]) ?:
	       fixture_make_ep(w, DAT_HANDLE_NULL, &w->ep[1][0]) ?:
	       fixture_make_ep(w, w->srq, &w->ep[1][1]) ?:
	       fixture_connect(w, w->ep[0]) ?: fixture_connect(w, w->ep[1]);
}

static int fixture_make(struct fixture *w)
{
	return fixture_try("opening the IA", test_fixture_open(&w->t, w->spec.device)) ?:
	       fixture_try("dat_pz_create", dat_pz_create(w->t.ia, &w->t.pz)) ?:
	       fixture_make_evd(w, DAT_EVD_DTO_FLAG | w->spec.context, fixture_upcall_count,
				&w->request) ?:
	       fixture_make_evd(w, DAT_EVD_DTO_FLAG | w->spec.context, fixture_upcall_count,
				&w->recv) ?:
	       fixture_make_evd(w, DAT_EVD_CONNECTION_FLAG, fixture_upcall_conn, &w->t.conn) ?:
	       fixture_make_evd(w, DAT_EVD_CR_FLAG, fixture_upcall_cr, &w->t.cr) ?:
	       fixture_try("dat_psp_create", test_listen(&w->t, FIXTURE_QUAL)) ?:
	       fixture_make_lmrs(w) ?: fixture_allocate_lmrs(w) ?: fixture_make_idle_eps(w) ?:
	       fixture_make_pairs(w);
}

/**
 * fixture_create - create the connected pairs and the further EPs and LMRs
 * @spec:  the numbers of EPs and LMRs
 *
 * Context: process.
 * Return: the fixture, or ERR_PTR.
 */
struct fixture *fixture_create(const struct bench_spec *spec)
{
	struct fixture *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!w)
		return ERR_PTR(-ENOMEM);
	w->spec = *spec;
	w->page = (void *)get_zeroed_page(GFP_KERNEL);
	w->area = alloc_pages_exact(BENCH_AREA, GFP_KERNEL | __GFP_ZERO);
	if (w->page && w->area)
		ret = fixture_make(w);
	if (!ret)
		return w;
	fixture_destroy(w);
	return ERR_PTR(ret);
}

/**
 * fixture_destroy - undo fixture_create()
 * @w: the fixture, complete or not
 *
 * Context: process.
 */
void fixture_destroy(struct fixture *w)
{
	/* Closing the IA ends the connections of the EPs without events */
	if (w->t.ia != DAT_HANDLE_NULL)
		fixture_try("dat_ia_close", dat_ia_close(w->t.ia, DAT_CLOSE_ABRUPT_FLAG));
	kvfree(w->lmr);
	free_page((unsigned long)w->page);
	if (w->area)
		free_pages_exact(w->area, BENCH_AREA);
	kfree(w);
}

/**
 * fixture_fits - can a fixture be used for a measurement?
 * @w:    a fixture, or NULL
 * @spec: the measurement
 *
 * Context: process.
 * Return: true if it can.
 */
bool fixture_fits(const struct fixture *w, const struct bench_spec *spec)
{
	return w && !strcmp(w->spec.device, spec->device) && w->spec.lmrs == spec->lmrs &&
	       w->spec.eps == spec->eps && w->spec.context == spec->context;
}
