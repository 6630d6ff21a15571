// SPDX-License-Identifier: GPL-2.0
/*
 * The keys of an export, and whether a login has proved that its client has the right one. configfs
 * sets the keys; logins use them. Process context. datblk_srv_lock guards the keys and the
 * challenges; proofs are computed under it, because that takes a few microseconds and no memory.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include "server.h"

#define HOSTS_MAX	128		/* keys of hosts of an export; a page shows their names */

/* The key of one host. datblk_srv_lock */
struct datblk_host_key {
	struct list_head link;
	u64 host;
	struct crypto_shash *key;
};

static struct datblk_challenges challenges;	/* datblk_srv_lock */

/* Nobody uses it any more */
static void datblk_host_key_free(struct datblk_host_key *entry)
{
	if (entry)
		datblk_key_free(entry->key);
	kfree(entry);
}

/**
 * datblk_auth_has_key - check whether clients need a key for an export
 * @export: the export
 *
 * Context: process, datblk_srv_lock held.
 * Return: true if all clients or some of them need one.
 */
bool datblk_auth_has_key(const struct datblk_export *export)
{
	return export->key || !list_empty(&export->host_keys);
}

/*
 * A key was removed. If it was the last one, this ends the connections: a login without a key could
 * end them from now on, and they may also be used for devices with keys. datblk_srv_lock held.
 */
static void datblk_auth_removed(struct datblk_export *export)
{
	if (!datblk_auth_has_key(export))
		datblk_export_end_connections(export);
}

/**
 * datblk_auth_set_key - set or remove the key of an export
 * @export: the export; later logins need the new key
 * @hex:    the key, or "": none
 *
 * Context: process.
 * Return: 0 or the error of datblk_key_alloc().
 */
int datblk_auth_set_key(struct datblk_export *export, const char *hex)
{
	struct crypto_shash *key = *hex ? datblk_key_alloc(hex) : NULL;

	if (IS_ERR(key))
		return PTR_ERR(key);
	mutex_lock(&datblk_srv_lock);
	swap(export->key, key);
	if (key)
		datblk_auth_removed(export);
	mutex_unlock(&datblk_srv_lock);
	datblk_key_free(key);
	return 0;
}

static struct datblk_host_key *datblk_auth_find_host(struct datblk_export *export, u64 host)
{
	struct datblk_host_key *entry;

	list_for_each_entry(entry, &export->host_keys, link)
		if (entry->host == host)
			return entry;
	return NULL;
}

/* Replaces the entry of a host, or removes it if @entry is NULL */
static int datblk_auth_replace_host(struct datblk_export *export, u64 host,
				    struct datblk_host_key *entry)
{
	struct datblk_host_key *was;
	int err = 0;

	mutex_lock(&datblk_srv_lock);
	was = datblk_auth_find_host(export, host);
	if (!was && !entry)
		err = -ENOENT;
	else if (!was && list_count_nodes(&export->host_keys) >= HOSTS_MAX)
		err = -ENOSPC;
	if (!err && was)
		list_del(&was->link);
	if (!err && entry)
		list_add_tail(&entry->link, &export->host_keys);
	if (!err && was)
		datblk_auth_removed(export);
	mutex_unlock(&datblk_srv_lock);
	if (!err)
		datblk_host_key_free(was);
	return err;
}

/**
 * datblk_auth_set_host_key - set or remove the key of a host
 * @export: the export
 * @host:   number of the host
 * @hex:    the key, or "": none
 *
 * Context: process.
 * Return: 0; -ENOENT: the host has no key; -ENOSPC: too many hosts; -ENOMEM; or the error of
 * datblk_key_alloc().
 */
int datblk_auth_set_host_key(struct datblk_export *export, u64 host, const char *hex)
{
	struct datblk_host_key *entry;
	int err;

	if (!*hex)
		return datblk_auth_replace_host(export, host, NULL);
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->host = host;
	entry->key = datblk_key_alloc(hex);
	err = IS_ERR(entry->key) ? PTR_ERR(entry->key) :
				   datblk_auth_replace_host(export, host, entry);
	if (err)
		datblk_host_key_free(entry);
	return err;
}

/**
 * datblk_auth_show_hosts - print the numbers of the hosts that have a key
 * @export: the export
 * @page:   receives a line for each
 *
 * Context: process.
 * Return: the number of bytes.
 */
ssize_t datblk_auth_show_hosts(struct datblk_export *export, char *page)
{
	struct datblk_host_key *entry;
	ssize_t size = 0;

	mutex_lock(&datblk_srv_lock);
	list_for_each_entry(entry, &export->host_keys, link)
		size += sysfs_emit_at(page, size, "%#018llx\n", entry->host);
	mutex_unlock(&datblk_srv_lock);
	return size;
}

/**
 * datblk_auth_free - wipe and free all keys of an export
 * @export: an export that nobody uses
 *
 * Context: process.
 */
void datblk_auth_free(struct datblk_export *export)
{
	struct datblk_host_key *entry, *next;

	datblk_key_free(export->key);
	list_for_each_entry_safe(entry, next, &export->host_keys, link)
		datblk_host_key_free(entry);
}

/* The key of a host goes before that of the export. NULL: the host has none */
static struct crypto_shash *datblk_auth_key(struct datblk_export *export, u64 host)
{
	struct datblk_host_key *entry = datblk_auth_find_host(export, host);

	return entry ? entry->key : export->key;
}

static struct in6_addr datblk_auth_peer(const struct sockaddr *peer)
{
	struct in6_addr address;

	if (peer->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)peer)->sin6_addr;
	ipv6_addr_set_v4mapped(((const struct sockaddr_in *)peer)->sin_addr.s_addr, &address);
	return address;
}

/**
 * datblk_auth_begin - read a login
 * @attempt: a login whose data, size and peer are set; receives what the request says
 *
 * Context: process, datblk_srv_lock held.
 * Return: DATBLK_ADMIT, or the status of the refusal.
 */
unsigned int datblk_auth_begin(struct datblk_attempt *attempt)
{
	const void *data = attempt->data;
	size_t size = attempt->size;
	struct in6_addr peer;

	attempt->has_proof = datblk_is_proof(data, size);
	if (!attempt->has_proof) {
		memcpy(&attempt->transcript.login, data,
		       min(size, sizeof(attempt->transcript.login)));
		return datblk_check_login(data, size, &attempt->req);
	}
	memcpy(&attempt->proof, data, sizeof(attempt->proof));
	peer = datblk_auth_peer(attempt->peer);
	if (!datblk_challenge_take(&challenges, &peer, &attempt->proof, &attempt->transcript))
		return DATBLK_REFUSE_STALE;
	return datblk_check_login(&attempt->transcript.login, sizeof(attempt->transcript.login),
				  &attempt->req);
}

/* A host without a key gets a challenge all the same, so that nobody learns who has one */
static unsigned int datblk_auth_challenge(struct datblk_attempt *attempt)
{
	struct in6_addr peer = datblk_auth_peer(attempt->peer);

	datblk_challenge_make(&challenges, &peer, &attempt->transcript.login,
			      &attempt->transcript.challenge);
	return DATBLK_CHALLENGED;
}

/**
 * datblk_auth_check - may a login use an export, as far as keys are concerned?
 * @export:  the export
 * @attempt: the login
 *
 * Context: process, datblk_srv_lock held.
 * Return: DATBLK_ADMIT: no key is needed, or the client has it. DATBLK_CHALLENGED: the transcript
 * has the challenge. Otherwise the status of the refusal, which has been counted.
 */
unsigned int datblk_auth_check(struct datblk_export *export, struct datblk_attempt *attempt)
{
	bool needed = export->key || !list_empty(&export->host_keys);
	unsigned int status = DATBLK_ADMIT;
	struct crypto_shash *key;

	if (!needed) {
		if (attempt->req.wants_proof)
			status = DATBLK_REFUSE_NO_KEY;
	} else if (!attempt->req.wants_proof) {
		status = DATBLK_REFUSE_KEYLESS;
	} else if (!attempt->has_proof) {
		status = datblk_auth_challenge(attempt);
	} else {
		key = datblk_auth_key(export, attempt->req.host);
		if (!key || !datblk_check_client(key, &attempt->transcript, &attempt->proof))
			status = DATBLK_REFUSE_PROOF;
	}
	export->refused += status != DATBLK_ADMIT && status != DATBLK_CHALLENGED;
	return status;
}

/**
 * datblk_auth_prove - add the proof of the server to a welcome
 * @export:  the export
 * @attempt: a login that datblk_auth_check() has admitted; its welcome is complete
 *
 * Context: process, datblk_srv_lock held since then.
 */
void datblk_auth_prove(struct datblk_export *export, struct datblk_attempt *attempt)
{
	/* After an error the client does not accept the welcome */
	if (attempt->has_proof)
		datblk_prove_server(datblk_auth_key(export, attempt->req.host),
				    &attempt->transcript, &attempt->welcome);
}
