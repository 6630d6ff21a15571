/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state and the ownership of an EVD, and the push without the lock (evd_queue.c, event.h,
 * evd_queue.h, evd_policy.c).
 *
 * Functions have the names of the sources without "kdapl_evd_". Each access to
 * evd->state, to evd->incoming and to what the fast path reads without the lock is
 * a separate step; accesses to what evd->lock guards are one step. A missing
 * barrier is modelled by a reordering that the barrier prevents.
 *
 * Events have numbers: 1 and 2 are completions of one CQ, 3 of another, and 4 is a
 * software event (dat_evd_post_se()). All request an upcall. BUDGET is 1 instead
 * of 64, so that the ownership is passed on.
 *
 * Configurations:
 *   OWNERSHIP  CQs, the deferred delivery, a software event; policy SINGLE
 *   DEQUEUE    CQs, the deferred delivery, a Consumer that dequeues
 *   NO_UPCALLS CQs on an EVD without upcalls, while the policy becomes SINGLE
 *   FLIP       CQs, while the policy changes to DISABLE and back
 *   CHANGE     CQs, while the upcall is replaced twice
 *   TEARDOWN   CQs, while the upcall is torn down and waited for
 *   EPFREE     CQs, while the EP of events 1 and 2 is freed
 *   POLLED     an EVD in process context, whose work item polls the CQ of events 1 and 2, while
 *              the timer polls the other one
 *
 * Checks: an EVD has one upcall at a time, with function and data of the same
 * upcall. Each event is delivered once, and those of a CQ in order. No event stays
 * queued while the policy requests an upcall. No upcall runs after TEARDOWN has
 * returned, or with an event of an EP that is freed. Waiters are woken.
 *
 * Each #ifdef describes the step that it removes.
 */
#define EVD_OWNED	1
#define EVD_QUEUED	2
#define EVD_INHIBIT	4
#define EVD_WAITER	8
#define EVD_PASSED	16
#define EVD_NO_UPCALLS	32
#define EVD_POLLING	64
#define EVD_PUSH	(EVD_NO_UPCALLS | EVD_POLLING)

#define DISABLE		0
#define SINGLE		1

#define NEV	4
#ifndef BUDGET
#define BUDGET	1
#endif

byte state;
bool locked;
bool work;			/* queued */
byte policy = SINGLE;

/* evd->lock */
chan queue = [NEV] of { byte };
byte nnotify;
bool notify[NEV + 1];
bool has_next;
byte next_upcall;

byte incoming;			/* the newest, 0: none */
byte nxt[NEV + 1];

byte func = 1, data = 1;	/* evd->upcall, two words */
byte cur_ep;
byte upcalls;			/* currently running */
byte running_ep;		/* the EP of the upcall's event */
byte given[NEV + 1];		/* number of deliveries */
bool torn;			/* TEARDOWN has returned */
bool ep_freed;
bool dropping;			/* a process is between the release of OWNED and the unlock */
bool woken;
bool drained;			/* the CQ of EP 1 has no more completions */
byte finished;
byte arrived, polled;		/* POLLED: completions of the work item's CQ */

#define EP_OF(e)	((e) <= 2 -> 1 : ((e) == 3 -> 2 : 0))

#define LOCK	atomic { !locked -> locked = true }
#define UNLOCK	locked = false
#define OR(bits)	state = state | (bits)
#define ANDNOT(bits)	state = state & (255 - (bits))

/* ---- evd_queue.h ---- */

/* Under the lock; g is the newest pushed event that is not linked yet */
inline link_gathered()
{
	d_step {
		do
		:: g == 0 -> break
		:: g != 0 ->
			/* The oldest first */
			x = g; y = 0;
			do
			:: nxt[x] != 0 -> y = x; x = nxt[x]
			:: else -> break
			od;
			queue!x;
			nnotify = nnotify + notify[x];
			if
			:: y != 0 -> nxt[y] = 0
			:: else -> g = 0
			fi
		od;
		x = 0; y = 0
	};
	OR(EVD_QUEUED)
}

inline gather()
{
	if
	:: incoming == 0
	:: else ->
#ifdef NO_XCHG
		/* Read and cleared in two steps */
		g = incoming;
		incoming = 0;
#else
		atomic { g = incoming; incoming = 0 };
#endif
		link_gathered()
	fi
}

#define OWES	(policy == SINGLE && nnotify > 0)

inline end_poll()
{
	if
	:: state & EVD_POLLING ->
#ifdef POLL_RELAXED
		/* The clearing becomes visible after incoming was read */
		gather();
		ANDNOT(EVD_POLLING)
#else
		ANDNOT(EVD_POLLING);
#ifndef NO_POLL_GATHER
		gather()
#else
		skip
#endif
#endif
	:: else
	fi
}

inline set_inhibit()
{
	if
	:: policy != SINGLE -> OR(EVD_INHIBIT | EVD_NO_UPCALLS)
	:: else ->
#ifdef NO_ENABLE_GATHER
		/* Does not gather what was pushed before */
		ANDNOT(EVD_NO_UPCALLS);
#else
#ifdef UPCALLS_RELAXED
		/* The clearing becomes visible after incoming was read */
		c = state;
		if
		:: c & EVD_NO_UPCALLS -> gather()
		:: else
		fi;
		ANDNOT(EVD_NO_UPCALLS);
#else
		atomic { c = state; ANDNOT(EVD_NO_UPCALLS) };
		if
		:: c & EVD_NO_UPCALLS -> gather()
		:: else
		fi;
#endif
#endif
		if
#ifdef NO_NEXT_INHIBIT
		/* Opens the fast path although a new upcall is pending */
		:: true -> ANDNOT(EVD_INHIBIT)
#else
		:: !has_next -> ANDNOT(EVD_INHIBIT)
		:: has_next -> OR(EVD_INHIBIT)
#endif
		fi
	fi
}

inline apply_next()
{
	if
	:: has_next ->
		has_next = false;
#ifdef NO_MB
		/* Function and data become visible after INHIBIT is cleared */
		set_inhibit();
		func = next_upcall;
		data = next_upcall
#else
		func = next_upcall;
		data = next_upcall;
		set_inhibit()
#endif
	:: else
	fi
}

/* Copies the event and releases the slot */
inline fill(e)
{
	given[e]++;
	assert(given[e] == 1);
	/* In the order of its CQ */
	assert(e != 2 || given[1] == 1)
}

/* Takes the oldest event as e, which determines the order of delivery */
inline unlink()
{
	d_step { queue?e; nnotify = nnotify - notify[e]; fill(e) };
	if
	:: empty(queue) -> ANDNOT(EVD_QUEUED)
	:: nempty(queue)
	fi
}

/* ---- evd_queue.c ---- */

/* With f and d, the function and data of the upcall as read before */
inline call(ep)
{
	cur_ep = ep;
	d_step {
		assert(f == d);
		assert(!torn);
		assert(!ep_freed || ep != 1);
		upcalls++;
		running_ep = ep;
		assert(upcalls == 1)
	};
	/* The Consumer's function */
#ifdef CUR_EP_PLAIN
	/* The end of the upcall becomes visible after cur_ep is cleared */
	cur_ep = 0;
	d_step { upcalls--; running_ep = 0 }
#else
	d_step { upcalls--; running_ep = 0 };
	cur_ep = 0
#endif
}

#define WAKE	if :: state & EVD_WAITER -> woken = true :: else fi

inline release_ownership()
{
	apply_next();
	atomic { c = state; ANDNOT(EVD_OWNED); dropping = true };
	if
	:: c & EVD_WAITER -> woken = true
	:: else
	fi
}

inline deliver(n)
{
	budget = n;
	LOCK;
	end_poll();
	do
	:: true ->
		apply_next();
		if
		:: !OWES -> release_ownership(); break
		:: OWES && budget == 0 ->
#ifdef POLLED
			release_ownership();
#else
			OR(EVD_PASSED);
#endif
#ifndef NO_PASS_WORK
			work = true;
#endif
			break
		:: OWES && budget > 0 -> budget--
		fi;
		f = func; d = data;
		unlink();
#ifndef CUR_EP_LATE
		cur_ep = EP_OF(e);
#endif
		UNLOCK;
		call(EP_OF(e));
		LOCK;
		WAKE
	od;
	atomic { UNLOCK; dropping = false };
	e = 0
}

#ifndef POLLED
/* kdapl_evd_work(): the deferred delivery */
active proctype deferred()
{
	byte e, g, x, y, c, f, d, budget;
	bool mine;

end:
	do
	:: atomic { work -> work = false };
		LOCK;
		mine = false;
		if
		:: state & EVD_PASSED -> ANDNOT(EVD_PASSED); mine = true
		:: else ->
			if
			:: OWES ->
				atomic { mine = !(state & EVD_OWNED); OR(EVD_OWNED) }
			:: else
			fi
		fi;
		UNLOCK;
		if
		:: mine -> deliver(BUDGET)
		:: else
		fi
	od
}
#endif

inline append(ev)
{
	gather();
	d_step { queue!ev; nnotify = nnotify + notify[ev] };
#ifdef APPEND_READS_FIRST
	/* Reads OWNED before it sets QUEUED */
	c = state;
	OR(EVD_QUEUED)
#else
	atomic { c = state; OR(EVD_QUEUED) }
#endif
}

#ifdef POLLED
/* In a done callback, where nobody but the work item becomes the owner */
inline queue_done(ev)
{
	queue_other(ev)
}
#else
/* In a done callback */
inline queue_done(ev)
{
	mine = false;
	LOCK;
	append(ev);
	if
	:: !(c & EVD_OWNED) && policy == SINGLE -> OR(EVD_OWNED); mine = true
	:: else
	fi;
	UNLOCK;
	if
	:: mine -> deliver(BUDGET + 1)
	:: else
	fi
}
#endif

/* Elsewhere */
inline queue_other(ev)
{
	LOCK;
	append(ev);
	if
	:: !(c & EVD_OWNED) && policy == SINGLE ->
#ifndef NO_WORK
		work = true
#else
		skip
#endif
	:: else
	fi;
	UNLOCK
}

inline pushed_late()
{
	mine = false;
	LOCK;
	gather();
#ifdef POLLED
	if
	:: OWES -> work = true
	:: else
	fi;
	UNLOCK
#else
	if
	:: OWES -> atomic { mine = !(state & EVD_OWNED); OR(EVD_OWNED) }
	:: else
	fi;
	UNLOCK;
	if
	:: mine -> deliver(BUDGET)
	:: else
	fi
#endif
}

inline push(ev)
{
	x = incoming;
	do
	:: nxt[ev] = x;
		atomic {
			if
#ifdef PUSH_PLAIN
			/* A store instead of the cmpxchg */
			:: true -> incoming = ev; x = 0; break
#else
			:: incoming == x -> incoming = ev; x = 0; break
			:: else -> x = incoming
#endif
			fi
		}
	od;
#ifndef NO_LATE
#ifndef PUSH_RELAXED
	/* Without the barrier: uses the state that was read before the push */
	c = state;
#endif
	if
	:: !(c & EVD_PUSH) -> pushed_late()
	:: else
	fi
#endif
}

inline complete(ev)
{
#ifdef NO_ACQUIRE
	/* Reads the upcall before it has the ownership */
	f = func; d = data;
#endif
	atomic {
		mine = (state == 0);
		if
		:: mine -> state = EVD_OWNED
		:: else
		fi
	};
	if
	:: !mine -> queue_done(ev)
	:: else ->
		d_step { fill(ev) };
#ifndef NO_ACQUIRE
		f = func;
		d = data;
#endif
#ifdef NO_RELEASE
		/* The end of the upcall becomes visible after the release of the ownership */
		cur_ep = EP_OF(ev);
		d_step {
			assert(f == d && !torn && (!ep_freed || EP_OF(ev) != 1));
			upcalls++;
			assert(upcalls == 1)
		};
#else
		call(EP_OF(ev));
#endif
#ifdef RELEASE_PLAIN
		/* Releases the ownership regardless of the other bits */
		atomic { ANDNOT(EVD_OWNED); mine = true };
#else
		atomic {
			mine = (state == EVD_OWNED);
			if
			:: mine -> state = 0
			:: else
			fi
		};
#endif
#ifdef NO_RELEASE
		d_step { upcalls--; cur_ep = 0 };
#endif
		if
		:: !mine -> deliver(BUDGET)
		:: else
		fi
	fi
}

/* complete.c, kdapl_evd_queue_success() */
inline hand_over(ev)
{
	c = state;
	if
	:: c & EVD_PUSH -> push(ev)
	:: else -> complete(ev)
	fi
}

/* ---- processes ---- */

proctype cq(byte from, to)
{
	byte e, g, x, y, c, f, d, budget, ev;
	bool mine;

	ev = from;
	do
	:: ev <= to -> hand_over(ev); ev++
	:: else -> break
	od;
	atomic { finished++; drained = drained || from == 1; ev = 0 }
}

#ifdef POLLED
/* kdapl_evd_process_work(): the owner, if upcalls are enabled, polls and then delivers */
active proctype process_work()
{
	byte e, g, x, y, c, f, d, budget, ev;
	bool mine;

end:
	do
	:: atomic { work -> work = false };
		LOCK;
		OR(EVD_OWNED | EVD_POLLING);
		UNLOCK;
		do
		:: polled < arrived -> polled++; ev = polled; hand_over(ev)
		:: else -> break
		od;
		atomic { ev = 0; c = 0 };
		deliver(BUDGET);
		/* kdapl_evd_arm_drained() */
		if
		:: polled < arrived -> work = true
		:: else
		fi
	od
}

/* The device completes events 1 and 2, and announces each */
proctype device()
{
	do
	:: arrived < 2 -> arrived++; work = true
	:: else -> break
	od;
	finished++
}
#endif

proctype other(byte ev)
{
	byte g, x, y, c;

	queue_other(ev);
	finished++
}

/* dat_evd_dequeue() */
proctype consumer()
{
	byte e, g, x, y;

	LOCK;
	if
	:: empty(queue) -> gather()
	:: nempty(queue)
	fi;
	if
	:: nempty(queue) -> unlink()
	:: empty(queue)
	fi;
	UNLOCK;
	atomic { finished++; e = 0 }
}

/* kdapl_evd_modify(); upcall 0: the current one. INVOC_ANY */
inline modify(pol, upcall)
{
	LOCK;
	policy = pol;
	if
	:: upcall != 0 -> next_upcall = upcall; has_next = true
	:: else
	fi;
	set_inhibit();
#ifdef APPLY_ALWAYS
	/* Does not check whether the EVD has an owner */
	apply_next();
#else
	if
	:: !(state & EVD_OWNED) -> apply_next()
	:: else
	fi;
#endif
	/* kdapl_evd_mark_all() */
	gather();
	if
	:: OWES || has_next -> work = true
	:: else
	fi;
	UNLOCK
}

/* wait_event(): prepare, check the condition, sleep */
inline wait_event(cond)
{
	do
	:: true ->
		woken = false;
		if
		:: cond -> break
		:: else -> (woken)
		fi
	od
}

inline wait_begin()
{
	LOCK;
#ifndef NO_WAITER
	OR(EVD_WAITER);
#endif
	UNLOCK
}

inline wait_end()
{
#ifdef NO_END_LOCK
	ANDNOT(EVD_WAITER);
#else
	LOCK;
	ANDNOT(EVD_WAITER);
#endif
	/* The waker no longer uses the EVD */
	assert(!dropping);
#ifndef NO_END_LOCK
	UNLOCK
#endif
}

proctype changer()
{
	byte g, x, y, c, n;

#ifdef NO_UPCALLS
	modify(SINGLE, 0);
#endif
#ifdef FLIP
	modify(DISABLE, 0);
	modify(SINGLE, 0);
#endif
#ifdef CHANGE
	modify(SINGLE, 2);
	modify(SINGLE, 3);
#endif
#ifdef TEARDOWN
	modify(DISABLE, 0);
#ifndef NO_IDLE
	wait_begin();
	wait_event(!(state & EVD_OWNED));
	wait_end();
#endif
	torn = true;
#endif
#ifdef EPFREE
	/* dat_ep_free(): drained, so its CQ has no more completions */
	(drained);
	/* kdapl_evd_take_back() */
	LOCK;
	gather();
	n = len(queue);
	do
	:: n > 0 ->
		d_step {
			n--;
			queue?x;
			if
			:: EP_OF(x) == 1 -> nnotify = nnotify - notify[x]; given[x]++
			:: else -> queue!x
			fi;
			x = 0
		}
	:: else -> break
	od;
	if
	:: empty(queue) -> ANDNOT(EVD_QUEUED)
	:: nempty(queue)
	fi;
	UNLOCK;
#ifndef NO_WAIT_EP
	wait_begin();
	wait_event(cur_ep != 1);
	wait_end();
#endif
	assert(running_ep != 1);
	ep_freed = true;
#endif
	finished++
}

/* Runs when no other process can run */
proctype checker(byte all)
{
	byte i, g;

	timeout;
	assert(finished == all);
	assert(!(state & (EVD_OWNED | EVD_PASSED | EVD_WAITER | EVD_POLLING)) && !work && !has_next);
	if
	:: policy == SINGLE ->
		assert(empty(queue) && incoming == 0 && nnotify == 0 &&
		       !(state & (255 - EVD_INHIBIT)))
	:: else
	fi;
	/* Each was delivered once, or is still queued */
	g = incoming;
	do
	:: g != 0 -> given[g]++; g = nxt[g]
	:: else -> break
	od;
	do
	:: nempty(queue) -> queue?g; given[g]++
	:: empty(queue) -> break
	od;
	i = 1;
	do
	:: i <= NEV -> assert(given[i] == 1 || !notify[i]); i++
	:: else -> break
	od
}

init {
	atomic {
		notify[1] = true;
		notify[2] = true;
		notify[3] = true;
#ifdef NO_UPCALLS
		policy = DISABLE;
		state = EVD_INHIBIT | EVD_NO_UPCALLS;
#endif
#ifdef POLLED
		state = EVD_INHIBIT;
		run device();
#else
		run cq(1, 2);
#endif
		run cq(3, 3);
#if defined(OWNERSHIP)
		notify[4] = true;
		run other(4);
#elif defined(DEQUEUE)
		run consumer();
#elif defined(POLLED)
		/* The work item is blocked when all others have ended */
		finished++;
#else
		run changer();
#endif
		run checker(3)
	}
}
