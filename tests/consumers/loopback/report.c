// SPDX-License-Identifier: GPL-2.0
/*
 * The two files of the loopback test that kdapl-loop reads. Each line is one record of words
 * "key=value" without blanks. A note is the rest of its line.
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

	spin_lock_irqsave(&c->claim_lock, flags);
	for (i = 0; i < c->claims && c->claim[i] != ids; i++)
		;
	if (i == c->claims && i < LOOP_CLAIMS)
		c->claim[c->claims++] = ids;
	spin_unlock_irqrestore(&c->claim_lock, flags);
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
		   c->full, c->ms, c->verdict.failures);
	seq_printf(m, " result=%s\n", verdict_name[c->result]);
	if (c->reason[0])
		seq_printf(m, "note %s\n", c->reason);
	spin_lock_irq(&c->claim_lock);
	for (i = 0; i < c->claims; i++)
		seq_printf(m, "clauses %s\n", c->claim[i]);
	spin_unlock_irq(&c->claim_lock);
	test_show_notes(m, &c->verdict, "note ");
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
		failed += run->cases[i].result == LOOP_FAIL;
		finished += run->cases[i].result > LOOP_RUNNING;
	}
	c = run->cases + min(run->at, run->ncases - 1);
	seq_printf(m, "state=%s run=%u cases=%u finished=%u failed=%u aborted=%d",
		   state_name[run->state], number, run->ncases, finished, failed,
		   READ_ONCE(run->abort));
	seq_printf(m, " name=%s done=%u count=%u\n", c->name, READ_ONCE(c->messages), c->count);
	if (run->error[0])
		seq_printf(m, "error %s\n", run->error);
}
