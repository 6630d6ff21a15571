// SPDX-License-Identifier: GPL-2.0
/*
 * Keys, and the proofs that client and server have the same one. README describes the exchange. The
 * client and the server call these functions; only datblk_key_alloc() and datblk_key_free() sleep
 * or allocate. A key exists only in its transform, which is wiped when it is freed.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/hex.h>
#include <linux/string.h>
#include "protocol.h"

/* Bytes of a key: at least 128 bits, and at most a block of SHA-256 */
#define KEY_MIN	16
#define KEY_MAX	64

/* They differ, so that nobody can use the proof of one side as that of the other */
#define LABEL	16
static const char label_client[LABEL] = "datblk client";
static const char label_server[LABEL] = "datblk server";

/**
 * datblk_key_alloc - make a key
 * @hex: 32 to 128 hexadecimal digits, nothing else
 *
 * The caller wipes @hex.
 *
 * Context: process; may load a module.
 * Return: the key, or an ERR_PTR(): -EINVAL: not a key; -ENOENT: the kernel has no hmac(sha256); or
 * another error of the crypto API.
 */
struct crypto_shash *datblk_key_alloc(const char *hex)
{
	struct crypto_shash *key;
	size_t digits = strlen(hex);
	u8 bytes[KEY_MAX];
	int err;

	if (digits % 2 || digits < 2 * KEY_MIN || digits > 2 * KEY_MAX)
		return ERR_PTR(-EINVAL);
	err = hex2bin(bytes, hex, digits / 2);
	key = err ? ERR_PTR(-EINVAL) : crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (!IS_ERR(key)) {
		err = crypto_shash_setkey(key, bytes, digits / 2);
		if (err) {
			crypto_free_shash(key);
			key = ERR_PTR(err);
		}
	}
	memzero_explicit(bytes, sizeof(bytes));
	return key;
}
EXPORT_SYMBOL_GPL(datblk_key_alloc);

/**
 * datblk_key_free - wipe and free a key
 * @key: the key, which nobody uses any more; NULL or an ERR_PTR(): nothing happens
 *
 * Context: process.
 */
void datblk_key_free(struct crypto_shash *key)
{
	if (!IS_ERR_OR_NULL(key))
		crypto_free_shash(key);
}
EXPORT_SYMBOL_GPL(datblk_key_free);

/* @welcome: what the server proves, except for the field proof; NULL for a client */
static int datblk_mac(struct crypto_shash *key, const char *label,
		      const struct datblk_transcript *t, const struct datblk_welcome *welcome,
		      u8 *mac)
{
	SHASH_DESC_ON_STACK(desc, key);
	int err;

	desc->tfm = key;
	err = crypto_shash_init(desc) ?:
	      crypto_shash_update(desc, label, LABEL) ?:
	      crypto_shash_update(desc, (const u8 *)t, sizeof(*t));
	if (!err && welcome)
		err = crypto_shash_update(desc, (const u8 *)welcome,
					  offsetof(struct datblk_welcome, proof));
	err = err ?: crypto_shash_final(desc, mac);
	shash_desc_zero(desc);
	return err;
}

static bool datblk_mac_is(const u8 *mac, const u8 *expected)
{
	return !crypto_memneq(mac, expected, DATBLK_MAC);
}

/**
 * datblk_is_proof - is this private data a proof, and not a login?
 * @data: private data of a connection request
 * @size: its size
 *
 * Context: any.
 * Return: true: @data is a struct datblk_wire_proof of this version.
 */
bool datblk_is_proof(const void *data, size_t size)
{
	struct datblk_wire_proof proof;

	if (size < sizeof(proof))
		return false;
	memcpy(&proof, data, sizeof(proof));
	return le32_to_cpu(proof.magic) == DATBLK_MAGIC &&
	       le16_to_cpu(proof.version) == DATBLK_VERSION &&
	       le16_to_cpu(proof.features) == DATBLK_HAS_PROOF;
}
EXPORT_SYMBOL_GPL(datblk_is_proof);

/**
 * datblk_prove_client - answer a challenge
 * @key:   the key
 * @t:     login, challenge and nonce of the client
 * @proof: receives the private data of the next connection request
 *
 * Context: process.
 * Return: 0 or an error of the crypto API.
 */
int datblk_prove_client(struct crypto_shash *key, const struct datblk_transcript *t,
			struct datblk_wire_proof *proof)
{
	*proof = (struct datblk_wire_proof){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.features = cpu_to_le16(DATBLK_HAS_PROOF),
	};
	memcpy(proof->challenge, t->challenge.nonce, sizeof(proof->challenge));
	memcpy(proof->nonce, t->nonce, sizeof(proof->nonce));
	return datblk_mac(key, label_client, t, NULL, proof->mac);
}
EXPORT_SYMBOL_GPL(datblk_prove_client);

/**
 * datblk_check_client - check the proof of a client
 * @key:   the key
 * @t:     from datblk_challenge_take()
 * @proof: the proof
 *
 * Context: process.
 * Return: true if the client has the key.
 */
bool datblk_check_client(struct crypto_shash *key, const struct datblk_transcript *t,
			 const struct datblk_wire_proof *proof)
{
	u8 mac[DATBLK_MAC];

	return !datblk_mac(key, label_client, t, NULL, mac) && datblk_mac_is(proof->mac, mac);
}
EXPORT_SYMBOL_GPL(datblk_check_client);

/**
 * datblk_prove_server - prove a welcome
 * @key:     the key
 * @t:       the transcript that the client has proved
 * @welcome: a complete welcome; receives the proof
 *
 * Context: process.
 * Return: 0 or an error of the crypto API.
 */
int datblk_prove_server(struct crypto_shash *key, const struct datblk_transcript *t,
			struct datblk_welcome *welcome)
{
	return datblk_mac(key, label_server, t, welcome, welcome->proof);
}
EXPORT_SYMBOL_GPL(datblk_prove_server);

/**
 * datblk_check_server - check the proof of a server
 * @key:  the key
 * @t:    what the client has proved
 * @data: private data of the accept
 * @size: its size
 *
 * Context: process.
 * Return: true if the server has the key, and has sent this welcome.
 */
bool datblk_check_server(struct crypto_shash *key, const struct datblk_transcript *t,
			 const void *data, size_t size)
{
	struct datblk_welcome welcome;
	u8 mac[DATBLK_MAC];

	if (size < sizeof(welcome))
		return false;
	memcpy(&welcome, data, sizeof(welcome));
	return !datblk_mac(key, label_server, t, &welcome, mac) &&
	       datblk_mac_is(welcome.proof, mac);
}
EXPORT_SYMBOL_GPL(datblk_check_server);
