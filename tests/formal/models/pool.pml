/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack of free slots (pool.h): kdapl_pool_take(), kdapl_pool_put(), and
 * with CLOSE kdapl_pool_close() (pool.c) and the replacement of the slots by
 * dat_ep_modify().
 *
 * PROCS CPUs take and put slots of one pool in any order, each at most TURNS times.
 * Loads of the head and of a slot's link, and the cmpxchg, are separate steps.
 * Plain stores (the word and the link of a slot) stay in a store buffer of their
 * CPU until a barrier of that CPU, or for any time, so that a missing barrier has
 * an effect. A CPU sees its own stores at once.
 *
 * A word is tag * 4 + slot; slot 3 is the end of the stack. Tags do not wrap within
 * a run.
 *
 * CLOSE: a process closes the pool once, if no slot is in use, and replaces the slots and the
 * head in front of them. It waits for the processes that have read the address of the old ones,
 * adds the new slots one by one, with the same initial words, and frees the old ones. Takes and
 * puts are read sections.
 *
 * Checks: a slot has at most one owner. At the end each slot is on the stack once.
 * No slot of a closed pool has an owner, and nobody reads a stack that was freed.
 *
 * Steps that can be removed:
 *   NO_TAG        the tag is not incremented
 *   TAKE_BLIND    take stores the head without comparing it
 *   HEAD_TWICE    take reads the head twice (no READ_ONCE)
 *   LINK_LATE     put links the slot after it has become the head
 *   LINK_ONCE     put does not update the link after a failed cmpxchg
 *   PUT_RELAXED   the cmpxchg of put does not order earlier stores
 *   CLOSE_BLIND   close stores the head without comparing it
 *   CLOSE_UNSEEN  close does not check that all slots are on the stack
 *   CLOSE_AT_ONCE close does not wait before the old slots are freed
 * The model has no error without this one, because the compare of the head
 * validates the early load:
 *   TAKE_RELAXED  the cmpxchg of take does not order later loads
 */
#ifndef PROCS
#define PROCS	2
#endif
#ifndef SLOTS
#define SLOTS	3
#endif
#ifndef TURNS
#define TURNS	3
#endif
#define END	3

#ifdef CLOSE
#define ARRAYS	2	/* the slots before and after the replacement */
#else
#define ARRAYS	1
#endif
#define ALL	(ARRAYS * SLOTS)

byte base;			/* which array */
byte head[ARRAYS];
byte word[ALL];			/* in memory */
byte link[ALL];
byte wbuf[PROCS * ALL];		/* in the store buffers; NOTHING: empty */
byte lbuf[PROCS * ALL];
byte owner[ALL];		/* CPU + 1 */
byte finished;
bool freed;			/* the first array */

#ifdef CLOSE
#define CPUS	(PROCS + 1)
/* Read sections: is the CPU in one, and a bit that distinguishes it from the next */
bool in_rcu[PROCS];
bool nth[PROCS];
#define RCU_LOCK	in_rcu[me] = true
#define RCU_UNLOCK	atomic { in_rcu[me] = false; nth[me] = !nth[me] }
#else
#define CPUS	PROCS
#define RCU_LOCK	skip
#define RCU_UNLOCK	skip
#endif

#define NOTHING		255
#define AT(cpu, slot)	((cpu) * ALL + (slot))
#define SEEN(mem, buf, cpu, s)	(buf[AT(cpu, s)] != NOTHING -> buf[AT(cpu, s)] : mem[s])

/* Moves the stores of a slot from the buffer to memory */
inline leave(i)
{
	if
	:: wbuf[i] != NOTHING -> word[(i) % ALL] = wbuf[i]; wbuf[i] = NOTHING
	:: else
	fi;
	if
	:: lbuf[i] != NOTHING -> link[(i) % ALL] = lbuf[i]; lbuf[i] = NOTHING
	:: else
	fi
}

/* A full barrier of a CPU */
inline barrier(cpu)
{
	i = 0;
	do
	:: i < ALL -> leave(AT(cpu, i)); i++
	:: else -> break
	od;
	i = 0
}

/* Moves stores from the buffers to memory in any order */
active proctype memory()
{
	byte i;
end:
	do
	:: d_step { wbuf[i] != NOTHING -> word[i % ALL] = wbuf[i]; wbuf[i] = NOTHING }
	:: d_step { lbuf[i] != NOTHING -> link[i % ALL] = lbuf[i]; lbuf[i] = NOTHING }
	:: i = (i + 1) % (PROCS * ALL)
	od
}

/* kdapl_pool_take() */
inline take()
{
	b = base;
	h = head[b];
	assert(b != 0 || !freed);
	done = false;
	do
	:: done -> break
	:: !done && h % 4 == END -> break
	:: !done && h % 4 != END ->
		s = b * SLOTS + h % 4;
		below = SEEN(link, lbuf, me, s);
#ifdef HEAD_TWICE
		h = head[b];
#endif
#ifdef TAKE_RELAXED
		/* The load of kdapl_pool_put(), made early */
		early[s] = SEEN(word, wbuf, me, s);
#endif
		atomic {
#ifdef TAKE_BLIND
			done = true;
#else
			done = (head[b] == h);
#endif
			h = head[b];
			assert(b != 0 || !freed);
			if
			:: done ->
				barrier(me);
				head[b] = below;
				assert(owner[s] == 0);
				owner[s] = me + 1;
				takes++
			:: else
			fi
		}
	od
}

/* kdapl_pool_put() of slot s */
inline put()
{
	d_step {
#ifdef TAKE_RELAXED
		w = early[s];
#else
		w = SEEN(word, wbuf, me, s);
#endif
#ifndef NO_TAG
		w = w + 4;
#endif
		wbuf[AT(me, s)] = w;
		puts++
	}
	b = s / SLOTS;
	h = head[b];
	done = false;
#ifndef LINK_LATE
	lbuf[AT(me, s)] = h;
#endif
	do
	:: done -> break
	:: !done ->
		atomic {
			done = (head[b] == h);
			if
			:: done ->
#ifndef PUT_RELAXED
				barrier(me);
#endif
				head[b] = w;
				owner[s] = 0
			:: else -> h = head[b]
			fi
		}
#if !defined(LINK_ONCE) && !defined(LINK_LATE)
		if
		:: !done -> lbuf[AT(me, s)] = h
		:: else
		fi
#endif
	od
#ifdef LINK_LATE
	lbuf[AT(me, s)] = h
#endif
}

proctype cpu(byte me)
{
	byte takes, puts, b, s, h, below, w, i;
	bool done;
#ifdef TAKE_RELAXED
	byte early[ALL];
#endif

	do
	:: takes < TURNS -> RCU_LOCK; take(); RCU_UNLOCK
	:: takes == TURNS && puts == takes -> break
	:: owner[0] == me + 1 -> s = 0; RCU_LOCK; put(); RCU_UNLOCK
	:: ALL > 1 && owner[1 % ALL] == me + 1 -> s = 1; RCU_LOCK; put(); RCU_UNLOCK
	:: ALL > 2 && owner[2 % ALL] == me + 1 -> s = 2; RCU_LOCK; put(); RCU_UNLOCK
	:: ALL > 3 && owner[3 % ALL] == me + 1 -> s = 3; RCU_LOCK; put(); RCU_UNLOCK
	od;
	finished++
}

#ifdef CLOSE
/* kdapl_pool_close(); closed: no slot can be taken */
inline close()
{
	h = head[0];
	w = h;
	n = 0;
#ifndef CLOSE_UNSEEN
	do
	:: n < SLOTS && w % 4 != END -> w = link[w % 4]; n++
	:: n == SLOTS || w % 4 == END -> break
	od;
	if
	:: n < SLOTS -> goto out
	:: else
	fi;
#endif
	atomic {
#ifdef CLOSE_BLIND
		closed = true;
#else
		closed = (head[0] == h);
#endif
		if
		:: closed ->
			head[0] = END;
			n = 0;
			do
			:: n < SLOTS -> assert(owner[n] == 0); n++
			:: else -> break
			od
		:: else -> goto out
		fi
	}
}

inline synchronize_rcu()
{
	atomic {
		n = 0;
		do
		:: n < PROCS -> was[n] = in_rcu[n]; at[n] = nth[n]; n++
		:: else -> break
		od;
		n = 0
	}
	do
	:: n < PROCS -> (!was[n] || !in_rcu[n] || nth[n] != at[n]); n++
	:: else -> break
	od
}

proctype closer()
{
	byte h, w, n;
	bool closed;
	bool was[PROCS], at[PROCS];

	close();
	/* kdapl_pool_swap() */
	base = 1;
#ifndef CLOSE_AT_ONCE
	synchronize_rcu();
#endif
	/* kdapl_pool_put() of each slot, in descending order */
	n = SLOTS;
	do
	:: n > 0 ->
		n--;
		atomic { word[SLOTS + n] = n; link[SLOTS + n] = head[1]; head[1] = n }
	:: else -> break
	od;
	freed = true;
out:
	finished++
}
#endif

/* Each slot is on the stack once */
proctype checker()
{
	byte i, s, n;

	finished == CPUS;
	d_step {
		i = 0;
		do
		:: i < PROCS * ALL -> leave(i); i++
		:: else -> break
		od;
		s = head[base] % 4;
		do
		:: s == END -> break
		:: s != END && n > SLOTS -> break
		:: else -> n++; s = link[base * SLOTS + s] % 4
		od;
		assert(n == SLOTS)
	}
}

init {
	byte i;

	d_step {
		do
		:: i < PROCS * ALL -> wbuf[i] = NOTHING; lbuf[i] = NOTHING; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < ARRAYS -> head[i] = END; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SLOTS -> word[i] = i; link[i] = head[0]; head[0] = word[i]; i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		do
		:: i < PROCS -> run cpu(i); i++
		:: else -> break
		od;
#ifdef CLOSE
		run closer();
#endif
		run checker()
	}
}
