/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The allocation sweep: what its files share.
 *
 * A step is one control call. It is made with the n-th allocation of the
 * calling task failing, for n from 1 on, until it succeeds with the n-th not
 * reached; a call that fails is made again, without that, and must succeed.
 * Around it stand objects that were made before and must not notice: the world.
 * What a step needs of its own is in a bag, which is emptied after each attempt;
 * every free in it must succeed.
 *
 * All of it runs in the task that loads the module.
 */
#ifndef _KDAPL_SWEEP_H_
#define _KDAPL_SWEEP_H_

#include <linux/types.h>
#include <dat/kdat.h>

#define SWEEP_QUAL	7480
#define SWEEP_NOBODY	7481		/* nobody listens there */
#define SWEEP_OTHER	7482
#define SWEEP_BUFFER	4096

/* Handles of a step; NULL: there is none */
struct sweep_bag {
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

struct sweep_step {
	const char *name;
	int (*before)(struct sweep_bag *b);	/* or NULL; 0 or a negative errno */
	DAT_RETURN (*call)(struct sweep_bag *b);
	/* Where the contract lets memory show as another type than RESOURCES */
	DAT_RETURN other;
};

struct sweep_world {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, cr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE a, b;		/* connected to each other */
	DAT_IA_ATTR attr;
	u8 *buffer;			/* registered */
	u8 *spare;			/* for registrations of steps */
};

extern struct sweep_world world;
extern char *sweep_ia_name;
extern unsigned int sweep_stretch;

/* steps.c, and what its calls need; asks.c */
extern const struct sweep_step sweep_steps[], sweep_asks[];
extern const unsigned int sweep_nsteps, sweep_nasks;
int need_pz(struct sweep_bag *b);
int need_evd(struct sweep_bag *b);
int need_ep(struct sweep_bag *b);
int need_cr(struct sweep_bag *b);
int need_srq(struct sweep_bag *b);
int need_lmr(struct sweep_bag *b);
int need_rmr(struct sweep_bag *b);
int need_psp(struct sweep_bag *b);
int need_rsp(struct sweep_bag *b);
DAT_RETURN taken(DAT_HANDLE *handle, DAT_RETURN ret);

/* world.c */
int sweep_world_open(void);
int sweep_world_close(void);
int sweep_world_check(void);
int sweep_transfer(void);
int sweep_connect(DAT_EP_HANDLE active, DAT_CONN_QUAL qual, DAT_CR_HANDLE *cr);
int sweep_established(DAT_EP_HANDLE ep);
int sweep_broken(DAT_EP_HANDLE ep);
DAT_RETURN sweep_make_ep(DAT_EP_HANDLE *ep);

#endif /* _KDAPL_SWEEP_H_ */
