// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback test about notification: each row of the two tables in
 * kdapl-contract.rst on a real connection. An event that notifies is not dequeued before
 * its upcall was called. An event that does not notify is dequeued, and no upcall may be
 * called for it. Process context.
 */
#include "conn_pair.h"

#define SOLICITED	DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SUPPRESS	DAT_COMPLETION_SUPPRESS_FLAG

/* One message, and whether each side's upcall is expected. */
static void message(struct pair *d, u32 send_flags, u32 recv_flags, enum pair_expect sender,
		    enum pair_expect receiver)
{
	static u64 cookie;

	cookie++;
	pair_recv1(&d->b[0], 0, 16, cookie, recv_flags);
	pair_send1(&d->a[0], 0, 16, cookie, send_flags);
	pair_dto(&d->b[0], DAT_DTO_RECEIVE, cookie, DAT_DTO_SUCCESS, 16, receiver);
	if (!(send_flags & SUPPRESS))
		pair_dto(&d->a[0], DAT_DTO_SEND, cookie, DAT_DTO_SUCCESS, 16, sender);
}

/* Upcalls too many, from any of the events, would arrive now. */
static void finish(struct pair *d)
{
	pair_settle(d, 50);
	pair_expect_no_event(d, "messages");
	message(d, 0, 0, PAIR_ANY_UPCALL, PAIR_ANY_UPCALL);
}

static void default_script(struct pair *d)
{
	message(d, 0, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, SOLICITED, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, SUPPRESS, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, SUPPRESS | SOLICITED, 0, PAIR_UPCALL, PAIR_UPCALL);
	finish(d);
}

static void unsignalled_requests(struct pair *d)
{
	struct pair_end *a = &d->a[0];
	DAT_RMR_TRIPLET far = pair_target(&d->b[0], 512, 16);
	DAT_LMR_TRIPLET near = pair_seg(a, 512, 16);

	pair_write(a, 1, &near, 1, &far, UNSIGNALLED);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS, 16, PAIR_NO_UPCALL);
	pair_read(a, 1, &near, 2, &far, UNSIGNALLED);
	pair_dto(a, DAT_DTO_RDMA_READ, 2, DAT_DTO_SUCCESS, 16, PAIR_NO_UPCALL);
	pair_write(a, 1, &near, 3, &far, 0);
	pair_dto(a, DAT_DTO_RDMA_WRITE, 3, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_read(a, 1, &near, 4, &far, 0);
	pair_dto(a, DAT_DTO_RDMA_READ, 4, DAT_DTO_SUCCESS, 16, PAIR_UPCALL);
	pair_write(a, 1, &near, 5, &far, SUPPRESS | UNSIGNALLED);
	pair_read(a, 1, &near, 6, &far, SUPPRESS);
}

static void unsignalled_script(struct pair *d)
{
	bool srq = d->cfg.srq;

	message(d, 0, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, SOLICITED, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, UNSIGNALLED, 0, PAIR_NO_UPCALL, PAIR_UPCALL);
	/* The solicited flag does not affect notification at the sender. */
	message(d, UNSIGNALLED | SOLICITED, 0, PAIR_NO_UPCALL, PAIR_UPCALL);
	message(d, UNSIGNALLED | SUPPRESS, 0, PAIR_NO_UPCALL, PAIR_UPCALL);
	if (!srq) {
		message(d, 0, UNSIGNALLED, PAIR_UPCALL, PAIR_NO_UPCALL);
		message(d, SOLICITED, UNSIGNALLED, PAIR_UPCALL, PAIR_NO_UPCALL);
		unsignalled_requests(d);
	}
	finish(d);
}

static void solicited_script(struct pair *d)
{
	message(d, 0, 0, PAIR_UPCALL, PAIR_NO_UPCALL);
	message(d, SOLICITED, 0, PAIR_UPCALL, PAIR_UPCALL);
	message(d, 0, 0, PAIR_UPCALL, PAIR_NO_UPCALL);
	message(d, SUPPRESS | SOLICITED, 0, PAIR_UPCALL, PAIR_UPCALL);
	finish(d);
}

/**
 * loop_case_notify - which events cause upcalls
 * @run: the run
 * @c: the case; op LOOP_SRQ: receives of an SRQ
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_notify(struct loop_run *run, struct loop_case *c)
{
	bool srq = c->op == LOOP_SRQ;
	struct pair_cfg plain = { .srq = srq };
	struct pair_cfg silent = {
		.srq = srq, .recv_flags = UNSIGNALLED, .req_flags = UNSIGNALLED,
	};
	struct pair_cfg waiting = { .srq = srq, .recv_flags = SOLICITED };
	int err;

	err = pair_play(run, c, &plain, default_script);
	if (!err)
		err = pair_play(run, c, &silent, unsignalled_script);
	if (!err)
		err = pair_play(run, c, &waiting, solicited_script);
	if (srq) {
		loop_clauses(c, "Q-07 Q-08 Q-09 Q-11");
		return err;
	}
	loop_clauses(c, "E-07 S-13 S-15 S-17 S-18 S-19 S-20 S-21 S-23 S-24 W-13 W-14 W-15");
	loop_clauses(c, "R-11 R-12 R-13 R-15 R-45 D-07 D-08");
	return err;
}
