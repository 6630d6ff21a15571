// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the teardown of many endpoints at once, QPs that do not flush, posts while a QP is
 * being destroyed, and an IA that its Consumer has left open.
 *
 * The suite counts the grace periods and the QPs that are in ERROR at the same time,
 * so that almost no result depends on the speed of the machine. Runs in a KUnit
 * thread, with a second one for calls that might hang.
 */
#include "clause.h"
#include "post_kunit.h"

#define TEARDOWN_EPS	1000
#define TEARDOWN_KINDS	4	/* UNCONNECTED; connected; in solicited-wait mode; on the SRQ */
#define TEARDOWN_SRQ_EPS	100
#define TEARDOWN_GRACES	8	/* however many endpoints there are */

static struct tp_env *env;
static struct tp_ep ep;
/* A thread for calls that might hang; it may outlive a failed test */
static struct tp_aside ending;

/* ---- many endpoints ---------------------------------------------------- */

/* One more endpoint on the EVDs of @like; connected if @connect */
static void add_ep(struct kunit *test, struct tp_ep *like, bool srq, bool connect)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	struct tp_ep one = *like;
	struct kdapl_obj *obj;
	DAT_EP_ATTR attr;

	attr = like->ep->cfg.attr;
	if (srq)
		KUNIT_ASSERT_EQ(test, dat_ep_create_with_srq(ia, env->own.pz, one.recv_evd,
							     one.request_evd, one.connect_evd,
							     env->srq_handle, &attr, &one.handle),
				DAT_SUCCESS);
	else
		KUNIT_ASSERT_EQ(test, dat_ep_create(ia, env->own.pz, one.recv_evd,
						    one.request_evd, one.connect_evd, &attr,
						    &one.handle), DAT_SUCCESS);
	obj = kdapl_obj_get(one.handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	one.ep = to_kdapl_ep(obj);
	kdapl_obj_put(obj);
	if (connect)
		KUNIT_ASSERT_EQ(test, tp_connect(&one), 0);
}

/* The first of its type, with its own EVDs */
static void first_ep(struct kunit *test, bool solicited, bool srq, bool connect,
		     struct tp_ep *first)
{
	DAT_EP_ATTR attr;

	tp_attr(&attr);
	if (solicited)
		attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, srq, first), DAT_SUCCESS);
	if (connect)
		KUNIT_ASSERT_EQ(test, tp_connect(first), 0);
}

/* Endpoints of each type */
static void make_eps(struct kunit *test, u32 n)
{
	struct tp_ep like;
	u32 kind, i;

	for (kind = 0; kind < TEARDOWN_KINDS; kind++) {
		first_ep(test, kind == 2, kind == 3, kind, &like);
		for (i = 1; i < n / TEARDOWN_KINDS; i++)
			add_ep(test, &like, kind == 3, kind);
	}
}

static void close_ia(void)
{
	DAT_RETURN ret = dat_ia_close(kdapl_obj_handle(&env->ia->obj), DAT_CLOSE_ABRUPT_FLAG);

	WARN_ON(ret != DAT_SUCCESS);
	env->ia = NULL;
}

static void unplug(void)
{
	fake_dev_unplug(env->fake);
}

/* Number of grace periods for which the module has waited */
static int graces_of(void (*end)(void))
{
	int before = atomic_read(&kdapl_grace_periods);

	end();
	return atomic_read(&kdapl_grace_periods) - before;
}

static void C_36_close_of_1000_endpoints_waits_few_grace_periods(struct kunit *test)
{
	kdapl_clauses(test, "C-36");
	make_eps(test, TEARDOWN_EPS);
	KUNIT_EXPECT_LE(test, graces_of(close_ia), TEARDOWN_GRACES);
	/* All except the UNCONNECTED ones were in ERROR before the first was destroyed */
	KUNIT_EXPECT_EQ(test, env->fake->most_in_error, TEARDOWN_EPS / TEARDOWN_KINDS * 3);
}

static void C_57_removal_of_1000_endpoints_waits_few_grace_periods(struct kunit *test)
{
	kdapl_clauses(test, "C-57");
	make_eps(test, TEARDOWN_EPS);
	KUNIT_EXPECT_LE(test, graces_of(unplug), TEARDOWN_GRACES);
	KUNIT_EXPECT_EQ(test, env->fake->most_in_error, TEARDOWN_EPS);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	/* Closing orphaned objects also waits for grace periods */
	KUNIT_EXPECT_LE(test, graces_of(close_ia), TEARDOWN_GRACES);
}

static void free_ep(void)
{
	DAT_RETURN ret = dat_ep_free(ep.handle);

	WARN_ON(ret != DAT_SUCCESS);
	ep.handle = NULL;
}

static void C_36_free_of_an_endpoint_waits_three_grace_periods(struct kunit *test)
{
	u32 kind;

	kdapl_clauses(test, "C-36");
	for (kind = 0; kind < TEARDOWN_KINDS; kind++) {
		first_ep(test, kind == 2, kind == 3, kind, &ep);
		KUNIT_EXPECT_EQ(test, graces_of(free_ep), 3);
		tp_ep_free(&ep);
	}
}

/*
 * The endpoints share one timeout. If they waited one after the other they would take
 * four times as long as the bound below, which is far longer than one timeout.
 */
static void C_32_100_endpoints_share_the_wait_for_LAST_WQE(struct kunit *test)
{
	struct tp_ep like;
	u32 i;

	kdapl_clauses(test, "C-36 Q-30");
	env->fake->personality |= FAKE_NO_LAST_WQE;
	first_ep(test, false, true, true, &like);
	for (i = 1; i < TEARDOWN_SRQ_EPS; i++)
		add_ep(test, &like, true, true);
	tp_ticks_start();
	close_ia();
	KUNIT_EXPECT_LT(test, tp_ticks_stop(),
			TEARDOWN_SRQ_EPS / 4 * kdapl_timeout_ms(KDAPL_LAST_WQE_MS));
	KUNIT_EXPECT_EQ(test, env->fake->most_in_error, TEARDOWN_SRQ_EPS);
	KUNIT_EXPECT_EQ(test, env->fake->last_wqes, 0);
}

/* ---- a QP in INIT that does not flush ---------------------------------- */

static void make_mute(struct kunit *test)
{
	u64 i;

	env->fake->personality |= FAKE_NO_FLUSH_IN_INIT;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
}

/* Cancels an attempt before the connection manager knows its QP */
static void fail_attempt(struct kunit *test)
{
	DAT_EVENT event;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
	mutex_lock(&ep.ep->mutex);
	ep.ep->drain.qp_left_init = false;
	tp_qp(&ep)->state = IB_QPS_INIT;
	mutex_unlock(&ep.ep->mutex);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
}

/* Three receives, in any order, because only the device knew it */
static void expect_three_flushed(struct kunit *test)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	u32 seen = 0, i;

	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.recv_evd, &event), DAT_SUCCESS);
		dto = &event.event_data.dto_completion_event_data;
		KUNIT_EXPECT_EQ(test, dto->status, DAT_DTO_ERR_FLUSHED);
		KUNIT_EXPECT_EQ(test, dto->operation, DAT_DTO_RECEIVE);
		seen |= BIT(dto->user_cookie.as_64);
	}
	KUNIT_EXPECT_EQ(test, seen, 0xe);
}

static void free_eps(void)
{
	tp_ep_free(&ep);
}

static void C_36_an_endpoint_in_INIT_is_freed_without_a_flush(struct kunit *test)
{
	kdapl_clauses(test, "C-36");
	make_mute(test);
	tp_start(&ending, free_eps);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	/* The QP was not moved to ERROR: a free does not wait for flushes of a QP in INIT */
	KUNIT_EXPECT_EQ(test, env->fake->most_in_error, 0);
}

static void C_23_receives_of_a_failed_attempt_are_flushed_in_software(struct kunit *test)
{
	u64 i;

	kdapl_clauses(test, "C-23 R-30 R-27 S-31 S-33");
	make_mute(test);
	fail_attempt(test);
	expect_three_flushed(test);
	for (i = 11; i <= 12; i++) {
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
	}
	for (i = 11; i <= 12; i++) {
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	tp_start(&ending, free_eps);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
}

/*
 * A receive that is being posted finds no QP. It was not flushed yet when the receives that
 * the device has kept are flushed, so it looks like one of them.
 */
static void S_31_a_receive_that_is_being_posted_is_flushed_once(struct kunit *test)
{
	struct kdapl_slot *slot;

	kdapl_clauses(test, "C-23 S-31");
	make_mute(test);
	fail_attempt(test);
	expect_three_flushed(test);
	slot = kdapl_pool_get(&ep.ep->rq);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	slot->dto.cookie = 4;
	slot->ev.flags = KDAPL_SLOT_RECV;
	slot->ev.kind = KDAPL_EV_DTO;
	slot->dto.op = DAT_DTO_RECEIVE;
	WRITE_ONCE(slot->ev.state, KDAPL_SLOT_POSTED);
	kdapl_flush_kept(ep.ep);
	kdapl_flush_in_software(ep.ep, slot);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 1);
	tp_expect_dto(test, &ep, TP_RECV, 4, DAT_DTO_ERR_FLUSHED, 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
}

static void C_32_reset_makes_a_new_QP_for_one_that_did_not_flush(struct kunit *test)
{
	kdapl_clauses(test, "C-32 R-31");
	make_mute(test);
	fail_attempt(test);
	expect_three_flushed(test);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, 4, 0), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 5, 0), DAT_SUCCESS);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 7);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_RECV, 4, DAT_DTO_SUCCESS, 7);
	tp_expect_dto(test, &ep, TP_SEND, 5, DAT_DTO_SUCCESS, TP_SEG);
	tp_start(&ending, free_eps);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
}

static void C_32_reset_without_a_CQ_changes_nothing(struct kunit *test)
{
	kdapl_clauses(test, "C-32");
	make_mute(test);
	fail_attempt(test);
	expect_three_flushed(test);
	env->fake->fail_cq = -ENOMEM;
	TP_EXPECT_TYPE(test, dat_ep_reset(ep.handle), DAT_INSUFFICIENT_RESOURCES);
	env->fake->fail_create = -ENOMEM;
	TP_EXPECT_TYPE(test, dat_ep_reset(ep.handle), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 9, 0), DAT_SUCCESS);
	tp_expect_dto(test, &ep, TP_RECV, 9, DAT_DTO_ERR_FLUSHED, 0);
}

static void C_57_removal_flushes_the_receives_of_a_QP_in_INIT(struct kunit *test)
{
	kdapl_clauses(test, "C-57 C-58");
	make_mute(test);
	tp_start(&ending, unplug);
	KUNIT_ASSERT_TRUE(test, tp_finish(&ending));
	expect_three_flushed(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	TP_EXPECT_TYPE(test, dat_ep_reset(ep.handle), DAT_INSUFFICIENT_RESOURCES);
}

/* The device is removed while an endpoint has no QP and waits for a reset */
static void C_57_removal_finds_an_endpoint_without_a_QP(struct kunit *test)
{
	kdapl_clauses(test, "C-57");
	make_mute(test);
	fail_attempt(test);
	unplug();
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	TP_EXPECT_TYPE(test, dat_ep_reset(ep.handle), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
}

/* ---- posts while the QP goes --------------------------------------------- */

/*
 * A post finds no QP while the verbs objects are being destroyed. The device announces no flush
 * that is held back, so it must not be taken for a completion that was parked.
 */
static void S_31_delayed_flush_is_not_announced(struct kunit *test)
{
	struct kdapl_ep *kep;
	struct ib_qp *qp;
	int fired;

	kdapl_clauses(test, "S-31 R-27");
	first_ep(test, true, false, true, &ep);
	kep = ep.ep;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	KUNIT_ASSERT_TRUE(test, tp_wait_end(env, &ep));
	mutex_lock(&kep->mutex);
	kdapl_ep_hold(kep);
	qp = rcu_dereference_protected(kep->fast.qp, lockdep_is_held(&kep->mutex));
	RCU_INIT_POINTER(kep->fast.qp, NULL);
	fired = kep->parked.fired;
	atomic_set(&kep->fast.recv_evd->nfired, fired + 1);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, 1, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, 2, 0), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kep->parked.fired, fired);
	rcu_assign_pointer(kep->fast.qp, qp);
	kdapl_ep_unhold(kep);
	mutex_unlock(&kep->mutex);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	tp_expect_dto(test, &ep, TP_SEND, 2, DAT_DTO_ERR_FLUSHED, 0);
}

static struct {
	struct work_struct work;
	struct completion posting;	/* a bind has set its callback in a slot */
	bool met;			/* a thread has waited for the lock of the bind */
	bool called;
} bind;

static void bind_called(struct ib_cq *cq, struct ib_wc *wc)
{
	WRITE_ONCE(bind.called, true);
	wc->wr_cqe->done = kdapl_request_done;
}

/* A bind on an EP without a QP: it sets its callback, and restores the usual one */
static void bind_without_QP(struct work_struct *work)
{
	struct kdapl_sq *sq = &ep.ep->sq;
	struct kdapl_slot *slot = kdapl_pool_slot(&sq->pool, 0);
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	slot->cqe.done = bind_called;
	complete(&bind.posting);
	kdapl_spin_until(tp_contended(&sq->lock) || READ_ONCE(bind.called), cpu_relax());
	bind.met = tp_contended(&sq->lock);
	slot->cqe.done = kdapl_request_done;
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* Callback of a deferred request: kdapl_sq_abandon() calls it before it checks the slots */
static void deferred_done(struct ib_cq *cq, struct ib_wc *wc)
{
	wc->wr_cqe->done = kdapl_request_done;
	queue_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), system_wq,
		      &bind.work);
	wait_for_completion_timeout(&bind.posting, msecs_to_jiffies(KDAPL_HANG_MS));
}

static void abandoning_a_queue_keeps_a_new_bind(struct kunit *test)
{
	struct kdapl_slot *slot;
	struct kdapl_sq *sq;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	sq = &ep.ep->sq;
	init_completion(&bind.posting);
	bind.met = false;
	bind.called = false;
	INIT_WORK(&bind.work, bind_without_QP);
	slot = kdapl_pool_slot(&sq->pool, 1);
	slot->cqe.done = deferred_done;
	spin_lock_irq(&sq->lock);
	slot->ev.next = NULL;
	sq->deferred = &slot->ev;
	spin_unlock_irq(&sq->lock);
	/* The work spins on another CPU, which this thread must not use */
	migrate_disable();
	kdapl_sq_abandon(sq);
	migrate_enable();
	flush_work(&bind.work);
	KUNIT_EXPECT_TRUE(test, bind.met);
	KUNIT_EXPECT_FALSE(test, bind.called);
}

/* ---- what a Consumer has left open -------------------------------------- */

/* Owners of IAs */
static struct module careless = { .name = "kdapl_careless" };
static struct module careful = { .name = "kdapl_careful" };

static atomic_t upcalls;

static void count_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	atomic_inc(&upcalls);
}

static void C_36_unload_closes_an_open_IA_without_upcalls(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_upcall };
	u64 i;

	kdapl_clauses(test, "C-36");
	atomic_set(&upcalls, 0);
	first_ep(test, false, false, true, &ep);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(ep.recv_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &upcall, DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	env->ia->owner = &careless;

	kdapl_ia_destroy_of_owner(&careful);
	tp_complete(env, &ep, TP_RECV, IB_WC_SUCCESS, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls), 1);
	/* The Consumer of the two flushed posts was unloaded: no further upcall may run */
	kdapl_ia_destroy_of_owner(&careless);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls), 1);
	TP_EXPECT_TYPE(test, dat_ep_free(ep.handle), DAT_INVALID_HANDLE);
	env->ia = NULL;
	memset(&ep, 0, sizeof(ep));
}

/*
 * An IA of another Consumer sends its asynchronous events to an EVD of the IA, which therefore
 * stays. But the device must not use the memory of a Consumer that was unloaded.
 */
static void C_36_unload_orphans_an_IA_whose_EVD_is_lent(struct kunit *test)
{
	struct kdapl_ia *other = NULL;
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;

	kdapl_clauses(test, "C-36 C-57");
	evd = kdapl_obj_handle(&env->ia->async_evd->obj);
	first_ep(test, false, false, true, &ep);
	mutex_lock(&kdapl_device_mutex);
	kdapl_ia_create(env->ia->dev, 1, (struct sockaddr *)&env->ia->addr, &init_net, 1,
			env->ia->async_evd, &other);
	mutex_unlock(&kdapl_device_mutex);
	KUNIT_ASSERT_NOT_NULL(test, other);
	env->ia->owner = &careless;
	other->owner = &careful;

	kdapl_ia_destroy_of_owner(&careless);
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	/* Only the EVDs are left */
	TP_EXPECT_TYPE(test, dat_ep_free(ep.handle), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_lmr_free(env->own.rw.handle), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_pz_free(env->own.pz), DAT_INVALID_HANDLE);
	memset(&ep, 0, sizeof(ep));
	/* A second unload has nothing to do */
	kdapl_ia_destroy_of_owner(&careless);
	/* The other IA is open, and its events still arrive */
	kdapl_ia_async(other, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
		       kdapl_obj_handle(&other->obj), DAT_LMR_OTHER_ERROR);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, dat_ia_close(kdapl_obj_handle(&other->obj), DAT_CLOSE_ABRUPT_FLAG),
			DAT_SUCCESS);
}

static void destroy_left(void)
{
	kdapl_ia_destroy_of_owner(&careless);
}

/*
 * Another thread closes the IA while the module of its Consumer is unloaded. The text of
 * the upcalls must stay until that thread has finished, so the notifier waits.
 */
static void C_36_an_IA_that_is_being_closed_is_waited_for(struct kunit *test)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	static struct tp_aside unload;
	bool closed;

	kdapl_clauses(test, "C-36");
	env->ia->owner = &careless;
	/* A late step of the close needs the mutex */
	mutex_lock(&kdapl_device_mutex);
	tp_start(&ending, close_ia);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!kdapl_obj_is_valid(ia, DAT_HANDLE_TYPE_IA)));
	/* That of another module is not */
	kdapl_ia_destroy_of_owner(&careful);
	tp_start(&unload, destroy_left);
	/* No barrier is needed: the test repeats the check, and wakes no thread */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(waitqueue_active(&kdapl_ias_closed) ||
						  completion_done(&unload.done)));
	KUNIT_EXPECT_FALSE(test, completion_done(&unload.done));
	mutex_unlock(&kdapl_device_mutex);
	closed = tp_finish(&ending);
	KUNIT_EXPECT_TRUE(test, tp_finish(&unload));
	KUNIT_ASSERT_TRUE(test, closed);
}

/* ---- suite --------------------------------------------------------------- */

static int eps_teardown_init(struct kunit *test)
{
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void eps_teardown_exit(struct kunit *test)
{
	tp_env_end(test, &env, &ep);
}

static struct kunit_case eps_teardown_cases[] = {
	KUNIT_CASE_SLOW(C_36_close_of_1000_endpoints_waits_few_grace_periods),
	KUNIT_CASE_SLOW(C_57_removal_of_1000_endpoints_waits_few_grace_periods),
	KUNIT_CASE(C_36_free_of_an_endpoint_waits_three_grace_periods),
	KUNIT_CASE_SLOW(C_32_100_endpoints_share_the_wait_for_LAST_WQE),
	KUNIT_CASE(C_36_an_endpoint_in_INIT_is_freed_without_a_flush),
	KUNIT_CASE(C_23_receives_of_a_failed_attempt_are_flushed_in_software),
	KUNIT_CASE(S_31_a_receive_that_is_being_posted_is_flushed_once),
	KUNIT_CASE(C_32_reset_makes_a_new_QP_for_one_that_did_not_flush),
	KUNIT_CASE(C_32_reset_without_a_CQ_changes_nothing),
	KUNIT_CASE(C_57_removal_flushes_the_receives_of_a_QP_in_INIT),
	KUNIT_CASE(C_57_removal_finds_an_endpoint_without_a_QP),
	KUNIT_CASE(S_31_delayed_flush_is_not_announced),
	KUNIT_CASE(abandoning_a_queue_keeps_a_new_bind),
	KUNIT_CASE(C_36_unload_closes_an_open_IA_without_upcalls),
	KUNIT_CASE(C_36_unload_orphans_an_IA_whose_EVD_is_lent),
	KUNIT_CASE(C_36_an_IA_that_is_being_closed_is_waited_for),
	{}
};

static struct kunit_suite eps_teardown_suite = {
	.name = "kdapl_eps_teardown",
	.init = eps_teardown_init,
	.exit = eps_teardown_exit,
	.test_cases = eps_teardown_cases,
};

kunit_test_suite(eps_teardown_suite);
