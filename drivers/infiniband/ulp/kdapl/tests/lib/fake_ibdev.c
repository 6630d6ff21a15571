// SPDX-License-Identifier: GPL-2.0
/*
 * The fake RDMA device: its attributes, its ports and its objects. Posting, polling and
 * completing are in fake_queue.c, memory regions in fake_mr.c; see fake_ibdev.h.
 *
 * kdapl calls it through the RDMA core in process context; CQs are also armed in softirq.
 * The suites create and destroy the device.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "connection/connection.h"
#include "fake_ibdev.h"

/* ---- limits on objects ---------------------------------------------------- */

static int fake_most(const struct fake_dev *fake, enum fake_kind kind)
{
	const struct ib_device_attr *attr = &fake->ibdev.attrs;

	switch (kind) {
	case FAKE_QP:
		return attr->max_qp;
	case FAKE_CQ:
		return attr->max_cq;
	case FAKE_PD:
		return attr->max_pd;
	case FAKE_SRQ:
		return attr->max_srq;
	default:
		return attr->max_mr;
	}
}

int fake_take(struct fake_dev *fake, enum fake_kind kind)
{
	if (atomic_inc_return(&fake->count[kind]) > fake_most(fake, kind)) {
		atomic_dec(&fake->count[kind]);
		return -ENOMEM;
	}
	atomic_inc(&fake->live);
	return 0;
}

void fake_give(struct fake_dev *fake, enum fake_kind kind)
{
	atomic_dec(&fake->count[kind]);
	atomic_dec(&fake->live);
}

void fake_note_noio(struct fake_dev *fake, unsigned long what)
{
	if (current->flags & PF_MEMALLOC_NOIO)
		fake->noio |= what;
}

/* ---- queue pairs and shared receive queues ------------------------------ */

/* Computes blocks as mlx5 does: header plus segments, rounded up to whole blocks */
#define BLOCK		64
#define REQUEST_HEAD	132

static bool fake_has_blocks(const struct fake_dev *fake, const struct ib_qp_cap *cap)
{
	u32 blocks = DIV_ROUND_UP(REQUEST_HEAD + cap->max_send_sge * sizeof(struct ib_sge), BLOCK);

	return !(fake->personality & FAKE_COUNTS_BLOCKS) ||
	       roundup_pow_of_two(cap->max_send_wr * blocks) <= fake->ibdev.attrs.max_qp_wr;
}

static bool fake_caps_ok(const struct ib_device_attr *dev, const struct ib_qp_cap *cap)
{
	return cap->max_send_wr <= dev->max_qp_wr && cap->max_recv_wr <= dev->max_qp_wr &&
	       cap->max_send_sge <= dev->max_send_sge && cap->max_recv_sge <= dev->max_recv_sge;
}

static int fake_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibqp->device);
	struct fake_qp *qp = to_fake_qp(ibqp);
	void (*hook)(void) = NULL;
	int err;

	swap(hook, fake->create_hook);
	if (hook)
		hook();
	if (fake->fail_create) {
		err = fake->fail_create;
		fake->fail_create = 0;
		return err;
	}
	if (!fake_caps_ok(&fake->ibdev.attrs, &attr->cap))
		return -EINVAL;
	if (!fake_has_blocks(fake, &attr->cap))
		return -ENOMEM;
	err = fake_take(fake, FAKE_QP);
	if (err)
		return err;
	err = fake_queue_init(&qp->sq, attr->cap.max_send_wr);
	if (err)
		goto err_give;
	err = fake_queue_init(&qp->rq, attr->srq ? 0 : attr->cap.max_recv_wr);
	if (err)
		goto err_sq;
	qp->state = IB_QPS_RESET;
	ibqp->qp_num = ++fake->next_qpn;
	return 0;

err_sq:
	fake_queue_exit(&qp->sq);
err_give:
	fake_give(fake, FAKE_QP);
	return err;
}

static int fake_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibqp->device);
	struct fake_qp *qp = to_fake_qp(ibqp);

	if (fake->fail_destroy)
		return fake->fail_destroy;
	/* The registrations that were never completed end with the queue */
	spin_lock_irq(&fake->lock);
	fake_drop_mr_requests(&qp->sq);
	fake->in_error -= qp->state == IB_QPS_ERR;
	spin_unlock_irq(&fake->lock);
	fake_queue_exit(&qp->sq);
	fake_queue_exit(&qp->rq);
	fake_give(fake, FAKE_QP);
	return 0;
}

static int fake_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibqp->device);
	struct fake_qp *qp = to_fake_qp(ibqp);
	bool to_error = false;

	if (fake->fail_modify)
		return fake->fail_modify;
	if (fake->fail_error && (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_ERR)
		return fake->fail_error;
	spin_lock_irq(&fake->lock);
	fake->modifies++;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		qp->port = attr->port_num;
	if (mask & IB_QP_SQ_PSN)
		qp->sq_psn = attr->sq_psn;
	if (mask & IB_QP_RQ_PSN)
		qp->rq_psn = attr->rq_psn;
	if (mask & IB_QP_STATE) {
		qp->masks[attr->qp_state] = mask;
		to_error = attr->qp_state == IB_QPS_ERR && qp->state != IB_QPS_ERR;
		qp->mute = to_error && qp->state == IB_QPS_INIT &&
			   (fake->personality & FAKE_NO_FLUSH_IN_INIT);
		fake->in_error += to_error;
		fake->most_in_error = max(fake->most_in_error, fake->in_error);
		qp->state = attr->qp_state;
		qp->last_wqe_owed |= to_error && ibqp->srq;
	}
	spin_unlock_irq(&fake->lock);
	if (to_error)
		fake_flush(fake, qp);
	return 0;
}

static int fake_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_qp_init_attr *init)
{
	struct fake_qp *qp = to_fake_qp(ibqp);

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->qp_access_flags = qp->access_flags;
	return 0;
}

static int fake_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibsrq->device);
	int err;

	if (attr->attr.max_wr > fake->ibdev.attrs.max_srq_wr ||
	    attr->attr.max_sge > fake->ibdev.attrs.max_srq_sge)
		return -EINVAL;
	err = fake_take(fake, FAKE_SRQ);
	if (err)
		return err;
	err = fake_queue_init(&to_fake_srq(ibsrq)->rq, attr->attr.max_wr);
	if (err)
		fake_give(fake, FAKE_SRQ);
	else
		to_fake_srq(ibsrq)->max_sge = attr->attr.max_sge;
	return err;
}

static int fake_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibsrq->device);

	if (fake->fail_srq)
		return fake->fail_srq;
	if ((mask & IB_SRQ_MAX_WR) && attr->max_wr > fake->ibdev.attrs.max_srq_wr)
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR)
		return fake_queue_resize(fake, &to_fake_srq(ibsrq)->rq, attr->max_wr);
	/* As with rxe, the limit is compared with the fill level only at the next message */
	spin_lock_irq(&fake->lock);
	if (mask & IB_SRQ_LIMIT)
		to_fake_srq(ibsrq)->limit = attr->srq_limit;
	spin_unlock_irq(&fake->lock);
	return 0;
}

static int fake_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct fake_dev *fake = to_fake_dev(ibsrq->device);

	fake_note_noio(fake, FAKE_NOIO_QUERY_SRQ);
	if (fake->fail_query_srq)
		return fake->fail_query_srq;
	attr->max_wr = to_fake_srq(ibsrq)->rq.size;
	attr->max_sge = FAKE_MAX_SGE;
	attr->srq_limit = to_fake_srq(ibsrq)->limit;
	return 0;
}

static int fake_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	fake_queue_exit(&to_fake_srq(ibsrq)->rq);
	fake_give(to_fake_dev(ibsrq->device), FAKE_SRQ);
	return 0;
}

/* ---- memory ------------------------------------------------------------ */

static int fake_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return fake_take(to_fake_dev(ibpd->device), FAKE_PD);
}

static int fake_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	fake_give(to_fake_dev(ibpd->device), FAKE_PD);
	return 0;
}

/* The core needs a DMA MR for each PD of a device without a local DMA key (mlx5, rxe) */
static struct ib_mr *fake_get_dma_mr(struct ib_pd *ibpd, int access)
{
	return fake_alloc_mr(ibpd, IB_MR_TYPE_MEM_REG, 1);
}

/* Never called, but without it the core does not allow kernel users of the device */
static struct ib_mr *fake_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
				      int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* ---- the device -------------------------------------------------------- */

static int fake_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_SRQ_RESIZE;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 4096;
	attr->max_qp_wr = FAKE_MAX_QP_WR;
	attr->max_send_sge = FAKE_MAX_SGE;
	attr->max_recv_sge = FAKE_MAX_SGE;
	attr->max_sge_rd = FAKE_MAX_SGE;
	attr->max_cq = 4096;
	attr->max_cqe = FAKE_MAX_CQE;
	attr->max_mr = 1 << 20;
	attr->max_pd = 4096;
	attr->max_qp_rd_atom = FAKE_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = FAKE_MAX_RD_ATOM;
	attr->max_res_rd_atom = 4096;
	attr->max_srq = 1024;
	attr->max_srq_wr = FAKE_MAX_SRQ_WR;
	attr->max_srq_sge = FAKE_MAX_SGE;
	attr->max_fast_reg_page_list_len = FAKE_PAGE_LIST;
	attr->max_pkeys = FAKE_PKEYS;
	if (to_fake_dev(ibdev)->tune)
		to_fake_dev(ibdev)->tune(attr);
	return 0;
}

static int fake_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	bool down = port == 1 && READ_ONCE(to_fake_dev(ibdev)->port_down);

	attr->state = down ? IB_PORT_DOWN : IB_PORT_ACTIVE;
	attr->phys_state = down ? IB_PORT_PHYS_STATE_POLLING : IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = to_fake_dev(ibdev)->roce ? FAKE_ROCE_GIDS : 1;
	attr->pkey_tbl_len = FAKE_PKEYS;
	attr->max_msg_sz = to_fake_dev(ibdev)->max_msg;
	attr->lid = 1;
	attr->sm_lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int fake_port_immutable(struct ib_device *ibdev, u32 port,
			       struct ib_port_immutable *immutable)
{
	bool roce = to_fake_dev(ibdev)->roce;

	immutable->gid_tbl_len = roce ? FAKE_ROCE_GIDS : 1;
	immutable->pkey_tbl_len = FAKE_PKEYS;
	/* The port supports connections, but no management datagrams are sent on it */
	immutable->core_cap_flags = RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_AF_IB;
	if (roce)
		immutable->core_cap_flags |= RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP |
					     RDMA_CORE_CAP_ETH_AH;
	else
		immutable->core_cap_flags |= RDMA_CORE_CAP_PROT_IB;
	return 0;
}

static int fake_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	/* Each device has its own subnet prefix, so that a GID identifies its device */
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL +
						to_fake_dev(ibdev)->number);
	gid->global.interface_id = cpu_to_be64(be64_to_cpu(ibdev->node_guid) + port - 1);
	return 0;
}

static int fake_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	bool last = to_fake_dev(ibdev)->personality & FAKE_DEFAULT_PKEY_LAST;

	/* The default partition and two others */
	*pkey = index == (last ? FAKE_PKEYS - 1 : 0) ? 0xffff : 0x8001 + index;
	return 0;
}

/* ---- slow and late CQs ------------------------------------------------- */

#define SLOW_ARM_MS	500

/*
 * Arming is the last access of the core's softirq to a CQ, and it can take long on a real
 * device. A CQ that is armed while it is being destroyed counts as misuse.
 */
static int fake_arm_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags how)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	int missed, ms;

	if (READ_ONCE(fake->arm_hook_cq) == ibcq) {
		WRITE_ONCE(fake->arm_hook_cq, NULL);
		fake->arm_hook();
	}
	missed = fake_req_notify_cq(ibcq, how);
	if (READ_ONCE(fake->leaving) == ibcq)
		fake->misuses++;
	if (likely(READ_ONCE(fake->slow_arm) != ibcq))
		return missed;
	WRITE_ONCE(fake->slow_arm, NULL);
	WRITE_ONCE(fake->arming, ibcq);
	for (ms = 0; ms < SLOW_ARM_MS && READ_ONCE(fake->arming); ms++)
		mdelay(1);
	WRITE_ONCE(fake->arming, NULL);
	return missed;
}

/* pre_destroy_cq: raises the interrupt that was still on its way */
static int fake_quiet_cq(struct ib_cq *ibcq)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);

	if (READ_ONCE(fake->late_irq) != ibcq)
		return 0;
	WRITE_ONCE(fake->late_irq, NULL);
	WRITE_ONCE(fake->leaving, ibcq);
	/* The softirq, unless it is prevented, runs when bottom halves are enabled again */
	local_bh_disable();
	ibcq->comp_handler(ibcq, ibcq->cq_context);
	local_bh_enable();
	return 0;
}

static int fake_free_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibcq->device);
	void (*hook)(void);

	if (READ_ONCE(fake->leaving) == ibcq)
		WRITE_ONCE(fake->leaving, NULL);
	if (READ_ONCE(fake->arming) == ibcq) {
		fake->misuses++;
		/* Ends the wait of fake_arm_cq(), which does not access the CQ any more */
		WRITE_ONCE(fake->arming, NULL);
	}
	hook = xchg(&fake->destroy_hook, NULL);
	if (hook)
		hook();
	return fake_destroy_cq(ibcq, udata);
}

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.alloc_mr = fake_alloc_mr,
	.alloc_pd = fake_alloc_pd,
	.create_cq = fake_create_cq,
	.create_qp = fake_create_qp,
	.create_srq = fake_create_srq,
	.dealloc_pd = fake_dealloc_pd,
	.dereg_mr = fake_dereg_mr,
	.destroy_cq = fake_free_cq,
	.destroy_qp = fake_destroy_qp,
	.destroy_srq = fake_destroy_srq,
	.get_dma_mr = fake_get_dma_mr,
	.get_port_immutable = fake_port_immutable,
	.map_mr_sg = fake_map_mr_sg,
	.modify_qp = fake_modify_qp,
	.modify_srq = fake_modify_srq,
	.poll_cq = fake_poll_cq,
	.post_recv = fake_post_recv,
	.post_send = fake_post_send,
	.post_srq_recv = fake_post_srq_recv,
	.pre_destroy_cq = fake_quiet_cq,
	.query_device = fake_query_device,
	.query_gid = fake_query_gid,
	.query_pkey = fake_query_pkey,
	.query_port = fake_query_port,
	.query_qp = fake_query_qp,
	.query_srq = fake_query_srq,
	.reg_user_mr = fake_reg_user_mr,
	.req_notify_cq = fake_arm_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, fake_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, fake_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, fake_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, fake_srq, ibsrq),
};

static int fake_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int fake_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static const struct ib_device_ops fake_gid_ops = {
	.add_gid = fake_add_gid,
	.del_gid = fake_del_gid,
};

static struct fake_dev *fake_dev_make(void (*tune)(struct ib_device_attr *attr), u32 max_msg,
				      struct net_device *roce, u32 ports, u32 personality,
				      struct device *dma)
{
	struct fake_dev *fake = ib_alloc_device(fake_dev, ibdev);
	static atomic_t number;
	int err;

	if (!fake)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&fake->lock);
	INIT_LIST_HEAD(&fake->cqs);
	INIT_LIST_HEAD(&fake->mrs);
	atomic_set(&fake->live, 0);
	fake->number = atomic_inc_return(&number);
	fake->tune = tune;
	fake->max_msg = max_msg;
	fake->roce = roce;
	fake->ibdev.node_type = RDMA_NODE_IB_CA;
	fake->personality = personality;
	fake->ibdev.phys_port_cnt = ports;
	fake->ibdev.num_comp_vectors = num_possible_cpus();
	fake->ibdev.node_guid = cpu_to_be64(0x0242acfffe110002ULL);
	strscpy(fake->ibdev.node_desc, "kdapl fake", sizeof(fake->ibdev.node_desc));
	ib_set_device_ops(&fake->ibdev, &fake_ops);
	if (personality & FAKE_GID_TABLE)
		ib_set_device_ops(&fake->ibdev, &fake_gid_ops);
	if (personality & FAKE_IS_HNS)
		fake->ibdev.ops.driver_id = RDMA_DRIVER_HNS;
	if (personality & FAKE_IS_HFI1)
		fake->ibdev.ops.driver_id = RDMA_DRIVER_HFI1;
	err = roce ? ib_device_set_netdev(&fake->ibdev, roce, 1) : 0;
	if (!err)
		err = ib_register_device(&fake->ibdev, "kdaplfake%d", dma);
	if (err) {
		ib_dealloc_device(&fake->ibdev);
		return ERR_PTR(err);
	}
	return fake;
}

struct fake_dev *fake_dev_create_tuned(void (*tune)(struct ib_device_attr *attr), u32 max_msg)
{
	return fake_dev_make(tune, max_msg, NULL, 1, 0, NULL);
}

struct fake_dev *fake_dev_create_like(u32 personality, struct device *dma,
				      void (*tune)(struct ib_device_attr *attr))
{
	return fake_dev_make(tune, FAKE_MAX_MSG, NULL, 1, personality, dma);
}

struct fake_dev *fake_dev_create(void)
{
	return fake_dev_make(NULL, FAKE_MAX_MSG, NULL, 1, 0, NULL);
}

struct fake_dev *fake_dev_create_roce(struct net_device *ndev, u32 personality)
{
	return fake_dev_make(NULL, FAKE_MAX_MSG, ndev, 1, personality, NULL);
}

struct fake_dev *fake_dev_create_two_ports(void)
{
	return fake_dev_make(NULL, FAKE_MAX_MSG, NULL, 2, 0, NULL);
}

void fake_port_set(struct fake_dev *fake, bool up)
{
	struct ib_event event = {
		.device = &fake->ibdev,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
		.element.port_num = 1,
	};

	WRITE_ONCE(fake->port_down, !up);
	ib_dispatch_event(&event);
}

void fake_dev_unplug(struct fake_dev *fake)
{
	/* No peer answers a disconnect */
	swap(kdapl_notice_leave_ms, fake->leave_ms);
	ib_unregister_device(&fake->ibdev);
	swap(kdapl_notice_leave_ms, fake->leave_ms);
	fake->unplugged = true;
}

void fake_dev_destroy(struct fake_dev *fake)
{
	if (!fake->unplugged)
		fake_dev_unplug(fake);
	ib_dealloc_device(&fake->ibdev);
}
