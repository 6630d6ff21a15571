// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_qp1_stall.ko: shows, without kDAPL, how rxe handles posts on a datagram QP that
 * returns to RTS after an error. ib_mad makes that transition on QP 1 after a failed send,
 * because such a send leaves the QP in SQE according to the specification. It does not do
 * so on 6.12, where rxe reports such a send as flushed.
 *
 * In rxe of 6.1 the completer flushes everything that is posted while the QP is in error.
 * The requester takes one request each time it runs, so it lags. After the return
 * to RTS it takes an old request again. If that one fails, too, both stop: the requester
 * at the error, and the completer at a request that the requester has not taken. A new
 * post then does not complete until further posts have made the requester run once for
 * each request that it lags. In rxe of 6.12 both are one task, which runs again for
 * each request that it flushes.
 *
 * Everything runs while the module is loaded, in process context. Only the parameters
 * remain, which qp1_stall.sh reads. The module owns PD, CQ, QP and AH, and holds
 * the device, until its init function returns.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include "test_device.h"
#include "test_verbs.h"

#define STALL_PAIR	2
#define STALL_QKEY	0x1ee7

static char *device = "rxe1";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "rxe device");

static unsigned int wait_ms = 2000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "Limit of each wait for completions, in milliseconds");

static unsigned int first;
module_param(first, uint, 0444);
MODULE_PARM_DESC(first, "Error completions of one send that fails");

static unsigned int flushed;
module_param(flushed, uint, 0444);
MODULE_PARM_DESC(flushed, "Error completions of two sends after it");

static int back = 1;
module_param(back, int, 0444);
MODULE_PARM_DESC(back, "Return value of ib_modify_qp() from SQE to RTS");

static unsigned int forgotten;
module_param(forgotten, uint, 0444);
MODULE_PARM_DESC(forgotten, "Missing completions of two sends after ib_modify_qp()");

static unsigned int woken;
module_param(woken, uint, 0444);
MODULE_PARM_DESC(woken, "Missing completions that arrive after an empty post");

static struct {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct test_verbs v;
	struct ib_ah *ah;
	struct ib_cqe cqe;
	unsigned int done;
	u8 mem[8];
} stall;

/* Called by ib_process_cq_direct() in stall_wait(). No request may succeed */
static void stall_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		stall.done++;
}

/* Returns the number of completions that arrive in time, at most @want */
static unsigned int stall_wait(unsigned int want)
{
	unsigned int i;

	stall.done = 0;
	for (i = 0; i < wait_ms && stall.done < want; i += 20) {
		ib_process_cq_direct(stall.v.cq, -1);
		msleep(20);
	}
	return stall.done;
}

/* The requests use unregistered memory, so each fails before it is sent */
static int stall_post(unsigned int n)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)stall.mem,
		.length = sizeof(stall.mem),
		.lkey = ~stall.pd->local_dma_lkey,
	};
	struct ib_ud_wr wr[STALL_PAIR] = {};
	unsigned int i;

	for (i = 0; i < n; i++) {
		wr[i].wr.wr_cqe = &stall.cqe;
		wr[i].wr.sg_list = &sge;
		wr[i].wr.num_sge = 1;
		wr[i].wr.opcode = IB_WR_SEND;
		wr[i].wr.next = i + 1 < n ? &wr[i + 1].wr : NULL;
		wr[i].ah = stall.ah;
		wr[i].remote_qpn = 1;
		wr[i].remote_qkey = STALL_QKEY;
	}
	return ib_post_send(stall.v.qp, &wr[0].wr, NULL);
}

/* An AH for the first IPv4 address of the port; no packet is sent there */
static int stall_address(void)
{
	struct rdma_ah_attr attr = {};
	int err = test_verbs_path(stall.ibdev, &attr, NULL);

	if (err)
		return err;
	stall.ah = rdma_create_ah(stall.pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	return PTR_ERR_OR_ZERO(stall.ah);
}

static int stall_start(void)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = STALL_QKEY,
	};
	int ret;

	ret = ib_modify_qp(stall.v.qp, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	attr.qp_state = IB_QPS_RTR;
	if (!ret)
		ret = ib_modify_qp(stall.v.qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	if (!ret)
		ret = ib_modify_qp(stall.v.qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	return ret;
}

static int stall_make(void)
{
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_UD,
	};

	stall.cqe.done = stall_done;
	stall.pd = ib_alloc_pd(stall.ibdev, 0);
	if (IS_ERR(stall.pd))
		return PTR_ERR(stall.pd);
	return test_verbs_make(&stall.v, stall.pd, 16, IB_POLL_DIRECT, &init) ?:
	       stall_start() ?: stall_address();
}

static void stall_unmake(void)
{
	test_verbs_free(&stall.v);
	if (!IS_ERR_OR_NULL(stall.ah))
		rdma_destroy_ah(stall.ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (!IS_ERR_OR_NULL(stall.pd))
		ib_dealloc_pd(stall.pd);
	ib_device_put(stall.ibdev);
}

/* Does the same as ib_mad after a failed send on QP 1, while another user posts */
static int stall_show(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	int ret;

	ret = stall_post(1);
	if (ret)
		return ret;
	first = stall_wait(1);
	ret = stall_post(STALL_PAIR);
	if (ret)
		return ret;
	flushed = stall_wait(STALL_PAIR);
	back = ib_modify_qp(stall.v.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE);
	ret = stall_post(STALL_PAIR);
	if (ret)
		return ret;
	forgotten = STALL_PAIR - stall_wait(STALL_PAIR);
	ret = ib_post_send(stall.v.qp, NULL, NULL);
	if (!ret)
		woken = stall_wait(forgotten);
	return ret;
}

static int __init stall_init(void)
{
	int ret;

	stall.ibdev = test_device_get(device, RDMA_DRIVER_RXE);
	if (!stall.ibdev)
		return -ENODEV;
	ret = stall_make() ?: stall_show();
	stall_unmake();
	return ret;
}

static void __exit stall_exit(void)
{
}

module_init(stall_init);
module_exit(stall_exit);

MODULE_DESCRIPTION("A datagram QP of rxe after an error, on plain verbs");
MODULE_LICENSE("GPL");
