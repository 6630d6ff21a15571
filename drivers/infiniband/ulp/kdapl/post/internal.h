/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to post/: calls between the files of the posting and completion path.
 */
#ifndef _KDAPL_POST_INTERNAL_H_
#define _KDAPL_POST_INTERNAL_H_

#include "post.h"

void kdapl_rkey_invalidated(struct kdapl_ep *ep, u32 rkey);

#endif /* _KDAPL_POST_INTERNAL_H_ */
