// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: races at teardown, which the fake device makes certain.
 *
 * Each test stops the device, or the connection work, at a point where an error occurred
 * before, while the other side runs: completions before ESTABLISHED in solicited-wait mode,
 * a marker that is completing, an SRQ endpoint that is being freed during device removal,
 * posts during a removal, a device that raises LAST_WQE once. Runs in a KUnit thread, with a
 * second one for calls that block; each test has its own device.
 */
#include "beside.h"
#include "clause.h"
#include "nap.h"
#include "post_kunit.h"

static struct tp_env *env;
static struct tp_ep ep;
/* Calls that block; they may outlive a failed test */
static struct tp_aside freeing, leaving;

static struct {
	atomic_t n;
	u64 cookie[8];
} upcalls;

static void record_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	int i = atomic_inc_return(&upcalls.n) - 1;

	if (i < ARRAY_SIZE(upcalls.cookie))
		upcalls.cookie[i] = event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static void free_ep(void)
{
	DAT_RETURN ret = dat_ep_free(ep.handle);

	WARN_ON(ret != DAT_SUCCESS);
	ep.handle = NULL;
}

static void unplug(void)
{
	fake_dev_unplug(env->fake);
}

static u32 suppressed(u64 cookie)
{
	return tp_post_one(env, &ep, TP_SEND, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

static DAT_BOOLEAN request_idle(void)
{
	DAT_BOOLEAN recv_idle, idle = DAT_FALSE;
	DAT_EP_STATE state;

	dat_ep_get_status(ep.handle, &state, &recv_idle, &idle);
	return idle;
}

static void expect_conn(struct kunit *test, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(ep.connect_evd, &event), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_number, number);
}

/* ---- solicited wait before the connection --------------------------------------- */

/* An endpoint in solicited-wait mode with three receives, its attempt begun */
static void make_solicited(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = record_upcall };
	DAT_EP_ATTR attr;
	u64 i;

	tp_attr(&attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, &attr, false, &ep), DAT_SUCCESS);
	dat_evd_modify_upcall(ep.recv_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp_begin(&ep, false));
}

/* A query finds completions for which the device has raised no event */
static void poll_without_upcall(struct kunit *test)
{
	DAT_EVENT event;

	TP_EXPECT_TYPE(test, dat_evd_dequeue(ep.recv_evd, &event), DAT_QUEUE_EMPTY);
}

static void R_12_C_43_solicited_receives_before_ESTABLISHED(struct kunit *test)
{
	kdapl_clauses(test, "R-12 C-43 E-17");
	make_solicited(test);
	fake_complete_recv_solicited(tp_qp(&ep), 10);
	fake_settle(env->fake);
	KUNIT_EXPECT_NOT_NULL(test, ep.ep->parked.first);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 0);

	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 1);
	KUNIT_EXPECT_EQ(test, upcalls.cookie[0], 1);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	/* This message was solicited, the next one is not */
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 20);
	tp_expect_dto(test, &ep, TP_RECV, 2, DAT_DTO_SUCCESS, 20);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 1);
}

static void R_12_C_43_plain_receives_before_ESTABLISHED(struct kunit *test)
{
	kdapl_clauses(test, "R-12 C-43");
	make_solicited(test);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	poll_without_upcall(test);
	KUNIT_EXPECT_NOT_NULL(test, ep.ep->parked.first);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 0);
	tp_expect_dto(test, &ep, TP_RECV, 1, DAT_DTO_SUCCESS, 10);
}

static void E_18_C_43_plain_before_solicited_receive(struct kunit *test)
{
	kdapl_clauses(test, "E-18 R-12 C-43");
	make_solicited(test);
	fake_complete_recv(tp_qp(&ep), IB_WC_SUCCESS, 10);
	poll_without_upcall(test);
	fake_complete_recv_solicited(tp_qp(&ep), 20);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 0);
	KUNIT_EXPECT_TRUE(test, kdapl_ep_enter_connected(ep.ep));
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&upcalls.n), 2);
	KUNIT_EXPECT_EQ(test, upcalls.cookie[0], 1);
	KUNIT_EXPECT_EQ(test, upcalls.cookie[1], 2);
}

/* ---- the marker ------------------------------------------------------------------- */

/* The query schedules the work, which continues only after the marker has completed */
static void marker_completes_before_it_is_posted_again(struct kunit *test)
{
	struct fake_queue *sq;

	kdapl_clauses(test, "G-34");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	sq = &tp_qp(&ep)->sq;
	KUNIT_ASSERT_EQ(test, suppressed(1), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, request_idle(), DAT_FALSE);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, fake_outstanding(sq), 2);

	/* The work is scheduled and waits for the mutex; its marker is still outstanding */
	mutex_lock(&ep.ep->mutex);
	KUNIT_EXPECT_EQ(test, suppressed(2), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, request_idle(), DAT_FALSE);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(ep.ep->drain.tail_marker.busy)));
	KUNIT_EXPECT_TRUE(test, completion_done(&ep.ep->drain.tail_marker.done));
	mutex_unlock(&ep.ep->mutex);
	fake_settle(env->fake);

	/* It is posted again after the second tail, without the completion of the first */
	KUNIT_EXPECT_EQ(test, fake_outstanding(sq), 2);
	KUNIT_EXPECT_TRUE(test, ep.ep->drain.tail_marker.busy);
	KUNIT_EXPECT_FALSE(test, completion_done(&ep.ep->drain.tail_marker.done));
	KUNIT_EXPECT_EQ(test, ep.ep->drain.tail_marker.run_end, ep.ep->sq.run_tail);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, request_idle(), DAT_TRUE);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
}

/* On the other CPU, the device completes the marker */
static void complete_marker(struct work_struct *work)
{
	fake_complete_send(tp_qp(&ep), IB_WC_SUCCESS);
}

/*
 * Blocks the completion of the marker where it takes the lock. The work must not have been
 * scheduled by then, or it would find the marker busy, and it would not be posted again.
 */
static unsigned long todo_before_marker_is_back(struct kunit *test, struct work_struct *work)
{
	struct kdapl_sq *sq = &ep.ep->sq;
	unsigned long flags, todo;
	bool met;

	spin_lock_irqsave(&sq->lock, flags);
	queue_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), system_wq, work);
	met = kdapl_spin_until(tp_contended(&sq->lock), cpu_relax());
	todo = READ_ONCE(ep.ep->conn.todo);
	spin_unlock_irqrestore(&sq->lock, flags);
	KUNIT_EXPECT_TRUE(test, met);
	return todo;
}

static void C_26_marker_completion_schedules_the_work(struct kunit *test)
{
	struct work_struct work;
	unsigned long todo;

	kdapl_clauses(test, "C-25 C-26");
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_ASSERT_EQ(test, suppressed(1), DAT_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG);
	fake_settle(env->fake);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	KUNIT_ASSERT_EQ(test, fake_outstanding(&tp_qp(&ep)->sq), 1);
	KUNIT_ASSERT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);

	INIT_WORK_ONSTACK(&work, complete_marker);
	/* So that the bits for the work stay visible */
	mutex_lock(&ep.ep->mutex);
	todo = todo_before_marker_is_back(test, &work);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!READ_ONCE(ep.ep->drain.tail_marker.busy)));
	mutex_unlock(&ep.ep->mutex);
	flush_work(&work);
	destroy_work_on_stack(&work);
	fake_settle(env->fake);
	KUNIT_EXPECT_EQ(test, todo, 0);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * An EP is freed while its graceful disconnect waits for requests, and the device
 * completes the drain marker. That completion must not queue the connection work,
 * because the EP may be gone as soon as the marker has completed.
 */
static void C_36_drain_marker_does_not_schedule_the_work(struct kunit *test)
{
	struct rdma_cm_id *id;
	struct fake_qp *qp;

	kdapl_clauses(test, "C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	qp = tp_qp(&ep);
	id = ep.ep->conn.cm_id;
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	dat_ep_disconnect(ep.handle, DAT_CLOSE_GRACEFUL_FLAG);
	fake_settle(env->fake);
	KUNIT_ASSERT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECT_PENDING);
	KUNIT_ASSERT_EQ(test, ep.ep->fast.slow_path & KDAPL_EP_WATCH, KDAPL_EP_WATCH);
	env->fake->hold_flush = true;
	/* Keeps the EP from being freed after its drain, so that the test can check it */
	rdma_lock_handler(id);
	tp_start(&freeing, free_ep);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(fake_outstanding(&qp->rq) == 1));
	fake_complete_recv(qp, IB_WC_WR_FLUSH_ERR, 0);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(fake_outstanding(&qp->sq) == 2));
	fake_complete_send(qp, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(tp_events(ep.request_evd) == 1));
	/* The bits that the request has set are correct; the free holds the mutex */
	WRITE_ONCE(ep.ep->conn.todo, 0);
	fake_complete_send(qp, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(completion_done(&ep.ep->drain.sq_marker.done)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(ep.ep->conn.todo), 0);
	rdma_unlock_handler(id);
	fake_release(env->fake, qp);
	KUNIT_ASSERT_TRUE(test, tp_finish(&freeing));
}

/* ---- a device that is slow to flush ----------------------------------------------------- */

#define END_MS		1000	/* bound for the end of an abrupt disconnect (C-56) */
#define END_STRETCH	4	/* so that the test's own work is a small part */

/* How the device is slow */
enum slow { SLOW_QUEUES, SLOW_SRQ, SLOW_SRQ_NO_MARKERS, NSLOW };

static struct {
	DAT_EVENT_NUMBER number;
	struct completion came;
} ended;

static void ended_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	ended.number = event->event_number;
	complete(&ended.came);
}

/* Makes an abrupt disconnect while the device flushes nothing */
static void slow_end(struct kunit *test, enum slow slow)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = ended_upcall };
	struct fake_qp *qp;
	bool came;

	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, slow != SLOW_QUEUES, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	qp = tp_qp(&ep);
	init_completion(&ended.came);
	dat_evd_modify_upcall(ep.connect_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_UPCALL_INVOC_NEW);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SEND, 1, 0), DAT_SUCCESS);
	env->fake->hold_flush = true;
	if (slow != SLOW_QUEUES)
		env->fake->personality |= FAKE_NO_LAST_WQE;
	if (slow == SLOW_SRQ_NO_MARKERS)
		fake_refuse(env->fake, -EIO, U32_MAX);
	tp_ticks_start();
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	came = wait_for_completion_timeout(&ended.came, msecs_to_jiffies(KDAPL_HANG_MS));
	KUNIT_EXPECT_LT_MSG(test, tp_ticks_stop(), kdapl_timeout_ms(END_MS),
			    "slow device %u", slow);
	KUNIT_ASSERT_TRUE(test, came);
	KUNIT_EXPECT_EQ(test, ended.number, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, ep.ep->state, DAT_EP_STATE_DISCONNECTED);
	/* The device still has the request, and will complete it later */
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	tp_complete(env, &ep, TP_SEND, IB_WC_SUCCESS, 0);
	tp_expect_dto(test, &ep, TP_SEND, 1, DAT_DTO_SUCCESS, TP_SEG);
	fake_refuse(env->fake, 0, 0);
	fake_release(env->fake, qp);
	fake_settle(env->fake);
	tp_ep_free(&ep);
}

static void C_56_the_end_does_not_wait_for_a_slow_device(struct kunit *test)
{
	enum slow slow;

	kdapl_clauses(test, "C-56");
	/* Here they end the drain */
	kdapl_timeout_scale = END_STRETCH;
	for (slow = 0; slow < NSLOW; slow++)
		slow_end(test, slow);
}

/* ---- removal in the middle of something ---------------------------------------------- */

static void C_57_device_leaves_while_an_SRQ_endpoint_is_freed(struct kunit *test)
{
	struct fake_qp *qp;

	kdapl_clauses(test, "C-36 C-57");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	qp = tp_qp(&ep);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
	env->fake->personality |= FAKE_NO_LAST_WQE;
	tp_start(&freeing, free_ep);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(qp->state) == IB_QPS_ERR));
	tp_start(&leaving, unplug);
	/* The SRQ is about to be destroyed, and the endpoint still has its QP on it */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!rcu_access_pointer(env->srq->srq)));
	KUNIT_ASSERT_FALSE(test, completion_done(&freeing.done));
	KUNIT_EXPECT_FALSE(test, completion_done(&leaving.done));
	fake_release(env->fake, qp);
	KUNIT_ASSERT_TRUE(test, tp_finish(&freeing));
	KUNIT_ASSERT_TRUE(test, tp_finish(&leaving));
	/* P8: each verbs object destroyed, and none of them twice */
	KUNIT_EXPECT_EQ(test, atomic_read(&env->fake->live), 0);
	KUNIT_EXPECT_EQ(test, env->fake->last_wqes, 1);
}

static void post_pairs(struct kunit *test, u64 first, u64 last)
{
	u64 i;

	for (i = first; i <= last; i++) {
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_SEND, i, 0), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, tp_post_one(env, &ep, TP_RECV, i, 0), DAT_SUCCESS);
	}
}

static void C_58_software_flushes_come_after_those_of_the_device(struct kunit *test)
{
	struct rdma_cm_id *id;
	struct fake_qp *qp;
	u64 i;

	kdapl_clauses(test, "C-58 S-33 R-28 C-31");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	qp = tp_qp(&ep);
	id = ep.ep->conn.cm_id;
	/* Removal has drained the QP and waits for the id */
	rdma_lock_handler(id);
	tp_start(&leaving, unplug);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(completion_done(&ep.ep->drain.sq_marker.done)));
	env->fake->hold_flush = true;
	post_pairs(test, 1, 3);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&qp->sq), 3);
	KUNIT_EXPECT_EQ(test, fake_outstanding(&qp->rq), 3);
	rdma_unlock_handler(id);
	/* It continues, removes the QP, and waits for the six */
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!rcu_access_pointer(ep.ep->fast.qp)));
	post_pairs(test, 11, 13);
	KUNIT_EXPECT_EQ(test, tp_events(ep.request_evd), 0);
	KUNIT_EXPECT_EQ(test, tp_events(ep.recv_evd), 0);
	fake_release(env->fake, qp);
	KUNIT_ASSERT_TRUE(test, tp_finish(&leaving));

	expect_conn(test, DAT_CONNECTION_EVENT_BROKEN);
	for (i = 1; i <= 13; i += i == 3 ? 8 : 1) {
		tp_expect_dto(test, &ep, TP_SEND, i, DAT_DTO_ERR_FLUSHED, 0);
		tp_expect_dto(test, &ep, TP_RECV, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->sq.pool), TP_DEPTH);
	KUNIT_EXPECT_EQ(test, tp_slots(&ep.ep->rq), TP_DEPTH);
}

/* ---- a CQ that is being armed ------------------------------------------------------------ */

static struct {
	struct fake_qp *qp;
	struct ib_cq *cq;
} armed;

static void wait_for_marker(void)
{
	while (!fake_outstanding(&armed.qp->sq) && !fake_outstanding(&armed.qp->rq) &&
	       !kthread_should_stop())
		kdapl_nap(100, 200);
}

/*
 * Makes drains end in softirqs of this CPU. For the one after the last grace period the
 * device is slow to arm the CQ.
 */
static int end_drains(void *data)
{
	bool last;

	do {
		wait_for_marker();
		last = kthread_should_stop() || !rcu_access_pointer(ep.ep->fast.qp);
		if (last)
			WRITE_ONCE(env->fake->slow_arm, armed.cq);
		local_bh_disable();
		fake_release(env->fake, armed.qp);
		/* After the softirq the next marker may be posted, and the last one ends it */
		env->fake->hold_flush = !last;
		local_bh_enable();
	} while (!last);
	while (!kthread_should_stop())
		kdapl_nap(100, 200);
	return 0;
}

static void C_36_the_CQ_stays_while_it_is_armed(struct kunit *test)
{
	struct task_struct *task;

	kdapl_clauses(test, "C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	armed.qp = tp_qp(&ep);
	armed.cq = ep.ep->queue.cq->cq;
	env->fake->hold_flush = true;
	task = beside_run(end_drains, "kdapl_test_arm");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = NULL;
	beside_stop(task);
	KUNIT_EXPECT_NULL(test, env->fake->slow_arm);
	KUNIT_EXPECT_EQ(test, env->fake->misuses, 0);
	env->fake->misuses = 0;
}

static void C_36_a_late_interrupt_finds_the_CQ_stopped(struct kunit *test)
{
	kdapl_clauses(test, "C-36");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, false, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	env->fake->late_irq = ep.ep->queue.cq->cq;
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	ep.handle = NULL;
	KUNIT_EXPECT_NULL(test, env->fake->late_irq);
	KUNIT_EXPECT_EQ(test, env->fake->misuses, 0);
	env->fake->misuses = 0;
}

/* ---- LAST_WQE comes once --------------------------------------------------------------- */

static void C_32_reset_of_an_SRQ_endpoint_does_not_wait_twice(struct kunit *test)
{
	u32 round;

	kdapl_clauses(test, "C-32 R-31 Q-30");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, 1, 0), DAT_SUCCESS);
	for (round = 1; round <= 2; round++) {
		KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
		KUNIT_ASSERT_EQ(test, tp_post_one(env, &ep, TP_SRQ, round + 1, 0), DAT_SUCCESS);
		tp_complete(env, &ep, TP_SRQ, IB_WC_SUCCESS, 5);
		tp_expect_dto(test, &ep, TP_SRQ, round, DAT_DTO_SUCCESS, 5);
		dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
		fake_settle(env->fake);
		expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
		/* The disconnect has seen it; the drain of the reset waits for it again */
		KUNIT_EXPECT_EQ(test, env->fake->last_wqes, round);
		tp_ticks_start();
		KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
		KUNIT_EXPECT_LT(test, tp_ticks_stop(), kdapl_timeout_ms(KDAPL_LAST_WQE_MS));
		KUNIT_EXPECT_EQ(test, env->fake->last_wqes, round);
		/* The new QP will raise its own */
		KUNIT_EXPECT_FALSE(test, completion_done(&ep.ep->drain.last_wqe));
		KUNIT_EXPECT_EQ(test, fake_outstanding(tp_queue(env, &ep, TP_SRQ)), 1);
	}
	KUNIT_EXPECT_EQ(test, tp_drain(&ep), 0);
}

/* The event comes while the disconnect waits for it; the reset needs it, too */
static void C_32_late_LAST_WQE_ends_disconnect_and_reset(struct kunit *test)
{
	kdapl_clauses(test, "C-32 R-31");
	KUNIT_ASSERT_EQ(test, tp_ep_create(env, NULL, true, &ep), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	env->fake->personality |= FAKE_NO_LAST_WQE;
	dat_ep_disconnect(ep.handle, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(swait_active(&ep.ep->drain.last_wqe.wait)));
	fake_release(env->fake, tp_qp(&ep));
	fake_settle(env->fake);
	expect_conn(test, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, env->fake->last_wqes, 1);
	tp_ticks_start();
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_LT(test, tp_ticks_stop(), kdapl_timeout_ms(KDAPL_LAST_WQE_MS));
	KUNIT_EXPECT_EQ(test, env->fake->last_wqes, 1);
}

/* ---- suite -------------------------------------------------------------------------------- */

/* So that no timeout ends the calls that block here, even if the host stops for a while */
#define STRETCH		100U

static unsigned int stretch_before;

static int teardown_init(struct kunit *test)
{
	stretch_before = kdapl_timeout_scale;
	kdapl_timeout_scale = max(stretch_before, STRETCH);
	memset(&upcalls, 0, sizeof(upcalls));
	memset(&ep, 0, sizeof(ep));
	env = tp_env_create();
	return PTR_ERR_OR_ZERO(env);
}

static void teardown_exit(struct kunit *test)
{
	kdapl_timeout_scale = stretch_before;
	tp_env_end(test, &env, &ep);
}

static struct kunit_case teardown_cases[] = {
	KUNIT_CASE(R_12_C_43_solicited_receives_before_ESTABLISHED),
	KUNIT_CASE(R_12_C_43_plain_receives_before_ESTABLISHED),
	KUNIT_CASE(E_18_C_43_plain_before_solicited_receive),
	KUNIT_CASE(marker_completes_before_it_is_posted_again),
	KUNIT_CASE(C_26_marker_completion_schedules_the_work),
	KUNIT_CASE(C_36_drain_marker_does_not_schedule_the_work),
	KUNIT_CASE_SLOW(C_56_the_end_does_not_wait_for_a_slow_device),
	KUNIT_CASE(C_57_device_leaves_while_an_SRQ_endpoint_is_freed),
	KUNIT_CASE(C_58_software_flushes_come_after_those_of_the_device),
	KUNIT_CASE(C_36_the_CQ_stays_while_it_is_armed),
	KUNIT_CASE(C_36_a_late_interrupt_finds_the_CQ_stopped),
	KUNIT_CASE(C_32_reset_of_an_SRQ_endpoint_does_not_wait_twice),
	KUNIT_CASE(C_32_late_LAST_WQE_ends_disconnect_and_reset),
	{}
};

static struct kunit_suite teardown_suite = {
	.name = "kdapl_teardown",
	.init = teardown_init,
	.exit = teardown_exit,
	.test_cases = teardown_cases,
};

kunit_test_suite(teardown_suite);
