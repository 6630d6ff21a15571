// SPDX-License-Identifier: GPL-2.0
/*
 * What the fuzzer has as long as it runs: an IA, two zones, three LMRs that
 * nobody frees, and the arena, where all memory that is registered lies,
 * between guard pages. It also has the upcall of all EVDs.
 *
 * Made and looked at by the module's thread; the upcall runs with bottom
 * halves off.
 */
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "fuzz.h"

#define GUARD_BYTE	0xa5
#define DATA_BYTE	0x3c
#define BLOCK_ORDER	4		/* twice AREA_PAGES */
#define STRIDE		((AREA_PAGES + 1) * PAGE_SIZE)

struct fixture fx;

/* Callers for upcalls; a bit for each that is in use */
static unsigned long upcall_actors;

/* Requests for which the pool has no room; the lock guards both */
#define SPARES	256
static DAT_CR_HANDLE spare[SPARES];
static unsigned int spares;
static DEFINE_SPINLOCK(spare_lock);

/* ---- the arena --------------------------------------------------------------------------- */

u8 *fixture_area(unsigned int i)
{
	return fx.arena + i * STRIDE + PAGE_SIZE;
}

int fixture_memory(void)
{
	unsigned int i;

	fx.arena = vmalloc(AREAS * STRIDE + PAGE_SIZE);
	fx.block = alloc_pages(GFP_KERNEL, BLOCK_ORDER);
	if (!fx.arena || !fx.block)
		return -ENOMEM;
	memset(fx.arena, GUARD_BYTE, AREAS * STRIDE + PAGE_SIZE);
	memset(page_address(fx.block), GUARD_BYTE, PAGE_SIZE << BLOCK_ORDER);
	/* Data that is copied to a wrong place must change a guard */
	for (i = 0; i < AREAS; i++)
		memset(fixture_area(i), DATA_BYTE, AREA_BYTES);
	memset(page_address(fx.block), DATA_BYTE, AREA_BYTES);
	return 0;
}

void fixture_memory_free(void)
{
	if (fx.block)
		__free_pages(fx.block, BLOCK_ORDER);
	vfree(fx.arena);
}

/* The number of guard pages that have changed */
unsigned int fixture_guards(void)
{
	unsigned int i, n = 0;

	for (i = 0; i <= AREAS; i++)
		n += !!memchr_inv(fx.arena + i * STRIDE, GUARD_BYTE, PAGE_SIZE);
	/* The second half of the block is never registered */
	return n + !!memchr_inv(page_address(fx.block) + AREA_BYTES, GUARD_BYTE, AREA_BYTES);
}

/* ---- objects ----------------------------------------------------------------------------- */

static int make_lmr(struct thing *pz, unsigned int area, DAT_MEM_PRIV_FLAGS priv, struct thing *t)
{
	DAT_REGION_DESCRIPTION region = { .for_va = fixture_area(area) };

	*t = (struct thing){
		.hold = PERMANENT,
		.ia = fx.ia.handle,
		.pz = pz->handle,
		.addr = (unsigned long)fixture_area(area),
		.length = AREA_BYTES,
		.priv = priv,
	};
	return dat_lmr_kcreate(fx.ia.handle, DAT_MEM_TYPE_VIRTUAL, region, AREA_BYTES,
			       pz->handle, priv, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &t->handle, &t->context, &t->key, NULL, NULL) ? -EIO : 0;
}

static int make_objects(void)
{
	fx.pz = (struct thing){ .hold = PERMANENT, .ia = fx.ia.handle };
	fx.other_pz = fx.pz;
	if (dat_pz_create(fx.ia.handle, &fx.pz.handle) ||
	    dat_pz_create(fx.ia.handle, &fx.other_pz.handle) ||
	    make_lmr(&fx.pz, 0, DAT_MEM_PRIV_ALL_FLAG, &fx.home) ||
	    make_lmr(&fx.pz, 1, DAT_MEM_PRIV_LOCAL_READ_FLAG, &fx.read_only) ||
	    make_lmr(&fx.other_pz, 2, DAT_MEM_PRIV_ALL_FLAG, &fx.elsewhere))
		return -EIO;
	return 0;
}

int fixture_open(void)
{
	fx.ia.hold = PERMANENT;
	fx.async.hold = PERMANENT;
	if (dat_ia_open(test_ia_name, 64, &fx.async.handle, &fx.ia.handle)) {
		fx.ia.handle = DAT_HANDLE_NULL;
		return -ENODEV;
	}
	fx.async.ia = fx.ia.handle;
	fx.async.flags = DAT_EVD_ASYNC_FLAG;
	dat_ia_query(fx.ia.handle, NULL, DAT_IA_FIELD_ALL, &fx.attr, 0, NULL);
	memcpy(&fx.address, fx.attr.ia_address_ptr,
	       fx.attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
								 sizeof(struct sockaddr_in6));
	return make_objects();
}

/* Every pool has them */
void fixture_put(struct pool *p)
{
	pool_add(p, DAT_HANDLE_TYPE_IA, &fx.ia);
	pool_add(p, DAT_HANDLE_TYPE_EVD, &fx.async);
	pool_add(p, DAT_HANDLE_TYPE_PZ, &fx.pz);
	pool_add(p, DAT_HANDLE_TYPE_PZ, &fx.other_pz);
	pool_add(p, DAT_HANDLE_TYPE_LMR, &fx.home);
	pool_add(p, DAT_HANDLE_TYPE_LMR, &fx.read_only);
	pool_add(p, DAT_HANDLE_TYPE_LMR, &fx.elsewhere);
}

/* ---- events ------------------------------------------------------------------------------ */

/* An event was dequeued: a request is for any thread */
void fixture_event(const DAT_EVENT *event)
{
	struct thing t = { .hold = LOOSE };
	unsigned long flags;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	t.handle = event->event_data.cr_arrival_event_data.cr_handle;
	if (pool_add(fuzz_shared, DAT_HANDLE_TYPE_CR, &t))
		return;
	spin_lock_irqsave(&spare_lock, flags);
	/* If there is no room here either, it stays until its IA is closed */
	if (spares < SPARES)
		spare[spares++] = t.handle;
	spin_unlock_irqrestore(&spare_lock, flags);
}

/* Rejects requests that have found no room, which may sleep */
void fixture_reject(void)
{
	DAT_CR_HANDLE cr;
	unsigned long flags;

	do {
		spin_lock_irqsave(&spare_lock, flags);
		cr = spares ? spare[--spares] : DAT_HANDLE_NULL;
		spin_unlock_irqrestore(&spare_lock, flags);
		if (cr)
			dat_cr_reject(cr, 0, NULL);
	} while (cr);
}

/* Not more calls by upcalls than by threads, or upcalls would cause each other forever */
void fuzz_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct fuzz *f;
	unsigned int i;

	if (event)
		fixture_event(event);
	if (fuzz_ending() || atomic_dec_if_positive(&fuzz_budget) < 0)
		return;
	for (i = 0; i < UPCALLS; i++) {
		if (test_and_set_bit_lock(i, &upcall_actors))
			continue;
		f = fuzz_actor[THREADS_MAX + i];
		fuzz_call(f, true);
		clear_bit_unlock(i, &upcall_actors);
		return;
	}
}
