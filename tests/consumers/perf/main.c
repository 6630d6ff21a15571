// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_perf: measures kDAPL, and plain verbs in between.
 *
 * debugfs, directory kdapl_perf: a line written to "command" (args.c) starts a run, "status" and
 * "results" (report.c) can be read at any time:
 *
 *	client [NAME=VALUE]...	measure; without an address, with a server in this kernel
 *	server [NAME=VALUE]...	serve one client
 *	stop			end all runs
 *
 * "kdapl-loop perf" uses these files. There is one client and one server at a time, and each
 * is a work item.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "perf.h"

static struct dentry *perf_dir;
static struct workqueue_struct *perf_wq;
static DEFINE_MUTEX(perf_mutex);	/* one command at a time */
static struct perf_run perf_runs[2];

#define CLIENT	(&perf_runs[0])
#define SERVER	(&perf_runs[1])

/**
 * perf_fail - note why a run ends early
 * @run: the run
 * @fmt: the reason; only the first one is kept
 *
 * Context: process.
 * Return: -EIO, for the caller to return.
 */
int perf_fail(struct perf_run *run, const char *fmt, ...)
{
	va_list args;

	mutex_lock(&run->lock);
	if (!run->error[0]) {
		va_start(args, fmt);
		vscnprintf(run->error, sizeof(run->error), fmt, args);
		va_end(args);
	}
	mutex_unlock(&run->lock);
	return -EIO;
}

/* Add a row to the results. Process context */
void perf_publish(struct perf_run *run, const struct perf_row *row)
{
	mutex_lock(&run->lock);
	if (run->rows < run->planned)
		run->row[run->rows++] = *row;
	mutex_unlock(&run->lock);
	WRITE_ONCE(run->round, 0);
}

/* Note what is measured next, for "status". Process context */
void perf_measuring(struct perf_run *run, const struct perf_row *row)
{
	mutex_lock(&run->lock);
	run->now = (struct perf_spec) {
		.op = row->op,
		.kind = row->kind,
		.size = row->size,
	};
	mutex_unlock(&run->lock);
}

static void finish(struct perf_run *run)
{
	mutex_lock(&run->lock);
	WRITE_ONCE(run->state, PERF_DONE);
	mutex_unlock(&run->lock);
}

static void client_work(struct work_struct *work)
{
	struct perf_run *run = container_of(work, struct perf_run, work);

	perf_client(run);
	if (run->server) {
		/* It ends with the client, or is not needed after an error */
		WRITE_ONCE(run->server->stop, true);
		flush_work(&run->server->work);
		if (run->server->error[0])
			perf_fail(run, "server: %s", run->server->error);
	}
	finish(run);
}

static void server_work(struct work_struct *work)
{
	struct perf_run *run = container_of(work, struct perf_run, work);

	perf_server(run);
	finish(run);
}

static bool is_running(struct perf_run *run)
{
	bool running;

	mutex_lock(&run->lock);
	running = run->state == PERF_RUNNING;
	mutex_unlock(&run->lock);
	return running;
}

static int prepare(struct perf_run *run, const struct perf_args *args, bool client)
{
	u32 rows = client ? PERF_SIDES * hweight32(args->ops) * hweight32(args->kinds) *
			    args->sizes : 0;
	struct perf_row *row = NULL;

	if (is_running(run))
		return -EBUSY;
	flush_work(&run->work);
	if (rows) {
		row = kvcalloc(rows, sizeof(*row), GFP_KERNEL);
		if (!row)
			return -ENOMEM;
	}
	mutex_lock(&run->lock);
	kvfree(run->row);
	run->row = row;
	run->rows = 0;
	run->planned = rows;
	run->round = 0;
	run->args = *args;
	run->stop = false;
	run->listening = false;
	run->server = NULL;
	run->error[0] = 0;
	run->device[0] = 0;
	run->now.size = 0;
	run->state = PERF_RUNNING;
	mutex_unlock(&run->lock);
	return 0;
}

static int start_server(const struct perf_args *args)
{
	int err = prepare(SERVER, args, false);

	if (!err)
		queue_work(perf_wq, &SERVER->work);
	return err;
}

static int start_client(const struct perf_args *args)
{
	int err;

	if (is_running(CLIENT) || (!args->address[0] && is_running(SERVER)))
		return -EBUSY;
	err = prepare(CLIENT, args, true);
	if (err)
		return err;
	if (!args->address[0]) {
		err = start_server(args);
		if (err) {
			finish(CLIENT);
			return err;
		}
		CLIENT->server = SERVER;
	}
	queue_work(perf_wq, &CLIENT->work);
	return 0;
}

static void stop_all(void)
{
	WRITE_ONCE(CLIENT->stop, true);
	WRITE_ONCE(SERVER->stop, true);
}

static int execute(char *line)
{
	struct perf_args *args;
	char *what;
	int err;

	line = strim(line);
	what = strsep(&line, " ");
	if (!strcmp(what, "stop")) {
		stop_all();
		return 0;
	}
	if (strcmp(what, "client") && strcmp(what, "server"))
		return -EINVAL;
	args = kzalloc(sizeof(*args), GFP_KERNEL);
	if (!args)
		return -ENOMEM;
	err = perf_args_parse(args, line);
	if (!err) {
		mutex_lock(&perf_mutex);
		err = *what == 'c' ? start_client(args) : start_server(args);
		mutex_unlock(&perf_mutex);
	}
	kfree(args);
	return err;
}

static ssize_t command_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, execute);
}

static void show_run(struct seq_file *m, const char *name, struct perf_run *run)
{
	static const char * const state[] = { "idle", "running", "done" };

	mutex_lock(&run->lock);
	seq_printf(m, "%s state=%s device=%s rows=%u planned=%u round=%u listening=%d", name,
		   state[run->state], run->device, run->rows, run->planned, READ_ONCE(run->round),
		   READ_ONCE(run->listening));
	if (run->now.size)
		seq_printf(m, " test=%s op=%s size=%u", perf_kind_name[run->now.kind],
			   perf_op_name[run->now.op], run->now.size);
	seq_putc(m, '\n');
	if (run->error[0])
		seq_printf(m, "%s-error %s\n", name, run->error);
	mutex_unlock(&run->lock);
}

static int status_show(struct seq_file *m, void *unused)
{
	show_run(m, "client", CLIENT);
	show_run(m, "server", SERVER);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static int results_show(struct seq_file *m, void *unused)
{
	u32 i;

	mutex_lock(&CLIENT->lock);
	for (i = 0; i < CLIENT->rows; i++)
		perf_show_row(m, &CLIENT->row[i]);
	mutex_unlock(&CLIENT->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.write = command_write,
};

static int __init perf_init(void)
{
	INIT_WORK(&CLIENT->work, client_work);
	INIT_WORK(&SERVER->work, server_work);
	mutex_init(&CLIENT->lock);
	mutex_init(&SERVER->lock);
	perf_wq = alloc_workqueue("kdapl_perf", WQ_UNBOUND, 2);
	if (!perf_wq)
		return -ENOMEM;
	perf_dir = debugfs_create_dir("kdapl_perf", NULL);
	debugfs_create_file("command", 0200, perf_dir, NULL, &command_fops);
	debugfs_create_file("status", 0400, perf_dir, NULL, &status_fops);
	debugfs_create_file("results", 0400, perf_dir, NULL, &results_fops);
	return 0;
}

static void __exit perf_exit(void)
{
	debugfs_remove(perf_dir);
	stop_all();
	destroy_workqueue(perf_wq);
	kvfree(CLIENT->row);
}

module_init(perf_init);
module_exit(perf_exit);
MODULE_AUTHOR("kDAPL developers");
MODULE_DESCRIPTION("kDAPL performance test");
MODULE_LICENSE("GPL");
