/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Removal from the handle table and the grace period (handle.c, and the free calls
 * that use it): kdapl_obj_init(), _publish(), _kill_and_put(), _drain(),
 * kdapl_obj_lookup_any() in a read section, kdapl_obj_get().
 *
 * The table has one entry, and all processes know one handle. Two calls free its
 * object at the same time. A post uses the object inside a read section. A control
 * call takes a reference. A new object is created meanwhile; it reuses the index and
 * the memory as soon as they are free, and processes access it only by the old
 * handle. synchronize_rcu() waits for the read sections in progress; kfree_rcu()
 * frees memory after a grace period.
 *
 * Checks: no process accesses freed memory. A lookup returns the object of its
 * handle. The object is destroyed once, when no process uses it, and not while it
 * has users. No process hangs.
 *
 * Steps that can be removed:
 *   NO_GRACE      no grace period between removal from the table and destruction
 *   GRACE_FIRST   the grace period comes before the removal from the table
 *   NO_SECTION    the post has no read section
 *   NO_GET_RCU    kdapl_obj_get() has no read section
 *   NO_WAIT       references are not waited for
 *   INC_PLAIN     a reference is taken even if the count is 0
 *   NO_KILL       the count of users does not decide which call frees
 *   KILL_PLAIN    the count of users is checked and set in two steps
 *   INDEX_EARLY   the index is released before the entry is empty
 *   NO_GENERATION the next object of an index has the same handle
 *   PUBLISH_EARLY the entry is written before the object (no release)
 */
#define NONE	0
#define POSTS	1
#define DYING	100

typedef object {
	byte handle;
	byte ref;
	byte users;
	bool gone;
	bool freed;		/* back with the allocator */
	bool apart;		/* destroyed: its queues and QP are freed */
	byte inside;		/* number of processes that use its parts */
	byte needed;		/* real number of users, independent of users */
}

object obj[3];			/* 1 and 2; 0 is NONE */
byte entry;
bool index_used = true;
byte gen = 1;
byte destroyed;
byte finished;

/* Read sections: is the reader in one, and the number of ended ones */
#define READERS	4
bool in_rcu[READERS];
byte nth[READERS];

inline rcu_lock(r)
{
	in_rcu[r] = true
}

inline rcu_unlock(r)
{
	d_step { in_rcu[r] = false; nth[r]++ }
}

/* Waits for each section that was in progress when it began */
inline synchronize_rcu()
{
	atomic {
		i = 0;
		do
		:: i < READERS -> was[i] = in_rcu[i]; at[i] = nth[i]; i++
		:: else -> break
		od;
		i = 0
	}
	do
	:: i < READERS -> (!was[i] || nth[i] != at[i]); i++
	:: else -> break
	od;
	i = 0
}

inline use_parts(o)
{
	d_step { assert(!obj[o].apart && !obj[o].freed); obj[o].inside++ }
	d_step { assert(!obj[o].apart && !obj[o].freed); obj[o].inside-- }
}

/* kdapl_obj_get() of handle 1; on failure o is NONE */
inline get(r)
{
#ifndef NO_GET_RCU
	rcu_lock(r);
#endif
	o = entry;
	if
	:: o != NONE ->
		d_step {
			assert(!obj[o].freed);
			if
			:: obj[o].handle != 1 -> o = NONE
			:: else
			fi
		}
	:: else
	fi;
	if
	:: o != NONE ->
		d_step {
			assert(!obj[o].freed);
#ifdef INC_PLAIN
			obj[o].ref++;
#else
			if
			:: obj[o].ref == 0 -> o = NONE
			:: else -> obj[o].ref++
			fi
#endif
		}
	:: else
	fi;
#ifndef NO_GET_RCU
	rcu_unlock(r);
#endif
	assert(o == NONE || obj[o].handle == 1 && o == 1)
}

inline put(x)
{
	d_step {
		assert(!obj[x].freed);
		obj[x].ref--;
		if
		:: obj[x].ref == 0 -> obj[x].gone = true
		:: else
		fi
	}
}

/* A post: kdapl_obj_lookup_any(), and the verbs call */
proctype post()
{
	byte o;

#ifndef NO_SECTION
	rcu_lock(0);
#endif
	o = entry;
	if
	:: o != NONE ->
		d_step {
			assert(!obj[o].freed);
			if
			:: obj[o].handle != 1 -> o = NONE
			:: else -> assert(o == 1)
			fi
		};
		if
		:: o != NONE -> use_parts(o)
		:: else
		fi
	:: else
	fi;
#ifndef NO_SECTION
	rcu_unlock(0);
#endif
	finished++
}

/* A control call that creates an object, which uses this one for a while */
proctype control()
{
	byte o;
	bool used;

	get(1);
	if
	:: o != NONE ->
		use_parts(o);
		/* kdapl_obj_tryuse() */
		d_step {
			used = (obj[o].users < DYING);
			if
			:: used -> obj[o].users++; obj[o].needed++
			:: else
			fi
		};
		put(o);
		if
		:: used ->
			/* The new object uses this one */
			use_parts(o);
			d_step { assert(!obj[o].freed); obj[o].users--; obj[o].needed-- }
		:: else
		fi
	:: else
	fi;
	finished++
}

/* dat_*_free() */
proctype destroyer(byte me)
{
	byte o, i;
	bool mine;
	bool was[READERS];
	byte at[READERS];

	get(2 + me);
	if
	:: o == NONE -> goto out
	:: else
	fi;
#ifdef GRACE_FIRST
	synchronize_rcu();
#endif
	/* kdapl_obj_kill() */
#ifdef NO_KILL
	mine = true;
#else
#ifdef KILL_PLAIN
	mine = (obj[o].users == 0);
	if
	:: mine -> obj[o].users = DYING
	:: else
	fi;
#else
	d_step {
		mine = (obj[o].users == 0);
		if
		:: mine -> obj[o].users = DYING
		:: else
		fi
	};
#endif
#endif
	/* kdapl_obj_unpublish() */
	if
	:: mine ->
#ifdef INDEX_EARLY
		index_used = false;
#endif
		d_step {
			mine = (entry == o);
			if
			:: mine -> entry = NONE
			:: else
			fi
		}
#if !defined(INDEX_EARLY) && !defined(BY_WORK)
		if
		:: mine -> index_used = false
		:: else
		fi
#endif
	:: else
	fi;
	put(o);
	if
	:: !mine -> goto out
	:: else
	fi;
#if !defined(NO_GRACE) && !defined(GRACE_FIRST) && !defined(BY_WORK)
	synchronize_rcu();
#endif
	/* kdapl_obj_drain() */
	put(o);
#ifndef NO_WAIT
	(obj[o].gone);
#endif
#if defined(BY_WORK) && !defined(NO_GRACE)
	/* queue_rcu_work() */
	synchronize_rcu();
#endif
	d_step {
		assert(obj[o].inside == 0 && obj[o].needed == 0 && !obj[o].apart);
		obj[o].apart = true;
		destroyed++
	};
#ifdef BY_WORK
	index_used = false;
#endif
	obj[o].freed = true;
out:
	finished++
}

/* Creates an object with the same index, and the same memory if that is free */
proctype constructor()
{
	byte o, h;

	atomic {
		if
		:: !index_used -> index_used = true; gen++
		:: finished == 4 -> goto out
		fi
	};
	if
	:: obj[1].freed -> o = 1
	:: o = 2
	fi;
#ifdef NO_GENERATION
	h = 1;
#else
	h = gen;
#endif
#ifdef PUBLISH_EARLY
	/* Stores before the entry, including kzalloc(), become visible after it */
	obj[o].freed = false;
	entry = o;
#else
	d_step { obj[o].freed = false; obj[o].handle = 0 };
#endif
	d_step { obj[o].handle = h; obj[o].ref = 1; obj[o].users = 0; obj[o].gone = false };
	obj[o].apart = false;
#ifndef PUBLISH_EARLY
	assert(entry == NONE);
	entry = o;
#endif
out:
	finished++
}

/* Runs when no other process can run; no process may hang */
proctype checker()
{
	timeout;
	assert(finished == 5);
	assert(destroyed <= 1);
	/* The object stays only if both calls checked its users before they were released */
	assert(destroyed == 1 || entry == 1 && !obj[1].apart)
}

init {
	atomic {
		obj[1].handle = 1;
		obj[1].ref = 1;
		entry = 1;
		obj[2].freed = true;
		run post();
		run control();
		run destroyer(0);
		run destroyer(1);
		run constructor();
		run checker()
	}
}
