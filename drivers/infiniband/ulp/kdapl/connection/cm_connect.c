// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that begin and end a connection: dat_ep_connect(), dat_ep_dup_connect() and
 * dat_ep_disconnect().
 *
 * The calls only start an operation. The CM callbacks and the connection work (cm.c)
 * continue an attempt; a disconnect changes the state and sets a bit for that work.
 * Called by Consumers, dat_ep_disconnect() in any context.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include "device/device.h"
#include "post/post.h"
#include "internal.h"

/* Sets the parameters of the request, which the EP stores until the route is known */
static void kdapl_connect_offer(struct kdapl_ep *ep, struct ib_qp *qp, const void *data, u8 len)
{
	memcpy(ep->conn.private_out, data, len);
	ep->conn.offer = (struct rdma_conn_param) {
		.private_data = ep->conn.private_out,
		.private_data_len = len,
		.responder_resources = min_t(int, ep->cfg.attr.max_rdma_read_in, U8_MAX),
		.initiator_depth = min_t(int, ep->cfg.attr.max_rdma_read_out, U8_MAX),
		.flow_control = 1,
		.retry_count = ep->cfg.named.retry_count,
		.rnr_retry_count = ep->cfg.named.rnr_retry_count,
		.srq = ep->fast.srq_attached,
		.qp_num = qp->qp_num,
	};
}

/* Begins the attempt. ep->mutex held, the EP UNCONNECTED with a QP */
static DAT_RETURN kdapl_connect_start(struct kdapl_ep *ep, const struct sockaddr_storage *remote,
				      DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
				      const void *data, u8 len)
{
	struct ib_qp *qp = rcu_dereference_protected(ep->fast.qp, lockdep_is_held(&ep->mutex));
	struct sockaddr_storage peer = *remote;
	u16 port = kdapl_cm_port(qual);
	struct rdma_cm_id *id;
	int ret;

	if (kdapl_notice_reserve(ep))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	kdapl_cm_set_port(&peer, port);
	id = kdapl_cm_bind(ep->obj.ia, &ep->obj.ia->addr, qp->device, kdapl_cm_handler, ep, 0,
			   &peer);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		if (ret == -ENODEV || ret == -EADDRNOTAVAIL)
			return KDAPL_BAD_ADDRESS(UNREACHABLE);
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 ret == -ENOMEM ? DAT_RESOURCE_MEMORY : DAT_RESOURCE_TEP);
	}
	kdapl_connect_offer(ep, qp, data, len);
	spin_lock_irq(&ep->lock);
	kdapl_cm_set_local(ep, &ep->obj.ia->addr);
	ep->conn.remote = *remote;
	ep->conn.remote_port = port;
	ep->conn.local_port = ntohs(((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port);
	ep->conn.qual = qual;
	spin_unlock_irq(&ep->lock);

	kdapl_cm_begin(ep, id, false);
	if (timeout != DAT_TIMEOUT_INFINITE)
		kdapl_cm_timer_start(ep, (u64)timeout * NSEC_PER_USEC);
	/* The attempt has begun: a failure from now on is reported by an event (C-21) */
	kdapl_cm_resolve(ep, &peer);
	return DAT_SUCCESS;
}

/**
 * struct kdapl_connect - the common arguments of the two calls that connect
 * @timeout: microseconds
 * @size:    size of @data in bytes
 * @data:    private data
 * @qos:     quality of service
 * @flags:   DAT_CONNECT_*
 * @arg:     number of the argument @timeout; the others follow in this order
 */
struct kdapl_connect {
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	const void *data;
	DAT_QOS qos;
	DAT_CONNECT_FLAGS flags;
	unsigned int arg;
};

/* The argument that is the @n-th one after the timeout */
static DAT_RETURN kdapl_connect_bad_arg(const struct kdapl_connect *c, unsigned int n)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + c->arg - 1 + n);
}

/* Checks whether the EP can connect, in the order of the specification. ep->mutex held */
static DAT_RETURN kdapl_connect_check(struct kdapl_ep *ep, const struct kdapl_connect *c)
{
	DAT_EP_STATE state = READ_ONCE(ep->state);

	if (!ep->cfg.connect_evd)
		return KDAPL_BAD_HANDLE(EVD_CONN);
	if (!c->timeout)
		return kdapl_connect_bad_arg(c, 0);
	if (state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED)
		return KDAPL_BAD_STATE(EP_NOTREADY);
	if (state != DAT_EP_STATE_UNCONNECTED)
		return kdapl_ep_state_error(state);
	return DAT_SUCCESS;
}

static DAT_RETURN kdapl_connect_check_args(const struct kdapl_connect *c)
{
	if (c->qos != DAT_QOS_BEST_EFFORT || (c->flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return KDAPL_UNSUPPORTED;
	if (c->size < 0 || c->size > KDAPL_REQUEST_PRIVATE)
		return kdapl_connect_bad_arg(c, 1);
	if (c->size && !c->data)
		return kdapl_connect_bad_arg(c, 2);
	if (c->flags & ~DAT_CONNECT_MULTIPATH_REQUESTED_FLAG)
		return kdapl_connect_bad_arg(c, 4);
	return DAT_SUCCESS;
}

/* Returns true if the peer's link-local address is on another link than that of the IA */
static bool kdapl_connect_other_link(const struct kdapl_ia *ia, const struct sockaddr_storage *to)
{
	int scope = kdapl_addr_scope(to), own = kdapl_addr_scope(&ia->addr);

	return scope && own && scope != own;
}

static DAT_RETURN kdapl_connect(struct kdapl_ep *ep, const struct kdapl_connect *c,
				const struct sockaddr *to, DAT_CONN_QUAL qual)
{
	unsigned int noio = memalloc_noio_save();
	struct sockaddr_storage remote;
	DAT_RETURN ret;

	mutex_lock(&ep->mutex);
	ret = kdapl_connect_check(ep, c);
	if (ret == DAT_SUCCESS)
		ret = kdapl_connect_check_args(c);
	if (ret == DAT_SUCCESS)
		ret = kdapl_cm_address(ep->obj.ia->net, to, &remote);
	if (ret == DAT_SUCCESS && remote.ss_family != ep->obj.ia->addr.ss_family)
		ret = KDAPL_BAD_ADDRESS(UNSUPPORTED);
	if (ret == DAT_SUCCESS && kdapl_connect_other_link(ep->obj.ia, &remote))
		ret = KDAPL_BAD_ADDRESS(UNREACHABLE);
	if (ret == DAT_SUCCESS)
		ret = kdapl_connect_start(ep, &remote, qual, c->timeout, c->data, c->size);
	mutex_unlock(&ep->mutex);
	memalloc_noio_restore(noio);
	return ret;
}

/**
 * dat_ep_connect - start a connection to a service point
 * @ep_handle:         EP in UNCONNECTED
 * @remote_ia_address: address of the peer, IPv4 or IPv6; its port is ignored
 * @remote_conn_qual:  connection qualifier on which the peer listens
 * @timeout:           microseconds until TIMED_OUT, or DAT_TIMEOUT_INFINITE
 * @private_data_size: number of bytes for the peer's request, at most 56
 * @private_data:      the bytes, copied by the call; NULL if there are none
 * @qos:               DAT_QOS_BEST_EFFORT
 * @connect_flags:     DAT_CONNECT_DEFAULT_FLAG or
 *                     DAT_CONNECT_MULTIPATH_REQUESTED_FLAG
 *
 * When the call returns, the EP is in ACTIVE_CONNECTION_PENDING. Exactly one outcome follows on its
 * connect EVD: ESTABLISHED with the private data of the peer, or PEER_REJECTED, NON_PEER_REJECTED,
 * UNREACHABLE, TIMED_OUT, or DISCONNECTED after dat_ep_disconnect(). After any outcome except
 * ESTABLISHED the EP is DISCONNECTED, and its receives are flushed.
 *
 * Context: process (class P).
 * Return:
 * * DAT_SUCCESS - the attempt has begun
 * * DAT_INVALID_PARAMETER - no address; @timeout is 0; @private_data_size is not legal, or
 *   @private_data is NULL although it is not 0; unknown flag
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP; the EP has no connect EVD
 * * DAT_INVALID_STATE - the EP is not UNCONNECTED, or not configured
 * * DAT_MODEL_NOT_SUPPORTED - another @qos, or multipath is required
 * * DAT_INVALID_ADDRESS - not the address of one host, or not of the IA's family; a link-local
 *   address of another net device than the IA's; or the IA has lost its own address
 * * DAT_INSUFFICIENT_RESOURCES - no memory; no free port: each connection to the same address
 *   and qualifier has its own
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags)
{
	const struct kdapl_connect c = {
		.timeout = timeout,
		.size = private_data_size,
		.data = private_data,
		.qos = qos,
		.flags = connect_flags,
		.arg = 4,
	};
	struct kdapl_obj *obj;
	DAT_RETURN ret;

	if (!remote_ia_address)
		return KDAPL_BAD_ARG(2);
	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	ret = kdapl_connect(to_kdapl_ep(obj), &c, remote_ia_address, remote_conn_qual);
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_connect);

/* The address and qualifier to which an EP connected; only the active side knows them */
static DAT_RETURN kdapl_connect_target(struct kdapl_ep *ep, struct sockaddr_storage *remote,
				       DAT_CONN_QUAL *qual)
{
	DAT_RETURN ret = DAT_SUCCESS;

	spin_lock_irq(&ep->lock);
	*remote = ep->conn.remote;
	*qual = ep->conn.qual;
	if (ep->state != DAT_EP_STATE_CONNECTED)
		ret = kdapl_ep_state_error(ep->state);
	else if (ep->conn.passive)
		ret = KDAPL_BAD_ARG(2);
	spin_unlock_irq(&ep->lock);
	return ret;
}

/**
 * dat_ep_dup_connect - connect to the same service point as another endpoint
 * @ep_handle:         EP in UNCONNECTED
 * @dup_ep_handle:     EP that dat_ep_connect() or this call connected
 * @timeout:           microseconds until TIMED_OUT, or DAT_TIMEOUT_INFINITE
 * @private_data_size: number of bytes for the peer's request, at most 56
 * @private_data:      the bytes, copied by the call; NULL if there are none
 * @qos:               DAT_QOS_BEST_EFFORT
 *
 * Like dat_ep_connect() with the address and the qualifier to which @dup_ep_handle connected.
 * The connection of that EP does not change. An EP that accepted its connection knows the
 * address of its peer, but no qualifier on which the peer listens.
 *
 * Context: process (class P).
 * Return: as for dat_ep_connect(), and
 * * DAT_INVALID_HANDLE - @dup_ep_handle is not the handle of an EP
 * * DAT_INVALID_STATE - that EP is not CONNECTED
 * * DAT_INVALID_PARAMETER - that EP accepted its connection
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos)
{
	const struct kdapl_connect c = {
		.timeout = timeout,
		.size = private_data_size,
		.data = private_data,
		.qos = qos,
		.flags = DAT_CONNECT_DEFAULT_FLAG,
		.arg = 3,
	};
	struct sockaddr_storage remote;
	struct kdapl_obj *obj, *dup;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	dup = kdapl_obj_get(dup_ep_handle, DAT_HANDLE_TYPE_EP);
	if (!dup) {
		ret = KDAPL_BAD_HANDLE(EP);
		goto out;
	}
	if (!timeout)
		ret = kdapl_connect_bad_arg(&c, 0);
	else
		ret = kdapl_connect_target(to_kdapl_ep(dup), &remote, &qual);
	kdapl_obj_put(dup);
	if (ret == DAT_SUCCESS)
		ret = kdapl_connect(to_kdapl_ep(obj), &c, (struct sockaddr *)&remote, qual);
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

/* Begins to end a connection or an attempt. ep->lock held */
static DAT_RETURN kdapl_disconnect(struct kdapl_ep *ep, bool graceful)
{
	switch (ep->state) {
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_SUCCESS;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		/* The attempt cannot succeed any more (C-17, C-23) */
		if (ep->conn.outcome_owed)
			ep->conn.cancelled = true;
		ep->conn.outcome_owed = false;
		kdapl_ep_schedule(ep, KDAPL_TODO_DISCONNECT);
		return DAT_SUCCESS;
	case DAT_EP_STATE_CONNECTED:
		kdapl_ep_set_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
		fallthrough;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (!graceful && !kdapl_ep_breaks(ep))
			ep->conn.ended_cleanly = true;
		/* A second graceful disconnect changes nothing; to check again is harmless */
		kdapl_ep_schedule(ep, graceful ? KDAPL_TODO_GRACEFUL : KDAPL_TODO_DISCONNECT);
		return DAT_SUCCESS;
	default:
		return kdapl_ep_state_error(ep->state);
	}
}

/**
 * dat_ep_disconnect - end a connection, or give up an attempt
 * @ep_handle:   the EP
 * @close_flags: DAT_CLOSE_ABRUPT_FLAG: outstanding posts are flushed;
 *               DAT_CLOSE_GRACEFUL_FLAG: requests that were posted complete first
 *
 * Starts the disconnect and returns. DISCONNECTED follows on the connect EVD, after an abrupt
 * disconnect within a second. Does nothing if the EP is DISCONNECTED already.
 *
 * Context: any except hard interrupt (class A).
 * Return:
 * * DAT_SUCCESS
 * * DAT_INVALID_HANDLE - @ep_handle is not the handle of an EP
 * * DAT_INVALID_PARAMETER - unknown flag
 * * DAT_INVALID_STATE - there is no connection and no attempt
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct kdapl_obj *obj = kdapl_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
	unsigned long flags;
	struct kdapl_ep *ep;
	DAT_RETURN ret;

	if (!obj)
		return KDAPL_BAD_HANDLE(EP);
	if (close_flags != DAT_CLOSE_ABRUPT_FLAG && close_flags != DAT_CLOSE_GRACEFUL_FLAG) {
		ret = KDAPL_BAD_ARG(2);
		goto out;
	}
	ep = to_kdapl_ep(obj);
	spin_lock_irqsave(&ep->lock, flags);
	ret = kdapl_disconnect(ep, close_flags == DAT_CLOSE_GRACEFUL_FLAG);
	spin_unlock_irqrestore(&ep->lock, flags);
out:
	kdapl_obj_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_disconnect);
