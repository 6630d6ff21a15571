// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile peers of the block device: the module, its parameters and its verdict. The thread
 * of the test runs one of the two roles until it has sent its messages.
 */
#include <linux/hash.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include "hostile.h"

unsigned long hostile_messages = 1000;
module_param_named(messages, hostile_messages, ulong, 0444);
MODULE_PARM_DESC(messages, "Number of messages to send");

char *hostile_address;
module_param_named(address, hostile_address, charp, 0444);
MODULE_PARM_DESC(address, "Address of the server: to connect to, or to listen on");

char *hostile_names[4];
int hostile_name_count;
module_param_array_named(names, hostile_names, charp, &hostile_name_count, 0444);
MODULE_PARM_DESC(names,
		 "Devices of the server, the last one for correct messages only; without any, this module is the server");

unsigned short hostile_qual = DATBLK_QUAL;
module_param_named(qual, hostile_qual, ushort, 0444);
MODULE_PARM_DESC(qual, "Connection qualifier of the server");

bool hostile_keyless;
module_param_named(keyless, hostile_keyless, bool, 0444);
MODULE_PARM_DESC(keyless, "The other side has a key that this module lacks");

bool hostile_counting = true;
module_param_named(counting, hostile_counting, bool, 0644);
MODULE_PARM_DESC(counting, "Count messages, and let the server inject faults");

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Seed of the random numbers");

static atomic_long_t sent;
static atomic_long_t answered;
static atomic_long_t logins;
static atomic_long_t seeds;

/**
 * hostile_done - have all messages been sent, or must the test end early?
 *
 * Context: any.
 */
bool hostile_done(void)
{
	return test_stopping() || test_failures() ||
	       atomic_long_read(&sent) >= hostile_messages;
}

/**
 * hostile_count - a message has been posted
 *
 * Context: any.
 */
void hostile_count(void)
{
	if (READ_ONCE(hostile_counting))
		atomic_long_inc(&sent);
}

/**
 * hostile_answered - answers have been received, or sent to the client that is tested
 * @count: their number
 *
 * Context: any.
 */
void hostile_answered(unsigned int count)
{
	if (READ_ONCE(hostile_counting))
		atomic_long_add(count, &answered);
}

/**
 * hostile_logged_in - a LOGIN of the client that is tested has succeeded
 *
 * Context: any.
 */
void hostile_logged_in(void)
{
	atomic_long_inc(&logins);
}

/**
 * hostile_seed - seed the random numbers of a connection
 * @rnd: the state
 *
 * The generator returns similar first numbers for similar seeds, so the seeds are hashed.
 *
 * Context: any.
 */
void hostile_seed(struct rnd_state *rnd)
{
	prandom_seed_state(rnd, hash_64(seed * 1000003 + atomic_long_inc_return(&seeds), 64));
}

/**
 * hostile_to - the address of the server
 * @to: receives it
 *
 * Context: process.
 * Return: false if the parameter is no address; the failure has been noted.
 */
bool hostile_to(struct sockaddr_storage *to)
{
	char port[6];

	snprintf(port, sizeof(port), "%u", hostile_qual);
	if (hostile_address &&
	    !inet_pton_with_scope(&init_net, AF_UNSPEC, hostile_address, port, to))
		return true;
	test_fail("address: expected the address of a server, got \"%s\"", hostile_address ?: "");
	return false;
}

static void run(void)
{
	if (hostile_name_count && hostile_keyless)
		hostile_intruder();
	else if (hostile_name_count)
		hostile_client();
	else
		hostile_server();
	/* A peer that refuses everything has been tested little, unless it should */
	if (!test_stopping() && !hostile_keyless &&
	    atomic_long_read(&answered) < hostile_messages / 10)
		test_fail("expected answers to many commands, found %ld",
			  atomic_long_read(&answered));
	if (!test_stopping() && !hostile_name_count && !hostile_keyless &&
	    atomic_long_read(&logins) < DIV_ROUND_UP(hostile_messages, 200))
		test_fail("expected many successful LOGINs, found %ld", atomic_long_read(&logins));
}

static void show(struct seq_file *m)
{
	seq_puts(m, "1..1\n");
	test_show_notes(m, &test_verdict, "# ");
	test_ok(m, 1, !test_failures(), "%ld messages, %ld answers, %ld successful LOGINs",
		atomic_long_read(&sent), atomic_long_read(&answered), atomic_long_read(&logins));
}

static u64 percent(void)
{
	return min(100UL, atomic_long_read(&sent) * 100 / hostile_messages);
}

static const struct test_job job = { .run = run, .show = show, .percent = percent };

static int __init hostile_init(void)
{
	hostile_messages = max(hostile_messages, 1UL);
	return test_job_start(&job);
}

static void __exit hostile_exit(void)
{
	test_job_stop();
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("Hostile client and server of the block device over DAT");
MODULE_LICENSE("GPL");
