// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_late_packet.ko: shows, without kDAPL, which memory rxe reads for a packet that it has
 * admitted before the registration of its key ended.
 *
 * rxe checks the key of a request, and copies the data later, without a lock. The owner may end
 * the registration in between. When the invalidation has completed, the region belongs to the owner
 * again, who may map it anew with ib_map_mr_sg() for the next registration. rxe changes the range
 * and the pages of the region at once. A packet that is copied after that finds the new ones.
 *
 * A peer reads in a loop. The module interrupts the CPU that handles the reads, and holds it until
 * another CPU has invalidated the key and mapped the region anew. So some rounds hit a packet
 * between the check and the copy. A read begins one byte after the start of a page, so that rxe
 * looks up a second page when it has copied the first.
 *
 * Everything runs while the module is loaded, in process context, except late_read_done() (softirq)
 * and late_hold() (hard interrupt). The caller must run on one CPU; the module holds the first of
 * the others. Only the parameters remain, which late_packet.sh reads. The module owns all objects,
 * and holds the device, until its init function returns.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include "test_device.h"
#include "test_verbs.h"

#define LATE_READS	4	/* outstanding at once */
#define LATE_LEN	4096	/* of a read, from the second byte of a page */
#define LATE_PAGES	8	/* of the region */
#define LATE_OLD	4	/* first of two pages that the peer may read */
#define LATE_HOLD_US	20000	/* longest time without interrupts on a CPU */

#define OLD_BYTE	0x22	/* fills the pages from LATE_OLD */
#define NEW_BYTE	0x33	/* fills the pages before */

static char *device = "rxe1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "rxe device");

static unsigned int rounds = 200;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "Greatest number of registrations; afterwards those that were made");

static bool moved;
module_param(moved, bool, 0444);
MODULE_PARM_DESC(moved, "The new range is shorter and begins at a lower address, not at the same");

static unsigned int wait_ms = 5000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "Limit of each wait, in milliseconds");

static unsigned int ended;
module_param(ended, uint, 0444);
MODULE_PARM_DESC(ended, "Registrations that ended while the CPU was held");

static unsigned int late;
module_param(late, uint, 0444);
MODULE_PARM_DESC(late, "Reads that returned bytes to which the key never gave access");

struct late_read {
	struct ib_cqe cqe;
	struct ib_sge sge;
	struct ib_rdma_wr rdma;
	u8 *got;
	unsigned int count;
	bool over;
};

/* The interrupt on test.cpu: not running, requested, spinning, asked to end */
enum late_hold_state { LATE_FREE, LATE_CALLED, LATE_HELD, LATE_RELEASED };

static struct {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct test_verbs peer, target;	/* of one round */
	struct test_verbs owner;	/* registers and invalidates */
	struct ib_cqe owner_cqe;
	enum ib_wc_status status;	/* of the owner's request */
	bool done;			/* it has completed */
	struct ib_mr *mr;
	u8 *mem;			/* LATE_PAGES pages */
	u64 dma;
	u8 *got;			/* LATE_LEN bytes for each read */
	u64 got_dma;
	struct late_read read[LATE_READS];
	int cpu;			/* that is held */
	enum late_hold_state hold;
} test;

/* Waits for a condition, which is evaluated with @f */
static bool late_wait(bool (*f)(void))
{
	unsigned long end = jiffies + msecs_to_jiffies(wait_ms);

	while (!f()) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(20, 50);
	}
	return true;
}

/* ---- the owner of the region ------------------------------------------------------ */

/* Called by ib_process_cq_direct() in late_owner_done() */
static void late_owner_completes(struct ib_cq *cq, struct ib_wc *wc)
{
	test.status = wc->status;
	test.done = true;
}

static bool late_owner_done(void)
{
	ib_process_cq_direct(test.owner.cq, -1);
	return test.done;
}

static int late_owner_post(struct ib_send_wr *wr)
{
	test.done = false;
	wr->wr_cqe = &test.owner_cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	return ib_post_send(test.owner.qp, wr, NULL);
}

/* Maps @n pages from @page on */
static int late_map(unsigned int page, unsigned int n)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = test.dma + page * PAGE_SIZE;
	sg_dma_len(&sg) = n * PAGE_SIZE;
	return ib_map_mr_sg(test.mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EIO;
}

/*
 * Registers the two pages for the peer. All pages are mapped first, so that rxe knows a page for
 * each index that a late packet can compute.
 */
static int late_register(void)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = test.mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	};
	int ret = late_map(0, LATE_PAGES) ?: late_map(LATE_OLD, 2);

	if (ret)
		return ret;
	ib_update_fast_reg_key(test.mr, ib_inc_rkey(test.mr->rkey));
	reg.key = test.mr->rkey;
	ret = late_owner_post(&reg.wr);
	if (ret)
		return ret;
	return late_wait(late_owner_done) && test.status == IB_WC_SUCCESS ? 0 : -EIO;
}

/* Maps pages that the peer may not read: two at the same address, or one at its own address */
static int late_map_anew(void)
{
	u64 iova = test.mr->iova;
	int ret = late_map(0, moved ? 1 : 2);

	if (!moved)
		test.mr->iova = iova;
	return ret;
}

/* ---- the peer ------------------------------------------------------------------- */

static int late_post(struct late_read *r)
{
	r->got[0] = 0;
	r->got[LATE_LEN - 1] = 0;
	return ib_post_send(test.peer.qp, &r->rdma.wr, NULL);
}

static void late_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct late_read *r = container_of(wc->wr_cqe, struct late_read, cqe);
	bool ok = wc->status == IB_WC_SUCCESS;

	/* From the first page, and from the second */
	if (ok && (r->got[0] == NEW_BYTE || r->got[LATE_LEN - 1] == NEW_BYTE))
		WRITE_ONCE(late, late + 1);
	WRITE_ONCE(r->count, r->count + 1);
	if (!ok || late_post(r))
		WRITE_ONCE(r->over, true);
}

static bool late_reads_over(void)
{
	unsigned int i;

	for (i = 0; i < LATE_READS; i++)
		if (!READ_ONCE(test.read[i].over))
			return false;
	return true;
}

static bool late_reads_run(void)
{
	unsigned int i;

	for (i = 0; i < LATE_READS; i++)
		if (READ_ONCE(test.read[i].count) < 2)
			return false;
	return true;
}

/* On the CPU that will be held, where rxe of 6.1 then handles the requests in softirq */
static long late_post_all(void *unused)
{
	struct late_read *r;
	int ret = 0;

	for (r = test.read; r < test.read + LATE_READS && !ret; r++)
		ret = late_post(r);
	return ret;
}

static int late_read_all(void)
{
	struct late_read *r;

	for (r = test.read; r < test.read + LATE_READS; r++) {
		unsigned int at = (r - test.read) * LATE_LEN;

		*r = (struct late_read) { .cqe.done = late_read_done, .got = test.got + at };
		r->sge.addr = test.got_dma + at;
		r->sge.length = LATE_LEN;
		r->sge.lkey = test.pd->local_dma_lkey;
		r->rdma.wr.wr_cqe = &r->cqe;
		r->rdma.wr.sg_list = &r->sge;
		r->rdma.wr.num_sge = 1;
		r->rdma.wr.opcode = IB_WR_RDMA_READ;
		r->rdma.wr.send_flags = IB_SEND_SIGNALED;
		r->rdma.remote_addr = test.mr->iova + 1;
		r->rdma.rkey = test.mr->rkey;
	}
	return work_on_cpu(test.cpu, late_post_all, NULL);
}

/* ---- queue pairs ------------------------------------------------------------------ */

static int late_connect(struct ib_qp *qp, u32 to)
{
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.port_num = 1,
		.dest_qp_num = to,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
		.max_dest_rd_atomic = LATE_READS,
		.max_rd_atomic = LATE_READS,
		.min_rnr_timer = 12,
		.timeout = 18,
		.retry_cnt = 6,
	};
	int ret = ib_query_port(test.ibdev, 1, &port) ?:
		  test_verbs_path(test.ibdev, &attr.ah_attr, NULL);

	attr.path_mtu = port.active_mtu;
	return ret ?: test_verbs_connect(qp, &attr);
}

static int late_make_qp(struct test_verbs *v, enum ib_poll_context poll)
{
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 2 * LATE_READS, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return test_verbs_make(v, test.pd, 4 * LATE_READS, poll, &init);
}

/* ---- a round ---------------------------------------------------------------------- */

/* Hard interrupt on the CPU that is to be held */
static void late_hold(void *unused)
{
	ktime_t end = ktime_add_us(ktime_get(), LATE_HOLD_US);

	WRITE_ONCE(test.hold, LATE_HELD);
	while (READ_ONCE(test.hold) != LATE_RELEASED && ktime_before(ktime_get(), end))
		cpu_relax();
	WRITE_ONCE(test.hold, LATE_FREE);
}

static bool late_is_held(void)
{
	return READ_ONCE(test.hold) != LATE_CALLED;
}

static bool late_is_free(void)
{
	return READ_ONCE(test.hold) == LATE_FREE;
}

/* While the CPU is held, unless the work item of the request needs that CPU */
static int late_end_registration(void)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = test.mr->rkey,
	};
	int ret = late_owner_post(&inv);

	if (ret)
		return ret;
	if (!late_wait(late_owner_done) || test.status != IB_WC_SUCCESS)
		return -EIO;
	ret = late_map_anew();
	ended += cmpxchg(&test.hold, LATE_HELD, LATE_RELEASED) == LATE_HELD;
	return ret;
}

static int late_interrupt(void)
{
	int ret;

	/* At any instruction */
	usleep_range(20, 20 + get_random_u32() % 256);
	test.hold = LATE_CALLED;
	ret = smp_call_function_single(test.cpu, late_hold, NULL, 0);
	if (ret)
		return ret;
	ret = late_wait(late_is_held) ? late_end_registration() : -ETIMEDOUT;
	return late_wait(late_is_free) ? ret : -ETIMEDOUT;
}

static int late_run_round(void)
{
	int ret = late_make_qp(&test.peer, TEST_POLL) ?:
		  late_make_qp(&test.target, TEST_POLL);

	if (ret)
		return ret;
	ret = late_connect(test.peer.qp, test.target.qp->qp_num) ?:
	      late_connect(test.target.qp, test.peer.qp->qp_num) ?:
	      late_register() ?: late_read_all();
	if (ret)
		return ret;
	if (!late_wait(late_reads_run))
		return -ETIMEDOUT;
	ret = late_interrupt();
	if (ret)
		return ret;
	return late_wait(late_reads_over) ? 0 : -ETIMEDOUT;
}

static int late_round(void)
{
	int ret = late_run_round();

	test_verbs_free(&test.peer);
	test_verbs_free(&test.target);
	test.peer = (struct test_verbs) {};
	test.target = (struct test_verbs) {};
	return ret;
}

/* rxe was seen to read the new pages, or to warn */
static bool late_seen(bool tainted)
{
	return moved ? test_taint(TAINT_WARN) && !tainted : late;
}

static int late_show(void)
{
	bool tainted = test_taint(TAINT_WARN);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < rounds && !late_seen(tainted) && !ret; i++)
		ret = late_round();
	rounds = i;
	return ret;
}

/* ---- the objects -------------------------------------------------------------------- */

static int late_make_memory(void)
{
	test.mem = kmalloc(LATE_PAGES * PAGE_SIZE, GFP_KERNEL);
	test.got = kzalloc(LATE_READS * LATE_LEN, GFP_KERNEL);
	if (!test.mem || !test.got)
		return -ENOMEM;
	memset(test.mem, NEW_BYTE, LATE_OLD * PAGE_SIZE);
	memset(test.mem + LATE_OLD * PAGE_SIZE, OLD_BYTE, (LATE_PAGES - LATE_OLD) * PAGE_SIZE);
	/* This cannot fail on rxe, which has no DMA */
	test.dma = ib_dma_map_single(test.ibdev, test.mem, LATE_PAGES * PAGE_SIZE,
				     DMA_BIDIRECTIONAL);
	test.got_dma = ib_dma_map_single(test.ibdev, test.got, LATE_READS * LATE_LEN,
					 DMA_BIDIRECTIONAL);
	return 0;
}

static int late_make(void)
{
	int ret = late_make_memory();

	if (ret)
		return ret;
	test.owner_cqe.done = late_owner_completes;
	test.pd = ib_alloc_pd(test.ibdev, 0);
	if (IS_ERR(test.pd))
		return PTR_ERR(test.pd);
	test.mr = ib_alloc_mr(test.pd, IB_MR_TYPE_MEM_REG, LATE_PAGES);
	if (IS_ERR(test.mr))
		return PTR_ERR(test.mr);
	/* Sends nothing, so it is its own peer */
	return late_make_qp(&test.owner, IB_POLL_DIRECT) ?:
	       late_connect(test.owner.qp, test.owner.qp->qp_num);
}

static void late_unmake(void)
{
	test_verbs_free(&test.owner);
	if (!IS_ERR_OR_NULL(test.mr))
		ib_dereg_mr(test.mr);
	if (!IS_ERR_OR_NULL(test.pd))
		ib_dealloc_pd(test.pd);
	if (test.dma)
		ib_dma_unmap_single(test.ibdev, test.dma, LATE_PAGES * PAGE_SIZE,
				    DMA_BIDIRECTIONAL);
	if (test.got_dma)
		ib_dma_unmap_single(test.ibdev, test.got_dma, LATE_READS * LATE_LEN,
				    DMA_BIDIRECTIONAL);
	kfree(test.got);
	kfree(test.mem);
	ib_device_put(test.ibdev);
}

static int __init late_init(void)
{
	int ret;

	test.cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (test.cpu >= nr_cpu_ids)
		return -EINVAL;
	test.ibdev = test_device_get(device, RDMA_DRIVER_RXE);
	if (!test.ibdev)
		return -ENODEV;
	ret = late_make() ?: late_show();
	late_unmake();
	return ret;
}

static void __exit late_exit(void)
{
}

module_init(late_init);
module_exit(late_exit);

MODULE_DESCRIPTION("Packets of rxe that are copied after their key has ended, on plain verbs");
MODULE_LICENSE("GPL");
