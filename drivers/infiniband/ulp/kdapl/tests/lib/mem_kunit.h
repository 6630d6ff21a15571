/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites for memory requests: dat_rmr_bind, dat_lmr_fmr, kdat_lmr_fmr_sg,
 * dat_lmr_invalidate and sends that invalidate.
 *
 * It creates a device, a connected endpoint, an LMR with all privileges, an LMR of
 * dat_lmr_allocate() and an RMR for each test. Process context.
 */
#ifndef _KDAPL_MEM_KUNIT_H_
#define _KDAPL_MEM_KUNIT_H_

#include "clause.h"
#include "post_kunit.h"

#define MEM_PAGES	4		/* capacity of the LMR for fmr */
#define MEM_LEN		256		/* of a usual binding */
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
	u32 valid;			/* number of valid MRs when nothing is bound */
	int live;			/* number of verbs objects then */
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

/* Arguments of a kdat_lmr_fmr_sg */
#define MEM_SG	8

struct sg_fmr {
	DAT_LMR_HANDLE lmr;
	struct scatterlist sg[MEM_SG];
	struct scatterlist *sgl;
	DAT_COUNT nents;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_EP_HANDLE ep;
	DAT_LMR_COOKIE cookie;
	u32 flags;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT key;
	DAT_LMR_CONTEXT *lmr_context;
	DAT_RMR_CONTEXT *rmr_context;
};

/* The address of the first byte for posts and peers */
static inline u64 mem_sg_address(const struct sg_fmr *f)
{
	return offset_in_page(f->sg[0].offset);
}

int mem_setup(struct kunit *test, struct mem *m);
/* Frees all objects, one by one if @m->ep exists, otherwise by dat_ia_close */
void mem_done(struct kunit *test, struct mem *m);
/* Another connected endpoint, with its own EVDs */
void mem_second(struct kunit *test, struct mem *m, struct tp_ep *ep);
DAT_RETURN mem_lmr(struct mem *m, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key);

/* Arguments that succeed: MEM_LEN bytes from offset 100, all privileges */
void mem_bind_args(struct mem *m, struct bind *b);
DAT_RETURN mem_bind_post(struct bind *b);
/* Binds @len bytes at @off (0: unbinds) with this cookie; returns the key */
DAT_RMR_CONTEXT mem_bind(struct kunit *test, struct mem *m, struct tp_ep *ep, u64 cookie,
			 u32 off, u32 len);
/* Arguments that succeed: two pages of the buffer, all privileges */
void mem_fmr_args(struct mem *m, struct fmr *f);
DAT_RETURN mem_fmr_post(struct fmr *f);
/* Arguments that succeed: MEM_LEN bytes from offset 100 of the buffer, all privileges */
void mem_sg_args(struct mem *m, struct sg_fmr *f);
/* Appends @len bytes at @off of the buffer */
void mem_sg_add(struct mem *m, struct sg_fmr *f, u32 off, u32 len);
DAT_RETURN mem_sg_post(struct sg_fmr *f);
DAT_RETURN mem_invalidate(struct mem *m, struct tp_ep *ep, u64 cookie, u32 flags);
/* Completes all requests of an endpoint successfully */
void mem_finish(struct mem *m, struct tp_ep *ep);

/* Expects this completion as the next request event */
void mem_expect(struct kunit *test, struct tp_ep *ep, DAT_DTOS op, u64 cookie,
		DAT_DTO_COMPLETION_STATUS status);
void mem_expect_broken(struct kunit *test, struct tp_ep *ep);
/* Expects one asynchronous error, with @handle */
void mem_expect_async(struct kunit *test, struct mem *m, DAT_HANDLE handle);
void mem_expect_no_async(struct kunit *test, struct mem *m);
/* Expects that dat_rmr_query returns this key (0: not bound) */
void mem_expect_bound(struct kunit *test, struct mem *m, DAT_RMR_CONTEXT key);
/* Expects this result of dat_lmr_query for the LMR for fmr */
void mem_expect_fmr(struct kunit *test, struct mem *m, bool bound, DAT_RMR_CONTEXT key);
/* Posts with the context; a successful post is completed */
DAT_RETURN mem_local_use(struct mem *m, struct tp_ep *ep, DAT_LMR_CONTEXT context);
/* Waits until the LMR is not in use, and frees it; false after a timeout */
bool mem_lmr_goes(DAT_LMR_HANDLE lmr);

#endif /* _KDAPL_MEM_KUNIT_H_ */
