/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites over the calls that speak of memory share: dat_rmr_bind,
 * dat_lmr_fmr, dat_lmr_invalidate and sends that invalidate.
 *
 * A device, a connected endpoint, an LMR with all rights, an LMR of
 * dat_lmr_allocate() and an RMR, made anew for each test. Process context.
 */
#ifndef _KDAPL_MEM_KUNIT_H_
#define _KDAPL_MEM_KUNIT_H_

#include "clause.h"
#include "post_kunit.h"

#define MEM_PAGES	4		/* that the LMR for fmr can hold */
#define MEM_LEN		256		/* of an ordinary binding */
#define MEM_REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

struct mem {
	struct tp_env *env;
	struct tp_ep ep;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT lmr_key;
	DAT_LMR_HANDLE fmr;
	DAT_RMR_HANDLE rmr;
	DAT_PADDR page[MEM_PAGES + 1];
	u32 valid;			/* MRs valid when nothing is bound */
	int live;			/* verbs objects then */
};

/* Arguments of a bind */
struct bind {
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET range;
	DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	DAT_EP_HANDLE ep;
	DAT_RMR_COOKIE cookie;
	u32 flags;
	DAT_RMR_CONTEXT key;
	DAT_RMR_CONTEXT *context;
};

/* Arguments of a dat_lmr_fmr */
struct fmr {
	DAT_LMR_HANDLE lmr;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN n;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	DAT_EP_HANDLE ep;
	DAT_LMR_COOKIE cookie;
	u32 flags;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_LMR_CONTEXT *lmr_context;
	DAT_RMR_CONTEXT *rmr_context;
};

int mem_setup(struct kunit *test, struct mem *m);
/* Frees what is left, politely if @m->ep is there, else by dat_ia_close */
void mem_done(struct kunit *test, struct mem *m);
/* Another connected endpoint, with EVDs of its own */
void mem_second(struct kunit *test, struct mem *m, struct tp_ep *ep);
DAT_RETURN mem_lmr(struct mem *m, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key);

/* A bind that succeeds: MEM_LEN bytes from 100 on, all rights */
void mem_bind_args(struct mem *m, struct bind *b);
DAT_RETURN mem_bind_post(struct bind *b);
/* With this cookie, of @len bytes from @off on (0: unbind); the key */
DAT_RMR_CONTEXT mem_bind(struct kunit *test, struct mem *m, struct tp_ep *ep, u64 cookie,
			 u32 off, u32 len);
/* A registration that succeeds: two pages of the buffer, all rights */
void mem_fmr_args(struct mem *m, struct fmr *f);
DAT_RETURN mem_fmr_post(struct fmr *f);
DAT_RETURN mem_invalidate(struct mem *m, struct tp_ep *ep, u64 cookie, u32 flags);
/* All of an endpoint's requests succeed */
void mem_finish(struct mem *m, struct tp_ep *ep);

/* The next event of the requests is this completion */
void mem_expect(struct kunit *test, struct tp_ep *ep, DAT_DTOS op, u64 cookie,
		DAT_DTO_COMPLETION_STATUS status);
void mem_expect_broken(struct kunit *test, struct tp_ep *ep);
/* An asynchronous error names @handle, and no other is there */
void mem_expect_async(struct kunit *test, struct mem *m, DAT_HANDLE handle);
void mem_expect_no_async(struct kunit *test, struct mem *m);
/* What dat_rmr_query tells: bound under this key (0: to nothing) */
void mem_expect_bound(struct kunit *test, struct mem *m, DAT_RMR_CONTEXT key);
/* What dat_lmr_query tells of the LMR for fmr */
void mem_expect_fmr(struct kunit *test, struct mem *m, bool bound, DAT_RMR_CONTEXT key);
/* Does a post find the LMR of the context? Then the post is completed */
DAT_RETURN mem_local_use(struct mem *m, struct tp_ep *ep, DAT_LMR_CONTEXT context);
/* Within bounds: is the LMR no longer in use? Then it is freed */
bool mem_lmr_goes(DAT_LMR_HANDLE lmr);

#endif /* _KDAPL_MEM_KUNIT_H_ */
