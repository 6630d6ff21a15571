// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to an open IA: its device fails, its address is lost or moves.
 *
 * Called by ib_client.c and addr_watch.c, with the IA on the list of its device, and by ia_close.c
 * when the device is removed; process context. Schedules the work of the EPs and service points,
 * and waits for none of it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "event/event.h"
#include "ia.h"

/*
 * Reports to the Consumer that the device is lost. A device may report its failure before it is
 * removed; the event is raised once. @ia: the IA; referenced, or on the list of its device.
 * Process context.
 */
void kdapl_ia_catastrophic(struct kdapl_ia *ia)
{
	if (!test_and_set_bit(0, &ia->catastrophic_raised))
		kdapl_evd_post_catastrophic(ia);
}

/*
 * Schedules the work of all EPs: for @what, or for @elsewhere if their connection uses another
 * address than that of the IA
 */
static void kdapl_ia_schedule_eps(struct kdapl_ia *ia, enum kdapl_todo what,
				  enum kdapl_todo elsewhere)
{
	struct kdapl_obj *obj;
	struct kdapl_ep *ep;

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EP], node) {
		/* While there is a reference, the destructor has not stopped the work */
		if (!kdapl_obj_tryget(obj))
			continue;
		ep = to_kdapl_ep(obj);
		spin_lock_irq(&ep->lock);
		kdapl_ep_schedule(ep, ep->conn.other_addr ? elsewhere : what);
		spin_unlock_irq(&ep->lock);
		kdapl_obj_put(obj);
	}
	mutex_unlock(&ia->mutex);
}

/*
 * Queues the work of the service points, which listens again where necessary. Those on the address
 * of the IA can do nothing while it is lost
 */
static void kdapl_ia_relisten(struct kdapl_ia *ia, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj;

	mutex_lock(&ia->mutex);
	list_for_each_entry(obj, &ia->objs[type], node) {
		if (!kdapl_obj_tryget(obj))
			continue;
		if (!READ_ONCE(ia->addr_lost) || to_kdapl_sp(obj)->any_address)
			kdapl_sp_check(to_kdapl_sp(obj));
		kdapl_obj_put(obj);
	}
	mutex_unlock(&ia->mutex);
}

/*
 * Breaks all connections of a device that has failed (C-31). The device may report nothing else,
 * so idle connections would remain. If removal follows, it finds them ended. Process context,
 * kdapl_device_mutex held.
 */
void kdapl_ia_device_failed(struct kdapl_ia *ia)
{
	kdapl_ia_catastrophic(ia);
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_BREAK, KDAPL_TODO_BREAK);
}

/*
 * Breaks the connections that use the IA's address. The connection manager does not notice the
 * loss, and cannot reach the peers any more. Process context, kdapl_device_mutex held.
 */
void kdapl_ia_address_lost(struct kdapl_ia *ia)
{
	if (!READ_ONCE(ia->addr_lost))
		pr_notice_ratelimited("%s: address %pISc is gone, breaking its connections\n",
				      ia->name, &ia->addr);
	WRITE_ONCE(ia->addr_lost, true);
	/* A concurrent attempt sees this, or this function sees the attempt */
	smp_mb();
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_BREAK, KDAPL_TODO_ADDRESS);
	kdapl_ia_relisten(ia, DAT_HANDLE_TYPE_PSP);
}

/*
 * Updates an IA after an address change that it survives. The address may lead to another port, or
 * to another entry of the GID table. Attempts and connections that cannot continue are broken, and
 * service points listen where the address leads now. Process context, kdapl_device_mutex held.
 */
void kdapl_ia_address_moved(struct kdapl_ia *ia)
{
	WRITE_ONCE(ia->addr_lost, false);
	kdapl_ia_schedule_eps(ia, KDAPL_TODO_ADDRESS, KDAPL_TODO_ADDRESS);
	kdapl_ia_relisten(ia, DAT_HANDLE_TYPE_PSP);
	kdapl_ia_relisten(ia, DAT_HANDLE_TYPE_RSP);
}
