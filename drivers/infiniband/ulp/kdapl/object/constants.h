/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sizes, counts and times that several layers use.
 */
#ifndef _KDAPL_OBJECT_CONSTANTS_H_
#define _KDAPL_OBJECT_CONSTANTS_H_

#define KDAPL_REQUEST_PRIVATE	56	/* usable bytes of a connection request */
#define KDAPL_REPLY_PRIVATE	196
#define KDAPL_REJECT_PRIVATE	148
#define KDAPL_REJECT_PREFIX	4	/* version word before reject data */
#define KDAPL_MAX_RETRY		6	/* rxe retries without limit for 7 */
#define KDAPL_RNR_RETRY		7	/* without limit */
#define KDAPL_MIN_RNR_TIMER	12	/* 0.64 ms; the core's 0 means 655 ms */
#define KDAPL_MAX_ACK_TIMEOUT	20	/* 4.3 s; seven of them are the 30 s of C-51 */
#define KDAPL_RESOLVE_TIMEOUT_MS 4000	/* address and route of a peer */
#define KDAPL_ACCEPT_TIMEOUT_MS	30000	/* C-51 */
#define KDAPL_DRAIN_TIMEOUT_MS	700	/* C-56 allows 1 s in all */
#define KDAPL_LATE_MS		50	/* wait for ESTABLISHED after an early message (C-43) */
#define KDAPL_LINGER_MS		10	/* wait for an answer at the end of a connection */
#ifndef KDAPL_LAST_WQE_MS
#define KDAPL_LAST_WQE_MS	5000	/* wait for the LAST_WQE event of an EP with an SRQ */
#endif
#define KDAPL_INIT_PKEY_INDEX	0	/* until the path of the QP is known */

/* Send queue entries beyond the Consumer's: the marker and the drain */
#define KDAPL_SQ_RESERVED	2

/* CQ entries beyond the Consumer's: marker, send drain, receive drain */
#define KDAPL_CQ_RESERVED	3

#endif /* _KDAPL_OBJECT_CONSTANTS_H_ */
