/* SPDX-License-Identifier: GPL-2.0 */
/* Common definitions of the two Consumers of the tutorial. All numbers are big endian. */
#ifndef _TUTORIAL_H_
#define _TUTORIAL_H_

#include <linux/types.h>

#define TUTORIAL_QUAL	7471	/* connection qualifier of the service point */
#define TUTORIAL_BYTES	4096	/* size of the memory that the client may write to */

/* Private data of the accept: where the client may write */
struct tutorial_target {
	__be64 address;
	__be32 length;
	__be32 rmr_context;
} __packed;

/* The message that follows the RDMA write */
struct tutorial_message {
	__be32 length;		/* bytes that were written */
} __packed;

#endif
