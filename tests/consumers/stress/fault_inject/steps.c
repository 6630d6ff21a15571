// SPDX-License-Identifier: GPL-2.0
/*
 * The steps of the fault injection: the preparation of each control call, and the call.
 *
 * Called by the task that loads the module; only the call itself has a failing allocation.
 * Calls that never allocate are here and in asks.c, too, and the test proves that.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "fault_inject.h"

static void upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
}

/* ---- what calls need ---------------------------------------------------------------- */

int need_pz(struct inject_objs *b)
{
	return dat_pz_create(fx.t.ia, &b->pz) ? -EIO : 0;
}

int need_evd(struct inject_objs *b)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };

	return dat_evd_kcreate(fx.t.ia, 4, DAT_UPCALL_SINGLE_INSTANCE, &object,
			       DAT_EVD_SOFTWARE_FLAG, &b->evd) ? -EIO : 0;
}

/* All EPs on an EVD have the same flags */
static int need_dto_evd(struct inject_objs *b)
{
	return dat_evd_kcreate(fx.t.ia, 16, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG,
			       &b->evd) ? -EIO : 0;
}

int need_ep(struct inject_objs *b)
{
	return inject_make_ep(&b->ep) ? -EIO : 0;
}

static int need_two_eps(struct inject_objs *b)
{
	return need_ep(b) ? : inject_make_ep(&b->peer) ? -EIO : 0;
}

/* The request arrives at a reserved service point, for its EP */
static int need_reserved_cr(struct inject_objs *b)
{
	int err = need_two_eps(b);

	if (err)
		return err;
	if (dat_rsp_create(fx.t.ia, INJECT_OTHER, b->peer, fx.t.cr, &b->rsp) != DAT_SUCCESS)
		return -EIO;
	return inject_connect(b->ep, INJECT_OTHER, &b->cr);
}

static int need_broken_ep(struct inject_objs *b)
{
	return need_ep(b) ? : inject_broken(b->ep);
}

static int need_cr(struct inject_objs *b)
{
	return need_two_eps(b) ? : inject_connect(b->ep, INJECT_QUAL, &b->cr);
}

static int need_connection(struct inject_objs *b)
{
	int err = need_cr(b);

	if (err)
		return err;
	if (dat_cr_accept(b->cr, b->peer, 0, NULL) != DAT_SUCCESS)
		return -EIO;
	b->cr = DAT_HANDLE_NULL;
	return inject_established(b->ep);
}

int need_srq(struct inject_objs *b)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = 1 };

	return dat_srq_create(fx.t.ia, fx.t.pz, &attr, &b->srq) ? -EIO : 0;
}

static DAT_RETURN make_lmr(struct inject_objs *b, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			   DAT_VLEN length)
{
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_VADDR addr;

	return dat_lmr_kcreate(fx.t.ia, type, region, length, fx.t.pz, DAT_MEM_PRIV_ALL_FLAG,
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &b->lmr, &context, &key,
			       &length, &addr);
}

static DAT_RETURN lmr_virtual(struct inject_objs *b)
{
	DAT_REGION_DESCRIPTION region = { .for_va = fx.spare };

	return make_lmr(b, DAT_MEM_TYPE_VIRTUAL, region, 4 * PAGE_SIZE);
}

int need_lmr(struct inject_objs *b)
{
	return lmr_virtual(b) ? -EIO : 0;
}

int need_rmr(struct inject_objs *b)
{
	return dat_rmr_create(fx.t.pz, &b->rmr) ? -EIO : 0;
}

static DAT_RETURN psp_create(struct inject_objs *b)
{
	return dat_psp_create(fx.t.ia, INJECT_OTHER, fx.t.cr, DAT_PSP_CONSUMER_FLAG, &b->psp);
}

int need_psp(struct inject_objs *b)
{
	return psp_create(b) ? -EIO : 0;
}

static DAT_RETURN rsp_create(struct inject_objs *b)
{
	return dat_rsp_create(fx.t.ia, INJECT_OTHER, b->ep, fx.t.cr, &b->rsp);
}

int need_rsp(struct inject_objs *b)
{
	return need_ep(b) ? : rsp_create(b) ? -EIO : 0;
}

/* An IA with an object of each type */
static int need_full_ia(struct inject_objs *b)
{
	DAT_REGION_DESCRIPTION region = { .for_va = fx.spare };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_HANDLE any;
	DAT_PZ_HANDLE pz;
	DAT_VLEN length;
	DAT_VADDR addr;

	if (dat_ia_open(test_ia_name, 8, &async, &b->ia) || dat_pz_create(b->ia, &pz) ||
	    dat_evd_kcreate(b->ia, 4, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DEFAULT_FLAG &
			    ~DAT_EVD_ASYNC_FLAG, &evd) ||
	    dat_ep_create(b->ia, pz, evd, evd, evd, NULL, &any) ||
	    dat_srq_create(b->ia, pz, &srq_attr, &any) ||
	    dat_psp_create(b->ia, INJECT_OTHER, evd, DAT_PSP_CONSUMER_FLAG, &any) ||
	    dat_rmr_create(pz, &any) ||
	    dat_lmr_kcreate(b->ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE_SIZE, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			    &any, &context, &key, &length, &addr))
		return -EIO;
	return 0;
}

/* ---- the calls ------------------------------------------------------------------------ */

static DAT_RETURN ia_openv(struct inject_objs *b)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open(test_ia_name, 8, &async, &b->ia);
}

/* A free: after a success the object does not exist any more */
DAT_RETURN taken(DAT_HANDLE *handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		*handle = DAT_HANDLE_NULL;
	return ret;
}

/* With the asynchronous EVD of another */
static DAT_RETURN ia_openv_shared(struct inject_objs *b)
{
	DAT_EVD_HANDLE async = fx.t.async;

	return dat_ia_open(test_ia_name, 8, &async, &b->ia);
}

static int need_ia(struct inject_objs *b)
{
	return ia_openv(b) ? -EIO : 0;
}

static DAT_RETURN ia_close(struct inject_objs *b)
{
	return taken(&b->ia, dat_ia_close(b->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static DAT_RETURN ia_close_graceful(struct inject_objs *b)
{
	return taken(&b->ia, dat_ia_close(b->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN registry_list_providers(struct inject_objs *b)
{
	static DAT_PROVIDER_INFO info[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_COUNT n;
	int i;

	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	return dat_registry_list_providers(8, &n, list);
}

static DAT_RETURN pz_create(struct inject_objs *b)
{
	return dat_pz_create(fx.t.ia, &b->pz);
}

/*
 * The table of handles has pages of 256, and the low bits of a handle are its index there.
 * Pages are not freed before the module is unloaded, and each attempt makes one, so the
 * objects of an attempt fill one page more than those of the attempt before. The next object
 * needs a page that no object has needed before.
 */
static int need_full_handle_page(struct inject_objs *b)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static unsigned int pages;
	DAT_PZ_HANDLE pz;
	unsigned int i;

	if (dat_ia_open(test_ia_name, 8, &async, &b->ia))
		return -EIO;
	pages++;
	for (i = 0; i < pages; i++) {
		do {
			if (dat_pz_create(b->ia, &pz))
				return -EIO;
		} while (((unsigned long)pz & 0xff) != 0xff);
	}
	return 0;
}

/* A failed call has returned its index of the table, so the next object gets the same one */
static DAT_RETURN pz_create_in_other_ia(struct inject_objs *b)
{
	DAT_RETURN ret = dat_pz_create(b->ia, &b->pz);

	if (!ret && ((unsigned long)b->pz & 0xff))
		return DAT_INTERNAL_ERROR;
	return ret;
}

static DAT_RETURN pz_free(struct inject_objs *b)
{
	return taken(&b->pz, dat_pz_free(b->pz));
}

static DAT_RETURN evd_kcreate(struct inject_objs *b)
{
	return dat_evd_kcreate(fx.t.ia, 64, DAT_UPCALL_DISABLE, NULL, DAT_EVD_SOFTWARE_FLAG,
			       &b->evd);
}

static DAT_RETURN evd_modify_upcall(struct inject_objs *b)
{
	return dat_evd_modify_upcall(b->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				     DAT_UPCALL_INVOC_NEW);
}

static DAT_RETURN evd_modify_policy(struct inject_objs *b)
{
	DAT_UPCALL_OBJECT object = { .instance_data = b, .upcall_func = upcall };

	return dat_evd_modify_upcall(b->evd, DAT_UPCALL_NOTIFY, &object, DAT_UPCALL_INVOC_NEW);
}

static DAT_RETURN evd_resize(struct inject_objs *b)
{
	return dat_evd_resize(b->evd, 128);
}

static DAT_RETURN evd_free(struct inject_objs *b)
{
	return taken(&b->evd, dat_evd_free(b->evd));
}

static DAT_RETURN ep_create(struct inject_objs *b)
{
	return inject_make_ep(&b->ep);
}

static DAT_RETURN ep_create_with_srq(struct inject_objs *b)
{
	DAT_EP_ATTR attr = { .max_message_size = 4096, .max_request_dtos = 8,
			     .max_request_iov = 1, .srq_soft_hw = DAT_HW_DEFAULT };

	return dat_ep_create_with_srq(fx.t.ia, fx.t.pz, fx.t.dto, fx.t.dto, fx.t.conn, b->srq,
				      &attr, &b->ep);
}

/* Its receives have a separate CQ */
static DAT_RETURN ep_create_solicited(struct inject_objs *b)
{
	DAT_EP_ATTR attr = { .max_message_size = 4096, .max_recv_dtos = 8, .max_request_dtos = 8,
			     .max_recv_iov = 1, .max_request_iov = 1,
			     .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG };

	return dat_ep_create(fx.t.ia, fx.t.pz, b->evd, fx.t.dto, fx.t.conn, &attr, &b->ep);
}

static DAT_RETURN ep_query(struct inject_objs *b)
{
	DAT_EP_PARAM param;

	return dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_modify(struct inject_objs *b)
{
	DAT_EP_PARAM param = { .ep_attr = { .max_recv_dtos = 20, .max_request_dtos = 20 } };

	return dat_ep_modify(b->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static int need_ep_and_evd(struct inject_objs *b)
{
	return need_ep(b) ? : need_dto_evd(b);
}

static DAT_RETURN ep_modify_evds(struct inject_objs *b)
{
	DAT_EP_PARAM param = { .recv_evd_handle = b->evd, .request_evd_handle = b->evd };

	return dat_ep_modify(b->ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
}

static int need_ep_and_pz(struct inject_objs *b)
{
	return need_ep(b) ? : need_pz(b);
}

static DAT_RETURN ep_modify_pz(struct inject_objs *b)
{
	DAT_EP_PARAM param = { .pz_handle = b->pz };

	return dat_ep_modify(b->ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN ep_connect(struct inject_objs *b)
{
	return dat_ep_connect(b->ep, fx.t.attr.ia_address_ptr, INJECT_NOBODY, DAT_TIMEOUT_INFINITE,
			      0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Withdrawn at once; a later step rejects the request if it arrives */
static DAT_RETURN ep_dup_connect(struct inject_objs *b)
{
	return dat_ep_dup_connect(b->ep, fx.a, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN ep_disconnect(struct inject_objs *b)
{
	return dat_ep_disconnect(b->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN ep_disconnect_graceful(struct inject_objs *b)
{
	return dat_ep_disconnect(b->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN ep_reset(struct inject_objs *b)
{
	return dat_ep_reset(b->ep);
}

static DAT_RETURN ep_free(struct inject_objs *b)
{
	return taken(&b->ep, dat_ep_free(b->ep));
}

static DAT_RETURN lmr_physical(struct inject_objs *b)
{
	DAT_PADDR pages[4];
	DAT_REGION_DESCRIPTION region = { .for_physical = pages };
	int i;

	for (i = 0; i < 4; i++)
		pages[i] = virt_to_phys(fx.spare + i * PAGE_SIZE);
	return make_lmr(b, DAT_MEM_TYPE_PHYSICAL, region, 4 * PAGE_SIZE);
}

static DAT_RETURN lmr_var_pages(struct inject_objs *b)
{
	/* kmalloc aligns memory to its size if this is a power of two */
	DAT_PADDR pages[2] = {
		virt_to_phys(fx.spare), virt_to_phys(fx.spare + 2 * PAGE_SIZE),
	};
	DAT_REGION_DESCRIPTION region = {
		.for_array = { .page_size = 2 * PAGE_SIZE, .pages = pages },
	};

	return make_lmr(b, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, region, 4 * PAGE_SIZE);
}

static DAT_RETURN lmr_lmr(struct inject_objs *b)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = fx.t.mem.lmr };

	return make_lmr(b, DAT_MEM_TYPE_LMR, region, INJECT_BUFFER);
}

static DAT_RETURN lmr_allocate(struct inject_objs *b)
{
	return dat_lmr_allocate(fx.t.ia, fx.t.pz, 16, DAT_LMR_SCOPE_PZ, &b->lmr);
}

/* The first registration of a zone creates its service QP */
static DAT_RETURN lmr_first(struct inject_objs *b)
{
	DAT_REGION_DESCRIPTION region = { .for_va = fx.spare };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_VLEN length;
	DAT_VADDR addr;

	return dat_lmr_kcreate(fx.t.ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE_SIZE, b->pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &b->lmr, &context, &key, &length, &addr);
}

/* The first RMR allocates the list for its binds */
static DAT_RETURN rmr_first(struct inject_objs *b)
{
	return dat_rmr_create(b->pz, &b->rmr);
}

static DAT_RETURN lmr_free(struct inject_objs *b)
{
	return taken(&b->lmr, dat_lmr_free(b->lmr));
}

static DAT_RETURN rmr_create(struct inject_objs *b)
{
	return dat_rmr_create(fx.t.pz, &b->rmr);
}

static DAT_RETURN rmr_free(struct inject_objs *b)
{
	return taken(&b->rmr, dat_rmr_free(b->rmr));
}

static DAT_RETURN srq_create(struct inject_objs *b)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = 2 };

	return dat_srq_create(fx.t.ia, fx.t.pz, &attr, &b->srq);
}

static int need_joined_srq(struct inject_objs *b)
{
	return need_srq(b) ? : ep_create_with_srq(b) ? -EIO : 0;
}

static DAT_RETURN srq_resize(struct inject_objs *b)
{
	return dat_srq_resize(b->srq, 100);
}

/* Its CQ has room for the size of the SRQ at the time of the EP's creation only */
static DAT_RETURN srq_shrink(struct inject_objs *b)
{
	return dat_srq_resize(b->srq, 8);
}

static DAT_RETURN srq_set_lw(struct inject_objs *b)
{
	return dat_srq_set_lw(b->srq, 4);
}

static DAT_RETURN srq_free(struct inject_objs *b)
{
	return taken(&b->srq, dat_srq_free(b->srq));
}

static DAT_RETURN psp_create_any(struct inject_objs *b)
{
	DAT_CONN_QUAL qual;

	return dat_psp_create_any(fx.t.ia, &qual, fx.t.cr, DAT_PSP_CONSUMER_FLAG, &b->psp);
}

static DAT_RETURN psp_free(struct inject_objs *b)
{
	return taken(&b->psp, dat_psp_free(b->psp));
}

static DAT_RETURN rsp_free(struct inject_objs *b)
{
	return taken(&b->rsp, dat_rsp_free(b->rsp));
}

static DAT_RETURN cr_accept(struct inject_objs *b)
{
	return taken(&b->cr, dat_cr_accept(b->cr, b->peer, 0, NULL));
}

static DAT_RETURN cr_accept_reserved(struct inject_objs *b)
{
	return taken(&b->cr, dat_cr_accept(b->cr, DAT_HANDLE_NULL, 0, NULL));
}

static int need_cr_and_psp(struct inject_objs *b)
{
	return need_cr(b) ? : need_psp(b);
}

/* To the other service point, with which it is destroyed */
static DAT_RETURN cr_handoff(struct inject_objs *b)
{
	return taken(&b->cr, dat_cr_handoff(b->cr, INJECT_OTHER));
}

static DAT_RETURN cr_reject(struct inject_objs *b)
{
	return taken(&b->cr, dat_cr_reject(b->cr, 0, NULL));
}

static DAT_RETURN cr_query(struct inject_objs *b)
{
	DAT_CR_PARAM param;

	return dat_cr_query(b->cr, DAT_CR_FIELD_ALL, &param);
}

const struct inject_step inject_steps[] = {
	{ "dat_ia_openv", NULL, ia_openv },
	{ "dat_ia_openv, another's EVD", NULL, ia_openv_shared },
	{ "dat_ia_close abrupt", need_full_ia, ia_close },
	{ "dat_ia_close graceful", need_ia, ia_close_graceful },
	{ "dat_registry_list_providers", NULL, registry_list_providers },
	{ "dat_pz_create", NULL, pz_create },
	{ "dat_pz_create, new page of handles", need_full_handle_page, pz_create_in_other_ia },
	{ "dat_pz_free", need_pz, pz_free },
	{ "dat_evd_kcreate", NULL, evd_kcreate },
	{ "dat_evd_modify_upcall teardown", need_evd, evd_modify_upcall },
	{ "dat_evd_modify_upcall", need_evd, evd_modify_policy },
	{ "dat_evd_resize", need_evd, evd_resize },
	{ "dat_evd_free", need_evd, evd_free },
	{ "dat_ep_create", NULL, ep_create },
	{ "dat_ep_create, solicited wait", need_dto_evd, ep_create_solicited },
	{ "dat_ep_create_with_srq", need_srq, ep_create_with_srq },
	{ "dat_ep_query", need_ep, ep_query },
	{ "dat_ep_modify", need_ep, ep_modify },
	{ "dat_ep_modify EVDs", need_ep_and_evd, ep_modify_evds },
	{ "dat_ep_modify zone", need_ep_and_pz, ep_modify_pz },
	{ "dat_ep_connect", need_ep, ep_connect },
	{ "dat_ep_dup_connect", need_ep, ep_dup_connect },
	{ "dat_ep_disconnect abrupt", need_connection, ep_disconnect },
	{ "dat_ep_disconnect graceful", need_connection, ep_disconnect_graceful },
	{ "dat_ep_reset", need_broken_ep, ep_reset },
	{ "dat_ep_free", need_ep, ep_free },
	{ "dat_ep_free connected", need_connection, ep_free },
	{ "dat_lmr_kcreate virtual", NULL, lmr_virtual },
	{ "dat_lmr_kcreate physical", NULL, lmr_physical },
	{ "dat_lmr_kcreate large pages", NULL, lmr_var_pages },
	{ "dat_lmr_kcreate lmr", NULL, lmr_lmr },
	{ "dat_lmr_kcreate, first of its zone", need_pz, lmr_first },
	{ "dat_lmr_allocate", NULL, lmr_allocate },
	{ "dat_lmr_free", need_lmr, lmr_free },
	{ "dat_rmr_create", NULL, rmr_create },
	{ "dat_rmr_create, first of its zone", need_pz, rmr_first },
	{ "dat_rmr_free", need_rmr, rmr_free },
	{ "dat_srq_create", NULL, srq_create },
	{ "dat_srq_resize", need_srq, srq_resize },
	{ "dat_srq_resize with an EP", need_joined_srq, srq_shrink },
	{ "dat_srq_set_lw", need_srq, srq_set_lw, DAT_INTERNAL_ERROR },
	{ "dat_srq_free", need_srq, srq_free },
	{ "dat_psp_create", NULL, psp_create },
	{ "dat_psp_create_any", NULL, psp_create_any },
	{ "dat_psp_free", need_psp, psp_free },
	{ "dat_rsp_create", need_ep, rsp_create },
	{ "dat_rsp_free", need_rsp, rsp_free },
	{ "dat_cr_query", need_cr, cr_query },
	{ "dat_cr_accept", need_cr, cr_accept },
	{ "dat_cr_accept, reserved", need_reserved_cr, cr_accept_reserved },
	{ "dat_cr_reject", need_cr, cr_reject },
	{ "dat_cr_handoff", need_cr_and_psp, cr_handoff },
};

const unsigned int inject_nsteps = ARRAY_SIZE(inject_steps);
