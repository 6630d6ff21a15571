// SPDX-License-Identifier: GPL-2.0
/*
 * Protection zones, and their service QPs.
 *
 * Owns the PD, the number of the zone, and one RC QP that is connected to itself. There is no verb
 * that registers kernel memory: registration and invalidation are work requests, which need a QP in
 * RTS. The service QP executes those of all LMRs of the zone, one at a time under pz->mutex; the
 * caller sleeps until the completion handler is called, and polls the CQ. The QP is created for the
 * first registration and never sends a packet, so its path may use any GID of the port.
 *
 * A request that fails moves the QP to ERROR; then the QP is created again, and the request
 * is repeated once. A request that does not complete in time is not repeated: its QP is
 * drained and destroyed, so that the device does not use the memory any more when the
 * function returns. For another timeout period, every service request of the IA then fails at
 * once, so that calls do not time out one after the other. After a failure no invalidation is
 * requested until a registration has succeeded, and none at all after the device has reported a
 * fatal error: the callers deregister the MRs instead.
 *
 * Called in process context by Consumers, by the files that create, free and repair LMRs and
 * RMRs, and by ia_close.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/idr.h>
#include <linux/random.h>
#include <rdma/ib_cache.h>
#include "device/device.h"
#include "internal.h"

#define KDAPL_ZONE_MAX		(U32_MAX >> KDAPL_ZONE_SHIFT)
#define KDAPL_PSN_MASK		0xffffff

/* Time limit of a work request; its flush has a tenth. A variable, so that KUnit can shorten it */
unsigned int kdapl_service_ms = 10000;

static DEFINE_IDA(kdapl_zones);

/* Completion handler: any context, locks of the device may be held */
static void kdapl_service_event(struct ib_cq *cq, void *context)
{
	struct kdapl_pz *pz = context;

	/* The driver failed to destroy the QP */
	if (pz)
		complete(&pz->cq_event);
}

/* Path to the port itself */
static int kdapl_service_path(struct kdapl_pz *pz, struct rdma_ah_attr *ah,
			      const struct ib_port_attr *port_attr)
{
	struct ib_device *ibdev = pz->pd->device;
	struct kdapl_ia *ia = pz->obj.ia;
	const struct ib_gid_attr *gid;
	union ib_gid dgid;
	int ret = 0;

	ah->type = rdma_ah_find_type(ibdev, ia->port);
	rdma_ah_set_port_num(ah, ia->port);
	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE) {
		rdma_ah_set_dlid(ah, port_attr->lid);
		rdma_ah_set_sl(ah, port_attr->sm_sl);
		if (!rdma_is_grh_required(ibdev, ia->port))
			return 0;
	}
	gid = kdapl_addr_gid(ibdev, ia->port, &ia->addr);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	dgid = gid->gid;
	/* The core looks up the index and takes its own reference */
	rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
	/* The core resolves hardware addresses only for user space */
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
		ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	rdma_put_gid_attr(gid);
	return ret;
}

static int kdapl_service_connect(struct kdapl_pz *pz)
{
	/*
	 * One PSN for both directions, because the QP is its own peer. It is random, so
	 * that nobody can guess it.
	 */
	u32 psn = get_random_u32() & KDAPL_PSN_MASK;
	struct ib_port_attr port_attr;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = KDAPL_INIT_PKEY_INDEX,
		.port_num = pz->obj.ia->port,
	};
	int ret;

	ret = ib_query_port(pz->pd->device, attr.port_num, &port_attr);
	if (ret)
		return ret;
	ret = kdapl_service_path(pz, &attr.ah_attr, &port_attr);
	if (ret)
		return ret;
	/*
	 * No access flags, because nobody may access memory through this QP. It sends no
	 * packet, so it can use any partition, such as the first one of the port.
	 */
	ret = ib_modify_qp(pz->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = port_attr.active_mtu;
	attr.dest_qp_num = pz->qp->qp_num;
	attr.rq_psn = psn;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = KDAPL_MIN_RNR_TIMER;
	ret = ib_modify_qp(pz->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = psn;
	attr.max_rd_atomic = 1;
	attr.timeout = 14;
	attr.retry_cnt = KDAPL_MAX_RETRY;
	attr.rnr_retry = KDAPL_MAX_RETRY;
	return ib_modify_qp(pz->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static void kdapl_service_destroy(struct kdapl_pz *pz)
{
	if (pz->qp && ib_destroy_qp(pz->qp)) {
		/* The QP keeps its CQ, whose handler must not use the zone */
		pr_err("%s: the driver failed to destroy a QP\n", pz->obj.ia->name);
		WRITE_ONCE(pz->cq->cq_context, NULL);
	} else if (pz->cq) {
		ib_destroy_cq(pz->cq);
	}
	pz->qp = NULL;
	pz->cq = NULL;
}

static int kdapl_service_create(struct kdapl_pz *pz)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = 2,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = pz->obj.ia->port,
	};
	struct ib_cq_init_attr cq_attr = { .cqe = 4 };
	struct ib_cq *cq;
	struct ib_qp *qp;
	int ret;

	cq = ib_create_cq(pz->pd->device, kdapl_service_event, NULL, pz, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ib_create_qp(pz->pd, &init);
	if (IS_ERR(qp)) {
		ib_destroy_cq(cq);
		return PTR_ERR(qp);
	}
	pz->cq = cq;
	pz->qp = qp;
	ret = kdapl_service_connect(pz);
	if (ret)
		kdapl_service_destroy(pz);
	return ret;
}

/* Waits @ms for the request on the QP. Returns its status, or -ETIMEDOUT */
static int kdapl_service_wait(struct kdapl_pz *pz, unsigned int ms)
{
	unsigned long left = kdapl_timeout_ms(ms);
	struct ib_wc wc;

	for (;;) {
		reinit_completion(&pz->cq_event);
		/* Arm the CQ first: an earlier completion does not call the handler */
		ib_req_notify_cq(pz->cq, IB_CQ_NEXT_COMP);
		if (ib_poll_cq(pz->cq, 1, &wc) > 0)
			return wc.status;
		if (!left)
			return -ETIMEDOUT;
		/* This may be a late call for an earlier request, so poll again */
		left = wait_for_completion_timeout(&pz->cq_event, left);
	}
}

/* One attempt. After an error the QP is destroyed, and the device does not use @wr */
static int kdapl_service_try(struct kdapl_pz *pz, struct ib_send_wr *wr)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_cqe cqe = {};
	int ret;

	lockdep_assert_held(&pz->mutex);
	if (!pz->qp) {
		ret = kdapl_service_create(pz);
		if (ret)
			return ret;
	}
	/* It is never called, but must exist */
	wr->wr_cqe = &cqe;
	ret = ib_post_send(pz->qp, wr, NULL);
	if (ret)
		goto err_destroy_qp;
	ret = kdapl_service_wait(pz, kdapl_service_ms);
	if (ret == IB_WC_SUCCESS)
		return 0;
	if (ret == -ETIMEDOUT) {
		pr_warn_ratelimited("%s: a registration does not complete\n", pz->obj.ia->name);
		if (!ib_modify_qp(pz->qp, &attr, IB_QP_STATE))
			kdapl_service_wait(pz, kdapl_service_ms / 10);
	} else {
		ret = -EIO;
	}
err_destroy_qp:
	kdapl_service_destroy(pz);
	return ret;
}

/* Returns true if a request fails at once, because the device failed. pz->mutex held */
static bool kdapl_service_skips(const struct kdapl_pz *pz, const struct ib_send_wr *wr)
{
	const struct kdapl_ia *ia = pz->obj.ia;

	if (time_before64(get_jiffies_64(), READ_ONCE(ia->silent_until)))
		return true;
	/* The caller of an invalidation can deregister the MR instead */
	return wr->opcode == IB_WR_LOCAL_INV &&
	       (pz->broken || test_bit(0, &ia->catastrophic_raised));
}

static int kdapl_service_run(struct kdapl_pz *pz, struct ib_send_wr *wr)
{
	int ret = -EIO;

	mutex_lock(&pz->mutex);
	if (kdapl_service_skips(pz, wr))
		goto out;
	ret = kdapl_service_try(pz, wr);
	if (ret && ret != -ETIMEDOUT)
		ret = kdapl_service_try(pz, wr);
	pz->broken = ret;
	if (ret == -ETIMEDOUT)
		WRITE_ONCE(pz->obj.ia->silent_until,
			   get_jiffies_64() + kdapl_timeout_ms(kdapl_service_ms));
out:
	mutex_unlock(&pz->mutex);
	return ret;
}

/*
 * Registers a mapped region. Returns 0, or a negative errno; then the state of @mr is unknown, and
 * it can only be deregistered. Process context, waits for a limited time; the device must not be
 * removed meanwhile.
 *
 * @mr:     the region, mapped by ib_map_mr_sg()
 * @access: IB_ACCESS_*
 */
int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access)
{
	struct ib_reg_wr reg = {
		.wr = {
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};

	return kdapl_service_run(pz, &reg.wr);
}

/*
 * Invalidates a region. Returns 0, or a negative errno; then the region may still be valid.
 * Process context, waits for a limited time; the device must not be removed meanwhile.
 */
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = rkey,
	};

	return kdapl_service_run(pz, &inv);
}

/*
 * Deregisters an MR, which makes its key invalid at once. If the driver fails, only an IOMMU keeps
 * the device from memory that was unmapped. Process context.
 */
void kdapl_mr_dereg(struct ib_mr *mr)
{
	if (ib_dereg_mr(mr))
		pr_err("%s: the driver failed to deregister an MR\n",
		       dev_name(&mr->device->dev));
}

/* Counts a new MR of the PD. Process context */
void kdapl_pz_mr_get(struct kdapl_pz *pz)
{
	refcount_inc(&pz->mrs);
}

/*
 * Notes that an MR of the PD was deregistered. @pz: the zone, which may be freed afterwards.
 * Process context.
 */
void kdapl_pz_mr_put(struct kdapl_pz *pz)
{
	if (refcount_dec_and_test(&pz->mrs))
		complete(&pz->mrs_gone);
}

/* Allocates the list that a bind needs to map a range. Returns 0 or -ENOMEM. Process context */
int kdapl_pz_make_map_sg(struct kdapl_pz *pz)
{
	u32 n = pz->obj.ia->limits.page_list_len;
	struct scatterlist *sg;
	int ret = 0;

	mutex_lock(&pz->mutex);
	if (!pz->map_sg) {
		sg = kvcalloc(n, sizeof(*sg), GFP_KERNEL);
		if (sg)
			sg_init_table(sg, n);
		else
			ret = -ENOMEM;
		/* Before the RMR that is being created can be bound */
		pz->map_sg = sg;
	}
	mutex_unlock(&pz->mutex);
	return ret;
}

/*
 * Orphans a zone: its device is being removed, or the zone is freed. @obj: the zone, referenced;
 * its PD has no objects any more. Process context.
 */
static void kdapl_pz_orphan(struct kdapl_obj *obj)
{
	struct kdapl_pz *pz = to_kdapl_pz(obj);
	struct kdapl_ia *ia = pz->obj.ia;
	struct ib_pd *pd = pz->pd;

	if (!pd)
		return;
	mutex_lock(&pz->mutex);
	kdapl_service_destroy(pz);
	WRITE_ONCE(pz->pd, NULL);
	mutex_unlock(&pz->mutex);
	ib_dealloc_pd(pd);
	if (atomic_dec_and_test(&ia->npds))
		wake_up(&ia->wait);
}

/*
 * Frees a zone that nothing uses. @obj: the zone, unpublished, without references. Process context.
 * Waits for MRs whose LMR has just been freed.
 */
static void kdapl_pz_destroy(struct kdapl_obj *obj)
{
	struct kdapl_pz *pz = to_kdapl_pz(obj);

	kdapl_pz_mr_put(pz);
	wait_for_completion(&pz->mrs_gone);
	kdapl_pz_orphan(obj);
	ida_free(&kdapl_zones, pz->zone);
	kvfree(pz->map_sg);
	kdapl_ia_del(pz->obj.ia, &pz->obj);
	kfree_rcu(pz, obj.rcu);
}

static const struct kdapl_obj_ops kdapl_pz_ops = {
	.destroy = kdapl_pz_destroy,
	.orphan = kdapl_pz_orphan,
};

/* Allocates a zone with its PD, without listing it; inside kdapl_ia_get_enter() */
static DAT_RETURN kdapl_pz_make(struct kdapl_ia *ia, struct kdapl_pz **out)
{
	struct kdapl_pz *pz = kzalloc(sizeof(*pz), GFP_KERNEL);
	int zone;

	if (!pz)
		return KDAPL_NO_RESOURCE(MEMORY);
	if (kdapl_obj_init(&pz->obj, DAT_HANDLE_TYPE_PZ, ia))
		goto err_free;
	/* Zone 0 would match an empty descriptor */
	zone = ida_alloc_range(&kdapl_zones, 1, KDAPL_ZONE_MAX, GFP_KERNEL);
	if (zone < 0)
		goto err_abort;
	pz->pd = ib_alloc_pd(ia->ibdev, 0);
	if (IS_ERR(pz->pd))
		goto err_free_zone;
	pz->obj.ops = &kdapl_pz_ops;
	pz->zone = zone;
	mutex_init(&pz->mutex);
	spin_lock_init(&pz->map_lock);
	init_completion(&pz->cq_event);
	refcount_set(&pz->mrs, 1);
	init_completion(&pz->mrs_gone);
	*out = pz;
	return DAT_SUCCESS;

err_free_zone:
	ida_free(&kdapl_zones, zone);
	kdapl_obj_exit(&pz->obj);
	kfree(pz);
	return KDAPL_NO_RESOURCE(PROTECTION_DOMAIN);
err_abort:
	kdapl_obj_exit(&pz->obj);
err_free:
	kfree(pz);
	return KDAPL_NO_RESOURCE(MEMORY);
}

/**
 * dat_pz_create - create a protection zone
 * @ia_handle: open IA
 * @pz_handle: receives the handle
 *
 * The zone is the boundary of trust: a peer can only access memory in the zone of the EP to
 * which it is connected, whatever keys it knows or guesses.
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_IA;
 * DAT_INVALID_PARAMETER with ARG2: @pz_handle is NULL; DAT_INSUFFICIENT_RESOURCES: MEMORY,
 * PROTECTION_DOMAIN, or DEVICE, which was removed.
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct kdapl_ia *ia;
	struct kdapl_pz *pz;
	DAT_RETURN ret;

	ret = kdapl_ia_get_enter(ia_handle, &ia);
	if (ret)
		return ret;
	if (!pz_handle) {
		ret = KDAPL_BAD_ARG(2);
		goto out;
	}
	ret = kdapl_pz_make(ia, &pz);
	if (ret)
		goto out;
	*pz_handle = kdapl_obj_handle(&pz->obj);
	atomic_inc(&ia->npds);
	kdapl_ia_add(ia, &pz->obj, false);
out:
	kdapl_ia_leave_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_pz_create);

static void kdapl_pz_fill(struct kdapl_obj *obj, union kdapl_param *param)
{
	param->pz.ia_handle = kdapl_obj_handle(&obj->ia->obj);
}

static const u16 kdapl_pz_offsets[] = {
	KDAPL_PARAM(PZ, ia_handle), sizeof(DAT_PZ_PARAM)
};

KDAPL_DEFINE_QUERY(kdapl_pz, PZ, KDAPL_BAD_HANDLE(PZ));

/**
 * dat_pz_query - query the IA of a zone
 * @pz_handle:     zone
 * @pz_param_mask: DAT_PZ_FIELD_*, the members to return
 * @pz_param:      receives them
 *
 * Context: any (class A).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_PZ;
 * DAT_INVALID_PARAMETER: ARG2 unknown bit, ARG3 @pz_param is NULL.
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	return kdapl_query(&kdapl_pz_query, pz_handle, pz_param_mask, pz_param);
}
EXPORT_SYMBOL_GPL(dat_pz_query);

/**
 * dat_pz_free - free a protection zone
 * @pz_handle: zone
 *
 * Context: process (class P).
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE with DAT_INVALID_HANDLE_PZ;
 * DAT_INVALID_STATE with DAT_INVALID_STATE_PZ_IN_USE: an LMR, RMR, EP or SRQ
 * belongs to it.
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	/* No post uses a zone, so there is no read section to wait for */
	return kdapl_obj_free(pz_handle, DAT_HANDLE_TYPE_PZ, false, KDAPL_BAD_HANDLE(PZ),
			      KDAPL_BAD_STATE(PZ_IN_USE));
}
EXPORT_SYMBOL_GPL(dat_pz_free);
