// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the block layer: turns them into commands, and answers into their results. Called
 * by the block layer, in any context except hard interrupt, and by upcalls.
 */
#include "client.h"

static u8 operation(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return DATBLK_OP_READ;
	case REQ_OP_WRITE:
		return DATBLK_OP_WRITE;
	case REQ_OP_FLUSH:
		return DATBLK_OP_FLUSH;
	case REQ_OP_DISCARD:
		return DATBLK_OP_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return DATBLK_OP_ZEROES;
	default:
		return 0;
	}
}

/*
 * The pages of the data. Only the first and the last may be used in part, but two bios that were
 * merged may meet in the middle of a page.
 */
static unsigned int collect(struct request *rq, struct datblk_pdu *pdu, unsigned int room)
{
	struct req_iterator iter;
	struct bio_vec bv;
	unsigned int count = 0;
	phys_addr_t end = 0;

	rq_for_each_bvec(bv, rq, iter) {
		phys_addr_t at = page_to_phys(bv.bv_page) + bv.bv_offset;
		bool joined = count && at == end;

		if (!count)
			pdu->c.address = at;
		else if (!joined && (offset_in_page(at) || offset_in_page(end)))
			return 0;
		end = at + bv.bv_len;
		/* The page in which they meet has been counted */
		if (joined)
			at = round_up(at, PAGE_SIZE);
		for (at = round_down(at, PAGE_SIZE); at < end; at += PAGE_SIZE) {
			if (count == room)
				return 0;
			pdu->pages[count++] = at;
		}
	}
	return count;
}

/*
 * Gives the server access to the pages of the request, and to no other memory. The adapter refuses
 * this on a connection that was lost: then the block layer offers the request again.
 */
static blk_status_t expose(struct datblk_queue *queue, struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	DAT_MEM_PRIV_FLAGS priv = pdu->c.op == DATBLK_OP_READ ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
								DAT_MEM_PRIV_REMOTE_READ_FLAG;
	DAT_REGION_DESCRIPTION description = { .for_physical = pdu->pages };
	unsigned int count = collect(rq, pdu, datblk_pages(&queue->disk->limits));
	DAT_LMR_COOKIE none = {};
	DAT_LMR_CONTEXT local;
	DAT_RETURN ret;

	if (WARN_ON_ONCE(!count))
		return BLK_STS_IOERR;
	ret = dat_lmr_fmr(queue->lmrs[rq->tag], DAT_MEM_TYPE_PHYSICAL, description, count, priv,
			  DAT_VA_TYPE_VA, queue->ep, none, DAT_COMPLETION_SUPPRESS_FLAG, &local,
			  &pdu->c.key);
	if (ret == DAT_SUCCESS)
		return BLK_STS_OK;
	if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
		datblk_session_lost(queue->disk);
	return BLK_STS_RESOURCE;
}

static void copy_out(struct request *rq, void *to)
{
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
}

static void copy_in(struct request *rq, const void *from)
{
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_to_bvec(&bv, from);
		from += bv.bv_len;
	}
}

static void describe(struct request *rq, struct datblk_pdu *pdu, u8 op)
{
	pdu->posted = false;
	pdu->sent = false;
	pdu->answered = false;
	pdu->lost = false;
	pdu->status = BLK_STS_IOERR;
	pdu->c = (struct datblk_cmd){ .op = op, .tag = rq->tag };
	if (op == DATBLK_OP_FLUSH)
		return;
	pdu->c.sector = blk_rq_pos(rq);
	pdu->c.length = blk_rq_bytes(rq);
	if (op != DATBLK_OP_READ && rq->cmd_flags & REQ_FUA)
		pdu->c.flags |= DATBLK_FUA;
	if (op == DATBLK_OP_ZEROES && rq->cmd_flags & REQ_NOUNMAP)
		pdu->c.flags |= DATBLK_NOUNMAP;
}

/*
 * While the disk recovers, a request that comes before the queue is quiesced is posted on the
 * dead connection, and issued again like those before it.
 */
static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct datblk_disk *disk = hctx->queue->queuedata;
	struct datblk_queue *queue = &disk->queues[hctx->queue_num];
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(bd->rq);
	u8 op = operation(bd->rq);
	blk_status_t status;

	/* Pairs with the release in datblk_session_live(): the session is complete */
	if (!op || smp_load_acquire(&disk->state) == DATBLK_FAILING)
		return BLK_STS_IOERR;
	describe(bd->rq, pdu, op);
	if (op == DATBLK_OP_READ || op == DATBLK_OP_WRITE) {
		if (pdu->c.length <= disk->limits.inline_max) {
			pdu->c.flags |= DATBLK_INLINE;
			if (op == DATBLK_OP_WRITE)
				copy_out(bd->rq, queue->data.regions[bd->rq->tag].address);
		} else {
			status = expose(queue, bd->rq);
			if (status != BLK_STS_OK)
				return status;
		}
	}
	blk_mq_start_request(bd->rq);
	datblk_queue_add(queue, bd->rq, bd->last);
	return BLK_STS_OK;
}

static void commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct datblk_disk *disk = hctx->queue->queuedata;

	/* As in queue_rq() */
	if (smp_load_acquire(&disk->state) != DATBLK_FAILING)
		datblk_queue_commit(&disk->queues[hctx->queue_num]);
}

static blk_status_t result(u8 status)
{
	switch (status) {
	case DATBLK_STS_OK:
		return BLK_STS_OK;
	case DATBLK_STS_NOSPC:
		return BLK_STS_NOSPC;
	case DATBLK_STS_NOTSUPP:
		return BLK_STS_NOTSUPP;
	default:
		return BLK_STS_IOERR;
	}
}

/**
 * datblk_request_answer - take an answer
 * @rq:      its request
 * @ans:     the answer
 * @message: the message with its data
 *
 * Context: any except hard interrupt.
 * Return: DATBLK_SOUND, or DATBLK_FLAW_ANSWER.
 */
enum datblk_flaw datblk_request_answer(struct request *rq, const struct datblk_ans *ans,
				       const void *message)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	bool expected = pdu->c.op == DATBLK_OP_READ && pdu->c.flags & DATBLK_INLINE &&
			ans->status == DATBLK_STS_OK;

	if (expected != !!(ans->flags & DATBLK_INLINE) ||
	    (expected && ans->length != pdu->c.length))
		return DATBLK_FLAW_ANSWER;
	if (expected)
		copy_in(rq, message + ans->offset);
	pdu->status = result(ans->status);
	return DATBLK_SOUND;
}

/* A request that was lost is issued again; queue_rq() fails it if I/O fails meanwhile */
static void complete_rq(struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (pdu->lost)
		blk_mq_requeue_request(rq, false);
	else
		blk_mq_end_request(rq, pdu->status);
}

/**
 * datblk_request_cancel - a request has been lost with its connection
 * @rq:   the request
 * @data: unused
 *
 * A callback of blk_mq_tagset_busy_iter(). Context: process; the queue is quiesced and the
 * session closed.
 *
 * Return: true: continue.
 */
bool datblk_request_cancel(struct request *rq, void *data)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (!blk_mq_request_started(rq) || blk_mq_request_completed(rq))
		return true;
	pdu->lost = true;
	blk_mq_complete_request(rq);
	return true;
}

/* The server hangs: only a new connection makes sure that it does not use the pages any more */
static enum blk_eh_timer_return timed_out(struct request *rq)
{
	struct datblk_disk *disk = rq->q->queuedata;

	datblk_session_lost(disk);
	return BLK_EH_RESET_TIMER;
}

const struct blk_mq_ops datblk_mq_ops = {
	.queue_rq = queue_rq,
	.commit_rqs = commit_rqs,
	.complete = complete_rq,
	.timeout = timed_out,
};
