/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server of datblk: its objects and the calls between its files.
 *
 *	configfs.c	ports and devices, as the administrator sees them
 *	port.c		listens, checks logins
 *	connection.c	a connection: objects of DAT, events, end
 *	command.c	commands of a connection and their answers
 *	backing.c	the block device or file behind an export
 */
#ifndef _DATBLK_SERVER_H_
#define _DATBLK_SERVER_H_

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "datblk_core.h"

#define DATBLK_CLIENTS_MAX	1024		/* bytes of the list of allowed addresses */

/*
 * Guards the lists of exports and connections and the settings of exports. Process context;
 * taken inside the mutex of a port.
 */
extern struct mutex datblk_srv_lock;
extern wait_queue_head_t datblk_srv_gone;		/* woken when a connection has gone */
extern struct workqueue_struct *datblk_io_wq;		/* I/O that sleeps */
extern struct workqueue_struct *datblk_release_wq;	/* ends of connections */
extern unsigned int datblk_depth, datblk_io_kib, datblk_connections;

/*
 * A device that clients can use. datblk_srv_lock guards it; file and geo are constant while it
 * is enabled.
 */
struct datblk_export {
	struct config_group group;
	struct list_head link;
	struct list_head connections;
	char *path;
	char clients[DATBLK_CLIENTS_MAX];	/* addresses, separated by spaces; "": all */
	uuid_t uuid;				/* written while the export is not enabled */
	u64 instance;				/* see datblk_export_lost_writes() */
	bool read_only;
	bool enabled;
	struct file *file;
	struct block_device *bdev;		/* NULL: a regular file */
	struct datblk_geometry geo;
};

/* Where the server listens. config serialises enable and disable, and guards the other members */
struct datblk_port {
	struct config_group group;
	struct mutex config;			/* see above; outside datblk_srv_lock */
	char ia_name[DAT_NAME_MAX_LENGTH];
	u16 qual;
	bool enabled;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	struct work_struct work;		/* answers connection requests */
	struct list_head connections;		/* datblk_srv_lock */
	unsigned int count;			/* connections that use the IA; datblk_srv_lock */
};

/* The command of a tag. The work item of the connection owns it, except while it is in I/O */
struct datblk_srv_cmd {
	struct datblk_connection *conn;
	struct datblk_cmd c;
	bool busy;				/* received, and not answered */
	int receive;				/* receive buffer with its data, or -1 */
	u8 status;				/* DATBLK_STS_*; the I/O writes it */
	void *data;				/* of a read or a write */
	struct bio bio;
	struct bio_vec *vecs;
	struct work_struct work;		/* I/O that sleeps */
	struct llist_node done;
	struct list_head answer;
};

/* A message of answers that is being sent */
struct datblk_srv_message {
	struct list_head link;			/* in conn->messages while it is free */
	unsigned int index;
};

enum { DATBLK_CONN_DEAD };			/* bits of flags */

/*
 * A connection of a client. Its work item is the only one that touches the members without
 * another remark, so they need no lock.
 */
struct datblk_connection {
	struct datblk_port *port;		/* constant */
	struct datblk_export *export;		/* constant */
	struct list_head of_port, of_export;	/* datblk_srv_lock */
	struct datblk_request req;		/* constant */
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	unsigned int segments;			/* of a send; constant */
	struct datblk_buffers receives;		/* one for each tag */
	struct datblk_buffers data;		/* one for each tag */
	struct datblk_buffers headers;		/* one for each message */
	struct datblk_srv_cmd *cmds;		/* one for each tag */
	struct datblk_srv_message *sends;	/* one for each tag */
	u8 *users;				/* commands that need a receive buffer */
	struct list_head messages;		/* that are free */
	unsigned int sending;			/* messages that are not */
	struct list_head answers;		/* commands that wait to be answered */
	unsigned int waiting;			/* their number */
	struct llist_head done;			/* commands whose I/O has ended; lockless */
	struct work_struct release;
	unsigned long flags;			/* atomic bits */
	refcount_t ios;				/* I/O in flight, and one until the release */
	struct completion idle;			/* ios is 0 */
};

/* configfs.c */
struct datblk_export *datblk_export_find(const char *name);
void datblk_export_lost_writes(struct datblk_export *export);
/* port.c */
int datblk_port_enable(struct datblk_port *port);
void datblk_port_disable(struct datblk_port *port);
void datblk_port_work(struct work_struct *work);
/* connection.c */
struct datblk_connection *datblk_conn_create(struct datblk_port *port,
					     struct datblk_export *export,
					     const struct datblk_request *req);
void datblk_conn_destroy(struct datblk_connection *conn);
void datblk_conn_end(struct datblk_connection *conn);
void datblk_conn_malformed(struct datblk_connection *conn, enum datblk_flaw flaw);
void datblk_conn_kick(struct datblk_connection *conn);
int datblk_conn_receive(struct datblk_connection *conn, unsigned int index);
/* command.c */
void datblk_cmd_message(struct datblk_connection *conn, unsigned int index, u32 size);
void datblk_cmd_fetched(struct datblk_srv_cmd *cmd);
void datblk_cmd_sent(struct datblk_connection *conn, unsigned int index);
void datblk_cmd_finished(struct datblk_connection *conn);
void datblk_cmd_answer(struct datblk_connection *conn);
/* backing.c */
int datblk_backing_open(struct datblk_export *export);
void datblk_backing_close(struct datblk_export *export);
void datblk_backing_submit(struct datblk_srv_cmd *cmd);
void datblk_backing_work(struct work_struct *work);
void datblk_cmd_done(struct datblk_srv_cmd *cmd, int err);

/* Kinds of DTOs, in the upper half of a cookie; the lower half is an index */
enum { DATBLK_RECEIVE, DATBLK_SEND, DATBLK_FETCH, DATBLK_PUT };

static inline DAT_DTO_COOKIE datblk_cookie(u32 kind, u32 index)
{
	return (DAT_DTO_COOKIE){ .as_64 = (u64)kind << 32 | index };
}

#endif /* _DATBLK_SERVER_H_ */
