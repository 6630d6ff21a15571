// SPDX-License-Identifier: GPL-2.0
/*
 * The model of the fuzzer: which types of return are possible, and the report of a
 * mismatch.
 *
 * Called while the arguments of a call are generated, and when it has returned; by
 * threads and upcalls.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "fuzz.h"

#define NOTE_LEN	640

/* ---- the report of a mismatch ------------------------------------------------------------ */

const char *fuzz_type_name(DAT_RETURN ret)
{
	const char *major, *minor;

	if (ret == DAT_SUCCESS)
		return "DAT_SUCCESS";
	return dat_strerror(DAT_ERROR(DAT_GET_TYPE(ret), 0), &major, &minor) ? "?" : major;
}

static int say_set(char *text, int size, u32 set)
{
	unsigned long left = set;
	int len = 0;
	u32 type;

	for_each_set_bit(type, &left, 32)
		len += scnprintf(text + len, size - len, "%s%s", len ? "|" : "",
				 fuzz_type_name(type << 16));
	return len;
}

static void say_mismatch(struct fuzz *f, u32 set, DAT_RETURN ret)
{
	static DEFINE_SPINLOCK(text_lock);
	static char text[NOTE_LEN];
	unsigned long flags;
	unsigned int i;
	int len;

	spin_lock_irqsave(&text_lock, flags);
	len = scnprintf(text, sizeof(text), "thread %u%s call %llu: %s(", f->index,
			f->atomic ? " (atomic)" : "", f->number, f->call->name);
	for (i = 0; i < f->args; i++)
		len += scnprintf(text + len, sizeof(text) - len, "%s%s %#llx", i ? ", " : "",
				 f->arg[i].kind, f->arg[i].value);
	len += scnprintf(text + len, sizeof(text) - len, ") is %s (%#x), not ",
			 fuzz_type_name(ret), ret);
	say_set(text + len, sizeof(text) - len, set);
	test_fail("%s", text);
	spin_unlock_irqrestore(&text_lock, flags);
}

/* Records an argument for the report of a mismatch */
void fuzz_arg(struct fuzz *f, const char *kind, u64 value)
{
	if (f->args < ARGS)
		f->arg[f->args++] = (struct arg){ .kind = kind, .value = value };
}

/* ---- what is possible -------------------------------------------------------------------- */

void expect_begin(struct fuzz *f)
{
	f->set = 0;
	f->must = 0;
	f->may = 0;
	f->closed = false;
	f->args = 0;
}

/**
 * expect_first - one of the checks that are made in order
 * @f:       the calling thread
 * @known:   GOOD: it is passed; BAD: it decides; MAYBE: who knows
 * @returns: what a call returns that does not pass
 *
 * After a check that fails, no later check matters.
 */
void expect_first(struct fuzz *f, enum know known, u32 returns)
{
	if (f->closed || known == GOOD)
		return;
	f->set |= returns;
	f->closed = known == BAD;
}

/**
 * expect - one of the checks that are made in no particular order
 * @f:       the calling thread
 * @known:   see expect_first()
 * @returns: what a call returns that does not pass
 *
 * If several fail, any of them may determine the return.
 */
void expect(struct fuzz *f, enum know known, u32 returns)
{
	if (f->closed || known == GOOD)
		return;
	if (known == BAD)
		f->must |= returns;
	else
		f->may |= returns;
}

/* The call has returned: is its type possible? */
void expect_end(struct fuzz *f, DAT_RETURN ret)
{
	u32 set = f->set;
	bool known;

	if (!f->closed) {
		set |= f->must | f->may;
		if (!f->must)
			set |= R_OK;
	}
	set &= f->call->may;
	/* Check the class, too: an error has its bit, a success is exactly 0 */
	known = ret == DAT_SUCCESS ||
		((ret & ~(DAT_TYPE_MASK | DAT_SUBTYPE_MASK)) == DAT_CLASS_ERROR &&
		 DAT_GET_TYPE(ret));
	if (!known || !(r_of(ret) & set))
		say_mismatch(f, set, ret);
}

/* ---- states of an EP --------------------------------------------------------------------- */

/* The states that an EP may reach without a call, or by its peer */
static u32 states_from(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return S(ACTIVE_CONNECTION_PENDING) | S(CONNECTED) | S(DISCONNECTED);
	case DAT_EP_STATE_COMPLETION_PENDING:
		return S(COMPLETION_PENDING) | S(CONNECTED) | S(DISCONNECTED);
	case DAT_EP_STATE_CONNECTED:
		return S(CONNECTED) | S(DISCONNECTED);
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return S(DISCONNECT_PENDING) | S(DISCONNECTED);
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		/* Its request is in the shared pool: any thread may accept or reject it */
		return S(RESERVED) | S(PASSIVE_CONNECTION_PENDING) | S(UNCONNECTED) |
		       S(COMPLETION_PENDING) | S(CONNECTED) | S(DISCONNECTED);
	default:
		return BIT(state);
	}
}

/* The possible states of an own EP until the next call; 0: no EP */
u32 ep_states(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	if (dat_ep_get_status(ep, &state, NULL, NULL) != DAT_SUCCESS)
		return 0;
	return states_from(state);
}

/* Is this EP in one of @states? */
enum know ep_know(struct fuzz *f, const struct thing *ep, u32 states)
{
	u32 now;

	if (!f->own || ep->know != GOOD)
		return MAYBE;
	now = ep_states(ep->handle);
	if (!now)
		return MAYBE;
	if (!(now & ~states))
		return GOOD;
	return now & states ? MAYBE : BAD;
}
