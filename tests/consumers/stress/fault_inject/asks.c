// SPDX-License-Identifier: GPL-2.0
/*
 * More steps of the fault injection: queries and other calls that allocate nothing. The test
 * checks that they have no failure points, or succeed at them.
 *
 * Called by the task that loads the module, like those of steps.c.
 */
#include "fault_inject.h"

/* Some of them are too large for the stack */
static union {
	struct {
		DAT_IA_ATTR ia;
		DAT_PROVIDER_ATTR provider;
	} attr;
	DAT_EVD_PARAM evd;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_PZ_PARAM pz;
	DAT_SRQ_PARAM srq;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_EVENT event;
} out;

static const DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT };

/* An EVD without an upcall */
static int need_event(struct inject_objs *b)
{
	if (dat_evd_kcreate(fx.t.ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
			    &b->evd) != DAT_SUCCESS)
		return -EIO;
	return dat_evd_post_se(b->evd, &software) ? -EIO : 0;
}

static DAT_RETURN ia_query(struct inject_objs *b)
{
	DAT_EVD_HANDLE async;

	return dat_ia_query(fx.t.ia, &async, DAT_IA_FIELD_ALL, &out.attr.ia,
			    DAT_PROVIDER_FIELD_ALL, &out.attr.provider);
}

static DAT_RETURN ia_memtype_hint(struct inject_objs *b)
{
	DAT_VADDR alignment;
	DAT_VLEN length;

	return dat_ia_memtype_hint(fx.t.ia, DAT_MEM_TYPE_VIRTUAL, 65536,
				   DAT_MEM_OPTIMIZE_DONT_CARE, &length, &alignment);
}

static DAT_RETURN providers_related(struct inject_objs *b)
{
	DAT_HA_RELATIONSHIP answer;

	return dat_registry_providers_related(test_ia_name, test_ia_name, &answer);
}

static DAT_RETURN words(struct inject_objs *b)
{
	const char *major, *minor;

	return dat_strerror(DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), &major, &minor);
}

static DAT_RETURN set_context(struct inject_objs *b)
{
	return dat_set_consumer_context(fx.t.ia, (DAT_CONTEXT){ .as_64 = 1 });
}

static DAT_RETURN get_context(struct inject_objs *b)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(fx.t.ia, &context);
}

static DAT_RETURN handle_type(struct inject_objs *b)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(fx.t.ia, &type);
}

static DAT_RETURN evd_query(struct inject_objs *b)
{
	return dat_evd_query(fx.t.dto, DAT_EVD_FIELD_ALL, &out.evd);
}

static DAT_RETURN evd_post_se(struct inject_objs *b)
{
	return dat_evd_post_se(b->evd, &software);
}

static DAT_RETURN evd_dequeue(struct inject_objs *b)
{
	return dat_evd_dequeue(b->evd, &out.event);
}

static DAT_RETURN ep_get_status(struct inject_objs *b)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return dat_ep_get_status(fx.a, &state, &recv_idle, &request_idle);
}

static DAT_RETURN pz_query(struct inject_objs *b)
{
	return dat_pz_query(fx.t.pz, DAT_PZ_FIELD_ALL, &out.pz);
}

static DAT_RETURN lmr_query(struct inject_objs *b)
{
	return dat_lmr_query(b->lmr, DAT_LMR_FIELD_ALL, &out.lmr);
}

static DAT_RETURN lmr_sync_rdma_read(struct inject_objs *b)
{
	DAT_LMR_TRIPLET segment = kdat_local(&fx.t.mem, 0, 64);

	return dat_lmr_sync_rdma_read(fx.t.ia, &segment, 1);
}

static DAT_RETURN lmr_sync_rdma_write(struct inject_objs *b)
{
	DAT_LMR_TRIPLET segment = kdat_local(&fx.t.mem, 0, 64);

	return dat_lmr_sync_rdma_write(fx.t.ia, &segment, 1);
}

static DAT_RETURN rmr_query(struct inject_objs *b)
{
	return dat_rmr_query(b->rmr, DAT_RMR_FIELD_ALL, &out.rmr);
}

static DAT_RETURN srq_query(struct inject_objs *b)
{
	return dat_srq_query(b->srq, DAT_SRQ_FIELD_ALL, &out.srq);
}

static DAT_RETURN psp_query(struct inject_objs *b)
{
	return dat_psp_query(b->psp, DAT_PSP_FIELD_ALL, &out.psp);
}

static DAT_RETURN rsp_query(struct inject_objs *b)
{
	return dat_rsp_query(b->rsp, DAT_RSP_FIELD_ALL, &out.rsp);
}

const struct inject_step inject_asks[] = {
	{ "dat_ia_query", NULL, ia_query },
	{ "dat_ia_memtype_hint", NULL, ia_memtype_hint },
	{ "dat_registry_providers_related", NULL, providers_related },
	{ "dat_strerror", NULL, words },
	{ "dat_set_consumer_context", NULL, set_context },
	{ "dat_get_consumer_context", NULL, get_context },
	{ "dat_get_handle_type", NULL, handle_type },
	{ "dat_evd_query", NULL, evd_query },
	{ "dat_evd_post_se", need_evd, evd_post_se },
	{ "dat_evd_dequeue", need_event, evd_dequeue },
	{ "dat_ep_get_status", NULL, ep_get_status },
	{ "dat_pz_query", NULL, pz_query },
	{ "dat_lmr_query", need_lmr, lmr_query },
	{ "dat_lmr_sync_rdma_read", NULL, lmr_sync_rdma_read },
	{ "dat_lmr_sync_rdma_write", NULL, lmr_sync_rdma_write },
	{ "dat_rmr_query", need_rmr, rmr_query },
	{ "dat_srq_query", need_srq, srq_query },
	{ "dat_psp_query", need_psp, psp_query },
	{ "dat_rsp_query", need_rsp, rsp_query },
};

const unsigned int inject_nasks = ARRAY_SIZE(inject_asks);
