// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions and their keys. Users allocate and free them in process context; the engine
 * registers, invalidates and uses them under hca_world.
 *
 * States as in IBTA vol. 1, 10.6: an allocated MR is free (not usable); REG_MR makes a free
 * MR valid; an invalidation makes a valid MR free again. The upper 24 bits of a key are the
 * index of the MR, the lower 8 the consumer's part. A key must not be used twice in a row
 * (10.6.3.4), because a peer may still have it; the first registration may use the key of the
 * allocation.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "hca.h"

#define HCA_KEY_SHIFT	8

static int hca_mr_index(struct hca_dev *dev, struct hca_mr *mr)
{
	int err;

	mutex_lock(&hca_world);
	/* The reserved key has index 255 */
	err = xa_alloc_cyclic(&dev->mrs, &mr->index, mr,
			      XA_LIMIT(HCA_LOCAL_KEY / 256 + 1, HCA_LOCAL_KEY / 256 + HCA_MAX_MR),
			      &dev->next_mr, GFP_KERNEL);
	mutex_unlock(&hca_world);
	return min(err, 0);
}

static struct ib_mr *hca_mr_make(struct ib_pd *ibpd, u32 pages)
{
	struct hca_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err = -ENOMEM;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = pages;
	/* The core sets it later; the engine needs it as soon as the MR can be found */
	mr->ibmr.pd = ibpd;
	mr->list = kvcalloc(max(pages, 1U), sizeof(*mr->list), GFP_KERNEL);
	mr->pages = kvcalloc(max(pages, 1U), sizeof(*mr->pages), GFP_KERNEL);
	if (mr->list && mr->pages)
		err = hca_mr_index(to_hca(ibpd->device), mr);
	if (err) {
		kvfree(mr->pages);
		kvfree(mr->list);
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->key = mr->index << HCA_KEY_SHIFT;
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return &mr->ibmr;
}

struct ib_mr *hca_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct ib_mr *ibmr = hca_mr_make(ibpd, 0);

	if (IS_ERR(ibmr))
		return ibmr;
	mutex_lock(&hca_world);
	to_mr(ibmr)->all = true;
	to_mr(ibmr)->access = access;
	to_mr(ibmr)->length = U64_MAX;
	to_mr(ibmr)->valid = true;
	mutex_unlock(&hca_world);
	return ibmr;
}

struct ib_mr *hca_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max)
{
	if (type != IB_MR_TYPE_MEM_REG || !max || max > HCA_PAGE_LIST)
		return ERR_PTR(-EINVAL);
	return hca_mr_make(ibpd, max);
}

int hca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct hca_mr *mr = to_mr(ibmr);

	mutex_lock(&hca_world);
	xa_erase(&to_hca(ibmr->device)->mrs, mr->index);
	mutex_unlock(&hca_world);
	kvfree(mr->pages);
	kvfree(mr->list);
	kfree(mr);
	return 0;
}

static int hca_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct hca_mr *mr = to_mr(ibmr);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->list[mr->npages++] = addr;
	return 0;
}

int hca_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	to_mr(ibmr)->npages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, hca_set_page);
}

static struct hca_mr *hca_mr_find(struct hca_qp *qp, u32 key)
{
	struct hca_mr *mr = xa_load(&to_hca(qp->ibqp.device)->mrs, key >> HCA_KEY_SHIFT);

	lockdep_assert_held(&hca_world);
	/* A key of another protection domain is like no key (IBTA vol. 1, 10.6.3.5) */
	return mr && mr->key == key && mr->ibmr.pd == qp->ibqp.pd ? mr : NULL;
}

/**
 * hca_mr_register - execute REG_MR
 * @qp:  the QP
 * @wqe: the request
 *
 * Context: hca_world held.
 * Return: IB_WC_SUCCESS; IB_WC_MW_BIND_ERR, which is the specification's memory management
 * operation error.
 */
enum ib_wc_status hca_mr_register(struct hca_qp *qp, const struct hca_swqe *wqe)
{
	struct hca_mr *mr = xa_load(&to_hca(qp->ibqp.device)->mrs, wqe->reg.mr);
	u64 end = (wqe->reg.iova & (wqe->reg.page_size - 1)) + wqe->reg.length;

	if (!mr || mr->all || mr->valid || mr->ibmr.pd != qp->ibqp.pd ||
	    wqe->reg.key >> HCA_KEY_SHIFT != mr->index ||
	    /* Twice in a row (IBTA vol. 1, 10.6.3.4) */
	    (mr->used && wqe->reg.key == mr->key) ||
	    !mr->npages || end > (u64)mr->npages * wqe->reg.page_size ||
	    /* Remote write without local write is refused (IBTA vol. 1, 10.6.3.1) */
	    ((wqe->reg.access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	     !(wqe->reg.access & IB_ACCESS_LOCAL_WRITE))) {
		hca_count(to_hca(qp->ibqp.device), HCA_KEY_ERRORS);
		return IB_WC_MW_BIND_ERR;
	}
	memcpy(mr->pages, mr->list, mr->npages * sizeof(*mr->pages));
	mr->key = wqe->reg.key;
	mr->access = wqe->reg.access;
	mr->iova = wqe->reg.iova;
	mr->length = wqe->reg.length;
	mr->page_size = wqe->reg.page_size;
	mr->used = true;
	mr->valid = true;
	return IB_WC_SUCCESS;
}

/**
 * hca_mr_invalidate - execute an invalidation
 * @qp:     the QP that executes it
 * @key:    the key
 * @remote: requested by the peer
 *
 * Context: hca_world held.
 * Return: false if it is an error: the MR is not valid, or of another domain, or not one that
 * can be invalidated, or its peer has no access to it.
 */
bool hca_mr_invalidate(struct hca_qp *qp, u32 key, bool remote)
{
	struct hca_mr *mr = hca_mr_find(qp, key);

	if (!mr || !mr->valid || mr->all ||
	    (remote && !(mr->access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
				       IB_ACCESS_REMOTE_ATOMIC)))) {
		hca_count(to_hca(qp->ibqp.device), HCA_KEY_ERRORS);
		return false;
	}
	mr->valid = false;
	return true;
}

/*
 * Rights, state and range of a key: an R_Key at the responder (IBTA vol. 1, 9.7.4.1.5), an L_Key at
 * the requester (9.9.2) or in a receive (9.9.3).
 */
static bool hca_add_segment(struct hca_qp *qp, u64 addr, u32 key, u32 len, int access,
			    struct hca_sg *sg)
{
	struct hca_seg *seg = &sg->seg[sg->n];
	struct hca_mr *mr = NULL;

	if (key != HCA_LOCAL_KEY || (access & ~IB_ACCESS_LOCAL_WRITE)) {
		mr = hca_mr_find(qp, key);
		if (!mr || !mr->valid || (mr->access & access) != access ||
		    addr < mr->iova || addr - mr->iova > mr->length ||
		    len > mr->length - (addr - mr->iova)) {
			hca_count(sg->dev, HCA_KEY_ERRORS);
			return false;
		}
	}
	*seg = (struct hca_seg) { .addr = addr, .len = len, .key = key };
	seg->mr = mr && !mr->all ? mr : NULL;
	sg->n++;
	sg->len += len;
	return true;
}

/**
 * hca_check_local - check local keys and find their memory
 * @qp:    the QP that uses them
 * @sge:   the segments; those of length 0 are ignored
 * @n:     their number
 * @write: the device writes to them
 * @sg:    receives the memory
 *
 * Context: hca_world held.
 * Return: false if a segment is not accessible.
 */
bool hca_check_local(struct hca_qp *qp, const struct ib_sge *sge, u32 n, bool write,
		     struct hca_sg *sg)
{
	u32 i;

	*sg = (struct hca_sg) { .dev = to_hca(qp->ibqp.device), .qpn = qp->ibqp.qp_num };
	for (i = 0; i < n; i++)
		if (sge[i].length &&
		    !hca_add_segment(qp, sge[i].addr, sge[i].lkey, sge[i].length,
				     write ? IB_ACCESS_LOCAL_WRITE : 0, sg))
			return false;
	return true;
}

/**
 * hca_check_remote - check a remote key at its owner
 * @qp:     the responder
 * @addr:   the address
 * @key:    the key; not checked if the length is 0 (IBTA vol. 1, 9.7.4.1.5, C9-88)
 * @len:    the length
 * @access: the right that is required
 * @sg:     receives the memory
 *
 * Context: hca_world held.
 * Return: false if it is not accessible.
 */
bool hca_check_remote(struct hca_qp *qp, u64 addr, u32 key, u64 len, int access,
		      struct hca_sg *sg)
{
	*sg = (struct hca_sg) { .dev = to_hca(qp->ibqp.device), .qpn = qp->ibqp.qp_num };
	return !len || (len <= U32_MAX && hca_add_segment(qp, addr, key, len, access, sg));
}
