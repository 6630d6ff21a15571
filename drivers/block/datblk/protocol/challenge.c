// SPDX-License-Identifier: GPL-2.0
/*
 * The challenges of a server that wait for a proof. Their number is fixed, so logins without a key
 * cost no memory: a new challenge replaces the oldest one. No function sleeps; the server
 * serializes them.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/string.h>
#include "protocol.h"

static bool datblk_challenge_valid(const struct datblk_waiting *w)
{
	return w->used && time_before(jiffies, w->since + DATBLK_CHALLENGE_TIME);
}

/* The oldest challenge of a peer, or of all peers. Valid ones only; returns their number */
static unsigned int datblk_challenge_oldest(struct datblk_challenges *all,
					    const struct in6_addr *peer,
					    struct datblk_waiting **oldest)
{
	unsigned int count = 0, i;

	*oldest = NULL;
	for (i = 0; i < DATBLK_CHALLENGES; i++) {
		struct datblk_waiting *w = &all->waiting[i];

		if (!datblk_challenge_valid(w) || (peer && memcmp(&w->peer, peer, sizeof(*peer))))
			continue;
		count++;
		if (!*oldest || w->number < (*oldest)->number)
			*oldest = w;
	}
	return count;
}

/*
 * An address that asks for challenges without end replaces its own ones, so that others have time
 * to answer theirs.
 */
static struct datblk_waiting *datblk_challenge_place(struct datblk_challenges *all,
						     const struct in6_addr *peer)
{
	struct datblk_waiting *oldest;
	unsigned int i;

	if (datblk_challenge_oldest(all, peer, &oldest) >= DATBLK_CHALLENGES_HOST)
		return oldest;
	for (i = 0; i < DATBLK_CHALLENGES; i++)
		if (!datblk_challenge_valid(&all->waiting[i]))
			return &all->waiting[i];
	datblk_challenge_oldest(all, NULL, &oldest);
	return oldest;
}

/**
 * datblk_challenge_make - make a challenge, and remember it
 * @all:       the challenges of the server
 * @peer:      address of the client
 * @login:     its login
 * @challenge: receives the private data of the reject
 *
 * Context: any; the caller serializes calls.
 */
void datblk_challenge_make(struct datblk_challenges *all, const struct in6_addr *peer,
			   const struct datblk_wire_login *login,
			   struct datblk_challenge *challenge)
{
	struct datblk_waiting *w = datblk_challenge_place(all, peer);

	*w = (struct datblk_waiting){
		.login = *login,
		.challenge.refusal = {
			.magic = cpu_to_le32(DATBLK_MAGIC),
			.version = cpu_to_le16(DATBLK_VERSION),
			.status = cpu_to_le16(DATBLK_CHALLENGED),
		},
		.peer = *peer,
		.since = jiffies,
		.number = all->made++,
		.used = true,
	};
	get_random_bytes(w->challenge.nonce, sizeof(w->challenge.nonce));
	*challenge = w->challenge;
}
EXPORT_SYMBOL_GPL(datblk_challenge_make);

/**
 * datblk_challenge_take - find the challenge that a proof answers
 * @all:   the challenges of the server
 * @peer:  address of the client
 * @proof: the proof
 * @t:     receives what the proof is about
 *
 * The challenge is forgotten, so that a proof can be used once.
 *
 * Context: any; the caller serializes calls.
 * Return: false if there is no such challenge for @peer, or not any more.
 */
bool datblk_challenge_take(struct datblk_challenges *all, const struct in6_addr *peer,
			   const struct datblk_wire_proof *proof, struct datblk_transcript *t)
{
	unsigned int i;

	for (i = 0; i < DATBLK_CHALLENGES; i++) {
		struct datblk_waiting *w = &all->waiting[i];

		if (!datblk_challenge_valid(w) || memcmp(&w->peer, peer, sizeof(*peer)) ||
		    memcmp(w->challenge.nonce, proof->challenge, sizeof(proof->challenge)))
			continue;
		w->used = false;
		t->login = w->login;
		t->challenge = w->challenge;
		memcpy(t->nonce, proof->nonce, sizeof(t->nonce));
		return true;
	}
	return false;
}
EXPORT_SYMBOL_GPL(datblk_challenge_take);
