// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: kdat_registry_notify() reports the IA names that exist, and each one that appears or goes.
 *
 * A watch records the names as "+name" and "-name". Registering a watch waits for the reports of
 * all earlier changes, so the tests do not wait for a time. Runs in a KUnit thread; callbacks run
 * there or in a work item.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include "addr_kunit.h"

#define MAX_LOG		16

static struct recorder {
	struct kdat_registry_watch watch;
	u32 n;				/* reports so far */
	u32 at;				/* reports that the test has checked */
	char log[MAX_LOG][IB_DEVICE_NAME_MAX + 16];
} first, second;

static struct fake_dev *fakes[4];
/* Called once, in the next callback for a name that appears */
static void (*hook)(DAT_NAME_PTR ia_name);
/* A callback has been entered, and may return */
static struct completion entered, gate;
static bool unregistered;

static void record(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present)
{
	void (*call)(DAT_NAME_PTR ia_name);
	struct recorder *r = context;

	/* Not a fake device */
	if (strncmp(ia_name, "kdapl", 5))
		return;
	if (r->n < MAX_LOG)
		snprintf(r->log[r->n], sizeof(r->log[0]), "%c%s", present ? '+' : '-', ia_name);
	r->n++;
	call = present ? xchg(&hook, NULL) : NULL;
	if (call)
		call(ia_name);
}

static void watch(struct kunit *test, struct recorder *r)
{
	r->watch.callback = record;
	r->watch.context = r;
	KUNIT_ASSERT_EQ(test, kdat_registry_notify(&r->watch), DAT_SUCCESS);
}

static void ignore(DAT_PVOID context, DAT_NAME_PTR ia_name, DAT_BOOLEAN present)
{
}

/* Waits until all changes so far were reported */
static void settle(struct kunit *test)
{
	struct kdat_registry_watch probe = { .callback = ignore };

	KUNIT_ASSERT_EQ(test, kdat_registry_notify(&probe), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(&probe), DAT_SUCCESS);
}

/* Adds a device as fakes[@i] */
static void plug(struct kunit *test, u32 i, struct fake_dev *fake)
{
	KUNIT_ASSERT_FALSE(test, IS_ERR(fake));
	fakes[i] = fake;
}

static void unplug(u32 i)
{
	fake_dev_destroy(fakes[i]);
	fakes[i] = NULL;
}

/* Expects the next report: '+' or '-', name of the device, number of the port */
static void expect(struct kunit *test, struct recorder *r, char sign, const char *name, u32 port)
{
	char want[sizeof(r->log[0])];

	snprintf(want, sizeof(want), "%c%s/%u", sign, name, port);
	KUNIT_ASSERT_LT(test, r->at, min_t(u32, r->n, MAX_LOG));
	KUNIT_EXPECT_STREQ(test, r->log[r->at++], want);
}

static void expect_no_more(struct kunit *test, const struct recorder *r)
{
	KUNIT_EXPECT_EQ(test, r->n, r->at);
}

static char *name_of(u32 i)
{
	return (char *)dev_name(&fakes[i]->ibdev.dev);
}

/* ---- reports ------------------------------------------------------------------- */

static void names_that_exist_are_reported_by_the_call(struct kunit *test)
{
	plug(test, 0, fake_dev_create());
	plug(test, 1, fake_dev_create_two_ports());
	/* Not usable */
	plug(test, 2, fake_dev_create_like(FAKE_IS_HNS, NULL, NULL));
	watch(test, &first);
	expect(test, &first, '+', name_of(0), 1);
	expect(test, &first, '+', name_of(1), 1);
	expect(test, &first, '+', name_of(1), 2);
	/* What one watch knows is new to another one */
	watch(test, &second);
	expect(test, &second, '+', name_of(0), 1);
	expect(test, &second, '+', name_of(1), 1);
	expect(test, &second, '+', name_of(1), 2);
	settle(test);
	expect_no_more(test, &first);
	expect_no_more(test, &second);
}

static void devices_come_and_go(struct kunit *test)
{
	char was[IB_DEVICE_NAME_MAX];

	watch(test, &first);
	watch(test, &second);
	plug(test, 0, fake_dev_create_two_ports());
	plug(test, 1, fake_dev_create_like(FAKE_IS_HFI1, NULL, NULL));
	settle(test);
	expect(test, &first, '+', name_of(0), 1);
	expect(test, &first, '+', name_of(0), 2);
	expect(test, &second, '+', name_of(0), 1);
	expect(test, &second, '+', name_of(0), 2);
	strscpy(was, name_of(0), sizeof(was));
	unplug(0);
	unplug(1);
	settle(test);
	expect(test, &first, '-', was, 1);
	expect(test, &first, '-', was, 2);
	expect(test, &second, '-', was, 1);
	expect(test, &second, '-', was, 2);
	expect_no_more(test, &first);
	expect_no_more(test, &second);
}

static void a_renamed_device_has_gone_and_appears(struct kunit *test)
{
	char was[IB_DEVICE_NAME_MAX];

	plug(test, 0, fake_dev_create());
	watch(test, &first);
	strscpy(was, name_of(0), sizeof(was));
	expect(test, &first, '+', was, 1);
	KUNIT_ASSERT_EQ(test, device_rename(&fakes[0]->ibdev.dev, "kdaplother"), 0);
	kdapl_device_renamed(&fakes[0]->ibdev, NULL);
	settle(test);
	expect(test, &first, '-', was, 1);
	expect(test, &first, '+', "kdaplother", 1);
	expect_no_more(test, &first);
}

/* Sets the names of the first two devices at the same time, as kDAPL knows them */
static void set_names(const char *name0, const char *name1)
{
	struct kdapl_device *dev;

	mutex_lock(&kdapl_device_mutex);
	list_for_each_entry(dev, &kdapl_devices, node) {
		if (dev->ibdev == &fakes[0]->ibdev)
			strscpy(dev->name, name0, sizeof(dev->name));
		if (dev->ibdev == &fakes[1]->ibdev)
			strscpy(dev->name, name1, sizeof(dev->name));
	}
	kdapl_arrival_changed();
	mutex_unlock(&kdapl_device_mutex);
}

/* A name that moves to another device goes before it appears */
static void devices_exchange_their_names(struct kunit *test)
{
	plug(test, 0, fake_dev_create());
	plug(test, 1, fake_dev_create_two_ports());
	watch(test, &first);
	first.at = first.n;
	set_names(name_of(1), name_of(0));
	settle(test);
	expect(test, &first, '-', name_of(0), 1);
	expect(test, &first, '-', name_of(1), 1);
	expect(test, &first, '-', name_of(1), 2);
	expect(test, &first, '+', name_of(1), 1);
	expect(test, &first, '+', name_of(0), 1);
	expect(test, &first, '+', name_of(0), 2);
	expect_no_more(test, &first);
}

static void an_ambiguous_name_has_gone(struct kunit *test)
{
	plug(test, 0, fake_dev_create());
	plug(test, 1, fake_dev_create());
	watch(test, &first);
	first.at = first.n;
	set_names(name_of(0), name_of(0));
	settle(test);
	expect(test, &first, '-', name_of(0), 1);
	expect(test, &first, '-', name_of(1), 1);
	expect_no_more(test, &first);
	set_names(name_of(0), name_of(1));
	settle(test);
	expect(test, &first, '+', name_of(0), 1);
	expect(test, &first, '+', name_of(1), 1);
	expect_no_more(test, &first);
}

/* ---- changes while callbacks run -------------------------------------------------- */

static void stay(DAT_NAME_PTR ia_name)
{
	complete(&entered);
	wait_for_completion(&gate);
}

/* Adds a device as fakes[@i], and returns while the work is in the callback with its name */
static void hold_work(struct kunit *test, u32 i)
{
	settle(test);
	hook = stay;
	plug(test, i, fake_dev_create());
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&entered,
							    msecs_to_jiffies(KDAPL_HANG_MS)));
}

/* The work does not run between removal and return of the device, whose name is the same */
static void a_device_that_returns_at_once_has_gone(struct kunit *test)
{
	char was[IB_DEVICE_NAME_MAX];

	plug(test, 0, fake_dev_create());
	watch(test, &first);
	expect(test, &first, '+', name_of(0), 1);
	strscpy(was, name_of(0), sizeof(was));
	hold_work(test, 1);
	unplug(0);
	plug(test, 0, fake_dev_create());
	KUNIT_ASSERT_STREQ(test, name_of(0), was);
	complete_all(&gate);
	settle(test);
	expect(test, &first, '+', name_of(1), 1);
	expect(test, &first, '-', was, 1);
	expect(test, &first, '+', was, 1);
	expect_no_more(test, &first);
}

/* It comes and goes while the work does not run: nobody has to know */
static void a_device_that_leaves_at_once_is_not_reported(struct kunit *test)
{
	watch(test, &first);
	hold_work(test, 0);
	plug(test, 1, fake_dev_create());
	unplug(1);
	complete_all(&gate);
	settle(test);
	expect(test, &first, '+', name_of(0), 1);
	expect_no_more(test, &first);
}

static void exchange(DAT_NAME_PTR ia_name)
{
	fakes[2] = fake_dev_create_two_ports();
	fake_dev_unplug(fakes[1]);
}

/* During the first callback of the registration one device goes, and another one appears */
static void no_change_during_the_registration_is_lost(struct kunit *test)
{
	plug(test, 0, fake_dev_create());
	plug(test, 1, fake_dev_create());
	hook = exchange;
	watch(test, &first);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fakes[2]));
	settle(test);
	expect(test, &first, '+', name_of(0), 1);
	expect(test, &first, '+', name_of(1), 1);
	expect(test, &first, '-', name_of(1), 1);
	expect(test, &first, '+', name_of(2), 1);
	expect(test, &first, '+', name_of(2), 2);
	expect_no_more(test, &first);
}

/* ---- calls in callbacks ----------------------------------------------------------- */

static struct {
	DAT_RETURN open, list, close, notify, unnotify;
	DAT_COUNT n;
} made;

static void make_calls(DAT_NAME_PTR ia_name)
{
	struct kdat_registry_watch other = { .callback = ignore };
	struct in6_addr addr = addr_link_local(addr_ipoib);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;

	snprintf(name, sizeof(name), "%s@%pI6c", ia_name, &addr);
	made.open = dat_ia_open(name, 8, &async, &ia);
	made.list = dat_registry_list_providers(0, &made.n, NULL);
	if (made.open == DAT_SUCCESS)
		made.close = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	made.notify = kdat_registry_notify(&other);
	made.unnotify = kdat_registry_unnotify(&first.watch);
}

static void expect_calls(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, hook);
	KUNIT_EXPECT_EQ(test, made.open, DAT_SUCCESS);
	TP_EXPECT_TYPE(test, made.list, DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_GE(test, made.n, 1);
	KUNIT_EXPECT_EQ(test, made.close, DAT_SUCCESS);
	TP_EXPECT_TYPE(test, made.notify, DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, made.unnotify, DAT_INVALID_STATE);
	memset(&made, -1, sizeof(made));
}

/* They may open and close an IA; those that wait for callbacks are refused */
static void calls_in_a_callback(struct kunit *test)
{
	plug(test, 0, fake_dev_create());
	addr_ipoib_add(test, fakes[0], &addr_ipoib);
	memset(&made, -1, sizeof(made));
	hook = make_calls;
	watch(test, &first);
	expect_calls(test);
	/* The same in the work */
	hook = make_calls;
	KUNIT_ASSERT_EQ(test, device_rename(&fakes[0]->ibdev.dev, "kdaplother"), 0);
	kdapl_device_renamed(&fakes[0]->ibdev, NULL);
	settle(test);
	expect_calls(test);
}

/* ---- unregistration ---------------------------------------------------------------- */

static int unregister(void *unused)
{
	if (kdat_registry_unnotify(&first.watch) == DAT_SUCCESS)
		WRITE_ONCE(unregistered, true);
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return 0;
}

static void unregistration_waits_for_a_running_callback(struct kunit *test)
{
	struct task_struct *task;

	watch(test, &first);
	hold_work(test, 0);
	task = kthread_run(unregister, NULL, "kdapl-unnotify");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(task->__state) ==
						  TASK_UNINTERRUPTIBLE));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(unregistered));
	complete_all(&gate);
	KUNIT_EXPECT_TRUE(test, kdapl_sleep_until(READ_ONCE(unregistered)));
	kthread_stop(task);
	/* It is called no more */
	plug(test, 1, fake_dev_create());
	settle(test);
	expect(test, &first, '+', name_of(0), 1);
	expect_no_more(test, &first);
}

static void wrong_arguments_are_refused(struct kunit *test)
{
	struct kdat_registry_watch none = {}, never = { .callback = ignore };

	KUNIT_EXPECT_EQ(test, kdat_registry_notify(NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	KUNIT_EXPECT_EQ(test, kdat_registry_notify(&none),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	watch(test, &first);
	watch(test, &second);
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(&never),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	TP_EXPECT_TYPE(test, kdat_registry_notify(&first.watch), DAT_INVALID_STATE);
	TP_EXPECT_TYPE(test, kdat_registry_notify(&second.watch), DAT_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(&first.watch), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdat_registry_unnotify(&first.watch),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	/* The other one is still called */
	plug(test, 0, fake_dev_create());
	settle(test);
	expect(test, &second, '+', name_of(0), 1);
	expect_no_more(test, &second);
	KUNIT_EXPECT_EQ(test, first.n, 0);
}

/* ---- suite -------------------------------------------------------------------------- */

static int arrival_init(struct kunit *test)
{
	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	init_completion(&entered);
	init_completion(&gate);
	hook = NULL;
	unregistered = false;
	return 0;
}

static void arrival_exit(struct kunit *test)
{
	u32 i;

	complete_all(&gate);
	kdat_registry_unnotify(&first.watch);
	kdat_registry_unnotify(&second.watch);
	addr_ipoib_remove(&addr_ipoib);
	for (i = 0; i < ARRAY_SIZE(fakes); i++)
		if (!IS_ERR_OR_NULL(fakes[i]))
			fake_dev_destroy(fakes[i]);
	memset(fakes, 0, sizeof(fakes));
}

static struct kunit_case arrival_cases[] = {
	KUNIT_CASE(names_that_exist_are_reported_by_the_call),
	KUNIT_CASE(devices_come_and_go),
	KUNIT_CASE(a_renamed_device_has_gone_and_appears),
	KUNIT_CASE(devices_exchange_their_names),
	KUNIT_CASE(an_ambiguous_name_has_gone),
	KUNIT_CASE(a_device_that_returns_at_once_has_gone),
	KUNIT_CASE(a_device_that_leaves_at_once_is_not_reported),
	KUNIT_CASE(no_change_during_the_registration_is_lost),
	KUNIT_CASE(calls_in_a_callback),
	KUNIT_CASE(unregistration_waits_for_a_running_callback),
	KUNIT_CASE(wrong_arguments_are_refused),
	{}
};

static struct kunit_suite arrival_suite = {
	.name = "kdapl_arrival",
	.init = arrival_init,
	.exit = arrival_exit,
	.test_cases = arrival_cases,
};

kunit_test_suite(arrival_suite);
