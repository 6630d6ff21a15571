// SPDX-License-Identifier: GPL-2.0
/*
 * An end of the test: its IA, its buffers and its links. The work item of the run creates,
 * uses and frees it, in process context.
 */
#include <linux/gfp.h>
#include <linux/slab.h>

#include "perf.h"

/* Choose the IA: that of the command, or the first one that is listed */
static int choose(struct perf_run *run, char *name, size_t len)
{
	DAT_PROVIDER_INFO *info = kzalloc(sizeof(*info), GFP_KERNEL);
	DAT_PROVIDER_INFO *list[] = { info };
	DAT_COUNT n = 0;

	strscpy(name, run->args.device, len);
	if (!info)
		return perf_fail(run, "no memory");
	if (!name[0]) {
		/* An error says that there are more */
		dat_registry_list_providers(1, &n, list);
		strscpy(name, info->ia_name, len);
	}
	kfree(info);
	return name[0] ? 0 : perf_fail(run, "kDAPL lists no RDMA device");
}

static int open_ia(struct perf_end *e, struct perf_run *run)
{
	char name[sizeof(run->device)];
	DAT_RETURN ret;

	if (choose(run, name, sizeof(name)))
		return -EIO;
	mutex_lock(&run->lock);
	strscpy(run->device, name, sizeof(run->device));
	mutex_unlock(&run->lock);
	ret = test_fixture_open(&e->t, name);
	if (ret != DAT_SUCCESS)
		return perf_fail(run, "cannot open the interface adapter %s: %s", name,
				 kdat_strerror(ret));
	return e->t.attr.ia_address_ptr ? 0 : perf_fail(run, "%s has no IP address", name);
}

/**
 * perf_end_open - open the IA and create what all links share
 * @e:   zero, except @e->server; perf_end_close() frees it, also after an error
 * @run: the run
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_end_open(struct perf_end *e, struct perf_run *run)
{
	DAT_RETURN ret;

	e->run = run;
	init_waitqueue_head(&e->wait);
	if (open_ia(e, run))
		return -EIO;
	ret = dat_pz_create(e->t.ia, &e->t.pz) ?:
	      test_evd(&e->t, 8, DAT_EVD_CONNECTION_FLAG, &e->t.conn) ?:
	      test_evd(&e->t, 8, DAT_EVD_CR_FLAG, &e->t.cr);
	if (ret != DAT_SUCCESS)
		return perf_fail(run, "cannot create a zone and queues: %s", kdat_strerror(ret));
	perf_link_init(e, &e->control, PERF_KDAPL, PERF_CONTROL);
	perf_link_init(e, &e->door, PERF_VERBS, 0);
	return 0;
}

/* Initialize a link without objects */
void perf_link_init(struct perf_end *e, struct perf_link *l, enum perf_side side, u32 index)
{
	l->end = e;
	l->side = side;
	l->calls = side == PERF_KDAPL ? &perf_dat_calls : &perf_verbs_calls;
	l->index = index;
	l->room = index == PERF_CONTROL ? PAGE_ALIGN(sizeof(struct perf_msg)) : e->room;
	l->recvs = index == PERF_CONTROL ? 2 : 2 * e->depth + 2;
	l->requests = index == PERF_CONTROL ? 4 : e->depth + PERF_SPARE;
	spin_lock_init(&l->lock);
}

/* Both kinds of links use the same buffers, one after the other */
static int make_buffers(struct perf_end *e)
{
	u32 i;

	e->buffer = kcalloc(PERF_AREAS * e->eps, sizeof(*e->buffer), GFP_KERNEL);
	if (!e->buffer)
		return perf_fail(e->run, "no memory");
	for (i = 0; i < PERF_AREAS * e->eps; i++) {
		e->buffer[i] = alloc_pages_exact(PAGE_ALIGN(e->room),
						 GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
		if (!e->buffer[i])
			return perf_fail(e->run, "no memory for %u buffers of %u bytes",
					 PERF_AREAS * e->eps, e->room);
	}
	return 0;
}

/**
 * perf_end_make - create the buffers and the links, without their objects
 * @e:     an open end
 * @eps:   links of each kind
 * @depth: requests of each that may be outstanding
 * @room:  size of the largest message
 *
 * Return: 0, or -EIO, which is noted.
 */
int perf_end_make(struct perf_end *e, u32 eps, u32 depth, u32 room)
{
	u32 side, i, a;

	e->eps = eps;
	e->depth = depth;
	e->room = room;
	for (side = 0; side < PERF_SIDES; side++) {
		e->link[side] = kvcalloc(eps, sizeof(*e->link[side]), GFP_KERNEL);
		if (!e->link[side])
			return perf_fail(e->run, "no memory");
	}
	if (make_buffers(e))
		return -EIO;
	for (side = 0; side < PERF_SIDES; side++)
		for (i = 0; i < eps; i++) {
			perf_link_init(e, &e->link[side][i], side, i);
			for (a = 0; a < PERF_AREAS; a++)
				e->link[side][i].area[a] = e->buffer[PERF_AREAS * i + a];
		}
	return 0;
}

/* Close an end that may be incomplete */
void perf_end_close(struct perf_end *e)
{
	u32 i;

	WRITE_ONCE(e->closing, true);
	for (i = 0; e->link[PERF_VERBS] && i < e->eps; i++)
		perf_verbs_free(&e->link[PERF_VERBS][i]);
	if (e->listener)
		rdma_destroy_id(e->listener);
	/* A request that was not accepted; its handler no longer runs */
	if (e->request)
		rdma_destroy_id(e->request);
	/* This ends the connections of the EPs, without events, and frees everything */
	if (e->t.ia)
		dat_ia_close(e->t.ia, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; e->buffer && i < PERF_AREAS * e->eps; i++)
		if (e->buffer[i])
			free_pages_exact(e->buffer[i], PAGE_ALIGN(e->room));
	kfree(e->buffer);
	kvfree(e->control.area[PERF_SOURCE]);
	kvfree(e->control.area[PERF_SINK]);
	for (i = 0; i < PERF_SIDES; i++)
		kvfree(e->link[i]);
}
