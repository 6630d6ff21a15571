// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of a hostile peer, on plain verbs and rdma_cm. Its owner, the thread of the test
 * or a callback of rdma_cm, makes and frees it; completions run in process context.
 */
#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include "hostile.h"

#define REGION_PAGES	(HOSTILE_REGION / PAGE_SIZE)

static struct ib_sge slot_sge(const struct hostile_slot *slot, u32 length)
{
	/* Software devices use kernel addresses, and this test runs on no other */
	return (struct ib_sge){
		.addr = (uintptr_t)slot->memory,
		.length = length,
		.lkey = slot->peer->pd->local_dma_lkey,
	};
}

/**
 * hostile_peer_over - end the use of a connection
 * @peer: the connection; its owner frees it
 *
 * Context: any.
 */
void hostile_peer_over(struct hostile_peer *peer)
{
	WRITE_ONCE(peer->over, true);
	wake_up_all(&peer->wait);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hostile_slot *slot = container_of(wc->wr_cqe, struct hostile_slot, cqe);
	struct hostile_peer *peer = slot->peer;

	spin_lock_bh(&peer->lock);
	slot->busy = false;
	spin_unlock_bh(&peer->lock);
	if (wc->status != IB_WC_SUCCESS)
		hostile_peer_over(peer);
	else
		wake_up_all(&peer->wait);
}

static int post_receive(struct hostile_slot *slot)
{
	struct ib_sge sge = slot_sge(slot, HOSTILE_ROOM);
	struct ib_recv_wr wr = { .wr_cqe = &slot->cqe, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(slot->peer->id->qp, &wr, NULL);
}

static void receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hostile_slot *slot = container_of(wc->wr_cqe, struct hostile_slot, cqe);
	struct hostile_peer *peer = slot->peer;

	if (wc->status != IB_WC_SUCCESS) {
		hostile_peer_over(peer);
		return;
	}
	peer->received(peer, slot->memory, wc);
	if (post_receive(slot))
		hostile_peer_over(peer);
	wake_up_all(&peer->wait);
}

static int make_slot(struct hostile_peer *peer, struct hostile_slot *slot,
		     void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	slot->peer = peer;
	slot->cqe.done = done;
	slot->memory = kmalloc(HOSTILE_ROOM, GFP_KERNEL);
	return slot->memory ? 0 : -ENOMEM;
}

static int make_slots(struct hostile_peer *peer)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < HOSTILE_SENDS; i++)
		err = make_slot(peer, &peer->sends[i], send_done);
	for (i = 0; !err && i < HOSTILE_RECVS; i++)
		err = make_slot(peer, &peer->receives[i], receive_done);
	peer->region = kzalloc(HOSTILE_REGION, GFP_KERNEL);
	return peer->region ? err : -ENOMEM;
}

/**
 * hostile_peer_new - allocate a connection
 *
 * Context: process.
 * Return: the connection, or NULL; the failure has been noted.
 */
struct hostile_peer *hostile_peer_new(void)
{
	struct hostile_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);

	if (!peer) {
		test_fail("no memory");
		return NULL;
	}
	init_waitqueue_head(&peer->wait);
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->link);
	hostile_seed(&peer->rnd);
	return peer;
}

static void note_private(struct hostile_peer *peer, const void *data, size_t size)
{
	peer->private_size = min(size, sizeof(peer->private));
	if (data)
		memcpy(peer->private, data, peer->private_size);
}

static int make_verbs(struct hostile_peer *peer)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		/* A registration for each send, and one request for the drain */
		.cap = {
			.max_send_wr = 2 * HOSTILE_SENDS + 1,
			.max_recv_wr = HOSTILE_RECVS + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	peer->pd = ib_alloc_pd(peer->id->device, 0);
	if (IS_ERR(peer->pd))
		return PTR_ERR(peer->pd);
	peer->cq = ib_alloc_cq(peer->id->device, peer, 4 * HOSTILE_SENDS, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(peer->cq))
		return PTR_ERR(peer->cq);
	peer->mr = ib_alloc_mr(peer->pd, IB_MR_TYPE_MEM_REG, REGION_PAGES + 1);
	if (IS_ERR(peer->mr))
		return PTR_ERR(peer->mr);
	init.send_cq = peer->cq;
	init.recv_cq = peer->cq;
	return rdma_create_qp(peer->id, peer->pd, &init);
}

/**
 * hostile_peer_make - make what a connection needs
 * @peer:     a connection with an id; hostile_peer_free() frees it, also after an error
 * @receives: post receives
 *
 * Context: process.
 * Return: 0 or a negative error code.
 */
int hostile_peer_make(struct hostile_peer *peer, bool receives)
{
	int err = make_slots(peer) ?: make_verbs(peer);
	unsigned int i;

	for (i = 0; !err && receives && i < HOSTILE_RECVS; i++)
		err = post_receive(&peer->receives[i]);
	return err;
}

/**
 * hostile_peer_note - record an event of rdma_cm
 * @peer:  its connection
 * @event: the event
 *
 * Context: process.
 */
void hostile_peer_note(struct hostile_peer *peer, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	switch (event->event) {
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		WRITE_ONCE(peer->resolved, true);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		note_private(peer, conn->private_data, conn->private_data_len);
		peer->established = true;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_REJECTED:
		note_private(peer, conn->private_data, conn->private_data_len);
		fallthrough;
	default:
		hostile_peer_over(peer);
		break;
	}
	if (event->event != RDMA_CM_EVENT_ROUTE_RESOLVED)
		/* Pairs with the reader, who uses the private data */
		smp_store_release(&peer->answered, true);
	wake_up_all(&peer->wait);
}

/**
 * hostile_peer_free - end a connection and free it
 * @peer: the connection, which no callback is about to begin to use
 *
 * Context: process.
 */
void hostile_peer_free(struct hostile_peer *peer)
{
	unsigned int i;

	if (!IS_ERR_OR_NULL(peer->id)) {
		if (peer->id->qp) {
			rdma_disconnect(peer->id);
			ib_drain_qp(peer->id->qp);
			rdma_destroy_qp(peer->id);
		}
		rdma_destroy_id(peer->id);
	}
	if (!IS_ERR_OR_NULL(peer->mr))
		ib_dereg_mr(peer->mr);
	if (!IS_ERR_OR_NULL(peer->cq))
		ib_free_cq(peer->cq);
	if (!IS_ERR_OR_NULL(peer->pd))
		ib_dealloc_pd(peer->pd);
	for (i = 0; i < HOSTILE_SENDS; i++)
		kfree(peer->sends[i].memory);
	for (i = 0; i < HOSTILE_RECVS; i++)
		kfree(peer->receives[i].memory);
	kfree(peer->region);
	kfree(peer);
}

/**
 * hostile_send_slot - take a message that is not being sent
 * @peer: the connection
 *
 * Context: any.
 * Return: the message, or NULL if all are being sent.
 */
struct hostile_slot *hostile_send_slot(struct hostile_peer *peer)
{
	struct hostile_slot *slot = NULL;
	unsigned int i;

	spin_lock_bh(&peer->lock);
	for (i = 0; !slot && i < HOSTILE_SENDS; i++)
		if (!peer->sends[i].busy)
			slot = &peer->sends[i];
	if (slot)
		slot->busy = true;
	spin_unlock_bh(&peer->lock);
	return slot;
}

/**
 * hostile_send - send a message
 * @slot:       from hostile_send_slot(), with the message
 * @size:       bytes
 * @key:        the key that the message invalidates
 * @invalidate: @key is meant
 *
 * Context: any.
 * Return: false if the connection is over.
 */
bool hostile_send(struct hostile_slot *slot, u32 size, u32 key, bool invalidate)
{
	struct ib_sge sge = slot_sge(slot, size);
	struct ib_send_wr wr = {
		.wr_cqe = &slot->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = invalidate ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.ex.invalidate_rkey = key,
	};

	if (READ_ONCE(slot->peer->over) || ib_post_send(slot->peer->id->qp, &wr, NULL)) {
		hostile_peer_over(slot->peer);
		return false;
	}
	hostile_count();
	return true;
}

static void register_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		hostile_peer_over(cq->cq_context);
}

/**
 * hostile_register - register the region under a new key
 * @peer: a connection of the client
 *
 * Context: process.
 * Return: false if the region has a key, or the connection is over.
 */
bool hostile_register(struct hostile_peer *peer)
{
	static struct ib_cqe cqe = { .done = register_done };
	struct scatterlist sg;
	struct ib_reg_wr wr = {
		.wr = { .wr_cqe = &cqe, .opcode = IB_WR_REG_MR },
		.mr = peer->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};

	if (READ_ONCE(peer->registered))
		return false;
	ib_update_fast_reg_key(peer->mr, ib_inc_rkey(peer->mr->rkey));
	sg_init_one(&sg, peer->region, HOSTILE_REGION);
	sg_dma_address(&sg) = (uintptr_t)peer->region;
	sg_dma_len(&sg) = HOSTILE_REGION;
	wr.key = peer->mr->rkey;
	if (ib_map_mr_sg(peer->mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return false;
	WRITE_ONCE(peer->registered, true);
	return !ib_post_send(peer->id->qp, &wr.wr, NULL);
}
