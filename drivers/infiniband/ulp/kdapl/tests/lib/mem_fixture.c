// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the suites for memory requests, see mem_kunit.h.
 * Process context.
 */
#include <linux/io.h>
#include "mem_kunit.h"

/* ---- environment ------------------------------------------------------ */

DAT_RETURN mem_lmr(struct mem *m, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key)
{
	DAT_REGION_DESCRIPTION region = { .for_va = m->env->buf };
	DAT_VADDR address;
	DAT_VLEN length;

	return dat_lmr_kcreate(m->ia, DAT_MEM_TYPE_VIRTUAL, region, TP_BUF, pz, priv,
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context, key,
			       &length, &address);
}

int mem_setup(struct kunit *test, struct mem *m)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->env = tp_env_create();
	if (IS_ERR(m->env))
		return PTR_ERR(m->env);
	m->ia = kdapl_obj_handle(&m->env->ia->obj);
	m->pz = m->env->own.pz;
	KUNIT_ASSERT_EQ(test, tp_ep_create(m->env, NULL, false, &m->ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&m->ep), 0);
	KUNIT_ASSERT_EQ(test, mem_lmr(m, m->pz, DAT_MEM_PRIV_ALL_FLAG, &m->lmr, &m->context,
				      &m->lmr_key), DAT_SUCCESS);
	m->valid = fake_valid_mrs(m->env->fake);
	m->live = atomic_read(&m->env->fake->live);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(m->pz, &m->rmr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(m->ia, m->pz, MEM_PAGES, DAT_LMR_SCOPE_PZ, &m->fmr),
			DAT_SUCCESS);
	for (i = 0; i < MEM_PAGES + 1; i++)
		m->page[i] = virt_to_phys(m->env->buf) + i * PAGE_SIZE;
	return 0;
}

static void free_politely(struct kunit *test, struct mem *m)
{
	tp_drain(&m->ep);
	tp_ep_free(&m->ep);
	/* A work item repairs what was flushed */
	fake_settle(m->env->fake);
	if (m->rmr)
		KUNIT_EXPECT_EQ(test, dat_rmr_free(m->rmr), DAT_SUCCESS);
	if (m->fmr)
		KUNIT_EXPECT_EQ(test, dat_lmr_free(m->fmr), DAT_SUCCESS);
	if (m->lmr)
		KUNIT_EXPECT_EQ(test, dat_lmr_free(m->lmr), DAT_SUCCESS);
}

void mem_done(struct kunit *test, struct mem *m)
{
	struct fake_dev *fake;

	if (IS_ERR_OR_NULL(m->env))
		return;
	fake = m->env->fake;
	fake->hold_flush = false;
	if (m->ep.handle)
		free_politely(test, m);
	KUNIT_EXPECT_EQ(test, fake->full, 0);
	KUNIT_EXPECT_EQ(test, fake->overruns, 0);
	KUNIT_EXPECT_EQ(test, fake->misuses, 0);
	tp_env_destroy(m->env);
	m->env = NULL;
}

void mem_second(struct kunit *test, struct mem *m, struct tp_ep *ep)
{
	KUNIT_ASSERT_EQ(test, tp_ep_create(m->env, NULL, false, ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(ep), 0);
}

/* ---- the calls -------------------------------------------------------- */

void mem_bind_args(struct mem *m, struct bind *b)
{
	memset(b, 0, sizeof(*b));
	b->rmr = m->rmr;
	b->lmr = m->lmr;
	b->range.virtual_address = (unsigned long)m->env->buf + 100;
	b->range.segment_length = MEM_LEN;
	b->range.lmr_context = m->context;
	b->triplet = &b->range;
	b->priv = MEM_REMOTE;
	b->va = DAT_VA_TYPE_VA;
	b->ep = m->ep.handle;
	b->cookie.as_64 = 0xb1b1b1b1b1b1b1b1ULL;
	b->key = 0xdeadbeef;
	b->context = &b->key;
}

DAT_RETURN mem_bind_post(struct bind *b)
{
	return dat_rmr_bind(b->rmr, b->lmr, b->triplet, b->priv, b->va, b->ep, b->cookie, b->flags,
			    b->context);
}

DAT_RMR_CONTEXT mem_bind(struct kunit *test, struct mem *m, struct tp_ep *ep, u64 cookie,
			 u32 off, u32 len)
{
	struct bind b;

	mem_bind_args(m, &b);
	b.ep = ep->handle;
	b.cookie.as_64 = cookie;
	b.range.virtual_address = (unsigned long)m->env->buf + off;
	b.range.segment_length = len;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	return b.key;
}

void mem_fmr_args(struct mem *m, struct fmr *f)
{
	memset(f, 0, sizeof(*f));
	f->lmr = m->fmr;
	f->type = DAT_MEM_TYPE_PHYSICAL;
	f->desc.for_physical = m->page;
	f->n = 2;
	f->priv = DAT_MEM_PRIV_ALL_FLAG;
	f->va = DAT_VA_TYPE_VA;
	f->ep = m->ep.handle;
	f->cookie.as_64 = 0xf3f3f3f3f3f3f3f3ULL;
	f->context = 0xdeadbeef;
	f->key = 0xdeadbeef;
	f->lmr_context = &f->context;
	f->rmr_context = &f->key;
}

DAT_RETURN mem_fmr_post(struct fmr *f)
{
	return dat_lmr_fmr(f->lmr, f->type, f->desc, f->n, f->priv, f->va, f->ep, f->cookie,
			   f->flags, f->lmr_context, f->rmr_context);
}

void mem_sg_args(struct mem *m, struct sg_fmr *f)
{
	memset(f, 0, sizeof(*f));
	f->lmr = m->fmr;
	f->sgl = f->sg;
	sg_init_table(f->sg, MEM_SG);
	mem_sg_add(m, f, 100, MEM_LEN);
	f->priv = DAT_MEM_PRIV_ALL_FLAG;
	f->ep = m->ep.handle;
	f->cookie.as_64 = 0x5656565656565656ULL;
	f->context = 0xdeadbeef;
	f->key = 0xdeadbeef;
	f->lmr_context = &f->context;
	f->rmr_context = &f->key;
}

void mem_sg_add(struct mem *m, struct sg_fmr *f, u32 off, u32 len)
{
	sg_set_buf(&f->sg[f->nents++], m->env->buf + off, len);
}

DAT_RETURN mem_sg_post(struct sg_fmr *f)
{
	return kdat_lmr_fmr_sg(f->lmr, f->sgl, f->nents, f->priv, f->ep, f->cookie, f->flags,
			       f->lmr_context, f->rmr_context);
}

DAT_RETURN mem_invalidate(struct mem *m, struct tp_ep *ep, u64 cookie, u32 flags)
{
	DAT_LMR_COOKIE c = { .as_64 = cookie };

	return dat_lmr_invalidate(m->fmr, ep->handle, c, flags);
}

void mem_finish(struct mem *m, struct tp_ep *ep)
{
	while (fake_complete_send(tp_qp(ep), IB_WC_SUCCESS))
		;
	fake_settle(m->env->fake);
}

DAT_RETURN mem_local_use(struct mem *m, struct tp_ep *ep, DAT_LMR_CONTEXT context)
{
	struct tp_args args;
	DAT_RETURN ret;

	tp_args(m->env, ep, TP_SEND, &args);
	args.segs[0].lmr_context = context;
	args.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ret = tp_post(TP_SEND, &args);
	if (ret == DAT_SUCCESS)
		mem_finish(m, ep);
	return ret;
}

bool mem_lmr_goes(DAT_LMR_HANDLE lmr)
{
	return kdapl_sleep_until(dat_lmr_free(lmr) == DAT_SUCCESS);
}

/* ---- expectations ----------------------------------------------------- */

void mem_expect(struct kunit *test, struct tp_ep *ep, DAT_DTOS op, u64 cookie,
		DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep->request_evd, &event), DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, ep->request_evd);
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep->handle);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, cookie);
	KUNIT_EXPECT_EQ(test, dto->operation, op);
	KUNIT_EXPECT_EQ(test, dto->status, status);
}

void mem_expect_broken(struct kunit *test, struct tp_ep *ep)
{
	DAT_EVENT event;

	KUNIT_EXPECT_EQ(test, ep->ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep->connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, tp_events(ep->connect_evd), 0);
}

static DAT_EVD_HANDLE async_evd(struct mem *m)
{
	return kdapl_obj_handle(&m->env->ia->async_evd->obj);
}

void mem_expect_async(struct kunit *test, struct mem *m, DAT_HANDLE handle)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(async_evd(m), &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data.dat_handle, handle);
	mem_expect_no_async(test, m);
}

void mem_expect_no_async(struct kunit *test, struct mem *m)
{
	KUNIT_EXPECT_EQ(test, tp_events(async_evd(m)), 0);
}

void mem_expect_bound(struct kunit *test, struct mem *m, DAT_RMR_CONTEXT key)
{
	DAT_RMR_PARAM param;

	memset(&param, 0xee, sizeof(param));
	KUNIT_ASSERT_EQ(test, dat_rmr_query(m->rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, m->ia);
	KUNIT_EXPECT_PTR_EQ(test, param.pz_handle, m->pz);
	KUNIT_EXPECT_EQ(test, param.rmr_context, key);
	if (!key)
		KUNIT_EXPECT_EQ(test, param.lmr_triplet.segment_length, 0);
	else
		KUNIT_EXPECT_EQ(test, param.lmr_triplet.lmr_context, m->context);
}

void mem_expect_fmr(struct kunit *test, struct mem *m, bool bound, DAT_RMR_CONTEXT key)
{
	DAT_LMR_PARAM param;

	KUNIT_ASSERT_EQ(test, dat_lmr_query(m->fmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.lmr_state.fmr_support, DAT_TRUE);
	KUNIT_EXPECT_EQ(test, param.lmr_state.bound, bound ? DAT_TRUE : DAT_FALSE);
	KUNIT_EXPECT_EQ(test, param.rmr_context, key);
}
