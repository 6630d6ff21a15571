/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handles: numbers that identify objects and are never dereferenced.
 *
 * Owns the encoding, and the lookup with which every dat_* call begins. handle.c
 * extends and empties the handle table, in process context. The lookup runs in any
 * context, inside a read section, such as those below.
 *
 * A handle is generation:40 | type:4 | index:20. The index alone selects the table
 * entry. One comparison of the whole handle with the one stored in the object checks
 * index, type and generation. Empty entries point to an object that no valid handle
 * matches, so an arbitrary value needs no check for bounds or NULL.
 *
 * Life of an object: created (_init) -> published (_publish) -> used by others (_tryuse, _unuse) ->
 * killed (_kill: one caller may free it) -> unpublished (_unpublish) -> drained (_drain) ->
 * destroyed (kdapl_obj_ops.destroy) -> freed, a grace period later. A grace period after _unpublish
 * waits for the posts that have found the object; _drain waits for the control calls.
 *
 * There are three ways to use an object: lookup finds it for the length of a read section; get,
 * get_next and tryget take a reference, which put drops; tryuse counts a user, so that it cannot be
 * killed.
 */
#ifndef _KDAPL_HANDLE_H_
#define _KDAPL_HANDLE_H_

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <dat/kdat.h>

struct kdapl_ep;
struct kdapl_ia;
struct kdapl_obj;

#define KDAPL_HANDLE_INDEX_BITS	20
#define KDAPL_HANDLE_TYPE_BITS	4
#define KDAPL_HANDLE_GEN_SHIFT	(KDAPL_HANDLE_INDEX_BITS + KDAPL_HANDLE_TYPE_BITS)
#define KDAPL_HANDLE_MAX	BIT(KDAPL_HANDLE_INDEX_BITS)
#define KDAPL_HANDLE_INDEX_MASK	(KDAPL_HANDLE_MAX - 1)
#define KDAPL_HANDLE_TYPE_MASK	(BIT(KDAPL_HANDLE_TYPE_BITS) - 1)
/* A type that no object has: for the object that empty entries point to */
#define KDAPL_HANDLE_TYPE_NONE	KDAPL_HANDLE_TYPE_MASK

#define KDAPL_HANDLE_PAGE_SHIFT	8
#define KDAPL_HANDLE_PAGE_SLOTS	BIT(KDAPL_HANDLE_PAGE_SHIFT)
#define KDAPL_HANDLE_PAGES	(KDAPL_HANDLE_MAX >> KDAPL_HANDLE_PAGE_SHIFT)

#define KDAPL_NTYPES		(DAT_HANDLE_TYPE_CSP + 1)

/*
 * kdapl_obj.fast_ops: which fast paths the object takes. An EP has BIT(DAT_DTOS) for each
 * operation, the other types have one of these. So the test for the bit also checks the type.
 */
#define KDAPL_FAST_SRQ		BIT(DAT_DTO_RECEIVE + 1)
#define KDAPL_FAST_EVD		BIT(DAT_DTO_RECEIVE + 2)
static_assert(KDAPL_FAST_EVD <= U8_MAX);

/**
 * struct kdapl_obj_ops - what other layers do with an object of any type
 * @destroy: frees an object that was unpublished a grace period ago and has no references; process
 *           context
 * @orphan:  destroys its verbs objects, because the device is being removed; the caller has
 *           a reference; process context. NULL: EPs, which kdapl_eps_teardown() orphans, and
 *           EVDs, which have none
 * @invalidated: a peer invalidated a key of it through @ep; any context, RCU. Returns
 *           false if the peer must not do that. Only objects in the table of keys have it
 * @undelivered: the EVD of its event is being freed, and the event was removed from the
 *           queue; process context. Only CRs have it
 */
struct kdapl_obj_ops {
	void (*destroy)(struct kdapl_obj *obj);
	void (*orphan)(struct kdapl_obj *obj);
	bool (*invalidated)(struct kdapl_obj *obj, const struct kdapl_ep *ep, u32 rkey);
	void (*undelivered)(struct kdapl_obj *obj);
};

/**
 * struct kdapl_obj - header of every object that has a handle
 * @ref:     references of the control path, including that of the creator
 * @users:   number of objects that use this one; negative once it is being freed
 * @gone:    completed by the last kdapl_obj_put()
 * @ia:      the IA it belongs to (an IA points to itself)
 * @node:    on ia->objs[type], guarded by ia->mutex; an IA that is being closed is on a
 *           list of ia_close.c
 * @context: the Consumer's context; read and written atomically
 * @rcu:     delays the release of the memory
 * @ops:     operations of its type; set by the constructor, constant. An IA has none
 * @handle:  the full handle; set before publication, constant afterwards
 * @fast_ops: which fast paths it may take; of an EP it follows the state, of an EVD or SRQ
 *           it is constant, and other types have none
 */
struct kdapl_obj {
	refcount_t ref;
	atomic_t users;
	struct completion gone;
	struct kdapl_ia *ia;
	struct list_head node;
	u64 context;
	struct rcu_head rcu;
	const struct kdapl_obj_ops *ops;
	/* Last, because what the fast paths need of an object follows */
	unsigned long handle;
	u8 fast_ops;
};

/**
 * struct kdapl_handle_page - a part of the table; two arrays, so that the lookup needs no shift
 * @obj: the objects
 * @gen: generation of the current or last object of each entry
 */
struct kdapl_handle_page {
	struct kdapl_obj __rcu *obj[KDAPL_HANDLE_PAGE_SLOTS];
	u64 gen[KDAPL_HANDLE_PAGE_SLOTS];
};

extern struct kdapl_handle_page *kdapl_handle_pages[KDAPL_HANDLE_PAGES];

int kdapl_handle_init(void);
void kdapl_handle_exit(void);
int kdapl_obj_init(struct kdapl_obj *obj, DAT_HANDLE_TYPE type, struct kdapl_ia *ia);
void kdapl_obj_exit(struct kdapl_obj *obj);
void kdapl_obj_publish(struct kdapl_obj *obj);
bool kdapl_obj_unpublish(struct kdapl_obj *obj);
struct kdapl_obj *kdapl_obj_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
struct kdapl_obj *kdapl_obj_get_any(DAT_HANDLE handle);
bool kdapl_obj_is_valid(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
struct kdapl_obj *kdapl_obj_get_next(u32 *idx, DAT_HANDLE_TYPE type);
bool kdapl_obj_tryget(struct kdapl_obj *obj);
void kdapl_obj_put(struct kdapl_obj *obj);
void kdapl_obj_drain(struct kdapl_obj *obj);
bool kdapl_obj_tryuse(struct kdapl_obj *obj);
void kdapl_obj_unuse(struct kdapl_obj *obj);
bool kdapl_obj_kill(struct kdapl_obj *obj);
bool kdapl_obj_kill_used(struct kdapl_obj *obj);
int kdapl_obj_kill_and_put(struct kdapl_obj *obj);
DAT_RETURN kdapl_obj_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type, bool posted, DAT_RETURN bad,
			  DAT_RETURN busy);

/*
 * The read section of posts that register memory and of EVD calls, which take spinlocks with
 * interrupts off anyway: a CPU with interrupts off is inside an RCU read section. An RT kernel must
 * stay preemptible, because its spinlocks sleep; there it is an ordinary RCU read section.
 */
#ifdef CONFIG_PREEMPT_RT
#define kdapl_rcu_read_lock_irqsave(flags)	do { (flags) = 0; rcu_read_lock(); } while (0)
#define kdapl_rcu_read_unlock_irqrestore(flags)	do { (void)(flags); rcu_read_unlock(); } while (0)
#else
#define kdapl_rcu_read_lock_irqsave(flags)	local_irq_save(flags)
#define kdapl_rcu_read_unlock_irqrestore(flags)	local_irq_restore(flags)
#endif

/*
 * The read section of the other posts, which take no lock and may be interrupted: a grace period
 * waits for every CPU that does not schedule.
 */
#ifdef CONFIG_PREEMPT_RT
#define kdapl_rcu_read_lock_sched()		rcu_read_lock()
#define kdapl_rcu_read_unlock_sched()		rcu_read_unlock()
#else
#define kdapl_rcu_read_lock_sched()		preempt_disable()
#define kdapl_rcu_read_unlock_sched()		preempt_enable()
#endif

/* A read section for done callbacks, which are not preempted except on RT */
#ifdef CONFIG_PREEMPT_RT
#define kdapl_rcu_read_lock_done()		rcu_read_lock()
#define kdapl_rcu_read_unlock_done()		rcu_read_unlock()
#else
#define kdapl_rcu_read_lock_done()		do { } while (0)
#define kdapl_rcu_read_unlock_done()		do { } while (0)
#endif

#define kdapl_rcu_dereference(p)		rcu_dereference_check(p, !preemptible())

static inline u32 kdapl_obj_id(const struct kdapl_obj *obj)
{
	return obj->handle & KDAPL_HANDLE_INDEX_MASK;
}

static inline unsigned int kdapl_handle_type(unsigned long handle)
{
	return (handle >> KDAPL_HANDLE_INDEX_BITS) & KDAPL_HANDLE_TYPE_MASK;
}

/*
 * Finds the object of a handle of any type. For the fast paths, which check the type together with
 * kdapl_obj.fast_ops. The caller must check one of them: one value without an object also has an
 * entry, whose kdapl_obj.fast_ops is 0. @obj: receives the object. Returns false if no object has
 * this handle. Any context, inside a read section; the object exists until the section ends.
 */
static __always_inline bool kdapl_obj_lookup_any(DAT_HANDLE handle, struct kdapl_obj **obj)
{
	unsigned long h = (unsigned long)handle;
	struct kdapl_handle_page *page;

	page = READ_ONCE(kdapl_handle_pages[(h >> KDAPL_HANDLE_PAGE_SHIFT) &
					    (KDAPL_HANDLE_PAGES - 1)]);
	*obj = kdapl_rcu_dereference(page->obj[h & (KDAPL_HANDLE_PAGE_SLOTS - 1)]);
	return (*obj)->handle == h;
}

/* The object of a handle, or NULL if @handle is not a valid handle of @type */
static __always_inline struct kdapl_obj *kdapl_obj_lookup(DAT_HANDLE handle,
							  DAT_HANDLE_TYPE type)
{
	struct kdapl_obj *obj;

	if (!kdapl_obj_lookup_any(handle, &obj) || kdapl_handle_type((unsigned long)handle) != type)
		return NULL;
	return obj;
}

static inline DAT_HANDLE kdapl_obj_handle(const struct kdapl_obj *obj)
{
	return (DAT_HANDLE)obj->handle;
}

#endif /* _KDAPL_HANDLE_H_ */
