/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server of datblk: its objects and the calls between its files.
 *
 *	configfs.c	ports and devices, as the administrator sees them
 *	port.c		a port: listens, and stops
 *	login.c		checks logins
 *	auth.c		keys of exports, and proofs of logins
 *	connection.c	a connection: its logins, objects of DAT, events, end
 *	export.c	a device: opened, closed, found by logins
 *	command.c	commands of a connection and their answers
 *	backing.c	the block device or file behind an export
 */
#ifndef _DATBLK_SERVER_H_
#define _DATBLK_SERVER_H_

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/errseq.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "protocol/protocol.h"

#define DATBLK_CLIENTS_MAX	1024		/* bytes of the list of allowed addresses */

/*
 * Guards the lists of exports and connections, and what is said below. Process context; taken
 * inside the mutex of a port. Nobody who holds it waits for I/O, memory or the adapter, so that
 * an export that hangs stops no other.
 */
extern struct mutex datblk_srv_lock;
extern wait_queue_head_t datblk_srv_settled;		/* see datblk_srv_wait() */
extern struct workqueue_struct *datblk_login_wq;	/* logins of all ports */
extern struct workqueue_struct *datblk_end_wq;		/* ends connections and logins */
extern struct workqueue_struct *datblk_state_wq;	/* opens and closes exports and ports */
extern unsigned int datblk_depth, datblk_io_kib, datblk_connections;
extern unsigned int datblk_device_connections, datblk_host_connections, datblk_first_command;

/* State of an export or a port. Only its work item ends the states OPENING and CLOSING */
enum datblk_srv_state {
	DATBLK_OFF,
	DATBLK_OPENING,				/* exports only */
	DATBLK_ON,
	DATBLK_CLOSING,				/* until its last connection has ended */
};

/* Limit of a wait in a write of an attribute, which blocks the removal of its object */
#define DATBLK_SRV_WAIT		(10 * HZ)

/*
 * A device that clients can use. datblk_srv_lock guards it. path, uuid and direct change only in
 * state OFF. The work item writes what is marked with (1), which is constant in state ON.
 */
struct datblk_export {
	struct config_group group;
	struct list_head link;
	struct list_head logins;
	unsigned int count;			/* of them */
	char *path;
	char clients[DATBLK_CLIENTS_MAX];	/* addresses, separated by spaces; "": all */
	struct crypto_shash *key;		/* of hosts without one of their own; or NULL */
	struct list_head host_keys;		/* see auth.c */
	u64 refused;				/* logins without the right key */
	uuid_t uuid;
	u64 instance;				/* see export.c */
	bool read_only;
	bool direct;				/* a file is used without the page cache */
	bool renewing;				/* connections with older properties are ending */
	enum datblk_srv_state state;
	bool wanted;				/* by the administrator */
	bool removed;				/* from configfs; the work item puts it */
	int err;				/* why it could not be opened */
	struct path root;			/* of the task that enabled it; only in OPENING */
	struct file *file;			/* (1) */
	struct block_device *bdev;		/* (1) NULL: a regular file */
	struct datblk_geometry geo;		/* for logins; see datblk_export_lacks() */
	u64 losses;				/* how often writes may have been lost */
	errseq_t wb_err;			/* write-back errors that are in losses */
	struct mutex flush_lock;		/* one flush at a time; outside datblk_srv_lock */
	unsigned int flushes;			/* of the whole device begun; flush_lock */
	struct workqueue_struct *io_wq;		/* (1) I/O that sleeps */
	struct work_struct work;		/* opens and closes it */
};

/* Where the server listens. config guards it, except what datblk_srv_lock guards */
struct datblk_port {
	struct config_group group;
	struct mutex config;			/* outside datblk_srv_lock */
	char ia_name[DAT_NAME_MAX_LENGTH];
	u16 qual;
	bool wanted;				/* by the administrator */
	enum datblk_srv_state state;		/* written with both locks */
	bool lost;				/* the device of the IA has gone; no lock */
	bool removed;				/* from configfs; the work item close puts it */
	DAT_IA_HANDLE ia;			/* constant in state ON */
	DAT_EVD_HANDLE async;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct delayed_work follow_device;
	struct work_struct login;		/* answers connection requests */
	struct work_struct close;
	struct list_head connections;		/* that use the IA; datblk_srv_lock */
	unsigned int count;			/* of them; datblk_srv_lock */
};

/* Pages of inline data, which may begin in the middle of one */
#define DATBLK_INLINE_PAGES	(DATBLK_INLINE_MAX / PAGE_SIZE + 2)

/*
 * The command of a tag. The upcall that has received it owns it, then its I/O, then whoever
 * collects it: see datblk_cmd_done(). conn->lock guards busy, receive and link.
 */
struct datblk_srv_command {
	struct datblk_connection *conn;
	struct datblk_srv_login *login;		/* its login; of a PING, the first one */
	struct datblk_command c;
	bool busy;				/* received, and the answer has not been posted */
	int receive;				/* receive buffer with its data, or -1 */
	int buffer;				/* data buffer that it has, or -1 */
	u8 status;				/* DATBLK_STS_*; the I/O writes it */
	bool written;				/* its bio succeeded, and a flush follows */
	struct bio bio;
	struct bio_vec *vecs;			/* its data, as whole pages if it has a buffer */
	struct bio_vec inlined[DATBLK_INLINE_PAGES];	/* of data that came with the message */
	struct work_struct work;		/* I/O that sleeps */
	struct llist_node done;
	struct list_head link;			/* in conn->answers, or in starved of a pool */
};

/* Data buffers of one size that nobody has: a stack of their indexes. conn->lock */
struct datblk_srv_pool {
	u16 *spare;
	unsigned int count;
	struct list_head starved;		/* commands that wait for one */
};

/* A message of answers, and the data buffers that it returns when it has been sent. conn->lock */
struct datblk_srv_message {
	unsigned int count;
	u16 buffers[DATBLK_BATCH];
};

/*
 * A connection request or a LOGIN, until it has been answered. On the stack of the work item login,
 * or of an upcall of the connection.
 */
struct datblk_attempt {
	const void *data;			/* private data of the request */
	size_t size;				/* of data */
	const struct sockaddr *peer;		/* address of the client */
	struct datblk_login req;
	bool has_proof;				/* the second request of a client with a key */
	struct datblk_transcript transcript;	/* of a login that wants a proof */
	struct datblk_wire_proof proof;
	struct datblk_export *export;		/* that the client may use; datblk_srv_lock */
	struct datblk_welcome welcome;		/* if it is admitted */
	struct datblk_refusal refusal;		/* if it is refused */
	const char *why;			/* for the log, if more exact than the status */
};

/* Bits of flags */
enum {
	DATBLK_CONN_DEAD,
	DATBLK_CONN_USED,			/* it has sent a command */
};

/*
 * A login: the use of an export by a connection. It is on the list of the export from its admission
 * until it and its I/O have ended. Then another login may have its number.
 */
struct datblk_srv_login {
	struct datblk_connection *conn;		/* constant */
	struct datblk_export *export;		/* NULL: the number is free; datblk_srv_lock */
	struct list_head of_export;		/* datblk_srv_lock */
	bool ended;				/* the client has logged out; datblk_srv_lock */
	struct datblk_login req;		/* constant */
	struct datblk_geometry geo;		/* what the welcome said; constant */
	refcount_t ios;				/* one for each I/O, and one until the login ends */
	struct work_struct leave_export;	/* ios is 0: ends its use of the export */
};

/*
 * A connection of a client. It is on the list of its port from its admission on, before its DAT
 * objects are created. Its release waits until that is done. Members without a remark are constant
 * from then on.
 */
struct datblk_connection {
	struct datblk_port *port;		/* constant; valid until the release */
	struct list_head of_port;		/* datblk_srv_lock */
	struct datblk_limits limits;		/* constant */
	struct sockaddr_storage peer;		/* constant */
	bool keyed;				/* its logins have a key; constant */
	struct datblk_srv_login logins[DATBLK_LOGINS];	/* by number */
	refcount_t uses;			/* one for each login, and one until the release */
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	unsigned int segments;			/* of a send */
	struct datblk_buffers receives;		/* one for each tag */
	struct datblk_buffers data;		/* allocated by the first use, in an upcall */
	unsigned int large_from;		/* index of the first large one */
	struct bio_vec **pages;			/* of each data buffer; as data */
	struct datblk_buffers headers;		/* one for each message */
	struct datblk_srv_command *cmds;		/* one for each tag */
	struct datblk_srv_message *messages;	/* a ring */
	unsigned int upcalls;			/* in which more was true; by the upcall */
	bool collecting;			/* an upcall will look at done; READ_ONCE */
	struct llist_head done;			/* commands whose I/O has ended; lockless */
	spinlock_t lock;			/* guards the following; bottom halves off */
	u8 *users;				/* commands that need a receive buffer */
	struct datblk_logins numbers;		/* login numbers that commands may use */
	unsigned int busy;			/* commands that are; READ_ONCE elsewhere */
	struct datblk_srv_pool small, large;	/* data buffers */
	struct list_head answers;		/* commands that wait to be answered */
	unsigned int waiting;			/* their number */
	struct datblk_ring ring;		/* of the messages */
	unsigned int sending;			/* messages whose completion will come */
	unsigned long flags;			/* atomic bits */
	struct completion login_done;		/* the login does not use it any more */
	struct delayed_work first_command;	/* time limit of the first command */
	struct work_struct release;		/* ends its use of the port, and its logins */
};

/* Has a login that is on the list of its export ended? datblk_srv_lock held */
static inline bool datblk_login_over(const struct datblk_srv_login *login)
{
	return login->ended || test_bit(DATBLK_CONN_DEAD, &login->conn->flags);
}

int datblk_srv_wait(const enum datblk_srv_state *state);

struct datblk_export *datblk_export_create(void);
void datblk_export_list(struct datblk_export *export);
void datblk_export_free(struct datblk_export *export);
int datblk_export_enable(struct datblk_export *export);
int datblk_export_disable(struct datblk_export *export);
void datblk_export_remove(struct datblk_export *export);
int datblk_export_set_read_only(struct datblk_export *export, bool value);
int datblk_export_revalidate_size(struct datblk_export *export);
void datblk_export_end_connections(struct datblk_export *export);
void datblk_export_check(struct datblk_export *export);
struct datblk_export *datblk_export_find(const char *name);
struct datblk_export *datblk_export_next(const char *after, const struct sockaddr *peer);
int datblk_export_claim(struct datblk_export *export, struct file *file);
int datblk_export_lost_writes(struct datblk_export *export, int err);
void datblk_export_lacks(struct datblk_export *export, u8 op);
bool datblk_same_host(const struct sockaddr *a, const struct sockaddr *b);
unsigned int datblk_export_logins(const struct datblk_export *export,
				  const struct sockaddr *host);
unsigned int datblk_export_hosts(const struct sockaddr *host);

void datblk_port_follow_device(struct work_struct *work);
int datblk_port_enable(struct datblk_port *port);
int datblk_port_disable(struct datblk_port *port);
void datblk_port_remove(struct datblk_port *port);
void datblk_port_check(struct datblk_port *port);
void datblk_port_close(struct work_struct *work);

bool datblk_login_may_list(const struct datblk_export *export, const struct sockaddr *peer);
void datblk_port_login(struct work_struct *work);
u8 datblk_login_execute(struct datblk_srv_command *cmd);

int datblk_auth_set_key(struct datblk_export *export, const char *hex);
int datblk_auth_set_host_key(struct datblk_export *export, u64 host, const char *hex);
ssize_t datblk_auth_show_hosts(struct datblk_export *export, char *page);
bool datblk_auth_has_key(const struct datblk_export *export);
void datblk_auth_free(struct datblk_export *export);
unsigned int datblk_auth_begin(struct datblk_attempt *attempt);
unsigned int datblk_auth_check(struct datblk_export *export, struct datblk_attempt *attempt);
void datblk_auth_prove(struct datblk_export *export, struct datblk_attempt *attempt);

void datblk_conn_admit(struct datblk_connection *conn, struct datblk_port *port,
		       struct datblk_export *export, const struct datblk_login *req,
		       const struct sockaddr *peer);
int datblk_conn_open(struct datblk_connection *conn);
void datblk_conn_end(struct datblk_connection *conn);
void datblk_conn_put_login(struct datblk_srv_login *login);
void datblk_conn_add_login(struct datblk_connection *conn, unsigned int number,
			   struct datblk_export *export, const struct datblk_login *req);
bool datblk_conn_end_login(struct datblk_connection *conn, unsigned int number);
void datblk_conn_malformed(struct datblk_connection *conn, enum datblk_flaw flaw);
void datblk_conn_kick(struct datblk_connection *conn);
int datblk_conn_receive(struct datblk_connection *conn, unsigned int index);
bool datblk_conn_data(struct datblk_connection *conn, unsigned int index);

void datblk_cmd_message(struct datblk_connection *conn, unsigned int index, u32 size);
void datblk_cmd_fetched(struct datblk_srv_command *cmd);
void datblk_cmd_sent(struct datblk_connection *conn, unsigned int index);
void datblk_cmd_done(struct datblk_srv_command *cmd);
void datblk_cmd_collect(struct datblk_connection *conn);

int datblk_backing_open(struct datblk_export *export);
void datblk_backing_close(struct datblk_export *export);
u64 datblk_backing_capacity(const struct datblk_export *export, const struct file *file);
void datblk_backing_submit(struct datblk_srv_command *cmd);
void datblk_backing_work(struct work_struct *work);

/* Kinds of DTOs, in the upper half of a cookie; the lower half is an index */
enum { DATBLK_RECEIVE, DATBLK_SEND, DATBLK_FETCH, DATBLK_PUT };

#endif /* _DATBLK_SERVER_H_ */
