// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: service points, and the resources that a peer can exhaust.
 *
 * Each error return of the calls that create, query and free them; the length of the EVD and
 * its shares, which limit waiting requests; memory that is reused; requests whose event was
 * not dequeued; handoffs. Runs in a KUnit thread; each test has its own device.
 */
#include "sp_kunit.h"

/* ---- what a create refuses ------------------------------------------------------ */

static void E_30_a_PSP_wants_an_EVD_for_requests(struct kunit *test)
{
	DAT_EVD_HANDLE evd = sp_evd;
	DAT_CONN_QUAL qual = 77;
	DAT_PSP_HANDLE psp;

	kdapl_clauses(test, "E-30");
	TP_EXPECT_TYPE(test, dat_psp_create(NULL, SP_QUAL, evd, 0, &psp), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, sp_ia(), 0, &psp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, sp_ep.connect_evd, 0, &psp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, evd, 0, NULL),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), 0, evd, 0, &psp), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, evd, 2, &psp),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, evd, DAT_PSP_PROVIDER_FLAG, &psp),
		       DAT_MODEL_NOT_SUPPORTED);
	/* No port of the fake device has an address */
	TP_EXPECT_TYPE(test, dat_psp_create(sp_ia(), SP_QUAL, evd, 0, &psp),
		       DAT_INSUFFICIENT_RESOURCES);

	TP_EXPECT_TYPE(test, dat_psp_create_any(NULL, &qual, evd, 0, &psp), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, NULL, 0, &psp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, sp_ep.recv_evd, 0, &psp),
		       DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, evd, 0, NULL),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), NULL, evd, 0, &psp),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, evd, 4, &psp),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp),
		       DAT_MODEL_NOT_SUPPORTED);
	TP_EXPECT_TYPE(test, dat_psp_create_any(sp_ia(), &qual, evd, 0, &psp),
		       DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, qual, 77);
	/* None of them has changed the EVD */
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

static void errors_of_listening_have_their_names(struct kunit *test)
{
	TP_EXPECT_TYPE(test, kdapl_sp_error(-ENOENT), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-EADDRINUSE), DAT_CONN_QUAL_IN_USE);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-EBUSY), DAT_CONN_QUAL_IN_USE);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-ENOMEM), DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-ENOSPC), DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-ENODEV), DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-EADDRNOTAVAIL), DAT_INSUFFICIENT_RESOURCES);
	TP_EXPECT_TYPE(test, kdapl_sp_error(-EACCES), DAT_PRIVILEGES_VIOLATION);
}

static void query_of_a_PSP(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	DAT_PSP_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	TP_EXPECT_TYPE(test, dat_psp_query(NULL, DAT_PSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_psp_query(sp_handle(psp), DAT_PSP_FIELD_ALL + 1, &param),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, dat_psp_query(sp_handle(psp), DAT_PSP_FIELD_ALL, NULL),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_NULL(test, memchr_inv(&param, 0x5a, sizeof(param)));
	KUNIT_EXPECT_EQ(test, dat_psp_query(sp_handle(psp), DAT_PSP_FIELD_CONN_QUAL, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.conn_qual, SP_QUAL);
	KUNIT_EXPECT_PTR_NE(test, param.evd_handle, sp_evd);
	KUNIT_EXPECT_EQ(test, dat_psp_query(sp_handle(psp), DAT_PSP_FIELD_ALL, &param),
			DAT_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, sp_ia());
	KUNIT_EXPECT_PTR_EQ(test, param.evd_handle, sp_evd);
	KUNIT_EXPECT_EQ(test, param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	TP_EXPECT_TYPE(test, dat_rsp_free(sp_handle(psp)), DAT_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(psp)), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_psp_free(sp_handle(psp)), DAT_INVALID_HANDLE);
}

/* A request that has been announced keeps the memory of its service point */
static void a_request_to_a_freed_PSP_is_counted(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_TRUE(test, sp_request(psp, 1));
	cr = sp_announced(test, sp_evd, psp);
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(psp)), DAT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, sp_request(psp, 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&psp->refused[KDAPL_REFUSED_LATE]), 1);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
}

static int references_in_upcall;

static void count_references(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;

	WRITE_ONCE(references_in_upcall, refcount_read(&sp_cr(data->cr_handle)->ref));
}

/* An upcall may sleep, and the address that the event points to is in the CR */
static void E_15_a_request_outlasts_its_upcall(struct kunit *test)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_references };
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);

	kdapl_clauses(test, "E-15");
	references_in_upcall = 0;
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(sp_evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
						    DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	KUNIT_EXPECT_TRUE(test, sp_request(psp, 1));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(references_in_upcall)));
	/* The request's own reference, and that of the event */
	KUNIT_EXPECT_EQ(test, references_in_upcall, 2);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(sp_evd, DAT_UPCALL_TEARDOWN, NULL,
						    DAT_UPCALL_INVOC_NEW), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(psp)), DAT_SUCCESS);
}

/* ---- what a peer can exhaust ----------------------------------------------------- */

static void C_49_requests_are_bounded_and_shared(struct kunit *test)
{
	struct kdapl_sp *a = sp_make(test, sp_evd, 1, NULL);
	struct kdapl_sp *b = sp_make(test, sp_evd, 2, NULL);
	DAT_CR_HANDLE cr;
	u32 i;

	kdapl_clauses(test, "C-49 E-22 C-54");
	/* Half of the EVD for each, however long one is flooded */
	for (i = 0; i < SP_QLEN / 2; i++)
		KUNIT_EXPECT_TRUE(test, sp_request(a, i));
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_FALSE(test, sp_request(a, i));
	for (i = 0; i < SP_QLEN / 2; i++)
		KUNIT_EXPECT_TRUE(test, sp_request(b, i));
	KUNIT_EXPECT_FALSE(test, sp_request(b, 0));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->refused[KDAPL_REFUSED_SHARE]), 100);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->refused[KDAPL_REFUSED_SHARE]), 1);
	KUNIT_EXPECT_EQ(test, tp_events(sp_evd), SP_QLEN);
	/* Only the answer makes room, not the event */
	cr = sp_announced(test, sp_evd, a);
	KUNIT_EXPECT_FALSE(test, sp_request(a, 0));
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, sp_request(b, 0));
	KUNIT_EXPECT_TRUE(test, sp_request(a, 0));
	/* Alone it has all of it, minus the requests of the other one */
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(b)), DAT_SUCCESS);
	KUNIT_EXPECT_FALSE(test, sp_request(a, 0));
	for (i = 0; i < SP_QLEN; i++) {
		DAT_EVENT event;

		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(sp_evd, &event), DAT_SUCCESS);
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	}
	for (i = 0; i < SP_QLEN; i++)
		KUNIT_EXPECT_TRUE(test, sp_request(a, i));
	KUNIT_EXPECT_FALSE(test, sp_request(a, i));
}

/* More service points than the EVD is long: at least one request each, up to its length */
static void C_49_every_service_point_has_a_share(struct kunit *test)
{
	DAT_EVD_HANDLE evd = sp_make_evd(test, 2);
	struct kdapl_sp *sp[3];
	u32 i;

	kdapl_clauses(test, "C-49 E-22");
	for (i = 0; i < 3; i++)
		sp[i] = sp_make(test, evd, i + 1, NULL);
	KUNIT_EXPECT_TRUE(test, sp_request(sp[2], 0));
	KUNIT_EXPECT_FALSE(test, sp_request(sp[2], 0));
	KUNIT_EXPECT_TRUE(test, sp_request(sp[1], 0));
	KUNIT_EXPECT_FALSE(test, sp_request(sp[0], 0));
	KUNIT_EXPECT_EQ(test, atomic_read(&sp[0]->refused[KDAPL_REFUSED_EVD]), 1);
}

/* At once: neither the end of the request nor that of its event waits for a work item */
static void C_49_an_answer_makes_room(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_make_evd(test, 1), SP_QUAL, NULL);
	DAT_CR_HANDLE cr;
	u32 i;

	kdapl_clauses(test, "C-49");
	for (i = 0; i < 500; i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(psp, i));
		cr = sp_announced(test, psp->evd_handle, psp);
		KUNIT_ASSERT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	}
}

/* As if its upcall was still running */
static void C_49_an_answer_makes_room_before_its_event_ends(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_make_evd(test, 1), SP_QUAL, NULL);
	struct list_head *crs = &sp_env->ia->objs[DAT_HANDLE_TYPE_CR];
	DAT_EVD_HANDLE evd = psp->evd_handle;
	struct kdapl_obj *cr;
	u32 i;

	kdapl_clauses(test, "C-49");
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(psp, i));
		KUNIT_EXPECT_FALSE(test, sp_request(psp, i));
		mutex_lock(&sp_env->ia->mutex);
		cr = list_first_entry(crs, struct kdapl_obj, node);
		mutex_unlock(&sp_env->ia->mutex);
		KUNIT_ASSERT_EQ(test, dat_cr_reject(kdapl_obj_handle(cr), 0, NULL), DAT_SUCCESS);
		KUNIT_ASSERT_TRUE(test, sp_request(psp, i));
		KUNIT_EXPECT_FALSE(test, sp_request(psp, i));
		sp_announced(test, evd, psp);
		KUNIT_ASSERT_EQ(test, dat_cr_reject(sp_announced(test, evd, psp), 0, NULL),
				DAT_SUCCESS);
	}
}

static void each_request_has_its_own_handle(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	DAT_CR_HANDLE cr, old = DAT_HANDLE_NULL;
	u32 i;

	kdapl_clauses(test, "G-35");
	for (i = 0; i < 50; i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(psp, i));
		cr = sp_announced(test, sp_evd, psp);
		KUNIT_EXPECT_PTR_NE(test, cr, old);
		TP_EXPECT_TYPE(test, dat_cr_reject(old, 0, NULL), DAT_INVALID_HANDLE);
		KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
		old = cr;
	}
}

/* ---- requests that nobody sees ---------------------------------------------------- */

static void E_46_an_EVD_with_requests_is_freed(struct kunit *test)
{
	struct kdapl_sp *psp = sp_make(test, sp_evd, SP_QUAL, NULL);
	struct kdapl_sp *rsp = sp_make(test, sp_evd, SP_QUAL + 1, &sp_ep);
	DAT_CR_HANDLE seen;
	u32 i;

	kdapl_clauses(test, "E-45 E-46 C-11");
	KUNIT_ASSERT_TRUE(test, sp_request(psp, 1));
	seen = sp_announced(test, sp_evd, psp);
	KUNIT_ASSERT_TRUE(test, sp_request(psp, 2));
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 3));
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	TP_EXPECT_TYPE(test, dat_evd_free(sp_evd), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(psp)), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_free(sp_evd), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(sp_evd), 2);
	KUNIT_EXPECT_EQ(test, dat_evd_free(sp_evd), DAT_SUCCESS);
	/* The dequeued one waits for its answer; the others were refused, the EP is free */
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(seen, 0, NULL), DAT_SUCCESS);
	mutex_lock(&sp_env->ia->mutex);
	i = list_empty(&sp_env->ia->objs[DAT_HANDLE_TYPE_CR]);
	mutex_unlock(&sp_env->ia->mutex);
	KUNIT_EXPECT_TRUE(test, i);
}

/* ---- handoff ----------------------------------------------------------------------- */

static void expect_data(struct kunit *test, DAT_CR_HANDLE cr, u8 byte)
{
	DAT_CR_PARAM param = {};

	KUNIT_EXPECT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, param.private_data_size, KDAPL_REQUEST_PRIVATE);
	KUNIT_EXPECT_NULL(test, memchr_inv(param.private_data, byte, KDAPL_REQUEST_PRIVATE));
}

static void handoff_returns_the_first_fault(struct kunit *test)
{
	struct kdapl_sp *from = sp_make(test, sp_evd, 1, NULL);
	DAT_EVD_HANDLE evd = sp_make_evd(test, 1);
	struct kdapl_sp *to = sp_make(test, evd, 2, NULL);
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_TRUE(test, sp_request(from, 0x11));
	KUNIT_ASSERT_TRUE(test, sp_request(to, 0x22));
	cr = sp_announced(test, sp_evd, from);
	TP_EXPECT_TYPE(test, dat_cr_handoff(NULL, 2), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_cr_handoff(sp_handle(to), 2), DAT_INVALID_HANDLE);
	TP_EXPECT_TYPE(test, dat_cr_handoff(cr, 3), DAT_INVALID_PARAMETER);
	/* One request is waiting there, and there is no room for another */
	TP_EXPECT_TYPE(test, dat_cr_handoff(cr, 2), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_EXPECT_EQ(test, dat_psp_free(sp_handle(to)), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_cr_handoff(cr, 2), DAT_INVALID_PARAMETER);
	/* None of that has changed the request */
	expect_data(test, cr, 0x11);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, tp_events(sp_evd), 0);
}

static void handoff_moves_a_request(struct kunit *test)
{
	struct kdapl_sp *from = sp_make(test, sp_evd, 1, NULL);
	DAT_EVD_HANDLE evd = sp_make_evd(test, 1);
	struct kdapl_sp *to = sp_make(test, evd, 2, NULL);
	DAT_CR_HANDLE cr, moved;
	u32 i;

	kdapl_clauses(test, "C-49");
	/* More often than either has room: all room is released */
	for (i = 0; i < 3 * SP_QLEN; i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(from, i));
		cr = sp_announced(test, sp_evd, from);
		local_bh_disable();
		KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 2), DAT_SUCCESS);
		local_bh_enable();
		TP_EXPECT_TYPE(test, dat_cr_reject(cr, 0, NULL), DAT_INVALID_HANDLE);
		fake_settle(sp_env->fake);
		moved = sp_announced(test, evd, to);
		KUNIT_EXPECT_PTR_NE(test, moved, cr);
		expect_data(test, moved, i);
		KUNIT_EXPECT_FALSE(test, sp_request(to, 0));
		/* Events of the peer now concern the new one */
		KUNIT_ASSERT_NOT_NULL(test, sp_cr(moved));
		KUNIT_EXPECT_FALSE(test, sp_cr(moved)->withdrawn);
		sp_withdraw(sp_cr(moved));
		KUNIT_EXPECT_TRUE(test, sp_cr(moved)->withdrawn);
		KUNIT_EXPECT_EQ(test, dat_cr_reject(moved, 0, NULL), DAT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, from->ncr + to->ncr, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&from->evd->ncr) + atomic_read(&to->evd->ncr), 0);
}

/* It stays on the EVD, whose only entry it has */
static void handoff_on_a_full_EVD(struct kunit *test)
{
	DAT_EVD_HANDLE evd = sp_make_evd(test, 1);
	struct kdapl_sp *from = sp_make(test, evd, 1, NULL);
	struct kdapl_sp *to = sp_make(test, evd, 2, NULL);
	struct kdapl_sp *away = sp_make(test, sp_evd, 3, NULL);
	DAT_CR_HANDLE cr;
	u32 i;

	kdapl_clauses(test, "C-49");
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, sp_request(from, i));
		cr = sp_announced(test, evd, from);
		KUNIT_ASSERT_EQ(test, dat_cr_handoff(cr, 2), DAT_SUCCESS);
		fake_settle(sp_env->fake);
		cr = sp_announced(test, evd, to);
		expect_data(test, cr, i);
		KUNIT_EXPECT_EQ(test, atomic_read(&from->evd->ncr), 1);
		KUNIT_EXPECT_EQ(test, from->ncr, 0);
		KUNIT_EXPECT_EQ(test, to->ncr, 1);
		KUNIT_EXPECT_FALSE(test, sp_request(from, 0));
		/* The request releases its room */
		if (i) {
			KUNIT_ASSERT_EQ(test, dat_cr_handoff(cr, 3), DAT_SUCCESS);
			fake_settle(sp_env->fake);
			cr = sp_announced(test, sp_evd, away);
			KUNIT_EXPECT_EQ(test, atomic_read(&away->evd->ncr), 1);
		}
		KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, atomic_read(&from->evd->ncr), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&away->evd->ncr), 0);
		KUNIT_EXPECT_EQ(test, from->ncr + to->ncr + away->ncr, 0);
	}
}

/* An RSP's request goes to a PSP, and on to the next RSP of the same EP */
static void handoff_releases_the_endpoint(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, 1, &sp_ep);
	struct kdapl_sp *psp = sp_make(test, sp_evd, 2, NULL);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	kdapl_clauses(test, "C-07 C-03");
	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0x33));
	cr = sp_announced(test, sp_evd, rsp);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 2), DAT_SUCCESS);
	fake_settle(sp_env->fake);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(sp_handle(rsp)), DAT_SUCCESS);
	cr = sp_announced(test, sp_evd, psp);
	KUNIT_EXPECT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
	KUNIT_EXPECT_NULL(test, param.local_ep_handle);

	rsp = sp_make(test, sp_evd, 3, &sp_ep);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 3), DAT_SUCCESS);
	fake_settle(sp_env->fake);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	cr = sp_announced(test, sp_evd, rsp);
	expect_data(test, cr, 0x33);
	/* It was used, so it does not listen any more */
	TP_EXPECT_TYPE(test, dat_cr_handoff(cr, 3), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, sp_state(), DAT_EP_STATE_UNCONNECTED);
}

static struct kdapl_sp *leaving_sp;

static void free_leaving_psp(void)
{
	WARN_ON(dat_psp_free(sp_handle(leaving_sp)) != DAT_SUCCESS);
}

/* The service point is freed while the handoff to it waits for the connection manager */
static void handoff_keeps_the_service_point(struct kunit *test)
{
	struct kdapl_sp *from = sp_make(test, sp_evd, 1, NULL);
	struct kdapl_sp *to = sp_make(test, sp_evd, 2, NULL);
	static struct tp_aside freeing;	/* contains a work item, so not on the stack */
	struct rdma_cm_id *id;
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_TRUE(test, sp_request(from, 0x44));
	cr = sp_announced(test, sp_evd, from);
	id = sp_cr(cr)->id;
	rdma_lock_handler(id);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 2), DAT_SUCCESS);
	leaving_sp = to;
	tp_start(&freeing, free_leaving_psp);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(!kdapl_obj_is_valid(sp_handle(to),
								      DAT_HANDLE_TYPE_PSP)));
	rdma_unlock_handler(id);
	KUNIT_EXPECT_TRUE(test, tp_finish(&freeing));
	fake_settle(sp_env->fake);
	/* The event of a freed service point: the request is like the others */
	cr = sp_announced(test, sp_evd, to);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
}

/* ---- suite --------------------------------------------------------------------------- */

static struct kunit_case sp_cases[] = {
	KUNIT_CASE(E_30_a_PSP_wants_an_EVD_for_requests),
	KUNIT_CASE(errors_of_listening_have_their_names),
	KUNIT_CASE(query_of_a_PSP),
	KUNIT_CASE(a_request_to_a_freed_PSP_is_counted),
	KUNIT_CASE(E_15_a_request_outlasts_its_upcall),
	KUNIT_CASE(C_49_requests_are_bounded_and_shared),
	KUNIT_CASE(C_49_every_service_point_has_a_share),
	KUNIT_CASE(C_49_an_answer_makes_room),
	KUNIT_CASE(C_49_an_answer_makes_room_before_its_event_ends),
	KUNIT_CASE(each_request_has_its_own_handle),
	KUNIT_CASE(E_46_an_EVD_with_requests_is_freed),
	KUNIT_CASE(handoff_returns_the_first_fault),
	KUNIT_CASE(handoff_moves_a_request),
	KUNIT_CASE(handoff_on_a_full_EVD),
	KUNIT_CASE(handoff_releases_the_endpoint),
	KUNIT_CASE(handoff_keeps_the_service_point),
	{}
};

static struct kunit_suite sp_suite = {
	.name = "kdapl_sp",
	.init = sp_init,
	.exit = sp_exit,
	.test_cases = sp_cases,
};

kunit_test_suite(sp_suite);
