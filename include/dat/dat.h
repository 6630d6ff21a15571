/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All types and constants of DAT 2.0, without the calls; each header covers one subject.
 * There is no code here. Included by kdat.h, which adds the calls; a Consumer
 * includes kdat.h.
 *
 * A definition comes from the kDAPL 2.0 headers, unless its comment names another source.
 * The order of members, and all numbers, are those of DAT 2.0 without extensions. They are
 * ABI, which tests/consumers/loopback/abi_values.c and abi_layout.c check.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat/dat_platform_specific.h>
#include <dat/dat_error.h>
#include <dat/dat_types.h>
#include <dat/dat_memory.h>
#include <dat/dat_ep.h>
#include <dat/dat_connect.h>
#include <dat/dat_event.h>
#include <dat/dat_ia.h>
#include <dat/dat_provider.h>

#endif /* _DAT_H_ */
