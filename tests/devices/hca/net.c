// SPDX-License-Identifier: GPL-2.0
/*
 * The net devices of the adapter model, one for each instance, connected to each other. RDMA
 * does not use them; they provide addresses and the state of the link, and answer ARP.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include "hca.h"

struct hca_net {
	struct hca_dev *dev;
};

/* The net devices, for the transmit path; written under rtnl */
static struct net_device __rcu *hca_nets[HCA_INSTANCES];

static netdev_tx_t hca_net_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct hca_net *net = netdev_priv(ndev);
	struct net_device *peer;

	rcu_read_lock();
	peer = rcu_dereference(hca_nets[!net->dev->index]);
	if (peer && netif_running(peer)) {
		skb_orphan(skb);
		dev_forward_skb(peer, skb);
	} else {
		dev_kfree_skb(skb);
	}
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

static int hca_net_open(struct net_device *ndev)
{
	struct hca_net *net = netdev_priv(ndev);

	netif_carrier_on(ndev);
	netif_start_queue(ndev);
	hca_port_event(net->dev, true);
	return 0;
}

static int hca_net_stop(struct net_device *ndev)
{
	struct hca_net *net = netdev_priv(ndev);

	netif_stop_queue(ndev);
	netif_carrier_off(ndev);
	hca_port_event(net->dev, false);
	return 0;
}

static const struct net_device_ops hca_net_ops = {
	.ndo_open = hca_net_open,
	.ndo_stop = hca_net_stop,
	.ndo_start_xmit = hca_net_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

/**
 * hca_net_create - register the net device hcanet0 or hcanet1
 * @dev: the instance
 *
 * Context: process.
 * Return: the net device, or ERR_PTR.
 */
struct net_device *hca_net_create(struct hca_dev *dev)
{
	struct net_device *ndev = alloc_etherdev(sizeof(struct hca_net));
	struct hca_net *net;
	int err;

	if (!ndev)
		return ERR_PTR(-ENOMEM);
	net = netdev_priv(ndev);
	net->dev = dev;
	ndev->netdev_ops = &hca_net_ops;
	SET_NETDEV_DEV(ndev, &dev->pdev->dev);
	eth_hw_addr_random(ndev);
	scnprintf(ndev->name, sizeof(ndev->name), "hcanet%d", dev->index);
	netif_carrier_off(ndev);
	err = register_netdev(ndev);
	if (err) {
		free_netdev(ndev);
		return ERR_PTR(err);
	}
	rtnl_lock();
	rcu_assign_pointer(hca_nets[dev->index], ndev);
	rtnl_unlock();
	return ndev;
}

void hca_net_destroy(struct net_device *ndev)
{
	struct hca_net *net = netdev_priv(ndev);

	rtnl_lock();
	RCU_INIT_POINTER(hca_nets[net->dev->index], NULL);
	rtnl_unlock();
	synchronize_net();
	unregister_netdev(ndev);
	free_netdev(ndev);
}
