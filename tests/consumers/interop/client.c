// SPDX-License-Identifier: GPL-2.0
/*
 * The client: requests one test from a server and runs its end of it. Runs in the
 * process that wrote the command; the threads of the test are work items.
 */
#include <linux/inet.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interop.h"

struct client {
	struct interop_fixture fx;
	struct interop_control control;
	struct sockaddr_in address;
	u32 recv_number;
	struct completion done;		/* the whole test has ended */
	bool failed;
};

static DEFINE_MUTEX(client_mutex);	/* one client at a time, because there is one report */

static int post_control(void *data)
{
	struct client *c = data;

	return interop_post_recv(&c->control.link, &c->control.in[0], 1, DT_CONTROL_SIZE,
				 &c->recv_number);
}

static int hear_server(struct client *c, u32 *first_port)
{
	const struct dt_server_info *info = (const void *)c->control.in[0].data;
	struct interop_link *l = &c->control.link;
	int err;

	err = interop_wait(l, INTEROP_WANT_RECV, c->recv_number);
	if (err)
		return err;
	if (le32_to_cpu(info->version) != DT_VERSION || !info->is_little_endian) {
		interop_fail("control", "server: expected version %u, little-endian 1; got %u, %u",
			     DT_VERSION, le32_to_cpu(info->version),
			     le32_to_cpu(info->is_little_endian));
		return -EPROTO;
	}
	*first_port = le32_to_cpu(info->first_port);
	return 0;
}

/* The last thread has released the test */
static void test_ended(struct interop_test *t)
{
	struct client *c = container_of(t->fx, struct client, fx);

	c->failed = t->failed;
	complete(&c->done);
}

static int take_part(struct client *c, const struct interop_task *task, u32 first_port)
{
	struct interop_test *t;

	if (task->type == DT_TEST_QUIT)
		return 0;
	t = interop_test_make(&c->fx, task, false, first_port);
	if (!t)
		return -ENOMEM;
	t->address = (DAT_IA_ADDRESS_PTR)&c->address;
	t->end = test_ended;
	init_completion(&c->done);
	interop_test_start(t);
	interop_test_put(t);
	/* Each step of each thread has a time limit */
	wait_for_completion(&c->done);
	return c->failed ? -EIO : 0;
}

static int run(struct client *c, const struct interop_args *args)
{
	struct interop_link *l = &c->control.link;
	u32 first_port;
	int err;

	err = interop_control_make(&c->control, &c->fx) ?:
	      interop_connect(l, (DAT_IA_ADDRESS_PTR)&c->address, args->port, NULL,
			      post_control, c);
	if (err)
		return err;
	/*
	 * The server answers when it has both messages, and may then end the control
	 * connection, before the sends have completed here
	 */
	spin_lock_bh(&l->lock);
	l->may_end = true;
	spin_unlock_bh(&l->lock);
	err = interop_task_send(&c->control, &args->task, args->port) ?:
	      hear_server(c, &first_port) ?: take_part(c, &args->task, first_port);
	/* The server reaps its answer before it ends the connection, maybe after the test */
	return interop_part(l, !err) ?: err;
}

/* Without an address use the server on this machine */
static int find_server(struct client *c, const struct interop_args *args)
{
	c->address.sin_family = AF_INET;
	if (args->address[0])
		return in4_pton(args->address, -1, (u8 *)&c->address.sin_addr, -1, NULL) ?
		       0 : -EINVAL;
	if (c->fx.t.attr.ia_address_ptr->sa_family != AF_INET)
		return -EINVAL;
	memcpy(&c->address, c->fx.t.attr.ia_address_ptr, sizeof(c->address));
	return 0;
}

/**
 * interop_client_run - request a test from a server and run it
 * @args: address and port of the server, and the test
 *
 * Context: process.
 * Return: 0; -ECONNREFUSED if there is no server; -ENOMEM; -EIO and others, recorded.
 */
int interop_client_run(const struct interop_args *args)
{
	struct client *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return -ENOMEM;
	mutex_lock(&client_mutex);
	err = interop_fixture_open(&c->fx);
	if (!err) {
		err = find_server(c, args) ?: run(c, args);
		interop_control_free(&c->control);
		interop_fixture_close(&c->fx);
	}
	mutex_unlock(&client_mutex);
	kfree(c);
	return err;
}
