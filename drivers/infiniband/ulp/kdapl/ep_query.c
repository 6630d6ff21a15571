// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoint queries.
 *
 * Called by Consumers in any context; nothing here sleeps.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "kdapl.h"

#define KDAPL_IP(arg)	DAT_ERROR(DAT_INVALID_PARAMETER, arg)
#define KDAPL_IH_EP	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

static DAT_HANDLE kdapl_handle_or_null(struct kdapl_obj *obj)
{
	return obj ? kdapl_obj_handle(obj) : DAT_HANDLE_NULL;
}

/*
 * The provider-specific attributes, as texts in the EP: they stay
 * readable until the EP is freed. ep->lock held.
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
	/* Last: there is none if the core chooses */
	snprintf(texts->comp_vector, sizeof(texts->comp_vector), "%d", ep->comp_vector);
	texts->named[2].name = "kdapl.comp_vector";
	texts->named[2].value = texts->comp_vector;
}

/* Each selected attribute; they have one bit each, in the order of the struct */
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

/* ep->lock held: addresses and ports belong to the state */
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
 * dat_ep_query - ask for the parameters of an endpoint
 * @ep_handle: the EP
 * @mask:      DAT_EP_FIELD_*
 * @param:     selected fields are filled in, others left alone
 *
 * Remote address and port mean something while a connection is under way or
 * there. Addresses and texts lie in memory of the EP and stay until it is
 * freed or reset. The provider-specific attribute kdapl.first_error tells why
 * the present or last connection broke: operation (DAT_DTOS), verbs status,
 * vendor code, and how many posts of that queue were outstanding; or "none".
 * kdapl.keepalive_ms and kdapl.comp_vector are what the Consumer has set. By
 * default the first is 0, and the second is left out.
 * Source: kDAPL 2.0.
 *
 * Context: any but hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle names no EP
 * * DAT_INVALID_PARAMETER - unknown bit in @mask; @param NULL
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
 * dat_ep_get_status - state of an endpoint, and whether its queues are idle
 * @ep_handle:    the EP
 * @ep_state:     state; may be NULL
 * @recv_idle:    DAT_TRUE if no receive is outstanding; may be NULL
 * @request_idle: DAT_TRUE if no request is outstanding; may be NULL
 *
 * Whether suppressed requests at the end of the queue are done is not known
 * until a request behind them completes: the first call that finds such a
 * tail says DAT_FALSE and has a marker posted, a later one says DAT_TRUE.
 * Source: kDAPL 2.0.
 *
 * Context: any but hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle names no EP
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
	/* dat_ep_modify() may be giving the pools other slots */
	spin_lock_irqsave(&ep->lock, flags);
	if (ep_state)
		*ep_state = ep->state;
	if (recv_idle)
		*recv_idle = kdapl_pool_count(&ep->rq, KDAPL_SLOT_POSTED) ? DAT_FALSE : DAT_TRUE;
	if (request_idle) {
		idle = kdapl_ep_requests_idle(ep);
		*request_idle = idle ? DAT_TRUE : DAT_FALSE;
		if (!idle && READ_ONCE(ep->sq.run_head) != READ_ONCE(ep->sq.run_tail))
			kdapl_ep_kick(ep, KDAPL_TODO_MARKER);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_obj_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_get_status);
