/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures of all objects, and the calls that find them or enter their IA.
 *
 * There is one header for each type of object. Fields that several directories use are here; each
 * structure says which lock guards which field.
 *
 * kdapl-locking.rst has the order of the locks.
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
