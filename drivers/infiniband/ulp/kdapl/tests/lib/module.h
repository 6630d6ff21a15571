/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Includes all headers of the module: suites may also use those that are private to a
 * directory.
 */
#ifndef _KDAPL_TESTS_MODULE_H_
#define _KDAPL_TESTS_MODULE_H_

#include "../../base/base.h"
#include "../../object/object.h"
#include "../../device/device.h"
#include "../../event/event.h"
#include "../../post/post.h"
#include "../../queue/queue.h"
#include "../../connection/connection.h"
#include "../../endpoint/endpoint.h"
#include "../../ia/ia.h"
#include "../../event/evd_queue.h"
#include "../../post/unsignalled.h"
#include "../../memory/internal.h"
#include "../../queue/internal.h"
#include "../../connection/internal.h"
#include "../../endpoint/internal.h"
#include "../../module/internal.h"

#endif /* _KDAPL_TESTS_MODULE_H_ */
