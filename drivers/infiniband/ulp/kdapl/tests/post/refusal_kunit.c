// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: a post that fails late changes nothing.
 *
 * The device refuses a receive, cannot map memory, or completes an earlier request while
 * it refuses the next one; an LMR is being freed; the queue is full; a CQ cannot be
 * created. The call must leave the objects unchanged. Runs in a
 * KUnit thread; each test has its own fixture.
 */
#include <linux/io.h>
#include "mem_kunit.h"

static struct mem m;
static unsigned int stretch;	/* kdapl_timeout_scale before the case */

/* Parameters of the hook of a refused bind */
static struct {
	u32 key;			/* the peer invalidates it */
} meanwhile;

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

/* ---- receives ------------------------------------------------------------------ */

/* Without segments, so that the post takes the slow path */
static DAT_RETURN recv_nothing(DAT_HANDLE handle, bool srq, u64 value)
{
	DAT_DTO_COOKIE cookie = { .as_64 = value };

	return srq ? dat_srq_post_recv(handle, 0, NULL, cookie) :
		     dat_ep_post_recv(handle, 0, NULL, cookie, 0);
}

static void G_01_refused_receives_without_segments(struct kunit *test)
{
	struct kdapl_pool *pools[] = { &m.ep.ep->rq, &m.env->srq->pool };
	DAT_HANDLE handles[] = { m.ep.handle, m.env->srq_handle };
	u32 i, slots, posts = fake()->posts;

	kdapl_clauses(test, "G-01");
	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		slots = tp_slots(pools[i]);
		fake_refuse(fake(), -EINVAL, 1);
		TP_EXPECT_TYPE(test, recv_nothing(handles[i], i, 1), DAT_INTERNAL_ERROR);
		fake_refuse(fake(), -ENOMEM, 1);
		TP_EXPECT_TYPE(test, recv_nothing(handles[i], i, 1), DAT_INSUFFICIENT_RESOURCES);
		KUNIT_EXPECT_EQ(test, fake()->posts, posts + i);
		KUNIT_EXPECT_EQ(test, tp_slots(pools[i]), slots);
		KUNIT_EXPECT_EQ(test, recv_nothing(handles[i], i, 2), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, tp_slots(pools[i]), slots - 1);
	}
}

static void G_31_a_receive_fails_before_the_connection(struct kunit *test)
{
	struct tp_ep ep;
	DAT_EVENT event;

	kdapl_clauses(test, "G-31 C-43");
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	fake_complete_recv(tp_qp(&ep), IB_WC_LOC_LEN_ERR, 0);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_LOCAL_LENGTH, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.connect_evd) == 1));
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	tp_drain(&ep);
	tp_ep_free(&ep);
}

/*
 * The device refuses markers, and raises no event for receives that are not solicited, so
 * the drain must poll for them. The timeouts are too long to end it, and the timer that also
 * polls, which the disconnect starts, is stopped.
 */
static void G_33_a_drain_without_markers_polls_receives(struct kunit *test)
{
	struct fake_qp *qp;
	DAT_EP_ATTR attr;
	struct tp_ep ep;
	u32 i;

	kdapl_clauses(test, "G-33");
	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(m.env, &attr, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	qp = tp_qp(&ep);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	fake()->hold_flush = true;
	fake_refuse(fake(), -EIO, U32_MAX);
	kdapl_timeout_scale = 200;
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(qp->state) == IB_QPS_ERR));
	cancel_delayed_work_sync(&ep.ep->fast.recv_evd->timer);
	/* The drain finds the first one at its beginning, and the second one later */
	for (i = 1; i <= 2; i++) {
		fake_complete_recv(qp, IB_WC_SUCCESS, 20);
		KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.recv_evd) == i));
	}
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep.ep->fast.recv_evd->timer));
	KUNIT_EXPECT_EQ(test, tp_events(ep.connect_evd), 0);
	fake_refuse(fake(), 0, 0);
	fake_release(fake(), qp);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.connect_evd) == 1));
	kdapl_timeout_scale = stretch;
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 4);
	tp_ep_free(&ep);
}

/* ---- memory that cannot be mapped ------------------------------------------------ */

static void G_01_a_registration_that_cannot_be_mapped(struct kunit *test)
{
	struct fmr f;

	kdapl_clauses(test, "G-01");
	mem_fmr_args(&m, &f);
	fake()->fail_map = true;
	TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INTERNAL_ERROR);
	fake()->fail_map = false;
	/* An IOMMU with smaller pages than the kernel may change the offset in the page */
	fake()->map_shift = 512;
	TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INTERNAL_ERROR);
	fake()->map_shift = 0;
	KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	mem_expect_fmr(test, &m, false, 0);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect_fmr(test, &m, true, f.key);
}

static void G_01_a_bind_that_cannot_be_mapped(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "G-01");
	mem_bind_args(&m, &b);
	fake()->fail_map = true;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	fake()->fail_map = false;
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	mem_expect_bound(test, &m, 0);
	/* The LMR is not in use */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

/* The range begins in the last of three pages that are not adjacent */
static void B_01_a_range_of_the_last_piece(struct kunit *test)
{
	DAT_PADDR pages[] = { m.page[0], m.page[2], m.page[4] };
	DAT_REGION_DESCRIPTION region = { .for_physical = pages };
	const struct fake_mr *mr;
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
	DAT_VLEN length;
	struct bind b;

	kdapl_clauses(test, "B-01");
	mem_bind_args(&m, &b);
	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(m.ia, DAT_MEM_TYPE_PHYSICAL, region, 3 * PAGE_SIZE,
					      m.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
					      DAT_MEM_OPTIMIZE_DONT_CARE, &b.lmr,
					      &b.range.lmr_context, &key, &length, &address),
			DAT_SUCCESS);
	b.range.virtual_address = address + 2 * PAGE_SIZE + 8;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mr = fake_valid_mr(fake(), b.key);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, mr->npages, 1);
	KUNIT_EXPECT_EQ(test, mr->page[0], (unsigned long)phys_to_virt(m.page[4]));
	mem_bind(test, &m, &m.ep, 2, 0, 0);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(b.lmr), DAT_SUCCESS);
}

/* ---- another call is freeing the LMR ----------------------------------------------- */

/* The first step of dat_lmr_free(), while posts still find the handle */
static struct kdapl_obj *begin_to_free(struct kunit *test, DAT_LMR_HANDLE lmr)
{
	struct kdapl_obj *obj = kdapl_obj_get(lmr, DAT_HANDLE_TYPE_LMR);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_TRUE(test, kdapl_obj_kill(obj));
	return obj;
}

static void stop_freeing(struct kdapl_obj *obj)
{
	atomic_set(&obj->users, 0);
	kdapl_obj_put(obj);
}

static void G_35_the_LMR_is_being_freed(struct kunit *test)
{
	struct kdapl_obj *obj;
	struct fmr f;

	kdapl_clauses(test, "G-35");
	mem_fmr_args(&m, &f);
	obj = begin_to_free(test, m.fmr);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	stop_freeing(obj);
	KUNIT_EXPECT_EQ(test, f.context, 0xdeadbeef);
	mem_expect_fmr(test, &m, false, 0);
	KUNIT_EXPECT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	obj = begin_to_free(test, m.fmr);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	stop_freeing(obj);
	mem_expect_fmr(test, &m, true, f.key);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&m.ep)->sq), 0);
}

/* ---- invalidations ------------------------------------------------------------------ */

static void G_24_no_room_for_an_invalidation(struct kunit *test)
{
	struct fmr f;
	u32 i;

	kdapl_clauses(test, "G-24");
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	tp_drain(&m.ep);
	for (i = 0; i < TP_DEPTH; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &m.ep, TP_SEND, i, 0), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INSUFFICIENT_RESOURCES);
	mem_expect_fmr(test, &m, true, f.key);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 2, 0), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_LMR_INVALIDATE, 2, DAT_DTO_SUCCESS);
}

/* The LMR was registered before the EP moved to another zone */
static void V_06_the_endpoint_is_of_another_zone(struct kunit *test)
{
	DAT_EP_PARAM param = { .pz_handle = m.env->foreign.pz };
	struct fmr f;

	kdapl_clauses(test, "V-06");
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(fake());
	tp_drain(&m.ep);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(m.ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_ep_modify(m.ep.handle, DAT_EP_FIELD_PZ_HANDLE, &param),
			DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&m.ep), 0);
	TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_PROTECTION_VIOLATION);
	mem_expect_fmr(test, &m, true, f.key);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&tp_qp(&m.ep)->sq), 0);
}

/* ---- the device answers an earlier request while it refuses a bind ------------------- */

static void bind_completes(void)
{
	struct ib_cq *cq = tp_qp(&m.ep)->ibqp.send_cq;
	struct ib_wc wc;

	while (fake_poll_cq(cq, 1, &wc))
		wc.wr_cqe->done(cq, &wc);
}

static void peer_invalidates(void)
{
	unsigned long flags;

	spin_lock_irqsave(&fake()->lock, flags);
	fake_invalidate(fake(), meanwhile.key);
	spin_unlock_irqrestore(&fake()->lock, flags);
	kdapl_rkey_invalidated(m.ep.ep, meanwhile.key);
}

/* A second bind is refused, and the hook runs meanwhile */
static void refuse_second(struct kunit *test, void (*hook)(void))
{
	struct bind b;

	mem_bind_args(&m, &b);
	fake_refuse(fake(), -ENOMEM, 1);
	fake()->refuse_hook = hook;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_NULL(test, fake()->refuse_hook);
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
}

/* The first bind completes with @status meanwhile; returns its key */
static u32 completes_meanwhile(struct kunit *test, enum ib_wc_status status)
{
	u32 key = mem_bind(test, &m, &m.ep, 1, 0, 8);

	/* The completion is visible, and softirqs wait */
	local_bh_disable();
	fake_complete_send(tp_qp(&m.ep), status);
	refuse_second(test, bind_completes);
	local_bh_enable();
	fake_settle(fake());
	return key;
}

static void G_01_the_first_bind_succeeds_meanwhile(struct kunit *test)
{
	struct tp_ep other;
	u32 key;

	kdapl_clauses(test, "G-01");
	key = completes_meanwhile(test, IB_WC_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mem_expect_bound(test, &m, key);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	/* It is complete: another EP can replace it */
	mem_second(test, &m, &other);
	key = mem_bind(test, &m, &other, 2, 8, 8);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS);
	mem_expect_bound(test, &m, key);
	tp_ep_free(&other);
}

static void G_01_the_first_bind_fails_meanwhile(struct kunit *test)
{
	kdapl_clauses(test, "G-01");
	completes_meanwhile(test, IB_WC_MW_BIND_ERR);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_RMR_OPERATION_FAILED);
	mem_expect_broken(test, &m.ep);
	mem_expect_bound(test, &m, 0);
}

static void I_10_the_peer_ends_the_binding_meanwhile(struct kunit *test)
{
	kdapl_clauses(test, "I-10 G-01");
	meanwhile.key = mem_bind(test, &m, &m.ep, 1, 0, 8);
	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	refuse_second(test, peer_invalidates);
	mem_expect_bound(test, &m, 0);
	mem_expect_no_async(test, &m);
	/* The memory is not in use */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

/* ---- markers ----------------------------------------------------------------------- */

/* An unsignalled request has no completion, which would make the EP post the marker again */
static void C_26_the_marker_of_a_graceful_disconnect(struct kunit *test)
{
	struct fake_queue *queue = tp_queue(m.env, &m.ep, TP_SEND);
	DAT_EVENT event;

	kdapl_clauses(test, "C-26");
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &m.ep, TP_SEND, 1, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	fake_refuse(fake(), -ENOMEM, 2);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(m.ep.handle, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(fake_outstanding(queue) == 2));
	KUNIT_EXPECT_EQ(test, m.ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(m.env, &m.ep, TP_WRITE, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_TRUE(test, tp_wait_end(m.env, &m.ep));
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(m.ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 0);
}

/* ---- suite ------------------------------------------------------------------------- */

static int refusal_init(struct kunit *test)
{
	stretch = kdapl_timeout_scale;
	return mem_setup(test, &m);
}

static void refusal_exit(struct kunit *test)
{
	kdapl_timeout_scale = stretch;
	mem_done(test, &m);
}

static struct kunit_case refusal_cases[] = {
	KUNIT_CASE(G_01_refused_receives_without_segments),
	KUNIT_CASE(G_31_a_receive_fails_before_the_connection),
	KUNIT_CASE(G_33_a_drain_without_markers_polls_receives),
	KUNIT_CASE(G_01_a_registration_that_cannot_be_mapped),
	KUNIT_CASE(G_01_a_bind_that_cannot_be_mapped),
	KUNIT_CASE(B_01_a_range_of_the_last_piece),
	KUNIT_CASE(G_35_the_LMR_is_being_freed),
	KUNIT_CASE(G_24_no_room_for_an_invalidation),
	KUNIT_CASE(V_06_the_endpoint_is_of_another_zone),
	KUNIT_CASE(G_01_the_first_bind_succeeds_meanwhile),
	KUNIT_CASE(G_01_the_first_bind_fails_meanwhile),
	KUNIT_CASE(I_10_the_peer_ends_the_binding_meanwhile),
	KUNIT_CASE(C_26_the_marker_of_a_graceful_disconnect),
	{}
};

static struct kunit_suite refusal_suite = {
	.name = "kdapl_refusal",
	.init = refusal_init,
	.exit = refusal_exit,
	.test_cases = refusal_cases,
};

kunit_test_suite(refusal_suite);
