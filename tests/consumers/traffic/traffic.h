/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The declarations that the files of the traffic test share.
 *
 * A stream is one IA with a connected pair of EPs, which send messages to each other from
 * start to stop. All posts are made in the upcalls of its EVD.
 *
 * Locks: main.c makes one call at a time (command_mutex). The lock of a stream guards what
 * its upcalls use; the upcalls take it with bottom halves off, process context with
 * spin_lock_bh(). It is held across the posting calls, which are class A calls.
 */
#ifndef _KDAPL_TRAFFIC_H_
#define _KDAPL_TRAFFIC_H_

#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "kdapl_test.h"

#define STREAM_DEPTH	8
#define TRAFFIC_QUAL	7600		/* of stream 0; each stream has its own */

/* One EP of a stream, and its queues */
struct stream_end {
	DAT_EP_HANDLE ep;		/* constant while the stream runs */
	/* The lock of the stream guards all below */
	struct test_posts requests, recvs;
	u8 *out, *in;			/* a buffer for each slot of the queues */
	u32 credit;			/* receives of the peer without a message */
	u32 budget;			/* messages until the next tick, if they are limited */
	u32 sent, received, expected;	/* messages; receives posted */
	unsigned int established, ended;	/* events; ended by DISCONNECTED or BROKEN */
};

struct stream {
	unsigned int number;
	char name[64];			/* of the IA */
	struct test_fixture t;
	struct sockaddr_storage peer;	/* the address of the connection request */
	u8 *memory;
	spinlock_t lock;		/* guards the queues and counters of @end, and: */
	bool stopping;			/* send no more messages */
	bool failed;			/* a post or a completion, which was noted */
	bool ending;			/* flushed completions are expected */
	struct stream_end end[2];	/* 0 connects, 1 accepts */
	struct delayed_work tick;	/* renews the budgets, if messages are limited */
};

extern unsigned int stream_per_tick;

/* stream.c: process context, one call at a time */
struct stream *stream_start(unsigned int number, const char *name);
bool stream_stop(struct stream *s);
void stream_kill(struct stream *s);
void stream_show(struct seq_file *m, struct stream *s);

/* scale.c: process context, one call at a time */
int scale_open(char *name, unsigned int count);
int scale_connect(unsigned int first);
int scale_exchange(void);
int scale_disconnect(void);
int scale_close(void);
void scale_kill(void);

#endif /* _KDAPL_TRAFFIC_H_ */
