// SPDX-License-Identifier: GPL-2.0
/*
 * The objects that an EP uses: zone, EVDs and SRQ; and its events on these EVDs.
 *
 * Called by the files that create, change, reset and destroy EPs.
 */
#include "event/event.h"
#include "internal.h"

static struct kdapl_evd *kdapl_ep_evd(struct kdapl_ep *ep, unsigned int i)
{
	struct kdapl_evd **evds[] = {
		&ep->fast.recv_evd, &ep->fast.request_evd, &ep->cfg.connect_evd
	};

	return READ_ONCE(*evds[i]);
}

/*
 * Removes the undelivered events of an EP from its EVDs. An upcall may be delivering one, see
 * kdapl_ep_get_evds(). Process context; ep->mutex held, or nobody else uses the EP.
 */
void kdapl_ep_take_back(struct kdapl_ep *ep)
{
	struct kdapl_evd *evd;
	unsigned int i, j;

	for (i = 0; i < KDAPL_EP_EVDS; i++) {
		evd = kdapl_ep_evd(ep, i);
		/* One EVD may have several roles, and its queue may be long */
		for (j = 0; j < i && kdapl_ep_evd(ep, j) != evd; j++)
			;
		if (evd && j == i)
			kdapl_evd_take_back(evd, ep);
	}
}

/*
 * Gets references on the EVDs of an EP, before a wait for their upcalls. @evds: receives them.
 * Process context; ep->mutex held, or nobody else uses the EP.
 */
void kdapl_ep_get_evds(struct kdapl_ep *ep, struct kdapl_ep_evds *evds)
{
	unsigned int i;

	for (i = 0; i < KDAPL_EP_EVDS; i++) {
		evds->evd[i] = kdapl_ep_evd(ep, i);
		/* It exists because the EP uses it */
		if (evds->evd[i] && !kdapl_obj_tryget(&evds->evd[i]->obj))
			evds->evd[i] = NULL;
	}
}

/*
 * Waits until no upcall delivers an event of an EP. An upcall may sleep for as long as the
 * Consumer wants, and may use the EP. So the caller holds no lock, and no reference on the EP.
 * Process context; kdapl_ep_may_wait() was true before the events were taken back.
 *
 * @evds: the EVDs, from kdapl_ep_get_evds(), whose references are dropped
 * @ep:   the EP, whose events were taken back; only compared, so it may have been freed
 */
void kdapl_ep_wait_upcalls(struct kdapl_ep_evds *evds, const struct kdapl_ep *ep)
{
	unsigned int i;

	for (i = 0; i < KDAPL_EP_EVDS; i++) {
		if (!evds->evd[i])
			continue;
		kdapl_evd_wait_ep(evds->evd[i], ep);
		kdapl_obj_put(&evds->evd[i]->obj);
	}
}

/*
 * Returns true if the caller may wait for upcalls that deliver events of an EP. An upcall that must
 * not sleep may not wait. One that may sleep may not wait while an upcall is delivering an event of
 * this EP: it may be its own, or one that is about to wait for it in the same way. In such a cycle,
 * the last upcall to make its call finds the EP in use, so no cycle arises. Any context except hard
 * interrupt.
 */
bool kdapl_ep_may_wait(struct kdapl_ep *ep)
{
	struct kdapl_evd *evd;
	unsigned int i;
	bool may = true;

	if (!kdapl_in_upcall())
		return true;
	if (in_softirq())
		return false;
	/* dat_ep_modify() may be replacing the EVDs */
	rcu_read_lock();
	for (i = 0; i < KDAPL_EP_EVDS; i++) {
		evd = kdapl_ep_evd(ep, i);
		if (evd)
			may &= !kdapl_evd_delivers(evd, ep);
	}
	rcu_read_unlock();
	return may;
}

/* Adds @n to the EP counts of the EVDs. ia->mutex held */
static void kdapl_ep_count(struct kdapl_ep *ep, int n)
{
	if (ep->fast.recv_evd)
		ep->fast.recv_evd->nrecv += n;
	if (ep->fast.request_evd)
		ep->fast.request_evd->nrequest += n;
}

/*
 * Notes the completion flags of an EP on its EVDs. @old: an EP that leaves its EVDs in the same
 * step, unless @ep may not join; or NULL. Returns false if nothing has changed, because the flags
 * differ from those of the other EPs of an EVD. Process context, ia->mutex held.
 */
bool kdapl_ep_join_evds(struct kdapl_ep *ep, struct kdapl_ep *old)
{
	struct kdapl_evd *recv = ep->fast.recv_evd, *request = ep->fast.request_evd;

	lockdep_assert_held(&ep->obj.ia->mutex);
	if (old)
		kdapl_ep_count(old, -1);
	if ((recv && recv->nrecv && recv->recv_flags != ep->cfg.attr.recv_completion_flags) ||
	    (request && request->nrequest &&
	     request->request_flags != ep->cfg.attr.request_completion_flags)) {
		if (old)
			kdapl_ep_count(old, 1);
		return false;
	}
	if (recv)
		recv->recv_flags = ep->cfg.attr.recv_completion_flags;
	if (request)
		request->request_flags = ep->cfg.attr.request_completion_flags;
	kdapl_ep_count(ep, 1);
	return true;
}

/* Like kdapl_ep_join_evds(), for a new EP. Process context */
bool kdapl_ep_join(struct kdapl_ep *ep)
{
	struct kdapl_ia *ia = ep->obj.ia;
	bool ok;

	mutex_lock(&ia->mutex);
	ok = kdapl_ep_join_evds(ep, NULL);
	mutex_unlock(&ia->mutex);
	return ok;
}

/* Undoes kdapl_ep_join(). Process context */
void kdapl_ep_leave(struct kdapl_ep *ep)
{
	struct kdapl_ia *ia = ep->obj.ia;

	mutex_lock(&ia->mutex);
	kdapl_ep_count(ep, -1);
	mutex_unlock(&ia->mutex);
}

/* Undoes kdapl_ep_use_parents(). Any context */
void kdapl_ep_unuse_parents(struct kdapl_ep *ep)
{
	unsigned int i;

	for (i = 0; i < KDAPL_EP_EVDS; i++)
		if (kdapl_ep_evd(ep, i))
			kdapl_obj_unuse(&kdapl_ep_evd(ep, i)->obj);
	if (ep->cfg.pz)
		kdapl_obj_unuse(&ep->cfg.pz->obj);
	if (ep->cfg.srq)
		kdapl_obj_unuse(&ep->cfg.srq->obj);
}

/* Looks up an EVD of the IA that has a stream. NULL for DAT_HANDLE_NULL; false: no such EVD */
static bool kdapl_ep_get_evd(struct kdapl_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
			     struct kdapl_obj **out)
{
	*out = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	*out = kdapl_obj_get(handle, DAT_HANDLE_TYPE_EVD);
	return *out && (*out)->ia == ia && (to_kdapl_evd(*out)->streams & stream);
}

/*
 * Drops the references of kdapl_ep_get_parents(). @par: the objects; members may be NULL. Any
 * context.
 */
void kdapl_ep_put_parents(struct kdapl_ep_parents *par)
{
	struct kdapl_obj *objs[] = { par->pz, par->connect_evd, par->recv_evd, par->request_evd,
				     par->srq };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(objs); i++)
		if (objs[i])
			kdapl_obj_put(objs[i]);
}

/*
 * Looks up the objects that an EP will use. Returns DAT_SUCCESS or DAT_INVALID_HANDLE. Any context.
 *
 * @pz:      handle of the zone
 * @recv:    handle of the EVD of receives
 * @request: handle of the EVD of requests
 * @connect: handle of the EVD of connection events; each may be DAT_HANDLE_NULL
 * @par:     zeroed; receives the objects, with references, even if one is not valid
 */
DAT_RETURN kdapl_ep_get_parents(struct kdapl_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				struct kdapl_ep_parents *par)
{
	if (pz != DAT_HANDLE_NULL) {
		par->pz = kdapl_obj_get(pz, DAT_HANDLE_TYPE_PZ);
		if (!par->pz || par->pz->ia != ia)
			return KDAPL_BAD_HANDLE(PZ);
	}
	if (!kdapl_ep_get_evd(ia, connect, DAT_EVD_CONNECTION_FLAG, &par->connect_evd))
		return KDAPL_BAD_HANDLE(EVD_CONN);
	if (!kdapl_ep_get_evd(ia, recv, DAT_EVD_DTO_FLAG, &par->recv_evd))
		return KDAPL_BAD_HANDLE(EVD_RECV);
	if (!kdapl_ep_get_evd(ia, request, DAT_EVD_DTO_FLAG, &par->request_evd))
		return KDAPL_BAD_HANDLE(EVD_REQUEST);
	return DAT_SUCCESS;
}

/*
 * Counts an EP as a user of its zone, EVDs and SRQ. @ep: the EP, without any. Returns false if one
 * is being freed; kdapl_ep_unuse_parents() undoes it in both cases. Any context.
 */
bool kdapl_ep_use_parents(struct kdapl_ep *ep, const struct kdapl_ep_parents *par)
{
	if (par->recv_evd && kdapl_obj_tryuse(par->recv_evd))
		ep->fast.recv_evd = to_kdapl_evd(par->recv_evd);
	if (par->request_evd && kdapl_obj_tryuse(par->request_evd))
		ep->fast.request_evd = to_kdapl_evd(par->request_evd);
	if (par->connect_evd && kdapl_obj_tryuse(par->connect_evd))
		ep->cfg.connect_evd = to_kdapl_evd(par->connect_evd);
	if (par->pz && kdapl_obj_tryuse(par->pz))
		ep->cfg.pz = to_kdapl_pz(par->pz);
	if (par->srq && kdapl_obj_tryuse(par->srq))
		ep->cfg.srq = to_kdapl_srq(par->srq);
	return !!par->recv_evd == !!ep->fast.recv_evd &&
	       !!par->request_evd == !!ep->fast.request_evd &&
	       !!par->connect_evd == !!ep->cfg.connect_evd && !!par->pz == !!ep->cfg.pz &&
	       !!par->srq == !!ep->cfg.srq;
}

/* Returns true if an EP has all objects that its depths require. Any context */
bool kdapl_ep_configured(const struct kdapl_ep *ep)
{
	const struct kdapl_ep_cfg *cfg = &ep->cfg;

	return cfg->pz && (ep->fast.recv_evd || (!cfg->srq && !cfg->attr.max_recv_dtos)) &&
	       (ep->fast.request_evd || !cfg->attr.max_request_dtos);
}

/* Did the Consumer choose the same context for the EVDs of receives and of requests? Any context */
bool kdapl_ep_contexts_agree(const struct kdapl_ep *ep)
{
	const struct kdapl_evd *recv = ep->fast.recv_evd, *request = ep->fast.request_evd;

	return !recv || !request || !((recv->streams ^ request->streams) & KDAPL_EVD_CONTEXTS);
}

/*
 * Returns true if the context of an EP's EVDs admits its completion flags. A Consumer that
 * polls does not wait for a message, so poll context does not admit solicited wait. Any context.
 */
bool kdapl_ep_context_fits(const struct kdapl_ep *ep)
{
	return kdapl_ep_context(ep) != KDAPL_CONTEXT_POLL ||
	       ep->cfg.attr.recv_completion_flags != DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}
