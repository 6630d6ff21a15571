// SPDX-License-Identifier: GPL-2.0
/*
 * Fixture of the suites for service points, see sp_kunit.h. Process context.
 */
#include "sp_kunit.h"

struct tp_env *sp_env;
struct tp_ep sp_ep;
DAT_EVD_HANDLE sp_evd;

DAT_IA_HANDLE sp_ia(void)
{
	return kdapl_obj_handle(&sp_env->ia->obj);
}

DAT_EVD_HANDLE sp_make_evd(struct kunit *test, DAT_COUNT qlen)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(sp_ia(), qlen, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_CR_FLAG, &evd), DAT_SUCCESS);
	return evd;
}

static int nothing_to_say(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

struct kdapl_sp *sp_make_told(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual,
			      struct tp_ep *tep, void (*before)(struct kdapl_sp *sp),
			      DAT_HANDLE *handle)
{
	struct kdapl_evd *to;
	struct kdapl_sp *sp;

	KUNIT_ASSERT_TRUE(test, kdapl_ia_enter(sp_env->ia));
	to = kdapl_sp_evd(sp_env->ia, evd);
	KUNIT_ASSERT_NOT_NULL(test, to);
	sp = kdapl_sp_alloc(sp_env->ia, to, *qual, tep ? tep->handle : DAT_HANDLE_NULL);
	kdapl_obj_put(&to->obj);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sp));
	sp->id = rdma_create_id(&init_net, nothing_to_say, sp, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sp->id));
	if (tep) {
		mutex_lock(&tep->ep->mutex);
		kdapl_rsp_reserve_ep(tep->ep, sp);
	}
	if (before)
		before(sp);
	kdapl_sp_start(sp, qual, handle);
	if (tep)
		mutex_unlock(&tep->ep->mutex);
	kdapl_ia_leave(sp_env->ia);
	return sp;
}

struct kdapl_sp *sp_make(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
			 struct tp_ep *tep)
{
	DAT_HANDLE handle;

	return sp_make_told(test, evd, &qual, tep, NULL, &handle);
}

bool sp_request(struct kdapl_sp *sp, u8 byte)
{
	u8 data[KDAPL_REQUEST_PRIVATE];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
	};
	struct kdapl_cr *cr = kdapl_cr_alloc(sp, false, GFP_KERNEL);
	struct rdma_cm_id *id;

	if (!cr)
		return false;
	id = rdma_create_id(&init_net, nothing_to_say, sp, RDMA_PS_TCP, IB_QPT_RC);
	if (WARN_ON(IS_ERR(id)))
		return false;
	id->route.addr.src_addr = sp_env->ia->addr;
	memset(data, byte, sizeof(data));
	kdapl_cr_arrive(cr, id, &param);
	fake_settle(sp_env->fake);
	return true;
}

struct kdapl_cr *sp_cr(DAT_CR_HANDLE handle)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, DAT_HANDLE_TYPE_CR);

	if (!obj)
		return NULL;
	kdapl_obj_put(obj);
	return to_kdapl_cr(obj);
}

void sp_withdraw(struct kdapl_cr *cr)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_REJECTED };

	cr->id->event_handler(cr->id, &event);
}

DAT_CR_HANDLE sp_announced(struct kunit *test, DAT_EVD_HANDLE evd, struct kdapl_sp *sp)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event = {};

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	data = &event.event_data.cr_arrival_event_data;
	KUNIT_EXPECT_EQ(test, event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, data->sp_handle.rsp_handle, sp_handle(sp));
	KUNIT_EXPECT_EQ(test, data->conn_qual, sp->qual);
	KUNIT_EXPECT_EQ(test, data->truncate_flag, DAT_FALSE);
	return data->cr_handle;
}

DAT_EP_STATE sp_state(void)
{
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED_MULTI_PATH;

	dat_ep_get_status(sp_ep.handle, &state, NULL, NULL);
	return state;
}

int sp_init(struct kunit *test)
{
	memset(&sp_ep, 0, sizeof(sp_ep));
	sp_evd = DAT_HANDLE_NULL;
	sp_env = tp_env_create();
	if (IS_ERR(sp_env))
		return PTR_ERR(sp_env);
	if (tp_ep_create(sp_env, NULL, false, &sp_ep) != DAT_SUCCESS)
		return -EIO;
	sp_evd = sp_make_evd(test, SP_QLEN);
	return 0;
}

/* Also frees whatever a test has left */
void sp_exit(struct kunit *test)
{
	if (IS_ERR_OR_NULL(sp_env))
		return;
	tp_env_destroy(sp_env);
	sp_env = NULL;
}
