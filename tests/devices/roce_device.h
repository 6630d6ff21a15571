/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the null device and the adapter model have in common: a RoCE port, and operations that do
 * nothing. Each module has its own copy. The RDMA core calls them in process context.
 */
#ifndef _KDAPL_TEST_ROCE_DEVICE_H_
#define _KDAPL_TEST_ROCE_DEVICE_H_

#include <linux/netdevice.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

static int roce_port_immutable(struct ib_device *ibdev, u32 port,
			       struct ib_port_immutable *immutable)
{
	struct ib_port_attr attr;
	int err = ib_query_port(ibdev, port, &attr);

	if (err)
		return err;
	immutable->gid_tbl_len = attr.gid_tbl_len;
	immutable->pkey_tbl_len = attr.pkey_tbl_len;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int roce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer roce_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int roce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

/*
 * The core requires reg_user_mr() of a device for the kernel, and never calls it without a user
 * context. Its type differs between kernels.
 */
static void roce_never(void)
{
}

static const struct ib_device_ops roce_ops = {
	.alloc_pd = roce_alloc_pd,
	.dealloc_pd = roce_alloc_pd,
	.get_link_layer = roce_link_layer,
	.get_port_immutable = roce_port_immutable,
	.query_pkey = roce_query_pkey,
	.reg_user_mr = (void *)roce_never,
};

/*
 * Registers a device whose other operations are set. @name: may end in "%d". @dma: the device that
 * maps its memory, or NULL. Returns 0, or an error of the core. Process context.
 */
static int roce_register(struct ib_device *ibdev, const char *name, u64 guid,
			 struct net_device *ndev, struct device *dma)
{
	int err;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->node_guid = cpu_to_be64(guid);
	ib_set_device_ops(ibdev, &roce_ops);
	/* The addresses of the net device become the GIDs of the port */
	err = ib_device_set_netdev(ibdev, ndev, 1);
	return err ?: ib_register_device(ibdev, name, dma);
}

#endif /* _KDAPL_TEST_ROCE_DEVICE_H_ */
