// SPDX-License-Identifier: GPL-2.0
/*
 * Suite datblk_auth: proofs that client and server have the same key, and the challenges of the
 * server. Whatever differs from what a side has said, and whatever was said before, is refused.
 */
#include <crypto/hash.h>
#include <kunit/test.h>
#include <linux/hex.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include "protocol/protocol.h"

#define KEY	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* Computed with Python's hmac from the bytes that README describes */
#define CLIENT_MAC	"e09f3850e50b478a4270713e7c65064bedffdec9a9d4823dc5ba963d153c8d0c"
#define SERVER_MAC	"1759b8fdb02e2907bc1514081d3eb924c86edebba1ce05f6531245bab975bc4f"

/* What is proved, and the two proofs of it */
struct exchange {
	struct crypto_shash *key;
	struct datblk_transcript t;
	struct datblk_wire_proof proof;
	struct datblk_welcome welcome;
};

static const struct datblk_login request = {
	.limits = { .depth = 32, .inline_max = DATBLK_INLINE_MAX, .io_max = 128 * 1024 },
	.host = 0x123456789abcdef0,
	.boot = 7,
	.incarnation = 3,
	.disk = 2,
	.queue = 1,
	.queues = 4,
	.wants_proof = true,
	.name = "data",
};

static const struct datblk_geometry geometry = {
	.capacity = 8192,
	.flags = DATBLK_WRITE_CACHE | DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES,
	.logical = 1024,
	.physical = 4096,
	.discard_granularity = 4096,
	.discard_sectors = 65536,
	.zeroes_sectors = 128,
	.uuid = UUID_INIT(0x12345678, 0x9abc, 0x4def, 0x80, 1, 2, 3, 4, 5, 6, 7),
	.instance = 0xfedcba9876543210,
};

static const struct in6_addr here = { .s6_addr = { 0xfe, 0x80, [15] = 1 } };
static const struct in6_addr there = { .s6_addr = { 0xfe, 0x80, [15] = 2 } };

/* Bytes that count up from @first */
static void count_up(u8 *bytes, size_t size, u8 first)
{
	while (size--)
		*bytes++ = first++;
}

static int setup(struct kunit *test)
{
	struct exchange *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, x);
	test->priv = x;
	if (!crypto_has_shash("hmac(sha256)", 0, 0)) {
		kunit_skip(test, "this kernel has no hmac(sha256)");
		return 0;
	}
	x->key = datblk_key_alloc(KEY);
	KUNIT_ASSERT_FALSE(test, IS_ERR(x->key));
	datblk_fill_login(&x->t.login, &request);
	x->t.challenge.refusal = (struct datblk_refusal){
		.magic = cpu_to_le32(DATBLK_MAGIC),
		.version = cpu_to_le16(DATBLK_VERSION),
		.status = cpu_to_le16(DATBLK_CHALLENGED),
	};
	count_up(x->t.challenge.nonce, DATBLK_NONCE, 0x40);
	count_up(x->t.nonce, DATBLK_OWN_NONCE, 0xa0);
	datblk_fill_welcome(&x->welcome, &request.limits, &geometry);
	KUNIT_ASSERT_EQ(test, datblk_prove_client(x->key, &x->t, &x->proof), 0);
	KUNIT_ASSERT_EQ(test, datblk_prove_server(x->key, &x->t, &x->welcome), 0);
	return 0;
}

static void teardown(struct kunit *test)
{
	struct exchange *x = test->priv;

	if (x)
		datblk_key_free(x->key);
}

static bool client_ok(struct exchange *x)
{
	return datblk_check_client(x->key, &x->t, &x->proof);
}

static bool server_ok(struct exchange *x)
{
	return datblk_check_server(x->key, &x->t, &x->welcome, sizeof(x->welcome));
}

static void known_macs(struct kunit *test)
{
	struct exchange *x = test->priv;
	u8 expected[DATBLK_MAC];

	KUNIT_ASSERT_EQ(test, hex2bin(expected, CLIENT_MAC, DATBLK_MAC), 0);
	KUNIT_EXPECT_EQ(test, memcmp(x->proof.mac, expected, DATBLK_MAC), 0);
	KUNIT_ASSERT_EQ(test, hex2bin(expected, SERVER_MAC, DATBLK_MAC), 0);
	KUNIT_EXPECT_EQ(test, memcmp(x->welcome.proof, expected, DATBLK_MAC), 0);
	KUNIT_EXPECT_TRUE(test, client_ok(x));
	KUNIT_EXPECT_TRUE(test, server_ok(x));
}

static void malformed_keys(struct kunit *test)
{
	static const char * const keys[] = {
		"", "0", "00112233445566778899aabbccddee", "00112233445566778899aabbccddeeff0",
		"00112233445566778899aabbccddeefg", KEY KEY "00",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(datblk_key_alloc(keys[i])), -EINVAL,
				    "\"%s\"", keys[i]);
}

static void other_key(struct kunit *test)
{
	struct exchange *x = test->priv;
	struct crypto_shash *right = x->key;

	x->key = datblk_key_alloc("0102030405060708090a0b0c0d0e0f10");
	if (!IS_ERR(x->key)) {
		KUNIT_EXPECT_FALSE(test, client_ok(x));
		KUNIT_EXPECT_FALSE(test, server_ok(x));
	}
	KUNIT_EXPECT_FALSE(test, IS_ERR(x->key));
	datblk_key_free(x->key);
	x->key = right;
}

/* A change of any byte that one side has seen, and the other one has not sent */
static void changed_bytes(struct kunit *test)
{
	struct exchange *x = test->priv;
	u8 *bytes = (u8 *)&x->t;
	unsigned int i;

	for (i = 0; i < sizeof(x->t); i++) {
		bytes[i] ^= 0x10;
		KUNIT_EXPECT_FALSE_MSG(test, client_ok(x), "byte %u of the transcript", i);
		KUNIT_EXPECT_FALSE_MSG(test, server_ok(x), "byte %u of the transcript", i);
		bytes[i] ^= 0x10;
	}
	for (i = 0; i < DATBLK_MAC; i++) {
		x->proof.mac[i] ^= 1;
		KUNIT_EXPECT_FALSE_MSG(test, client_ok(x), "byte %u of the proof", i);
		x->proof.mac[i] ^= 1;
	}
	bytes = (u8 *)&x->welcome;
	for (i = 0; i < sizeof(x->welcome); i++) {
		bytes[i] ^= 0x80;
		KUNIT_EXPECT_FALSE_MSG(test, server_ok(x), "byte %u of the welcome", i);
		bytes[i] ^= 0x80;
	}
	KUNIT_EXPECT_TRUE(test, client_ok(x));
	KUNIT_EXPECT_TRUE(test, server_ok(x));
}

/* A server without the key sends what it has, or nothing */
static void no_proof(struct kunit *test)
{
	struct exchange *x = test->priv;

	KUNIT_EXPECT_FALSE_MSG(test, datblk_check_server(x->key, &x->t, &x->welcome,
							 sizeof(x->welcome) - 1), "too short");
	memcpy(x->welcome.proof, x->proof.mac, DATBLK_MAC);
	KUNIT_EXPECT_FALSE_MSG(test, server_ok(x), "the proof of the client");
	memset(x->welcome.proof, 0, DATBLK_MAC);
	KUNIT_EXPECT_FALSE_MSG(test, server_ok(x), "zeroes");
	KUNIT_ASSERT_EQ(test, datblk_prove_server(x->key, &x->t, &x->welcome), 0);
	memcpy(x->proof.mac, x->welcome.proof, DATBLK_MAC);
	KUNIT_EXPECT_FALSE_MSG(test, client_ok(x), "the proof of the server");
}

static void proofs_and_logins(struct kunit *test)
{
	struct exchange *x = test->priv;
	struct datblk_wire_proof wrong = x->proof;
	struct datblk_login got;

	KUNIT_EXPECT_TRUE(test, datblk_is_proof(&x->proof, sizeof(x->proof)));
	KUNIT_EXPECT_FALSE(test, datblk_is_proof(&x->proof, sizeof(x->proof) - 1));
	KUNIT_EXPECT_FALSE(test, datblk_is_proof(&x->t.login, sizeof(x->t.login)));
	wrong.magic = 0;
	KUNIT_EXPECT_FALSE(test, datblk_is_proof(&wrong, sizeof(wrong)));
	wrong = x->proof;
	wrong.version = cpu_to_le16(DATBLK_VERSION + 1);
	KUNIT_EXPECT_FALSE(test, datblk_is_proof(&wrong, sizeof(wrong)));
	KUNIT_EXPECT_EQ(test, datblk_check_login(&x->proof, sizeof(x->proof), &got),
			(u32)DATBLK_REFUSE_LOGIN);
	KUNIT_EXPECT_EQ(test, datblk_check_login(&x->t.login, sizeof(x->t.login), &got),
			(u32)DATBLK_ADMIT);
	KUNIT_EXPECT_TRUE(test, got.wants_proof);
}

static struct datblk_challenges *challenges(struct kunit *test)
{
	struct datblk_challenges *all = kunit_kzalloc(test, sizeof(*all), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, all);
	return all;
}

/* Asks for a challenge, and answers it */
static void answer(struct exchange *x, struct datblk_challenges *all, const struct in6_addr *peer)
{
	datblk_challenge_make(all, peer, &x->t.login, &x->t.challenge);
	datblk_prove_client(x->key, &x->t, &x->proof);
}

static bool taken(struct exchange *x, struct datblk_challenges *all, const struct in6_addr *peer)
{
	struct datblk_transcript t;

	return datblk_challenge_take(all, peer, &x->proof, &t) && !memcmp(&t, &x->t, sizeof(t)) &&
	       datblk_check_client(x->key, &t, &x->proof);
}

static void replayed_proof(struct kunit *test)
{
	struct datblk_challenges *all = challenges(test);
	struct exchange *x = test->priv;

	KUNIT_EXPECT_FALSE_MSG(test, taken(x, all, &here), "no challenge");
	answer(x, all, &here);
	KUNIT_EXPECT_FALSE_MSG(test, taken(x, all, &there), "of another address");
	KUNIT_EXPECT_TRUE(test, taken(x, all, &here));
	KUNIT_EXPECT_FALSE_MSG(test, taken(x, all, &here), "once more");
	/* The old proof under the name of a new challenge */
	datblk_challenge_make(all, &here, &x->t.login, &x->t.challenge);
	memcpy(x->proof.challenge, x->t.challenge.nonce, sizeof(x->proof.challenge));
	KUNIT_EXPECT_FALSE_MSG(test, taken(x, all, &here), "for another challenge");
}

static void expired_challenge(struct kunit *test)
{
	struct datblk_challenges *all = challenges(test);
	struct exchange *x = test->priv;
	unsigned int i;

	answer(x, all, &here);
	for (i = 0; i < DATBLK_CHALLENGES; i++)
		all->waiting[i].since -= DATBLK_CHALLENGE_TIME;
	KUNIT_EXPECT_FALSE(test, taken(x, all, &here));
}

/* An address that asks without end displaces its own challenges, and many addresses the oldest */
static void many_challenges(struct kunit *test)
{
	struct datblk_challenges *all = challenges(test);
	struct in6_addr peer = there;
	struct datblk_challenge ignored;
	struct exchange *x = test->priv;
	unsigned int i;

	answer(x, all, &here);
	for (i = 0; i < DATBLK_CHALLENGES; i++)
		datblk_challenge_make(all, &there, &x->t.login, &ignored);
	KUNIT_EXPECT_TRUE_MSG(test, taken(x, all, &here), "another address");
	answer(x, all, &there);
	for (i = 0; i < DATBLK_CHALLENGES_HOST - 1; i++)
		datblk_challenge_make(all, &there, &x->t.login, &ignored);
	KUNIT_EXPECT_TRUE_MSG(test, taken(x, all, &there), "the same address");
	memset(all, 0, sizeof(*all));
	answer(x, all, &here);
	for (i = 0; i < DATBLK_CHALLENGES; i++) {
		peer.s6_addr[0] = i;
		datblk_challenge_make(all, &peer, &x->t.login, &ignored);
	}
	KUNIT_EXPECT_FALSE_MSG(test, taken(x, all, &here), "the oldest of too many");
}

static struct kunit_case auth_cases[] = {
	KUNIT_CASE(known_macs),
	KUNIT_CASE(malformed_keys),
	KUNIT_CASE(other_key),
	KUNIT_CASE(changed_bytes),
	KUNIT_CASE(no_proof),
	KUNIT_CASE(proofs_and_logins),
	KUNIT_CASE(replayed_proof),
	KUNIT_CASE(expired_challenge),
	KUNIT_CASE(many_challenges),
	{}
};

static struct kunit_suite auth_suite = {
	.name = "datblk_auth",
	.init = setup,
	.exit = teardown,
	.test_cases = auth_cases,
};

kunit_test_suite(auth_suite);
