/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plain-verbs peer: a queue pair with its CQ, connected without the connection manager.
 * Process context. The functions are inline, because one directory builds two modules that use
 * them.
 */
#ifndef _KDAPL_TEST_VERBS_H_
#define _KDAPL_TEST_VERBS_H_

#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

/**
 * test_verbs_path - the path from the first IPv4 address of port 1
 * @ibdev: a RoCE device
 * @ah:    receives the path
 * @to:    the destination, without a MAC address, which rxe does not use; NULL: the port itself
 *
 * Return: 0; -ENOENT if the port has no such address; an error of
 * rdma_read_gid_l2_fields().
 */
static inline int test_verbs_path(struct ib_device *ibdev, struct rdma_ah_attr *ah,
				  const union ib_gid *to)
{
	int i, n = ibdev->port_data[1].immutable.gid_tbl_len, ret = -ENOENT;
	const struct ib_gid_attr *gid;
	union ib_gid dgid;

	for (i = 0; i < n && ret == -ENOENT; i++) {
		gid = rdma_get_gid_attr(ibdev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)gid->gid.raw)) {
			dgid = to ? *to : gid->gid;
			ah->type = RDMA_AH_ATTR_TYPE_ROCE;
			rdma_ah_set_port_num(ah, 1);
			rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
			ret = to ? 0 : rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
		}
		rdma_put_gid_attr(gid);
	}
	return ret;
}

/* A queue pair and its CQ; NULL or an error pointer if it does not exist */
struct test_verbs {
	struct ib_cq *cq;
	struct ib_qp *qp;
};

/* Some RT kernels do not allow polls in softirq, see kdapl_softirq_polls() */
#define TEST_SOFTIRQ_POLLS	(!IS_ENABLED(CONFIG_PREEMPT_RT) ||		\
				 IS_ENABLED(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK))
#define TEST_POLL		(TEST_SOFTIRQ_POLLS ? IB_POLL_SOFTIRQ : IB_POLL_WORKQUEUE)

/**
 * test_verbs_make - create a CQ and a queue pair
 * @v:    receives both; test_verbs_free() frees them, also after an error
 * @pd:   the protection domain
 * @cqes: entries of the CQ, whose context is @v
 * @poll: the poll context of the CQ
 * @init: the queue pair, without its CQs
 *
 * Return: 0, or the error of the call that failed.
 */
static inline int test_verbs_make(struct test_verbs *v, struct ib_pd *pd, int cqes,
				  enum ib_poll_context poll, struct ib_qp_init_attr *init)
{
	v->cq = ib_alloc_cq(pd->device, v, cqes, 0, poll);
	if (IS_ERR(v->cq))
		return PTR_ERR(v->cq);
	init->send_cq = v->cq;
	init->recv_cq = v->cq;
	v->qp = ib_create_qp(pd, init);
	return PTR_ERR_OR_ZERO(v->qp);
}

static inline void test_verbs_free(struct test_verbs *v)
{
	if (!IS_ERR_OR_NULL(v->qp))
		ib_destroy_qp(v->qp);
	if (!IS_ERR_OR_NULL(v->cq))
		ib_free_cq(v->cq);
}

/**
 * test_verbs_connect - move a reliable queue pair from RESET or INIT to RTS
 * @qp:   the queue pair
 * @attr: the attributes of all transitions
 *
 * Return: 0, or the error of ib_modify_qp().
 */
static inline int test_verbs_connect(struct ib_qp *qp, struct ib_qp_attr *attr)
{
	int err;

	attr->qp_state = IB_QPS_INIT;
	err = ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr->qp_state = IB_QPS_RTR;
	err = ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr->qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

#endif /* _KDAPL_TEST_VERBS_H_ */
