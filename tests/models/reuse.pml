/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is reused without a grace period: connection requests.
 * kdapl_obj_get() against a request that is consumed, and the next request in the
 * same memory (cr.c: kdapl_cr_finish(); sp.c: kdapl_cr_recycle(); handle.c).
 *
 * There is one place in memory. The first request, handle 1, is consumed: it is
 * removed from the table, its references are waited for, and the place returns to
 * its service point. The next request uses the place and the index. Meanwhile two
 * calls look up handles: the old one, and a guess of the next one.
 *
 * Memory is not ordered: stores of the new request become visible in any order,
 * except for its barriers and the store of the entry (a release). An unordered load
 * may be executed as early as the first lookup.
 *
 * Checks: a lookup returns the object of its handle, which must be published. Each
 * request is consumed. No process hangs.
 *
 * Steps that can be removed:
 *   NO_RECHECK    no second lookup after the reference was taken
 *   HANDLE_ONLY   the second lookup reads only the handle, not the table
 *   RECHECK_EARLY the second lookup comes before the reference (no smp_rmb())
 */
#define NONE	0
#define PLACE	1
#define OLD	1
#define NEW	2

byte entry = PLACE;		/* of the index of both requests */
byte handle = OLD;
byte ref = 1;
byte users;
bool gone;
bool published = true;		/* the request in the place is in the table */
byte truly = OLD;		/* the request in the place */
bool free;			/* the place has no request */
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

/* kdapl_obj_lookup(); the loads are ordered, because the second depends on the first */
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

/* Runs when no other process can run; a remaining request can be consumed */
proctype checker()
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
		run checker()
	}
}
