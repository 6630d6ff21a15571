// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: sends that invalidate a key of the peer, and messages of a peer that have
 * invalidated a local key (contract 4.7).
 *
 * Like rxe, the device allows a peer to invalidate any MR whose key it knows. If the peer
 * has no right to do that, the owner receives an event, and the connection breaks. Runs in a
 * KUnit thread.
 */
#include "mem_kunit.h"

static struct mem m;
static struct tp_ep other;

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

/* A message over @ep has invalidated @key; its event is delivered in any case */
static void message(struct kunit *test, struct tp_ep *ep, DAT_RMR_CONTEXT key)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 77 };
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	/* Without segments, so that it fits any zone of the EP */
	KUNIT_ASSERT_EQ(test, dat_ep_post_recv(ep->handle, 0, NULL, cookie, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_complete_recv_inv(tp_qp(ep), 5, key));
	fake_settle(fake());
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep->recv_evd, &event), DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep->handle);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, 77);
	KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 5);
	KUNIT_EXPECT_EQ(test, dto->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, dto->rmr_context, key);
}

static void expect_connected(struct kunit *test, struct tp_ep *ep)
{
	KUNIT_EXPECT_EQ(test, ep->ep->state, DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, tp_events(ep->connect_evd), 0);
}

/* ---- sending ---------------------------------------------------------- */

static void I_01_I_06_the_flag(struct kunit *test)
{
	const struct fake_wr *wr;
	struct tp_args a;

	kdapl_clauses(test, "I-01 I-04 I-06 I-08 I-09");
	tp_args(m.env, &m.ep, TP_SEND, &a);
	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie, 0,
							       DAT_FALSE, 0x1234), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&m.ep)->sq)->opcode, IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie,
							       DAT_COMPLETION_SOLICITED_WAIT_FLAG |
							       DAT_COMPLETION_BARRIER_FENCE_FLAG,
							       DAT_TRUE, 0x1234), DAT_SUCCESS);
	wr = fake_last(&tp_qp(&m.ep)->sq);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_SEND_WITH_INV);
	KUNIT_EXPECT_EQ(test, wr->rkey, 0x1234);
	KUNIT_EXPECT_EQ(test, wr->send_flags, IB_SEND_SIGNALED | IB_SEND_SOLICITED |
					      IB_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, wr->num_sge, 1);
	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 0, NULL, a.cookie, 0,
							       DAT_TRUE, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&m.ep)->sq)->opcode, IB_WR_SEND_WITH_INV);
	/* The slot has no key any more when it is used again */
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_SEND, a.cookie.as_64, DAT_DTO_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_SEND, a.cookie.as_64, DAT_DTO_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_SEND, a.cookie.as_64, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post(TP_SEND, &a), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake_last(&tp_qp(&m.ep)->sq)->opcode, IB_WR_SEND);
	mem_finish(&m, &m.ep);

	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie, 0,
							       2, 0x1234),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6));
	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie, 0,
							       -1, 0x1234),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6));
	tp_drain(&m.ep);
}

static void I_08_arguments_as_those_of_a_send(struct kunit *test)
{
	struct tp_args a;
	u32 flag;

	kdapl_clauses(test, "I-01 I-08 G-16 G-17 G-18 G-20");
	for (flag = 0; flag < 2; flag++) {
		tp_args(m.env, &m.ep, TP_SEND, &a);
#define SEND(n, iov, flags) \
	dat_ep_post_send_with_invalidate(a.handle, n, iov, a.cookie, flags, flag, 1)
		TP_EXPECT_TYPE(test, SEND(-1, a.iov, 0), DAT_INVALID_PARAMETER);
		TP_EXPECT_TYPE(test, SEND(TP_SEND_IOV + 1, a.iov, 0), DAT_INVALID_PARAMETER);
		TP_EXPECT_TYPE(test, SEND(1, NULL, 0), DAT_INVALID_PARAMETER);
		TP_EXPECT_TYPE(test, SEND(1, a.iov, DAT_COMPLETION_UNSIGNALLED_FLAG),
			       DAT_INVALID_PARAMETER);
		TP_EXPECT_TYPE(test, SEND(1, a.iov, DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG),
			       DAT_INVALID_PARAMETER);
		a.segs[0].segment_length = TP_MAX_MESSAGE + 1;
		TP_EXPECT_TYPE(test, SEND(1, a.iov, 0), DAT_INVALID_PARAMETER);
		a.segs[0].lmr_context = m.env->own.wo.context;
		TP_EXPECT_TYPE(test, SEND(1, a.iov, 0), DAT_PRIVILEGES_VIOLATION);
		a.segs[0].lmr_context = m.env->foreign.rw.context;
		TP_EXPECT_TYPE(test, SEND(1, a.iov, 0), DAT_PROTECTION_VIOLATION);
		a.handle = m.rmr;
		TP_EXPECT_TYPE(test, SEND(-1, NULL, ~0), DAT_INVALID_HANDLE);
#undef SEND
	}
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&m.ep)->sq), 0);
}

static void I_08_suppressed_and_flushed(struct kunit *test)
{
	struct tp_args a;
	u32 i;

	kdapl_clauses(test, "I-08");
	tp_args(m.env, &m.ep, TP_SEND, &a);
	for (i = 0; i < 3 * TP_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie,
								       DAT_COMPLETION_SUPPRESS_FLAG,
								       DAT_TRUE, i), DAT_SUCCESS);
		fake_complete_send(tp_qp(&m.ep), IB_WC_SUCCESS);
		fake_settle(fake());
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(a.handle, 1, a.iov, a.cookie,
							       DAT_COMPLETION_SUPPRESS_FLAG,
							       DAT_TRUE, 1), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_SEND, a.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

/* ---- receiving: what the peer may end --------------------------------- */

static void I_10_the_binding_is_gone(struct kunit *test)
{
	struct fake_queue *sq = &tp_qp(&m.ep)->sq;
	u32 key, next;

	kdapl_clauses(test, "I-02 I-10");
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_finish(&m, &m.ep);
	message(test, &m.ep, key);
	expect_connected(test, &m.ep);
	mem_expect_no_async(test, &m);
	mem_expect_bound(test, &m, 0);
	/* A rebind has nothing to end */
	next = mem_bind(test, &m, &m.ep, 2, 0, 8);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq), 1);
	KUNIT_EXPECT_EQ(test, fake_wr_at(sq, 0)->opcode, IB_WR_REG_MR);
	KUNIT_EXPECT_NE(test, next, key);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), next));
	/* The old key belongs to no object any more */
	message(test, &m.ep, key);
	expect_connected(test, &m.ep);
	mem_expect_bound(test, &m, next);
	message(test, &m.ep, next);
	/* And the memory is not in use */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
	tp_drain(&m.ep);
}

static void I_10_unbind_after_an_invalidation(struct kunit *test)
{
	struct fake_queue *sq = &tp_qp(&m.ep)->sq;
	u32 key;

	kdapl_clauses(test, "I-10 B-06");
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_finish(&m, &m.ep);
	message(test, &m.ep, key);
	mem_bind(test, &m, &m.ep, 2, 0, 0);
	KUNIT_EXPECT_NE(test, fake_wr_at(sq, 0)->opcode, IB_WR_LOCAL_INV);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS);
}

/* The peer's message arrives before the completion of the bind */
static void I_10_before_the_bind_has_completed(struct kunit *test)
{
	struct bind b;
	u32 key, next;

	kdapl_clauses(test, "I-10");
	mem_second(test, &m, &other);
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	/* The device has executed it, and its completion follows the message */
	local_bh_disable();
	fake_complete_send(tp_qp(&m.ep), IB_WC_SUCCESS);
	spin_lock_irq(&fake()->lock);
	KUNIT_EXPECT_TRUE(test, fake_invalidate(fake(), key));
	spin_unlock_irq(&fake()->lock);
	kdapl_rkey_invalidated(m.ep.ep, key);
	mem_expect_bound(test, &m, 0);
	/* Bound again with the same MR, and only then the old completion is handled */
	next = mem_bind(test, &m, &m.ep, 2, 8, 8);
	local_bh_enable();
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mem_expect_bound(test, &m, next);
	/* It was not that of the second bind, which is still outstanding */
	mem_bind_args(&m, &b);
	b.ep = other.handle;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), next));
	expect_connected(test, &m.ep);
	tp_drain(&m.ep);
}

static void V_02_fmr_of_this_endpoint(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "I-02 I-05 F-13");
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	message(test, &m.ep, f.key);
	expect_connected(test, &m.ep);
	mem_expect_no_async(test, &m);
	mem_expect_fmr(test, &m, false, 0);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &m.ep, f.context), DAT_PRIVILEGES_VIOLATION);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect_fmr(test, &m, true, f.key);
	tp_drain(&m.ep);
}

/* The peer ends the registration before the local request, which is then flushed */
static void I_10_peer_invalidates_before_the_flush(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "I-10 V-08");
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	message(test, &m.ep, f.key);
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(fake());
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(m.ep.ep->state == DAT_EP_STATE_DISCONNECTED));
	fake_settle(fake());
	/* It is not bound any more, because its key is invalid */
	mem_expect_fmr(test, &m, false, 0);
	tp_drain(&m.ep);
}

/* ---- receiving: what it may not --------------------------------------- */

static void I_05_binding_of_another_endpoint(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "I-05");
	mem_second(test, &m, &other);
	key = mem_bind(test, &m, &other, 1, 0, 8);
	mem_finish(&m, &other);
	message(test, &m.ep, key);
	mem_expect_broken(test, &m.ep);
	mem_expect_async(test, &m, m.rmr);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_EQ(test, m.ep.ep->first_error.status, IB_WC_REM_INV_REQ_ERR);
	/* The victim's connection stays, and can bind it again */
	expect_connected(test, &other);
	key = mem_bind(test, &m, &other, 2, 0, 8);
	mem_finish(&m, &other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
}

/* The owner has posted an unbind, which is flushed later */
static void I_05_binding_with_an_invalidation_posted(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "I-05");
	mem_second(test, &m, &other);
	key = mem_bind(test, &m, &other, 1, 0, 8);
	mem_finish(&m, &other);
	mem_bind(test, &m, &other, 2, 0, 0);
	message(test, &m.ep, key);
	mem_expect_broken(test, &m.ep);
	mem_expect_async(test, &m, m.rmr);
	expect_connected(test, &other);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(other.handle, DAT_CLOSE_ABRUPT_FLAG),
			DAT_SUCCESS);
	fake_settle(fake());
	mem_expect_bound(test, &m, 0);
}

static void hostile_to_lmr(struct kunit *test, DAT_LMR_HANDLE lmr, DAT_LMR_CONTEXT context,
			   DAT_RMR_CONTEXT key)
{
	mem_second(test, &m, &other);
	KUNIT_ASSERT_NOT_NULL(test, fake_valid_mr(fake(), key));
	message(test, &m.ep, key);
	mem_expect_broken(test, &m.ep);
	mem_expect_async(test, &m, lmr);
	TP_EXPECT_TYPE(test, mem_local_use(&m, &other, context), DAT_PRIVILEGES_VIOLATION);
	expect_connected(test, &other);
}

static void I_05_LMR_with_remote_rights(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "I-05");
	hostile_to_lmr(test, m.lmr, m.context, m.lmr_key);
	mem_bind_args(&m, &b);
	b.ep = other.handle;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_PRIVILEGES_VIOLATION);
}

/* The device has a key for it, too, and a peer can guess it */
static void I_05_LMR_without_remote_rights(struct kunit *test)
{
	const struct tp_lmr *lmr = &m.env->own.rw;

	kdapl_clauses(test, "I-05");
	hostile_to_lmr(test, lmr->handle, lmr->context, lmr->lmr->mr->rkey);
}

static void I_05_fmr_of_another_endpoint(struct kunit *test)
{
	struct tp_ep third;
	struct fmr f;

	kdapl_clauses(test, "I-05");
	mem_second(test, &m, &third);
	mem_fmr_args(&m, &f);
	f.ep = third.handle;
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &third);
	hostile_to_lmr(test, m.fmr, f.context, f.key);
	mem_expect_fmr(test, &m, false, 0);
	expect_connected(test, &third);
	/* It is unregistered, but can be used again */
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &third);
	tp_drain(&third);
	tp_ep_free(&third);
}

static void I_05_fmr_without_remote_rights(struct kunit *test)
{
	struct tp_ep third;
	struct fmr f;

	kdapl_clauses(test, "I-05");
	mem_second(test, &m, &third);
	mem_fmr_args(&m, &f);
	f.ep = third.handle;
	f.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, f.key, 0);
	mem_finish(&m, &third);
	hostile_to_lmr(test, m.fmr, f.context, fake_last(&tp_qp(&third)->sq)->rkey);
	tp_drain(&third);
	tp_ep_free(&third);
}

static void I_05_key_without_an_owner(struct kunit *test)
{
	kdapl_clauses(test, "I-05");
	/* A key of another user of the device, or one that was just freed */
	message(test, &m.ep, 0xabcdef00);
	message(test, &m.ep, 0);
	expect_connected(test, &m.ep);
	mem_expect_no_async(test, &m);
}

/* Another connection of the EP, in this zone */
static void again(struct kunit *test, DAT_PZ_HANDLE pz)
{
	DAT_EP_PARAM param = { .pz_handle = pz };

	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(fake());
	tp_drain(&m.ep);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(m.ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_modify(m.ep.handle, DAT_EP_FIELD_PZ_HANDLE, &param),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&m.ep), 0);
}

/* A binding that survives its connection belongs to the next: see kdapl-locking.rst */
static void I_05_the_next_peer_of_the_endpoint(struct kunit *test)
{
	struct fmr f;
	u32 key;

	kdapl_clauses(test, "I-05 I-10");
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	again(test, m.pz);
	mem_expect_bound(test, &m, key);
	message(test, &m.ep, key);
	mem_expect_bound(test, &m, 0);
	message(test, &m.ep, f.key);
	mem_expect_fmr(test, &m, false, 0);
	expect_connected(test, &m.ep);
	mem_expect_no_async(test, &m);
}

static void I_05_the_endpoint_was_moved_to_another_zone(struct kunit *test)
{
	struct fmr f;
	u32 key;

	kdapl_clauses(test, "I-05");
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	again(test, m.env->foreign.pz);
	message(test, &m.ep, key);
	mem_expect_broken(test, &m.ep);
	mem_expect_async(test, &m, m.rmr);
	mem_expect_bound(test, &m, 0);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(m.ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&m.ep), 0);
	message(test, &m.ep, f.key);
	mem_expect_broken(test, &m.ep);
	mem_expect_async(test, &m, m.fmr);
	mem_expect_fmr(test, &m, false, 0);
}

static void I_05_before_ESTABLISHED(struct kunit *test)
{
	struct rdma_cm_id *id;

	kdapl_clauses(test, "I-05 C-43");
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, false, &other), DAT_SUCCESS);
	id = tp_begin(&other, true);
	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &other, TP_RECV, 77, 0), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_complete_recv_inv(tp_qp(&other), 5, m.lmr_key));
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, tp_events(other.recv_evd), 0);
	mem_expect_async(test, &m, m.lmr);
	kdapl_ep_enter_connected(other.ep);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, other.ep->state, DAT_EP_STATE_DISCONNECTED);
	/* The message, ESTABLISHED and BROKEN */
	KUNIT_EXPECT_EQ(test, tp_events(other.recv_evd), 1);
	KUNIT_EXPECT_EQ(test, tp_events(other.connect_evd), 2);
}

static void I_05_receive_of_an_SRQ(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "I-02 I-05 I-10");
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, true, &other), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&other), 0);
	key = mem_bind(test, &m, &other, 1, 0, 8);
	mem_finish(&m, &other);
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &other, TP_SRQ, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &other, TP_SRQ, 2, 0), DAT_SUCCESS);
	fake_complete_srq_inv(tp_qp(&other), 3, key);
	fake_settle(fake());
	mem_expect_bound(test, &m, 0);
	expect_connected(test, &other);
	fake_complete_srq_inv(tp_qp(&other), 3, m.lmr_key);
	fake_settle(fake());
	mem_expect_broken(test, &other);
	mem_expect_async(test, &m, m.lmr);
	KUNIT_EXPECT_EQ(test, tp_events(other.recv_evd), 2);
}

/* No event if the owner ends the registration at the same time */
static void owner_and_peer_invalidate_at_once(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "I-10");
	key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_finish(&m, &m.ep);
	mem_bind(test, &m, &m.ep, 2, 8, 8);
	/* The device has executed both in this order, but the message is handled first */
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_SUCCESS, 0);
	message(test, &m.ep, key);
	mem_finish(&m, &m.ep);
	expect_connected(test, &m.ep);
	mem_expect_no_async(test, &m);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 2);
	mem_bind(test, &m, &m.ep, 3, 0, 8);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid + 1);
}

/* ---- suite ------------------------------------------------------------ */

static int inv_init(struct kunit *test)
{
	memset(&other, 0, sizeof(other));
	return mem_setup(test, &m);
}

static void inv_exit(struct kunit *test)
{
	tp_drain(&m.ep);
	tp_ep_free(&other);
	mem_done(test, &m);
}

static struct kunit_case inv_cases[] = {
	KUNIT_CASE(I_01_I_06_the_flag),
	KUNIT_CASE(I_08_arguments_as_those_of_a_send),
	KUNIT_CASE(I_08_suppressed_and_flushed),
	KUNIT_CASE(I_10_the_binding_is_gone),
	KUNIT_CASE(I_10_unbind_after_an_invalidation),
	KUNIT_CASE(I_10_before_the_bind_has_completed),
	KUNIT_CASE(V_02_fmr_of_this_endpoint),
	KUNIT_CASE(I_10_peer_invalidates_before_the_flush),
	KUNIT_CASE(I_05_binding_of_another_endpoint),
	KUNIT_CASE(I_05_binding_with_an_invalidation_posted),
	KUNIT_CASE(I_05_LMR_with_remote_rights),
	KUNIT_CASE(I_05_LMR_without_remote_rights),
	KUNIT_CASE(I_05_fmr_of_another_endpoint),
	KUNIT_CASE(I_05_fmr_without_remote_rights),
	KUNIT_CASE(I_05_key_without_an_owner),
	KUNIT_CASE(I_05_the_next_peer_of_the_endpoint),
	KUNIT_CASE(I_05_the_endpoint_was_moved_to_another_zone),
	KUNIT_CASE(I_05_before_ESTABLISHED),
	KUNIT_CASE(I_05_receive_of_an_SRQ),
	KUNIT_CASE(owner_and_peer_invalidate_at_once),
	{}
};

static struct kunit_suite inv_suite = {
	.name = "kdapl_invalidate",
	.init = inv_init,
	.exit = inv_exit,
	.test_cases = inv_cases,
};

kunit_test_suite(inv_suite);
