/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to memory/: zones and regions. Other directories destroy these objects through their
 * operations.
 */
#ifndef _KDAPL_MEMORY_INTERNAL_H_
#define _KDAPL_MEMORY_INTERNAL_H_

#include "object/object.h"

extern unsigned int kdapl_service_ms;

int kdapl_pz_register(struct kdapl_pz *pz, struct ib_mr *mr, int access);
int kdapl_pz_invalidate(struct kdapl_pz *pz, u32 rkey);
void kdapl_mr_dereg(struct ib_mr *mr);
void kdapl_pz_mr_get(struct kdapl_pz *pz);
void kdapl_pz_mr_put(struct kdapl_pz *pz);
int kdapl_pz_make_map_sg(struct kdapl_pz *pz);

int kdapl_lmr_make_mr(struct kdapl_lmr *lmr);
void kdapl_lmr_repair_work(struct work_struct *work);

/* Pages to be registered, not mapped yet */
struct kdapl_region {
	struct page **pages;
	u32 npages;
	u32 offset;			/* in the first page */
	u64 length;
	u64 iova;			/* registered address */
};

int kdapl_region_virtual(struct kdapl_region *r, const void *va, u64 length, u32 max,
			 DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_physical(struct kdapl_region *r, const DAT_PADDR *array, u64 page_size,
			  u64 length, u32 max, DAT_MEM_PRIV_FLAGS priv);
int kdapl_region_lmr(struct kdapl_region *r, const struct kdapl_lmr *lmr, u64 length);
void kdapl_region_free(struct kdapl_region *r);

struct kdapl_lmr *kdapl_lmr_alloc(struct kdapl_ia *ia, struct kdapl_pz *pz, DAT_RETURN *ret);
void kdapl_lmr_abort(struct kdapl_lmr *lmr);

void kdapl_lmr_unmap(struct kdapl_lmr *lmr, struct ib_device *ibdev);
void kdapl_lmr_free_work(struct work_struct *work);
void kdapl_lmr_destroy(struct kdapl_obj *obj);
void kdapl_lmr_orphan(struct kdapl_obj *obj);

#endif /* _KDAPL_MEMORY_INTERNAL_H_ */
