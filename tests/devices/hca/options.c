// SPDX-License-Identifier: GPL-2.0
/*
 * Options of the adapter model, each a module parameter, and personalities: named sets of
 * them. Parameters after the personality on the command line override it; before it, they would be
 * lost, and it is refused. Also the generator of random decisions.
 *
 * Options may be changed at any time; those of the device's attributes have an effect when a
 * device is found.
 */
#include <linux/module.h>
#include <linux/string.h>
#include "hca.h"

static const struct hca_options hca_defaults = {
	.seed = 1,
	.burst = 8,
	.reorder = 1,
	.late_ack = 1,
	.flush_init = 1,
	.last_wqe = 1,
	.comm_est = 1,
	.srq = 1,
};

struct hca_options hca_opt = {
	.seed = 1,
	.burst = 8,
	.reorder = 1,
	.late_ack = 1,
	.flush_init = 1,
	.last_wqe = 1,
	.comm_est = 1,
	.srq = 1,
};

module_param_named(seed, hca_opt.seed, int, 0644);
MODULE_PARM_DESC(seed, "Seed of the generator of all random decisions (1)");
module_param_named(burst, hca_opt.burst, int, 0644);
MODULE_PARM_DESC(burst, "Most requests of a QP that are sent at a time (8)");
module_param_named(reorder, hca_opt.reorder, int, 0644);
MODULE_PARM_DESC(reorder, "Execute QPs in random order (1)");
module_param_named(late_ack, hca_opt.late_ack, int, 0644);
MODULE_PARM_DESC(late_ack, "Acknowledge trailing unsignalled requests late (1)");
module_param_named(last_first, hca_opt.last_first, int, 0644);
MODULE_PARM_DESC(last_first, "Place the last byte of a message first (1), or all in random order (2) (0)");
module_param_named(event_order, hca_opt.event_order, int, 0644);
MODULE_PARM_DESC(event_order, "Events before completions (0), after (1), random (2) (0)");
module_param_named(flush_init, hca_opt.flush_init, int, 0644);
MODULE_PARM_DESC(flush_init, "Flush a QP that goes from INIT to ERROR (1)");
module_param_named(last_wqe, hca_opt.last_wqe, int, 0644);
MODULE_PARM_DESC(last_wqe, "Raise LAST_WQE_REACHED (1)");
module_param_named(comm_est, hca_opt.comm_est, int, 0644);
MODULE_PARM_DESC(comm_est, "Raise COMM_EST (1)");
module_param_named(srq, hca_opt.srq, int, 0644);
MODULE_PARM_DESC(srq, "Has shared receive queues; read when a device is found (1)");
module_param_named(arm, hca_opt.arm, int, 0644);
MODULE_PARM_DESC(arm, "Arming: specification (0), flags as a whole (1), not if entries wait (2) (0)");
module_param_named(blocks, hca_opt.blocks, int, 0644);
MODULE_PARM_DESC(blocks, "Requests occupy blocks of 64 bytes (0)");
module_param_named(first_sge, hca_opt.first_sge, int, 0644);
MODULE_PARM_DESC(first_sge, "Read the first segment even if there is none (0)");
module_param_named(drop, hca_opt.drop, int, 0644);
MODULE_PARM_DESC(drop, "Lose one in N messages or acknowledgments (0)");
module_param_named(duplicate, hca_opt.duplicate, int, 0644);
MODULE_PARM_DESC(duplicate, "Deliver one in N messages twice (0)");
module_param_named(delay, hca_opt.delay, int, 0644);
MODULE_PARM_DESC(delay, "Delay acknowledgments by up to N microseconds (0)");
module_param_named(post_enomem, hca_opt.post_enomem, int, 0644);
MODULE_PARM_DESC(post_enomem, "Refuse one in N posts (0)");
module_param_named(doorbell, hca_opt.doorbell, int, 0644);
MODULE_PARM_DESC(doorbell, "Lose one in N doorbells for ever (0)");

struct hca_personality {
	const char *name;
	void (*set)(struct hca_options *o);
};

static void hca_set_nothing(struct hca_options *o)
{
}

static void hca_set_mlx5(struct hca_options *o)
{
	o->blocks = 1;
	o->event_order = 2;
}

static void hca_set_irdma(struct hca_options *o)
{
	o->srq = 0;
	o->arm = 1;
	o->first_sge = 1;
	o->last_wqe = 0;
}

static void hca_set_bnxt_re(struct hca_options *o)
{
	o->arm = 2;
	o->event_order = 1;
}

static void hca_set_qedr(struct hca_options *o)
{
	o->flush_init = 0;
	o->comm_est = 0;
}

/* Soft-RoCE of Linux 6.1 has shared receive queues, but does not raise LAST_WQE_REACHED */
static void hca_set_rxe(struct hca_options *o)
{
	o->last_wqe = 0;
	o->comm_est = 0;
}

static const struct hca_personality hca_personalities[] = {
	{ "ibta", hca_set_nothing },
	{ "mlx5", hca_set_mlx5 },
	{ "irdma", hca_set_irdma },
	{ "bnxt_re", hca_set_bnxt_re },
	{ "qedr", hca_set_qedr },
	{ "rxe", hca_set_rxe },
};

static const struct hca_personality *hca_personality = hca_personalities;

static int hca_set_personality(const char *value, const struct kernel_param *kp)
{
	struct hca_options now = hca_defaults, o = hca_defaults;
	int i;

	for (i = 0; i < ARRAY_SIZE(hca_personalities); i++)
		if (sysfs_streq(value, hca_personalities[i].name))
			break;
	if (i == ARRAY_SIZE(hca_personalities))
		return -EINVAL;
	hca_personality->set(&now);
	if (memcmp(&hca_opt, &now, sizeof(now))) {
		pr_err("%s: a personality would reset options that were set\n", KBUILD_MODNAME);
		return -EINVAL;
	}
	hca_personality = &hca_personalities[i];
	hca_personality->set(&o);
	hca_opt = o;
	return 0;
}

static int hca_get_personality(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "%s\n", hca_personality->name);
}

static const struct kernel_param_ops hca_personality_ops = {
	.set = hca_set_personality,
	.get = hca_get_personality,
};

module_param_cb(personality, &hca_personality_ops, NULL, 0644);
MODULE_PARM_DESC(personality, "Sets all options: ibta (default), mlx5, irdma, bnxt_re, qedr, rxe");

/**
 * hca_random - a number below a limit, from the seeded generator
 * @below: the limit, not 0
 *
 * Context: hca_world held.
 * Return: the number.
 */
u32 hca_random(u32 below)
{
	static u32 x;

	lockdep_assert_held(&hca_world);
	if (!x)
		x = (u32)hca_opt.seed * 2654435761U | 1;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x % below;
}

/* True once in so many calls on average, and never if it is 0. hca_world held */
bool hca_chance(int one_in)
{
	return one_in > 0 && !hca_random(one_in);
}

/* The same for posts, which hold no mutex. The result depends on the order of the posts */
bool hca_post_chance(int one_in)
{
	static atomic_t posts;
	u32 x;

	if (one_in <= 0)
		return false;
	x = (atomic_inc_return(&posts) + hca_opt.seed) * 2654435761U;
	return (x >> 8) % one_in == 0;
}
