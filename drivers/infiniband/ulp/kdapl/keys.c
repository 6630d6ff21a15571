// SPDX-License-Identifier: GPL-2.0
/*
 * Which object owns a key of the device.
 *
 * A peer can invalidate keys by a send. The completion tells which; this table
 * tells whose it was. Entries are made and removed in process context, by the
 * constructors and destructors of LMRs and RMRs; the lookup runs in softirq.
 * The low byte of a key changes with each registration, the rest names the MR.
 */
#include "kdapl.h"

#define KDAPL_KEY_SHIFT	8

/**
 * kdapl_key_add - enter an MR
 * @dev:  its device
 * @rkey: its key
 * @obj:  LMR or RMR, whose memory outlives the entry by a grace period
 *
 * Context: process.
 * Return: 0, -ENOMEM.
 */
int kdapl_key_add(struct kdapl_device *dev, u32 rkey, struct kdapl_obj *obj)
{
	return xa_err(xa_store(&dev->keys, rkey >> KDAPL_KEY_SHIFT, obj, GFP_KERNEL));
}

/**
 * kdapl_key_del - remove an MR, before it is deregistered
 * @dev:  its device
 * @rkey: its key
 *
 * Context: process.
 */
void kdapl_key_del(struct kdapl_device *dev, u32 rkey)
{
	xa_erase(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}

/**
 * kdapl_key_find - whose is a key?
 * @dev:  device
 * @rkey: key
 *
 * Context: any, inside an RCU read section; the object stays until its end.
 * Return: the object's header, or NULL: it is none of ours.
 */
struct kdapl_obj *kdapl_key_find(struct kdapl_device *dev, u32 rkey)
{
	return xa_load(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}
