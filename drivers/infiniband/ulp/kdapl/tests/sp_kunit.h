/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites over service points share: service points without a network,
 * and requests that come to them. The fake device has no IP address, so
 * that nobody can listen on it: ids lead nowhere, and what the connection
 * manager says is said by hand. Process context.
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
/* Listens, as far as we are concerned; with @tep an RSP for it */
struct kdapl_sp *sp_make(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
			 struct tp_ep *tep);
/* The same, with the outputs of the calls; @before is called when it is ready to be found */
struct kdapl_sp *sp_make_told(struct kunit *test, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual,
			      struct tp_ep *tep, void (*before)(struct kdapl_sp *sp),
			      DAT_HANDLE *handle);
/* A request comes; its private data is a row of @byte. False if it was refused */
bool sp_request(struct kdapl_sp *sp, u8 byte);
/* The next event of an EVD is the request announced by @sp; its CR */
DAT_CR_HANDLE sp_announced(struct kunit *test, DAT_EVD_HANDLE evd, struct kdapl_sp *sp);
struct kdapl_cr *sp_cr(DAT_CR_HANDLE handle);
/* What the connection manager tells the one who holds the request's id */
void sp_withdraw(struct kdapl_cr *cr);
DAT_EP_STATE sp_state(void);

int sp_init(struct kunit *test);
void sp_exit(struct kunit *test);

static inline DAT_HANDLE sp_handle(struct kdapl_sp *sp)
{
	return kdapl_obj_handle(&sp->obj);
}

#endif /* _KDAPL_SP_KUNIT_H_ */
