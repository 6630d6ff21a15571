// SPDX-License-Identifier: GPL-2.0
/*
 * The failures of a test, their report as TAP, the time limits, and the commands that a
 * script writes to debugfs.
 */
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "kdapl_test.h"

#define COMMAND_LEN	1024

static unsigned int stretch = 1;
module_param(stretch, uint, 0644);
MODULE_PARM_DESC(stretch, "Multiplies time limits, for slow machines (1 to 100)");

struct test_verdict test_verdict = { .lock = __SPIN_LOCK_UNLOCKED(test_verdict.lock) };

unsigned int test_stretch(void)
{
	return clamp(READ_ONCE(stretch), 1U, 100U);
}

/**
 * test_verdict_init - begin without failures
 * @v: new, or used before and by no other thread
 *
 * Context: any.
 */
void test_verdict_init(struct test_verdict *v)
{
	spin_lock_init(&v->lock);
	v->failures = 0;
	v->kept = 0;
	v->len = 0;
}

/**
 * test_note - record a failure or information
 * @v:       the verdict
 * @failure: false for information, which is not counted
 * @fmt:     one line: what was done, what was expected, what was seen
 *
 * Only the first failures keep their text, because they are the most useful.
 *
 * Context: any.
 */
void test_note(struct test_verdict *v, bool failure, const char *fmt, ...)
{
	unsigned int at, len = 0;
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&v->lock, flags);
	at = v->len;
	if (!failure || v->kept < TEST_NOTES) {
		va_start(args, fmt);
		len = vscnprintf(v->text + at, TEST_TEXT - at, fmt, args);
		va_end(args);
	}
	if (len) {
		v->len += len;
		v->len += scnprintf(v->text + v->len, TEST_TEXT - v->len, "\n");
		v->kept += failure;
	}
	if (failure)
		WRITE_ONCE(v->failures, v->failures + 1);
	spin_unlock_irqrestore(&v->lock, flags);
	if (len && failure && v == &test_verdict)
		pr_info("%s: %.*s\n", KBUILD_MODNAME, len, v->text + at);
}

/**
 * test_show_notes - print the notes, each on a line
 * @m:      the file
 * @v:      the verdict
 * @prefix: begins each line
 *
 * Context: any.
 */
void test_show_notes(struct seq_file *m, struct test_verdict *v, const char *prefix)
{
	unsigned int at, len;
	unsigned long flags;

	spin_lock_irqsave(&v->lock, flags);
	for (at = 0; at < v->len; at += len + 1) {
		len = strcspn(v->text + at, "\n");
		seq_printf(m, "%s%.*s\n", prefix, len, v->text + at);
	}
	if (v->failures > v->kept)
		seq_printf(m, "%s... and %u more\n", prefix, v->failures - v->kept);
	spin_unlock_irqrestore(&v->lock, flags);
}

/**
 * test_ret_name - format a DAT_RETURN as text
 * @ret: the value
 * @buf: the buffer
 * @len: size of @buf in bytes
 *
 * Context: any.
 * Return: @buf.
 */
const char *test_ret_name(DAT_RETURN ret, char *buf, size_t len)
{
	const char *major = NULL, *minor = NULL;

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS || !major)
		scnprintf(buf, len, "%#010x", ret);
	else if (minor && *minor && DAT_GET_SUBTYPE(ret))
		scnprintf(buf, len, "%s/%s", major, minor);
	else
		scnprintf(buf, len, "%s", major);
	return buf;
}

/**
 * test_expect_in - compare a return value with the expected type
 * @v:    the verdict, which records a difference
 * @what: name of the call
 * @ret:  what it returned
 * @type: DAT_SUCCESS or the type of an error
 *
 * Context: any.
 * Return: true if the types are equal.
 */
bool test_expect_in(struct test_verdict *v, const char *what, DAT_RETURN ret, u32 type)
{
	char got[80], want[80];

	if (type == DAT_SUCCESS ? ret == DAT_SUCCESS :
	    (ret & DAT_CLASS_ERROR) && DAT_GET_TYPE(ret) == type)
		return true;
	test_note(v, true, "%s: expected %s, got %s", what,
		  test_ret_name(type == DAT_SUCCESS ? type : DAT_ERROR(type, 0), want,
				sizeof(want)),
		  test_ret_name(ret, got, sizeof(got)));
	return false;
}

/**
 * test_ok - print a result as TAP
 * @m:      the file
 * @number: of the result
 * @good:   the result
 * @fmt:    its name
 *
 * Context: process.
 */
void test_ok(struct seq_file *m, unsigned int number, bool good, const char *fmt, ...)
{
	va_list args;

	seq_printf(m, "%sok %u - ", good ? "" : "not ", number);
	va_start(args, fmt);
	seq_vprintf(m, fmt, args);
	va_end(args);
	seq_putc(m, '\n');
}

/**
 * test_command - execute a line that was written to debugfs
 * @buf: the line, in user memory
 * @len: its length in bytes
 * @run: executes it; returns 0 or a negative errno
 *
 * Context: process.
 * Return: @len, or a negative errno.
 */
ssize_t test_command(const char __user *buf, size_t len, int (*run)(char *line))
{
	char *line;
	int err;

	if (len >= COMMAND_LEN)
		return -EINVAL;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = run(line);
	kfree(line);
	return err ?: len;
}
