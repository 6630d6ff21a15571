/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites over dat_ep_modify share: an endpoint without what it needs,
 * its parameters as the Consumer sees them. Process context.
 */
#ifndef _KDAPL_MODIFY_KUNIT_H_
#define _KDAPL_MODIFY_KUNIT_H_

#include "clause.h"
#include "post_kunit.h"

#define MOD_ALL_PARENTS	(DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | \
			 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE)

/* As tp_ep_create() with tp_attr(), but without the parents in @lacks */
void mod_create_without(struct kunit *test, struct tp_env *env, struct tp_ep *ep,
			DAT_EP_PARAM_MASK lacks);
/* All parameters of an EP; of provider-specific attributes none */
void mod_query(struct kunit *test, struct tp_ep *ep, DAT_EP_PARAM *param);
/* Parents of @ep, as a parameter that supplies them */
void mod_parents(struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM *param);
/* The call is refused so, and the EP is what it was: QP, slots, parameters, verbs objects */
void mod_refused(struct kunit *test, struct tp_env *env, struct tp_ep *ep, DAT_EP_PARAM_MASK mask,
		 const DAT_EP_PARAM *param, u32 type);
/* One number */
DAT_RETURN mod_depths(struct tp_ep *ep, DAT_COUNT recv, DAT_COUNT request);
/* As many receives as fit are posted and no more; then the EP is connected, likewise requests */
void mod_expect_recvs(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth);
void mod_expect_requests(struct kunit *test, struct tp_env *env, struct tp_ep *ep, u32 depth);

static inline DAT_EP_STATE mod_state(struct tp_ep *ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_ERROR;

	dat_ep_get_status(ep->handle, &state, NULL, NULL);
	return state;
}

#endif /* _KDAPL_MODIFY_KUNIT_H_ */
