/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdapl_blk_hostile.ko: a client and a server of the block device over DAT, on plain verbs, that
 * send malformed, random and out-of-order messages. They test the real server and the real client.
 *
 *	main.c		the module and its verdict
 *	peer.c		a connection: its queue pair, its memory, its completions
 *	messages.c	messages, correct and spoiled ones
 *	client.c	the hostile client
 *	logins.c	connections of the hostile client with several logins
 *	intruder.c	a client without the key of the server
 *	server.c	the hostile server
 */
#ifndef _KDAPL_BLK_HOSTILE_H_
#define _KDAPL_BLK_HOSTILE_H_

#include <linux/prandom.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "protocol/protocol.h"
#include "kdapl_test.h"

#define HOSTILE_DEPTH	16		/* tags of a connection */
#define HOSTILE_SENDS	32		/* messages in flight of a connection */
#define HOSTILE_TAGS	(HOSTILE_DEPTH + 2)
#define HOSTILE_RECVS	HOSTILE_TAGS
#define HOSTILE_ROOM	SZ_64K		/* of a message, larger than the protocol allows */
#define HOSTILE_REGION	SZ_16K		/* memory that a key of the client covers */

/* A message that is being sent or received */
struct hostile_slot {
	struct hostile_peer *peer;
	struct ib_cqe cqe;
	void *memory;
	bool busy;			/* peer->lock; of a send */
};

/* A connection. The completions of its CQ are serial, in process context */
struct hostile_peer {
	struct list_head link;		/* server.c */
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr;		/* of the client */
	void *region;			/* memory of the MR */
	struct hostile_slot sends[HOSTILE_SENDS];
	struct hostile_slot receives[HOSTILE_RECVS];
	void (*received)(struct hostile_peer *peer, const void *message, const struct ib_wc *wc);
	wait_queue_head_t wait;		/* woken when a connection changes */
	bool resolved;			/* the route */
	bool answered;			/* rdma_cm has told the outcome of the request */
	bool established;
	bool over;			/* nothing is sent any more; READ_ONCE */
	spinlock_t lock;		/* guards busy of the slots */
	struct rnd_state rnd;		/* of whoever sends: the thread or the completions */
	struct datblk_limits limits;	/* what the peers have agreed on */
	struct datblk_geometry geo;
	u8 private[sizeof(struct datblk_welcome)];	/* of the answer to a login */
	u8 private_size;
	/* The client; the counters are written by the side that is named, and read by the other */
	bool sound;			/* it has sent correct messages only, and has receives */
	bool honest;			/* it stays sound, and no login replaces it */
	bool logins;			/* it sends random LOGINs and uses login numbers */
	/* Tags of commands that have not been answered, and of those that must succeed; atomic */
	DECLARE_BITMAP(outstanding, HOSTILE_TAGS);
	DECLARE_BITMAP(succeeds, HOSTILE_TAGS);
	u32 commands;			/* sent, by the thread */
	u32 answers;			/* by the completions */
	bool registered;		/* the MR has a key that has not been invalidated */
	/* The server */
	struct ib_cqe rdma, beyond;	/* of RDMA writes within, and beyond, the memory of a key */
	struct hostile_slot *held;	/* an answer that is sent after the next one */
	u32 held_size;
	u16 numbers;			/* bit n: the client must have a login with the number n */
	u16 used;			/* those of them for which the client has sent a command */
	bool greeted;			/* the client has sent the PING that it begins with */
	bool unproved;			/* the client has a key that the server lacks */
};

extern unsigned long hostile_messages;
extern char *hostile_address;
extern char *hostile_names[4];
extern int hostile_name_count;
extern unsigned short hostile_qual;
extern bool hostile_keyless;
extern bool hostile_counting;

/* A random number below @end; 0 if @end is 0 */
static inline u32 hostile_below(struct rnd_state *rnd, u32 end)
{
	return end ? prandom_u32_state(rnd) % end : 0;
}

static inline bool hostile_one_in(struct rnd_state *rnd, u32 n)
{
	return !hostile_below(rnd, n);
}

/* main.c; any context */
bool hostile_done(void);
void hostile_count(void);
void hostile_answered(unsigned int count);
void hostile_logged_in(void);
void hostile_seed(struct rnd_state *rnd);
bool hostile_to(struct sockaddr_storage *to);

/* peer.c; process context */
struct hostile_peer *hostile_peer_new(void);
int hostile_peer_make(struct hostile_peer *peer, bool receives);
void hostile_peer_note(struct hostile_peer *peer, const struct rdma_cm_event *event);
void hostile_peer_over(struct hostile_peer *peer);
void hostile_peer_free(struct hostile_peer *peer);
struct hostile_slot *hostile_send_slot(struct hostile_peer *peer);
bool hostile_send(struct hostile_slot *slot, u32 size, u32 key, bool invalidate);
bool hostile_register(struct hostile_peer *peer);

/* messages.c; any context */
void hostile_login(struct hostile_peer *peer, struct datblk_wire_login *login);
u32 hostile_commands(struct hostile_peer *peer, void *message, unsigned int *count);
u32 hostile_answer(struct hostile_peer *peer, void *message, const struct datblk_command *cmds,
		   unsigned int count);
void hostile_flip(struct rnd_state *rnd, void *bytes, u32 size);
u32 hostile_spoil(struct hostile_peer *peer, void *message, u32 size);

/* client.c; any context, and the thread of the test */
int hostile_client_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
bool hostile_resolve(struct hostile_peer *peer);
bool hostile_wait_outcome(struct hostile_peer *peer);
struct hostile_peer *hostile_meet(bool honest, bool receives);
bool hostile_all_answered(struct hostile_peer *peer);
void hostile_expect_end(struct hostile_peer *peer, const char *why);

/* client.c, logins.c, intruder.c, server.c: the thread of the test */
void hostile_client(void);
void hostile_logins(void);
void hostile_intruder(void);
void hostile_server(void);

#endif /* _KDAPL_BLK_HOSTILE_H_ */
