// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoint queries.
 *
 * Called by Consumers in any context; nothing here sleeps.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "post/post.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)
#define KDAPL_IH_EP	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

static DAT_HANDLE kdapl_handle_or_null(struct kdapl_obj *obj)
{
	return obj ? kdapl_obj_handle(obj) : DAT_HANDLE_NULL;
}

/*
 * Writes the provider-specific attributes as texts to the EP, where they are valid until
 * the EP is freed. ep->lock held.
 */
static void kdapl_ep_fill_named(struct kdapl_ep *ep)
{
	const struct kdapl_first_error *fe = &ep->first_error;
	struct kdapl_ep_texts *texts = ep->texts;

	lockdep_assert_held(&ep->lock);
	if (fe->valid)
		snprintf(texts->first_error, sizeof(texts->first_error), "%u/%u/%u/%u",
			 fe->op, fe->status, fe->vendor, fe->behind);
	else
		strscpy(texts->first_error, "none", sizeof(texts->first_error));
	texts->named[0].name = "kdapl.first_error";
	texts->named[0].value = texts->first_error;
	snprintf(texts->keepalive, sizeof(texts->keepalive), "%u", ep->keepalive_ms);
	texts->named[1].name = "kdapl.keepalive_ms";
	texts->named[1].value = texts->keepalive;
	/* The last one, because it is missing if the core chooses the vector */
	snprintf(texts->comp_vector, sizeof(texts->comp_vector), "%d", ep->comp_vector);
	texts->named[2].name = "kdapl.comp_vector";
	texts->named[2].value = texts->comp_vector;
}

/* Copies each selected attribute; the bits have the order of the members */
static void kdapl_ep_fill_attr(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask, DAT_EP_ATTR *out)
{
	const DAT_EP_ATTR *attr = &ep->attr;

	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		out->service_type = attr->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		out->max_message_size = attr->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		out->max_rdma_size = attr->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		out->qos = attr->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		out->recv_completion_flags = attr->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		out->request_completion_flags = attr->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		out->max_recv_dtos = attr->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		out->max_request_dtos = attr->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		out->max_recv_iov = attr->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		out->max_request_iov = attr->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		out->max_rdma_read_in = attr->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		out->max_rdma_read_out = attr->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
		out->srq_soft_hw = attr->srq_soft_hw;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		out->max_rdma_read_iov = attr->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		out->max_rdma_write_iov = attr->max_rdma_write_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR)
		out->ep_transport_specific_count = attr->ep_transport_specific_count;
	if (mask & DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR)
		out->ep_transport_specific = attr->ep_transport_specific;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)
		out->ep_provider_specific_count = ARRAY_SIZE(ep->texts->named) -
						  (ep->comp_vector < 0);
	if (mask & DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
		out->ep_provider_specific = ep->texts->named;
}

/* ep->lock held, because addresses and ports change with the state */
static void kdapl_ep_fill(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdapl_ia *ia = ep->obj.ia;

	lockdep_assert_held(&ep->lock);
	if (mask & DAT_EP_FIELD_IA_HANDLE)
		param->ia_handle = kdapl_obj_handle(&ia->obj);
	if (mask & DAT_EP_FIELD_EP_STATE)
		param->ep_state = ep->state;
	if (mask & DAT_EP_FIELD_COMM)
		memset(&param->comm, 0, sizeof(param->comm));
	if (mask & DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)
		param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->addr;
	if (mask & DAT_EP_FIELD_LOCAL_PORT_QUAL)
		param->local_port_qual = ep->local_port;
	if (mask & DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR)
		param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote;
	if (mask & DAT_EP_FIELD_REMOTE_PORT_QUAL)
		param->remote_port_qual = ep->remote_port;
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		param->pz_handle = kdapl_handle_or_null(ep->pz ? &ep->pz->obj : NULL);
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		param->recv_evd_handle =
			kdapl_handle_or_null(ep->recv_evd ? &ep->recv_evd->obj : NULL);
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		param->request_evd_handle =
			kdapl_handle_or_null(ep->request_evd ? &ep->request_evd->obj : NULL);
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		param->connect_evd_handle =
			kdapl_handle_or_null(ep->connect_evd ? &ep->connect_evd->obj : NULL);
	if (mask & DAT_EP_FIELD_SRQ_HANDLE)
		param->srq_handle = kdapl_handle_or_null(ep->srq ? &ep->srq->obj : NULL);
	kdapl_ep_fill_named(ep);
	kdapl_ep_fill_attr(ep, mask, &param->ep_attr);
}

/**
 * dat_ep_query - query the parameters of an endpoint
 * @ep_handle: the EP
 * @mask:      DAT_EP_FIELD_*, the members to return
 * @param:     receives them; other members do not change
 *
 * The remote address and port are defined during a connection attempt and a connection.
 * Addresses and texts are stored in the EP and are valid until it is freed or reset. The
 * provider-specific attribute kdapl.first_error is the reason why the present or last
 * connection has broken: the operation (DAT_DTOS), the verbs status, the vendor code, and
 * the number of outstanding posts of that queue; or "none". kdapl.keepalive_ms and
 * kdapl.comp_vector are the values that the Consumer has set. By default the former is 0,
 * and the latter is missing. Source: kDAPL 2.0.
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - unknown bit in @mask; @param is NULL
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdapl_obj *obj;
	unsigned long flags;
	struct kdapl_ep *ep;

	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_IH_EP;
	ep = to_kdapl_ep(obj);
	if (mask & ~DAT_EP_FIELD_ALL) {
		ret = KDAPL_IP(DAT_INVALID_ARG2);
	} else if (!param) {
		ret = KDAPL_IP(DAT_INVALID_ARG3);
	} else {
		spin_lock_irqsave(&ep->lock, flags);
		kdapl_ep_fill(ep, mask, param);
		spin_unlock_irqrestore(&ep->lock, flags);
	}
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_query);

/**
 * dat_ep_get_status - query the state of an endpoint, and whether its queues are idle
 * @ep_handle:    the EP
 * @ep_state:     receives the state; may be NULL
 * @recv_idle:    receives DAT_TRUE if no receive is outstanding; may be NULL
 * @request_idle: receives DAT_TRUE if no request is outstanding; may be NULL
 *
 * Suppressed requests at the end of the queue are known to have completed only when a
 * request after them completes. So the first call that finds such requests returns
 * DAT_FALSE and schedules a marker, and a later call returns DAT_TRUE. Source: kDAPL 2.0.
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct kdapl_obj *obj;
	unsigned long flags;
	struct kdapl_ep *ep;
	bool idle;

	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_IH_EP;
	ep = to_kdapl_ep(obj);
	/* dat_ep_modify() may be replacing the slots of the pools */
	spin_lock_irqsave(&ep->lock, flags);
	if (ep_state)
		*ep_state = ep->state;
	if (recv_idle)
		*recv_idle = kdapl_pool_count(&ep->rq, KDAPL_SLOT_POSTED) ? DAT_FALSE : DAT_TRUE;
	if (request_idle) {
		idle = kdapl_ep_requests_idle(ep);
		*request_idle = idle ? DAT_TRUE : DAT_FALSE;
		if (!idle && READ_ONCE(ep->sq.run_head) != READ_ONCE(ep->sq.run_tail))
			kdapl_ep_schedule(ep, KDAPL_TODO_MARKER);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_obj_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_get_status);
