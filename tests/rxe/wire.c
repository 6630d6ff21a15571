// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_wire.ko: one plain-verbs QP, without kDAPL, that sends one packet to a peer that
 * does not answer, and has memory that the peer may read. Loading the module creates the
 * QP and sends, unloading destroys it; wire.sh observes how long that takes.
 *
 * The module owns PD, CQ, QP and the memory, and holds the device, from init to exit.
 * Process context.
 */
#include <linux/module.h>
#include <linux/inet.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "test_device.h"
#include "test_verbs.h"

#define WIRE_QPN	0x77	/* no QP has this number */
#define WIRE_MEM	64	/* bytes */

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "rxe device to send from");

static char *peer = "10.77.0.9";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "IPv4 address to send to");

/* Status of the send's completion; -1 before it */
static int status = -1;
module_param(status, int, 0444);
MODULE_PARM_DESC(status, "Status of the send, enum ib_wc_status, or -1");

static unsigned int qpn;
module_param(qpn, uint, 0444);
MODULE_PARM_DESC(qpn, "Number of the QP");

static unsigned int rkey;
module_param(rkey, uint, 0444);
MODULE_PARM_DESC(rkey, "Key of readable memory");

static unsigned long long addr;
module_param(addr, ullong, 0444);
MODULE_PARM_DESC(addr, "Address of 64 bytes of that memory");

static struct {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct test_verbs v;
	struct ib_cqe cqe;
	void *mem;
} wire;

/* No peer answers: the send completes when the QP breaks or is destroyed */
static void wire_done(struct ib_cq *cq, struct ib_wc *wc)
{
	WRITE_ONCE(status, wc->status);
}

/* To the peer; rxe finds the route */
static int wire_path(struct rdma_ah_attr *ah)
{
	union ib_gid dgid;
	__be32 to;

	if (!in4_pton(peer, -1, (u8 *)&to, -1, NULL))
		return -EINVAL;
	ipv6_addr_set_v4mapped(to, (struct in6_addr *)dgid.raw);
	return test_verbs_path(wire.ibdev, ah, &dgid);
}

/* Without a timeout, so that the QP sends once */
static int wire_connect(void)
{
	struct ib_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = WIRE_QPN,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};

	return wire_path(&attr.ah_attr) ?: test_verbs_connect(wire.v.qp, &attr);
}

static int wire_make(void)
{
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_send_wr send = { .wr_cqe = &wire.cqe, .opcode = IB_WR_SEND };
	int err;

	wire.cqe.done = wire_done;
	wire.mem = kzalloc(WIRE_MEM, GFP_KERNEL);
	if (!wire.mem)
		return -ENOMEM;
	/* The guest is discarded after the test, and a peer can reach only its memory */
	wire.pd = ib_alloc_pd(wire.ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(wire.pd))
		return PTR_ERR(wire.pd);
	rkey = wire.pd->unsafe_global_rkey;
	/* This cannot fail on rxe, which has no DMA */
	addr = ib_dma_map_single(wire.ibdev, wire.mem, WIRE_MEM, DMA_BIDIRECTIONAL);
	err = test_verbs_make(&wire.v, wire.pd, 4, TEST_POLL, &init);
	if (err)
		return err;
	qpn = wire.v.qp->qp_num;
	return wire_connect() ?: ib_post_send(wire.v.qp, &send, NULL);
}

static void wire_unmake(void)
{
	test_verbs_free(&wire.v);
	if (!IS_ERR_OR_NULL(wire.pd)) {
		ib_dma_unmap_single(wire.ibdev, addr, WIRE_MEM, DMA_BIDIRECTIONAL);
		ib_dealloc_pd(wire.pd);
	}
	kfree(wire.mem);
	ib_device_put(wire.ibdev);
}

static int __init wire_init(void)
{
	int ret;

	wire.ibdev = test_device_get(device, RDMA_DRIVER_RXE);
	if (!wire.ibdev)
		return -ENODEV;
	ret = wire_make();
	if (ret)
		wire_unmake();
	return ret;
}

static void __exit wire_exit(void)
{
	wire_unmake();
}

module_init(wire_init);
module_exit(wire_exit);

MODULE_DESCRIPTION("Sends one packet from a QP on plain verbs");
MODULE_LICENSE("GPL");
