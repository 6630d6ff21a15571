/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures of all objects, and the calls that find them or enter their IA.
 *
 * There is one header for each type of object. Fields that several directories use are here; each
 * structure says which lock guards which field.
 *
 * Locks, outermost first (kdapl-locking.rst has the reasons):
 *   kdapl_device_mutex, kdapl_ia.sem, kdapl_ep.mutex, handler_mutex of a
 *   cm_id (rdma_cm's), kdapl_ia.mutex, kdapl_pz.mutex, kdapl_srq.mutex; then
 *   spinlocks: kdapl_sp.lock, kdapl_polled_cq.lock, kdapl_sq.lock, kdapl_rmr.lock,
 *   kdapl_lmr.lock, kdapl_pz.map_lock, kdapl_ep.lock, kdapl_evd.lock.
 * CM callbacks take spinlocks only, and no rdma_* function is called under any of
 * these.
 */
#ifndef _KDAPL_OBJECT_H_
#define _KDAPL_OBJECT_H_

#include "base/base.h"
#include "constants.h"
#include "device.h"
#include "evd.h"
#include "ia.h"
#include "pz.h"
#include "mr.h"
#include "lmr.h"
#include "rmr.h"
#include "srq.h"
#include "ep.h"
#include "sp.h"
#include "query.h"

#endif /* _KDAPL_OBJECT_H_ */
