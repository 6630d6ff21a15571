// SPDX-License-Identifier: GPL-2.0
/*
 * Which object owns a key of the device.
 *
 * A peer can invalidate a key by a send. The completion contains the key, and this table
 * contains its owner. The constructors and destructors of LMRs and RMRs add and remove
 * entries in process context; the lookup runs in softirq. The low byte of a key changes
 * with each registration, and the rest identifies the MR.
 */
#include "object.h"

#define KDAPL_KEY_SHIFT	8

/*
 * Adds an MR. @obj: LMR or RMR; freed a grace period after the entry was removed, at the earliest.
 * Returns 0 or -ENOMEM. Process context.
 */
int kdapl_key_add(struct kdapl_device *dev, u32 rkey, struct kdapl_obj *obj)
{
	return xa_err(xa_store(&dev->keys, rkey >> KDAPL_KEY_SHIFT, obj, GFP_KERNEL));
}

/* Removes an MR, before it is deregistered. Process context */
void kdapl_key_del(struct kdapl_device *dev, u32 rkey)
{
	xa_erase(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}

/*
 * Finds the owner of a key. @rkey: key. Returns the header of the object, or NULL if the key does
 * not belong to kDAPL. Any context, inside an RCU read section; the object exists until the
 * section ends.
 */
struct kdapl_obj *kdapl_key_find(struct kdapl_device *dev, u32 rkey)
{
	return xa_load(&dev->keys, rkey >> KDAPL_KEY_SHIFT);
}
