// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting of the posts of one queue. Each post has a unique cookie: the tag of its
 * queue in the upper half, its number in the lower half. Each must complete exactly once. A
 * second completion, a completion with an unknown cookie, and a post that never completes are
 * noted as different failures.
 *
 * A test may call these functions in any context. Each takes the lock of the queue. An entry
 * that a completion returns is valid until the next post takes its place.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "kdapl_test.h"

#define SHOWN	6	/* numbers of lost posts in a message */

static struct test_post *slot_of(const struct test_posts *q, u32 number)
{
	return q->post + (size_t)(number % q->slots) * q->size;
}

static bool is_pending(const struct test_posts *q, u32 number)
{
	const struct test_post *p = slot_of(q, number);

	return p->state == TEST_PENDING && test_number(p) == number;
}

/**
 * test_posts_make - initialize the accounting of a queue
 * @q:     overwritten
 * @tag:   upper half of each cookie
 * @slots: maximum number of pending posts
 * @size:  size of an entry, which begins with a struct test_post
 * @fmt:   name of the queue in messages
 *
 * Failures are noted in the verdict of the module, unless the caller sets @q->verdict.
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int test_posts_make(struct test_posts *q, u32 tag, u32 slots, size_t size, const char *fmt, ...)
{
	va_list args;

	memset(q, 0, sizeof(*q));
	spin_lock_init(&q->lock);
	q->verdict = &test_verdict;
	q->tag = tag;
	q->slots = slots;
	q->size = size;
	va_start(args, fmt);
	vscnprintf(q->name, sizeof(q->name), fmt, args);
	va_end(args);
	q->post = kvcalloc(slots, size, GFP_KERNEL);
	return q->post ? 0 : -ENOMEM;
}

/* Frees the accounting of a queue, which may be all zero */
void test_posts_free(struct test_posts *q)
{
	kvfree(q->post);
	memset(q, 0, sizeof(*q));
}

/**
 * test_post_begin - record a post before its call, because it may complete during the call
 * @q: the queue
 *
 * The caller sets operation, length and suppressed. Other members of its entry are unchanged.
 *
 * Context: any.
 * Return: the post, pending; NULL if all slots are in use.
 */
struct test_post *test_post_begin(struct test_posts *q)
{
	struct test_post *p = NULL;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->out < q->slots) {
		do
			p = slot_of(q, q->next++);
		while (p->state == TEST_PENDING);
		*p = (struct test_post) {
			.cookie = (u64)q->tag << 32 | (q->next - 1),
			.operation = TEST_ANY,
			.length = TEST_ANY,
			.state = TEST_PENDING,
		};
		q->out++;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return p;
}

/**
 * test_post_return - the call refused a post, or a free or a reset has returned it
 * @q: the queue
 * @p: the post, which must be pending
 *
 * Context: any.
 */
void test_post_return(struct test_posts *q, struct test_post *p)
{
	u32 number = test_number(p);
	unsigned long flags;
	bool was;

	spin_lock_irqsave(&q->lock, flags);
	was = is_pending(q, number);
	if (was) {
		p->state = TEST_RETURNED;
		q->out--;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	if (!was)
		test_note(q->verdict, true, "%s: returned post %u: expected no completion, got one",
			  q->name, number);
}

static void note_mismatch(struct test_posts *q, u64 cookie, bool returned, u32 next)
{
	u32 number = cookie;

	if (cookie >> 32 != q->tag || number >= next)
		test_note(q->verdict, true,
			  "%s: foreign completion: expected one of %u posts, got cookie %#llx",
			  q->name, next, cookie);
	else if (returned)
		test_note(q->verdict, true, "%s: post %u completed, but it was returned before",
			  q->name, number);
	else
		test_note(q->verdict, true, "%s: post %u completed twice", q->name, number);
}

/*
 * Completes the post with a cookie. @copy receives what the post was: another poster may use
 * its entry as soon as the lock is released.
 */
static struct test_post *match(struct test_posts *q, u64 cookie, DAT_DTO_COMPLETION_STATUS status,
			       struct test_post *copy)
{
	struct test_post *p = slot_of(q, cookie);
	bool good, returned;
	unsigned long flags;
	u32 next;

	spin_lock_irqsave(&q->lock, flags);
	next = q->next;
	good = p->cookie == cookie && p->state == TEST_PENDING;
	returned = p->cookie == cookie && p->state == TEST_RETURNED;
	if (good) {
		p->state = TEST_COMPLETED;
		p->status = status;
		*copy = *p;
		q->out--;
		q->done++;
		q->flushed += status == DAT_DTO_ERR_FLUSHED;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	if (good)
		return p;
	note_mismatch(q, cookie, returned, next);
	return NULL;
}

/**
 * test_posts_match - complete the post with a cookie
 * @q:      the queue of the completion
 * @cookie: of the completion
 * @status: of the completion
 *
 * Context: any.
 * Return: the post; NULL if it is not pending, which is noted.
 */
struct test_post *test_posts_match(struct test_posts *q, u64 cookie,
				   DAT_DTO_COMPLETION_STATUS status)
{
	struct test_post copy;

	return match(q, cookie, status, &copy);
}

/**
 * test_posts_complete - complete the post of an event, and compare the event with it
 * @q:   the queue of the completion
 * @dto: the event
 *
 * Context: any.
 * Return: the post; NULL if it is not pending. Each difference is noted.
 */
struct test_post *test_posts_complete(struct test_posts *q,
				      const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct test_post *p, copy;

	p = match(q, dto->user_cookie.as_64, dto->status, &copy);
	if (!p)
		return NULL;
	if (copy.operation != TEST_ANY && copy.operation != dto->operation)
		test_note(q->verdict, true, "%s: post %u: expected operation %u, got %d", q->name,
			  test_number(&copy), copy.operation, dto->operation);
	if (dto->status != DAT_DTO_SUCCESS)
		return p;
	if (copy.suppressed)
		test_note(q->verdict, true, "%s: suppressed post %u: expected no event, got one",
			  q->name, test_number(&copy));
	if (copy.length != TEST_ANY && copy.length != dto->transfered_length)
		test_note(q->verdict, true, "%s: post %u: expected length %u, got %u", q->name,
			  test_number(&copy), copy.length, (u32)dto->transfered_length);
	return p;
}

/**
 * test_posts_next - walk the pending posts in the order in which they were made
 * @q: the queue
 * @p: the post before; NULL to begin
 *
 * Context: any.
 * Return: the next pending post, or NULL.
 */
struct test_post *test_posts_next(struct test_posts *q, const struct test_post *p)
{
	struct test_post *found = NULL;
	unsigned long flags;
	u32 number;

	spin_lock_irqsave(&q->lock, flags);
	while (q->oldest != q->next && !is_pending(q, q->oldest))
		q->oldest++;
	number = p ? test_number(p) + 1 : q->oldest;
	while (number != q->next && !is_pending(q, number))
		number++;
	if (number != q->next)
		found = slot_of(q, number);
	spin_unlock_irqrestore(&q->lock, flags);
	return found;
}

/**
 * test_posts_silent - complete one post that was made before another, without an event
 * @q: a queue whose posts complete in order
 * @p: the latest post with an event; NULL if all posts with an event have completed
 *
 * Suppressed posts have succeeded. The event of any other post should have come before; that
 * failure is noted once. The caller repeats the call until it returns NULL.
 *
 * Context: any.
 * Return: the next suppressed post, or NULL.
 */
struct test_post *test_posts_silent(struct test_posts *q, const struct test_post *p)
{
	struct test_post *at = NULL;

	while ((at = test_posts_next(q, at)) && (!p || test_number(at) < test_number(p))) {
		if (at->suppressed)
			return test_posts_match(q, at->cookie, DAT_DTO_SUCCESS);
		if (!at->overtaken)
			test_note(q->verdict, true, "%s: post %u: a later post completed before it",
				  q->name, test_number(at));
		at->overtaken = true;
	}
	return NULL;
}

/**
 * test_posts_missing - note the posts that never completed
 * @q: the queue; it may be all zero
 *
 * Context: any.
 */
void test_posts_missing(struct test_posts *q)
{
	const struct test_post *p = NULL;
	char list[12 * SHOWN] = "";
	unsigned int shown = 0;
	int at = 0;

	if (!q->out)
		return;
	while (shown < SHOWN && (p = test_posts_next(q, p))) {
		at += scnprintf(list + at, sizeof(list) - at, " %u", test_number(p));
		shown++;
	}
	test_note(q->verdict, true, "%s: %u of %u posts lost, they never completed:%s%s", q->name,
		  q->out, q->out + q->done, list, q->out > shown ? " ..." : "");
}
