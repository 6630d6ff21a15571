// SPDX-License-Identifier: GPL-2.0
/*
 * Pools of objects: the shared one, and one for each thread.
 *
 * Called by threads and upcalls, in any context. A thing is always copied: by
 * the time it is used, somebody else may have freed the object.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "fuzz.h"

struct pool *fuzz_shared;

/* How many there may be, so that a guest's memory and time suffice */
static const unsigned int room[TYPES] = {
	[DAT_HANDLE_TYPE_CR] = 12,
	[DAT_HANDLE_TYPE_EP] = 20,
	[DAT_HANDLE_TYPE_EVD] = 20,
	[DAT_HANDLE_TYPE_IA] = 3,
	[DAT_HANDLE_TYPE_LMR] = 20,
	[DAT_HANDLE_TYPE_PSP] = 6,
	[DAT_HANDLE_TYPE_PZ] = 8,
	[DAT_HANDLE_TYPE_RMR] = 12,
	[DAT_HANDLE_TYPE_RSP] = 4,
	[DAT_HANDLE_TYPE_SRQ] = 8,
};

struct pool *pool_new(void)
{
	struct pool *p = kvzalloc(sizeof(*p), GFP_KERNEL);

	if (p)
		spin_lock_init(&p->lock);
	return p;
}

static struct thing *pool_find(struct pool *p, DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
	unsigned int i;

	for (i = 0; i < p->count[type]; i++)
		if (p->thing[type][i].handle == handle)
			return &p->thing[type][i];
	return NULL;
}

bool pool_room(struct pool *p, DAT_HANDLE_TYPE type)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&p->lock, flags);
	there = p->count[type] < room[type];
	spin_unlock_irqrestore(&p->lock, flags);
	return there;
}

/* False: the pool is full */
bool pool_add(struct pool *p, DAT_HANDLE_TYPE type, const struct thing *t)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&p->lock, flags);
	there = p->count[type] < room[type];
	if (there)
		p->thing[type][p->count[type]++] = *t;
	spin_unlock_irqrestore(&p->lock, flags);
	return there;
}

/* What is known of it has changed */
void pool_update(struct pool *p, DAT_HANDLE_TYPE type, const struct thing *t)
{
	struct thing *at;
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	at = pool_find(p, type, t->handle);
	if (at)
		*at = *t;
	spin_unlock_irqrestore(&p->lock, flags);
}

static void pool_drop(struct pool *p, DAT_HANDLE_TYPE type, struct thing *at)
{
	*at = p->thing[type][--p->count[type]];
}

bool pool_del(struct pool *p, DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
	struct thing *at;
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	at = pool_find(p, type, handle);
	if (at)
		pool_drop(p, type, at);
	spin_unlock_irqrestore(&p->lock, flags);
	return at;
}

/* Any of a type; @loose: one that may be freed */
bool pool_pick(struct fuzz *f, struct pool *p, DAT_HANDLE_TYPE type, bool loose, struct thing *t)
{
	unsigned int i, n, start = fuzz_rnd(f, POOL_MAX);
	const struct thing *at;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&p->lock, flags);
	n = p->count[type];
	for (i = 0; i < n && !found; i++) {
		at = &p->thing[type][(start + i) % n];
		found = !loose || at->hold == LOOSE;
		if (found)
			*t = *at;
	}
	spin_unlock_irqrestore(&p->lock, flags);
	return found;
}

/* The @i-th of a type, for who goes through all */
bool pool_at(struct pool *p, DAT_HANDLE_TYPE type, unsigned int i, struct thing *t)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&p->lock, flags);
	there = i < p->count[type];
	if (there)
		*t = p->thing[type][i];
	spin_unlock_irqrestore(&p->lock, flags);
	return there;
}

static bool stands_on(const struct thing *t, DAT_HANDLE parent)
{
	return t->ia == parent || t->pz == parent || t->evd[0] == parent ||
	       t->evd[1] == parent || t->evd[2] == parent || t->srq == parent || t->ep == parent;
}

/* How many objects of the pool need this one? */
unsigned int pool_children(struct pool *p, DAT_HANDLE parent)
{
	unsigned int type, i, n = 0;
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	for (type = 0; type < TYPES; type++)
		for (i = 0; i < p->count[type]; i++)
			n += stands_on(&p->thing[type][i], parent);
	spin_unlock_irqrestore(&p->lock, flags);
	return n;
}

/* An IA has been closed: what was on it is gone */
void pool_purge(struct fuzz *f, struct pool *p, DAT_HANDLE ia)
{
	unsigned int type, i;
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	for (type = 0; type < TYPES; type++)
		for (i = 0; i < p->count[type];)
			if (p->thing[type][i].ia == ia) {
				fuzz_stale(f, type, p->thing[type][i].handle);
				pool_drop(p, type, &p->thing[type][i]);
			} else {
				i++;
			}
	spin_unlock_irqrestore(&p->lock, flags);
}
