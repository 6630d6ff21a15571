/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs on plain verbs, connected without the connection manager. Process context.
 * The functions are inline, because one folder builds two modules that use them.
 */
#ifndef _KDAPL_TEST_VERBS_H_
#define _KDAPL_TEST_VERBS_H_

#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

/**
 * test_verbs_path - the path from the first IPv4 address of port 1
 * @ibdev: a RoCE device
 * @ah:    receives the path, without a MAC address, which rxe does not use
 * @to:    the destination; NULL: the port itself
 *
 * Return: 0; -ENOENT if the port has no such address.
 */
static inline int test_verbs_path(struct ib_device *ibdev, struct rdma_ah_attr *ah,
				  const union ib_gid *to)
{
	int i, n = ibdev->port_data[1].immutable.gid_tbl_len, ret = -ENOENT;
	const struct ib_gid_attr *gid;
	union ib_gid dgid;

	for (i = 0; i < n && ret; i++) {
		gid = rdma_get_gid_attr(ibdev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const struct in6_addr *)gid->gid.raw)) {
			dgid = to ? *to : gid->gid;
			ah->type = RDMA_AH_ATTR_TYPE_ROCE;
			rdma_ah_set_port_num(ah, 1);
			rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
			ret = 0;
		}
		rdma_put_gid_attr(gid);
	}
	return ret;
}

/**
 * test_verbs_raise - move a reliable queue pair from INIT to RTR and RTS
 * @qp:   the queue pair
 * @attr: the attributes of both transitions
 *
 * Return: 0, or the error of ib_modify_qp().
 */
static inline int test_verbs_raise(struct ib_qp *qp, struct ib_qp_attr *attr)
{
	int err;

	attr->qp_state = IB_QPS_RTR;
	err = ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER |
			   IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr->qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

#endif /* _KDAPL_TEST_VERBS_H_ */
