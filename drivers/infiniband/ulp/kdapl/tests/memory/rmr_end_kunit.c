// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: bindings that end without an unbind.
 *
 * Failed, flushed and refused binds, RMRs and LMRs that are freed while they are bound or a
 * bind is outstanding, states of the EP, device removal, and the close of the IA. If a
 * request leaves an MR in an unknown state, a work item replaces it, and no MR is leaked. Runs in a
 * KUnit thread.
 */
#include "mem_kunit.h"

static struct mem m;

static struct fake_queue *sq(void)
{
	return &tp_qp(&m.ep)->sq;
}

static struct fake_dev *fake(void)
{
	return m.env->fake;
}

static DAT_RMR_CONTEXT bind(struct kunit *test, u64 cookie, u32 off, u32 len)
{
	return mem_bind(test, &m, &m.ep, cookie, off, len);
}

static DAT_RMR_CONTEXT bound(struct kunit *test)
{
	DAT_RMR_CONTEXT key = bind(test, 1000, 0, 8);

	mem_finish(&m, &m.ep);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1000, DAT_DTO_SUCCESS);
	KUNIT_ASSERT_NOT_NULL(test, fake_valid_mr(fake(), key));
	return key;
}

static void expect_nothing_valid(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), m.valid);
}

/* Another endpoint can bind the RMR as if nothing had happened */
static void expect_good_as_new(struct kunit *test)
{
	struct tp_ep other;
	u32 key;

	mem_second(test, &m, &other);
	key = mem_bind(test, &m, &other, 1, 0, 8);
	mem_finish(&m, &other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	key = mem_bind(test, &m, &other, 2, 8, 8);
	mem_finish(&m, &other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	mem_bind(test, &m, &other, 3, 0, 0);
	mem_finish(&m, &other);
	mem_expect(test, &other, DAT_DTO_BIND_MW, 1, DAT_DTO_SUCCESS);
	mem_expect(test, &other, DAT_DTO_BIND_MW, 2, DAT_DTO_SUCCESS);
	mem_expect(test, &other, DAT_DTO_BIND_MW, 3, DAT_DTO_SUCCESS);
	tp_ep_free(&other);
	expect_nothing_valid(test);
}

/* ---- failures --------------------------------------------------------- */

static void B_15_the_registration_fails(struct kunit *test)
{
	kdapl_clauses(test, "B-15 G-31 G-32");
	bind(test, 1, 0, 8);
	KUNIT_ASSERT_EQ(test, tp_post_one(m.env, &m.ep, TP_SEND, 2, 0), DAT_SUCCESS);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_RMR_OPERATION_FAILED);
	mem_expect(test, &m.ep, DAT_DTO_SEND, 2, DAT_DTO_ERR_FLUSHED);
	mem_expect_broken(test, &m.ep);
	mem_expect_bound(test, &m, 0);
	expect_nothing_valid(test);
	expect_good_as_new(test);
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.lmr));
	m.lmr = DAT_HANDLE_NULL;
}

static void B_15_the_invalidation_in_front_fails(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "B-15 G-31 G-36");
	key = bound(test);
	bind(test, 2, 8, 8);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	/* The bind has failed, whichever of its two requests did */
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_RMR_OPERATION_FAILED);
	mem_expect_broken(test, &m.ep);
	KUNIT_EXPECT_EQ(test, m.ep.ep->first_error.status, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, m.ep.ep->first_error.op, DAT_DTO_BIND_MW);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	expect_good_as_new(test);
}

/*
 * The device aborts a rebind before it has executed any part of it, and reports only
 * the registration: the old key is still valid then, and must be invalidated.
 */
static void B_15_an_unsignalled_invalidation_may_not_have_run(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "B-15 B-05");
	fake()->personality |= FAKE_SILENT_ERRORS;
	key = bound(test);
	bind(test, 2, 8, 8);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_ERR_FLUSHED);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	expect_good_as_new(test);
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.lmr));
	m.lmr = DAT_HANDLE_NULL;
}

static void B_15_a_suppressed_bind_reports_its_failure(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "B-13 B-15 G-32");
	mem_bind_args(&m, &b);
	b.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_MW_BIND_ERR, 0);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_RMR_OPERATION_FAILED);
	mem_expect_broken(test, &m.ep);
}

static void B_14_disconnect_flushes_binds(struct kunit *test)
{
	struct bind b;
	u32 key;

	kdapl_clauses(test, "B-14 G-32");
	key = bound(test);
	bind(test, 1, 8, 8);
	bind(test, 2, 0, 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 1, DAT_DTO_ERR_FLUSHED);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_ERR_FLUSHED);
	mem_expect_bound(test, &m, 0);
	/* The old binding has ended, because the rebind should end it */
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	expect_nothing_valid(test);

	mem_bind_args(&m, &b);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	mem_expect_bound(test, &m, 0);
	expect_good_as_new(test);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

static void B_14_a_binding_outlives_its_connection(struct kunit *test)
{
	struct tp_ep other;
	u32 key;

	kdapl_clauses(test, "B-14 B-20");
	key = bound(test);
	dat_ep_disconnect(m.ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	fake_settle(fake());
	mem_expect_bound(test, &m, key);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	TP_EXPECT_TYPE(test, dat_lmr_free(m.lmr), DAT_INVALID_STATE);
	mem_second(test, &m, &other);
	mem_bind(test, &m, &other, 1, 0, 0);
	mem_finish(&m, &other);
	expect_nothing_valid(test);
	tp_drain(&other);
	tp_ep_free(&other);
}

static const DAT_EP_STATE refusing[] = {
	DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_UNCONFIGURED_RESERVED, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
	DAT_EP_STATE_DISCONNECT_PENDING, DAT_EP_STATE_COMPLETION_PENDING,
};

/* 4.13 */
static void B_14_states(struct kunit *test)
{
	DAT_DTO_COOKIE cookie = { };
	struct bind b;
	struct fmr f;
	u32 i;

	kdapl_clauses(test, "B-14 F-09 V-08 I-08");
	mem_bind_args(&m, &b);
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
	mem_finish(&m, &m.ep);
	for (i = 0; i < ARRAY_SIZE(refusing); i++) {
		tp_set_state(&m.ep, refusing[i]);
		TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INVALID_STATE);
		/* The state of the EP comes before that of the LMR */
		KUNIT_EXPECT_NE(test, mem_fmr_post(&f),
				DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
		TP_EXPECT_TYPE(test, mem_fmr_post(&f), DAT_INVALID_STATE);
		TP_EXPECT_TYPE(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_INVALID_STATE);
		TP_EXPECT_TYPE(test, dat_ep_post_send_with_invalidate(m.ep.handle, 0, NULL, cookie,
								      0, DAT_TRUE, 1),
			       DAT_INVALID_STATE);
	}
	tp_set_state(&m.ep, DAT_EP_STATE_CONNECTED_MULTI_PATH);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(&m, &m.ep, 1, 0), DAT_SUCCESS);
	tp_set_state(&m.ep, DAT_EP_STATE_CONNECTED);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_drain(&m.ep), 3);
}

/* The MR in the unknown state cannot be replaced: the next bind tries again */
static void repair_that_finds_no_MR(struct kunit *test)
{
	struct tp_ep other;
	struct bind b;

	kdapl_clauses(test, "B-15 B-25");
	bind(test, 1, 0, 8);
	bind(test, 2, 8, 8);
	fake()->fail_mrs = -ENOMEM;
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	mem_second(test, &m, &other);
	mem_bind_args(&m, &b);
	b.ep = other.handle;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	fake_settle(fake());
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INSUFFICIENT_RESOURCES);
	fake()->fail_mrs = 0;
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(mem_bind_post(&b) == DAT_SUCCESS));
	mem_finish(&m, &other);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), b.key));
	mem_expect(test, &other, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_DTO_SUCCESS);
	tp_ep_free(&other);
}

/* A Consumer may wait for this work while it writes pages out */
static void repair_allocates_without_IO(struct kunit *test)
{
	bind(test, 1, 0, 8);
	/* The fixture has freed an LMR, which has set a bit */
	fake()->noio = 0;
	tp_complete(m.env, &m.ep, TP_SEND, IB_WC_LOC_QP_OP_ERR, 0);
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, fake()->noio, FAKE_NOIO_ALLOC_MR | FAKE_NOIO_DEREG_MR);
	/* And neither does the free, a grace period later */
	fake()->noio = 0;
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	rcu_barrier();
	fake_settle(fake());
	KUNIT_EXPECT_EQ(test, fake()->noio, FAKE_NOIO_DEREG_MR);
}

/* ---- refused by the device -------------------------------------------- */

static void G_01_a_refused_bind_changes_nothing(struct kunit *test)
{
	struct bind b;
	u32 key;

	kdapl_clauses(test, "G-01");
	mem_bind_args(&m, &b);
	fake_refuse(fake(), -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b),
			DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	mem_expect_bound(test, &m, 0);
	key = bound(test);
	/* A rebind that the device refuses completely; an unbind */
	fake_refuse(fake(), -EINVAL, 2);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	b.range.segment_length = 0;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, b.key, 0xdeadbeef);
	mem_expect_bound(test, &m, key);
	KUNIT_EXPECT_NOT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq()), 0);
	/* And it prevents nothing */
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	expect_nothing_valid(test);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

/* The queue has room for both halves. If a device takes only one, no call may hang */
static void half_a_list(struct kunit *test, bool flush)
{
	struct bind b;
	u32 key;

	key = bound(test);
	mem_bind_args(&m, &b);
	fake_refuse_after(fake(), 1, -EINVAL, 1);
	/* Before the connection work can break it */
	mutex_lock(&m.ep.ep->mutex);
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq()), 1);
	if (!flush)
		fake_complete_send(tp_qp(&m.ep), IB_WC_SUCCESS);
	mutex_unlock(&m.ep.ep->mutex);
	fake_settle(fake());
	mem_expect_broken(test, &m.ep);
	KUNIT_EXPECT_EQ(test, tp_events(m.ep.request_evd), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
	mem_expect_bound(test, &m, 0);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	expect_nothing_valid(test);
	expect_good_as_new(test);
	/* Removal and dat_ia_close wait for every MR */
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.lmr));
	m.lmr = DAT_HANDLE_NULL;
	rcu_barrier();
	flush_workqueue(kdapl_wq);
	rcu_barrier();
}

static void device_accepts_half_of_a_list_and_completes_nothing(struct kunit *test)
{
	kdapl_clauses(test, "G-01 B-25");
	half_a_list(test, false);
}

static void device_accepts_half_of_a_list_and_flushes_it(struct kunit *test)
{
	kdapl_clauses(test, "G-01 B-25");
	half_a_list(test, true);
}

/* ---- freed ------------------------------------------------------------ */

static void B_20_the_LMR_is_in_use(struct kunit *test)
{
	DAT_RETURN in_use = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);

	kdapl_clauses(test, "B-20");
	bind(test, 1, 0, 8);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), in_use);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), in_use);
	bind(test, 2, 0, 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), in_use);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

static void bound_RMR_is_freed(struct kunit *test)
{
	u32 key;

	kdapl_clauses(test, "B-20");
	key = bound(test);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

/* A Consumer can free its objects at once after a connection has ended */
static void flushed_RMR_is_freed_at_once(struct kunit *test)
{
	kdapl_clauses(test, "B-14 B-20");
	bound(test);
	bind(test, 2, 8, 8);
	/* The repair is delayed, like by a busy workqueue */
	down_write(&m.env->ia->sem);
	fake_complete_send(tp_qp(&m.ep), IB_WC_WR_FLUSH_ERR);
	fake_complete_send(tp_qp(&m.ep), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(m.ep.request_evd) == 1));
	up_write(&m.env->ia->sem);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	expect_nothing_valid(test);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
}

static void RMR_is_freed_with_a_bind_under_way(struct kunit *test)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	struct bind b;
	DAT_EVENT event;
	u32 key;

	kdapl_clauses(test, "B-20 G-02");
	key = bound(test);
	bind(test, 2, 8, 8);
	mem_bind_args(&m, &b);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	m.rmr = DAT_HANDLE_NULL;
	TP_EXPECT_TYPE(test, mem_bind_post(&b), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_lmr_free(m.lmr), DAT_INVALID_STATE);
	mem_finish(&m, &m.ep);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(m.ep.request_evd, &event), DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, 2);
	KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_NULL(test, fake_valid_mr(fake(), key));
	KUNIT_EXPECT_TRUE(test, mem_lmr_goes(m.lmr));
	m.lmr = DAT_HANDLE_NULL;
	/* No MR is left, so the zone can be freed */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(fake_valid_mrs(fake()) == m.valid - 1));
}

static void leave_everything_bound(struct kunit *test)
{
	DAT_RMR_HANDLE rmr;
	struct bind b;
	struct fmr f;

	bound(test);
	bind(test, 2, 8, 8);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(m.pz, &rmr), DAT_SUCCESS);
	mem_bind_args(&m, &b);
	b.rmr = rmr;
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_rmr_free(rmr), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(m.pz, &rmr), DAT_SUCCESS);
	b.rmr = rmr;
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_fmr_args(&m, &f);
	KUNIT_ASSERT_EQ(test, mem_fmr_post(&f), DAT_SUCCESS);
}

/* tp_env_destroy() warns about objects that are left on the device */
static void abrupt_close_with_every_RMR_bound(struct kunit *test)
{
	kdapl_clauses(test, "C-36");
	leave_everything_bound(test);
	memset(&m.ep, 0, sizeof(m.ep));
	KUNIT_EXPECT_EQ(test, dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	m.env->ia = NULL;
	KUNIT_EXPECT_EQ(test, fake_valid_mrs(fake()), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
}

/*
 * An RMR that was freed with a bind outstanding is on no list, but still uses the LMR: the
 * LMR must not be destroyed before the MRs of the RMR.
 */
static void abrupt_close_waits_for_a_freed_RMR(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "C-36 B-20");
	mem_bind_args(&m, &b);
	KUNIT_ASSERT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_rmr_free(m.rmr), DAT_SUCCESS);
	fake()->slow_key = b.key;
	memset(&m.ep, 0, sizeof(m.ep));
	KUNIT_EXPECT_EQ(test, dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	m.env->ia = NULL;
	KUNIT_EXPECT_EQ(test, fake()->slow_key, 0);
	KUNIT_EXPECT_EQ(test, fake()->slow_lost, 0);
}

/* ---- the device leaves ------------------------------------------------ */

static void C_57_device_leaves_with_everything_bound(struct kunit *test)
{
	struct bind b;

	kdapl_clauses(test, "C-57 C-58 B-14");
	leave_everything_bound(test);
	fake_dev_unplug(fake());
	KUNIT_EXPECT_EQ(test, atomic_read(&fake()->live), 0);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, 2, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, tp_events(m.ep.request_evd), 3);
	tp_drain(&m.ep);
	mem_expect_bound(test, &m, 0);
	/* On an orphaned IA: flushed in software, and nothing is bound */
	mem_bind_args(&m, &b);
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	fake_settle(fake());
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	mem_expect_bound(test, &m, 0);
	b.range.segment_length = 0;
	KUNIT_EXPECT_EQ(test, mem_bind_post(&b), DAT_SUCCESS);
	mem_expect(test, &m.ep, DAT_DTO_BIND_MW, b.cookie.as_64, DAT_DTO_ERR_FLUSHED);
	TP_EXPECT_TYPE(test, dat_rmr_create(m.pz, &b.rmr), DAT_INSUFFICIENT_RESOURCES);
	/* Free everything, in any order */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(m.lmr), DAT_SUCCESS);
	m.lmr = DAT_HANDLE_NULL;
	KUNIT_EXPECT_EQ(test, tp_slots(&m.ep.ep->sq.pool), TP_DEPTH);
}

static void C_57_orphan_is_closed_abruptly(struct kunit *test)
{
	kdapl_clauses(test, "C-57");
	leave_everything_bound(test);
	fake_dev_unplug(fake());
	memset(&m.ep, 0, sizeof(m.ep));
	KUNIT_EXPECT_EQ(test, dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	m.env->ia = NULL;
}

/* ---- suite ------------------------------------------------------------ */

static int end_init(struct kunit *test)
{
	return mem_setup(test, &m);
}

static void end_exit(struct kunit *test)
{
	mem_done(test, &m);
}

static struct kunit_case end_cases[] = {
	KUNIT_CASE(B_15_the_registration_fails),
	KUNIT_CASE(B_15_the_invalidation_in_front_fails),
	KUNIT_CASE(B_15_an_unsignalled_invalidation_may_not_have_run),
	KUNIT_CASE(B_15_a_suppressed_bind_reports_its_failure),
	KUNIT_CASE(B_14_disconnect_flushes_binds),
	KUNIT_CASE(B_14_a_binding_outlives_its_connection),
	KUNIT_CASE(B_14_states),
	KUNIT_CASE(repair_that_finds_no_MR),
	KUNIT_CASE(repair_allocates_without_IO),
	KUNIT_CASE(G_01_a_refused_bind_changes_nothing),
	KUNIT_CASE(device_accepts_half_of_a_list_and_completes_nothing),
	KUNIT_CASE(device_accepts_half_of_a_list_and_flushes_it),
	KUNIT_CASE(B_20_the_LMR_is_in_use),
	KUNIT_CASE(bound_RMR_is_freed),
	KUNIT_CASE(flushed_RMR_is_freed_at_once),
	KUNIT_CASE(RMR_is_freed_with_a_bind_under_way),
	KUNIT_CASE(abrupt_close_with_every_RMR_bound),
	KUNIT_CASE(abrupt_close_waits_for_a_freed_RMR),
	KUNIT_CASE(C_57_device_leaves_with_everything_bound),
	KUNIT_CASE(C_57_orphan_is_closed_abruptly),
	{}
};

static struct kunit_suite end_suite = {
	.name = "kdapl_rmr_end",
	.init = end_init,
	.exit = end_exit,
	.test_cases = end_cases,
};

kunit_test_suite(end_suite);
