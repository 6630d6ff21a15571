// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the block layer: turns them into commands, and answers into their results. Called
 * by the block layer, in any context except hard interrupt, and by upcalls.
 */
#include "client.h"
#include "protocol/trace.h"

#ifndef datblk_map_sg
#define datblk_map_sg(rq, sgl)	blk_rq_map_sg(rq, sgl)
#endif

static u8 datblk_rq_operation(const struct request *rq)
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

/**
 * datblk_request_exposed - convert the result of a registration to a block status
 * @queue: the queue of a request
 * @pdu:   the command of the request
 * @ret:   what kdat_lmr_fmr_sg() has returned for its pages
 *
 * If the connection was lost, the block layer issues the request again. If the adapter cannot reach
 * the memory, the request fails, because it would fail again, and the session stays. If the adapter
 * fails, the session ends, and the request is tried in at most DATBLK_RETRIES further sessions.
 *
 * Context: any.
 * Return: the status for the block layer.
 */
blk_status_t datblk_request_exposed(struct datblk_queue *queue, struct datblk_pdu *pdu,
				    DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		return BLK_STS_OK;
	case DAT_INSUFFICIENT_RESOURCES:
		return BLK_STS_RESOURCE;
	case DAT_INVALID_PARAMETER:
	case DAT_PRIVILEGES_VIOLATION:
	case DAT_MODEL_NOT_SUPPORTED:
		return BLK_STS_IOERR;
	case DAT_INTERNAL_ERROR:
		/* The adapter may refuse it in each session; the queue may run again in this one */
		pdu->retries += !READ_ONCE(queue->remote->lost);
		fallthrough;
	default:
		datblk_session_used(queue->remote);
		datblk_queue_lost(queue);
		return BLK_STS_RESOURCE;
	}
}

/* Gives the server access to the bytes of the request, and to no others */
static blk_status_t datblk_rq_expose(struct datblk_queue *queue, struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	DAT_MEM_PRIV_FLAGS priv = pdu->c.op == DATBLK_OP_READ ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
								DAT_MEM_PRIV_REMOTE_READ_FLAG;
	DAT_LMR_COOKIE none = {};
	DAT_LMR_CONTEXT local;
	DAT_RETURN ret;

	sg_init_table(pdu->sgl, blk_rq_nr_phys_segments(rq));
	ret = kdat_lmr_fmr_sg(queue->lmrs[pdu->c.tag], pdu->sgl, datblk_map_sg(rq, pdu->sgl), priv,
			      queue->ep, none, DAT_COMPLETION_SUPPRESS_FLAG, &local, &pdu->c.key);
	pdu->c.address = offset_in_page(pdu->sgl->offset);
	trace_datblk_register(datblk_host, pdu->number, queue->index, pdu->c.tag, pdu->c.key,
			      ret);
	return datblk_request_exposed(queue, pdu, ret);
}

/**
 * datblk_request_data - copy the data of a write to its message
 * @pdu: the command of the request
 * @to:  receives the data
 *
 * Context: any except hard interrupt, queue->lock held.
 */
void datblk_request_data(struct datblk_pdu *pdu, void *to)
{
	struct request *rq = blk_mq_rq_from_pdu(pdu);
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
}

static void datblk_rq_copy_in(struct request *rq, const void *from)
{
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_to_bvec(&bv, from);
		from += bv.bv_len;
	}
}

static void datblk_rq_describe(struct request *rq, struct datblk_pdu *pdu, u8 op)
{
	const struct datblk_disk *disk = rq->q->queuedata;

	pdu->number = disk->number;
	pdu->own = false;
	pdu->posted = false;
	pdu->lost = false;
	pdu->retry = false;
	pdu->old = false;
	pdu->status = BLK_STS_IOERR;
	/* The block layer has the request for the first time */
	if (!(rq->rq_flags & RQF_DONTPREP)) {
		rq->rq_flags |= RQF_DONTPREP;
		pdu->retries = 0;
		pdu->suspect = false;
	}
	pdu->c = (struct datblk_command){ .op = op, .tag = rq->tag, .login = disk->login };
	if (op == DATBLK_OP_FLUSH)
		return;
	pdu->c.sector = blk_rq_pos(rq);
	pdu->c.length = blk_rq_bytes(rq);
	if (op != DATBLK_OP_READ && rq->cmd_flags & REQ_FUA)
		pdu->c.flags |= DATBLK_FUA;
	if (op == DATBLK_OP_ZEROES && rq->cmd_flags & REQ_NOUNMAP)
		pdu->c.flags |= DATBLK_NOUNMAP;
}

/* Does the block layer rely on the data being stable when this has succeeded? */
static bool datblk_wants_stable(const struct datblk_pdu *pdu)
{
	return pdu->c.op == DATBLK_OP_FLUSH || pdu->c.flags & DATBLK_FUA;
}

/* The device turned out to lack the operation: the block layer need not ask again */
static void datblk_forget_operation(struct request_queue *q, u8 op)
{
	if (op == DATBLK_OP_DISCARD)
		blk_queue_disable_discard(q);
	else if (op == DATBLK_OP_ZEROES)
		blk_queue_disable_write_zeroes(q);
}

/* The device of this session may take less than the block layer knows */
static bool datblk_too_large(const struct datblk_geometry *geo, const struct datblk_command *c)
{
	return (c->op == DATBLK_OP_DISCARD && c->length / DATBLK_SECTOR > geo->discard_sectors) ||
	       (c->op == DATBLK_OP_ZEROES && c->length / DATBLK_SECTOR > geo->zeroes_sectors);
}

static blk_status_t datblk_rq_refuse(struct datblk_disk *disk, blk_status_t status)
{
	atomic_inc(&disk->errors);
	return status;
}

/* Marks the data of a request to be sent in the message, or registers its memory */
static blk_status_t datblk_rq_carry(struct datblk_queue *queue, struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (pdu->c.op != DATBLK_OP_READ && pdu->c.op != DATBLK_OP_WRITE)
		return BLK_STS_OK;
	if (pdu->c.length > queue->remote->limits.inline_max)
		return datblk_rq_expose(queue, rq);
	pdu->c.flags |= DATBLK_INLINE;
	return BLK_STS_OK;
}

/*
 * Like datblk_rq_carry(), for a disk that shares its connections: the command needs a tag of the
 * queue instead of the tag of the disk.
 */
static blk_status_t datblk_rq_carry_shared(struct datblk_queue *queue, struct blk_mq_hw_ctx *hctx,
					   struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	blk_status_t status;

	if (!datblk_tags_take_for(queue, hctx, pdu))
		return BLK_STS_DEV_RESOURCE;
	status = datblk_rq_carry(queue, rq);
	if (status == BLK_STS_OK)
		return BLK_STS_OK;
	spin_lock_bh(&queue->lock);
	datblk_tags_return(queue, pdu);
	spin_unlock_bh(&queue->lock);
	return status;
}

/*
 * A multipath driver repeats a read or write that was lost. It must not repeat a flush that failed
 * on another disk of the same export, which knows nothing of the lost writes and would succeed.
 */
static blk_status_t datblk_final_status(const struct datblk_pdu *pdu)
{
	if (datblk_wants_stable(pdu))
		return pdu->status == BLK_STS_IOERR ? BLK_STS_TARGET : pdu->status;
	return pdu->lost ? BLK_STS_TRANSPORT : pdu->status;
}

/**
 * datblk_request_worn_out - has a command that is about to be issued again been tried too often?
 * @disk: its disk, which uses the next session
 * @pdu:  the command
 *
 * If the disk shares its connections, a loss does not count if the server ended the session for
 * another disk. Losses of unshared disks, and refusals of the adapter, have been counted before.
 *
 * Context: any.
 * Return: true if the request must fail.
 */
bool datblk_request_worn_out(const struct datblk_disk *disk, struct datblk_pdu *pdu)
{
	pdu->retries += pdu->suspect && READ_ONCE(disk->at_fault);
	pdu->suspect = false;
	return pdu->retries > DATBLK_RETRIES;
}

/*
 * While the disk recovers, a request that comes before the queue is quiesced is posted on the
 * dead connection, and issued again like those before it.
 */
static blk_status_t datblk_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct datblk_disk *disk = hctx->queue->queuedata;
	struct datblk_queue *queue = &disk->remote->queues[hctx->queue_num];
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(bd->rq);
	u8 op = datblk_rq_operation(bd->rq);
	blk_status_t status;

	if (!op)
		return BLK_STS_NOTSUPP;
	/* Pairs with the release in datblk_disk_live(): the session is complete */
	if (smp_load_acquire(&disk->state) >= DATBLK_FAILING)
		return datblk_rq_refuse(disk, BLK_STS_IOERR);
	if (bd->rq->rq_flags & RQF_DONTPREP && datblk_request_worn_out(disk, pdu))
		return datblk_rq_refuse(disk, datblk_final_status(pdu));
	datblk_rq_describe(bd->rq, pdu, op);
	if (datblk_wants_stable(pdu) && datblk_writes_lost(&disk->writes))
		return datblk_rq_refuse(disk, BLK_STS_TARGET);
	if (datblk_too_large(&disk->geo, &pdu->c)) {
		/* The block layer writes zeroes itself then, and ignores the error of a discard */
		datblk_forget_operation(bd->rq->q, op);
		return BLK_STS_NOTSUPP;
	}
	status = disk->remote->shared ? datblk_rq_carry_shared(queue, hctx, bd->rq) :
					datblk_rq_carry(queue, bd->rq);
	if (status == BLK_STS_IOERR)
		return datblk_rq_refuse(disk, status);
	if (status != BLK_STS_OK)
		return status;
	blk_mq_start_request(bd->rq);
	if (op == DATBLK_OP_FLUSH) {
		pdu->unflushed = datblk_writes_flushing(&disk->writes);
		pdu->kept = datblk_kept_flushing(&disk->kept);
	}
	datblk_queue_add(queue, bd->rq, bd->last);
	return BLK_STS_OK;
}

static void datblk_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct datblk_disk *disk = hctx->queue->queuedata;

	/* As in datblk_queue_rq() */
	if (smp_load_acquire(&disk->state) < DATBLK_FAILING)
		datblk_queue_commit(&disk->remote->queues[hctx->queue_num]);
}

/**
 * datblk_blk_status - the status of the block layer for an answer
 * @status: status of the answer
 *
 * Context: any.
 * Return: the status. BLK_STS_TARGET: the request would fail in the same way on another path.
 */
blk_status_t datblk_blk_status(u8 status)
{
	switch (status) {
	case DATBLK_STS_OK:
		return BLK_STS_OK;
	case DATBLK_STS_NOSPC:
		return BLK_STS_NOSPC;
	case DATBLK_STS_NOTSUPP:
		return BLK_STS_NOTSUPP;
	case DATBLK_STS_READONLY:
	case DATBLK_STS_RANGE:
		return BLK_STS_TARGET;
	case DATBLK_STS_MEDIUM:
		return BLK_STS_MEDIUM;
	default:
		return BLK_STS_IOERR;
	}
}

static void datblk_account_flush(struct datblk_disk *disk, const struct datblk_pdu *pdu)
{
	if (pdu->status == BLK_STS_OK)
		datblk_kept_flushed(&disk->kept, pdu->kept);
	else
		datblk_writes_flush_failed(&disk->writes, pdu->unflushed);
}

/* What the status says about the writes of the disk */
static void datblk_account_writes(struct datblk_disk *disk, struct datblk_pdu *pdu)
{
	struct request *rq = blk_mq_rq_from_pdu(pdu);

	if (pdu->c.op == DATBLK_OP_FLUSH)
		datblk_account_flush(disk, pdu);
	if (pdu->c.op == DATBLK_OP_FLUSH || pdu->c.op == DATBLK_OP_READ ||
	    pdu->status != BLK_STS_OK || !(disk->geo.flags & DATBLK_WRITE_CACHE))
		return;
	datblk_kept_add(&disk->kept, rq->mq_hctx->queue_num, &pdu->c, rq);
	if (!datblk_wants_stable(pdu))
		datblk_writes_answered(&disk->writes);
}

/**
 * datblk_request_answer - take an answer
 * @pdu:     the command of its request
 * @ans:     the answer
 * @message: the message with its data
 *
 * Context: any except hard interrupt.
 * Return: DATBLK_SOUND, or DATBLK_FLAW_ANSWER.
 */
enum datblk_flaw datblk_request_answer(struct datblk_pdu *pdu, const struct datblk_answer *ans,
				       const void *message)
{
	struct request *rq = blk_mq_rq_from_pdu(pdu);
	struct datblk_disk *disk = rq->q->queuedata;
	bool expected = pdu->c.op == DATBLK_OP_READ && pdu->c.flags & DATBLK_INLINE &&
			ans->status == DATBLK_STS_OK;

	if (expected != !!(ans->flags & DATBLK_INLINE) ||
	    (expected && ans->length != pdu->c.length))
		return DATBLK_FLAW_ANSWER;
	if (expected)
		datblk_rq_copy_in(rq, message + ans->offset);
	pdu->status = datblk_blk_status(ans->status);
	pdu->retry = datblk_status_transient(ans->status);
	datblk_account_writes(disk, pdu);
	if (pdu->status == BLK_STS_NOTSUPP)
		datblk_forget_operation(rq->q, pdu->c.op);
	if (!READ_ONCE(disk->remote->had_answer))
		WRITE_ONCE(disk->remote->had_answer, true);
	return DATBLK_SOUND;
}

/**
 * datblk_request_again - decide whether a request is issued again, and count that
 * @pdu: the command of the request, which is complete or lost
 *
 * datblk_request_lost() has counted a command that was lost.
 *
 * Context: any.
 * Return: true if it is; false if it ends.
 */
bool datblk_request_again(struct datblk_pdu *pdu)
{
	pdu->retries += pdu->retry && !pdu->lost;
	return (pdu->lost || pdu->retry) && pdu->retries <= DATBLK_RETRIES;
}

/* An operation that the device lacks is no error: the block layer does without */
static void datblk_rq_end(struct request *rq, blk_status_t status)
{
	struct datblk_disk *disk = rq->q->queuedata;

	if (unlikely(status != BLK_STS_OK && status != BLK_STS_NOTSUPP))
		atomic_inc(&disk->errors);
	blk_mq_end_request(rq, status);
}

/*
 * A request that was lost is issued again when there is another session; datblk_queue_rq() fails it
 * if I/O fails meanwhile. One that the server could not execute just now is issued again later.
 */
static void datblk_complete_rq(struct request *rq)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (!datblk_request_again(pdu)) {
		datblk_rq_end(rq, datblk_final_status(pdu));
		return;
	}
	blk_mq_requeue_request(rq, false);
	if (!pdu->lost)
		blk_mq_delay_kick_requeue_list(rq->q, DATBLK_RETRY_MS << pdu->retries);
}

/**
 * datblk_request_lost - count the loss of a command with its session
 * @remote: the server of its disk, whose session has ended
 * @pdu:    the command, which has no answer
 *
 * If the disk shares its connections, datblk_request_worn_out() counts the loss later.
 *
 * If the server answered anything in the session, even only the first ping, this command may be
 * what ended it: an MTU black hole swallows its data, and every answer after that. Without the
 * count the command would be repeated forever if other answers restart the timeouts of the disk. A
 * flush or a write with FUA that failed may have ended it, too: the server answers none of these.
 *
 * Context: any.
 */
void datblk_request_lost(const struct datblk_remote *remote, struct datblk_pdu *pdu)
{
	bool counts = remote->greeted || remote->had_answer || remote->had_pong ||
		      datblk_wants_stable(pdu);

	if (remote->shared)
		pdu->suspect = counts;
	else
		pdu->retries += counts;
	pdu->lost = true;
}

/**
 * datblk_request_cancel - a request has been lost with its connection
 * @rq:   the request
 * @data: unused
 *
 * A callback of blk_mq_tagset_busy_iter().
 *
 * Context: process; the queue is quiesced and the session closed.
 *
 * Return: true: continue.
 */
bool datblk_request_cancel(struct request *rq, void *data)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	struct datblk_disk *disk = rq->q->queuedata;

	if (!blk_mq_request_started(rq) || blk_mq_request_completed(rq))
		return true;
	if (pdu->c.op == DATBLK_OP_FLUSH)
		datblk_writes_flush_failed(&disk->writes, pdu->unflushed);
	datblk_request_lost(disk->remote, pdu);
	blk_mq_complete_request(rq);
	return true;
}

/**
 * datblk_request_mark - mark a command that is in flight
 * @rq:   the request
 * @data: unused
 *
 * A callback of blk_mq_tagset_busy_iter(), like the next two.
 *
 * Context: process.
 *
 * Return: true: continue.
 */
bool datblk_request_mark(struct request *rq, void *data)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	WRITE_ONCE(pdu->old, true);
	return true;
}

/**
 * datblk_request_old - look for a command that has been in flight since it was marked
 * @rq:   a request in flight
 * @data: a bool, which becomes true if this is one
 *
 * Context: process.
 *
 * Return: false after the first one.
 */
bool datblk_request_old(struct request *rq, void *data)
{
	struct datblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	bool *found = data;

	*found = *found || READ_ONCE(pdu->old);
	return !*found;
}

/**
 * datblk_request_busy - look for any command in flight
 * @rq:   a request in flight
 * @data: a bool, which becomes true
 *
 * Context: process.
 *
 * Return: false: do not continue.
 */
bool datblk_request_busy(struct request *rq, void *data)
{
	*(bool *)data = true;
	return false;
}

/*
 * The device of the server may take as long as it likes for a command, while the server itself
 * answers. If it does not, only a new connection makes sure that it does not use the pages any
 * more.
 */
static enum blk_eh_timer_return datblk_timed_out(struct request *rq)
{
	struct datblk_disk *disk = rq->q->queuedata;

	if (datblk_disk_removal_expired(disk))
		datblk_session_lost(disk->remote);
	else
		datblk_queue_heartbeat(&disk->remote->queues[rq->mq_hctx->queue_num]);
	return BLK_EH_RESET_TIMER;
}

const struct blk_mq_ops datblk_mq_ops = {
	.queue_rq = datblk_queue_rq,
	.commit_rqs = datblk_commit_rqs,
	.complete = datblk_complete_rq,
	.timeout = datblk_timed_out,
};
