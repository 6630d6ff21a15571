// SPDX-License-Identifier: GPL-2.0
/*
 * The lifetime test: dat_ia_close with all objects in use, and frees in the right order,
 * both while other CPUs post, dequeue and run upcalls. Process context.
 */
#include "life.h"

/* GRACEFUL is refused and changes nothing; ABRUPT frees everything */
static int close_alive(struct life *w)
{
	int ret = 0;

	if (!test_expect("graceful close with everything alive",
			 dat_ia_close(w->t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE))
		ret = -EIO;
	/* The fixture must continue to work */
	ret = ret ?: life_moves(w);
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

static int close_empty(struct life *w)
{
	int ret = life_free_all(w);

	life_close(w, ret ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
	return ret;
}

/**
 * life_loop_close - one close, abrupt or graceful in turn
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_close(unsigned int round)
{
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	ret = life_load(w);
	if (ret)
		life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	else
		ret = round % 2 ? close_empty(w) : close_alive(w);
	life_halt(w);
	life_check(w, false);
	if (!test_expect("a second close", dat_ia_close(w->t.ia, DAT_CLOSE_ABRUPT_FLAG),
			 DAT_INVALID_HANDLE))
		ret = -EIO;
	life_end(w);
	return ret;
}

/**
 * life_loop_ep - free the EPs one by one, under load, in a different order each time
 * @round: number of the round
 *
 * Context: process. Return: 0, or an error with a message.
 */
int life_loop_ep(unsigned int round)
{
	unsigned int i, n;
	struct life *w;
	int ret;

	ret = life_open(&w);
	if (ret)
		return ret;
	ret = life_load(w);
	for (n = 0; n < LIFE_EPS && !ret; n++) {
		i = (round + n) % LIFE_EPS;
		WRITE_ONCE(w->ep[i].freeing, true);
		if (!test_expect("dat_ep_free", dat_ep_free(w->ep[i].handle), DAT_SUCCESS))
			ret = -EIO;
		/* An upcall that starts from now on must not have an event of it */
		life_set(&w->ep[i].freed);
		if (!test_expect("a second dat_ep_free", dat_ep_free(w->ep[i].handle),
				 DAT_INVALID_HANDLE))
			ret = -EIO;
		if (n < LIFE_EPS - 1)
			ret = ret ?: life_moves(w);
	}
	life_close(w, DAT_CLOSE_ABRUPT_FLAG);
	life_halt(w);
	life_check(w, false);
	life_end(w);
	return ret;
}
