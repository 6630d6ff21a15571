// SPDX-License-Identifier: GPL-2.0
/*
 * A Consumer that a script drives call by call, for tests in which the network
 * changes between two calls.
 *
 * The script writes a command to kdapl_actor/command in debugfs and reads the
 * result from kdapl_actor/result: the name of the return value, or the output.
 * The Consumer has one IA and three EPs: A and B, which "pair" connects to each
 * other, and C, whose connection requests are never answered.
 *
 *   open NAME       open the IA; create its EVDs, zone, memory and EPs
 *   listen [any]    create the service point; on all addresses of the port
 *   pair [ADDRESS]  connect A to B, and wait until both are connected; at another address
 *   dial [ADDRESS]  connect C to the service point, or to an IPv4 or IPv6 address; a
 *                   link-local one with %NETDEV
 *   send EP         post a send of 16 bytes
 *   recv EP         post a receive
 *   disconnect EP   without waiting for its requests
 *   reset EP
 *   state           print "A=CONNECTED B=CONNECTED C=UNCONNECTED"
 *   where           print the local address of B
 *   events          print all events so far, one per line: "A BROKEN", "B send 12"
 *   traffic         A sends to B continuously; an upcall reposts each message
 *   register        register the memory once more
 *   bind            register a page by a request on the queue of A
 *   close           close the IA and all its objects
 *   forget          discard all handles, so that unloading closes nothing
 *
 * Public API only. Process context, one command at a time.
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "kdapl_test.h"

#define QUAL		7472
#define DEPTH		4
#define BUFFER		64
#define MESSAGE		16
#define TEXT_SIZE	4096
#define WAIT_MS		10000

static char keepalive[12] = "0";
module_param_string(keepalive_ms, keepalive, sizeof(keepalive), 0644);
MODULE_PARM_DESC(keepalive_ms, "kdapl.keepalive_ms of the EPs of the next open (default 0)");

static bool bare;
module_param(bare, bool, 0444);
MODULE_PARM_DESC(bare, "Without registered memory: messages are empty (N)");

enum { A, B, C, EPS };

static struct {
	struct test_fixture t;
	DAT_EP_HANDLE ep[EPS];
	u32 messages;		/* received by "traffic" */
	u32 due;		/* sends that "traffic" still has to post; changed by its upcall */
	char result[TEXT_SIZE];
	char events[TEXT_SIZE];	/* one per line */
	size_t events_len;
} actor;

/* Part of the module, so kDAPL must not use it after the module is unloaded */
static u8 buffer[BUFFER] __aligned(BUFFER);

static DEFINE_MUTEX(actor_mutex);
static struct dentry *dir;

static void set_result(DAT_RETURN ret)
{
	const char *major = "?", *minor = "";

	dat_strerror(ret, &major, &minor);
	scnprintf(actor.result, TEXT_SIZE, "%s\n", major);
}

/* ---- events ---------------------------------------------------------------- */

static char name_of(DAT_EP_HANDLE ep)
{
	unsigned int i;

	for (i = 0; i < EPS; i++)
		if (actor.ep[i] == ep)
			return 'A' + i;
	return '?';
}

static const char *conn_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	default:
		return "?";
	}
}

static __printf(1, 2) void record(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	actor.events_len += vscnprintf(actor.events + actor.events_len,
				       TEXT_SIZE - actor.events_len, fmt, args);
	va_end(args);
}

/* Dequeue and record all events; leave connection requests to "pair" */
static void take_events(void)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	while (dat_evd_dequeue(actor.t.conn, &ev) == DAT_SUCCESS)
		record("%c %s\n", name_of(ev.event_data.connect_event_data.ep_handle),
		       conn_name(ev.event_number));
	while (dat_evd_dequeue(actor.t.dto, &ev) == DAT_SUCCESS) {
		dto = &ev.event_data.dto_completion_event_data;
		record("%c %s %d\n", name_of(dto->ep_handle),
		       dto->operation == DAT_DTO_RECEIVE ? "recv" : "send", dto->status);
	}
	while (dat_evd_dequeue(actor.t.async, &ev) == DAT_SUCCESS)
		record("IA %s\n", ev.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC ?
		       "CATASTROPHIC" : "?");
}

static DAT_EP_STATE state_of(unsigned int i)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	dat_ep_get_status(actor.ep[i], &state, NULL, NULL);
	return state;
}

static const char *state_name(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return "UNCONNECTED";
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return "ACTIVE_CONNECTION_PENDING";
	case DAT_EP_STATE_COMPLETION_PENDING:
		return "COMPLETION_PENDING";
	case DAT_EP_STATE_CONNECTED:
		return "CONNECTED";
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return "DISCONNECT_PENDING";
	case DAT_EP_STATE_DISCONNECTED:
		return "DISCONNECTED";
	default:
		return "?";
	}
}

/* ---- commands ---------------------------------------------------------------- */

static DAT_RETURN make_objects(void)
{
	DAT_NAMED_ATTR named = { "kdapl.keepalive_ms", keepalive };
	DAT_EP_ATTR attr = test_ep_attr(BUFFER, DEPTH, 1);
	DAT_RETURN ret;
	unsigned int i;

	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &named;
	ret = test_fixture_make(&actor.t, 8, DAT_EVD_DTO_FLAG, bare ? NULL : buffer,
				BUFFER);
	for (i = 0; i < EPS; i++)
		ret = ret ?: dat_ep_create(actor.t.ia, actor.t.pz, actor.t.dto, actor.t.dto,
					   actor.t.conn, &attr, &actor.ep[i]);
	return ret;
}

static void close_ia(void)
{
	if (actor.t.ia == DAT_HANDLE_NULL)
		return;
	set_result(dat_ia_close(actor.t.ia, DAT_CLOSE_ABRUPT_FLAG));
	actor.t.ia = DAT_HANDLE_NULL;
	memset(actor.ep, 0, sizeof(actor.ep));
	actor.events_len = 0;
	actor.events[0] = 0;
}

static void open_ia(char *name)
{
	DAT_RETURN ret;

	ret = test_fixture_open(&actor.t, name);
	if (ret == DAT_SUCCESS) {
		ret = make_objects();
		if (ret != DAT_SUCCESS)
			close_ia();
	}
	set_result(ret);
}

static void listen(char *any)
{
	DAT_PSP_FLAGS flags = any ? KDAT_PSP_ANY_ADDRESS_FLAG : DAT_PSP_CONSUMER_FLAG;

	set_result(dat_psp_create(actor.t.ia, QUAL, actor.t.cr, flags, &actor.t.psp));
}

/* Query the address each time, because scripts change it */
static DAT_IA_ADDRESS_PTR own_address(void)
{
	actor.t.attr.ia_address_ptr = NULL;
	dat_ia_query(actor.t.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &actor.t.attr, 0, NULL);
	return actor.t.attr.ia_address_ptr;
}

/* Sets the address to which the next call connects */
static bool set_target(const char *address, struct sockaddr_storage *to)
{
	if (address && inet_pton_with_scope(&init_net, AF_UNSPEC, address, NULL, to)) {
		scnprintf(actor.result, TEXT_SIZE, "expected an IP address\n");
		return false;
	}
	actor.t.attr.ia_address_ptr = address ? (struct sockaddr *)to : own_address();
	return true;
}

static bool paired(void)
{
	take_events();
	return state_of(A) == DAT_EP_STATE_CONNECTED && state_of(B) == DAT_EP_STATE_CONNECTED;
}

static void pair(char *address)
{
	struct sockaddr_storage to;
	DAT_EVENT old;
	DAT_RETURN ret;

	/* Discard the requests of "dial" */
	while (dat_evd_dequeue(actor.t.cr, &old) == DAT_SUCCESS)
		;
	if (!set_target(address, &to))
		return;
	ret = test_pair(&actor.t, actor.ep[A], actor.ep[B], QUAL, WAIT_MS);
	if (ret == DAT_SUCCESS && !test_wait(paired(), WAIT_MS))
		ret = DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	set_result(ret);
}

static void dial(char *address)
{
	struct sockaddr_storage to;

	if (set_target(address, &to))
		set_result(test_connect(&actor.t, actor.ep[C], QUAL, NULL, 0));
}

static int ep_named(const char *name)
{
	return name && *name >= 'A' && *name < 'A' + EPS ? *name - 'A' : A;
}

static DAT_RETURN post(int i, bool recv)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_LMR_TRIPLET seg = kdat_local(&actor.t.mem, recv ? MESSAGE : 0, MESSAGE);

	return recv ? dat_ep_post_recv(actor.ep[i], !bare, &seg, cookie, 0) :
		      dat_ep_post_send(actor.ep[i], !bare, &seg, cookie, 0);
}

static void send_one(char *name)
{
	set_result(post(ep_named(name), false));
}

static void recv_one(char *name)
{
	set_result(post(ep_named(name), true));
}

/*
 * The upcall: after a message has arrived, post the next receive and send. If acknowledgments are
 * lost, the send queue of A can be full at that time. Then the upcall posts the send when an
 * earlier one has completed.
 */
static void repeat(DAT_PVOID unused, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	if (dto->operation == DAT_DTO_RECEIVE) {
		WRITE_ONCE(actor.messages, actor.messages + 1);
		actor.due += post(B, true) == DAT_SUCCESS;
	}
	while (actor.due && post(A, false) == DAT_SUCCESS)
		actor.due--;
}

static void traffic(char *unused)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = repeat };
	DAT_RETURN ret;

	actor.messages = 0;
	actor.due = 0;
	ret = dat_evd_modify_upcall(actor.t.dto, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_UPCALL_INVOC_NEW);
	ret = ret ?: post(B, true);
	ret = ret ?: post(A, false);
	if (ret == DAT_SUCCESS && !test_wait(READ_ONCE(actor.messages) >= DEPTH, WAIT_MS))
		ret = DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	set_result(ret);
}

/* The memory that is registered here is freed with the IA */
static void register_memory(char *unused)
{
	struct kdat_region mem;

	set_result(kdat_register(actor.t.ia, actor.t.pz, buffer, BUFFER, DAT_MEM_PRIV_ALL_FLAG,
				 &mem));
}

static void bind(char *unused)
{
	struct scatterlist sg;
	DAT_LMR_COOKIE cookie = {};
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, ZERO_PAGE(0), PAGE_SIZE, 0);
	ret = dat_lmr_allocate(actor.t.ia, actor.t.pz, 1, DAT_LMR_SCOPE_PZ, &lmr);
	ret = ret ?: kdat_lmr_fmr_sg(lmr, &sg, 1, DAT_MEM_PRIV_LOCAL_READ_FLAG, actor.ep[A], cookie,
				     0, &local, &remote);
	set_result(ret);
}

static void disconnect(char *name)
{
	set_result(dat_ep_disconnect(actor.ep[ep_named(name)], DAT_CLOSE_ABRUPT_FLAG));
}

static void reset(char *name)
{
	set_result(dat_ep_reset(actor.ep[ep_named(name)]));
}

static void show_state(char *unused)
{
	scnprintf(actor.result, TEXT_SIZE, "A=%s B=%s C=%s\n", state_name(state_of(A)),
		  state_name(state_of(B)), state_name(state_of(C)));
}

static void show_where(char *unused)
{
	DAT_EP_PARAM param = {};

	dat_ep_query(actor.ep[B], DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, &param);
	scnprintf(actor.result, TEXT_SIZE, "%pISc\n", param.local_ia_address_ptr);
}

static void show_events(char *unused)
{
	take_events();
	scnprintf(actor.result, TEXT_SIZE, "%.*s", (int)actor.events_len, actor.events);
}

static void close_all(char *unused)
{
	close_ia();
}

static void forget(char *unused)
{
	actor.t.ia = DAT_HANDLE_NULL;
	set_result(DAT_SUCCESS);
}

static const struct {
	const char *name;
	void (*run)(char *word);
	bool closed;		/* legal only while no IA is open; others need one */
} command[] = {
	{ "open", open_ia, true },
	{ "listen", listen },
	{ "pair", pair },
	{ "dial", dial },
	{ "send", send_one },
	{ "recv", recv_one },
	{ "disconnect", disconnect },
	{ "reset", reset },
	{ "state", show_state },
	{ "where", show_where },
	{ "events", show_events },
	{ "traffic", traffic },
	{ "register", register_memory },
	{ "bind", bind },
	{ "close", close_all },
	{ "forget", forget },
};

static int run(char *line)
{
	char *word = strsep(&line, " ");
	bool closed = actor.t.ia == DAT_HANDLE_NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(command); i++) {
		if (strcmp(command[i].name, word))
			continue;
		if (command[i].closed != closed)
			return -EBUSY;
		command[i].run(line);
		return 0;
	}
	return -EINVAL;
}

static int run_locked(char *line)
{
	int err;

	mutex_lock(&actor_mutex);
	err = run(strim(line));
	mutex_unlock(&actor_mutex);
	return err;
}

static ssize_t command_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, run_locked);
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.write = command_write,
};

static int result_show(struct seq_file *m, void *unused)
{
	mutex_lock(&actor_mutex);
	seq_puts(m, actor.result);
	mutex_unlock(&actor_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init actor_init(void)
{
	dir = debugfs_create_dir("kdapl_actor", NULL);
	debugfs_create_file("command", 0200, dir, NULL, &command_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	return 0;
}

static void __exit actor_exit(void)
{
	debugfs_remove(dir);
	close_ia();
}

module_init(actor_init);
module_exit(actor_exit);
MODULE_DESCRIPTION("kDAPL actor");
MODULE_LICENSE("GPL");
