// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoint queries.
 *
 * Called by Consumers in any context; nothing here sleeps.
 */
#include <linux/export.h>
#include <linux/string.h>
#include "post/post.h"
#include "internal.h"

/*
 * Writes the provider-specific attributes as texts to the EP, where they are valid until
 * the EP is freed. Returns their number. ep->lock held.
 */
static DAT_COUNT kdapl_ep_fill_named(struct kdapl_ep *ep)
{
	const struct kdapl_first_error *fe = &ep->first_error;
	const struct kdapl_cm_status *cs = &ep->conn.status;
	struct kdapl_ep_attr_text *texts = ep->texts;
	DAT_COUNT n = 2;
	unsigned int i;
	int number;

	lockdep_assert_held(&ep->lock);
	if (fe->valid)
		snprintf(texts->first_error, sizeof(texts->first_error), "%u/%u/%u/%u",
			 fe->op, fe->status, fe->vendor, fe->outstanding);
	else
		strscpy(texts->first_error, "none", sizeof(texts->first_error));
	texts->named[0].name = "kdapl.first_error";
	texts->named[0].value = texts->first_error;
	if (cs->valid)
		snprintf(texts->cm_status, sizeof(texts->cm_status), "%s/%d/%s/%u/%u",
			 rdma_event_msg(cs->event), cs->status,
			 cs->event == RDMA_CM_EVENT_REJECTED ? ibcm_reject_msg(cs->status) : "-",
			 READ_ONCE(cs->reads_in), READ_ONCE(cs->reads_out));
	else
		strscpy(texts->cm_status, "none", sizeof(texts->cm_status));
	texts->named[1].name = "kdapl.cm_status";
	texts->named[1].value = texts->cm_status;
	for (i = 0; i < KDAPL_EP_NAMED_VALUES; i++) {
		number = *kdapl_ep_named_value(&ep->cfg.named, i);
		/* Chosen by the core or the CM: not a value that a Consumer may set */
		if (number < 0)
			continue;
		snprintf(texts->value[i], sizeof(texts->value[i]), "%d", number);
		texts->named[n].name = kdapl_ep_attr_descs[i].name;
		texts->named[n].value = texts->value[i];
		n++;
	}
	return n;
}

/* Under ep->lock, because addresses, ports and parents change with the state */
static void kdapl_ep_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	struct kdapl_ep *ep = to_kdapl_ep(obj);
	DAT_EP_PARAM *p = &param->ep;
	unsigned long flags;

	p->ia_handle = kdapl_obj_handle(&obj->ia->obj);
	p->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->conn.local;
	p->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->conn.remote;
	spin_lock_irqsave(&ep->lock, flags);
	p->ep_state = ep->state;
	p->local_port_qual = ep->conn.local_port;
	p->remote_port_qual = ep->conn.remote_port;
	p->pz_handle = kdapl_handle_or_null(ep->cfg.pz);
	p->recv_evd_handle = kdapl_handle_or_null(ep->fast.recv_evd);
	p->request_evd_handle = kdapl_handle_or_null(ep->fast.request_evd);
	p->connect_evd_handle = kdapl_handle_or_null(ep->cfg.connect_evd);
	p->srq_handle = kdapl_handle_or_null(ep->cfg.srq);
	p->ep_attr = ep->cfg.attr;
	p->ep_attr.ep_provider_specific_count = kdapl_ep_fill_named(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	p->ep_attr.ep_provider_specific = ep->texts->named;
}

#define AT(member)	KDAPL_PARAM(EP, member)
const u16 kdapl_ep_offsets[] = {
	AT(ia_handle), AT(ep_state), AT(comm), AT(local_ia_address_ptr), AT(local_port_qual),
	AT(remote_ia_address_ptr), AT(remote_port_qual), AT(pz_handle), AT(recv_evd_handle),
	AT(request_evd_handle), AT(connect_evd_handle), AT(srq_handle), AT(ep_attr.service_type),
	AT(ep_attr.max_message_size), AT(ep_attr.max_rdma_size), AT(ep_attr.qos),
	AT(ep_attr.recv_completion_flags), AT(ep_attr.request_completion_flags),
	AT(ep_attr.max_recv_dtos), AT(ep_attr.max_request_dtos), AT(ep_attr.max_recv_iov),
	AT(ep_attr.max_request_iov), AT(ep_attr.max_rdma_read_in), AT(ep_attr.max_rdma_read_out),
	AT(ep_attr.srq_soft_hw), AT(ep_attr.max_rdma_read_iov), AT(ep_attr.max_rdma_write_iov),
	AT(ep_attr.ep_transport_specific_count), AT(ep_attr.ep_transport_specific),
	AT(ep_attr.ep_provider_specific_count), AT(ep_attr.ep_provider_specific),
	sizeof(DAT_EP_PARAM)
};

#undef AT

KDAPL_DEFINE_QUERY(kdapl_ep, EP, KDAPL_BAD_HANDLE(EP));

/**
 * dat_ep_query - query the parameters of an endpoint
 * @ep_handle: the EP
 * @mask:      DAT_EP_FIELD_*, the members to return
 * @param:     receives them; other members do not change
 *
 * The remote address and port are defined during a connection attempt and a connection. Addresses
 * and texts are stored in the EP until it is freed; the next query, a reset or a new attempt may
 * change them. kdapl-api.rst describes the provider-specific attributes.
 *
 * Context: any except hard interrupt; never sleeps.
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - unknown bit in @mask; @param is NULL
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	return kdapl_query(&kdapl_ep_query, ep_handle, mask, param);
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
 * DAT_FALSE and schedules a marker, and a later call returns DAT_TRUE.
 *
 * The call looks for an outstanding post slot by slot, with the EP's lock held and interrupts
 * disabled. If there is none, the time grows with max_recv_dtos and max_request_dtos. So a Consumer
 * should make the call before it disconnects, not for each post.
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
		return KDAPL_BAD_HANDLE(EP);
	ep = to_kdapl_ep(obj);
	/* dat_ep_modify() may be replacing the slots of the pools */
	spin_lock_irqsave(&ep->lock, flags);
	if (ep_state)
		*ep_state = ep->state;
	if (recv_idle)
		*recv_idle = kdapl_pool_posted(&ep->rq) ? DAT_FALSE : DAT_TRUE;
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
