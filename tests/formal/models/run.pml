/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The run ring (post/unsignalled.c): unsignalled requests that are posted under the lock, signalled
 * ones that are posted without it, and the completions that release slots.
 *
 * SUPPRESS processes post suppressed requests, SIGNAL processes signalled ones, each at most
 * TURNS. The device has one queue. It executes requests in order; with FAIL it fails one of
 * them, and flushes all later ones. With REFUSE it refuses any request when it is posted, so that
 * its slot is taken for a moment only. A success without a signal has no completion. One process
 * handles completions; with DEQUEUE, another dequeues events. The pool of slots is correct
 * (pool.pml), so taking and returning a slot are single steps. Which request ends a run is
 * arbitrary, because the length of a run is only a hint. A post to a full queue gives up.
 *
 * Every access is one step in program order: run-publish.litmus checks the barriers.
 *
 * Checks: a slot is released once, and only after the device has executed its request. When
 * nothing is outstanding, an unsignalled request whose slot is not released leaves a slot
 * for a post that releases it (G-34). A marker then releases all of them.
 *
 * Steps that can be removed:
 *   PUBLISH_EARLY  an unsignalled request is published before its verbs call
 *   PUBLISH_REFUSED  it is published although its verbs call has failed
 *   END_LATE       a signalled request reads the position after its verbs call
 *   TAKE_LAST      a signalled post takes the last slot without the lock
 *   LAST_QUIET     an unsignalled request takes the last slot
 *   NO_LOCK        unsignalled posts do not exclude each other
 *   NO_SKIP        the completion of a failed unsignalled request does not pass it
 *   NO_SIGN        positions are compared for equality
 */
#ifndef SUPPRESS
#define SUPPRESS	1
#endif
#ifndef SIGNAL
#define SIGNAL		1
#endif
#ifndef SLOTS
#define SLOTS		3
#endif
#ifndef TURNS
#define TURNS		2
#endif

#define CPUS		(SUPPRESS + SIGNAL)

/* States of a slot */
#define FREE		0
#define TAKEN		1	/* by a post */
#define POSTED		2	/* with the device */
#define DONE		3	/* executed, without a completion */
#define FAILED		4	/* not executed, has a completion */
#define EXECUTED	5	/* executed, has a completion */
#define EVENT		6	/* its event is queued */

byte state[SLOTS];
byte position[SLOTS];		/* kdapl_slot.ev.run_end */
bool signalled[SLOTS];
bool quiet[SLOTS];		/* suppressed: no event on success */
byte nfree = SLOTS;

byte ring[SLOTS];
byte run_tail, run_head;
bool locked;

chan queue = [SLOTS] of { byte };
chan cq = [SLOTS] of { byte };
bool broken, handling;
byte finished;

inline lock()
{
#ifndef NO_LOCK
	atomic { !locked -> locked = true }
#else
	skip
#endif
}

inline unlock()
{
#ifndef NO_LOCK
	locked = false
#else
	skip
#endif
}

/* Takes a slot if more than @spare are free; s is SLOTS if not */
inline take(spare)
{
	d_step {
		s = 0;
		do
		:: nfree <= spare -> s = SLOTS; break
		:: nfree > spare && state[s] == FREE -> state[s] = TAKEN; nfree--; break
		:: nfree > spare && state[s] != FREE -> s++
		od
	}
}

inline put(x)
{
	d_step {
		assert(state[x] != FREE);
		state[x] = FREE;
		nfree++
	}
}

inline verbs()
{
	refused = false;
	if
	:: atomic { state[s] = POSTED; queue ! s }
#ifdef REFUSE
	:: refused = true; put(s)
#endif
	fi
}

/* kdapl_submit_locked(); kdapl_submit_suppressed() is a part of it */
inline submit(suppressed)
{
	quiet[s] = suppressed;
	signalled[s] = true;
	if
#ifndef LAST_QUIET
	:: suppressed && nfree > 0 -> signalled[s] = false
#else
	:: suppressed -> signalled[s] = false
#endif
	/* A run ends here */
	:: true
	fi;
	position[s] = run_tail;
	if
	:: !signalled[s] ->
		ring[run_tail % SLOTS] = s;
#ifdef PUBLISH_EARLY
		run_tail++;
		verbs()
#else
		verbs();
#ifndef PUBLISH_REFUSED
		if
		:: !refused -> run_tail++
		:: else
		fi
#else
		run_tail++
#endif
#endif
	:: else -> verbs()
	fi
}

proctype suppress()
{
	byte turns, s;
	bool refused;

	do
	:: turns < TURNS ->
		lock();
		take(0);
		if
		:: s < SLOTS -> submit(true)
		:: else
		fi;
		unlock();
		turns++
	:: true -> break
	od;
	finished++
}

/* A post of a signalled request: without the lock, or with it if it gets no slot */
proctype signal()
{
	byte turns, s;
	bool refused;

	do
	:: turns < TURNS ->
#ifdef TAKE_LAST
		take(0);
#else
		take(1);
#endif
		if
		:: s < SLOTS ->
			quiet[s] = false;
			signalled[s] = true;
#ifdef END_LATE
			verbs();
			position[s] = run_tail
#else
			position[s] = run_tail;
			verbs()
#endif
		:: else ->
			lock();
			take(0);
			if
			:: s < SLOTS -> submit(false)
			:: else
			fi;
			unlock()
		fi;
		turns++
	:: true -> break
	od;
	finished++
}

active proctype device()
{
	byte s;
endd:
	do
	:: atomic { queue ? [s] ->
		queue ? s;
		if
		:: !broken ->
			if
			:: signalled[s] -> state[s] = EXECUTED; cq ! s
			:: else -> state[s] = DONE
			fi
#ifdef FAIL
		:: true -> broken = true; state[s] = FAILED; cq ! s
#endif
		fi
		}
	od
}

/* kdapl_run_release() */
inline release(upto)
{
	head = run_head;
	do
#ifdef NO_SIGN
	:: head != upto ->
#else
	:: head < upto ->
#endif
		x = ring[head % SLOTS];
		assert(state[x] == DONE);
		head++;
		put(x)
	:: else -> break
	od;
	run_head = head
}

/* kdapl_request_done() */
active proctype completion()
{
	byte s, x, head;
endc:
	do
	:: atomic { cq ? s -> handling = true }
		release(position[s]);
#ifndef NO_SKIP
		if
		:: !signalled[s] && position[s] + 1 > run_head -> run_head = position[s] + 1
		:: else
		fi;
#endif
		if
		:: state[s] == EXECUTED && quiet[s] -> put(s)
		:: else -> state[s] = EVENT
		fi;
		handling = false
	od
}

#ifdef DEQUEUE
active proctype dequeue()
{
endq:
	do
	:: state[0] == EVENT -> put(0)
	:: SLOTS > 1 && state[1 % SLOTS] == EVENT -> put(1 % SLOTS)
	:: SLOTS > 2 && state[2 % SLOTS] == EVENT -> put(2 % SLOTS)
	od
}
#endif

proctype checker()
{
	byte s, x, head;
	byte quietly;

	(finished == CPUS && empty(queue) && empty(cq) && !handling);
	d_step {
		do
		:: s < SLOTS ->
			if
			:: state[s] == DONE -> quietly++
			:: else
			fi;
			s++
		:: else -> break
		od;
		s = 0
	}
	/* Somebody can post, or nothing is owed to a post */
	assert(quietly == 0 || nfree > 0);
	/* The marker */
	release(run_tail);
	assert(run_head == run_tail);
	d_step {
		do
		:: s < SLOTS -> assert(state[s] == FREE || state[s] == EVENT); s++
		:: else -> break
		od;
		s = 0
	}
}

init {
	byte i;

	atomic {
		do
		:: i < SUPPRESS -> run suppress(); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SIGNAL -> run signal(); i++
		:: else -> break
		od;
		run checker()
	}
}
