/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to endpoint/: parents, attributes, steps of creation and reset.
 */
#ifndef _KDAPL_ENDPOINT_INTERNAL_H_
#define _KDAPL_ENDPOINT_INTERNAL_H_

#include "endpoint.h"

#define KDAPL_EP_EVDS	3

/* EVDs of an EP, each with a reference; members may be NULL */
struct kdapl_ep_evds {
	struct kdapl_evd *evd[KDAPL_EP_EVDS];
};

void kdapl_ep_take_back(struct kdapl_ep *ep);
void kdapl_ep_get_evds(struct kdapl_ep *ep, struct kdapl_ep_evds *evds);
void kdapl_ep_wait_upcalls(struct kdapl_ep_evds *evds, const struct kdapl_ep *ep);
bool kdapl_ep_may_wait(struct kdapl_ep *ep);

/* Zone, EVDs and SRQ of an EP, each with a reference */
struct kdapl_ep_parents {
	struct kdapl_obj *pz;
	struct kdapl_obj *connect_evd;
	struct kdapl_obj *recv_evd;
	struct kdapl_obj *request_evd;
	struct kdapl_obj *srq;
};

DAT_RETURN kdapl_ep_get_parents(struct kdapl_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				struct kdapl_ep_parents *par);
void kdapl_ep_put_parents(struct kdapl_ep_parents *par);
bool kdapl_ep_use_parents(struct kdapl_ep *ep, const struct kdapl_ep_parents *par);
void kdapl_ep_unuse_parents(struct kdapl_ep *ep);
bool kdapl_ep_join_evds(struct kdapl_ep *ep, struct kdapl_ep *old);
bool kdapl_ep_join(struct kdapl_ep *ep);
void kdapl_ep_leave(struct kdapl_ep *ep);
bool kdapl_ep_configured(const struct kdapl_ep *ep);
bool kdapl_ep_contexts_agree(const struct kdapl_ep *ep);
bool kdapl_ep_context_fits(const struct kdapl_ep *ep);

/* A member of struct kdapl_ep_named: at least 0, or @by_default if the Consumer does not set it */
struct kdapl_ep_attr_desc {
	const char *name;
	size_t offset;
	unsigned int max;
	int by_default;
};

extern const struct kdapl_ep_attr_desc kdapl_ep_attr_descs[KDAPL_EP_NAMED_VALUES];

static inline int *kdapl_ep_named_value(struct kdapl_ep_named *named, unsigned int i)
{
	return (void *)named + kdapl_ep_attr_descs[i].offset;
}

void kdapl_ep_attr_default(const struct kdapl_ia *ia, DAT_EP_ATTR *attr);
DAT_RETURN kdapl_ep_attr_check(const struct kdapl_ia *ia, const DAT_EP_ATTR *attr, bool srq,
			       DAT_RETURN bad, struct kdapl_ep_named *named);
void kdapl_ep_set_limits(struct kdapl_ep *ep);

/* The parameters of an EP, for dat_ep_modify() */
extern const u16 kdapl_ep_offsets[];

#endif /* _KDAPL_ENDPOINT_INTERNAL_H_ */
