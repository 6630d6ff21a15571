/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What datblk_core.ko does for the client and the server: it checks everything that a peer
 * sends, and allocates registered memory. A parser copies a message into the structures below, in
 * the byte order of the host; only checked values leave it.
 */
#ifndef _DATBLK_PROTOCOL_H_
#define _DATBLK_PROTOCOL_H_

#include <linux/in6.h>
#include <linux/uuid.h>
#include <dat/kdat_util.h>
#include "wire.h"

/* Why a message is malformed. datblk_flaw_text() gives the text */
enum datblk_flaw {
	DATBLK_SOUND,
	DATBLK_FLAW_SHORT,
	DATBLK_FLAW_LONG,
	DATBLK_FLAW_TYPE,
	DATBLK_FLAW_COUNT,
	DATBLK_FLAW_RESERVED,
	DATBLK_FLAW_DATA,
	DATBLK_FLAW_OP,
	DATBLK_FLAW_FLAGS,
	DATBLK_FLAW_TAG,
	DATBLK_FLAW_TWICE,
	DATBLK_FLAW_LENGTH,
	DATBLK_FLAW_SECTOR,
	DATBLK_FLAW_KEY,
	DATBLK_FLAW_STATUS,
	/* Found by the client or the server, which know the state of the tag */
	DATBLK_FLAW_BUSY,
	DATBLK_FLAW_IDLE,
	DATBLK_FLAW_ANSWER,
	DATBLK_FLAW_INVALIDATE,
	DATBLK_FLAW_LOGIN,
	DATBLK_FLAWS,
};

/* Limits that the login has negotiated; constant during a connection */
struct datblk_limits {
	u32 depth;
	u32 inline_max;		/* bytes */
	u32 io_max;		/* bytes */
};

/* Tags of a connection: one for each command, one for PING, and one for LOGIN and LOGOUT */
static inline unsigned int datblk_tags(const struct datblk_limits *limits)
{
	return limits->depth + 2;
}

static inline u16 datblk_ping_tag(const struct datblk_limits *limits)
{
	return limits->depth;
}

static inline u16 datblk_login_tag(const struct datblk_limits *limits)
{
	return limits->depth + 1;
}

/* The cookie of a DTO: its kind in the upper half, an index in the lower half */
static inline DAT_DTO_COOKIE datblk_cookie(u32 kind, u32 index)
{
	return (DAT_DTO_COOKIE){ .as_64 = (u64)kind << 32 | index };
}

/* A login that has been checked */
struct datblk_login {
	struct datblk_limits limits;
	u64 host;
	u32 boot;
	u32 incarnation;
	u16 disk;
	u8 queue;
	u8 queues;
	bool wants_proof;	/* the client has a key */
	char name[DATBLK_NAME_MAX];
};

/* A device, as a welcome describes it */
struct datblk_geometry {
	u64 capacity;		/* sectors */
	u32 flags;		/* DATBLK_READONLY, ... */
	u32 logical;
	u32 physical;
	u32 discard_granularity;
	u32 discard_sectors;
	u32 zeroes_sectors;
	uuid_t uuid;
	u64 instance;		/* if it changes, writes that were not flushed may be lost */
};

struct datblk_command {
	u64 sector;
	u64 address;
	u32 key;
	u32 length;
	u32 offset;		/* of the inline data of a WRITE or LOGIN in the message */
	u16 tag;
	u8 op;
	u8 flags;
	u8 login;
};

/* Is this a command for a device, and not for the connection? */
static inline bool datblk_for_device(const struct datblk_command *c)
{
	return c->op < DATBLK_OP_PING;
}

/* Is the data of the command in its message? */
static inline bool datblk_brings_data(const struct datblk_command *c)
{
	return (c->op == DATBLK_OP_WRITE || c->op == DATBLK_OP_LOGIN) && c->flags & DATBLK_INLINE;
}

/* The tag of an answer that consists of data only: it is that of the oldest command */
#define DATBLK_TAG_OLDEST	U16_MAX

struct datblk_answer {
	u32 length;
	u32 offset;		/* of the inline data in the message */
	u16 tag;
	u8 status;
	u8 flags;
};

const char *datblk_flaw_text(enum datblk_flaw flaw);
const char *datblk_refusal_text(unsigned int status);
bool datblk_name_ok(const char *name);
unsigned int datblk_check_login(const void *data, size_t size, struct datblk_login *req);
int datblk_check_welcome(const void *data, size_t size, struct datblk_limits *limits,
			 struct datblk_geometry *geo);
unsigned int datblk_check_refusal(const void *data, size_t size);
enum datblk_flaw datblk_parse_commands(const void *message, size_t size,
				       const struct datblk_limits *limits,
				       struct datblk_command *cmds, unsigned int *count);
enum datblk_flaw datblk_parse_answers(const void *message, size_t size,
				      const struct datblk_limits *limits,
				      struct datblk_answer *answers, unsigned int *count);
void datblk_fill_login(struct datblk_wire_login *login, const struct datblk_login *req);
void datblk_fill_welcome(struct datblk_welcome *welcome, const struct datblk_limits *limits,
			 const struct datblk_geometry *geo);
void datblk_fill_command(struct datblk_wire_command *command, const struct datblk_command *cmd);
void datblk_fill_answer(struct datblk_wire_answer *answer, const struct datblk_answer *ans);
void datblk_fill_trailer(struct datblk_trailer *trailer, u8 type, u8 count, u32 data);

void datblk_fill_query(struct datblk_wire_query *query, const char *after);
bool datblk_check_query(const void *data, size_t size, char after[DATBLK_NAME_MAX]);
void datblk_fill_listing(struct datblk_listing *listing, const char *name,
			 const struct datblk_geometry *geo);
bool datblk_check_listing(const void *data, size_t size, char name[DATBLK_NAME_MAX],
			  struct datblk_geometry *geo);

bool datblk_login_late(const struct datblk_login *login, const struct datblk_login *conn);
bool datblk_login_replaces(const struct datblk_login *login, const struct datblk_login *conn);
u32 datblk_range_limit(u64 native, u32 logical);
u8 datblk_check_command(const struct datblk_geometry *geo, const struct datblk_command *c);
u8 datblk_status(int err);

/* The logins of a connection, on the server. The caller serializes the functions below */
struct datblk_logins {
	u16 exist;				/* bits of the logins that exist */
	u16 commands[DATBLK_LOGINS];		/* of each login, not yet answered */
};

static_assert(8 * sizeof_field(struct datblk_logins, exist) >= DATBLK_LOGINS);

/* May a command use its login number? The number of a LOGIN must be free */
static inline enum datblk_flaw datblk_logins_check(const struct datblk_logins *logins,
						   const struct datblk_command *c)
{
	bool exists = logins->exist & BIT(c->login);

	if (c->op == DATBLK_OP_PING)
		return DATBLK_SOUND;
	if (c->op == DATBLK_OP_LOGIN)
		return exists ? DATBLK_FLAW_LOGIN : DATBLK_SOUND;
	return exists ? DATBLK_SOUND : DATBLK_FLAW_LOGIN;
}

/* Counts a command that has been checked */
static inline void datblk_logins_begin(struct datblk_logins *logins,
				       const struct datblk_command *c)
{
	logins->commands[c->login] += datblk_for_device(c);
}

/* The command has been answered, and does not use its login any more */
static inline void datblk_logins_answered(struct datblk_logins *logins,
					  const struct datblk_command *c)
{
	logins->commands[c->login] -= datblk_for_device(c);
}

static inline void datblk_logins_add(struct datblk_logins *logins, unsigned int number)
{
	logins->exist |= BIT(number);
}

/* Returns false, and keeps the login, if it has a command that has not been answered */
static inline bool datblk_logins_remove(struct datblk_logins *logins, unsigned int number)
{
	if (logins->commands[number])
		return false;
	logins->exist &= ~BIT(number);
	return true;
}

struct crypto_shash;

/* What client and server have said to each other before a proof, as it was on the wire */
struct datblk_transcript {
	struct datblk_wire_login login;
	struct datblk_challenge challenge;
	u8 nonce[DATBLK_OWN_NONCE];	/* of the client */
};

static_assert(sizeof(struct datblk_transcript) == sizeof(struct datblk_wire_login) +
	      sizeof(struct datblk_challenge) + DATBLK_OWN_NONCE);

struct crypto_shash *datblk_key_alloc(const char *hex);
void datblk_key_free(struct crypto_shash *key);
bool datblk_is_proof(const void *data, size_t size);
int datblk_prove_client(struct crypto_shash *key, const struct datblk_transcript *t,
			struct datblk_wire_proof *proof);
bool datblk_check_client(struct crypto_shash *key, const struct datblk_transcript *t,
			 const struct datblk_wire_proof *proof);
int datblk_prove_server(struct crypto_shash *key, const struct datblk_transcript *t,
			struct datblk_welcome *welcome);
bool datblk_check_server(struct crypto_shash *key, const struct datblk_transcript *t,
			 const void *data, size_t size);

#define DATBLK_CHALLENGES	256	/* that wait for a proof, of a server */
#define DATBLK_CHALLENGES_HOST	64	/* of one address */
#define DATBLK_CHALLENGE_TIME	(30 * HZ)

/* The challenges of a server, for one proof each. Its owner serializes calls */
struct datblk_challenges {
	struct datblk_waiting {
		struct datblk_wire_login login;
		struct datblk_challenge challenge;
		struct in6_addr peer;
		unsigned long since;	/* jiffies */
		u64 number;		/* of the challenge, in the order in which they were made */
		bool used;
	} waiting[DATBLK_CHALLENGES];
	u64 made;
};

void datblk_challenge_make(struct datblk_challenges *all, const struct in6_addr *peer,
			   const struct datblk_wire_login *login,
			   struct datblk_challenge *challenge);
bool datblk_challenge_take(struct datblk_challenges *all, const struct in6_addr *peer,
			   const struct datblk_wire_proof *proof, struct datblk_transcript *t);

/*
 * What a client knows of its writes to a device with a write cache. The answer to a write says
 * that the server has the data, and the success of a flush that they are stable. If the instance
 * of the device changes in between, the data may be lost, and no later flush can succeed.
 */
struct datblk_writes {
	u64 instance;		/* of the session; written while no request is in flight */
	bool known;		/* there has been a session; as instance */
	bool unflushed;		/* a write was answered after the last flush was sent; atomic */
	bool lost;		/* flushes fail; READ_ONCE */
	bool told;		/* a user of the disk has seen that; READ_ONCE */
};

/* A write was answered, and is not yet stable. Called before the request completes */
static inline void datblk_writes_answered(struct datblk_writes *writes)
{
	/* Most writes find it set, and leave the cache line shared */
	if (!READ_ONCE(writes->unflushed))
		WRITE_ONCE(writes->unflushed, true);
}

/* Must a flush, or a write with FUA, fail? If so, the caller fails it: a user has been told */
static inline bool datblk_writes_lost(struct datblk_writes *writes)
{
	if (likely(!READ_ONCE(writes->lost)))
		return false;
	WRITE_ONCE(writes->told, true);
	return true;
}

const char *datblk_device_changed(const struct datblk_geometry *was,
				  const struct datblk_geometry *now);
bool datblk_writes_flushing(struct datblk_writes *writes);
void datblk_writes_flush_failed(struct datblk_writes *writes, bool before);
bool datblk_writes_at_risk(const struct datblk_writes *writes, u64 instance);
void datblk_writes_repeated(struct datblk_writes *writes, u64 instance);
bool datblk_writes_session(struct datblk_writes *writes, u64 instance);
void datblk_writes_opened(struct datblk_writes *writes);

/*
 * Buffers of one size, each page-aligned and registered by itself. Their owner serializes
 * calls; a connection allocates them before its first post and frees them after its last.
 */
struct datblk_buffers {
	unsigned int count;
	struct kdat_region *regions;
};

int datblk_buffers_alloc(struct datblk_buffers *buffers, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			 unsigned int count, size_t size, DAT_MEM_PRIV_FLAGS priv);
void datblk_buffers_unregister(struct datblk_buffers *buffers);
void datblk_buffers_free(struct datblk_buffers *buffers);

/*
 * The messages of a connection that are in its send queue, in the order in which they were posted.
 * Their owner serializes calls. Not each raises a completion: one that does returns those before
 * it, too. Of each quarter of all messages, at least one raises a completion, so while none is
 * free, a completion will come.
 */
struct datblk_ring {
	unsigned int count;	/* messages; constant */
	unsigned int oldest;	/* index of the oldest one in the queue */
	unsigned int used;	/* number of those in the queue */
	unsigned int quiet;	/* number of the latest ones that raise no completion */
};

/* How many messages in succession may raise no completion? */
static inline unsigned int datblk_ring_quiet_max(unsigned int count)
{
	return max(count / 4, 1U) - 1;
}

static inline bool datblk_ring_full(const struct datblk_ring *ring)
{
	return ring->used == ring->count;
}

/* The next message to be posted; the ring is not full */
static inline unsigned int datblk_ring_next(const struct datblk_ring *ring)
{
	unsigned int index = ring->oldest + ring->used;

	return index < ring->count ? index : index - ring->count;
}

/* Adds this message. Returns whether it raises no completion; @may: nobody waits for it */
static inline bool datblk_ring_add(struct datblk_ring *ring, bool may)
{
	bool quiet = may && ring->quiet < datblk_ring_quiet_max(ring->count);

	ring->quiet = quiet ? ring->quiet + 1 : 0;
	ring->used++;
	return quiet;
}

/* Removes the oldest message, and returns its index */
static inline unsigned int datblk_ring_remove(struct datblk_ring *ring)
{
	unsigned int index = ring->oldest++;

	if (ring->oldest == ring->count)
		ring->oldest = 0;
	ring->used--;
	return index;
}

u32 datblk_io_limit(const DAT_IA_ATTR *attr, u32 io_max);

/* What a connection needs of its endpoint */
struct datblk_ep_needs {
	unsigned int receives;
	unsigned int requests;
	unsigned int reads_in;		/* RDMA reads of the peer at a time */
	unsigned int reads_out;		/* our own */
	const char *vector;		/* number of the completion vector, or NULL: any */
};

int datblk_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd,
		     const struct datblk_ep_needs *needs, DAT_EP_HANDLE *ep,
		     unsigned int *segments);

#endif /* _DATBLK_PROTOCOL_H_ */
