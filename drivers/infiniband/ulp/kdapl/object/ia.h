/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open IA: entry and exit of control calls, and the lists of its objects (ia.c).
 */
#ifndef _KDAPL_OBJECT_IA_H_
#define _KDAPL_OBJECT_IA_H_

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/socket.h>
#include "device.h"
#include "evd.h"

struct module;

/**
 * struct kdapl_ia - an open IA: one port and one IP address of a device
 * @obj:    header; obj.ia is the IA itself
 * @dev:    the device; NULL if the IA is orphaned. Written under @sem and
 *          kdapl_device_mutex
 * @ibdev:  dev->ibdev; NULL if the IA is orphaned; calls that create verbs
 *          objects read it under @sem
 * @port:   port of the device
 * @name:   `<ibdev>/<port>`, for debugfs and the log
 * @owner:  the module that opened it; NULL if unknown, or if the module has gone. RCU: a module
 *          is freed a grace period later
 * @addr:   IP address of the port
 * @net:    network namespace of @addr, referenced; NULL if the IA is orphaned
 * @addr_lost: @addr did not exist when the addresses were last checked
 * @addr_missed: its GID was missing, or it was deleted; under kdapl_device_mutex
 * @addr_missed_at: when that was first noticed, in jiffies; under kdapl_device_mutex
 * @limits: copy of those of the device, valid without it
 * @attr:   what dat_ia_query() returns, set when the IA is opened
 * @sem:    read: calls that create verbs objects; write: device removal and dat_ia_close(), when
 *          they begin
 * @mutex:  guards @objs and the flag rules of shared EVDs
 * @objs:   all objects by type
 * @nverbs: objects that still own verbs objects; removal waits for 0
 * @nqps:   EPs that may still own a QP; MRs that their requests name are destroyed
 *          after them
 * @npds:   PZs that still own a PD; they are destroyed after all other verbs objects
 * @nrmrs:  RMRs that may still use LMRs: until a grace period after they were freed
 *          and their last request has completed; dat_ia_close() frees LMRs after them
 * @ended_eps: EPs whose memory dat_ia_close() frees after the EVDs, by obj.node; used by the
 *          thread that closes the IA
 * @wait:   for @nverbs, @nqps, @npds and @nrmrs, and for @objs to become empty
 * @mem:    references of the IA itself and of every object on @objs; the last one
 *          frees the memory
 * @catastrophic_event: node of IA_CATASTROPHIC; the queue of @async_evd owns it while it is there
 * @orphaned: the IA is orphaned: its device was removed; written under @sem
 * @closing: dat_ia_close() has begun; written under @sem
 * @catastrophic_raised: DAT_ASYNC_ERROR_IA_CATASTROPHIC has been raised (bit 0)
 * @silent_until: service requests fail at once until this time (jiffies_64), because one has timed
 *          out; written under the mutex of any of its PZs, read without a lock
 * @sync_logged: the log line about bounce buffers was written (bit 0)
 * @own_async: dat_ia_open() created @async_evd, and it is destroyed with the IA
 * @async_evd: receives the asynchronous events
 * @dev_node: on dev->ias, unless the IA is orphaned; guarded by kdapl_device_mutex
 *
 * obj.users counts other IAs whose asynchronous events go to an EVD of this IA.
 */
struct kdapl_ia {
	struct kdapl_obj obj;
	struct kdapl_device *dev;
	struct ib_device *ibdev;
	u32 port;
	char name[DAT_NAME_MAX_LENGTH];
	const struct module *owner;
	struct sockaddr_storage addr;
	struct net *net;
	bool addr_lost;
	bool addr_missed;
	unsigned long addr_missed_at;
	struct kdapl_limits limits;
	DAT_IA_ATTR attr;
	struct rw_semaphore sem;
	struct mutex mutex;	/* objs, flags of shared EVDs */
	struct list_head objs[KDAPL_NTYPES];
	struct list_head ended_eps;
	wait_queue_head_t wait;
	atomic_t nverbs;
	atomic_t nqps;
	atomic_t npds;
	atomic_t nrmrs;
	refcount_t mem;
	struct kdapl_ring_event catastrophic_event;
	bool orphaned;
	bool closing;
	bool own_async;
	unsigned long catastrophic_raised;
	u64 silent_until;
	unsigned long sync_logged;
	struct kdapl_evd *async_evd;
	struct list_head dev_node;
};

DAT_RETURN kdapl_ia_get_enter(DAT_IA_HANDLE handle, struct kdapl_ia **out);
void kdapl_ia_leave_put(struct kdapl_ia *ia);
bool kdapl_ia_enter(struct kdapl_ia *ia);
void kdapl_ia_leave(struct kdapl_ia *ia);
void kdapl_ia_add(struct kdapl_ia *ia, struct kdapl_obj *obj, bool verbs);
void kdapl_ia_del(struct kdapl_ia *ia, struct kdapl_obj *obj);
void kdapl_ia_mem_put(struct kdapl_ia *ia);
void kdapl_ia_verbs_get(struct kdapl_ia *ia);
void kdapl_ia_verbs_put(struct kdapl_ia *ia);

static inline struct kdapl_ia *to_kdapl_ia(struct kdapl_obj *obj)
{
	return container_of(obj, struct kdapl_ia, obj);
}

/* Returns true if an IA contains the node of an event: only IA_CATASTROPHIC has such a node */
static inline bool kdapl_event_of_ia(const struct kdapl_event *ev)
{
	return ev->kind == KDAPL_EV_ASYNC &&
	       container_of(ev, const struct kdapl_ring_event, ev)->number ==
	       DAT_ASYNC_ERROR_IA_CATASTROPHIC;
}

#endif /* _KDAPL_OBJECT_IA_H_ */
