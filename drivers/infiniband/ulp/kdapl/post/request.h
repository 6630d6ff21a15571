/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests: what the fast path (post.c) and the slow path (post_slow.c) of the posting
 * calls share. All functions run in any context, inside a read section.
 */
#ifndef _KDAPL_REQUEST_H_
#define _KDAPL_REQUEST_H_

#include "post.h"

/**
 * struct kdapl_request - the arguments of a posting call
 * @op:     DAT_DTO_SEND, _RDMA_WRITE, _RDMA_READ
 * @n:      number of segments in @iov
 * @iov:    local memory
 * @remote: remote memory of an RDMA operation
 * @cookie: the Consumer's cookie
 * @flags:  completion flags
 * @inv:    send: whether it invalidates @key at the peer; not checked yet
 * @key:    remote key to invalidate
 */
struct kdapl_request {
	DAT_DTOS op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote;
	u64 cookie;
	u32 flags;
	DAT_BOOLEAN inv;
	DAT_RMR_CONTEXT key;
};

/* A work request with any number of segments, on the stack of the post */
struct kdapl_vector {
	struct ib_rdma_wr rdma;
	struct ib_sge sge[KDAPL_MAX_IOV];
};

static __always_inline enum ib_wr_opcode kdapl_opcode(DAT_DTOS op)
{
	if (op == DAT_DTO_SEND)
		return IB_WR_SEND;
	return op == DAT_DTO_RDMA_WRITE ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
}

static __always_inline u32 kdapl_local_privilege(DAT_DTOS op)
{
	return op == DAT_DTO_RDMA_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
					 DAT_MEM_PRIV_LOCAL_READ_FLAG;
}

/* Zone and privilege that the local memory of an operation needs */
static __always_inline u32 kdapl_local_need(const struct kdapl_ep *ep, DAT_DTOS op)
{
	return op == DAT_DTO_RDMA_READ ? ep->fast.need_write : ep->fast.need_read;
}

/*
 * Like ib_post_send(), which however passes the address of a local variable for the
 * refused request; that costs a stack frame with a stack protector. CPUs may write to
 * sq->bad at the same time, and nobody reads it.
 */
static __always_inline int kdapl_verbs_send(struct ib_qp *qp, const struct ib_send_wr *wr,
					    struct kdapl_sq *sq)
{
	return qp->device->ops.post_send(qp, wr, &sq->bad);
}

static __always_inline u32 kdapl_request_limit(const struct kdapl_ep *ep, DAT_DTOS op)
{
	if (op == DAT_DTO_SEND)
		return ep->checks.max_send_iov;
	return op == DAT_DTO_RDMA_WRITE ? ep->checks.max_write_iov : ep->checks.max_read_iov;
}

DAT_RETURN kdapl_request_refused(struct kdapl_slot *slot, int err);
DAT_RETURN kdapl_post_any(struct kdapl_ep *ep, const struct kdapl_request *r);
DAT_RETURN kdapl_post_slow(struct kdapl_ep *ep, DAT_DTOS op, DAT_COUNT n,
			   const DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
			   u64 cookie, u32 flags);

#endif /* _KDAPL_REQUEST_H_ */
