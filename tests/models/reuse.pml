/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that has a new owner without a grace period: connection requests.
 * kdapl_obj_get() against a request that is consumed, and the next one at the
 * same place (cr.c: kdapl_cr_work(), kdapl_sp_recycle(); handle.c).
 *
 * One place. The first request, handle 1, is consumed: it leaves the table, its
 * references are waited for, the place goes back to its service point. The next
 * request to come takes the place, and the index if it likes. Meanwhile two
 * calls look up handles: the old one, and one that they guess, the next.
 *
 * Memory is not in order: what the new owner stores becomes visible in any
 * order, but for its barriers and for the store of the entry (a release); a load
 * that nothing orders may have been made as early as the first lookup.
 *
 * What must hold: who gets an object has that of the handle, and one that was
 * published; each object is consumed; at the end nothing hangs.
 *
 * What can be taken out:
 *   NO_RECHECK    who has a reference does not look again
 *   HANDLE_ONLY   it looks at the handle again, not at the table
 *   RECHECK_EARLY it looks again before it has the reference (no smp_rmb())
 */
#define NONE	0
#define PLACE	1
#define OLD	1
#define NEW	2

byte entry = PLACE;		/* of the index, which both have */
byte handle = OLD;
byte ref = 1;
byte users;
bool gone;
bool published = true;		/* what stands in the place is in the table */
byte truly = OLD;		/* whose the place is */
bool free;			/* nobody's */
bool consumed[3];
byte finished;

inline put()
{
	d_step {
		assert(ref > 0);
		ref--;
		if
		:: ref == 0 -> gone = true
		:: else
		fi
	}
}

/* kdapl_obj_lookup(), loads in order: the second depends on the first */
inline lookup(found, name)
{
	found = entry;
	if
	:: found != NONE -> found = (handle == name -> PLACE : NONE)
	:: else
	fi
}

/* kdapl_obj_get() */
inline get(h)
{
	lookup(o, h);
	if
	:: o == NONE -> again = NONE
	:: else ->
#ifdef HANDLE_ONLY
#define LOOK_AGAIN	again = (handle == h -> PLACE : NONE)
#else
#define LOOK_AGAIN	lookup(again, h)
#endif
#ifdef RECHECK_EARLY
		LOOK_AGAIN;
#endif
		d_step {
			if
			:: ref == 0 -> o = NONE
			:: else -> ref++
			fi
		}
#ifdef NO_RECHECK
		again = o;
#else
#ifndef RECHECK_EARLY
		LOOK_AGAIN;
#endif
#endif
		if
		:: o != NONE && again != o -> put(); o = NONE
		:: else
		fi
	fi;
	assert(o == NONE || truly == h && published && !free)
}

/* dat_cr_accept(), or _reject() */
inline consume(h)
{
	get(h);
	if
	:: o != NONE ->
		/* kdapl_obj_kill() */
		d_step { mine = (users == 0); users = (mine -> 100 : users) }
		if
		:: mine ->
			/* kdapl_obj_unpublish() */
			d_step {
				mine = (entry == PLACE);
				if
				:: mine -> entry = NONE
				:: else
				fi
			}
		:: else
		fi;
		put();
		if
		:: mine ->
			put();
			(gone);
			d_step {
				assert(ref == 0 && !free && truly == h);
				consumed[truly] = true;
				free = true
			}
		:: else
		fi
	:: else
	fi
}

proctype call(byte handle_tried)
{
	byte o, again;
	bool mine;

	consume(handle_tried);
	finished++
}

/* dat_cr_query() */
proctype query(byte handle_tried)
{
	byte o, again;

	get(handle_tried);
	if
	:: o != NONE -> put()
	:: else
	fi;
	finished++
}

/* Stores of kdapl_obj_init() and kdapl_obj_publish() of the next request */
proctype arrival()
{
	bool a, b, c;

	(free);
	atomic { free = false; truly = NEW; published = false }
	do
	:: !a -> handle = NEW; a = true
	:: !b -> ref = 1; b = true
	:: !c -> d_step { users = 0; gone = false }; c = true
	:: a && b && c -> break
	od;
	atomic { entry = PLACE; published = true };
	finished++
}

/* When nothing else can run: what is left can be consumed */
proctype judge()
{
	byte o, again;
	bool mine;

	timeout;
	assert(finished == 6 && consumed[OLD]);
	if
	:: !consumed[NEW] -> consume(NEW)
	:: else
	fi;
	assert(consumed[NEW])
}

init {
	atomic {
		run call(OLD);
		run query(OLD);
		run query(NEW);
		run call(NEW);
		run call(OLD);
		run arrival();
		run judge()
	}
}
