/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures and prototypes of the fuzzer.
 *
 * Threads and upcalls make random calls. The generator (generate.c) creates the arguments:
 * most are valid, so that the calls have an effect, and some are invalid. It tells the
 * model (model.c) what is known of each argument, and the model predicts the possible types
 * of the return. A return of any other type is a mismatch.
 *
 * Handles are in pools (pool.c). Any thread may free an object of the shared pool at any
 * time, so the model only knows what is wrong with it. No other thread uses an object of a
 * thread's own pool, so there the model also knows what must succeed. All parents of an
 * object are in one pool, so that no other thread can free them.
 *
 * The contract allows any value for handles, contexts, keys, counts, lengths, flags, masks,
 * addresses to register and the contents of segments. C pointers are valid or NULL. All
 * registered memory is in the arena, between guard pages.
 */
#ifndef _KDAPL_FUZZ_H_
#define _KDAPL_FUZZ_H_

#include <linux/bits.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "kdapl_test.h"

#define THREADS_MAX	8
#define UPCALLS		4		/* upcalls that may make calls at a time */
#define ACTORS		(THREADS_MAX + UPCALLS)
#define CALLS_MAX	80		/* kinds of calls */
#define TYPES		(DAT_HANDLE_TYPE_CSP + 1)
#define POOL_MAX	24		/* objects of one type in a pool */
#define STALE		8
#define ARGS		14
#define IOV		40		/* more than any EP takes */
#define QUAL		7600		/* pairs listen from here on */
#define QUALS		16		/* and random service points below this */
#define SOME_BYTES	128		/* of a segment that is sent */
#define ROOM		1024		/* of one that takes a message of several */
#define PAIR_MAGIC	0x6675007aU

/* Types of return, as sets */
#define R(type)		((u32)BIT((type) >> 16))
#define R_OK		R(DAT_SUCCESS)
#define R_IH		R(DAT_INVALID_HANDLE)
#define R_IP		R(DAT_INVALID_PARAMETER)
#define R_IS		R(DAT_INVALID_STATE)
#define R_IR		R(DAT_INSUFFICIENT_RESOURCES)
#define R_MNS		R(DAT_MODEL_NOT_SUPPORTED)
#define R_PRIV		R(DAT_PRIVILEGES_VIOLATION)
#define R_PROT		R(DAT_PROTECTION_VIOLATION)
#define R_LEN		R(DAT_LENGTH_ERROR)
#define R_EMPTY		R(DAT_QUEUE_EMPTY)
#define R_FULL		R(DAT_QUEUE_FULL)
#define R_PNF		R(DAT_PROVIDER_NOT_FOUND)
#define R_ADDR		R(DAT_INVALID_ADDRESS)
#define R_USED		R(DAT_CONN_QUAL_IN_USE)
#define R_UNAVAIL	R(DAT_CONN_QUAL_UNAVAILABLE)

/* A state of an EP, as a set of one */
#define S(state)	((u32)BIT(DAT_EP_STATE_##state))

/* What is known of an argument */
enum know {
	GOOD,				/* it is valid */
	MAYBE,
	BAD,				/* it is not valid */
};

/* May a random call free it? */
enum hold {
	LOOSE,
	HELD,				/* no, but its IA may be closed */
	PERMANENT,			/* no; it exists during the whole test */
};

/* The attributes of an EP that limit posts */
struct limits {
	u16 recv_dtos, recv_iov, request_iov, read_iov, write_iov;
	u8 recv_flags, request_flags;
	DAT_SEG_LENGTH message, rdma;
};

/* An object, and what was known of it when it was created */
struct thing {
	DAT_HANDLE handle;
	enum know know;			/* when it was chosen */
	enum hold hold;
	DAT_HANDLE ia, pz, evd[3], srq, ep; /* its parents; EVDs: receive, request, connect */
	DAT_EVD_FLAGS flags;		/* EVD */
	DAT_VADDR addr;			/* LMR: its range */
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;		/* LMR, RMR */
	bool fast;			/* of dat_lmr_allocate() */
	bool bound;			/* LMR: an RMR was bound to it */
	bool loose;			/* a peer may have invalidated it */
	struct limits limits;		/* EP; of an SRQ those of receives */
	/* EP: posts no reads; posts no operations of length 0. See fuzz_part() */
	bool no_reads, no_empty;
	DAT_CONN_QUAL qual;		/* PSP, RSP */
};

struct pool {
	/* Guards the other fields */
	spinlock_t lock;
	unsigned int count[TYPES];
	struct thing thing[TYPES][POOL_MAX];
};

struct arg {
	const char *kind;
	u64 value;
};

/* Two EPs that a thread keeps connected, and their objects */
struct pair {
	DAT_EVD_HANDLE dto, conn, cr;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep[2];
	unsigned int stage;
	unsigned long since;
	u64 connected, ended, ticks, up;
};

/* A caller: a thread, or an upcall */
struct fuzz {
	unsigned int index;
	struct rnd_state rnd;
	u64 number;			/* of the call */
	const struct fuzz_call *call;
	bool atomic;			/* it must not sleep */
	bool own;			/* this call uses objects of the own pool */
	struct pool *pool;		/* NULL: an upcall */
	/* The prediction */
	u32 set, must, may;
	bool closed;
	struct arg arg[ARGS];
	unsigned int args;
	/* Handles whose free has succeeded */
	DAT_HANDLE stale[TYPES][STALE];
	unsigned int stales[TYPES];
	/* Of freed or newly registered LMRs; of RMRs the key only */
	DAT_LMR_CONTEXT stale_context[STALE];
	unsigned int stale_contexts;
	DAT_RMR_CONTEXT stale_key[STALE];
	unsigned int stale_keys;
	u64 made[CALLS_MAX], good[CALLS_MAX];
	struct pair pair;
	/* Room for arguments and results */
	struct thing with[6];
	DAT_PADDR pages[2 * 8];
	DAT_LMR_TRIPLET iov[IOV];
	union {
		struct {
			DAT_IA_ATTR ia;
			DAT_PROVIDER_ATTR provider;
		} attr;
		DAT_PROVIDER_INFO info[4];
		DAT_EP_PARAM ep;
		DAT_LMR_PARAM lmr;
		DAT_EVENT event;
	} u;
};

struct fuzz_call {
	const char *name;
	u32 may;			/* all types that the contract allows */
	unsigned int weight;
	bool any_context;		/* class A */
	DAT_RETURN (*make)(struct fuzz *f);
};

struct fuzz_group {
	const struct fuzz_call *call;
	unsigned int calls;
};

#define FUZZ_GROUP(var, array) \
	const struct fuzz_group var = { .call = (array), .calls = ARRAY_SIZE(array) }

extern const struct fuzz_group fuzz_ia, fuzz_evd, fuzz_ep, fuzz_conn, fuzz_post, fuzz_lmr,
			       fuzz_rmr, fuzz_srq, fuzz_sp;

/* main.c */
extern unsigned int fuzz_threads;
extern struct fuzz *fuzz_actor[ACTORS];
extern atomic_t fuzz_budget;
bool fuzz_ending(void);
const struct fuzz_call *fuzz_call_at(unsigned int i);
unsigned int fuzz_calls(void);
void fuzz_call(struct fuzz *f, bool atomic);

/* model.c */
const char *fuzz_type_name(DAT_RETURN ret);
void fuzz_arg(struct fuzz *f, const char *kind, u64 value);
void expect(struct fuzz *f, enum know known, u32 returns);
void expect_first(struct fuzz *f, enum know known, u32 returns);
void expect_begin(struct fuzz *f);
void expect_end(struct fuzz *f, DAT_RETURN ret);
u32 ep_states(DAT_EP_HANDLE ep);
enum know ep_know(struct fuzz *f, const struct thing *ep, u32 states);

static inline enum know know_if(bool good)
{
	return good ? GOOD : BAD;
}

/* The type of a return, as a set of one */
static inline u32 r_of(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) > DAT_COMM_NOT_SUPPORTED ? 0 : R(DAT_GET_TYPE(ret));
}

/* pool.c */
extern struct pool *fuzz_shared;
struct pool *pool_new(void);
bool pool_add(struct pool *p, DAT_HANDLE_TYPE type, const struct thing *t);
void pool_update(struct pool *p, DAT_HANDLE_TYPE type, const struct thing *t);
bool pool_del(struct pool *p, DAT_HANDLE_TYPE type, DAT_HANDLE handle);
bool pool_pick(struct fuzz *f, struct pool *p, DAT_HANDLE_TYPE type, bool loose, struct thing *t);
bool pool_room(struct pool *p, DAT_HANDLE_TYPE type);
unsigned int pool_children(struct pool *p, DAT_HANDLE parent);
void pool_purge(struct fuzz *f, struct pool *p, DAT_HANDLE ia);
bool pool_at(struct pool *p, DAT_HANDLE_TYPE type, unsigned int i, struct thing *t);

/* generate.c */
u32 fuzz_rnd(struct fuzz *f, u32 below);
u64 fuzz_rnd64(struct fuzz *f);
bool one_in(struct fuzz *f, u32 n);
struct pool *fuzz_pool(struct fuzz *f);
void gen_handle(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t);
void gen_victim(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t);
void gen_pair(struct fuzz *f, struct thing *ep);
void gen_optional(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t);
void gen_any(struct fuzz *f, struct thing *t);
void expect_child(struct fuzz *f, const struct thing *t, const struct thing *ia);
void *gen_out(struct fuzz *f, void *out, u32 returns);
DAT_LMR_CONTEXT gen_wild_context(struct fuzz *f);
void fuzz_stale_context(struct fuzz *f, DAT_LMR_CONTEXT context);
DAT_COUNT gen_count(struct fuzz *f, DAT_COUNT low, DAT_COUNT high, enum know *know);
u64 gen_mask(struct fuzz *f, u64 all, u32 returns);
DAT_COMPLETION_FLAGS gen_flags(struct fuzz *f, u32 legal, enum know *know);
void gen_private_data(struct fuzz *f, DAT_COUNT most, DAT_COUNT *size, void **data);
void gen_segments(struct fuzz *f, const struct thing *owner, DAT_MEM_PRIV_FLAGS need,
		  u32 size, DAT_COUNT n, u64 *total);
void gen_remote(struct fuzz *f, u64 total, DAT_RMR_TRIPLET *there);
void gen_remote_source(struct fuzz *f, const struct thing *ep, u64 total, DAT_RMR_TRIPLET *there);
void learn_limits(struct thing *ep, const DAT_EP_ATTR *attr);
void fuzz_part(struct thing *ep, bool reads);
void fuzz_made(struct fuzz *f, DAT_HANDLE_TYPE type, struct thing *t);
void fuzz_freed(struct fuzz *f, DAT_HANDLE_TYPE type, const struct thing *t, DAT_RETURN ret);
void fuzz_stale(struct fuzz *f, DAT_HANDLE_TYPE type, DAT_HANDLE handle);
DAT_RETURN fuzz_free(DAT_HANDLE_TYPE type, DAT_HANDLE handle);

/* calls_conn.c */
void gen_idle(struct fuzz *f, struct thing *ep);

/* fixture.c */
#define AREAS		32
#define AREA_PAGES	8
#define AREA_BYTES	(AREA_PAGES * PAGE_SIZE)

struct fixture {
	struct thing ia, pz, other_pz, async;
	struct thing home, read_only, elsewhere; /* LMRs: all rights; local read; other zone */
	DAT_IA_ATTR attr;
	struct page *block;		/* contiguous pages */
	struct sockaddr_storage address;
	u8 *arena;
};

extern struct fixture fx;
int fixture_open(void);
void fixture_put(struct pool *p);
int fixture_memory(void);
void fixture_memory_free(void);
u8 *fixture_area(unsigned int i);
unsigned int fixture_guards(void);
void fixture_event(const DAT_EVENT *event);
void fixture_reject(void);
void fuzz_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more);

/* pair.c */
int pair_open(struct fuzz *f);
void pair_tick(struct fuzz *f);
void pair_close(struct fuzz *f);

/* end.c */
void fuzz_end_all(void);

#endif /* _KDAPL_FUZZ_H_ */
