// SPDX-License-Identifier: GPL-2.0
/*
 * The null device: its attributes, objects and memory; see null.h.
 *
 * The RDMA core calls this in process context; main.c creates and destroys the
 * device.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "../roce_device.h"
#include "null.h"

/* ---- queue pairs and shared receive queues ------------------------------ */

static int null_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct null_dev *dev = to_null_dev(ibqp->device);
	struct null_qp *qp = to_null_qp(ibqp);
	int err;

	if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	if (attr->cap.max_send_wr > NULL_MAX_QP_WR || attr->cap.max_recv_wr > NULL_MAX_QP_WR)
		return -EINVAL;
	err = null_queue_init(&qp->sq, attr->cap.max_send_wr);
	if (err)
		return err;
	err = null_queue_init(&qp->rq, attr->srq ? 0 : attr->cap.max_recv_wr);
	if (err) {
		null_queue_exit(&qp->sq);
		return err;
	}
	qp->slow = true;
	qp->state = IB_QPS_RESET;
	mutex_lock(&dev->mutex);
	ibqp->qp_num = attr->qp_type == IB_QPT_GSI ? NULL_GSI_QPN : ++dev->next_qpn;
	dev->last_cap = attr->cap;
	list_add_tail(&qp->node, &dev->qps);
	mutex_unlock(&dev->mutex);
	return 0;
}

static int null_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct null_dev *dev = to_null_dev(ibqp->device);
	struct null_qp *qp = to_null_qp(ibqp);

	mutex_lock(&dev->mutex);
	list_del(&qp->node);
	mutex_unlock(&dev->mutex);
	null_queue_exit(&qp->sq);
	null_queue_exit(&qp->rq);
	return 0;
}

static int null_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct null_dev *dev = to_null_dev(ibqp->device);
	struct null_qp *qp = to_null_qp(ibqp);
	bool to_error = false;

	spin_lock_irq(&dev->lock);
	if (mask & IB_QP_DEST_QPN)
		qp->dest = attr->dest_qp_num;
	if (mask & IB_QP_STATE) {
		to_error = attr->qp_state == IB_QPS_ERR && qp->state != IB_QPS_ERR;
		qp->state = attr->qp_state;
		/* A QP that is connected to itself is used to register memory */
		qp->slow = qp->state != IB_QPS_RTS || ibqp->qp_type != IB_QPT_RC ||
			   qp->dest == ibqp->qp_num;
	}
	spin_unlock_irq(&dev->lock);
	if (to_error)
		null_flush(dev, qp);
	return 0;
}

static int null_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_qp_init_attr *init)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = to_null_qp(ibqp)->state;
	attr->cur_qp_state = attr->qp_state;
	return 0;
}

static int null_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	return null_queue_init(&to_null_srq(ibsrq)->rq, attr->attr.max_wr);
}

static int null_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return 0;
}

static int null_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	attr->max_wr = to_null_srq(ibsrq)->rq.mask + 1;
	attr->max_sge = NULL_MAX_SGE;
	attr->srq_limit = 0;
	return 0;
}

static int null_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	null_queue_exit(&to_null_srq(ibsrq)->rq);
	return 0;
}

/* ---- addresses and memory ---------------------------------------------- */

static int null_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			  struct ib_udata *udata)
{
	struct null_ah *ah = container_of(ibah, struct null_ah, ibah);
	const struct ib_global_route *grh = rdma_ah_read_grh(init->ah_attr);

	ah->sgid = grh->sgid_attr->gid;
	ah->dgid = grh->dgid;
	return 0;
}

static int null_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

static struct ib_mr *null_make_mr(struct ib_pd *ibpd)
{
	struct null_dev *dev = to_null_dev(ibpd->device);
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	spin_lock_irq(&dev->lock);
	dev->next_key += 0x100;
	mr->lkey = dev->next_key;
	mr->rkey = dev->next_key;
	spin_unlock_irq(&dev->lock);
	return mr;
}

static struct ib_mr *null_get_dma_mr(struct ib_pd *ibpd, int access)
{
	return null_make_mr(ibpd);
}

static struct ib_mr *null_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	if (type != IB_MR_TYPE_MEM_REG || max_num_sg > NULL_PAGE_LIST)
		return ERR_PTR(-EINVAL);
	return null_make_mr(ibpd);
}

static int null_set_page(struct ib_mr *mr, u64 addr)
{
	return 0;
}

static int null_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
			  unsigned int *offset)
{
	return ib_sg_to_pages(mr, sg, nents, offset, null_set_page);
}

static int null_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	return 0;
}

/* ---- the device -------------------------------------------------------- */

static int null_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 1 << 16;
	attr->max_qp_wr = NULL_MAX_QP_WR;
	attr->max_send_sge = NULL_MAX_SGE;
	attr->max_recv_sge = NULL_MAX_SGE;
	attr->max_sge_rd = NULL_MAX_SGE;
	attr->max_cq = 1 << 16;
	attr->max_cqe = NULL_MAX_CQE;
	attr->max_mr = 1 << 20;
	attr->max_pd = 4096;
	attr->max_ah = 4096;
	attr->max_qp_rd_atom = NULL_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = NULL_MAX_RD_ATOM;
	attr->max_res_rd_atom = 1 << 20;
	attr->max_srq = 1024;
	attr->max_srq_wr = NULL_MAX_QP_WR;
	attr->max_srq_sge = NULL_MAX_SGE;
	attr->max_fast_reg_page_list_len = NULL_PAGE_LIST;
	attr->max_pkeys = 1;
	return 0;
}

static int null_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_1024;
	attr->gid_tbl_len = NULL_GIDS;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 0x80000000;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static const struct ib_device_ops null_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.alloc_mr = null_alloc_mr,
	.create_ah = null_create_ah,
	.create_cq = null_create_cq,
	.create_qp = null_create_qp,
	.create_srq = null_create_srq,
	.dereg_mr = null_dereg_mr,
	.destroy_ah = null_destroy_ah,
	.destroy_cq = null_destroy_cq,
	.destroy_qp = null_destroy_qp,
	.destroy_srq = null_destroy_srq,
	.get_dma_mr = null_get_dma_mr,
	.map_mr_sg = null_map_mr_sg,
	.modify_qp = null_modify_qp,
	.modify_srq = null_modify_srq,
	.poll_cq = null_poll_cq,
	.post_recv = null_post_recv,
	.post_send = null_post_send,
	.post_srq_recv = null_post_srq_recv,
	.query_device = null_query_device,
	.query_port = null_query_port,
	.query_qp = null_query_qp,
	.query_srq = null_query_srq,
	.req_notify_cq = null_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, null_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, null_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, null_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, null_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, null_srq, ibsrq),
};

/**
 * null_dev_create - register the null device
 * @netdev: net device that provides the addresses
 *
 * Context: process.
 * Return: the device, or ERR_PTR.
 */
struct null_dev *null_dev_create(const char *netdev)
{
	struct net_device *ndev = dev_get_by_name(&init_net, netdev);
	struct null_dev *dev;
	int err;

	if (!ndev)
		return ERR_PTR(-ENODEV);
	dev = ib_alloc_device(null_dev, ibdev);
	if (!dev) {
		err = -ENOMEM;
		goto out_put;
	}
	spin_lock_init(&dev->lock);
	mutex_init(&dev->mutex);
	INIT_LIST_HEAD(&dev->qps);
	dev->next_qpn = NULL_GSI_QPN;
	dev->ibdev.num_comp_vectors = num_possible_cpus();
	strscpy(dev->ibdev.node_desc, "kdapl null", sizeof(dev->ibdev.node_desc));
	ib_set_device_ops(&dev->ibdev, &null_ops);
	err = roce_register(&dev->ibdev, "null%d", 0x0242acfffe110003ULL, ndev, NULL);
	if (err)
		ib_dealloc_device(&dev->ibdev);
out_put:
	dev_put(ndev);
	return err ? ERR_PTR(err) : dev;
}

/**
 * null_dev_destroy - unregister the null device
 * @dev: the device
 *
 * Context: process.
 */
void null_dev_destroy(struct null_dev *dev)
{
	ib_unregister_device(&dev->ibdev);
	ib_dealloc_device(&dev->ibdev);
}
