/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kDAPL 2.0: the kernel's Direct Access API. The only header that a Consumer needs;
 * kdat_util.h adds helpers. It includes dat.h with all types and declares every call;
 * kernel-doc of the calls is at their definitions.
 *
 * Contexts, by the letter after a group:
 *
 *	A	never sleeps: legal in an upcall, in softirq and timers, with
 *		spinlocks held; not in hard interrupt context
 *	P	may sleep: process context, from an upcall only if that may sleep
 *		(KDAT_EVD_PROCESS_FLAG)
 */
#ifndef _KDAT_H_
#define _KDAT_H_

#include <dat/dat.h>

/**
 * define DAT_VERSION_MAJOR - major version of kDAPL
 *
 * Source: kDAPL 2.0.
 */
#define DAT_VERSION_MAJOR		2

/**
 * define DAT_VERSION_MINOR - minor version of kDAPL
 *
 * Source: kDAPL 2.0.
 */
#define DAT_VERSION_MINOR		0

/**
 * define DAT_THREADSAFE - do calls lock their objects? Used by dat_ia_open()
 *
 * A DAT_BOOLEAN; a Consumer may define another value before it includes this header. kDAPL
 * always locks.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE			DAT_TRUE
#endif

/* Registry (P), error text (A) */

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO **dat_provider_list);
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info);
DAT_RETURN dat_registry_providers_related(DAT_NAME_PTR name1,
					  DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *answer);
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			const char **minor_message);

/**
 * struct kdat_registry_watch - a callback for IA names that appear and go
 * @callback: called with @context, the name of an IA, ``<ibdev>/<port>``, which is valid during the
 *            call, and whether there is an IA of this name now (DAT_TRUE) or no longer (DAT_FALSE).
 *            It may sleep
 * @context:  argument for @callback
 *
 * The Consumer fills it in for kdat_registry_notify(). Source: kDAPL's choice.
 */
struct kdat_registry_watch {
	void (*callback)(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present);
	DAT_PVOID context;
	/* private: of kDAPL */
	struct kdat_registry_watch *next;
};

/* kDAPL's own: IA names that appear and go (P) */

DAT_RETURN kdat_registry_notify(struct kdat_registry_watch *watch);
DAT_RETURN kdat_registry_unnotify(struct kdat_registry_watch *watch);

/* Interface adapters: openv, close (P), all others (A) */

DAT_RETURN dat_ia_openv(DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
			DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safe);

struct module;

/* kDAPL's own: dat_ia_openv() with the module that owns the IA (P) */

DAT_RETURN kdat_ia_openv(DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
			 DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safe,
			 struct module *owner);

/**
 * dat_ia_open() - dat_ia_openv() with the version and the thread safety of this header
 * @name:      as for dat_ia_openv()
 * @qlen:      as for dat_ia_openv(), async_evd_min_qlen
 * @async_evd: as for dat_ia_openv(), async_evd_handle
 * @ia:        as for dat_ia_openv(), ia_handle
 *
 * The calling module, which must include <linux/module.h>, owns the IA: kdat_ia_openv().
 *
 * Source: kDAPL 2.0 header, manual page dat_ia_open.
 *
 * Context: process (class P).
 * Return: as for dat_ia_openv().
 */
#define dat_ia_open(name, qlen, async_evd, ia) \
	kdat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, \
		      DAT_VERSION_MINOR, DAT_THREADSAFE, THIS_MODULE)

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			       DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment);
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle,
			       DAT_LMR_HANDLE *lmr_handle,
			       DAT_LMR_CONTEXT *lmr_context);
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle,
				    DAT_CONTEXT *context);
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type);

/* Event dispatchers: kcreate, resize, free, modify to TEARDOWN (P), others (A) */

DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle);
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG upcall_flag);
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/**
 * define KDAT_EVD_PROCESS_FLAG - flag of an EVD whose upcalls may sleep
 *
 * For dat_evd_kcreate(). They run in a work item of the EVD. Source: kDAPL's choice.
 */
#define KDAT_EVD_PROCESS_FLAG		0x10000

/**
 * define KDAT_EVD_POLL_FLAG - flag of an EVD that the Consumer polls
 *
 * For dat_evd_kcreate(). Upcalls run inside kdat_evd_poll(). Source: kDAPL's choice.
 */
#define KDAT_EVD_POLL_FLAG		0x20000

/* kDAPL's own: EVDs with KDAT_EVD_POLL_FLAG (A, interrupts on) */

DAT_RETURN kdat_evd_poll(DAT_EVD_HANDLE evd_handle, DAT_COUNT max, DAT_COUNT *count);
DAT_RETURN kdat_evd_arm(DAT_EVD_HANDLE evd_handle, DAT_BOOLEAN *again);

/* Protection zones: query (A), others (P) */

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/* Endpoints: create, modify, connect, reset, free (P), others (A) */

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle,
			 DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attr,
				  DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS connect_flags);
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE dup_ep_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos);
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				 DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout,
				 DAT_COUNT private_data_size,
				 const DAT_PVOID private_data);
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS close_flags);
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);

/* Posting (A) */

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT num_segments,
					    DAT_LMR_TRIPLET *local_iov,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS completion_flags,
					    DAT_BOOLEAN invalidate_flag,
					    DAT_RMR_CONTEXT rmr_context);
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					const DAT_RMR_TRIPLET *local_buffer,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_buffer,
					DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

/* Local memory regions: query, sync, fmr, invalidate (A), others (P) */

DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_VA_TYPE va_type,
			   DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT max_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle);
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN number_of_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle,
			      DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags);

struct scatterlist;

/* kDAPL's own: dat_lmr_fmr() for memory that begins or ends inside a page (A) */

DAT_RETURN kdat_lmr_fmr_sg(DAT_LMR_HANDLE lmr_handle, struct scatterlist *sgl, DAT_COUNT nents,
			   DAT_MEM_PRIV_FLAGS mem_privileges, DAT_EP_HANDLE ep_handle,
			   DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			   DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);

/* Remote memory regions: query, bind (A), others (P) */

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				 DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* Shared receive queues: query, post_recv (A), others (P) */

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie);
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle,
			  DAT_COUNT srq_max_recv_dto);
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/**
 * define KDAT_PSP_ANY_ADDRESS_FLAG - flag of a PSP that listens on all addresses of its port
 *
 * For dat_psp_create() and dat_psp_create_any(). Source: kDAPL's choice.
 */
#define KDAT_PSP_ANY_ADDRESS_FLAG	0x10000

/* Service points: query, all of the CSP (A), others (P) */

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);
DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			  DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle);
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
			 DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param);
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle);

/* Connection requests: query, handoff (A), others (P) */

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data);
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data);
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#endif /* _KDAT_H_ */
