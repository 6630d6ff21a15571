// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_bench.ko: counts the instructions of posts and completions.
 *
 * Loading it registers the null device on a net device. A line written to
 * debugfs kdapl_bench/run starts one measurement, and a read returns the
 * figures of the last one:
 *
 *	DEVICE PATH KIND SEGMENTS SAME SUPPRESS TRACE LMRS EPS BURST CONTEXT TOUCH
 *
 * PATH is one of post, upcall, dequeue, suppressed, context, calls, memory, and KIND is one
 * of send, write, read, send_inv, fmr, fmr_sg, recv, srq_recv; the other fields are numbers.
 * The next line uses the same fixture of EPs and LMRs if it can.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>
#include "../../lib/test_device.h"
#include "bench.h"
#include "null.h"

#define BENCH_MAX_LMRS	65536
#define BENCH_MAX_EPS	1024

static char *netdev = "dummy1";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "Net device of the null device (default dummy1)");

DECLARE_WAIT_QUEUE_HEAD(bench_wait);

static DEFINE_MUTEX(bench_mutex);	/* guards everything below */
static struct null_dev *the_null;
static struct ib_device *bench_ibdev;
static struct fixture *bench_fixture;
static char bench_result[256];
static struct dentry *bench_dir;

/**
 * bench_null - is this the null device?
 * @ibdev: device
 *
 * Context: any.
 * Return: the null device, or NULL.
 */
struct null_dev *bench_null(const struct ib_device *ibdev)
{
	return ibdev == &the_null->ibdev ? the_null : NULL;
}

static void bench_drop_fixture(void)
{
	if (bench_fixture)
		fixture_destroy(bench_fixture);
	bench_fixture = NULL;
}

static void bench_drop_device(void)
{
	bench_drop_fixture();
	if (!bench_ibdev)
		return;
	bench_probe_detach(bench_ibdev);
	ib_device_put(bench_ibdev);
	bench_ibdev = NULL;
}

static int bench_use_device(const char *name)
{
	int ret;

	if (bench_ibdev && !strcmp(dev_name(&bench_ibdev->dev), name))
		return 0;
	bench_drop_device();
	bench_ibdev = test_device_get(name, RDMA_DRIVER_UNKNOWN);
	if (!bench_ibdev)
		return -ENODEV;
	ret = bench_probe_attach(bench_ibdev);
	if (ret)
		bench_drop_device();
	return ret;
}

static int bench_use_fixture(const struct bench_spec *spec)
{
	struct fixture *w;

	if (fixture_fits(bench_fixture, spec))
		return 0;
	bench_drop_fixture();
	w = fixture_create(spec);
	if (IS_ERR(w))
		return PTR_ERR(w);
	bench_fixture = w;
	return 0;
}

static int bench_run_in_fixture(const struct bench_spec *spec)
{
	char *out = bench_result;
	size_t size = sizeof(bench_result);

	if (!strcmp(spec->path, "post"))
		return bench_run_post(bench_ibdev, bench_fixture, spec, out, size);
	if (!strcmp(spec->path, "upcall"))
		return bench_run_completion(bench_ibdev, bench_fixture, spec, false, out, size);
	if (!strcmp(spec->path, "dequeue"))
		return bench_run_completion(bench_ibdev, bench_fixture, spec, true, out, size);
	if (!strcmp(spec->path, "suppressed"))
		return bench_run_suppressed(bench_ibdev, bench_fixture, spec, out, size);
	if (!strcmp(spec->path, "context"))
		return bench_run_context(bench_ibdev, bench_fixture, spec, out, size);
	if (!strcmp(spec->path, "calls"))
		return bench_run_calls(bench_ibdev, bench_fixture, spec, out, size);
	return -EINVAL;
}

static int bench_run(const struct bench_spec *spec)
{
	int ret = bench_use_device(spec->device);

	if (ret)
		return ret;
	if (!strcmp(spec->path, "memory")) {
		bench_drop_fixture();
		return bench_run_memory(bench_ibdev, bench_result, sizeof(bench_result));
	}
	ret = bench_use_fixture(spec);
	if (ret)
		return ret;
	if (spec->trace)
		ret = trace_set_clr_event("kdapl", NULL, 1);
	if (spec->touch)
		bench_mark(BENCH_MARK_POINT);
	if (!ret)
		ret = bench_run_in_fixture(spec);
	if (!ret && spec->touch)
		bench_touch_ranges(spec->kind >= BENCH_RECV,
				   bench_result + strlen(bench_result),
				   sizeof(bench_result) - strlen(bench_result));
	if (spec->trace)
		trace_set_clr_event("kdapl", NULL, 0);
	/* After a failure, outstanding posts would disturb the next measurement */
	if (ret)
		bench_drop_fixture();
	return ret;
}

static int bench_parse(const char *line, struct bench_spec *spec)
{
	static const char * const kinds[] = {
		[BENCH_SEND] = "send", [BENCH_WRITE] = "write", [BENCH_READ] = "read",
		[BENCH_SEND_INV] = "send_inv", [BENCH_FMR] = "fmr",
		[BENCH_FMR_SG] = "fmr_sg",
		/* Only between measurements of registrations */
		[BENCH_INVALIDATE] = "",
		[BENCH_RECV] = "recv", [BENCH_SRQ_RECV] = "srq_recv",
	};
	char kind[16];
	int i;

	memset(spec, 0, sizeof(*spec));
	if (sscanf(line, "%63s %23s %15s %u %u %u %u %u %u %u %u %u", spec->device, spec->path,
		   kind, &spec->segs, &spec->same, &spec->suppress, &spec->trace, &spec->lmrs,
		   &spec->eps, &spec->burst, &spec->context, &spec->touch) != 12)
		return -EINVAL;
	i = match_string(kinds, ARRAY_SIZE(kinds), kind);
	if (i < 0 || !spec->segs || spec->segs > BENCH_MAX_SEGS || spec->lmrs > BENCH_MAX_LMRS ||
	    !spec->eps || spec->eps > BENCH_MAX_EPS || !spec->burst ||
	    spec->burst > BENCH_DEPTH || (spec->suppress && i >= BENCH_RECV) ||
	    spec->lmrs < (spec->same ? 1 : spec->segs))
		return -EINVAL;
	spec->kind = i;
	return 0;
}

static ssize_t bench_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	struct bench_spec spec;
	char line[128];
	int ret;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	ret = bench_parse(line, &spec);
	if (ret)
		return ret;
	mutex_lock(&bench_mutex);
	bench_result[0] = '\0';
	ret = bench_run(&spec);
	mutex_unlock(&bench_mutex);
	return ret ?: len;
}

static ssize_t bench_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&bench_mutex);
	ret = simple_read_from_buffer(to, len, pos, bench_result, strlen(bench_result));
	mutex_unlock(&bench_mutex);
	return ret;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.read = bench_read,
	.write = bench_write,
};

static int __init bench_init(void)
{
	the_null = null_dev_create(netdev);
	if (IS_ERR(the_null))
		return PTR_ERR(the_null);
	bench_dir = debugfs_create_dir("kdapl_bench", NULL);
	debugfs_create_file("run", 0600, bench_dir, NULL, &bench_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(bench_dir);
	bench_drop_device();
	null_dev_destroy(the_null);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("kDAPL instruction counts");
MODULE_LICENSE("GPL");
