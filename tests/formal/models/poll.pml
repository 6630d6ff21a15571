/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A Consumer in poll context that sleeps until it is woken (evd_poll.c, polled_cq.c, evd_work.c).
 *
 * Functions have the names of the sources without "kdapl_". What evd->lock guards, and a poll of
 * the CQ with its done callbacks under pcq->lock, is one step. Arming the CQ is one step, too:
 * litmus test evd-arm shows that drivers must order it. The upcall wakes the Consumer. There is no
 * timer, which would poll after a second and hide that nobody was woken.
 *
 * The CQ has EVENTS completions with an upcall, and QUIET without one. Another thread queues a
 * software event. MAX is the number of completions in one poll.
 *
 * Checks: all events are delivered, one upcall at a time, and the Consumer does not sleep for ever.
 *
 * Each #ifdef describes the step that it removes.
 */
#ifndef MAX
#define MAX	1
#endif
#define TOTAL	(EVENTS + 1)

/* The device */
byte cqe;			/* completions with an upcall in the CQ */
byte quiet;			/* and without one */
bool cq_armed;

/* The EVD */
byte queued;
bool owned;
bool armed, deliver;
bool ready, drained;		/* lists on which the CQ is */
bool work;			/* queued */

byte delivered;
byte upcalls;			/* currently running */
bool woken;

#define EMPTY	(cqe == 0 && quiet == 0)

/* Under the lock */
inline schedule()
{
	if
	:: armed ->
		armed = false;
#ifndef NO_DELIVER
		deliver = true;
#endif
		work = true
	:: else
	fi
}

/* kdapl_evd_queue(): an event with an upcall */
inline queue_event()
{
	d_step {
		queued++;
		if
		:: !owned -> schedule()
		:: else
		fi
	}
}

/* kdapl_polled_cq_handler() */
inline handler()
{
	d_step {
		if
		:: armed ->
#ifdef HANDLER_DISARMS
			/* Although the completion need not lead to an upcall */
			armed = false;
#endif
			ready = true;
			drained = false;
			work = true
		:: else
		fi
	}
}

/* kdapl_polled_cq_batch() of one completion, which may be none; got is its result */
inline batch()
{
	atomic {
		if
		:: EMPTY -> got = 0
		:: cqe > 0 ->
			got = 1;
			cqe--;
			queue_event()
		:: quiet > 0 -> got = 1; quiet--
		fi
	}
}

/* kdapl_evd_claim() */
inline claim()
{
	d_step {
		armed = false;
		deliver = false;
		mine = !owned;
		owned = true
	}
}

/* kdapl_evd_deliver() */
inline deliver_all()
{
	do
	:: atomic { queued == 0 -> owned = false; break }
	:: atomic { queued > 0 -> queued--; upcalls++; assert(upcalls == 1) };
		/* The Consumer's function */
		d_step { upcalls--; delivered++; woken = true }
	od
}

/* kdapl_evd_arm_drained(): with IB_CQ_REPORT_MISSED_EVENTS; again is its result */
inline arm_drained()
{
	again = false;
	atomic {
		if
		:: drained ->
			drained = false;
			cq_armed = true;
#ifndef NO_MISSED
			if
			:: !EMPTY -> ready = true; again = true
			:: else
			fi
#endif
		:: else
		fi
	}
}

active proctype device()
{
	byte i;

	do
	:: i < EVENTS + QUIET ->
		atomic {
			if
			:: i < QUIET -> quiet++
			:: else -> cqe++
			fi;
			i++
		};
		if
		:: atomic { cq_armed -> cq_armed = false }; handler()
		:: !cq_armed
		fi
	:: else -> break
	od
}

/* dat_evd_post_se() */
active proctype other()
{
	queue_event()
}

/* kdapl_evd_work() */
active proctype worker()
{
	bool mine, again;
	byte got;

end:
	do
	:: atomic { work -> work = false };
		/* kdapl_evd_poll_ready() */
		do
		:: atomic { ready -> ready = false };
			batch();
			d_step {
				if
				:: got == MAX -> ready = true
#ifdef NO_DRAINED
				/* A completion without an upcall uses up the arming of the CQ */
				:: else
#else
				:: else ->
					if
					:: !ready && armed -> drained = true
					:: else
					fi
#endif
				fi
			}
		:: !ready -> break
		od;
		/* kdapl_evd_claim_in_work() */
		atomic {
			mine = deliver && !owned;
			if
			:: mine -> owned = true
			:: else
			fi;
			deliver = false
		};
		if
		:: mine -> deliver_all()
		:: else
		fi;
		arm_drained();
		if
		:: again -> work = true
		:: else
		fi
	od
}

/* kdat_evd_poll() until nothing is left, then kdat_evd_arm(), then sleep */
active proctype consumer()
{
	bool mine, again;
	byte got;

	do
	:: delivered == TOTAL -> break
	:: else ->
		claim();
		batch();
		if
		:: mine
		:: !mine -> claim()
		fi;
		if
		:: mine -> deliver_all()
		:: else
		fi;
		if
		:: got == MAX -> skip
		:: else ->
			woken = false;
#ifdef CQ_FIRST
			/* Arms the CQ before the EVD */
			atomic { drained = true; ready = false };
			arm_drained();
#endif
			/* kdapl_evd_set_armed() */
			d_step {
#ifdef NO_DUE
				armed = true
#else
				armed = queued == 0
#endif
			};
			if
			:: !armed -> skip
			:: else ->
#ifndef CQ_FIRST
				atomic { drained = true; ready = false };
				arm_drained();
#endif
				if
				:: again -> armed = false
				/* The Consumer also checks what it waits for after it has armed */
				:: else -> (woken || delivered == TOTAL)
				fi
			fi
		fi
	od;
	assert(cqe == 0 && queued == 0)
}
