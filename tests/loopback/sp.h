/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripts about service points: the ends of a pair that are not connected yet, an EVD for
 * requests, PSPs and RSPs. As in all scripts, a call that fails is noted as a failure of the
 * case, and the following steps are skipped.
 */
#ifndef _KDAPL_LOOP_SP_H_
#define _KDAPL_LOOP_SP_H_

#include "conn_pair.h"

#define REQUEST_DATA	56	/* bytes of private data that a request takes */
#define REPLY_DATA	196
#define REJECT_DATA	144

/* sp.c: process context, the work item of the run */
bool sp_ok(struct pair *d, const char *what, DAT_RETURN ret);
/* Qualifiers for a script */
DAT_CONN_QUAL sp_qual(struct pair *d, u32 i);
/* Runs a script on ends that are not connected, with an EVD for 4 requests */
int sp_play(struct loop_run *run, struct loop_case *c, u32 pairs,
	    void (*script)(struct pair *d, struct pair_evd *evd));
DAT_PSP_HANDLE sp_listen(struct pair *d, struct pair_evd *evd, DAT_CONN_QUAL qual);
void sp_free_psp(struct pair *d, DAT_PSP_HANDLE psp);
DAT_RSP_HANDLE sp_reserve(struct pair_end *e, struct pair_evd *evd, DAT_CONN_QUAL qual);
void sp_free_rsp(struct pair *d, DAT_RSP_HANDLE rsp);
void sp_expect_held(struct pair_end *e, DAT_EP_STATE state);
/* A connects to another qualifier, with a time-out of PAIR_CONNECT_MS */
bool pair_call_at(struct pair_end *e, DAT_CONN_QUAL qual, const void *data, DAT_COUNT len);
/* Expects a request of @sp with qualifier @qual as the next event; returns its CR */
DAT_CR_HANDLE pair_request(struct pair *d, struct pair_evd *evd, DAT_HANDLE sp,
			   DAT_CONN_QUAL qual);
/* Disconnects, expects DISCONNECTED here and an end event there, and resets both */
void pair_disconnect(struct pair_end *e, struct pair_end *other);
/* Likewise for an end whose attempt has failed already */
void pair_reset(struct pair_end *e);
/* Accepts, and waits for ESTABLISHED at both ends; @ep NULL: the request has one */
void sp_answer(struct pair_end *a, struct pair_end *b, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep);
/* One message in each direction; if @posted, the receive of @b exists already */
void sp_talk(struct pair_end *a, struct pair_end *b, bool posted);

#endif /* _KDAPL_LOOP_SP_H_ */
