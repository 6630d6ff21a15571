// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the suites for the posting path, see post_kunit.h.
 *
 * It creates everything by the public calls, except for the connection, which has a cm_id
 * without a peer. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include "post_kunit.h"

const char * const tp_call_name[TP_NCALLS] = { "send", "write", "read", "recv", "srq_recv" };

const DAT_DTOS tp_call_op[TP_NCALLS] = {
	DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ, DAT_DTO_RECEIVE, DAT_DTO_RECEIVE
};

const DAT_COUNT tp_call_limit[TP_NCALLS] = {
	TP_SEND_IOV, TP_WRITE_IOV, TP_READ_IOV, TP_RECV_IOV, TP_SRQ_IOV
};

/* ---- environment --------------------------------------------------------- */

/* The object of a handle that the fixture keeps valid */
static struct kdapl_obj *object_of(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, type);

	if (obj)
		kdapl_obj_put(obj);
	return obj;
}

/* No test is running yet, so print the name of the call */
static int failed(const char *call, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	pr_err("kdapl test: %s: %#x\n", call, ret);
	return -EIO;
}

static int lmr_create(struct tp_env *env, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
		      struct tp_lmr *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = env->buf };
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
	DAT_VLEN length;
	int err;

	err = failed("dat_lmr_kcreate",
		     dat_lmr_kcreate(kdapl_obj_handle(&env->ia->obj), DAT_MEM_TYPE_VIRTUAL, region,
				     TP_BUF, pz, priv, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
				     &lmr->handle, &lmr->context, &key, &length, &address));
	if (err)
		return err;
	lmr->lmr = to_kdapl_lmr(object_of(lmr->handle, DAT_HANDLE_TYPE_LMR));
	lmr->lkey = lmr->lmr->mr->lkey;
	return 0;
}

static int zone_create(struct tp_env *env, struct tp_zone *zone)
{
	int err;

	err = failed("dat_pz_create", dat_pz_create(kdapl_obj_handle(&env->ia->obj), &zone->pz));
	if (err)
		return err;
	err = lmr_create(env, zone->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG |
					DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &zone->rw);
	if (!err)
		err = lmr_create(env, zone->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &zone->ro);
	if (!err)
		err = lmr_create(env, zone->pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &zone->wo);
	return err;
}

/* The device as kdapl's ib_client has found it */
static struct kdapl_device *device_find(struct fake_dev *fake)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == &fake->ibdev)
			return dev;
	return NULL;
}

static int ia_create(struct tp_env *env)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = cpu_to_be32(0xc0000201),
	};
	struct kdapl_device *dev;
	int err = -ENODEV;

	mutex_lock(&kdapl_device_mutex);
	dev = device_find(env->fake);
	if (dev)
		err = kdapl_ia_create(dev, 1, (struct sockaddr *)&addr, &init_net, 8, NULL,
				      &env->ia);
	mutex_unlock(&kdapl_device_mutex);
	return err;
}

static int srq_create(struct tp_env *env)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = TP_DEPTH,
		.max_recv_iov = TP_SRQ_IOV,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	int err;

	err = failed("dat_srq_create", dat_srq_create(kdapl_obj_handle(&env->ia->obj), env->own.pz,
						      &attr, &env->srq_handle));
	if (err)
		return err;
	env->srq = to_kdapl_srq(object_of(env->srq_handle, DAT_HANDLE_TYPE_SRQ));
	return 0;
}

static int env_fill(struct tp_env *env)
{
	struct tp_lmr gone;
	int err;

	err = ia_create(env);
	if (!err)
		err = zone_create(env, &env->own);
	if (!err)
		err = zone_create(env, &env->foreign);
	if (!err)
		err = srq_create(env);
	if (!err)
		err = lmr_create(env, env->own.pz, DAT_MEM_PRIV_ALL_FLAG, &gone);
	if (err)
		return err;
	env->freed = gone.context;
	return failed("dat_lmr_free", dat_lmr_free(gone.handle));
}

/* Work items free memory regions after a grace period */
static void quiesce(void)
{
	rcu_barrier();
	flush_workqueue(kdapl_wq);
	rcu_barrier();
}

struct tp_env *tp_env_create_on(struct fake_dev *fake)
{
	struct tp_env *env = kzalloc(sizeof(*env), GFP_KERNEL);
	int err = -ENOMEM;

	if (IS_ERR(fake))
		err = PTR_ERR(fake);
	if (!env || IS_ERR(fake))
		goto err_free;
	env->fake = fake;
	env->buf = kmalloc(TP_BUF, GFP_KERNEL);
	if (!env->buf)
		goto err_free;
	err = env_fill(env);
	quiesce();
	if (!err)
		return env;
	pr_err("kdapl test: environment: %d\n", err);
	tp_env_destroy(env);
	return ERR_PTR(err);

err_free:
	if (!IS_ERR(fake))
		fake_dev_destroy(fake);
	kfree(env);
	return ERR_PTR(err);
}

struct tp_env *tp_env_create(void)
{
	return tp_env_create_on(fake_dev_create());
}

void tp_env_destroy(struct tp_env *env)
{
	if (IS_ERR_OR_NULL(env))
		return;
	if (env->ia)
		WARN_ON(dat_ia_close(kdapl_obj_handle(&env->ia->obj), DAT_CLOSE_ABRUPT_FLAG) !=
			DAT_SUCCESS);
	quiesce();
	WARN(atomic_read(&env->fake->live), "kdapl test: %d verbs objects left\n",
	     atomic_read(&env->fake->live));
	fake_dev_destroy(env->fake);
	kfree(env->buf);
	kfree(env);
}

void tp_env_end(struct kunit *test, struct tp_env **env, struct tp_ep *ep)
{
	if (IS_ERR_OR_NULL(*env))
		return;
	tp_ep_free(ep);
	KUNIT_EXPECT_EQ(test, (*env)->fake->full, 0);
	KUNIT_EXPECT_EQ(test, (*env)->fake->overruns, 0);
	tp_env_destroy(*env);
	*env = NULL;
}

/* ---- endpoints ------------------------------------------------------------- */

void tp_attr(DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = TP_MAX_MESSAGE;
	attr->max_rdma_size = TP_MAX_RDMA;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->max_recv_dtos = TP_DEPTH;
	attr->max_request_dtos = TP_DEPTH;
	attr->max_recv_iov = TP_RECV_IOV;
	attr->max_request_iov = TP_SEND_IOV;
	attr->max_rdma_read_in = 4;
	attr->max_rdma_read_out = 4;
	attr->max_rdma_read_iov = TP_READ_IOV;
	attr->max_rdma_write_iov = TP_WRITE_IOV;
	attr->srq_soft_hw = DAT_WATERMARK_INFINITE;
}

static DAT_RETURN evd_create(struct tp_env *env, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(kdapl_obj_handle(&env->ia->obj), 8, DAT_UPCALL_DISABLE, NULL,
			       flags | DAT_EVD_SOFTWARE_FLAG, evd);
}

DAT_RETURN tp_ep_create_in(struct tp_env *env, DAT_EVD_FLAGS context, const DAT_EP_ATTR *attr,
			   bool srq, struct tp_ep *tep)
{
	DAT_IA_HANDLE ia = kdapl_obj_handle(&env->ia->obj);
	DAT_EP_ATTR own;
	DAT_RETURN ret;

	memset(tep, 0, sizeof(*tep));
	tp_attr(&own);
	if (attr)
		own = *attr;
	ret = evd_create(env, DAT_EVD_DTO_FLAG | context, &tep->recv_evd);
	if (ret == DAT_SUCCESS)
		ret = evd_create(env, DAT_EVD_DTO_FLAG | context, &tep->request_evd);
	if (ret == DAT_SUCCESS)
		ret = evd_create(env, DAT_EVD_CONNECTION_FLAG, &tep->connect_evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (srq)
		ret = dat_ep_create_with_srq(ia, env->own.pz, tep->recv_evd, tep->request_evd,
					     tep->connect_evd, env->srq_handle, &own, &tep->handle);
	else
		ret = dat_ep_create(ia, env->own.pz, tep->recv_evd, tep->request_evd,
				    tep->connect_evd, &own, &tep->handle);
	if (ret == DAT_SUCCESS)
		tep->ep = to_kdapl_ep(object_of(tep->handle, DAT_HANDLE_TYPE_EP));
	return ret;
}

DAT_RETURN tp_ep_create(struct tp_env *env, const DAT_EP_ATTR *attr, bool srq, struct tp_ep *tep)
{
	return tp_ep_create_in(env, 0, attr, srq, tep);
}

DAT_RETURN tp_ep_beside(struct tp_env *env, const struct tp_ep *first, struct tp_ep *tep)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(tep, 0, sizeof(*tep));
	tp_attr(&attr);
	ret = evd_create(env, DAT_EVD_CONNECTION_FLAG, &tep->connect_evd);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(kdapl_obj_handle(&env->ia->obj), env->own.pz, first->recv_evd,
				    first->request_evd, tep->connect_evd, &attr, &tep->handle);
	if (ret == DAT_SUCCESS)
		tep->ep = to_kdapl_ep(object_of(tep->handle, DAT_HANDLE_TYPE_EP));
	return ret;
}

void tp_ep_free(struct tp_ep *tep)
{
	if (tep->handle)
		WARN_ON(dat_ep_free(tep->handle) != DAT_SUCCESS);
	if (tep->recv_evd)
		WARN_ON(dat_evd_free(tep->recv_evd) != DAT_SUCCESS);
	if (tep->request_evd)
		WARN_ON(dat_evd_free(tep->request_evd) != DAT_SUCCESS);
	if (tep->connect_evd)
		WARN_ON(dat_evd_free(tep->connect_evd) != DAT_SUCCESS);
	memset(tep, 0, sizeof(*tep));
}

struct fake_qp *tp_qp(struct tp_ep *tep)
{
	return to_fake_qp(rcu_dereference_raw(tep->ep->fast.qp));
}

int tp_begin_with(struct tp_ep *tep, struct rdma_cm_id *id, bool passive)
{
	int ret;

	mutex_lock(&tep->ep->mutex);
	ret = kdapl_notice_reserve(tep->ep);
	if (!ret) {
		kdapl_cm_begin(tep->ep, id, passive);
		tep->ep->drain.qp_left_init = true;
		tp_qp(tep)->state = IB_QPS_RTS;
	}
	mutex_unlock(&tep->ep->mutex);
	return ret;
}

struct rdma_cm_id *tp_begin(struct tp_ep *tep, bool passive)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, kdapl_cm_handler, tep->ep, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	/* It is not bound */
	id->port_num = 1;
	if (!tp_begin_with(tep, id, passive))
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(-ENOMEM);
}

void tp_cm_says(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	/* Like the CM: the id exists until its handler has returned */
	rdma_lock_handler(id);
	id->event_handler(id, &event);
	rdma_unlock_handler(id);
}

int tp_connect(struct tp_ep *tep)
{
	struct rdma_cm_id *id = tp_begin(tep, false);
	DAT_EVENT event;

	if (IS_ERR(id))
		return PTR_ERR(id);
	if (!kdapl_ep_enter_connected(tep->ep))
		return -ENOTCONN;
	if (dat_evd_dequeue(tep->connect_evd, &event) != DAT_SUCCESS ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return -ENOTCONN;
	return 0;
}

bool tp_wait_end(struct tp_env *env, struct tp_ep *tep)
{
	bool over = kdapl_sleep_until(READ_ONCE(tep->ep->state) == DAT_EP_STATE_DISCONNECTED);

	fake_settle(env->fake);
	return over;
}

void tp_set_state(struct tp_ep *tep, DAT_EP_STATE state)
{
	spin_lock_irq(&tep->ep->lock);
	if (state == DAT_EP_STATE_DISCONNECTED)
		kdapl_ep_enter_disconnected(tep->ep);
	else
		kdapl_ep_set_state(tep->ep, state);
	spin_unlock_irq(&tep->ep->lock);
}

/* ---- a second thread ------------------------------------------------------- */

static void aside_work(struct work_struct *work)
{
	struct tp_aside *aside = container_of(work, struct tp_aside, work);

	aside->call();
	complete(&aside->done);
}

void tp_start(struct tp_aside *aside, void (*call)(void))
{
	INIT_WORK(&aside->work, aside_work);
	init_completion(&aside->done);
	aside->call = call;
	queue_work(system_unbound_wq, &aside->work);
}

bool tp_finish(struct tp_aside *aside)
{
	return kdapl_sleep_until(completion_done(&aside->done));
}

/* ---- ticks -------------------------------------------------------------------- */

static struct timer_list tick_timer;
static unsigned long ticks;		/* written by the timer only, while it runs */

/* The timer wheel rounds up, so a timer for the present jiffy expires at the next tick */
static void tick(struct timer_list *timer)
{
	ticks++;
	mod_timer(timer, jiffies);
}

void tp_ticks_start(void)
{
	ticks = 0;
	timer_setup(&tick_timer, tick, 0);
	mod_timer(&tick_timer, jiffies);
}

unsigned long tp_ticks_stop(void)
{
	timer_shutdown_sync(&tick_timer);
	return ticks;
}

/* ---- posting ------------------------------------------------------------------ */

void tp_seg(struct tp_env *env, DAT_LMR_TRIPLET *seg, const struct tp_lmr *lmr, u32 offset,
	    u32 length)
{
	seg->virtual_address = (unsigned long)env->buf + offset;
	seg->segment_length = length;
	seg->lmr_context = lmr->context;
}

void tp_args(struct tp_env *env, struct tp_ep *tep, enum tp_call call, struct tp_args *args)
{
	u32 i;

	memset(args, 0, sizeof(*args));
	args->handle = call == TP_SRQ ? env->srq_handle : tep->handle;
	args->n = 1;
	args->iov = args->segs;
	args->cookie.as_64 = 0xc001cafef00d0000ULL + call;
	args->target.virtual_address = 0x123456789a00ULL;
	/* A write may be shorter than the target, a read reads all of it */
	args->target.segment_length = call == TP_WRITE ? 2 * TP_MAX_RDMA : TP_SEG;
	args->target.rmr_context = 0x7700;
	args->remote = &args->target;
	for (i = 0; i < TP_IOV; i++)
		tp_seg(env, &args->segs[i], &env->own.rw, i * 2 * TP_SEG, TP_SEG);
}

DAT_RETURN tp_post(enum tp_call call, const struct tp_args *a)
{
	switch (call) {
	case TP_SEND:
		return dat_ep_post_send(a->handle, a->n, a->iov, a->cookie, a->flags);
	case TP_WRITE:
		return dat_ep_post_rdma_write(a->handle, a->n, a->iov, a->cookie, a->remote,
					      a->flags);
	case TP_READ:
		return dat_ep_post_rdma_read(a->handle, a->n, a->iov, a->cookie, a->remote,
					     a->flags);
	case TP_RECV:
		return dat_ep_post_recv(a->handle, a->n, a->iov, a->cookie, a->flags);
	default:
		return dat_srq_post_recv(a->handle, a->n, a->iov, a->cookie);
	}
}

DAT_RETURN tp_post_one(struct tp_env *env, struct tp_ep *tep, enum tp_call call, u64 cookie,
		       u32 flags)
{
	struct tp_args args;

	tp_args(env, tep, call, &args);
	args.cookie.as_64 = cookie;
	args.flags = flags;
	return tp_post(call, &args);
}

struct kdapl_pool *tp_pool(struct tp_env *env, struct tp_ep *tep, enum tp_call call)
{
	if (call == TP_SRQ)
		return &env->srq->pool;
	return call == TP_RECV ? &tep->ep->rq : &tep->ep->sq.pool;
}

struct fake_queue *tp_queue(struct tp_env *env, struct tp_ep *tep, enum tp_call call)
{
	if (call == TP_SRQ)
		return &to_fake_srq(rcu_dereference_raw(env->srq->srq))->rq;
	return call == TP_RECV ? &tp_qp(tep)->rq : &tp_qp(tep)->sq;
}

DAT_EVD_HANDLE tp_evd(struct tp_ep *tep, enum tp_call call)
{
	return tp_is_request(call) ? tep->request_evd : tep->recv_evd;
}

bool tp_complete(struct tp_env *env, struct tp_ep *tep, enum tp_call call,
		 enum ib_wc_status status, u32 len)
{
	bool was;

	if (tp_is_request(call))
		was = fake_complete_send(tp_qp(tep), status);
	else if (call == TP_RECV)
		was = fake_complete_recv(tp_qp(tep), status, len);
	else
		was = fake_complete_srq(tp_qp(tep), status, len);
	fake_settle(env->fake);
	return was;
}

u32 tp_slots(struct kdapl_pool *pool)
{
	struct kdapl_slot *slot, *taken = NULL;
	DECLARE_BITMAP(seen, 64) = { };
	u32 n = 0;

	while ((slot = kdapl_pool_get(pool))) {
		/* Then the stack is a ring and cannot be used */
		if (__test_and_set_bit(kdapl_slot_idx(slot), seen))
			return U32_MAX;
		slot->ev.next = taken ? &taken->ev : NULL;
		taken = slot;
		n++;
	}
	while (taken) {
		slot = taken;
		taken = slot->ev.next ? kdapl_slot_of_event(slot->ev.next) : NULL;
		kdapl_pool_put(slot);
	}
	return n;
}

u32 tp_events(DAT_EVD_HANDLE evd)
{
	return kdapl_evd_count(to_kdapl_evd(object_of(evd, DAT_HANDLE_TYPE_EVD)), NULL);
}

static u32 drain_one(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	u32 n = 0;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		n++;
	return n;
}

u32 tp_drain(struct tp_ep *tep)
{
	return drain_one(tep->recv_evd) + drain_one(tep->request_evd) +
	       drain_one(tep->connect_evd);
}

void tp_expect_dto(struct kunit *test, struct tp_ep *tep, enum tp_call call, u64 cookie,
		   DAT_DTO_COMPLETION_STATUS status, u32 length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(tp_evd(tep, call), &event), DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, tp_evd(tep, call));
	/* the endpoint, also for buffers of an SRQ */
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, tep->handle);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_64, cookie);
	KUNIT_EXPECT_EQ(test, dto->operation, tp_call_op[call]);
	KUNIT_EXPECT_EQ(test, dto->status, status);
	if (status == DAT_DTO_SUCCESS) {
		KUNIT_EXPECT_EQ(test, dto->transfered_length, length);
		KUNIT_EXPECT_EQ(test, dto->rmr_context, 0);
	}
}
