// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts: how completions and asynchronous events reach their users.
 *
 * The engine appends to the event queue, then writes the register of QEMU's function that
 * raises its interrupt. The handler publishes new entries of CQs, and calls the users'
 * handlers in hard interrupt context.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/slab.h>
#include "hca.h"

#define HCA_REG_STATUS	0x24
#define HCA_REG_RAISE	0x60
#define HCA_REG_ACK	0x64
#define HCA_LATE	(10 * NSEC_PER_SEC)	/* on a host that stalls, too: no verdict */

/* Counts a step that came late, and restarts its time. dev->eq_lock held */
static void hca_came(struct hca_dev *dev, ktime_t *since, enum hca_stat late)
{
	if (*since && ktime_to_ns(ktime_sub(ktime_get(), *since)) > HCA_LATE)
		hca_count(dev, late);
	*since = 0;
}

/* Calls the handler of an event. Its object exists, see hca_forget_events() */
static void hca_deliver_event(struct ib_event *event)
{
	struct ib_qp *qp;
	struct ib_srq *srq;
	struct ib_cq *cq;

	switch (event->event) {
	case IB_EVENT_CQ_ERR:
		cq = event->element.cq;
		if (cq->event_handler)
			cq->event_handler(event, cq->cq_context);
		break;
	case IB_EVENT_SRQ_ERR:
	case IB_EVENT_SRQ_LIMIT_REACHED:
		srq = event->element.srq;
		if (srq->event_handler)
			srq->event_handler(event, srq->srq_context);
		break;
	default:
		qp = event->element.qp;
		if (qp->event_handler)
			qp->event_handler(event, qp->qp_context);
	}
}

static irqreturn_t hca_interrupt(int irq, void *arg)
{
	struct hca_dev *dev = arg;
	u32 status = readl(dev->regs + HCA_REG_STATUS);
	struct hca_eqe *eqe;
	struct hca_cq *cq;

	if (!status)
		return IRQ_NONE;
	writel(status, dev->regs + HCA_REG_ACK);
	hca_count(dev, HCA_INTERRUPTS);
	spin_lock(&dev->eq_lock);
	hca_came(dev, &dev->raised_at, HCA_LATE_INTERRUPTS);
	spin_unlock(&dev->eq_lock);
	for (;;) {
		spin_lock(&dev->eq_lock);
		eqe = list_first_entry_or_null(&dev->eq, struct hca_eqe, node);
		if (eqe)
			list_del_init(&eqe->node);
		spin_unlock(&dev->eq_lock);
		if (!eqe)
			return IRQ_HANDLED;
		cq = eqe->cq;
		if (!cq) {
			hca_count(dev, HCA_EVENTS);
			hca_deliver_event(&eqe->event);
			kfree(eqe);
		} else if (hca_cq_publish(cq)) {
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		}
	}
}

/**
 * hca_raise - raise the interrupt if there is something to announce
 * @dev: the instance
 *
 * Without hca_world, because a slow handler may run on this CPU at once.
 *
 * Context: the engine.
 */
void hca_raise(struct hca_dev *dev)
{
	if (!READ_ONCE(dev->raise))
		return;
	hca_count(dev, HCA_RAISES);
	spin_lock_irq(&dev->eq_lock);
	WRITE_ONCE(dev->raise, false);
	hca_came(dev, &dev->wanted_at, HCA_LATE_RAISES);
	if (!dev->raised_at)
		dev->raised_at = ktime_get();
	spin_unlock_irq(&dev->eq_lock);
	writel(1, dev->regs + HCA_REG_RAISE);
}

/**
 * hca_unhandled - is anything not yet announced, or raised without a handler since?
 * @dev: the instance
 *
 * If this lasts although nothing happens, the model has not woken its engine, or QEMU has lost an
 * interrupt.
 *
 * Context: process.
 */
bool hca_unhandled(struct hca_dev *dev)
{
	bool left;

	spin_lock_irq(&dev->eq_lock);
	left = dev->raise || dev->raised_at || !list_empty(&dev->eq) || !list_empty(&dev->late);
	spin_unlock_irq(&dev->eq_lock);
	return left;
}

/* The engine of the instance, perhaps not the running one, will raise. dev->eq_lock held */
static void hca_want_raise(struct hca_dev *dev)
{
	if (!dev->wanted_at)
		dev->wanted_at = ktime_get();
	WRITE_ONCE(dev->raise, true);
}

/**
 * hca_release_events - append the events that follow the completions queued so far
 * @dev: the instance
 *
 * Context: the engine.
 */
void hca_release_events(struct hca_dev *dev)
{
	spin_lock_irq(&dev->eq_lock);
	if (!list_empty(&dev->late)) {
		list_splice_tail_init(&dev->late, &dev->eq);
		hca_want_raise(dev);
	}
	spin_unlock_irq(&dev->eq_lock);
}

/**
 * hca_announce - have the interrupt handler publish the new entries of a CQ
 * @dev: the instance
 * @cq:  the CQ, its lock held
 */
void hca_announce(struct hca_dev *dev, struct hca_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	spin_lock(&dev->eq_lock);
	if (list_empty(&cq->eqe.node))
		list_add_tail(&cq->eqe.node, &dev->eq);
	hca_want_raise(dev);
	spin_unlock(&dev->eq_lock);
	wake_up(&dev->wait);
}

/* Before all completions, but after the events that are there already. dev->eq_lock held */
static void hca_add_first(struct hca_dev *dev, struct hca_eqe *eqe)
{
	struct list_head *at = &dev->eq;
	struct hca_eqe *before;

	list_for_each_entry(before, &dev->eq, node) {
		if (before->cq)
			break;
		at = &before->node;
	}
	list_add(&eqe->node, at);
}

/* Before the completions that were not announced yet, or after them. hca_world held */
static void hca_queue_event(struct hca_dev *dev, const struct ib_event *event)
{
	struct hca_eqe *eqe = kzalloc(sizeof(*eqe), GFP_KERNEL | __GFP_NOFAIL);
	bool first = hca_opt.event_order == 2 ? hca_random(2) : !hca_opt.event_order;

	eqe->event = *event;
	spin_lock_irq(&dev->eq_lock);
	if (first)
		hca_add_first(dev, eqe);
	else
		list_add_tail(&eqe->node, &dev->late);
	hca_want_raise(dev);
	spin_unlock_irq(&dev->eq_lock);
	wake_up(&dev->wait);
}

void hca_qp_event(struct hca_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	hca_queue_event(to_hca(qp->ibqp.device), &event);
}

void hca_cq_event(struct hca_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	hca_queue_event(to_hca(cq->ibcq.device), &event);
}

void hca_srq_event(struct hca_srq *srq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = type,
	};

	hca_queue_event(to_hca(srq->ibsrq.device), &event);
}

/**
 * hca_forget_events - drop the events of an object that is being destroyed
 * @dev:    the instance
 * @object: its ib_qp, ib_srq or ib_cq
 *
 * Afterwards its handlers are not running, and will not be called.
 *
 * Context: process; nobody queues events of the object any more.
 */
void hca_forget_events(struct hca_dev *dev, const void *object)
{
	struct hca_eqe *eqe, *next;
	LIST_HEAD(dead);

	spin_lock_irq(&dev->eq_lock);
	list_for_each_entry_safe(eqe, next, &dev->eq, node) {
		if (eqe->cq && &eqe->cq->ibcq == object)
			list_del_init(&eqe->node);
		else if (!eqe->cq && eqe->event.element.qp == object)
			list_move(&eqe->node, &dead);
	}
	list_for_each_entry_safe(eqe, next, &dev->late, node)
		if (eqe->event.element.qp == object)
			list_move(&eqe->node, &dead);
	spin_unlock_irq(&dev->eq_lock);
	list_for_each_entry_safe(eqe, next, &dead, node)
		kfree(eqe);
	synchronize_irq(dev->irq);
}

int hca_event_init(struct hca_dev *dev)
{
	int err;

	spin_lock_init(&dev->eq_lock);
	INIT_LIST_HEAD(&dev->eq);
	INIT_LIST_HEAD(&dev->late);
	err = pci_alloc_irq_vectors(dev->pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		return err;
	dev->irq = pci_irq_vector(dev->pdev, 0);
	err = request_irq(dev->irq, hca_interrupt, 0, KBUILD_MODNAME, dev);
	if (err)
		pci_free_irq_vectors(dev->pdev);
	return err;
}

void hca_event_exit(struct hca_dev *dev)
{
	free_irq(dev->irq, dev);
	pci_free_irq_vectors(dev->pdev);
}
