// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_cm_rep_wait.ko: shows, without kDAPL, that ib_destroy_cm_id() may wait until the reply
 * (REP) of the ID has expired.
 *
 * ib_cm_notify() sets a passive ID to ESTABLISHED and queues a work item, which cancels the
 * REP. If the peer's RTU and DREQ are in the work queue before it, the connection manager drops
 * the RTU as a duplicate and sets the ID to DREQ_RCVD for the DREQ. The work item then does
 * nothing, because the ID is not ESTABLISHED. The REP keeps a reference to the ID until it has
 * been repeated as often as the request allows, and the destruction of the ID waits for that.
 *
 * Both IDs are in this module, and no QP exists. The callback of the active ID occupies the
 * work queue of the connection manager. With late=1 it sends RTU and DREQ, waits until the
 * parameter received is set because both have arrived, and then calls ib_cm_notify() for the
 * passive ID. With late=0 the DREQ is sent after the work item has run. The queue handles one
 * item at a time on each CPU, so the order is certain only if a single CPU is online.
 *
 * Everything runs while the module is loaded: the init function in process context, the
 * callbacks in workers. Only the parameters remain, which cm_rep_wait.sh reads.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include "test_device.h"

#define REP_SERVICE	0x6b6461706c000001ULL
#define REP_ACTIVE_QPN	0x6b0001
#define REP_PASSIVE_QPN	0x6b0002
#define REP_PEER_TIME	20		/* for the active side, the value of rdma_cm */
#define REP_POLL_MS	10

static char *device = "rxe1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "rxe device");

static bool late;
module_param(late, bool, 0444);
MODULE_PARM_DESC(late, "Does the work item of ib_cm_notify() run after the DREQ?");

static bool received;
module_param(received, bool, 0644);
MODULE_PARM_DESC(received, "RTU and DREQ have arrived; set by the test if late is set");

static unsigned int timeout = 18;
module_param(timeout, uint, 0444);
MODULE_PARM_DESC(timeout, "The REP is repeated after 4.096 us << timeout");

static unsigned int retries = 15;
module_param(retries, uint, 0444);
MODULE_PARM_DESC(retries, "Maximum number of repetitions of the REP");

static unsigned int wait_ms = 20000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "Maximum time of each step, in milliseconds");

static int notified = 1;
module_param(notified, int, 0444);
MODULE_PARM_DESC(notified, "Result of ib_cm_notify(), or of a step before it");

static unsigned int destroy_ms;
module_param(destroy_ms, uint, 0444);
MODULE_PARM_DESC(destroy_ms, "Duration of ib_destroy_cm_id(), in milliseconds");

/* A callback writes passive before it completes an event; rep_show() reads it after that */
static struct {
	struct ib_device *ibdev;
	const struct ib_gid_attr *gid;
	struct ib_cm_id *listener, *active, *passive;
	struct completion established, disconnected;
} rep;

/* Callback of the listener, which the ID of the request inherits. An error destroys that ID */
static int rep_passive_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ib_cm_rep_param param = { .qp_num = REP_PASSIVE_QPN };
	int ret = 0;

	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		ret = ib_send_cm_rep(id, &param);
		if (!ret)
			rep.passive = id;
		break;
	case IB_CM_USER_ESTABLISHED:
		complete(&rep.established);
		break;
	case IB_CM_DREQ_RECEIVED:
		complete(&rep.disconnected);
		break;
	default:
		break;
	}
	return ret;
}

/* Called by the callback, so the work queue of the connection manager waits, too */
static int rep_wait_received(void)
{
	unsigned int i;

	for (i = 0; i < wait_ms && !READ_ONCE(received); i += REP_POLL_MS)
		msleep(REP_POLL_MS);
	return READ_ONCE(received) ? 0 : -ETIMEDOUT;
}

/* Callback of the active ID */
static int rep_active_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	int ret;

	if (event->event != IB_CM_REP_RECEIVED)
		return 0;
	ret = ib_send_cm_rtu(id, NULL, 0);
	if (!ret && late)
		ret = ib_send_cm_dreq(id, NULL, 0) ?: rep_wait_received();
	notified = ret ?: ib_cm_notify(rep.passive, IB_EVENT_COMM_EST);
	return 0;
}

/* Finds the first IPv4 address of the port */
static int rep_find_gid(void)
{
	int i, n = rep.ibdev->port_data[1].immutable.gid_tbl_len;
	const struct ib_gid_attr *gid;

	for (i = 0; i < n; i++) {
		gid = rdma_get_gid_attr(rep.ibdev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)gid->gid.raw)) {
			rep.gid = gid;
			return 0;
		}
		rdma_put_gid_attr(gid);
	}
	return -ENOENT;
}

/* Sends a request from the address to itself */
static int rep_send_req(void)
{
	struct sa_path_rec path = {
		.rec_type = SA_PATH_REC_TYPE_ROCE_V2,
		.sgid = rep.gid->gid,
		.dgid = rep.gid->gid,
		.service_id = cpu_to_be64(REP_SERVICE),
		.pkey = cpu_to_be16(0xffff),
		.hop_limit = 1,
		.mtu_selector = IB_SA_EQ,
		.mtu = IB_MTU_1024,
		.roce.route_resolved = true,
	};
	struct ib_cm_req_param param = {
		.primary_path = &path,
		.ppath_sgid_attr = rep.gid,
		.service_id = path.service_id,
		.qp_num = REP_ACTIVE_QPN,
		.qp_type = IB_QPT_RC,
		.remote_cm_response_timeout = REP_PEER_TIME,
		.local_cm_response_timeout = timeout,
		.max_cm_retries = retries,
	};
	int ret = rdma_read_gid_l2_fields(rep.gid, NULL, path.roce.dmac);

	return ret ?: ib_send_cm_req(rep.active, &param);
}

static int rep_connect(void)
{
	int ret;

	init_completion(&rep.established);
	init_completion(&rep.disconnected);
	ret = rep_find_gid();
	if (ret)
		return ret;
	rep.listener = ib_create_cm_id(rep.ibdev, rep_passive_event, NULL);
	if (IS_ERR(rep.listener))
		return PTR_ERR(rep.listener);
	rep.active = ib_create_cm_id(rep.ibdev, rep_active_event, NULL);
	if (IS_ERR(rep.active))
		return PTR_ERR(rep.active);
	return ib_cm_listen(rep.listener, cpu_to_be64(REP_SERVICE)) ?: rep_send_req();
}

/* Waits longer than rep_wait_received(), which delays both events */
static int rep_wait(struct completion *event)
{
	return wait_for_completion_timeout(event, msecs_to_jiffies(2 * wait_ms)) ? 0 : -ETIMEDOUT;
}

/* Destroys the passive ID after a DREQ that was not answered */
static int rep_show(void)
{
	ktime_t begin;
	int ret = 0;

	if (!late)
		ret = rep_wait(&rep.established) ?: ib_send_cm_dreq(rep.active, NULL, 0);
	if (!ret)
		ret = rep_wait(&rep.disconnected);
	if (ret)
		return ret;
	begin = ktime_get();
	ib_destroy_cm_id(rep.passive);
	destroy_ms = ktime_ms_delta(ktime_get(), begin);
	rep.passive = NULL;
	return 0;
}

/* The listener is destroyed before passive is read, so that no request is pending */
static void rep_unmake(void)
{
	if (!IS_ERR_OR_NULL(rep.active))
		ib_destroy_cm_id(rep.active);
	if (!IS_ERR_OR_NULL(rep.listener))
		ib_destroy_cm_id(rep.listener);
	if (rep.passive)
		ib_destroy_cm_id(rep.passive);
	if (rep.gid)
		rdma_put_gid_attr(rep.gid);
	ib_device_put(rep.ibdev);
}

static int __init rep_init(void)
{
	int ret;

	rep.ibdev = test_device_get(device, RDMA_DRIVER_RXE);
	if (!rep.ibdev)
		return -ENODEV;
	ret = rep_connect() ?: rep_show();
	rep_unmake();
	return ret;
}

static void __exit rep_exit(void)
{
}

module_init(rep_init);
module_exit(rep_exit);

MODULE_DESCRIPTION("An ID of the connection manager that waits until its reply expires");
MODULE_LICENSE("GPL");
