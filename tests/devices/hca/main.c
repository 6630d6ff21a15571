// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_hca.ko: the PCI driver of the adapter model, and what debugfs shows of it.
 *
 * QEMU's function "edu" has one register that raises its interrupt and one that
 * acknowledges it; nothing else of it is used. Process context.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include "hca.h"

#define HCA_VENDOR	0x1234
#define HCA_DEVICE	0x11e8

DEFINE_MUTEX(hca_world);	/* see hca.h */
struct hca_dev *hca_devs[HCA_INSTANCES];
static struct dentry *hca_dir;

static const char * const hca_stat_names[HCA_STATS] = {
	[HCA_DMA_FAULTS] = "dma_faults",
	[HCA_CQ_OVERRUNS] = "cq_overruns",
	[HCA_KEY_ERRORS] = "key_errors",
	[HCA_REFUSED_POSTS] = "refused_posts",
	[HCA_BAD_POSTS] = "bad_posts",
	[HCA_RAISES] = "raises",
	[HCA_INTERRUPTS] = "interrupts",
	[HCA_LATE_RAISES] = "late_raises",
	[HCA_LATE_INTERRUPTS] = "late_interrupts",
	[HCA_CQES] = "completions",
	[HCA_MESSAGES] = "messages",
	[HCA_DROPPED] = "dropped",
	[HCA_DUPLICATES] = "duplicates",
	[HCA_RNR] = "rnr_naks",
	[HCA_RETRIES] = "retries",
	[HCA_LOST_DOORBELLS] = "lost_doorbells",
	[HCA_STALLS] = "read_stalls",
	[HCA_EVENTS] = "events",
};

static int hca_stats_show(struct seq_file *m, void *unused)
{
	struct hca_dev *dev = m->private;
	int i;

	for (i = 0; i < HCA_STATS; i++)
		seq_printf(m, "%s %lld\n", hca_stat_names[i], atomic64_read(&dev->stat[i]));
	seq_printf(m, "unhandled %d\n", hca_unhandled(dev));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hca_stats);

static int hca_pci_init(struct hca_dev *dev)
{
	int err = pcim_enable_device(dev->pdev);

	if (err)
		return err;
	dev->regs = pcim_iomap(dev->pdev, 0, 0);
	if (!dev->regs)
		return -ENOMEM;
	pci_set_master(dev->pdev);
	err = dma_set_mask_and_coherent(&dev->pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	dma_set_max_seg_size(&dev->pdev->dev, UINT_MAX);
	return hca_domain_init(dev);
}

/* The other engine reads dev->ndev to find out whether a peer can be reached */
static void hca_set_net(struct hca_dev *dev, struct net_device *ndev)
{
	mutex_lock(&hca_world);
	dev->ndev = ndev;
	mutex_unlock(&hca_world);
}

static void hca_stop_net(struct hca_dev *dev)
{
	struct net_device *ndev = dev->ndev;

	hca_set_net(dev, NULL);
	hca_net_destroy(ndev);
}

static int hca_start(struct hca_dev *dev)
{
	int err = hca_event_init(dev);
	struct net_device *ndev;

	if (err)
		return err;
	err = hca_engine_init(dev);
	if (err)
		goto no_engine;
	ndev = hca_net_create(dev);
	if (IS_ERR(ndev)) {
		err = PTR_ERR(ndev);
		goto no_net;
	}
	hca_set_net(dev, ndev);
	err = hca_register(dev);
	if (!err)
		return 0;
	hca_stop_net(dev);
no_net:
	hca_engine_exit(dev);
no_engine:
	hca_event_exit(dev);
	return err;
}

static int hca_claim(struct hca_dev *dev)
{
	int i;

	mutex_lock(&hca_world);
	for (i = 0; i < HCA_INSTANCES && hca_devs[i]; i++)
		;
	if (i < HCA_INSTANCES)
		hca_devs[i] = dev;
	mutex_unlock(&hca_world);
	dev->index = i;
	return i < HCA_INSTANCES ? 0 : -ENOSPC;
}

static void hca_release(struct hca_dev *dev)
{
	mutex_lock(&hca_world);
	hca_devs[dev->index] = NULL;
	mutex_unlock(&hca_world);
}

/*
 * one_way is locked with interrupts off, the other arrays are not. xa_init_flags() gives all arrays
 * that one file initializes the same lock class, so one_way needs its own.
 */
static struct lock_class_key hca_one_way_class;

static int hca_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct hca_dev *dev = ib_alloc_device(hca_dev, ibdev);
	char name[8];
	int err;

	if (!dev)
		return -ENOMEM;
	dev->pdev = pdev;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->one_way, XA_FLAGS_LOCK_IRQ);
	lockdep_set_class(&dev->one_way.xa_lock, &hca_one_way_class);
	err = hca_pci_init(dev) ?: hca_claim(dev);
	if (err)
		goto out_free;
	err = hca_start(dev);
	if (err) {
		hca_release(dev);
		goto out_free;
	}
	pci_set_drvdata(pdev, dev);
	scnprintf(name, sizeof(name), "hca%d", dev->index);
	dev->dir = debugfs_create_dir(name, hca_dir);
	debugfs_create_file("stats", 0400, dev->dir, dev, &hca_stats_fops);
	return 0;

out_free:
	hca_domain_exit(dev);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->qps);
	ib_dealloc_device(&dev->ibdev);
	return err;
}

/* So many times as many messages as the option says, without one fault, are no accident */
#define HCA_FAULTLESS	20

/* Warns of an option for faults that had no effect, because a test relies on them */
static void hca_check_faults(struct hca_dev *dev)
{
	s64 messages = atomic64_read(&dev->stat[HCA_MESSAGES]) / HCA_FAULTLESS;

	WARN(hca_opt.drop > 0 && messages > hca_opt.drop &&
	     !atomic64_read(&dev->stat[HCA_DROPPED]), "the option drop had no effect\n");
	WARN(hca_opt.duplicate > 0 && messages > hca_opt.duplicate &&
	     !atomic64_read(&dev->stat[HCA_DUPLICATES]), "the option duplicate had no effect\n");
}

static void hca_remove(struct pci_dev *pdev)
{
	struct hca_dev *dev = pci_get_drvdata(pdev);

	debugfs_remove(dev->dir);
	/* Returns when all users have destroyed their objects */
	ib_unregister_device(&dev->ibdev);
	hca_stop_net(dev);
	hca_engine_exit(dev);
	hca_event_exit(dev);
	hca_check_faults(dev);
	hca_release(dev);
	hca_domain_exit(dev);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->qps);
	ib_dealloc_device(&dev->ibdev);
}

/* Without MODULE_DEVICE_TABLE: nobody but a test may load this */
static const struct pci_device_id hca_ids[] = {
	{ PCI_DEVICE(HCA_VENDOR, HCA_DEVICE) },
	{ }
};

static struct pci_driver hca_driver = {
	.name = KBUILD_MODNAME,
	.id_table = hca_ids,
	.probe = hca_probe,
	.remove = hca_remove,
};

static int __init hca_init(void)
{
	int err;

	hca_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	err = pci_register_driver(&hca_driver);
	if (err)
		debugfs_remove(hca_dir);
	return err;
}

static void __exit hca_exit(void)
{
	pci_unregister_driver(&hca_driver);
	debugfs_remove(hca_dir);
}

module_init(hca_init);
module_exit(hca_exit);

MODULE_DESCRIPTION("A model of an RDMA adapter, for tests of kDAPL");
MODULE_LICENSE("GPL");
