// SPDX-License-Identifier: GPL-2.0
/*
 * The reports of the loopback test: notes about failures, from any context, and the two
 * files that kdapl-loop reads. Each line is one record of words "key=value" without
 * blanks. A note is the rest of its line.
 */
#include <linux/kernel.h>

#include "kdapl_loop.h"

static const char * const verdict_name[] = {
	[LOOP_PLANNED] = "planned",
	[LOOP_RUNNING] = "running",
	[LOOP_PASS] = "pass",
	[LOOP_FAIL] = "fail",
	[LOOP_SKIP] = "skip",
	[LOOP_ABORTED] = "aborted",
};

static const char * const state_name[] = {
	[LOOP_IDLE] = "idle",
	[LOOP_ACTIVE] = "running",
	[LOOP_DONE] = "done",
};

/**
 * loop_fail - count and describe a failure of a case
 * @c: the case
 * @fmt: one line: what was done, what was expected, what was seen
 *
 * Only the first LOOP_NOTES notes are kept.
 *
 * Context: any.
 */
void loop_fail(struct loop_case *c, const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&c->note_lock, flags);
	c->fails++;
	if (c->notes < LOOP_NOTES) {
		va_start(args, fmt);
		vscnprintf(c->note[c->notes], LOOP_NOTE_LEN, fmt, args);
		va_end(args);
		c->notes++;
	}
	spin_unlock_irqrestore(&c->note_lock, flags);
}

/**
 * loop_clauses - name the clauses of the contract that a case tests
 * @c: the case
 * @ids: a string constant, "S-31 G-25"; repeating it has no effect
 *
 * The clauses count as tested if the case passes. See kdapl-contract.rst.
 *
 * Context: any.
 */
void loop_clauses(struct loop_case *c, const char *ids)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&c->note_lock, flags);
	for (i = 0; i < c->claims && c->claim[i] != ids; i++)
		;
	if (i == c->claims && i < LOOP_CLAIMS)
		c->claim[c->claims++] = ids;
	spin_unlock_irqrestore(&c->note_lock, flags);
}

/**
 * loop_ret_name - format a DAT_RETURN as text
 * @ret: the value
 * @buf: the buffer
 * @len: size of @buf in bytes
 *
 * Context: any.
 * Return: @buf.
 */
const char *loop_ret_name(DAT_RETURN ret, char *buf, size_t len)
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
 * loop_expect - compare a return value with the expected type
 * @c: the case in which a difference is noted
 * @what: the call
 * @ret: what it returned
 * @type: DAT_SUCCESS or the type of an error
 *
 * Context: any.
 * Return: true if the types are equal.
 */
bool loop_expect(struct loop_case *c, const char *what, DAT_RETURN ret, u32 type)
{
	char got[80], want[80];

	if (type == DAT_SUCCESS ? ret == DAT_SUCCESS :
	    (ret & DAT_CLASS_ERROR) && DAT_GET_TYPE(ret) == type)
		return true;
	loop_fail(c, "%s: expected %s, got %s", what,
		  loop_ret_name(type == DAT_SUCCESS ? type : DAT_ERROR(type, 0),
				want, sizeof(want)),
		  loop_ret_name(ret, got, sizeof(got)));
	return false;
}

static void show_case(struct seq_file *m, struct loop_case *c)
{
	u32 i;

	seq_printf(m, "case name=%s op=%s size=%u segs=%u count=%u depth=%u modes=%s%s%s",
		   c->name, c->group, c->size, c->segs, c->count, c->depth,
		   c->modes & LOOP_UPCALL ? "u" : "",
		   c->modes & LOOP_DEQUEUE ? "d" : "",
		   c->modes & LOOP_POLL ? "p" : "");
	seq_printf(m, " messages=%u bytes=%llu posts=%u completions=%u silent=%u flushed=%u",
		   c->messages, c->bytes, c->posts, c->completions, c->silent, c->flushed);
	seq_printf(m, " upcalls=%u dequeued=%u upcall_posts=%u peak=%u full=%u ms=%u fails=%u",
		   c->by_upcall, c->by_dequeue, c->upcall_posts, c->peak,
		   c->full, c->ms, c->fails);
	seq_printf(m, " result=%s\n", verdict_name[c->verdict]);
	if (c->reason[0])
		seq_printf(m, "note %s\n", c->reason);
	spin_lock_irq(&c->note_lock);
	for (i = 0; i < c->claims; i++)
		seq_printf(m, "clauses %s\n", c->claim[i]);
	for (i = 0; i < c->notes; i++)
		seq_printf(m, "note %s\n", c->note[i]);
	if (c->fails > c->notes)
		seq_printf(m, "note ... and %u more\n", c->fails - c->notes);
	spin_unlock_irq(&c->note_lock);
}

/**
 * loop_show_results - print a line for each case, followed by its notes
 * @m: the file
 * @run: the current or last run
 *
 * Context: process, run_mutex held.
 */
void loop_show_results(struct seq_file *m, struct loop_run *run)
{
	u32 i;

	for (i = 0; i < run->ncases; i++)
		show_case(m, &run->cases[i]);
}

/**
 * loop_show_status - print the progress of the run in one line
 * @m: the file
 * @run: the current or last run, or NULL
 * @number: number of the run
 *
 * Context: process, run_mutex held.
 */
void loop_show_status(struct seq_file *m, struct loop_run *run, u32 number)
{
	u32 i, failed = 0, finished = 0;
	struct loop_case *c;

	if (!run) {
		seq_puts(m, "state=idle run=0\n");
		return;
	}
	for (i = 0; i < run->ncases; i++) {
		failed += run->cases[i].verdict == LOOP_FAIL;
		finished += run->cases[i].verdict > LOOP_RUNNING;
	}
	c = run->cases + min(run->at, run->ncases - 1);
	seq_printf(m, "state=%s run=%u cases=%u finished=%u failed=%u aborted=%d",
		   state_name[run->state], number, run->ncases, finished, failed,
		   READ_ONCE(run->abort));
	seq_printf(m, " name=%s done=%u count=%u\n", c->name, READ_ONCE(c->messages), c->count);
	if (run->error[0])
		seq_printf(m, "error %s\n", run->error);
}
