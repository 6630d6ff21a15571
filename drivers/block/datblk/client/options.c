// SPDX-License-Identifier: GPL-2.0
/*
 * The options of a disk, as /dev/datblk-control receives them. Process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/string.h>
#include "client.h"

static int datblk_parse_number(const char *value, unsigned int least, unsigned int most,
			       unsigned int *to)
{
	int err = kstrtouint(value, 0, to);

	return err ?: *to < least || *to > most ? -ERANGE : 0;
}

static int datblk_parse_text(const char *value, char *to, size_t room)
{
	return *value && strscpy(to, value, room) > 0 ? 0 : -ENAMETOOLONG;
}

static int datblk_parse_key(const char *value, struct datblk_options *options)
{
	struct crypto_shash *key = datblk_key_alloc(value);

	if (IS_ERR(key))
		return PTR_ERR(key);
	datblk_key_free(options->key);
	options->key = key;
	return 0;
}

static int datblk_parse_policy(const char *value, bool *round_robin)
{
	*round_robin = !strcmp(value, "round-robin");
	return *round_robin || !strcmp(value, "failover") ? 0 : -EINVAL;
}

static int datblk_parse_remote_option(struct datblk_remote *remote, const char *name, char *value)
{
	struct datblk_remote_options *options = &remote->options;
	unsigned int number;
	int err;

	if (!strcmp(name, "share")) {
		err = datblk_parse_number(value, 0, 1, &number);
		remote->shared = number;
		return err;
	}
	if (!strcmp(name, "ia"))
		return datblk_parse_text(value, options->ia, sizeof(options->ia));
	if (!strcmp(name, "address"))
		return datblk_path_add(remote, value);
	if (!strcmp(name, "policy"))
		return datblk_parse_policy(value, &options->round_robin);
	if (!strcmp(name, "queues"))
		return datblk_parse_number(value, 1, DATBLK_QUEUES_MAX, &options->queues);
	if (!strcmp(name, "depth"))
		return datblk_parse_number(value, 1, DATBLK_DEPTH_MAX, &options->depth);
	if (!strcmp(name, "io_kib"))
		return datblk_parse_number(value, DATBLK_IO_UNIT / 1024, DATBLK_IO_MAX / 1024,
					   &options->io_kib);
	if (strcmp(name, "qual"))
		return -EINVAL;
	err = datblk_parse_number(value, 1, U16_MAX, &number);
	options->qual = number;
	return err;
}

static int datblk_parse_option(struct datblk_disk *disk, const char *name, char *value)
{
	struct datblk_options *options = &disk->options;

	if (!strcmp(name, "device"))
		return datblk_parse_text(value, options->device, sizeof(options->device));
	if (!strcmp(name, "fail_io_timeout"))
		return datblk_parse_number(value, 0, INT_MAX / HZ, &options->fail_io_timeout);
	if (!strcmp(name, "reconnect_timeout"))
		return datblk_parse_number(value, 0, INT_MAX / HZ, &options->reconnect_timeout);
	if (!strcmp(name, "resubmit_kib"))
		return datblk_parse_number(value, 0, SZ_1G / 1024, &options->resubmit_kib);
	if (!strcmp(name, "key"))
		return datblk_parse_key(value, options);
	return datblk_parse_remote_option(disk->remote, name, value);
}

/**
 * datblk_parse_options - read the options of a disk
 * @line: the words after "connect"; changed
 * @disk: the disk; it and disk->remote receive the options
 *
 * Context: process.
 * Return: 0 or a negative error code.
 */
int datblk_parse_options(char *line, struct datblk_disk *disk)
{
	struct datblk_remote_options *options = &disk->remote->options;
	char *word, *name;
	int err;

	disk->options.reconnect_timeout = 600;
	*options = (struct datblk_remote_options){
		.qual = DATBLK_QUAL,
		.queues = min(num_online_cpus(), 4U),
		.depth = 32,
		.io_kib = 256,
	};
	while ((word = strsep(&line, " \t\n"))) {
		if (!*word)
			continue;
		name = strsep(&word, "=");
		err = word ? datblk_parse_option(disk, name, word) : -EINVAL;
		if (err) {
			/* A word without a name may be a key */
			pr_err("invalid option or value: \"%s\"\n", word ? name : "");
			return err;
		}
	}
	/* A device that hangs while its writes are repeated would hold up the other disks */
	if (disk->remote->shared && disk->options.resubmit_kib) {
		pr_err("share=1 and resubmit_kib exclude each other\n");
		return -EINVAL;
	}
	disk->remote->keyed = disk->options.key;
	options->io_kib = round_down(options->io_kib, DATBLK_IO_UNIT / 1024);
	/* The block layer uses no more */
	options->queues = min(options->queues, nr_cpu_ids);
	return *disk->options.device ? datblk_paths_complete(disk->remote) : -EINVAL;
}

static bool datblk_same_path(const struct datblk_path *a, const struct datblk_path *b)
{
	return !strcmp(a->address, b->address) && !strcmp(a->ia_name, b->ia_name);
}

/**
 * datblk_remote_matches - may disks share connections?
 * @a: what one disk asks for
 * @b: what another one asks for
 *
 * Context: any.
 * Return: true if both disks want to share connections, with the same paths in the same order and
 * the same other options, and if both have a key or neither has: a login without a key must not end
 * a connection with a key.
 */
bool datblk_remote_matches(const struct datblk_remote *a, const struct datblk_remote *b)
{
	const struct datblk_remote_options *x = &a->options, *y = &b->options;
	unsigned int i;

	if (!a->shared || !b->shared || a->keyed != b->keyed || a->path_count != b->path_count)
		return false;
	if (x->qual != y->qual || x->round_robin != y->round_robin || x->queues != y->queues ||
	    x->depth != y->depth || x->io_kib != y->io_kib)
		return false;
	for (i = 0; i < a->path_count; i++)
		if (!datblk_same_path(&a->paths[i], &b->paths[i]))
			return false;
	return true;
}
