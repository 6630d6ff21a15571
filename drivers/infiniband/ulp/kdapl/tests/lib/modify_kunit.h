/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites for dat_ep_modify: endpoints that are not configured, and their
 * parameters. Process context.
 */
#ifndef _KDAPL_MODIFY_KUNIT_H_
#define _KDAPL_MODIFY_KUNIT_H_

#include "clause.h"
#include "post_kunit.h"

#define MOD_ALL_PARENTS	(DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | \
			 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE)

/* Like tp_ep_create() with tp_attr(), but without the parents in @lacks */
void mod_create_without(struct kunit *test, struct tp_env *env, struct tp_ep *ep,
			DAT_EP_PARAM_MASK lacks);
/* All parameters of an EP, without provider-specific attributes */
void mod_query(struct kunit *test, struct tp_ep *ep, DAT_EP_PARAM *param);
/* Parameters that supply the parents of @ep */
void mod_parents(struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM *param);
/* Expects a refusal that changes nothing: QP, slots, parameters, verbs objects */
void mod_refused(struct kunit *test, struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM_MASK mask,
		 const DAT_EP_PARAM *param, u32 type);
/* Changes the depths of both queues */
DAT_RETURN mod_depths(struct tp_ep *ep, DAT_COUNT recv, DAT_COUNT request);
/* Expects room for @depth receives, then connects the EP and expects room for its requests */
void mod_expect_recvs(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth);
void mod_expect_requests(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth);

static inline DAT_EP_STATE mod_state(struct tp_ep *ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_ERROR;

	dat_ep_get_status(ep->handle, &state, NULL, NULL);
	return state;
}

#endif /* _KDAPL_MODIFY_KUNIT_H_ */
