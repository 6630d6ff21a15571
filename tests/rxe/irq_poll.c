// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_irq_poll.ko: shows, without RDMA, that two threads on one CPU can be in irq_poll_softirq()
 * at the same time. An RT kernel without a lock for bottom halves lets a thread that runs softirqs
 * preempt another one, and both poll the entry at the head of the CPU's list.
 *
 * insmod polls an entry. The poll function of this entry wakes a thread of a higher priority on the
 * same CPU, which polls another entry. If that thread also gets the first entry, it is the only one
 * that removes it, so the list stays intact.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/irq_poll.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static bool preempted;
module_param(preempted, bool, 0444);
MODULE_PARM_DESC(preempted, "the thread ran while the first entry was being polled");

static unsigned int entered;
module_param(entered, uint, 0444);
MODULE_PARM_DESC(entered, "how often the first entry was polled while it was being polled");

static struct irq_poll first, second;
static struct task_struct *high;
static DECLARE_COMPLETION(high_is_done);
/* All of this code runs on one CPU */
static bool polled, started;

static int poll_first(struct irq_poll *iop, int budget)
{
	if (polled) {
		entered++;
		irq_poll_complete(iop);
		return 0;
	}
	polled = true;
	/* If this context can be preempted, the thread runs before wake_up_process() returns */
	wake_up_process(high);
	preempted = READ_ONCE(started);
	if (!READ_ONCE(entered))
		irq_poll_complete(iop);
	return 0;
}

static int poll_second(struct irq_poll *iop, int budget)
{
	irq_poll_complete(iop);
	return 0;
}

static void poll_now(struct irq_poll *iop)
{
	local_bh_disable();
	irq_poll_sched(iop);
	local_bh_enable();
}

static int run_high(void *unused)
{
	WRITE_ONCE(started, true);
	poll_now(&second);
	kthread_complete_and_exit(&high_is_done, 0);
}

static int __init show_init(void)
{
	/* A CPU that is chosen by the caller */
	if (current->nr_cpus_allowed != 1)
		return -EINVAL;
	irq_poll_init(&first, 64, poll_first);
	irq_poll_init(&second, 64, poll_second);
	high = kthread_create(run_high, NULL, "kdapl_irq_poll");
	if (IS_ERR(high))
		return PTR_ERR(high);
	kthread_bind(high, raw_smp_processor_id());
	sched_set_fifo(high);
	poll_now(&first);
	wait_for_completion(&high_is_done);
	irq_poll_disable(&first);
	irq_poll_disable(&second);
	return 0;
}

static void __exit show_exit(void)
{
}

module_init(show_init);
module_exit(show_exit);

MODULE_DESCRIPTION("Shows that irq_poll_softirq() can be entered by two threads on one CPU");
MODULE_LICENSE("GPL");
