// SPDX-License-Identifier: GPL-2.0
/*
 * Handle table: growth, publication, references.
 *
 * Owns the pages of the handle table. Every constructor and destructor calls it in
 * process context; every control call uses kdapl_obj_get() and kdapl_obj_put(), in any
 * context. Pages are added under kdapl_handle_mutex and stay until the module is unloaded, so
 * the lookup of an arbitrary number never leaves the memory of the table.
 */
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "base.h"

struct kdapl_handle_page *kdapl_handle_pages[KDAPL_HANDLE_PAGES];

/* Its type does not exist, and it takes no fast path. So no handle of a caller is valid here */
static struct kdapl_obj no_obj = {
	.handle = (unsigned long)KDAPL_HANDLE_TYPE_NONE << KDAPL_HANDLE_INDEX_BITS,
};

/* Added to the count of users; what users add and subtract afterwards leaves it negative */
#define KDAPL_KILLED	(INT_MIN / 2)

static struct kdapl_handle_page *kdapl_handle_empty;
static DEFINE_IDA(kdapl_handle_ida);
/* Guards the growth of the table */
static DEFINE_MUTEX(kdapl_handle_mutex);

static struct kdapl_handle_page *kdapl_handle_page_new(void)
{
	struct kdapl_handle_page *page;
	unsigned int i;

	page = kzalloc(sizeof(*page), GFP_KERNEL);
	if (!page)
		return NULL;
	for (i = 0; i < KDAPL_HANDLE_PAGE_SLOTS; i++)
		RCU_INIT_POINTER(page->obj[i], &no_obj);
	return page;
}

/* Creates the empty table. Returns 0 or -ENOMEM. Process context, module load */
int kdapl_handle_init(void)
{
	unsigned int i;

	kdapl_handle_empty = kdapl_handle_page_new();
	if (!kdapl_handle_empty)
		return -ENOMEM;
	for (i = 0; i < KDAPL_HANDLE_PAGES; i++)
		kdapl_handle_pages[i] = kdapl_handle_empty;
	return 0;
}

/* Frees the memory of the table. Process context, module unload; no object is left */
void kdapl_handle_exit(void)
{
	unsigned int i;

	for (i = 0; i < KDAPL_HANDLE_PAGES; i++)
		if (kdapl_handle_pages[i] != kdapl_handle_empty)
			kfree(kdapl_handle_pages[i]);
	kfree(kdapl_handle_empty);
	ida_destroy(&kdapl_handle_ida);
}

static struct kdapl_handle_page *kdapl_handle_page_of(const struct kdapl_obj *obj)
{
	return kdapl_handle_pages[kdapl_obj_id(obj) >> KDAPL_HANDLE_PAGE_SHIFT];
}

/* Index of the object's entry in its page */
static unsigned int kdapl_handle_entry(const struct kdapl_obj *obj)
{
	return kdapl_obj_id(obj) & (KDAPL_HANDLE_PAGE_SLOTS - 1);
}

static int kdapl_handle_grow(unsigned int idx)
{
	struct kdapl_handle_page **entry = &kdapl_handle_pages[idx >> KDAPL_HANDLE_PAGE_SHIFT];
	struct kdapl_handle_page *page;
	int ret = 0;

	mutex_lock(&kdapl_handle_mutex);
	if (*entry == kdapl_handle_empty) {
		page = kdapl_handle_page_new();
		if (page)
			/* Pairs with the dependent load in kdapl_obj_lookup() */
			smp_store_release(entry, page);
		else
			ret = -ENOMEM;
	}
	mutex_unlock(&kdapl_handle_mutex);
	return ret;
}

/*
 * Assigns a handle to an object, without publishing it. The caller holds the only reference.
 * kdapl_obj_exit() undoes it if the object has not been published. Returns 0; -ENOMEM; or -ENOSPC
 * if all indexes are in use. Process context.
 *
 * @obj: header of the new object, in zeroed memory
 * @ia:  the IA it will belong to
 */
int kdapl_obj_init(struct kdapl_obj *obj, DAT_HANDLE_TYPE type, struct kdapl_ia *ia)
{
	int idx, ret;
	u64 gen;

	idx = ida_alloc_max(&kdapl_handle_ida, KDAPL_HANDLE_MAX - 1, GFP_KERNEL);
	if (idx < 0)
		return idx;
	ret = kdapl_handle_grow(idx);
	if (ret) {
		ida_free(&kdapl_handle_ida, idx);
		return ret;
	}
	obj->ia = ia;
	obj->fast_ops = type == DAT_HANDLE_TYPE_EVD ? KDAPL_FAST_EVD :
		    type == DAT_HANDLE_TYPE_SRQ ? KDAPL_FAST_SRQ : 0;
	obj->handle = (unsigned long)type << KDAPL_HANDLE_INDEX_BITS | idx;
	/* The index belongs to @obj, so nobody else writes gen; 0 would be a NULL handle */
	gen = ++kdapl_handle_page_of(obj)->gen[kdapl_handle_entry(obj)];
	obj->handle |= gen << KDAPL_HANDLE_GEN_SHIFT;
	init_completion(&obj->gone);
	INIT_LIST_HEAD(&obj->node);
	refcount_set(&obj->ref, 1);
	return 0;
}

/* Releases the index of an object that is not published. Any context */
void kdapl_obj_exit(struct kdapl_obj *obj)
{
	ida_free(&kdapl_handle_ida, kdapl_obj_id(obj));
}

/* Makes an object visible to lookups. Process context */
void kdapl_obj_publish(struct kdapl_obj *obj)
{
	rcu_assign_pointer(kdapl_handle_page_of(obj)->obj[kdapl_handle_entry(obj)], obj);
}

/*
 * Removes an object from the table. Only read sections that have begun before, and holders of a
 * reference, still use it. @obj: header of a published object, referenced by the caller. Returns
 * true for the one caller that removed it. Any context.
 */
bool kdapl_obj_unpublish(struct kdapl_obj *obj)
{
	struct kdapl_obj __rcu **entry =
		&kdapl_handle_page_of(obj)->obj[kdapl_handle_entry(obj)];

	if (unrcu_pointer(cmpxchg(entry, RCU_INITIALIZER(obj), RCU_INITIALIZER(&no_obj))) != obj)
		return false;
	/* From here on the index may belong to another object, with another generation */
	ida_free(&kdapl_handle_ida, kdapl_obj_id(obj));
	return true;
}

/* Looks up a handle of any type and takes a reference. Returns the object, or NULL. Any context. */
struct kdapl_obj *kdapl_obj_get_any(DAT_HANDLE handle)
{
	unsigned int type = kdapl_handle_type((unsigned long)handle);
	struct kdapl_obj *obj = NULL;

	if (type < KDAPL_NTYPES)
		obj = kdapl_obj_get(handle, type);
	return obj;
}

/*
 * Looks up a handle and takes a reference. Returns the object, or NULL if @handle is not a valid
 * handle of @type. Any context.
 */
struct kdapl_obj *kdapl_obj_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj;

	rcu_read_lock();
	obj = kdapl_obj_lookup(handle, type);
	if (obj && !refcount_inc_not_zero(&obj->ref))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/*
 * Returns true if @handle is a valid handle of @type. Any context. The object may be freed before
 * the caller uses the result.
 */
bool kdapl_obj_is_valid(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	bool valid;

	rcu_read_lock();
	valid = kdapl_obj_lookup(handle, type);
	rcu_read_unlock();
	return valid;
}

/*
 * Takes a reference to an object found on a list. @obj: header of the object; the caller holds the
 * lock of the list. Returns false if the last reference was dropped. Any context.
 */
bool kdapl_obj_tryget(struct kdapl_obj *obj)
{
	return refcount_inc_not_zero(&obj->ref);
}

/*
 * Walks the published objects of a type. No lock is held between two calls, so objects may be
 * created and freed in the meantime. An object that exists all the time is returned once. @idx:
 * index to start from; becomes that of the object found. Returns the object, with a reference, or
 * NULL after the last one. Process context.
 */
struct kdapl_obj *kdapl_obj_get_next(u32 *idx, DAT_HANDLE_TYPE type)
{
	struct kdapl_handle_page *page;
	struct kdapl_obj *obj;
	u32 i = *idx;

	rcu_read_lock();
	while (i < KDAPL_HANDLE_MAX) {
		page = READ_ONCE(kdapl_handle_pages[i >> KDAPL_HANDLE_PAGE_SHIFT]);
		if (page == kdapl_handle_empty) {
			i = (i | (KDAPL_HANDLE_PAGE_SLOTS - 1)) + 1;
			continue;
		}
		obj = rcu_dereference(page->obj[i & (KDAPL_HANDLE_PAGE_SLOTS - 1)]);
		if (kdapl_handle_type(obj->handle) == type && kdapl_obj_tryget(obj)) {
			rcu_read_unlock();
			*idx = i;
			return obj;
		}
		i++;
	}
	rcu_read_unlock();
	return NULL;
}

/* Drops a reference. Any context */
void kdapl_obj_put(struct kdapl_obj *obj)
{
	if (refcount_dec_and_test(&obj->ref))
		complete(&obj->gone);
}

/*
 * Drops the creator's reference and waits for all others. The caller must not hold another
 * reference, nor a lock that a control call takes. Process context.
 */
void kdapl_obj_drain(struct kdapl_obj *obj)
{
	might_sleep();
	kdapl_obj_put(obj);
	wait_for_completion(&obj->gone);
}

/*
 * Counts another object that uses this one. Returns false if the object is being freed. Any
 * context.
 */
bool kdapl_obj_tryuse(struct kdapl_obj *obj)
{
	return atomic_inc_unless_negative(&obj->users);
}

/* Undoes kdapl_obj_tryuse(). Any context */
void kdapl_obj_unuse(struct kdapl_obj *obj)
{
	atomic_dec(&obj->users);
}

/*
 * Acquires the right to free an object that nothing uses. Returns true for the one caller that may
 * free it; false if it has users, or if another call frees it already (atomic_read(&obj->users) <
 * 0). Any context.
 */
bool kdapl_obj_kill(struct kdapl_obj *obj)
{
	return atomic_cmpxchg(&obj->users, 0, KDAPL_KILLED) == 0;
}

/*
 * The same for an object that may have users, which will end before it is freed. Returns false if
 * another call frees it already. Any context.
 */
bool kdapl_obj_kill_used(struct kdapl_obj *obj)
{
	int users = atomic_read(&obj->users);

	do {
		if (users < 0)
			return false;
	} while (!atomic_try_cmpxchg(&obj->users, &users, users + KDAPL_KILLED));
	return true;
}

/*
 * Begins to free an object that nothing uses. On success no lookup finds the object any more. Only
 * read sections that have begun before, and holders of a reference, still use it. @obj: header,
 * referenced by the caller; on success that reference is dropped. Returns 0; -EBUSY if it has
 * users; -ENOENT if another call frees it. Any context.
 */
int kdapl_obj_kill_and_put(struct kdapl_obj *obj)
{
	if (!kdapl_obj_kill(obj))
		return atomic_read(&obj->users) < 0 ? -ENOENT : -EBUSY;
	if (!kdapl_obj_unpublish(obj))
		return -ENOENT;
	kdapl_obj_put(obj);
	return 0;
}

/*
 * Frees the object of a handle, if nothing uses it. @posted: posts may use it, so wait for their
 * read sections. Returns DAT_SUCCESS; @busy if it has users; @bad if @handle is not a valid handle
 * of @type, or another call frees the object. Process context, no lock that a call takes is held.
 */
DAT_RETURN kdapl_obj_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type, bool posted, DAT_RETURN bad,
			  DAT_RETURN busy)
{
	struct kdapl_obj *obj = kdapl_obj_get(handle, type);
	int err;

	if (!obj)
		return bad;
	err = kdapl_obj_kill_and_put(obj);
	if (err) {
		kdapl_obj_put(obj);
		return err == -EBUSY ? busy : bad;
	}
	if (posted)
		kdapl_wait_grace_period();
	kdapl_obj_drain(obj);
	obj->ops->destroy(obj);
	return DAT_SUCCESS;
}
