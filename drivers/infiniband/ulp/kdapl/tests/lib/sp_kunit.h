/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixture of the suites for service points: service points without a network, and requests
 * for them. The fake device has no IP address, so no id can listen on it: the ids have no
 * peer, and the fixture raises the events of the connection manager. Process context.
 */
#ifndef _KDAPL_SP_KUNIT_H_
#define _KDAPL_SP_KUNIT_H_

#include "post_kunit.h"

#define SP_QLEN		4	/* of an EVD for requests */
#define SP_QUAL		4711

extern struct tp_env *sp_env;
extern struct tp_ep sp_ep;
extern DAT_EVD_HANDLE sp_evd;

DAT_IA_HANDLE sp_ia(void);
DAT_EVD_HANDLE sp_make_evd(struct kunit *test, DAT_COUNT qlen);
/* A service point that seems to listen; with @tep an RSP for it */
struct kdapl_sp *sp_make(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
			 struct tp_ep *tep);
/* Likewise, with the results of the calls; @before is called before it is published */
struct kdapl_sp *sp_make_told(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual,
			      struct tp_ep *tep, void (*before)(struct kdapl_sp *sp),
			      DAT_HANDLE *handle);
/* A request arrives; its private data is filled with @byte. False if it was refused */
bool sp_request(struct kdapl_sp *sp, u8 byte);
/* Expects a request of @sp as the next event; returns its CR */
DAT_CR_HANDLE sp_announced(struct kunit *test, DAT_EVD_HANDLE evd, struct kdapl_sp *sp);
struct kdapl_cr *sp_cr(DAT_CR_HANDLE handle);
/* Raises the event that the peer has withdrawn the request */
void sp_withdraw(struct kdapl_cr *cr);
DAT_EP_STATE sp_state(void);

int sp_init(struct kunit *test);
void sp_exit(struct kunit *test);

static inline DAT_HANDLE sp_handle(struct kdapl_sp *sp)
{
	return kdapl_obj_handle(&sp->obj);
}

#endif /* _KDAPL_SP_KUNIT_H_ */
