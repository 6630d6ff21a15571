/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client of datblk: its objects and the calls between its files.
 *
 *	control.c	/dev/datblk-control, the list of disks, the module
 *	options.c	the options of a disk
 *	connect.c	the first connect of a disk, and its removal
 *	disk.c		a disk of the block layer and its sysfs attributes
 *	session.c	connects the queues of a server, ends and repairs connections
 *	share.c		the disks of a session
 *	paths.c		the addresses of the server, and which ones are used
 *	probe.c		asks the server whether paths that have failed work again
 *	queue.c		a connection: objects of DAT, memory, events
 *	message.c	commands and answers
 *	login.c		the login of a connection, and proofs of the key
 *	blk_ops.c	requests of the block layer
 *	tags.c		the tags of a queue that several disks use
 *	resubmit.c	writes that are kept until they are flushed
 *	debugfs.c	statistics of the queues
 *	discover.c	lists the devices of a server
 */
#ifndef _DATBLK_CLIENT_H_
#define _DATBLK_CLIENT_H_

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "protocol/protocol.h"

/* A request, or a batch of repeated writes, is issued again this many times, and then fails */
#define DATBLK_RETRIES	5

/*
 * A batch that the server could not execute is sent again after this time. A request is issued
 * again after twice this time, which doubles with each retry.
 */
#define DATBLK_RETRY_MS	50

/* How long a connection request may take */
#define DATBLK_CONNECT_US	(5 * USEC_PER_SEC)

/* Paths of a disk */
#define DATBLK_PATHS_MAX	8

/* Private data of an accept or a reject: the rest of a longer one has no meaning */
#define DATBLK_PRIVATE_ROOM	sizeof(struct datblk_welcome)

/* What the administrator asks for: options of the connections to a server */
struct datblk_remote_options {
	char ia[DAT_NAME_MAX_LENGTH];	/* of the paths that name none */
	u16 qual;
	bool round_robin;		/* the queues are spread over the paths */
	unsigned int queues;
	unsigned int depth;
	unsigned int io_kib;
};

/* What the administrator asks for: options of a disk */
struct datblk_options {
	char device[DATBLK_NAME_MAX];
	struct crypto_shash *key;	/* client and server prove that they have it; NULL: none */
	/* Seconds without a good session until I/O fails, until the client gives up; 0: never */
	unsigned int fail_io_timeout;
	unsigned int reconnect_timeout;
	/* Memory for answered writes that are not flushed, in order to repeat them; 0: none */
	unsigned int resubmit_kib;
};

/* Writes with FUA that the ring below may have, and a mark for every 256th of them */
#define DATBLK_KEPT_FUA		16384
#define DATBLK_KEPT_MARKS	64

/*
 * Copies of the writes that were answered and not flushed since, in the order of the answers, in a
 * ring. A position counts the bytes that were ever kept.
 */
struct datblk_kept {
	void *ring;			/* constant; NULL: writes are not kept */
	u32 size;			/* of the ring; constant */
	spinlock_t lock;		/* guards the following; bottom halves off */
	u64 tail;			/* position of the oldest write */
	u64 head;			/* position after the latest write */
	u64 fua;			/* of the latest write with FUA, or less than tail */
	u64 fuas;			/* number of writes with FUA, ever */
	u64 marks[DATBLK_KEPT_MARKS];	/* positions of some of the latest of them */
	u64 dropped;			/* after the latest write that found no room, or 0 */
	/* By queue: position of the write that it copies. Set under the lock, reset without it */
	u64 copying[DATBLK_QUEUES_MAX];
};

/* In the ring, before the data of a write. Zeroes, and writes with FUA, have no data */
struct datblk_kept_write {
	u64 sector;
	u64 fua;			/* position of the last write with FUA before this one */
	u32 length;
	u8 op;				/* DATBLK_OP_WRITE or DATBLK_OP_ZEROES */
	u8 flags;			/* DATBLK_NOUNMAP, DATBLK_FUA */
	u16 reserved;
};

/* Reads the ring, while no write is added or released */
struct datblk_kept_cursor {
	struct datblk_kept_write write;	/* part of the current one that can be read now */
	u32 rest;			/* bytes of it after that part */
	u64 at;				/* its position */
	u64 data;			/* position of the data of the part */
	u64 next;			/* position of the next write */
	u64 end;
};

enum datblk_path_state {
	DATBLK_PATH_STANDBY,		/* not in use, and not failed since */
	DATBLK_PATH_LIVE,		/* in use */
	DATBLK_PATH_FAILED,		/* its last session has ended, or could not be opened */
};

/* A way to the server: an address, and the IA by which it is reached */
struct datblk_path {
	char ia_name[DAT_NAME_MAX_LENGTH];	/* constant, like address and to */
	char address[64];
	struct sockaddr_storage to;
	enum datblk_path_state state;	/* written by the session's owner; READ_ONCE */
	const char *reason;		/* of the last failure, or of -EBUSY; like state */
	DAT_IA_HANDLE ia;		/* of the session, or DAT_HANDLE_NULL; like state */
};

enum datblk_state {
	DATBLK_CONNECTING,		/* not yet a disk */
	DATBLK_LIVE,
	DATBLK_RECOVERING,		/* requests wait */
	DATBLK_FAILING,			/* no connection, and requests fail */
	DATBLK_DEAD,			/* the same, and the client does not try any more */
};

/*
 * A server that one disk uses, or several share: the paths to it, and the session. The owner of the
 * session holds lock: the work item recover, or a task that connects or removes a disk. The last
 * run of that work item closes the session: see datblk_session_end().
 */
struct datblk_remote {
	struct mutex lock;		/* held by the owner of the session */
	struct list_head disks;		/* lock */
	refcount_t users;		/* disks that refer to it */
	unsigned int members;		/* disks with reserved tags; lock, READ_ONCE */
	bool shared;			/* other disks may use it, too; constant */
	bool keyed;			/* its disks have keys; constant */
	bool ready;			/* it has had a session; lock */
	int id;				/* of the disk that created it; constant */
	u32 sessions;			/* number of sessions so far; lock */
	u16 number;			/* of the disk of the connection requests; lock */
	u16 logins;			/* bits of the login numbers in use; lock */
	struct datblk_disk *leader;	/* connects, and probes, for all; lock, READ_ONCE */
	bool refused;			/* the server has refused the last login; lock */
	struct datblk_remote_options options;	/* constant */
	struct datblk_path paths[DATBLK_PATHS_MAX];
	unsigned int path_count;	/* constant */
	unsigned int path;		/* of queue 0, or to be tried next; as paths[].state */
	unsigned int tried;		/* paths that failed since the last answer; as path */
	unsigned long ended;		/* bits of paths over which a connection ended; atomic */
	unsigned long answering;	/* bits of failed paths that answer a probe; atomic */
	unsigned int renewals;		/* in quick succession: see probe.c; as path */
	unsigned int refusals;		/* of probes, in succession; by probe; READ_ONCE */
	unsigned long renewed;		/* jiffies of the last one; as path */
	bool renewing;			/* a good session was closed for another one; as path */
	enum datblk_state state;	/* CONNECTING, LIVE or RECOVERING; cmpxchg, or the owner */
	bool removed;			/* the work item closes the session; set once; READ_ONCE */
	bool lost;			/* the session cannot be used; barriers, see session.c */
	bool had_command;		/* the session has had a command; READ_ONCE */
	bool greeted;			/* it has answered the first ping of a queue; READ_ONCE */
	bool had_answer;		/* the session has answered a command; READ_ONCE */
	bool had_pong;			/* it has answered a ping of a heartbeat; READ_ONCE */
	const char *reason;		/* of the last failed attempt; by the session's owner */
	struct datblk_limits limits;	/* constant after the first session */
	/* Woken when repeated writes or a LOGIN are answered, or the session is lost */
	wait_queue_head_t repeated;
	bool open;			/* the session exists; by its owner; READ_ONCE */
	unsigned long live_at;		/* jiffies when the session went live */
	unsigned long command_at;	/* jiffies of its first command; READ_ONCE */
	unsigned int backoff;		/* ms until the next attempt */
	unsigned int login_backoff;	/* the same, to log in disks that were left out */
	struct delayed_work recover;
	struct delayed_work probe;
	struct datblk_queue *queues;
};

/* A disk. The session's owner is that of the session of its server */
struct datblk_disk {
	struct list_head link;		/* datblk_disks_lock of control.c */
	struct datblk_remote *remote;	/* may be replaced by spare, once */
	struct datblk_remote *spare;	/* not shared, until it is connected; datblk_disks_lock */
	struct list_head of_remote;	/* lock of the server */
	bool logged_in;			/* to the session; by the session's owner */
	bool had_session;		/* it was live in the session; by the session's owner */
	bool changed;			/* its device may have changed; by the session's owner */
	bool at_fault;			/* it may have ended the last session; READ_ONCE */
	u8 login;			/* number of its login; constant while logged in */
	int id;
	u16 number;			/* for the login; constant once the disk is on the list */
	bool added;			/* datblk_disks_lock */
	bool removing;			/* datblk_disks_lock */
	bool closing;			/* cannot be opened any more; READ_ONCE */
	struct datblk_options options;	/* constant */
	enum datblk_state state;	/* by the session's owner; READ_ONCE */
	const char *reason;		/* why it has no session; as state */
	bool deleting;			/* requests need not wait for a connection; set once */
	unsigned long deadline;		/* jiffies until which a removal waits for requests */
	u32 incarnation;		/* of the session */
	u32 recoveries;			/* number of sessions after the first */
	atomic_t errors;		/* requests that have failed; no lock */
	struct datblk_geometry geo;	/* of the session */
	struct datblk_geometry next_geo;	/* of the last login, until it is checked */
	uuid_t uuid;			/* constant after the first session */
	struct datblk_writes writes;
	struct datblk_kept kept;
	struct datblk_pdu *repeats;	/* one for each tag of a queue, if writes are kept */
	u64 repeated_to;		/* furthest position of a repeat; by the session's owner */
	bool quiesced;			/* by the session's owner */
	unsigned long good_at;		/* jiffies when a session was last known to be good */
	struct blk_mq_tag_set set;
	struct gendisk *gendisk;	/* NULL until the first session exists */
	struct dentry *debugfs;
};

/* The tags of a queue that several disks use: see tags.c. queue->lock guards them */
struct datblk_tag_pool {
	DECLARE_BITMAP(taken, DATBLK_DEPTH_MAX);
	unsigned int count;		/* number of tags that are taken */
	u8 held[DATBLK_LOGINS];		/* number of tags that each login holds */
	u16 holders;			/* bits of the logins that hold tags */
	u16 waiters;			/* bits of the logins that wait for another tag */
	struct blk_mq_hw_ctx *hctxs[DATBLK_LOGINS];	/* of the waiters */
};

/* A hardware queue and its connection. All events come from one EVD, so upcalls are serial */
struct datblk_queue {
	struct datblk_remote *remote;	/* constant */
	unsigned int index;		/* constant */
	struct datblk_path *path;	/* of its connection; by the session's owner; READ_ONCE */
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct datblk_buffers receives;	/* one for each tag */
	struct datblk_buffers messages;	/* of commands, with their data */
	DAT_LMR_HANDLE *lmrs;		/* one for each tag: pages of a larger request */
	spinlock_t lock;		/* guards the following; bottom halves off */
	struct datblk_pdu **pdus;	/* that have been queued and not answered, by tag */
	unsigned int busy;		/* their number */
	struct list_head pending;	/* commands that wait to be sent */
	struct list_head flying;	/* commands that were posted, the oldest one first */
	unsigned int waiting;		/* their number */
	struct datblk_ring ring;	/* of the messages */
	unsigned int sending;		/* messages whose completion will come */
	u64 commands;			/* that were queued, in all sessions */
	u64 posted;			/* messages with commands, in all sessions */
	u64 answers;			/* to the commands, in all sessions */
	struct datblk_pdu *ping;
	struct datblk_pdu *login;	/* a LOGIN or LOGOUT, one at a time */
	void *login_data;		/* of the LOGIN: DATBLK_LOGIN_BYTES */
	bool logging_in;		/* login has not been answered; release, acquire */
	atomic_t repeating;		/* repeated writes that are not complete; no lock */
	bool pinging;			/* the ping has not been answered */
	bool greeting;			/* and it is the one of the login */
	unsigned long pinged;		/* jiffies when it was queued */
	struct datblk_tag_pool tags;	/* used if disks may share the connection; lock */
	/* Outcome of the connection attempt: written by the upcall before it completes it */
	struct completion outcome;
	bool established;
	DAT_EVENT_NUMBER event;
	u8 private[DATBLK_PRIVATE_ROOM]; /* private data of the server */
	size_t private_size;
};

/* What datblk stores with a request. lock of the queue guards posted */
struct datblk_pdu {
	struct list_head link;		/* queue->pending, then queue->flying */
	struct datblk_command c;
	u16 number;			/* of its disk, for tracepoints */
	const struct datblk_disk *disk;	/* of a repeated write */
	bool own;			/* a ping, login or repeated write: has no request */
	blk_status_t status;
	bool posted;			/* its message has been posted */
	bool lost;			/* with its connection */
	bool suspect;			/* the loss may count: see datblk_request_worn_out() */
	bool retry;			/* the server could not execute it just now */
	bool old;			/* it was in flight when all were marked; no lock */
	bool unflushed;			/* of a flush: see datblk_writes_flushing() */
	u64 kept;			/* of a flush: datblk_kept_flushing(); of a repeat: data */
	u8 retries;
	struct scatterlist sgl[];
};

/* The path of the session, that of its first queue, or the one to be tried next */
static inline struct datblk_path *datblk_path(struct datblk_remote *remote)
{
	return &remote->paths[READ_ONCE(remote->path)];
}

static inline struct datblk_disk *datblk_first_disk(const struct datblk_remote *remote)
{
	return list_first_entry(&remote->disks, struct datblk_disk, of_remote);
}

extern struct workqueue_struct *datblk_wq;
extern unsigned long long datblk_host;
extern u32 datblk_boot;

/* Pages of the largest request, which may begin and end in the middle of a page */
static inline unsigned int datblk_pages(const struct datblk_limits *limits)
{
	return DIV_ROUND_UP(limits->io_max, PAGE_SIZE) + 1;
}

/* May the command succeed if it is sent again? */
static inline bool datblk_status_transient(u8 status)
{
	return status == DATBLK_STS_NOMEM || status == DATBLK_STS_AGAIN;
}

void datblk_disk_gone(struct datblk_disk *disk);
int datblk_parse_options(char *line, struct datblk_disk *disk);
bool datblk_remote_matches(const struct datblk_remote *a, const struct datblk_remote *b);

int datblk_disk_make(struct datblk_disk *disk);
int datblk_disk_announce(struct datblk_disk *disk);
int datblk_disk_connect(struct datblk_disk *disk);
void datblk_disk_abort(struct datblk_disk *disk);
void datblk_disk_remove(struct datblk_disk *disk);
bool datblk_disk_removal_expired(const struct datblk_disk *disk);
void datblk_disk_free(struct datblk_disk *disk);
void datblk_remote_free(struct datblk_remote *remote);

int datblk_session_open(struct datblk_remote *remote);
void datblk_session_close(struct datblk_remote *remote);
void datblk_session_end(struct datblk_remote *remote);
void datblk_session_choose_leader(struct datblk_remote *remote);

void datblk_disk_quiesce(struct datblk_disk *disk);
void datblk_disk_resume(struct datblk_disk *disk);
int datblk_disk_log_in(struct datblk_disk *disk);
void datblk_disk_log_out(struct datblk_disk *disk);
bool datblk_disk_waits(const struct datblk_disk *disk);
void datblk_disk_live(struct datblk_disk *disk);
void datblk_disk_take_changes(struct datblk_disk *disk);
int datblk_disk_check(struct datblk_disk *disk);
void datblk_disk_fail(struct datblk_disk *disk);
void datblk_session_fail_others(struct datblk_remote *remote);
void datblk_disk_leave_out(struct datblk_disk *disk, int err);
int datblk_disk_join(struct datblk_disk *disk);
void datblk_session_find_fault(struct datblk_remote *remote);

void datblk_session_lost(struct datblk_remote *remote);
void datblk_session_used(struct datblk_remote *remote);
bool datblk_session_ended(struct datblk_remote *remote);
void datblk_session_live(struct datblk_remote *remote);
void datblk_session_recover(struct work_struct *work);

int datblk_path_add(struct datblk_remote *remote, char *text);
int datblk_paths_complete(struct datblk_remote *remote);
bool datblk_path_next(struct datblk_remote *remote, int err, const char *reason);
int datblk_paths_limit_io(struct datblk_remote *remote);
unsigned int datblk_path_for(const struct datblk_remote *remote, unsigned int queue);
unsigned long datblk_paths_failed(const struct datblk_remote *remote);
bool datblk_paths_missing(const struct datblk_remote *remote);
void datblk_paths_live(struct datblk_remote *remote);
void datblk_paths_restore(struct datblk_remote *remote, unsigned long paths);
ssize_t datblk_paths_show(struct datblk_remote *remote, char *page);

void datblk_probe(struct work_struct *work);
unsigned long datblk_probe_delay(const struct datblk_remote *remote);
void datblk_probe_later(struct datblk_remote *remote);
void datblk_probe_session(struct datblk_remote *remote);
void datblk_probe_renewal(struct datblk_remote *remote);
void datblk_probe_answered(struct datblk_remote *remote, unsigned long statuses);

int datblk_queue_open(struct datblk_queue *queue);
void datblk_queue_drop(struct datblk_queue *queue);
void datblk_queue_free(struct datblk_queue *queue);
void datblk_queue_lost(struct datblk_queue *queue);
int datblk_queue_receive(struct datblk_queue *queue, unsigned int index);
unsigned int datblk_queue_vector(const struct datblk_queue *queue, unsigned int cpus);
void datblk_queue_greet(struct datblk_queue *queue);
void datblk_queue_heartbeat(struct datblk_queue *queue);
void datblk_queue_add(struct datblk_queue *queue, struct request *rq, bool last);
void datblk_queue_add_own(struct datblk_queue *queue, struct datblk_pdu *pdu);
void datblk_queue_commit(struct datblk_queue *queue);
void datblk_queue_message_sent(struct datblk_queue *queue, unsigned int index);
void datblk_queue_message_received(struct datblk_queue *queue, unsigned int index,
				   const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* Kinds of DTOs, in the upper half of a cookie; the lower half is an index */
enum { DATBLK_RECEIVE, DATBLK_SEND };

int datblk_login(struct datblk_queue *queue);
int datblk_login_again(struct datblk_queue *queue, struct datblk_disk *disk);
int datblk_logout(struct datblk_queue *queue, const struct datblk_disk *disk);
void datblk_login_fill_late(const struct datblk_queue *queue, struct datblk_wire_login *login);

unsigned int datblk_tags_disks(const struct datblk_limits *limits);
int datblk_tags_take(struct datblk_tag_pool *pool, const struct datblk_remote *remote,
		     unsigned int login);
void datblk_tags_put(struct datblk_tag_pool *pool, unsigned int tag, unsigned int login);
bool datblk_tags_take_for(struct datblk_queue *queue, struct blk_mq_hw_ctx *hctx,
			  struct datblk_pdu *pdu);
void datblk_tags_return(struct datblk_queue *queue, const struct datblk_pdu *pdu);
void datblk_tags_forget(struct datblk_remote *remote, const struct request_queue *q);
int datblk_tags_reserve(struct datblk_remote *remote);

extern const struct blk_mq_ops datblk_mq_ops;
blk_status_t datblk_blk_status(u8 status);
blk_status_t datblk_request_exposed(struct datblk_queue *queue, struct datblk_pdu *pdu,
				    DAT_RETURN ret);
void datblk_request_data(struct datblk_pdu *pdu, void *to);
bool datblk_request_again(struct datblk_pdu *pdu);
bool datblk_request_worn_out(const struct datblk_disk *disk, struct datblk_pdu *pdu);
void datblk_request_lost(const struct datblk_remote *remote, struct datblk_pdu *pdu);
bool datblk_request_cancel(struct request *rq, void *data);
bool datblk_request_mark(struct request *rq, void *data);
bool datblk_request_old(struct request *rq, void *data);
bool datblk_request_busy(struct request *rq, void *data);
enum datblk_flaw datblk_request_answer(struct datblk_pdu *pdu, const struct datblk_answer *ans,
				       const void *message);

void datblk_debugfs_add(struct datblk_disk *disk);
void datblk_debugfs_remove(struct datblk_disk *disk);
void datblk_debugfs_init(void);
void datblk_debugfs_exit(void);

int datblk_discover(char *line, char *text, size_t room);
unsigned int datblk_discover_probe(struct datblk_remote *remote, const struct datblk_path *path);

int datblk_kept_alloc(struct datblk_kept *kept, unsigned int kib);
void datblk_kept_add(struct datblk_kept *kept, unsigned int queue, const struct datblk_command *c,
		     struct request *rq);
u64 datblk_kept_flushing(struct datblk_kept *kept);
void datblk_kept_flushed(struct datblk_kept *kept, u64 before);
void datblk_kept_forget(struct datblk_kept *kept);
bool datblk_kept_begin(struct datblk_kept *kept, struct datblk_kept_cursor *cursor);
bool datblk_kept_next(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor);
void datblk_kept_read(const struct datblk_kept *kept, struct datblk_kept_cursor *cursor, void *to,
		      u32 length);
void datblk_resubmit_data(const struct datblk_pdu *pdu, void *to);
int datblk_resubmit_all(struct datblk_disk *disk, struct datblk_kept_cursor *cursor,
			int (*batch)(struct datblk_disk *disk, struct datblk_kept_cursor *cursor));
int datblk_resubmit_alloc(struct datblk_disk *disk);
int datblk_resubmit(struct datblk_disk *disk);

#endif /* _DATBLK_CLIENT_H_ */
