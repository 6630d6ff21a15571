// SPDX-License-Identifier: GPL-2.0
/*
 * Connected pairs of the loopback test, see conn_pair.h: making them, posts and events.
 * Process context, in the work item; the upcalls only count and wake it.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "conn_pair.h"

static void pair_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct pair_evd *evd = data;

	bool sleeps = evd->dto && test_upcalls_sleep();

	if (!in_softirq() != sleeps)
		loop_fail(evd->pair->c, "upcall: expected bottom halves %s", sleeps ? "on" : "off");
	if (sleeps)
		might_sleep();
	atomic_inc(&evd->upcalls);
	complete(&evd->pair->run->wake);
}

static bool expect_ok(struct pair *d, const char *what, DAT_RETURN ret)
{
	return loop_expect(d->c, what, ret, DAT_SUCCESS);
}

/* Making a pair */

static bool make_evd_of(struct pair *d, struct pair_evd *evd, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = evd, .upcall_func = pair_upcall };
	bool solicited = d->cfg.recv_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG;

	evd->pair = d;
	evd->dto = flags & DAT_EVD_DTO_FLAG;
	if (!expect_ok(d, "dat_evd_kcreate",
		       dat_evd_kcreate(d->run->t.ia, qlen, DAT_UPCALL_NOTIFY, &upcall,
				       test_evd_flags(flags, solicited), &evd->handle)))
		return false;
	if (evd->dto)
		test_poller_add(evd->handle);
	return true;
}

static bool make_evd(struct pair *d, struct pair_evd *evd, DAT_EVD_FLAGS flags)
{
	return make_evd_of(d, evd, 1, flags);
}

bool pair_cr_evd(struct pair *d, struct pair_evd *evd, DAT_COUNT qlen)
{
	memset(evd, 0, sizeof(*evd));
	return make_evd_of(d, evd, qlen, DAT_EVD_CR_FLAG);
}

void pair_free_evd(struct pair *d, struct pair_evd *evd)
{
	if (evd->handle)
		expect_ok(d, "dat_evd_free", dat_evd_free(evd->handle));
	evd->handle = DAT_HANDLE_NULL;
}

bool pair_register(struct pair_end *e, DAT_PZ_HANDLE pz, u32 off, u32 len, DAT_MEM_PRIV_FLAGS priv,
		   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *key)
{
	DAT_REGION_DESCRIPTION region = { .for_va = e->mem + off };
	DAT_VLEN size;
	DAT_VADDR addr;

	return expect_ok(e->pair, "dat_lmr_kcreate",
			 dat_lmr_kcreate(e->pair->run->t.ia, DAT_MEM_TYPE_VIRTUAL, region, len, pz,
					 priv, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, lmr,
					 context, key, &size, &addr));
}

static bool make_memory(struct pair_end *e)
{
	e->mem = kmalloc(PAIR_MEM, GFP_KERNEL);
	if (!e->mem) {
		loop_fail(e->pair->c, "no memory");
		return false;
	}
	pair_clear(e);
	return pair_register(e, e->pz, 0, PAIR_MEM, DAT_MEM_PRIV_ALL_FLAG, &e->lmr, &e->context,
			     &e->key);
}

static void most_of_all(DAT_EP_ATTR *attr, const DAT_IA_ATTR *ia)
{
	attr->max_message_size = ia->max_message_size;
	attr->max_rdma_size = ia->max_rdma_size;
	attr->max_recv_dtos = ia->max_dto_per_ep;
	attr->max_request_dtos = ia->max_dto_per_ep;
	attr->max_recv_iov = ia->max_iov_segments_per_dto;
	attr->max_request_iov = ia->max_iov_segments_per_dto;
	attr->max_rdma_read_iov = ia->max_iov_segments_per_rdma_read;
	attr->max_rdma_write_iov = ia->max_iov_segments_per_rdma_write;
	attr->max_rdma_read_in = ia->max_rdma_read_per_ep_in;
	attr->max_rdma_read_out = ia->max_rdma_read_per_ep_out;
}

static bool make_ep(struct pair_end *e, bool passive)
{
	const struct pair_cfg *cfg = &e->pair->cfg;
	DAT_NAMED_ATTR rnr = { "kdapl.rnr_retry_count", cfg->rnr };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = PAIR_MEM,
		.max_rdma_size = PAIR_MEM,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = cfg->recv_flags,
		.request_completion_flags = cfg->req_flags,
		.max_recv_dtos = PAIR_DEPTH,
		.max_request_dtos = PAIR_DEPTH,
		.max_recv_iov = PAIR_SEGS,
		.max_request_iov = PAIR_SEGS,
		.max_rdma_read_in = cfg->no_reads_in ? 0 : 4,
		.max_rdma_read_out = cfg->reads_out ?: 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = PAIR_SEGS,
		.max_rdma_write_iov = PAIR_SEGS,
		.ep_provider_specific_count = !!cfg->rnr,
		.ep_provider_specific = &rnr,
	};
	DAT_IA_HANDLE ia = e->pair->run->t.ia;

	if (cfg->largest)
		most_of_all(&attr, &e->pair->run->t.attr);
	if (passive && cfg->srq && !e->pair->pz)
		return expect_ok(e->pair, "dat_ep_create_with_srq",
				 dat_ep_create_with_srq(ia, e->pz, e->recv.handle, e->req.handle,
							e->conn.handle, e->pair->srq, &attr,
							&e->ep));
	return expect_ok(e->pair, "dat_ep_create",
			 dat_ep_create(ia, e->pz, e->recv.handle, e->req.handle, e->conn.handle,
				       &attr, &e->ep));
}

static bool make_end(struct pair *d, struct pair_end *e, const char *name, bool passive)
{
	e->pair = d;
	e->name = name;
	e->pz = d->pz ?: d->run->t.pz;
	return make_evd(d, &e->recv, DAT_EVD_DTO_FLAG) && make_evd(d, &e->req, DAT_EVD_DTO_FLAG) &&
	       make_evd(d, &e->conn, DAT_EVD_CONNECTION_FLAG) && make_memory(e) &&
	       make_ep(e, passive);
}

static bool make_pair(struct pair *d, u32 i)
{
	static const char * const name[2][PAIR_PAIRS] = {
		{ "A", "A2", "A3", "A4" }, { "B", "B2", "B3", "B4" } };

	if (d->cfg.zone && i == d->cfg.pairs - 1 &&
	    !expect_ok(d, "dat_pz_create", dat_pz_create(d->run->t.ia, &d->pz)))
		return false;
	return make_end(d, &d->a[i], name[0][i], false) && make_end(d, &d->b[i], name[1][i], true);
}

/**
 * pair_make - make the ends of a script, not connected
 * @run: the run
 * @c: the case
 * @cfg: what the case needs
 *
 * Context: process.
 * Return: the pair; NULL if something failed, which is noted.
 */
struct pair *pair_make(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = PAIR_DEPTH, .max_recv_iov = PAIR_SEGS };
	struct pair *d = kzalloc(sizeof(*d), GFP_KERNEL);
	bool good = true;
	u32 i;

	if (!d) {
		loop_fail(c, "no memory");
		return NULL;
	}
	d->run = run;
	d->c = c;
	d->cfg = *cfg;
	if (!d->cfg.pairs)
		d->cfg.pairs = 1;
	reinit_completion(&run->wake);
	if (cfg->srq)
		good = expect_ok(d, "dat_srq_create",
				 dat_srq_create(run->t.ia, run->t.pz, &attr, &d->srq));
	if (good && cfg->grow)
		good = expect_ok(d, "dat_srq_resize", dat_srq_resize(d->srq, cfg->grow));
	for (i = 0; good && i < d->cfg.pairs; i++)
		good = make_pair(d, i);
	if (good)
		return d;
	pair_end(d);
	return NULL;
}

static void free_end(struct pair_end *e)
{
	struct pair *d = e->pair;

	if (!d)
		return;
	if (e->ep)
		expect_ok(d, "dat_ep_free", dat_ep_free(e->ep));
	if (e->lmr)
		expect_ok(d, "dat_lmr_free", dat_lmr_free(e->lmr));
	kfree(e->mem);
	if (e->recv.handle)
		expect_ok(d, "dat_evd_free", dat_evd_free(e->recv.handle));
	if (e->req.handle)
		expect_ok(d, "dat_evd_free", dat_evd_free(e->req.handle));
	if (e->conn.handle)
		expect_ok(d, "dat_evd_free", dat_evd_free(e->conn.handle));
}

/**
 * pair_end - free a pair, complete or not, in any state
 * @d: the pair
 *
 * Context: process.
 */
void pair_end(struct pair *d)
{
	u32 i;

	for (i = 0; i < PAIR_PAIRS; i++) {
		free_end(&d->a[i]);
		free_end(&d->b[i]);
	}
	if (d->srq)
		expect_ok(d, "dat_srq_free", dat_srq_free(d->srq));
	if (d->pz)
		expect_ok(d, "dat_pz_free", dat_pz_free(d->pz));
	kfree(d);
}

/* Connecting */

bool pair_call(struct pair *d, u32 pair, DAT_TIMEOUT us)
{
	u64 hello = LOOP_HELLO;

	return expect_ok(d, "dat_ep_connect",
			 dat_ep_connect(d->a[pair].ep, d->run->t.attr.ia_address_ptr, d->run->qual,
					us, sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE pair_called(struct pair *d)
{
	DAT_CR_HANDLE cr;

	if (loop_wait_cr(d->run, PAIR_CONNECT_MS)) {
		loop_fail(d->c, "expected a connection request, got none");
		return DAT_HANDLE_NULL;
	}
	cr = d->run->cr;
	WRITE_ONCE(d->run->cr, NULL);
	return cr;
}

void pair_connect_one(struct pair *d, u32 i)
{
	DAT_CR_HANDLE cr;

	if (!pair_call(d, i, PAIR_CONNECT_MS * test_stretch() * 1000U))
		return;
	cr = pair_called(d);
	if (cr && expect_ok(d, "dat_cr_accept", dat_cr_accept(cr, d->b[i].ep, 0, NULL))) {
		pair_conn(&d->a[i], DAT_CONNECTION_EVENT_ESTABLISHED);
		pair_conn(&d->b[i], DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

/**
 * pair_connect - connect all pairs and wait for ESTABLISHED at each end
 * @d: the pair
 *
 * Context: process.
 * Return: 0, or an error, which is noted.
 */
int pair_connect(struct pair *d)
{
	u32 i;

	for (i = 0; i < d->cfg.pairs && pair_ok(d); i++)
		pair_connect_one(d, i);
	if (READ_ONCE(d->run->abort))
		return -EINTR;
	return pair_ok(d) ? 0 : -EIO;
}

int pair_play(struct loop_run *run, struct loop_case *c, const struct pair_cfg *cfg,
	      void (*script)(struct pair *d))
{
	struct pair *d = pair_make(run, c, cfg);
	int err;

	if (!d)
		return -EIO;
	err = pair_connect(d);
	if (!err)
		script(d);
	if (!err && READ_ONCE(run->abort))
		err = -EINTR;
	pair_end(d);
	return err;
}

/* Memory */

void pair_clear(struct pair_end *e)
{
	memset(e->mem, PAIR_FREE, PAIR_MEM);
}

/* Never PAIR_FREE, so that each byte shows whether it was written. */
static u8 byte_of(u8 seed, u32 i)
{
	u8 byte = seed + i * 7;

	return byte == PAIR_FREE ? 1 : byte;
}

void pair_fill(struct pair_end *e, u32 off, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		e->mem[off + i] = byte_of(seed, i);
}

void pair_expect_bytes(struct pair_end *e, const char *what, u32 off, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++) {
		u8 got = READ_ONCE(e->mem[off + i]), want = byte_of(seed, i);

		if (got == want)
			continue;
		loop_fail(e->pair->c, "%s: byte %u at %s is %#04x, expected %#04x", what, off + i,
			  e->name, got, want);
		return;
	}
}

void pair_expect_free(struct pair_end *e, const char *what, u32 off, u32 len)
{
	u32 i;

	for (i = off; i < off + len; i++) {
		if (READ_ONCE(e->mem[i]) == PAIR_FREE)
			continue;
		loop_fail(e->pair->c, "%s: byte %u at %s was written", what, i, e->name);
		return;
	}
}

DAT_LMR_TRIPLET pair_seg(struct pair_end *e, u32 off, u32 len)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)e->mem + off,
		.segment_length = len,
		.lmr_context = e->context,
	};
}

DAT_RMR_TRIPLET pair_target(struct pair_end *e, u32 off, u32 len)
{
	return (DAT_RMR_TRIPLET) {
		.virtual_address = (uintptr_t)e->mem + off,
		.segment_length = len,
		.rmr_context = e->key,
	};
}

/* Posts */

static void posted(struct pair_end *e, const char *what, DAT_RETURN ret)
{
	if (expect_ok(e->pair, what, ret))
		e->pair->c->posts++;
}

void pair_send(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	posted(e, "dat_ep_post_send", dat_ep_post_send(e->ep, n, iov, c, flags));
}

/* The EP of an SRQ receives from the SRQ. */
void pair_recv(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie, u32 flags)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	struct pair *d = e->pair;

	if (d->srq && (e == &d->b[0] || e == &d->b[1]))
		posted(e, "dat_srq_post_recv", dat_srq_post_recv(d->srq, n, iov, c));
	else
		posted(e, "dat_ep_post_recv", dat_ep_post_recv(e->ep, n, iov, c, flags));
}

void pair_write(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
		const DAT_RMR_TRIPLET *to, u32 flags)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	posted(e, "dat_ep_post_rdma_write", dat_ep_post_rdma_write(e->ep, n, iov, c, to, flags));
}

void pair_read(struct pair_end *e, DAT_COUNT n, DAT_LMR_TRIPLET *iov, u64 cookie,
	       const DAT_RMR_TRIPLET *from, u32 flags)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	posted(e, "dat_ep_post_rdma_read", dat_ep_post_rdma_read(e->ep, n, iov, c, from, flags));
}

void pair_send1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags)
{
	DAT_LMR_TRIPLET seg = pair_seg(e, off, len);

	pair_send(e, 1, &seg, cookie, flags);
}

void pair_recv1(struct pair_end *e, u32 off, u32 len, u64 cookie, u32 flags)
{
	DAT_LMR_TRIPLET seg = pair_seg(e, off, len);

	pair_recv(e, 1, &seg, cookie, flags);
}

/* Events */

/* Is there an upcall not yet accounted for? Each event makes one. */
static bool upcall_called(struct pair_evd *evd)
{
	if (atomic_read(&evd->upcalls) == evd->seen)
		return false;
	evd->seen = atomic_read(&evd->upcalls);
	return true;
}

/**
 * pair_next - wait for the next event of an EVD
 * @d: the pair
 * @evd: one of its EVDs
 * @upcall: PAIR_UPCALL: nothing is dequeued before an upcall was called;
 *        PAIR_NO_UPCALL: no upcall may be called
 * @what: names the event in a note
 * @ev: receives the event
 *
 * Context: process.
 * Return: true if the event came as expected; otherwise the difference is noted.
 */
bool pair_next(struct pair *d, struct pair_evd *evd, enum pair_expect upcall, const char *what,
	       DAT_EVENT *ev)
{
	u32 wait = LOOP_QUIET_MS * test_stretch() * (1 + d->on_the_way / SZ_8M);
	unsigned long deadline = jiffies + msecs_to_jiffies(wait);
	bool called = false;

	while (pair_ok(d)) {
		called = called || upcall_called(evd);
		if ((upcall != PAIR_UPCALL || called) &&
		    dat_evd_dequeue(evd->handle, ev) == DAT_SUCCESS)
			break;
		if (time_after(jiffies, deadline))
			loop_fail(d->c, "%s: %s", what,
				  dat_evd_dequeue(evd->handle, ev) == DAT_SUCCESS ?
				  "expected an upcall for the event, got none" : "no event");
		wait_for_completion_timeout(&d->run->wake, 1);
	}
	if (upcall == PAIR_NO_UPCALL && (called || upcall_called(evd)))
		loop_fail(d->c, "%s: expected no upcall, got one", what);
	d->c->completions++;
	return pair_ok(d);
}

static const char *op_name(DAT_DTOS op)
{
	static const char * const name[] = { "send", "write", "read", "receive" };

	return op < ARRAY_SIZE(name) ? name[op] : "operation";
}

u32 pair_dto(struct pair_end *e, DAT_DTOS op, u64 cookie, u32 status, u32 len,
	     enum pair_expect upcall)
{
	bool recv = op == DAT_DTO_RECEIVE;
	struct pair_evd *evd = recv ? &e->recv : &e->req;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	char what[40];
	DAT_EVENT ev;

	scnprintf(what, sizeof(what), "%s, %s %llu", e->name, op_name(op), cookie);
	if (!pair_ok(e->pair) || !pair_next(e->pair, evd, upcall, what, &ev))
		return 0;
	dto = &ev.event_data.dto_completion_event_data;
	if (ev.event_number != DAT_DTO_COMPLETION_EVENT || ev.evd_handle != evd->handle ||
	    dto->ep_handle != e->ep)
		loop_fail(e->pair->c, "%s: event %#x, of another EVD or EP", what, ev.event_number);
	else if (dto->operation != op || dto->user_cookie.as_64 != cookie)
		loop_fail(e->pair->c, "%s: operation %d, cookie %llu", what, dto->operation,
			  dto->user_cookie.as_64);
	else if (status == PAIR_FAILED ? dto->status == DAT_DTO_SUCCESS : dto->status != status)
		loop_fail(e->pair->c, "%s: status %d, expected %u", what, dto->status, status);
	else if (dto->status == DAT_DTO_SUCCESS && dto->transfered_length != len)
		loop_fail(e->pair->c, "%s: length %u, expected %u", what, dto->transfered_length,
			  len);
	if (dto->status == DAT_DTO_ERR_FLUSHED)
		e->pair->c->flushed++;
	e->pair->c->messages += dto->status == DAT_DTO_SUCCESS;
	return dto->status;
}

DAT_COUNT pair_conn_data(struct pair_end *e, DAT_EVENT_NUMBER number, const u8 **data)
{
	DAT_EVENT ev;

	*data = NULL;
	if (!pair_ok(e->pair) || !pair_next(e->pair, &e->conn, PAIR_UPCALL, "connection", &ev))
		return 0;
	if (ev.event_number != number ||
	    ev.event_data.connect_event_data.ep_handle != e->ep)
		loop_fail(e->pair->c, "%s: connection event %#x, expected %#x", e->name,
			  ev.event_number, number);
	*data = ev.event_data.connect_event_data.private_data;
	return ev.event_data.connect_event_data.private_data_size;
}

void pair_conn(struct pair_end *e, DAT_EVENT_NUMBER number)
{
	const u8 *data;

	pair_conn_data(e, number, &data);
}

bool pair_ended(struct pair_end *e, bool must_break)
{
	DAT_EVENT ev;

	if (!pair_ok(e->pair) ||
	    !pair_next(e->pair, &e->conn, PAIR_UPCALL, "end of the connection", &ev))
		return false;
	if (ev.event_number != DAT_CONNECTION_EVENT_BROKEN &&
	    (must_break || ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED))
		loop_fail(e->pair->c, "%s: connection event %#x, expected %s", e->name,
			  ev.event_number, must_break ? "BROKEN" : "its end");
	pair_expect_state(e, DAT_EP_STATE_DISCONNECTED);
	return ev.event_number == DAT_CONNECTION_EVENT_BROKEN;
}

static void expect_empty(struct pair_end *e, struct pair_evd *evd, const char *what)
{
	DAT_EVENT ev;

	if (evd->handle && dat_evd_dequeue(evd->handle, &ev) == DAT_SUCCESS)
		loop_fail(e->pair->c, "%s: event %#x too many at %s", what, ev.event_number,
			  e->name);
}

static void expect_end_quiet(struct pair_end *e, const char *what)
{
	if (!e->pair)
		return;
	expect_empty(e, &e->recv, what);
	expect_empty(e, &e->req, what);
	expect_empty(e, &e->conn, what);
}

void pair_expect_no_event(struct pair *d, const char *what)
{
	u32 i;

	for (i = 0; i < PAIR_PAIRS; i++) {
		expect_end_quiet(&d->a[i], what);
		expect_end_quiet(&d->b[i], what);
	}
}

void pair_settle(struct pair *d, u32 ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(ms);

	while (pair_ok(d) && time_before(jiffies, deadline))
		wait_for_completion_timeout(&d->run->wake, HZ / 50);
}

void pair_expect_state(struct pair_end *e, DAT_EP_STATE state)
{
	DAT_EP_STATE is = DAT_EP_STATE_UNCONNECTED;

	expect_ok(e->pair, "dat_ep_get_status", dat_ep_get_status(e->ep, &is, NULL, NULL));
	if (is != state)
		loop_fail(e->pair->c, "%s: state %d, expected %d", e->name, is, state);
}
