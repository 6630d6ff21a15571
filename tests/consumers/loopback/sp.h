/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scripts that test service points. Each has the ends of a pair, not yet connected, an
 * EVD for connection requests, and makes its own PSPs and RSPs. As for every pair, a
 * failed call is noted with the case, and later steps do nothing.
 */
#ifndef _KDAPL_LOOP_SP_H_
#define _KDAPL_LOOP_SP_H_

#include "conn_pair.h"

#define REQUEST_DATA	56	/* private data of a request, maximum bytes */
#define REPLY_DATA	196
#define REJECT_DATA	144

/* sp.c: process context, the work item of the run */
bool sp_ok(struct pair *d, const char *what, DAT_RETURN ret);
/* A connection qualifier for the script's own service points */
DAT_CONN_QUAL sp_qual(struct pair *d, u32 i);
/* Runs a script on unconnected ends, with an EVD for 4 connection requests */
int sp_play(struct loop_run *run, struct loop_case *c, u32 pairs,
	    void (*script)(struct pair *d, struct pair_evd *evd));
DAT_PSP_HANDLE sp_listen(struct pair *d, struct pair_evd *evd, DAT_CONN_QUAL qual);
void sp_free_psp(struct pair *d, DAT_PSP_HANDLE psp);
DAT_RSP_HANDLE sp_reserve(struct pair_end *e, struct pair_evd *evd, DAT_CONN_QUAL qual);
void sp_free_rsp(struct pair *d, DAT_RSP_HANDLE rsp);
void sp_expect_held(struct pair_end *e, DAT_EP_STATE state);
/* A's connect to another qualifier, with a timeout of PAIR_CONNECT_MS */
bool pair_call_at(struct pair_end *e, DAT_CONN_QUAL qual, const void *data, DAT_COUNT len);
/*
 * Waits for the next event of @evd, which must be a request that names @sp and @qual;
 * returns its CR
 */
DAT_CR_HANDLE pair_request(struct pair *d, struct pair_evd *evd, DAT_HANDLE sp,
			   DAT_CONN_QUAL qual);
/* Disconnects, waits for the event at both ends, and resets both to UNCONNECTED */
void pair_disconnect(struct pair_end *e, struct pair_end *other);
/* The same for an end whose connection attempt has already failed */
void pair_reset(struct pair_end *e);
/* Accepts, and waits for ESTABLISHED at both ends; @ep NULL: the request has an EP */
void sp_answer(struct pair_end *a, struct pair_end *b, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep);
/* Sends one message each way; if @posted, @b already has its receive */
void sp_talk(struct pair_end *a, struct pair_end *b, bool posted);

#endif /* _KDAPL_LOOP_SP_H_ */
