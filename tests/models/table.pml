/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Leaving the table and the grace period (handle.c, and the free calls that use
 * it): kdapl_obj_init(), _publish(), _retire(), _wait(), kdapl_obj_find() in a
 * read section, kdapl_obj_get().
 *
 * One entry of the table, one handle of it that everybody knows. Two calls free
 * that object at once; a post uses it inside a read section; a control call
 * takes a reference; a third object is made meanwhile, which gets the index as
 * soon as it is free and the memory as soon as that is, and its handle is tried
 * by nobody but with the old one. synchronize_rcu() waits for the read sections
 * that are under way; memory is freed by kfree_rcu(), a grace period later.
 *
 * What must hold: nobody looks at freed memory; who has found the object by a
 * handle has the object of that handle; it is taken apart once, when nobody
 * uses it; with users it is not freed; at the end nothing hangs.
 *
 * What can be taken out:
 *   NO_GRACE      no grace period between leaving the table and taking apart
 *   GRACE_FIRST   the grace period comes before the object leaves the table
 *   NO_SECTION    the post has no read section
 *   NO_GET_RCU    kdapl_obj_get() has none
 *   NO_WAIT       references are not waited for
 *   INC_PLAIN     a reference is taken whether there is one left or not
 *   NO_KILL       who may free is not decided by the count of users
 *   KILL_PLAIN    it is, but in two steps
 *   INDEX_EARLY   the index is given back before the entry is empty
 *   NO_GENERATION the next object of an index has the same handle
 *   PUBLISH_EARLY the entry is written before the object is (no release)
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
	bool apart;		/* its parts are gone: queues, QP */
	byte inside;		/* who is using its parts */
	byte needed;		/* by how many objects, whatever the count says */
}

object obj[3];			/* 1 and 2; entry 0 is "no object" */
byte entry;
bool index_used = true;
byte gen = 1;
byte destroyed;
byte finished;

/* Read sections: whether in one, and how many there were */
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

/* Waits for each section that was under way when it began */
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

/* kdapl_obj_get() of handle 1; o is 0 without success */
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
	/* The second comparison is reuse.pml's */
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

/* A post: kdapl_obj_find(), and the verbs call */
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

/* A control call, which makes something that needs the object for a while */
proctype control()
{
	byte o;
	bool used;

	get(1);
	if
	:: o != NONE ->
		use_parts(o);
		/* kdapl_obj_use() */
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
			/* It has an object of its own now, which needs this one */
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
	/* kdapl_obj_wait() */
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

/* A constructor: the same index, and the same memory if that is free */
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
	/* kzalloc() and what stands before the entry, seen after it */
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

/* Nothing hangs: this runs when nothing else can */
proctype judge()
{
	timeout;
	assert(finished == 5);
	assert(destroyed <= 1);
	/* Users gone, and both calls too late to see that, is the only way to stay */
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
		run judge()
	}
}
