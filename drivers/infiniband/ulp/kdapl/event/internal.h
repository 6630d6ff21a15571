/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to event/: the functions of the queue that evd.c calls.
 */
#ifndef _KDAPL_EVENT_INTERNAL_H_
#define _KDAPL_EVENT_INTERNAL_H_

#include "event.h"

int kdapl_evd_setup(struct kdapl_evd *evd, u32 qlen, DAT_UPCALL_POLICY policy,
		    const DAT_UPCALL_OBJECT *upcall);
void kdapl_evd_cleanup(struct kdapl_evd *evd);
bool kdapl_evd_pop(struct kdapl_evd *evd, DAT_EVENT *out);
int kdapl_evd_post_soft(struct kdapl_evd *evd, void *pointer);
void kdapl_evd_post_async(struct kdapl_evd *evd, DAT_EVENT_NUMBER number,
			  DAT_HANDLE handle, u16 reason);
int kdapl_evd_resize(struct kdapl_evd *evd, u32 qlen);

void kdapl_evd_work_init(struct kdapl_evd *evd);
void kdapl_evd_work_exit(struct kdapl_evd *evd);

#endif /* _KDAPL_EVENT_INTERNAL_H_ */
