/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of datblk on the wire: constants and layouts, no code. All three modules use it;
 * README describes it. All numbers are little endian, all layouts are fixed.
 *
 * A message of either direction consists of data, then headers of one size, then a trailer:
 *
 *	data of the first header with DATBLK_INLINE, of the second one, ...
 *	struct datblk_wire_command or struct datblk_wire_answer, 1 to DATBLK_BATCH times
 *	struct datblk_trailer
 *
 * The data come first, because a receive buffer begins at a page: the server submits the pages
 * of the buffer to the block layer as they are.
 *
 * A message of the server whose size is a multiple of DATBLK_SECTOR has only data. No other message
 * has such a size. It answers the oldest command that has no answer.
 */
#ifndef _DATBLK_WIRE_H_
#define _DATBLK_WIRE_H_

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/sizes.h>
#include <linux/types.h>

#define DATBLK_MAGIC		0x6b6c6264	/* "dblk" */
#define DATBLK_VERSION		6
#define DATBLK_QUAL		4421		/* usual connection qualifier of a port */

#define DATBLK_SECTOR		512		/* unit of sectors, lengths and inline data */
#define DATBLK_SECTOR_MAX	(BIT_ULL(54) - 1) /* sectors; loff_t holds its bytes */
#define DATBLK_BATCH		8		/* commands or answers of a message */
#define DATBLK_INLINE_MAX	8192		/* inline data of a command or an answer */
#define DATBLK_DATA_MAX		SZ_32K		/* inline data of a message */
#define DATBLK_IO_UNIT		4096		/* io_max is a multiple of it */
#define DATBLK_IO_MAX		SZ_1M		/* data of a read or a write */
#define DATBLK_READS		16		/* RDMA reads of a connection at a time */
#define DATBLK_DEPTH_MAX	128		/* tags of a connection */
#define DATBLK_QUEUES_MAX	64		/* connections of a client to a device */
#define DATBLK_LOGINS		16		/* logins of a connection at a time */
#define DATBLK_LOGIN_BYTES	DATBLK_SECTOR	/* data of a LOGIN, and of the answer to it */
#define DATBLK_NAME_MAX		24		/* name of a device, with the terminating 0 */
#define DATBLK_NONCE		32		/* random bytes of a challenge */
#define DATBLK_CHALLENGE_ID	8		/* the first of them, which a proof names */
#define DATBLK_OWN_NONCE	8		/* random bytes of a proof */
#define DATBLK_MAC		32		/* bytes of an HMAC-SHA-256 */

/* Operations of a command */
#define DATBLK_OP_READ		1
#define DATBLK_OP_WRITE		2
#define DATBLK_OP_FLUSH		3
#define DATBLK_OP_DISCARD	4
#define DATBLK_OP_ZEROES	5
/* Operations on the connection, which are answered at once. They have tags of their own */
#define DATBLK_OP_PING		6
#define DATBLK_OP_LOGIN		7	/* logs the connection in to another device */
#define DATBLK_OP_LOGOUT	8	/* ends a login that has no command in flight */
#define DATBLK_OP_MAX		DATBLK_OP_LOGOUT

/* Flags of a command; an answer has only DATBLK_INLINE */
#define DATBLK_INLINE		0x01	/* the data is in the message, or in the answer */
#define DATBLK_FUA		0x02	/* answer when the data is on stable storage */
#define DATBLK_NOUNMAP		0x04	/* of ZEROES: keep the blocks allocated */

/* Status of an answer */
#define DATBLK_STS_OK		0
#define DATBLK_STS_IO		1	/* the device failed */
#define DATBLK_STS_NOSPC	2	/* the file system of the file is full */
#define DATBLK_STS_NOTSUPP	3	/* the device lacks the operation */
#define DATBLK_STS_READONLY	4	/* the export is read-only */
#define DATBLK_STS_RANGE	5	/* beyond the end, or not a multiple of a block */
#define DATBLK_STS_NOMEM	6	/* the server has no memory */
#define DATBLK_STS_AGAIN	7	/* the device was busy: the command may succeed later */
#define DATBLK_STS_MEDIUM	8	/* the device cannot read or write these blocks */
#define DATBLK_STS_MAX		DATBLK_STS_MEDIUM

/* Type of a message */
#define DATBLK_COMMANDS		1
#define DATBLK_ANSWERS		2

/* Status of a welcome or a refusal */
#define DATBLK_ADMIT		0
#define DATBLK_REFUSE_LOGIN	1	/* the login is malformed */
#define DATBLK_REFUSE_VERSION	2	/* the refusal has the version of the server */
#define DATBLK_REFUSE_DEVICE	3	/* no such device is enabled */
#define DATBLK_REFUSE_CLIENT	4	/* the address of the client is not allowed */
#define DATBLK_REFUSE_BUSY	5	/* an earlier connection has I/O, or the login is late */
#define DATBLK_REFUSE_RESOURCES	6	/* the server lacks memory or objects of its adapter */
#define DATBLK_REFUSE_KEYLESS	7	/* the device has a key, and the client has none */
#define DATBLK_REFUSE_NO_KEY	8	/* the login wants a proof, and the device has no key */
#define DATBLK_REFUSE_PROOF	9	/* the proof of the client is wrong */
#define DATBLK_REFUSE_STALE	10	/* the proof names no challenge, or one that has expired */
#define DATBLK_CHALLENGED	11	/* the refusal is a struct datblk_challenge */
#define DATBLK_LISTED		12	/* the refusal is a struct datblk_listing */
#define DATBLK_REFUSE_LATE	13	/* a later session of the disk exists, and none is ending */
#define DATBLK_REFUSE_MAX	DATBLK_REFUSE_LATE

/* Features of a login: none, or one */
#define DATBLK_WANTS_PROOF	0x01	/* the client has a key, and wants a challenge */
#define DATBLK_HAS_PROOF	0x02	/* this is no login, but a struct datblk_wire_proof */
#define DATBLK_ASKS_NEXT	0x04	/* this is no login, but a struct datblk_wire_query */

/* Flags of a welcome */
#define DATBLK_READONLY		0x01
#define DATBLK_WRITE_CACHE	0x02	/* writes are stable after a flush, or with FUA */
#define DATBLK_CAN_DISCARD	0x04
#define DATBLK_CAN_ZEROES	0x08
#define DATBLK_ROTATIONAL	0x10
#define DATBLK_STABLE_WRITES	0x20	/* pages must not change while they are written */
#define DATBLK_WELCOME_FLAGS	0x3f

/*
 * Private data of the client's connection request. The connections of a disk with one incarnation
 * belong together. README describes which earlier connections a login ends, and waits for.
 */
struct datblk_wire_login {
	__le32 magic;
	__le16 version;
	__le16 features;		/* 0 or DATBLK_WANTS_PROOF */
	__le64 host;			/* identifies the client's machine, not 0 */
	__le32 boot;			/* random, drawn when the client's module was loaded */
	__le32 incarnation;		/* of the connections of the disk */
	__le16 disk;			/* tells disks of this device on the same machine apart */
	__le16 io_units;		/* data of a read or a write, in DATBLK_IO_UNIT */
	u8 depth;			/* tags, at most DATBLK_DEPTH_MAX */
	u8 inline_sectors;		/* inline data of a command */
	u8 queue;			/* number of this connection */
	u8 queues;			/* connections of this incarnation */
	char name[DATBLK_NAME_MAX];	/* of the device, padded with zeroes */
};

static_assert(sizeof(struct datblk_wire_login) == 56);

/* Private data of the accept. The limits are at most those of the login */
struct datblk_welcome {
	__le32 magic;
	__le16 version;
	__le16 status;			/* DATBLK_ADMIT */
	__le16 depth;
	__le16 inline_sectors;
	__le32 io_sectors;
	__le64 capacity;		/* sectors */
	__le32 flags;
	__le32 logical;			/* bytes of a block */
	__le32 physical;
	__le32 discard_granularity;	/* bytes; 0 without DATBLK_CAN_DISCARD */
	__le32 discard_sectors;		/* of a command; 0 without DATBLK_CAN_DISCARD */
	__le32 zeroes_sectors;		/* of a command; 0 without DATBLK_CAN_ZEROES */
	u8 uuid[16];			/* of the device, not 0 */
	__le64 instance;		/* changes whenever the server may have lost writes */
	u8 proof[DATBLK_MAC];		/* that the server has the key; 0 if none is used */
};

static_assert(sizeof(struct datblk_welcome) == 104);

/* Private data of the reject */
struct datblk_refusal {
	__le32 magic;
	__le16 version;			/* of the server */
	__le16 status;			/* DATBLK_REFUSE_* */
};

static_assert(sizeof(struct datblk_refusal) == 8);

/* Private data of the reject that answers a login with DATBLK_WANTS_PROOF */
struct datblk_challenge {
	struct datblk_refusal refusal;	/* DATBLK_CHALLENGED */
	u8 nonce[DATBLK_NONCE];		/* for one proof */
};

static_assert(sizeof(struct datblk_challenge) == 40);

/* Private data of the connection request that follows. It stands for the login before it */
struct datblk_wire_proof {
	__le32 magic;
	__le16 version;
	__le16 features;		/* DATBLK_HAS_PROOF */
	u8 challenge[DATBLK_CHALLENGE_ID];
	u8 nonce[DATBLK_OWN_NONCE];	/* of the client */
	u8 mac[DATBLK_MAC];
};

static_assert(sizeof(struct datblk_wire_proof) == 56);

/* Private data of a connection request that asks for the next device that the client may use */
struct datblk_wire_query {
	__le32 magic;
	__le16 version;
	__le16 features;		/* DATBLK_ASKS_NEXT */
	char after[DATBLK_NAME_MAX];	/* the previous name; "" for the first device */
};

static_assert(sizeof(struct datblk_wire_query) == 32);

/* Private data of the reject that answers it; DATBLK_REFUSE_DEVICE follows the last device */
struct datblk_listing {
	struct datblk_refusal refusal;	/* DATBLK_LISTED */
	char name[DATBLK_NAME_MAX];
	__le64 capacity;		/* sectors */
	__le32 flags;			/* of a welcome */
	__le32 logical;			/* bytes of a block */
};

static_assert(sizeof(struct datblk_listing) == 48);

/*
 * A command for a device, or for the connection. A READ or WRITE has either DATBLK_INLINE or a key.
 * The data of a LOGIN begins with the private data of a connection request, and the data of its
 * answer with the private data of the accept or reject. The rest of both is zeroes.
 */
struct datblk_wire_command {
	u8 op;
	u8 flags;
	__le16 tag;
	__le32 length;			/* bytes; 0 of a FLUSH or a PING */
	__le64 sector;			/* 0 of a FLUSH, PING, LOGIN or LOGOUT */
	__le64 address;			/* of the data in the client's memory */
	__le32 key;			/* of that memory; the answer invalidates it */
	u8 login;			/* its number; 0: the connection request, or a PING */
	u8 reserved[3];			/* 0 */
};

static_assert(sizeof(struct datblk_wire_command) == 32);

/* The answer to a command with a key is alone in its message, which invalidates the key */
struct datblk_wire_answer {
	__le16 tag;
	u8 status;
	u8 flags;			/* DATBLK_INLINE: data of a READ are in the message */
	__le32 length;			/* bytes of inline data */
};

static_assert(sizeof(struct datblk_wire_answer) == 8);

struct datblk_trailer {
	u8 count;			/* of headers */
	u8 type;			/* DATBLK_COMMANDS or DATBLK_ANSWERS */
	__le16 reserved;		/* 0 */
	__le32 data;			/* bytes of inline data */
};

static_assert(sizeof(struct datblk_trailer) == 8);

/* Bytes of the largest message of either type */
#define DATBLK_COMMANDS_MAX	(DATBLK_BATCH * sizeof(struct datblk_wire_command) + \
				 sizeof(struct datblk_trailer))
#define DATBLK_MESSAGE_MAX	(DATBLK_DATA_MAX + DATBLK_COMMANDS_MAX)
/* Headers follow data of whole sectors, and none crosses a page */
static_assert(DATBLK_COMMANDS_MAX < DATBLK_SECTOR);

#endif /* _DATBLK_WIRE_H_ */
