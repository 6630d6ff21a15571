// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_stuck.ko: what rxe does, without kDAPL, to posts on a datagram QP that was put
 * back to RTS behind an error. ib_mad does that to QP 1 when a send of it has failed, as
 * the specification has that leave the QP in SQE; on 6.12 it does not come to that, since
 * rxe tells of such a send as flushed.
 *
 * In rxe of 6.1 the completer flushes all that is posted while the QP is in error; the
 * requester, which takes one of them each time it runs, is behind. Back in RTS it takes
 * an old one again. If that fails, too, both stop: the requester at the error, the
 * completer in front of a request that the requester has not taken. What is posted is
 * forgotten until somebody posts again, once for each request that the requester is
 * behind. In rxe of 6.12 the two are one task, which runs again for each request that it
 * flushes.
 *
 * All of it is done when the module is loaded, in process context; what is left are the
 * parameters, for selftests/stuck.sh. Owns PD, CQ, QP and AH, and holds the device,
 * until its init returns.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define STUCK_PAIR	2
#define STUCK_QKEY	0x1ee7

static char *device = "rxe1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "rxe device");

static unsigned int wait_ms = 2000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "How long completions are waited for, in milliseconds");

static unsigned int first;
module_param(first, uint, 0444);
MODULE_PARM_DESC(first, "Completions with an error, of one send that fails");

static unsigned int flushed;
module_param(flushed, uint, 0444);
MODULE_PARM_DESC(flushed, "Completions with an error, of two behind it");

static int back = 1;
module_param(back, int, 0444);
MODULE_PARM_DESC(back, "Answer to ib_modify_qp() from SQE to RTS");

static unsigned int forgotten;
module_param(forgotten, uint, 0444);
MODULE_PARM_DESC(forgotten, "Of two behind that, how many have not come");

static unsigned int nudged;
module_param(nudged, uint, 0444);
MODULE_PARM_DESC(nudged, "How many of these have, when one has posted nothing");

static struct {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_ah *ah;
	struct ib_cqe cqe;
	unsigned int done;
	u8 mem[8];
} stuck;

/* By ib_process_cq_direct(), in stuck_wait(). A success is none that was asked for */
static void stuck_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		stuck.done++;
}

/* How many of @want completions come in time */
static unsigned int stuck_wait(unsigned int want)
{
	unsigned int i;

	stuck.done = 0;
	for (i = 0; i < wait_ms && stuck.done < want; i += 20) {
		ib_process_cq_direct(stuck.cq, -1);
		msleep(20);
	}
	return stuck.done;
}

/* From memory that is nobody's: each of them fails, and before it is sent */
static int stuck_post(unsigned int n)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)stuck.mem,
		.length = sizeof(stuck.mem),
		.lkey = ~stuck.pd->local_dma_lkey,
	};
	struct ib_ud_wr wr[STUCK_PAIR] = {};
	unsigned int i;

	for (i = 0; i < n; i++) {
		wr[i].wr.wr_cqe = &stuck.cqe;
		wr[i].wr.sg_list = &sge;
		wr[i].wr.num_sge = 1;
		wr[i].wr.opcode = IB_WR_SEND;
		wr[i].wr.next = i + 1 < n ? &wr[i + 1].wr : NULL;
		wr[i].ah = stuck.ah;
		wr[i].remote_qpn = 1;
		wr[i].remote_qkey = STUCK_QKEY;
	}
	return ib_post_send(stuck.qp, &wr[0].wr, NULL);
}

/* To the port's first IPv4 address; nothing gets that far */
static int stuck_address(void)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	int i, n = stuck.ibdev->port_data[1].immutable.gid_tbl_len;
	const struct ib_gid_attr *gid;
	bool found = false;

	for (i = 0; i < n && !found; i++) {
		gid = rdma_get_gid_attr(stuck.ibdev, 1, i);
		if (IS_ERR(gid))
			continue;
		found = gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
			ipv6_addr_v4mapped((const struct in6_addr *)gid->gid.raw);
		if (found) {
			union ib_gid dgid = gid->gid;

			rdma_ah_set_port_num(&attr, 1);
			rdma_ah_set_grh(&attr, &dgid, 0, gid->index, 1, 0);
		}
		rdma_put_gid_attr(gid);
	}
	if (!found)
		return -ENOENT;
	stuck.ah = rdma_create_ah(stuck.pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	return PTR_ERR_OR_ZERO(stuck.ah);
}

static int stuck_start(void)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = STUCK_QKEY,
	};
	int ret;

	ret = ib_modify_qp(stuck.qp, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	attr.qp_state = IB_QPS_RTR;
	if (!ret)
		ret = ib_modify_qp(stuck.qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	if (!ret)
		ret = ib_modify_qp(stuck.qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	return ret;
}

static int stuck_make(void)
{
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_UD,
	};

	stuck.cqe.done = stuck_done;
	stuck.pd = ib_alloc_pd(stuck.ibdev, 0);
	if (IS_ERR(stuck.pd))
		return PTR_ERR(stuck.pd);
	stuck.cq = ib_alloc_cq(stuck.ibdev, NULL, 16, 0, IB_POLL_DIRECT);
	if (IS_ERR(stuck.cq))
		return PTR_ERR(stuck.cq);
	init.send_cq = stuck.cq;
	init.recv_cq = stuck.cq;
	stuck.qp = ib_create_qp(stuck.pd, &init);
	if (IS_ERR(stuck.qp))
		return PTR_ERR(stuck.qp);
	return stuck_start() ?: stuck_address();
}

static void stuck_unmake(void)
{
	if (!IS_ERR_OR_NULL(stuck.qp))
		ib_destroy_qp(stuck.qp);
	if (!IS_ERR_OR_NULL(stuck.ah))
		rdma_destroy_ah(stuck.ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (!IS_ERR_OR_NULL(stuck.cq))
		ib_free_cq(stuck.cq);
	if (!IS_ERR_OR_NULL(stuck.pd))
		ib_dealloc_pd(stuck.pd);
	ib_device_put(stuck.ibdev);
}

/* What ib_mad does when a send of QP 1 has failed, with somebody who posts meanwhile */
static int stuck_show(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	int ret;

	ret = stuck_post(1);
	if (ret)
		return ret;
	first = stuck_wait(1);
	ret = stuck_post(STUCK_PAIR);
	if (ret)
		return ret;
	flushed = stuck_wait(STUCK_PAIR);
	back = ib_modify_qp(stuck.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE);
	ret = stuck_post(STUCK_PAIR);
	if (ret)
		return ret;
	forgotten = STUCK_PAIR - stuck_wait(STUCK_PAIR);
	ret = ib_post_send(stuck.qp, NULL, NULL);
	if (!ret)
		nudged = stuck_wait(forgotten);
	return ret;
}

static int __init stuck_init(void)
{
	int ret;

	stuck.ibdev = ib_device_get_by_name(device, RDMA_DRIVER_RXE);
	if (!stuck.ibdev)
		return -ENODEV;
	ret = stuck_make() ?: stuck_show();
	stuck_unmake();
	return ret;
}

static void __exit stuck_exit(void)
{
}

module_init(stuck_init);
module_exit(stuck_exit);

MODULE_DESCRIPTION("A datagram QP of rxe behind an error, on plain verbs");
MODULE_LICENSE("GPL");
