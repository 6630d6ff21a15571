// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: lists all objects, with their states and the contents of their queues.
 *
 * Owns the directory kdapl and its files, which Documentation/ABI/testing/debugfs-kdapl describes.
 * There is one file for each type of object, with one line for each object. Reads run in process
 * context. A reader walks the handle table; it holds a reference to the object that it prints, and
 * no lock. So it cannot block a Consumer, and freeing the object waits until the line is complete.
 * Objects are identified by kdapl_obj_id(), as in the tracepoints; no addresses are printed.
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include "event/event.h"
#include "connection/connection.h"
#include "internal.h"

static struct dentry *kdapl_debugfs;

/* A file: the type of its objects, and the function that prints a line */
struct kdapl_listing {
	const char *file;
	DAT_HANDLE_TYPE type;
	void (*show)(struct seq_file *m, struct kdapl_obj *obj);
};

static const char * const type_names[KDAPL_NTYPES] = {
	[DAT_HANDLE_TYPE_CR] = "cr",
	[DAT_HANDLE_TYPE_EP] = "ep",
	[DAT_HANDLE_TYPE_EVD] = "evd",
	[DAT_HANDLE_TYPE_IA] = "ia",
	[DAT_HANDLE_TYPE_LMR] = "lmr",
	[DAT_HANDLE_TYPE_PSP] = "psp",
	[DAT_HANDLE_TYPE_PZ] = "pz",
	[DAT_HANDLE_TYPE_RMR] = "rmr",
	[DAT_HANDLE_TYPE_RSP] = "rsp",
	[DAT_HANDLE_TYPE_SRQ] = "srq",
	[DAT_HANDLE_TYPE_CSP] = "csp",
};

static const char * const ep_states[] = {
	[DAT_EP_STATE_UNCONNECTED] = "UNCONNECTED",
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] = "UNCONFIGURED",
	[DAT_EP_STATE_RESERVED] = "RESERVED",
	[DAT_EP_STATE_UNCONFIGURED_RESERVED] = "UNCONFIGURED_RESERVED",
	[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = "PASSIVE_PENDING",
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE] = "UNCONFIGURED_PASSIVE",
	[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = "ACTIVE_PENDING",
	[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = "TENTATIVE_PENDING",
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] = "UNCONFIGURED_TENTATIVE",
	[DAT_EP_STATE_CONNECTED] = "CONNECTED",
	[DAT_EP_STATE_DISCONNECT_PENDING] = "DISCONNECT_PENDING",
	[DAT_EP_STATE_DISCONNECTED] = "DISCONNECTED",
	[DAT_EP_STATE_COMPLETION_PENDING] = "COMPLETION_PENDING",
};

static const char * const srq_states[] = {
	[DAT_SRQ_STATE_ERROR] = "ERROR",
	[DAT_SRQ_STATE_OPERATIONAL] = "OPERATIONAL",
	[DAT_SRQ_STATE_SHUTDOWN] = "SHUTDOWN",
};

/* From the first policy on, whose value is negative */
static const char * const policies[] = { "TEARDOWN", "DISABLE", "SINGLE_INSTANCE", "NOTIFY" };

static const char *kdapl_name_of(const char * const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "?";
}

/* " key=type#id", or " key=none" */
static void kdapl_show_ref(struct seq_file *m, const char *key, const struct kdapl_obj *obj)
{
	if (obj)
		seq_printf(m, " %s=%s#%u", key,
			   kdapl_name_of(type_names, ARRAY_SIZE(type_names),
					 kdapl_handle_type(obj->handle)),
			   kdapl_obj_id(obj));
	else
		seq_printf(m, " %s=none", key);
}

/* @p may be NULL */
#define show_object(m, key, p)						\
	do {								\
		typeof(p) _p = (p);					\
									\
		kdapl_show_ref(m, key, _p ? &_p->obj : NULL);			\
	} while (0)

static void kdapl_show_head(struct seq_file *m, const struct kdapl_obj *obj)
{
	seq_printf(m, "%s#%u", type_names[kdapl_handle_type(obj->handle)],
		   kdapl_obj_id(obj));
	if (obj != &obj->ia->obj)
		kdapl_show_ref(m, "ia", &obj->ia->obj);
}

/* " key=depth/free/posted/done"; slots may change their state while they are counted */
static void kdapl_show_pool(struct seq_file *m, const char *key, const struct kdapl_pool *pool)
{
	u32 posted = 0, done = 0;

	kdapl_pool_tally(pool, &posted, &done);
	seq_printf(m, " %s=%u/%u/%u/%u", key, pool->depth, pool->depth - posted - done, posted,
		   done);
}

/* The module that owns an IA, and its network namespace, which an orphaned IA does not have */
static void kdapl_show_owner(struct seq_file *m, struct kdapl_ia *ia)
{
	const struct module *owner;

	rcu_read_lock();
	/* A module is freed a grace period after ia->owner was cleared or the IA was closed */
	owner = READ_ONCE(ia->owner);
	seq_printf(m, " owner=%s", owner ? owner->name : "none");
	rcu_read_unlock();
	down_read(&ia->sem);
	seq_printf(m, " netns=%u", ia->net ? ia->net->ns.inum : 0);
	up_read(&ia->sem);
}

static void kdapl_show_ia(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_ia *ia = to_kdapl_ia(obj);
	unsigned int i;

	kdapl_show_head(m, obj);
	kdapl_show_owner(m, ia);
	seq_printf(m, " name=%s addr=%pISc state=%s verbs_objects=%d", ia->name, &ia->addr,
		   READ_ONCE(ia->orphaned) ? "orphaned" :
		   READ_ONCE(ia->closing) ? "closing" : "open", atomic_read(&ia->nverbs));
	mutex_lock(&ia->mutex);
	for (i = 0; i < KDAPL_NTYPES; i++) {
		size_t n = list_count_nodes(&ia->objs[i]);

		if (n && type_names[i])
			seq_printf(m, " %ss=%zu", type_names[i], n);
	}
	mutex_unlock(&ia->mutex);
	show_object(m, "async_evd", READ_ONCE(ia->async_evd));
	seq_putc(m, '\n');
}

static void kdapl_show_pz(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_pz *pz = to_kdapl_pz(obj);

	kdapl_show_head(m, obj);
	seq_printf(m, " state=%s zone=%u users=%d service_qp=%s\n",
		   READ_ONCE(pz->pd) ? "valid" : "orphaned", pz->zone, atomic_read(&obj->users),
		   READ_ONCE(pz->qp) ? "yes" : "no");
}

static void kdapl_show_lmr(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_lmr *lmr = to_kdapl_lmr(obj);

	kdapl_show_head(m, obj);
	show_object(m, "pz", lmr->pz);
	seq_printf(m, " state=%s context=0x%08x length=%llu privileges=0x%02x rmrs=%d\n",
		   READ_ONCE(lmr->mr) ? "valid" : "orphaned", lmr->param.lmr_context,
		   lmr->param.length, lmr->param.mem_priv, atomic_read(&obj->users));
}

static void kdapl_show_rmr(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_rmr *rmr = to_kdapl_rmr(obj);
	DAT_LMR_TRIPLET range;
	unsigned long flags;
	u32 privileges;
	bool bound;

	spin_lock_irqsave(&rmr->lock, flags);
	bound = rmr->cur >= 0;
	range = rmr->param.lmr_triplet;
	privileges = rmr->param.mem_priv;
	spin_unlock_irqrestore(&rmr->lock, flags);
	kdapl_show_head(m, obj);
	show_object(m, "pz", rmr->pz);
	seq_printf(m, " state=%s context=0x%08x length=%u privileges=0x%02x requests=%u\n",
		   rmr->orphaned ? "orphaned" : bound ? "bound" : "free", range.lmr_context,
		   range.segment_length, privileges, refcount_read(&rmr->wrs) - 1);
}

static void kdapl_show_evd(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_evd *evd = to_kdapl_evd(obj);
	u32 nqueued, nnotify, ring_used;
	DAT_UPCALL_POLICY policy;
	u64 dropped;
	unsigned long flags;
	bool overflowed;

	nqueued = kdapl_evd_count(evd, &nnotify);
	spin_lock_irqsave(&evd->lock, flags);
	policy = evd->policy;
	ring_used = evd->ring_used;
	overflowed = evd->overflowed;
	dropped = evd->dropped;
	spin_unlock_irqrestore(&evd->lock, flags);

	kdapl_show_head(m, obj);
	seq_printf(m, " streams=0x%03x policy=%s state=0x%x queued=%u notify=%u",
		   evd->streams,
		   kdapl_name_of(policies, ARRAY_SIZE(policies), policy - DAT_UPCALL_TEARDOWN),
		   atomic_read(&evd->state), nqueued, nnotify);
	seq_printf(m, " ring=%u/%u crs=%d psps=%d dropped=%llu overflowed=%d\n",
		   ring_used, evd->qlen, atomic_read(&evd->ncr), atomic_read(&evd->npsp),
		   dropped, overflowed);
}

/* The peer of the current or last connection. The port is not part of the stored address */
static void kdapl_show_peer(struct seq_file *m, const struct kdapl_ep *ep)
{
	if (!ep->conn.remote.ss_family)
		seq_puts(m, " remote=none");
	else
		seq_printf(m, " remote=%pISc port=%u", &ep->conn.remote, ep->conn.remote_port);
	if (ep->state == DAT_EP_STATE_CONNECTED)
		seq_printf(m, " age=%lu", (jiffies - ep->connected_at) / HZ);
	else
		seq_puts(m, " age=none");
	seq_printf(m, " errors=%u", ep->nerrors);
}

static void kdapl_show_first_error(struct seq_file *m, const struct kdapl_first_error *e)
{
	if (e->valid)
		seq_printf(m, " first_error=%u/%u/%u/%u", e->op, e->status, e->vendor,
			   e->outstanding);
	else
		seq_puts(m, " first_error=none");
}

/*
 * Under ep->lock, because dat_ep_modify() changes attributes and parents under it. Slots that it
 * replaces stay for a grace period, so they are counted without the lock.
 */
static void kdapl_show_ep(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_ep *ep = to_kdapl_ep(obj);
	struct kdapl_pool recvs, requests;
	struct kdapl_first_error error;
	unsigned long flags;
	struct ib_qp *qp;
	bool parked;

	kdapl_show_head(m, obj);
	rcu_read_lock();
	spin_lock_irqsave(&ep->lock, flags);
	recvs = ep->rq;
	requests = ep->sq.pool;
	error = ep->first_error;
	parked = ep->parked.first;
	show_object(m, "pz", ep->cfg.pz);
	seq_printf(m, " state=%s", kdapl_name_of(ep_states, ARRAY_SIZE(ep_states), ep->state));
	qp = rcu_dereference(ep->fast.qp);
	if (qp)
		seq_printf(m, " qp=%u", qp->qp_num);
	else
		seq_puts(m, " qp=none");
	show_object(m, "recv_evd", ep->fast.recv_evd);
	show_object(m, "request_evd", ep->fast.request_evd);
	show_object(m, "connect_evd", ep->cfg.connect_evd);
	show_object(m, "srq", ep->cfg.srq);
	kdapl_show_peer(m, ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	kdapl_show_pool(m, "recvs", &recvs);
	kdapl_show_pool(m, "requests", &requests);
	seq_printf(m, " recvs_ended=%u requests_ended=%u", kdapl_pool_ended(&recvs),
		   kdapl_pool_ended(&requests));
	rcu_read_unlock();
	seq_printf(m, " parked=%s", parked ? "yes" : "no");
	kdapl_show_first_error(m, &error);
	seq_putc(m, '\n');
}

static void kdapl_show_srq(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_srq *srq = to_kdapl_srq(obj);
	u32 posted, done;

	kdapl_srq_tally(srq, &posted, &done);
	kdapl_show_head(m, obj);
	show_object(m, "pz", srq->pz);
	seq_printf(m, " state=%s eps=%d low_watermark=%u",
		   kdapl_name_of(srq_states, ARRAY_SIZE(srq_states), READ_ONCE(srq->state)),
		   atomic_read(&obj->users), READ_ONCE(srq->low_watermark));
	/* The slots of an SRQ may be in several pools */
	seq_printf(m, " recvs=%u/%u/%u/%u", READ_ONCE(srq->depth),
		   kdapl_srq_count(srq, KDAPL_SLOT_FREE) - READ_ONCE(srq->nheld),
		   posted, done);
	seq_printf(m, " lost=%lld\n", atomic64_read(&srq->lost));
}

static void kdapl_show_sp(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_sp *sp = to_kdapl_sp(obj);

	kdapl_show_head(m, obj);
	show_object(m, "evd", sp->evd);
	if (sp->ep_handle)
		seq_printf(m, " ep=ep#%lu",
			   (unsigned long)sp->ep_handle & KDAPL_HANDLE_INDEX_MASK);
	seq_printf(m, " state=%s qual=0x%llx port=%u crs=%u/%u", kdapl_sp_state(sp), sp->qual,
		   kdapl_cm_port(sp->qual), READ_ONCE(sp->ncr), sp->backlog);
	seq_printf(m, " refused=%d/%d/%d/%d\n",
		   atomic_read(&sp->refused[KDAPL_REFUSED_SHARE]),
		   atomic_read(&sp->refused[KDAPL_REFUSED_EVD]),
		   atomic_read(&sp->refused[KDAPL_REFUSED_MEMORY]),
		   atomic_read(&sp->refused[KDAPL_REFUSED_LATE]));
}

static void kdapl_show_cr(struct seq_file *m, struct kdapl_obj *obj)
{
	struct kdapl_cr *cr = to_kdapl_cr(obj);

	kdapl_show_head(m, obj);
	show_object(m, cr->sp->ep_handle ? "rsp" : "psp", cr->sp);
	seq_printf(m, " state=%s remote=%pISc port=%u private_data=%u\n",
		   READ_ONCE(cr->withdrawn) ? "withdrawn" : "waiting", &cr->remote,
		   cr->remote_port, cr->private_len);
}

static const struct kdapl_listing listings[] = {
	{ "ias", DAT_HANDLE_TYPE_IA, kdapl_show_ia },
	{ "pzs", DAT_HANDLE_TYPE_PZ, kdapl_show_pz },
	{ "lmrs", DAT_HANDLE_TYPE_LMR, kdapl_show_lmr },
	{ "rmrs", DAT_HANDLE_TYPE_RMR, kdapl_show_rmr },
	{ "evds", DAT_HANDLE_TYPE_EVD, kdapl_show_evd },
	{ "eps", DAT_HANDLE_TYPE_EP, kdapl_show_ep },
	{ "srqs", DAT_HANDLE_TYPE_SRQ, kdapl_show_srq },
	{ "psps", DAT_HANDLE_TYPE_PSP, kdapl_show_sp },
	{ "rsps", DAT_HANDLE_TYPE_RSP, kdapl_show_sp },
	{ "crs", DAT_HANDLE_TYPE_CR, kdapl_show_cr },
};

/* The position is the index in the handle table */
static void *kdapl_listing_from(struct seq_file *m, loff_t *pos)
{
	const struct kdapl_listing *listing = m->private;
	struct kdapl_obj *obj;
	u32 idx;

	if (*pos >= KDAPL_HANDLE_MAX)
		return NULL;
	idx = *pos;
	obj = kdapl_obj_get_next(&idx, listing->type);
	*pos = obj ? idx : KDAPL_HANDLE_MAX;
	return obj;
}

static void *kdapl_listing_start(struct seq_file *m, loff_t *pos)
{
	return kdapl_listing_from(m, pos);
}

static void *kdapl_listing_next(struct seq_file *m, void *v, loff_t *pos)
{
	kdapl_obj_put(v);
	++*pos;
	return kdapl_listing_from(m, pos);
}

static void kdapl_listing_stop(struct seq_file *m, void *v)
{
	if (v)
		kdapl_obj_put(v);
}

static int kdapl_listing_show(struct seq_file *m, void *v)
{
	const struct kdapl_listing *listing = m->private;

	listing->show(m, v);
	return 0;
}

static const struct seq_operations kdapl_listing_sops = {
	.start = kdapl_listing_start,
	.next = kdapl_listing_next,
	.stop = kdapl_listing_stop,
	.show = kdapl_listing_show,
};

DEFINE_SEQ_ATTRIBUTE(kdapl_listing);

/*
 * Creates the directory and its files. The module also works without debugfs, or if this fails.
 * Process context, module load.
 */
void kdapl_debugfs_init(void)
{
	unsigned int i;

	kdapl_debugfs = debugfs_create_dir("kdapl", NULL);
	for (i = 0; i < ARRAY_SIZE(listings); i++)
		debugfs_create_file(listings[i].file, 0400, kdapl_debugfs,
				    (void *)&listings[i], &kdapl_listing_fops);
}

/* Removes the directory, and waits for readers. Process context, module unload */
void kdapl_debugfs_exit(void)
{
	debugfs_remove_recursive(kdapl_debugfs);
	kdapl_debugfs = NULL;
}
