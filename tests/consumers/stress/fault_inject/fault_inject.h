/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures and prototypes of the fault injection.
 *
 * A step is one control call. It is made with the n-th allocation of the
 * calling task failing, for n from 1 on, until it succeeds with the n-th not
 * reached; a call that fails is made again, without that, and must succeed.
 * Other objects exist before and must not be affected: the fixture. The objects that a step
 * needs are freed after each attempt; every free must succeed.
 *
 * Everything runs in the task that loads the module.
 */
#ifndef _KDAPL_FAULT_INJECT_H_
#define _KDAPL_FAULT_INJECT_H_

#include <linux/types.h>
#include "kdapl_test.h"

#define INJECT_QUAL	7480
#define INJECT_NOBODY	7481		/* nobody listens there */
#define INJECT_OTHER	7482
#define INJECT_BUFFER	4096

/* Handles of a step; NULL if it does not exist */
struct inject_objs {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep, peer;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
};

struct inject_step {
	const char *name;
	int (*before)(struct inject_objs *b);	/* or NULL; 0 or a negative errno */
	DAT_RETURN (*call)(struct inject_objs *b);
	/* The type, if the contract allows another one than RESOURCES */
	DAT_RETURN other;
};

struct inject_fixture {
	struct test_fixture t;
	DAT_EP_HANDLE a, b;		/* connected to each other */
	u8 *buffer;			/* registered */
	u8 *spare;			/* for the registrations of steps */
};

extern struct inject_fixture fx;

/* steps.c and asks.c */
extern const struct inject_step inject_steps[], inject_asks[];
extern const unsigned int inject_nsteps, inject_nasks;
int need_pz(struct inject_objs *b);
int need_evd(struct inject_objs *b);
int need_ep(struct inject_objs *b);
int need_srq(struct inject_objs *b);
int need_lmr(struct inject_objs *b);
int need_rmr(struct inject_objs *b);
int need_psp(struct inject_objs *b);
int need_rsp(struct inject_objs *b);
DAT_RETURN taken(DAT_HANDLE *handle, DAT_RETURN ret);

/* fixture.c */
int inject_fixture_open(void);
int inject_fixture_close(void);
int inject_fixture_check(void);
int inject_transfer(void);
int inject_connect(DAT_EP_HANDLE active, DAT_CONN_QUAL qual, DAT_CR_HANDLE *cr);
int inject_established(DAT_EP_HANDLE ep);
int inject_broken(DAT_EP_HANDLE ep);
DAT_RETURN inject_make_ep(DAT_EP_HANDLE *ep);

#endif /* _KDAPL_FAULT_INJECT_H_ */
