// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_traffic: messages on several IAs at once, while a script changes the system: the MTU,
 * the CPUs, the free memory, other Consumers. Also many objects on one IA.
 *
 * debugfs, directory kdapl_traffic. A command that is written to "command" fails with EIO if a
 * call or a check fails, and "log" contains the reason:
 *
 *   start IA		begin a stream (stream.c); it gets the lowest free number
 *   stop NUMBER	end it, and check that every message has arrived
 *
 *   open IA NUMBER	open this many service points and EPs (scale.c)
 *   connect FIRST	connect the EPs in pairs, to the service points from this one on
 *   exchange		send a message from each EP to its peer
 *   disconnect		end all connections, and reset the EPs
 *   close		free the service points and EPs
 *
 * "streams" has a line for each stream: its number, the messages received so far, and the
 * addresses that it has seen. Unloading the module closes the IAs of all streams.
 *
 * Public API only. Process context, one command at a time.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include "traffic.h"

#define STREAMS		8

unsigned int stream_per_tick;
module_param_named(per_tick, stream_per_tick, uint, 0444);
MODULE_PARM_DESC(per_tick, "Messages of an EP for each jiffy (default 0: no limit)");

static struct dentry *dir;
static DEFINE_MUTEX(command_mutex);	/* one command at a time; guards streams */
static struct stream *streams[STREAMS];

static int start(char *name)
{
	unsigned int i = 0;

	while (i < STREAMS && streams[i])
		i++;
	if (!name || i == STREAMS)
		return -EINVAL;
	streams[i] = stream_start(i, name);
	return streams[i] ? 0 : -EIO;
}

static int stop(char *number)
{
	unsigned int i;
	bool good;

	if (!number || kstrtouint(number, 10, &i) || i >= STREAMS || !streams[i])
		return -EINVAL;
	good = stream_stop(streams[i]);
	streams[i] = NULL;
	return good ? 0 : -EIO;
}

static int open_many(char *words)
{
	char *name = strsep(&words, " ");
	unsigned int count;

	return words && !kstrtouint(words, 10, &count) ? scale_open(name, count) : -EINVAL;
}

static int connect(char *number)
{
	unsigned int first;

	return number && !kstrtouint(number, 10, &first) ? scale_connect(first) : -EINVAL;
}

static int exchange(char *unused) { return scale_exchange(); }
static int disconnect(char *unused) { return scale_disconnect(); }
static int close(char *unused) { return scale_close(); }

static const struct {
	const char *name;
	int (*run)(char *words);
} command[] = {
	{ "start", start },
	{ "stop", stop },
	{ "open", open_many },
	{ "connect", connect },
	{ "exchange", exchange },
	{ "disconnect", disconnect },
	{ "close", close },
};

static int run(char *line)
{
	static unsigned int reported;	/* failures; command_mutex */
	char *word = strsep(&line, " ");
	int err = -EINVAL;
	unsigned int i;

	mutex_lock(&command_mutex);
	for (i = 0; i < ARRAY_SIZE(command); i++)
		if (!strcmp(command[i].name, word))
			err = command[i].run(line);
	/* Also those that upcalls have noted since the last command */
	if (test_failures() != reported)
		err = -EIO;
	reported = test_failures();
	mutex_unlock(&command_mutex);
	return err;
}

static int run_line(char *line)
{
	return run(strim(line));
}

static ssize_t command_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return test_command(buf, len, run_line);
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.write = command_write,
};

static int streams_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&command_mutex);
	for (i = 0; i < STREAMS; i++)
		if (streams[i])
			stream_show(m, streams[i]);
	mutex_unlock(&command_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(streams);

static int log_show(struct seq_file *m, void *unused)
{
	test_show_notes(m, &test_verdict, "");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static int __init traffic_init(void)
{
	dir = debugfs_create_dir("kdapl_traffic", NULL);
	debugfs_create_file("command", 0200, dir, NULL, &command_fops);
	debugfs_create_file("streams", 0400, dir, NULL, &streams_fops);
	debugfs_create_file("log", 0400, dir, NULL, &log_fops);
	return 0;
}

static void __exit traffic_exit(void)
{
	unsigned int i;

	debugfs_remove(dir);
	for (i = 0; i < STREAMS; i++)
		if (streams[i])
			stream_kill(streams[i]);
	scale_kill();
}

module_init(traffic_init);
module_exit(traffic_exit);
MODULE_DESCRIPTION("kDAPL traffic test");
MODULE_LICENSE("GPL");
