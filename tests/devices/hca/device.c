// SPDX-License-Identifier: GPL-2.0
/*
 * The adapter model as an RDMA device: attributes, port, registration.
 * The RDMA core calls this in process context.
 */
#include <linux/module.h>
#include "../roce_device.h"
#include "hca.h"

static int hca_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	bool srq = hca_opt.srq;

	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_RC_RNR_NAK_GEN |
				 (srq ? IB_DEVICE_SRQ_RESIZE : 0);
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	attr->sys_image_guid = ibdev->node_guid;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = HCA_MAX_QP;
	attr->max_qp_wr = HCA_MAX_QP_WR;
	attr->max_send_sge = HCA_MAX_SGE;
	attr->max_recv_sge = HCA_MAX_SGE;
	attr->max_sge_rd = HCA_MAX_SGE;
	attr->max_cq = HCA_MAX_QP;
	attr->max_cqe = HCA_MAX_CQE;
	attr->max_mr = HCA_MAX_MR;
	attr->max_pd = 4096;
	attr->max_ah = 4096;
	attr->max_qp_rd_atom = HCA_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = HCA_MAX_RD_ATOM;
	attr->max_res_rd_atom = HCA_MAX_RD_ATOM * HCA_MAX_QP;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_srq = srq ? 1024 : 0;
	attr->max_srq_wr = srq ? HCA_MAX_SRQ_WR : 0;
	attr->max_srq_sge = srq ? HCA_MAX_SRQ_SGE : 0;
	attr->max_fast_reg_page_list_len = HCA_PAGE_LIST;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	return 0;
}

static int hca_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	bool up = netif_running(to_hca(ibdev)->ndev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_1024;
	attr->gid_tbl_len = HCA_GIDS;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = HCA_MAX_MSG;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

/**
 * hca_port_event - the link went up or down
 * @dev: the instance
 * @up:  it is up now
 *
 * Context: process, rtnl held.
 */
void hca_port_event(struct hca_dev *dev, bool up)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (ib_device_try_get(&dev->ibdev)) {
		ib_dispatch_event(&event);
		ib_device_put(&dev->ibdev);
	}
}

static const struct ib_device_ops hca_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.alloc_mr = hca_alloc_mr,
	.create_ah = hca_create_ah,
	.create_cq = hca_create_cq,
	.create_qp = hca_create_qp,
	.dereg_mr = hca_dereg_mr,
	.destroy_ah = hca_destroy_ah,
	.destroy_cq = hca_destroy_cq,
	.destroy_qp = hca_destroy_qp,
	.get_dma_mr = hca_get_dma_mr,
	.map_mr_sg = hca_map_mr_sg,
	.modify_qp = hca_modify_qp,
	.poll_cq = hca_poll_cq,
	.post_recv = hca_post_recv,
	.post_send = hca_post_send,
	.query_device = hca_query_device,
	.query_port = hca_query_port,
	.query_qp = hca_query_qp,
	.req_notify_cq = hca_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, hca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, hca_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, hca_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, hca_qp, ibqp),
};

static const struct ib_device_ops hca_srq_ops = {
	.create_srq = hca_create_srq,
	.destroy_srq = hca_destroy_srq,
	.modify_srq = hca_modify_srq,
	.post_srq_recv = hca_post_srq_recv,
	.query_srq = hca_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, hca_srq, ibsrq),
};

/**
 * hca_register - register the RDMA device hca0 or hca1
 * @dev: the instance, complete
 *
 * Context: process.
 * Return: 0, or an error of the RDMA core.
 */
int hca_register(struct hca_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	char name[IB_DEVICE_NAME_MAX];

	ibdev->num_comp_vectors = 1;
	ibdev->local_dma_lkey = HCA_LOCAL_KEY;
	ibdev->dev.parent = &dev->pdev->dev;
	scnprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "kdapl hca%d", dev->index);
	ib_set_device_ops(ibdev, &hca_ops);
	if (hca_opt.srq)
		ib_set_device_ops(ibdev, &hca_srq_ops);
	scnprintf(name, sizeof(name), "hca%d", dev->index);
	return roce_register(ibdev, name, 0x0242acfffe118000ULL + dev->index, dev->ndev,
			     &dev->pdev->dev);
}
