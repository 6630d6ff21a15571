// SPDX-License-Identifier: GPL-2.0
/*
 * The paths of a disk: their description, the order in which they are used, and what sysfs shows.
 *
 * A session uses one path, or with round-robin all paths that have not failed: its queues are
 * spread over them. When it ends, or cannot be opened, the client marks the paths that are to blame
 * as failed, and uses others. If all have failed, it tries one at a time.
 *
 * The logins of a session have the number of the disk and the next incarnation, over whatever path.
 * So the server ends all connections of the previous session, and refuses the logins until their
 * I/O has ended. Requests are issued again only then.
 *
 * Process context. The owner of the session changes the paths; sysfs reads them at any time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "client.h"

static const char * const states[] = {
	[DATBLK_PATH_STANDBY] = "standby",
	[DATBLK_PATH_LIVE] = "live",
	[DATBLK_PATH_FAILED] = "failed",
};

/**
 * datblk_path_add - add a path to a server that is being created
 * @remote: the server
 * @text:   ADDRESS or ADDRESS@IA; is changed
 *
 * Context: process.
 * Return: 0; -E2BIG if the disk has the largest number of paths; -ENAMETOOLONG if the address or
 * the name of the IA is too long; -EINVAL if the address is not valid, or the name of the IA is
 * empty.
 */
int datblk_path_add(struct datblk_remote *remote, char *text)
{
	struct datblk_path *path = &remote->paths[remote->path_count];
	char *address = strsep(&text, "@");
	int err;

	if (remote->path_count == DATBLK_PATHS_MAX)
		return -E2BIG;
	if (strscpy(path->address, address, sizeof(path->address)) < 0 ||
	    (text && strscpy(path->ia_name, text, sizeof(path->ia_name)) < 0))
		return -ENAMETOOLONG;
	if (text && !*text)
		return -EINVAL;
	err = inet_pton_with_scope(&init_net, AF_UNSPEC, path->address, NULL, &path->to);
	if (!err)
		remote->path_count++;
	return err;
}

/**
 * datblk_paths_complete - use the IA of the option ia for paths that name none
 * @remote: a server that is being created
 *
 * Context: process.
 * Return: 0, or -EINVAL if the server has no path, or a path has no IA.
 */
int datblk_paths_complete(struct datblk_remote *remote)
{
	unsigned int i;

	for (i = 0; i < remote->path_count; i++) {
		struct datblk_path *path = &remote->paths[i];

		if (!*path->ia_name)
			strscpy(path->ia_name, remote->options.ia, sizeof(path->ia_name));
		if (!*path->ia_name)
			return -EINVAL;
	}
	return remote->path_count ? 0 : -EINVAL;
}

/* An IA that does not exist yet limits nothing */
static void datblk_path_limit_io(struct datblk_remote *remote, struct datblk_path *path,
				 DAT_IA_ATTR *attr)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (dat_ia_open(path->ia_name, 8, &async, &ia))
		return;
	if (!dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, attr, DAT_PROVIDER_FIELD_NONE, NULL))
		remote->limits.io_max = datblk_io_limit(attr, remote->limits.io_max);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

/**
 * datblk_paths_limit_io - limit what the client asks a server for to what all paths support
 * @remote: a server that has had no session
 *
 * Context: process.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if an adapter is too small.
 */
int datblk_paths_limit_io(struct datblk_remote *remote)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	unsigned int i;

	if (!attr)
		return -ENOMEM;
	for (i = 0; i < remote->path_count; i++)
		datblk_path_limit_io(remote, &remote->paths[i], attr);
	kfree(attr);
	if (remote->limits.io_max >= PAGE_SIZE)
		return 0;
	pr_err("cannot connect to %s: an RDMA device cannot register enough memory\n",
	       datblk_path(remote)->address);
	return -EOPNOTSUPP;
}

/**
 * datblk_path_next - blame paths after a session has ended or was refused, and decide what follows
 * @remote: the server, whose session is closed
 * @err:    what went wrong over remote->path
 * @reason: the same, as text
 *
 * The paths of other connections that have ended are to blame, too.
 *
 * Context: process.
 * Return: true to connect at once. false if all paths have failed since a session last answered a
 * command, or if the server still has I/O (-EBUSY): then it refuses the login over any path.
 */
bool datblk_path_next(struct datblk_remote *remote, int err, const char *reason)
{
	unsigned int i;

	WRITE_ONCE(datblk_path(remote)->reason, reason);
	if (err == -EBUSY)
		return false;
	for (i = 0; i < remote->path_count; i++) {
		struct datblk_path *path = &remote->paths[i];

		if (i != remote->path && !test_bit(i, &remote->ended))
			continue;
		if (i != remote->path)
			WRITE_ONCE(path->reason, "the connection was lost");
		/* It was not tried before, so this is progress */
		if (path->state == DATBLK_PATH_STANDBY)
			remote->backoff = 0;
		WRITE_ONCE(path->state, DATBLK_PATH_FAILED);
		remote->tried++;
	}
	i = remote->path;
	do {
		i = (i + 1) % remote->path_count;
	} while (i != remote->path && test_bit(i, &remote->ended));
	WRITE_ONCE(remote->path, i);
	if (remote->tried < remote->path_count)
		return true;
	remote->tried = 0;
	return false;
}

/**
 * datblk_paths_failed - find the paths that have failed
 * @remote: the server
 *
 * Context: process.
 * Return: bits of the paths.
 */
unsigned long datblk_paths_failed(const struct datblk_remote *remote)
{
	unsigned long failed = 0;
	unsigned int i;

	for (i = 0; i < remote->path_count; i++)
		if (READ_ONCE(remote->paths[i].state) == DATBLK_PATH_FAILED)
			__set_bit(i, &failed);
	return failed;
}

static unsigned int datblk_paths_healthy(const struct datblk_remote *remote)
{
	return remote->path_count - hweight_long(datblk_paths_failed(remote));
}

/**
 * datblk_path_for - decide over which path a queue connects
 * @remote: the server
 * @queue:  number of the queue
 *
 * With round-robin it is one of those that have not failed, in turn.
 *
 * Context: process, the owner of the session.
 * Return: number of the path.
 */
unsigned int datblk_path_for(const struct datblk_remote *remote, unsigned int queue)
{
	unsigned long failed = datblk_paths_failed(remote);
	unsigned int healthy = datblk_paths_healthy(remote), path = 0;

	if (!remote->options.round_robin || !healthy)
		return remote->path;
	queue %= healthy;
	while (test_bit(path, &failed) || queue--)
		path++;
	return path;
}

/**
 * datblk_paths_missing - would queues use a path that has failed?
 * @remote: a server with a session
 *
 * Context: process.
 * Return: true if they would.
 */
bool datblk_paths_missing(const struct datblk_remote *remote)
{
	return remote->options.round_robin &&
	       datblk_paths_healthy(remote) < min(remote->options.queues, remote->path_count);
}

/**
 * datblk_paths_live - mark the paths of a session as live
 * @remote: the server
 *
 * Context: process.
 */
void datblk_paths_live(struct datblk_remote *remote)
{
	unsigned long used = 0;
	unsigned int i;

	for (i = 0; i < remote->options.queues; i++)
		__set_bit(datblk_path_for(remote, i), &used);
	for (i = 0; i < remote->path_count; i++)
		if (test_bit(i, &used))
			WRITE_ONCE(remote->paths[i].state, DATBLK_PATH_LIVE);
		else if (remote->paths[i].state == DATBLK_PATH_LIVE)
			WRITE_ONCE(remote->paths[i].state, DATBLK_PATH_STANDBY);
}

/**
 * datblk_paths_restore - let the next session use paths that had failed
 * @remote: a server whose session is closed
 * @paths:  bits of the paths
 *
 * Context: process.
 */
void datblk_paths_restore(struct datblk_remote *remote, unsigned long paths)
{
	unsigned int i;

	for_each_set_bit(i, &paths, remote->path_count)
		WRITE_ONCE(remote->paths[i].state, DATBLK_PATH_STANDBY);
}

/**
 * datblk_paths_show - print a line for each path
 * @remote: the server
 * @page:   receives the text
 *
 * Context: process.
 * Return: its length.
 */
ssize_t datblk_paths_show(struct datblk_remote *remote, char *page)
{
	unsigned int i;
	int at = 0;

	for (i = 0; i < remote->path_count; i++) {
		const struct datblk_path *path = &remote->paths[i];
		enum datblk_path_state state = READ_ONCE(path->state);
		const char *reason = READ_ONCE(path->reason);
		bool failed = state == DATBLK_PATH_FAILED && reason;

		at += sysfs_emit_at(page, at, "%s %s %s%s%s\n", path->address, path->ia_name,
				    states[state], failed ? " " : "", failed ? reason : "");
	}
	return at;
}
