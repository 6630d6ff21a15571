// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are not built yet: exported, so that a Consumer that names them
 * loads; they check their handles and answer DAT_NOT_IMPLEMENTED. Called by
 * Consumers, in the context that the finished call will have. What the model
 * will never offer stands in refused.c.
 */
#include <linux/export.h>
#include <linux/rcupdate.h>

#include "handle.h"

#define NOT_BUILT	DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

static bool is_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	bool live;

	rcu_read_lock();
	live = kdapl_obj_lookup(handle, type);
	rcu_read_unlock();
	return live;
}

/**
 * dat_ia_memtype_hint - length and alignment that suit a registration
 * @ia_handle:           open IA
 * @mem_type:            of the registration
 * @length:              wished for
 * @mem_optimization:    towards what
 * @preferred_length:    takes the length
 * @preferred_alignment: takes the alignment
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			       DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ia_memtype_hint);

/**
 * dat_evd_resize - change the room of an EVD
 * @evd_handle:   EVD
 * @evd_min_qlen: events it shall hold
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	if (!is_live(evd_handle, DAT_HANDLE_TYPE_EVD))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_NO_SUBTYPE);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_evd_resize);

/**
 * dat_ep_modify - change parameters of an endpoint
 * @ep_handle:     endpoint
 * @ep_param_mask: members to change
 * @ep_param:      their values
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ep_modify);

/**
 * dat_ep_dup_connect - connect to where another endpoint is connected
 * @ep_handle:         endpoint to connect
 * @dup_ep_handle:     connected endpoint
 * @timeout:           microseconds
 * @private_data_size: bytes
 * @private_data:      for the peer
 * @qos:               quality of service
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE dup_ep_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos)
{
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!is_live(dup_ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

/**
 * dat_ep_post_send_with_invalidate - post a send that ends a binding of the peer
 * @ep_handle:        endpoint
 * @num_segments:     in @local_iov
 * @local_iov:        message
 * @user_cookie:      for the event
 * @completion_flags: as for a send
 * @invalidate_flag:  whether to invalidate
 * @rmr_context:      key to invalidate
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context)
{
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_ep_post_send_with_invalidate);

/**
 * dat_lmr_sync_rdma_read - before a peer's RDMA read
 * @ia_handle:      open IA
 * @local_segments: memory
 * @num_segments:   in @local_segments
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_read);

/**
 * dat_lmr_sync_rdma_write - after a peer's RDMA write
 * @ia_handle:      open IA
 * @local_segments: memory
 * @num_segments:   in @local_segments
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_write);

/**
 * dat_lmr_allocate - make an LMR for later fast registration
 * @ia_handle:  open IA
 * @pz_handle:  its protection zone
 * @max_pages:  it shall span
 * @lmr_scope:  PZ or EP
 * @lmr_handle: takes the LMR
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!is_live(pz_handle, DAT_HANDLE_TYPE_PZ))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_lmr_allocate);

/**
 * dat_lmr_fmr - post a fast registration
 * @lmr_handle:         from dat_lmr_allocate
 * @mem_type:           kind of memory
 * @region_description: the memory
 * @number_of_pages:    in it
 * @mem_privileges:     rights
 * @va_type:            address or zero based
 * @ep_handle:          endpoint to post on
 * @user_cookie:        for the event
 * @completion_flags:   as for a bind
 * @lmr_context:        takes the local context
 * @rmr_context:        takes the key for the peer
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context)
{
	if (!is_live(lmr_handle, DAT_HANDLE_TYPE_LMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_lmr_fmr);

/**
 * dat_lmr_invalidate - post the end of a fast registration
 * @lmr_handle:       registered LMR
 * @ep_handle:        endpoint to post on
 * @user_cookie:      for the event
 * @completion_flags: the fence among them
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle,
			      DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags)
{
	if (!is_live(lmr_handle, DAT_HANDLE_TYPE_LMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_lmr_invalidate);

/**
 * dat_rmr_create - create an RMR
 * @pz_handle:  its protection zone
 * @rmr_handle: takes the RMR
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	if (!is_live(pz_handle, DAT_HANDLE_TYPE_PZ))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rmr_create);

/**
 * dat_rmr_query - parameters of an RMR
 * @rmr_handle:     RMR
 * @rmr_param_mask: members asked for
 * @rmr_param:      takes them
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	if (!is_live(rmr_handle, DAT_HANDLE_TYPE_RMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rmr_query);

/**
 * dat_rmr_bind - post the binding of an RMR to memory
 * @rmr_handle:       RMR
 * @lmr_handle:       LMR to bind to
 * @lmr_triplet:      range in it
 * @mem_privileges:   rights
 * @va_type:          address or zero based
 * @ep_handle:        endpoint to post on
 * @user_cookie:      for the event
 * @completion_flags: flags
 * @rmr_context:      takes the key for the peer
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	if (!is_live(rmr_handle, DAT_HANDLE_TYPE_RMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	if (!is_live(lmr_handle, DAT_HANDLE_TYPE_LMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rmr_bind);

/**
 * dat_rmr_free - destroy an RMR
 * @rmr_handle: RMR
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	if (!is_live(rmr_handle, DAT_HANDLE_TYPE_RMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rmr_free);

/**
 * dat_srq_resize - change the capacity of an SRQ
 * @srq_handle:       SRQ
 * @srq_max_recv_dto: receives it shall hold
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle,
			  DAT_COUNT srq_max_recv_dto)
{
	if (!is_live(srq_handle, DAT_HANDLE_TYPE_SRQ))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_srq_resize);

/**
 * dat_srq_set_lw - arm the low watermark of an SRQ
 * @srq_handle:    SRQ
 * @low_watermark: an event below it
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	if (!is_live(srq_handle, DAT_HANDLE_TYPE_SRQ))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_srq_set_lw);

/**
 * dat_psp_create_any - listen on a qualifier of our choice
 * @ia_handle:  open IA
 * @conn_qual:  takes the qualifier
 * @evd_handle: for requests
 * @psp_flags:  who makes endpoints
 * @psp_handle: takes the service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_psp_create_any);

/**
 * dat_rsp_create - listen for one request on behalf of an endpoint
 * @ia_handle:  open IA
 * @conn_qual:  qualifier
 * @ep_handle:  endpoint
 * @evd_handle: for the request
 * @rsp_handle: takes the service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE for any of the handles; otherwise
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	if (!is_live(ia_handle, DAT_HANDLE_TYPE_IA))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!is_live(ep_handle, DAT_HANDLE_TYPE_EP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

/**
 * dat_rsp_query - parameters of a reserved service point
 * @rsp_handle:     service point
 * @rsp_param_mask: members asked for
 * @rsp_param:      takes them
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	if (!is_live(rsp_handle, DAT_HANDLE_TYPE_RSP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

/**
 * dat_rsp_free - destroy a reserved service point
 * @rsp_handle: service point
 *
 * Context: process (class P).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	if (!is_live(rsp_handle, DAT_HANDLE_TYPE_RSP))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_rsp_free);

/**
 * dat_cr_handoff - move a request to another service point
 * @cr_handle: request
 * @handoff:   qualifier of the other
 *
 * Context: any (class A).
 * Return: DAT_INVALID_HANDLE; otherwise DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	if (!is_live(cr_handle, DAT_HANDLE_TYPE_CR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	return NOT_BUILT;
}
EXPORT_SYMBOL_GPL(dat_cr_handoff);
