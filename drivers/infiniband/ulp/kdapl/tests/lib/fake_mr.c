// SPDX-License-Identifier: GPL-2.0
/*
 * The memory regions of the fake device: which are valid, under which key, and whether
 * requests and mappings respect that; see fake_ibdev.h.
 *
 * Called by kdapl through the RDMA core in any context, by fake_queue.c with fake->lock
 * held, and by the suites in process context.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "fake_ibdev.h"

/* ---- verbs ------------------------------------------------------------- */

struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct fake_dev *fake = to_fake_dev(ibpd->device);
	struct fake_mr *mr;
	int err;

	fake_note_noio(fake, FAKE_NOIO_ALLOC_MR);
	if (fake->fail_mrs)
		return ERR_PTR(fake->fail_mrs);
	if (type != IB_MR_TYPE_MEM_REG || max_num_sg > fake->ibdev.attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	err = fake_take(fake, FAKE_MR);
	if (err)
		return ERR_PTR(err);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr) {
		fake_give(fake, FAKE_MR);
		return ERR_PTR(-ENOMEM);
	}
	spin_lock_irq(&fake->lock);
	fake->next_key += 0x100;
	mr->ibmr.lkey = fake->next_key;
	mr->ibmr.rkey = fake->next_key;
	list_add_tail(&mr->node, &fake->mrs);
	spin_unlock_irq(&fake->lock);
	return &mr->ibmr;
}

static int fake_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct fake_mr *mr = to_fake_mr(ibmr);

	if (mr->npages < FAKE_MR_PAGES)
		mr->page[mr->npages] = addr;
	mr->npages++;
	return 0;
}

/*
 * A mapping takes effect at once, before any request runs. Mapping an MR that is valid, or
 * that an outstanding request will make valid, would change memory that a peer can access.
 */
int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset)
{
	struct fake_dev *fake = to_fake_dev(ibmr->device);
	struct fake_mr *mr = to_fake_mr(ibmr);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&fake->lock, flags);
	if (mr->valid || mr->regs)
		fake->misuses++;
	spin_unlock_irqrestore(&fake->lock, flags);
	mr->npages = 0;
	if (fake->fail_map)
		return 0;
	n = ib_sg_to_pages(ibmr, sg, nents, offset, fake_set_page);
	ibmr->iova += fake->map_shift;
	return n;
}

/* Several grace periods: a caller that fails to wait for this MR is noticed */
#define SLOW_MS	500

static void take_time(struct fake_dev *fake)
{
	int n = atomic_read(&fake->count[FAKE_MR]);

	msleep(SLOW_MS);
	fake->slow_lost = n - atomic_read(&fake->count[FAKE_MR]);
	fake->slow_key = 0;
}

int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct fake_dev *fake = to_fake_dev(ibmr->device);
	struct fake_mr *mr = to_fake_mr(ibmr);

	fake_note_noio(fake, FAKE_NOIO_DEREG_MR);
	if (fake->fail_destroy)
		return fake->fail_destroy;
	if (fake->slow_key && fake->slow_key >> 8 == ibmr->rkey >> 8)
		take_time(fake);
	spin_lock_irq(&fake->lock);
	if (mr->regs)
		fake->misuses++;
	list_del(&mr->node);
	spin_unlock_irq(&fake->lock);
	fake_give(fake, FAKE_MR);
	kfree(mr);
	return 0;
}

/* ---- requests ---------------------------------------------------------- */

/*
 * The low byte of a key counts registrations; the rest identifies the MR. Called with
 * fake->lock held
 */
static struct fake_mr *find_mr(struct fake_dev *fake, u32 key)
{
	struct fake_mr *mr;

	list_for_each_entry(mr, &fake->mrs, node)
		if (mr->ibmr.lkey >> 8 == key >> 8)
			return mr;
	return NULL;
}

/* Called with fake->lock held. Returns whether the key named a valid MR */
bool fake_invalidate(struct fake_dev *fake, u32 key)
{
	struct fake_mr *mr = find_mr(fake, key);

	if (!mr || !mr->valid || mr->key != key)
		return false;
	mr->valid = false;
	/* Move it after the valid MRs, so that lookups find those first: it may stay for long */
	list_move_tail(&mr->node, &fake->mrs);
	return true;
}

/* A request on an MR leaves the queue. Called with fake->lock held */
void fake_run_mr_request(struct fake_dev *fake, const struct fake_wr *fwr,
			 enum ib_wc_status status)
{
	struct fake_mr *mr = fwr->mr;

	if (fwr->opcode == IB_WR_REG_MR) {
		mr->regs--;
		if (status != IB_WC_SUCCESS)
			return;
		/* The key must be the current one of the ib_mr and differ from the previous one */
		if (mr->valid || mr->key == fwr->rkey || mr->ibmr.rkey != fwr->rkey)
			fake->misuses++;
		mr->valid = true;
		mr->key = fwr->rkey;
	} else if (fwr->opcode == IB_WR_LOCAL_INV && status == IB_WC_SUCCESS) {
		if (!fake_invalidate(fake, fwr->rkey))
			fake->misuses++;
	}
}

/* The queue is destroyed with its outstanding requests. Called with fake->lock held */
void fake_drop_mr_requests(const struct fake_queue *sq)
{
	const struct fake_wr *fwr;
	u32 i;

	for (i = 0; i < fake_outstanding(sq); i++) {
		fwr = fake_wr_at(sq, i);
		if (fwr->opcode == IB_WR_REG_MR)
			fwr->mr->regs--;
	}
}

/* ---- for the suites ---------------------------------------------------- */

const struct fake_mr *fake_valid_mr(struct fake_dev *fake, u32 key)
{
	struct fake_mr *mr;

	spin_lock_irq(&fake->lock);
	mr = find_mr(fake, key);
	if (mr && (!mr->valid || mr->key != key))
		mr = NULL;
	spin_unlock_irq(&fake->lock);
	return mr;
}

u32 fake_valid_mrs(struct fake_dev *fake)
{
	struct fake_mr *mr;
	u32 n = 0;

	spin_lock_irq(&fake->lock);
	list_for_each_entry(mr, &fake->mrs, node)
		n += mr->valid;
	spin_unlock_irq(&fake->lock);
	return n;
}
