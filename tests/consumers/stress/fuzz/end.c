// SPDX-License-Identifier: GPL-2.0
/*
 * The end of the fuzzer: frees all objects in any order, and closes the IAs with both
 * flags.
 *
 * Called by the module's thread when the others have ended.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "fuzz.h"

#define WAIT_MS		TEST_HANG_MS

/*
 * Events that were not dequeued: a request among them may use an EP of this EVD, so that
 * neither can be freed before it is rejected
 */
static void take_events(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		fixture_event(&event);
}

/* One round through a pool; returns how many objects are left */
static unsigned int free_round(struct fuzz *f, struct pool *p)
{
	unsigned int type, i, n, left = 0;
	struct thing t;
	DAT_RETURN ret;

	/* Begin with a random type, so that the order differs each time */
	for (n = 0, type = fuzz_rnd(f, TYPES); n < TYPES; n++, type = (type + 1) % TYPES)
		for (i = 0; pool_at(p, type, i, &t);) {
			if (t.hold == PERMANENT ||
			    (type == DAT_HANDLE_TYPE_IA && t.hold != LOOSE)) {
				i++;
				continue;
			}
			ret = fuzz_free(type, t.handle);
			if (type == DAT_HANDLE_TYPE_EVD && r_of(ret) == R_IS)
				take_events(t.handle);
			/* A shared object may have been freed with its IA */
			if (ret == DAT_SUCCESS || (p == fuzz_shared && r_of(ret) == R_IH)) {
				pool_del(p, type, t.handle);
				if (type == DAT_HANDLE_TYPE_IA)
					pool_purge(f, p, t.handle);
				continue;
			}
			if (r_of(ret) != R_IS)
				test_fail("at the end, type %u is not freed: %s", type,
					  fuzz_type_name(ret));
			left++;
			i++;
		}
	return left;
}

/* Logs which they are, and why they cannot be freed */
static void tell_left(struct fuzz *f, struct pool *p)
{
	unsigned int type, i;
	struct thing t;

	for (type = 0; type < TYPES; type++)
		for (i = 0; pool_at(p, type, i, &t); i++) {
			if (t.hold == PERMANENT || (type == DAT_HANDLE_TYPE_IA && t.hold != LOOSE))
				continue;
			test_fail("at the end, type %u, handle %#lx: %s", type,
				  (unsigned long)t.handle,
				  fuzz_type_name(fuzz_free(type, t.handle)));
		}
}

/*
 * Parents are freed a round later. A request in flight takes a moment, and then is in the
 * shared pool, or finds no room there, with an EP of this one
 */
static void free_all(struct fuzz *f, struct pool *p)
{
	unsigned long end = test_deadline(WAIT_MS);
	unsigned int left;

	while ((left = free_round(f, p)) && time_before(jiffies, end)) {
		if (p != fuzz_shared)
			free_round(f, fuzz_shared);
		fixture_reject();
		kdapl_nap(200, 500);
	}
	if (left)
		tell_left(f, p);
}

/* An RMR that was freed with a bind outstanding releases its LMR a moment later */
static DAT_RETURN free_soon(DAT_HANDLE_TYPE type, DAT_HANDLE handle)
{
	unsigned long end = test_deadline(WAIT_MS);
	DAT_RETURN ret;

	while (r_of(ret = fuzz_free(type, handle)) == R_IS && time_before(jiffies, end))
		kdapl_nap(200, 500);
	return ret;
}

static void free_fixture(void)
{
	static const DAT_HANDLE_TYPE type[] = { DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_LMR,
						DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ,
						DAT_HANDLE_TYPE_PZ };
	const DAT_HANDLE handle[] = { fx.home.handle, fx.read_only.handle,
				      fx.elsewhere.handle, fx.pz.handle,
				      fx.other_pz.handle };
	DAT_RETURN ret;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(type); i++) {
		ret = handle[i] ? free_soon(type[i], handle[i]) : DAT_SUCCESS;
		if (ret != DAT_SUCCESS)
			test_fail("at the end, object %u of the fixture is not freed: %s", i,
				  fuzz_type_name(ret));
	}
}

void fuzz_end_all(void)
{
	struct fuzz *f;
	unsigned int i;

	if (!fx.ia.handle)
		return;
	/* An EP may belong to a request that is in the shared pool */
	free_all(fuzz_actor[0], fuzz_shared);
	for (i = 0; i < fuzz_threads; i++) {
		f = fuzz_actor[i];
		if (!f || !f->pool)
			continue;
		free_all(f, f->pool);
		pair_close(f);
	}
	free_all(fuzz_actor[0], fuzz_shared);
	fixture_reject();
	free_fixture();
	if (dat_ia_close(fx.ia.handle, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS) {
		test_fail("at the end, an object is left on the IA");
		dat_ia_close(fx.ia.handle, DAT_CLOSE_ABRUPT_FLAG);
	}
	fx.ia.handle = DAT_HANDLE_NULL;
}
