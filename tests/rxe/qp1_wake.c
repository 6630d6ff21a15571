// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_qp1_wake.ko: makes QP 1 of each rxe device process its send queue again, fifty
 * times a second. In rxe of 6.1 that queue may stop with posts in it (qp1_stall.c). The
 * destruction of an ID of the connection manager during the removal of the device then waits
 * for one of these posts, and no further post starts the queue again.
 *
 * This module must be loaded before ib_cm and rdma_cm: the clients of a device are removed
 * in the reverse order, and this one must remain until those have finished.
 *
 * It owns an agent for MADs and a work item per device, from the client's add callback to
 * its remove callback. The agent sends nothing; it gives access to QP 1. Process context.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

/* Each run brings rxe forward by one request, and it may be a whole queue behind */
#define NUDGE_DELAY	(HZ / 50)

struct wake {
	struct ib_mad_agent *agent;
	struct delayed_work work;
};

static struct ib_client wake_client;

/*
 * Posts an empty list, which makes rxe's requester run as the next post of any user would.
 * A requester that lags may then send an old request again.
 */
static void wake_work(struct work_struct *work)
{
	struct wake *n = container_of(to_delayed_work(work), struct wake, work);

	ib_post_send(n->agent->qp, NULL, NULL);
	schedule_delayed_work(&n->work, NUDGE_DELAY);
}

/* An agent must have this callback; it sends nothing */
static void wake_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	WARN_ON_ONCE(1);
}

static int wake_add(struct ib_device *ibdev)
{
	struct wake *n;

	if (ibdev->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return -ENOMEM;
	n->agent = ib_register_mad_agent(ibdev, 1, IB_QPT_GSI, NULL, 0, wake_sent, NULL, n, 0);
	if (IS_ERR(n->agent)) {
		int ret = PTR_ERR(n->agent);

		kfree(n);
		return ret;
	}
	INIT_DELAYED_WORK(&n->work, wake_work);
	ib_set_client_data(ibdev, &wake_client, n);
	schedule_delayed_work(&n->work, NUDGE_DELAY);
	return 0;
}

static void wake_remove(struct ib_device *ibdev, void *data)
{
	struct wake *n = data;

	cancel_delayed_work_sync(&n->work);
	ib_unregister_mad_agent(n->agent);
	kfree(n);
}

static struct ib_client wake_client = {
	.name = "kdapl_qp1_wake",
	.add = wake_add,
	.remove = wake_remove,
};

static int __init wake_init(void)
{
	return ib_register_client(&wake_client);
}

static void __exit wake_exit(void)
{
	ib_unregister_client(&wake_client);
}

module_init(wake_init);
module_exit(wake_exit);

MODULE_DESCRIPTION("Makes QP 1 of rxe process requests that it forgot");
MODULE_LICENSE("GPL");
