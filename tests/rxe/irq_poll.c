// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_irq_poll.ko: shows, without RDMA, that two threads of one CPU can be in irq_poll_softirq()
 * at the same time. An RT kernel without a lock for bottom halves lets a thread that runs softirqs
 * preempt another one, and both poll the entry at the head of the CPU's list.
 *
 * insmod polls an entry. Its poll function wakes a thread of a higher priority on the same CPU,
 * which polls another entry. If that thread also gets the first entry, it is told that the entry
 * has more work, so that only one of the two threads removes it and the list stays intact.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/irq_poll.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static unsigned int entered;
module_param(entered, uint, 0444);
MODULE_PARM_DESC(entered, "how often the first entry was polled while it was being polled");

static struct irq_poll first, second;
static struct task_struct *high;
static DECLARE_COMPLETION(high_is_done);
/* All runs on one CPU */
static bool polling;

static int poll_first(struct irq_poll *iop, int budget)
{
	if (polling) {
		entered++;
		return budget;
	}
	polling = true;
	/* If this context can be preempted, the thread runs before wake_up_process() returns */
	wake_up_process(high);
	polling = false;
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
	poll_now(&second);
	complete(&high_is_done);
	return 0;
}

static int __init show_init(void)
{
	irq_poll_init(&first, 64, poll_first);
	irq_poll_init(&second, 64, poll_second);
	high = kthread_create(run_high, NULL, "kdapl_irq_poll");
	if (IS_ERR(high))
		return PTR_ERR(high);
	/* The caller has bound itself to this CPU */
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

MODULE_DESCRIPTION("Shows that irq_poll_softirq() can be entered by two threads of a CPU");
MODULE_LICENSE("GPL");
