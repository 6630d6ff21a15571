// SPDX-License-Identifier: GPL-2.0
/*
 * Scripts of the loopback harness about notification: each row of the two
 * tables in kdapl-contract.rst on a real connection. An event that notifies is
 * not dequeued before its upcall, a silent one is dequeued and none may come.
 * Process context.
 */
#include "duo.h"

#define SOLICITED	DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SUPPRESS	DAT_COMPLETION_SUPPRESS_FLAG

/* One message, and who is told of it. */
static void message(struct duo *d, u32 send_flags, u32 recv_flags, enum duo_told sender,
		    enum duo_told receiver)
{
	static u64 cookie;

	cookie++;
	duo_recv1(&d->b[0], 0, 16, cookie, recv_flags);
	duo_send1(&d->a[0], 0, 16, cookie, send_flags);
	duo_dto(&d->b[0], DAT_DTO_RECEIVE, cookie, DAT_DTO_SUCCESS, 16, receiver);
	if (!(send_flags & SUPPRESS))
		duo_dto(&d->a[0], DAT_DTO_SEND, cookie, DAT_DTO_SUCCESS, 16, sender);
}

/* Upcalls too many, of what was told or silent, would come now. */
static void finish(struct duo *d)
{
	duo_rest(d, 50);
	duo_expect_quiet(d, "messages");
	message(d, 0, 0, DUO_EITHER, DUO_EITHER);
}

static void default_script(struct duo *d)
{
	message(d, 0, 0, DUO_TOLD, DUO_TOLD);
	message(d, SOLICITED, 0, DUO_TOLD, DUO_TOLD);
	message(d, SUPPRESS, 0, DUO_TOLD, DUO_TOLD);
	message(d, SUPPRESS | SOLICITED, 0, DUO_TOLD, DUO_TOLD);
	finish(d);
}

static void unsignalled_requests(struct duo *d)
{
	struct duo_end *a = &d->a[0];
	DAT_RMR_TRIPLET far = duo_target(&d->b[0], 512, 16);
	DAT_LMR_TRIPLET near = duo_seg(a, 512, 16);

	duo_write(a, 1, &near, 1, &far, UNSIGNALLED);
	duo_dto(a, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS, 16, DUO_SILENT);
	duo_read(a, 1, &near, 2, &far, UNSIGNALLED);
	duo_dto(a, DAT_DTO_RDMA_READ, 2, DAT_DTO_SUCCESS, 16, DUO_SILENT);
	duo_write(a, 1, &near, 3, &far, 0);
	duo_dto(a, DAT_DTO_RDMA_WRITE, 3, DAT_DTO_SUCCESS, 16, DUO_TOLD);
	duo_read(a, 1, &near, 4, &far, 0);
	duo_dto(a, DAT_DTO_RDMA_READ, 4, DAT_DTO_SUCCESS, 16, DUO_TOLD);
	duo_write(a, 1, &near, 5, &far, SUPPRESS | UNSIGNALLED);
	duo_read(a, 1, &near, 6, &far, SUPPRESS);
}

static void unsignalled_script(struct duo *d)
{
	bool srq = d->cfg.srq;

	message(d, 0, 0, DUO_TOLD, DUO_TOLD);
	message(d, SOLICITED, 0, DUO_TOLD, DUO_TOLD);
	message(d, UNSIGNALLED, 0, DUO_SILENT, DUO_TOLD);
	/* Solicited says nothing to the sender, whether it is told or not. */
	message(d, UNSIGNALLED | SOLICITED, 0, DUO_SILENT, DUO_TOLD);
	message(d, UNSIGNALLED | SUPPRESS, 0, DUO_SILENT, DUO_TOLD);
	if (!srq) {
		message(d, 0, UNSIGNALLED, DUO_TOLD, DUO_SILENT);
		message(d, SOLICITED, UNSIGNALLED, DUO_TOLD, DUO_SILENT);
		unsignalled_requests(d);
	}
	finish(d);
}

static void solicited_script(struct duo *d)
{
	message(d, 0, 0, DUO_TOLD, DUO_SILENT);
	message(d, SOLICITED, 0, DUO_TOLD, DUO_TOLD);
	message(d, 0, 0, DUO_TOLD, DUO_SILENT);
	message(d, SUPPRESS | SOLICITED, 0, DUO_TOLD, DUO_TOLD);
	finish(d);
}

/**
 * loop_case_notify - which events make upcalls
 * @run: the run
 * @c: the case; op LOOP_SRQ: receives of an SRQ
 *
 * Context: process.
 * Return: 0, or an error that ends the case; failures are noted.
 */
int loop_case_notify(struct loop_run *run, struct loop_case *c)
{
	bool srq = c->op == LOOP_SRQ;
	struct duo_cfg plain = { .srq = srq };
	struct duo_cfg silent = {
		.srq = srq, .recv_flags = UNSIGNALLED, .req_flags = UNSIGNALLED,
	};
	struct duo_cfg waiting = { .srq = srq, .recv_flags = SOLICITED };
	int err;

	err = duo_play(run, c, &plain, default_script);
	if (!err)
		err = duo_play(run, c, &silent, unsignalled_script);
	if (!err)
		err = duo_play(run, c, &waiting, solicited_script);
	if (srq) {
		loop_clauses(c, "Q-07 Q-08 Q-09 Q-11");
		return err;
	}
	loop_clauses(c, "E-07 S-13 S-15 S-17 S-18 S-19 S-20 S-21 S-23 S-24 W-13 W-14 W-15");
	loop_clauses(c, "R-11 R-12 R-13 R-15 R-45 D-07 D-08");
	return err;
}
