// SPDX-License-Identifier: GPL-2.0
/*
 * The server: one control EP for one client after the other, and the tests that they
 * request, which run at the same time. Runs in a work item, from
 * interop_server_start() to a quit command or interop_server_stop().
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include "interop.h"

struct server {
	struct interop_fixture fx;
	struct interop_control control;
	struct interop_listener listener;
	u32 recv_number[2];
	u32 port;
	u32 next_port;
	u32 reject;		/* number of the next requests to reject */
	bool quit;
	atomic_t tests;
	struct work_struct work;
};

static DEFINE_MUTEX(server_mutex);
static struct server *server;	/* changed under server_mutex */
static bool running;

static void test_ended(struct interop_test *t)
{
	struct server *s = container_of(t->fx, struct server, fx);

	/* The waiter may free the server at once */
	if (atomic_dec_and_test(&s->tests))
		wake_up_var(&s->tests);
}

/* Assign ports to a test, in turn, after the control port */
static u32 take_ports(struct server *s, const struct interop_task *task, u32 total)
{
	u32 first;

	if (s->next_port >= s->port + DT_PORT_RANGE)
		s->next_port = s->port + 1;
	first = s->next_port;
	s->next_port += total;
	if (task->type == DT_TEST_TRANSACTION)
		s->next_port += (task->eps - 1) * total;
	return first;
}

/* Wait until all threads listen, before the client is told the ports */
static int start_test(struct server *s, const struct interop_task *task, u32 first_port)
{
	struct interop_test *t;
	int err;

	t = interop_test_make(&s->fx, task, true, first_port);
	if (!t)
		return -ENOMEM;
	t->end = test_ended;
	atomic_inc(&s->tests);
	interop_test_start(t);
	err = interop_test_wait(t, &t->ready, task->threads);
	interop_test_put(t);
	return err;
}

static int answer(struct server *s, struct interop_task *task)
{
	struct interop_control *c = &s->control;
	struct dt_server_info info = {
		.version = cpu_to_le32(DT_VERSION),
		.is_little_endian = cpu_to_le32(1),
	};
	u32 total;
	u32 port;
	int err;

	err = interop_wait(&c->link, INTEROP_WANT_RECV, s->recv_number[0]) ?:
	      interop_wait(&c->link, INTEROP_WANT_RECV, s->recv_number[1]) ?:
	      interop_task_decode(task, c, &total);
	if (err)
		return err;
	port = take_ports(s, task, task->type == DT_TEST_QUIT ? 0 : total);
	info.first_port = cpu_to_le32(port);
	if (task->type == DT_TEST_QUIT)
		s->quit = true;
	else
		err = start_test(s, task, port);
	if (err)
		return err;
	/*
	 * The client may disconnect as soon as it has received this, before the send
	 * has completed here. After quit it does
	 */
	spin_lock_bh(&c->link.lock);
	c->link.may_end = true;
	spin_unlock_bh(&c->link.lock);
	return interop_control_send(c, &info, sizeof(info));
}

static int post_control(struct server *s)
{
	struct interop_control *c = &s->control;

	return interop_post_recv(&c->link, &c->in[0], 1, DT_CONTROL_SIZE,
				 &s->recv_number[0]) ?:
	       interop_post_recv(&c->link, &c->in[1], 1, DT_CONTROL_SIZE,
				 &s->recv_number[1]);
}

/* Wait for a request; the first @reject requests are rejected */
static int next_request(struct server *s, DAT_CR_HANDLE *cr)
{
	int err;

	for (;;) {
		err = interop_request(&s->listener, cr, 0);
		if (err || !s->reject)
			return err;
		s->reject--;
		if (!interop_good("control", "dat_cr_reject", dat_cr_reject(*cr, 0, NULL)))
			return -EIO;
		interop_add(INTEROP_REJECTED, 1);
	}
}

/* Serve one client. Its failures are recorded, and the next one is served */
static int serve_client(struct server *s, struct interop_task *task)
{
	struct interop_link *l = &s->control.link;
	DAT_CR_HANDLE cr;
	int err, late;

	err = post_control(s) ?: next_request(s, &cr);
	if (err)
		return err;
	err = interop_accept(l, &s->listener, cr, NULL);
	if (!err)
		err = answer(s, task);
	/* Nothing follows a quit: the acknowledgment of it must not be lost */
	if (!err && s->quit)
		late = interop_part(l, true);
	else
		late = interop_disconnect(l, err ? DAT_CLOSE_ABRUPT_FLAG :
						   DAT_CLOSE_GRACEFUL_FLAG);
	if (err == -EINTR || late)
		return err ?: late;
	return interop_reuse(l);
}

static int open_server(struct server *s)
{
	int err = interop_fixture_open(&s->fx);

	if (err)
		return err;
	err = interop_control_make(&s->control, &s->fx) ?:
	      interop_listen(&s->listener, "control", &s->fx, s->port,
			     DAT_HANDLE_NULL, INTEROP_NOTIFY);
	return err;
}

static void close_server(struct server *s)
{
	if (!s->fx.t.ia)
		return;
	wait_var_event(&s->tests, !atomic_read(&s->tests));
	interop_disconnect(&s->control.link, DAT_CLOSE_ABRUPT_FLAG);
	interop_unlisten(&s->listener);
	/* The free of the EP returns the receives for the next client */
	s->control.link.failed = true;
	interop_control_free(&s->control);
	interop_fixture_close(&s->fx);
}

static void serve(struct work_struct *work)
{
	struct server *s = container_of(work, struct server, work);
	struct interop_task *task = kzalloc(sizeof(*task), GFP_KERNEL);
	int err = task ? 0 : -ENOMEM;

	while (!err && !s->quit && !READ_ONCE(s->fx.stop))
		err = serve_client(s, task);
	if (err && err != -EINTR)
		interop_fail("server", "expected to run until a quit command, error %d", err);
	kfree(task);
	close_server(s);
	WRITE_ONCE(running, false);
}

/**
 * interop_server_start - start a server
 * @args: port, and the number of requests to reject first
 *
 * Returns when clients can connect.
 *
 * Context: process.
 * Return: 0; -EBUSY if there is a server; -ENOMEM; -ENODEV, -EIO and others, recorded.
 */
int interop_server_start(const struct interop_args *args)
{
	struct server *s;
	int err = -EBUSY;

	mutex_lock(&server_mutex);
	if (READ_ONCE(running))
		goto out;
	kfree(server);
	server = NULL;
	err = -ENOMEM;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		goto out;
	s->port = args->port;
	s->next_port = args->port + 1;
	s->reject = args->reject;
	INIT_WORK(&s->work, serve);
	server = s;
	err = open_server(s);
	if (err) {
		close_server(s);
		goto out;
	}
	running = true;
	queue_work(interop_wq, &s->work);
out:
	mutex_unlock(&server_mutex);
	return err;
}

/* End the server, if there is one, and its tests */
void interop_server_stop(void)
{
	mutex_lock(&server_mutex);
	if (server) {
		WRITE_ONCE(server->fx.stop, true);
		flush_work(&server->work);
		kfree(server);
		server = NULL;
	}
	mutex_unlock(&server_mutex);
}

bool interop_server_busy(void)
{
	return READ_ONCE(running);
}
