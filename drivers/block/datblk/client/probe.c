// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of a disk that spreads its queues over its paths: does a path that has failed work again?
 *
 * A work item of its own sends an old login over each path that has failed. The server refuses it,
 * so the session and its I/O notice nothing, but the refusal says whether the server would admit a
 * new one. If it would, the work item recover renews the session over all paths that work, when no
 * command is in flight.
 *
 * This does not promise that large packets arrive. So the time until the next probe doubles with
 * each attempt to renew the session, until a session begins more than a minute after the last one.
 * It also doubles while the server refuses logins, because it logs each of these.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include "client.h"

#define HOLD		HZ
#define HOLD_SHIFT_MAX	6U
#define PROVEN		(60 * HZ)

/**
 * datblk_probe_delay - the average time until the next probe
 * @remote: the server
 *
 * Context: any.
 * Return: jiffies.
 */
unsigned long datblk_probe_delay(const struct datblk_remote *remote)
{
	return HOLD << min(READ_ONCE(remote->renewals) + READ_ONCE(remote->refusals),
			   HOLD_SHIFT_MAX);
}

/**
 * datblk_probe_later - probe the paths that have failed, if queues would use them
 * @remote: a server with a session
 *
 * After a random delay, so that the disks of all clients do not renew their sessions together.
 *
 * Context: process.
 */
void datblk_probe_later(struct datblk_remote *remote)
{
	unsigned long delay = datblk_probe_delay(remote);

	if (datblk_paths_missing(remote))
		mod_delayed_work(system_long_wq, &remote->probe,
				 delay / 2 + get_random_u32() % delay);
}

/**
 * datblk_probe_session - a session has begun
 * @remote: the server
 *
 * Context: process, the owner of the session.
 */
void datblk_probe_session(struct datblk_remote *remote)
{
	if (time_after(jiffies, remote->renewed + PROVEN))
		WRITE_ONCE(remote->renewals, 0);
	datblk_probe_later(remote);
}

/**
 * datblk_probe_renewal - the session is about to be renewed, and requests are held back
 * @remote: the server
 *
 * Context: process, the owner of the session.
 */
void datblk_probe_renewal(struct datblk_remote *remote)
{
	remote->renewed = jiffies;
	WRITE_ONCE(remote->renewals, remote->renewals + 1);
}

/* Has the session ended, or is the leader leaving? The next session, or leader, probes again */
static bool datblk_probe_over(const struct datblk_remote *remote)
{
	return READ_ONCE(remote->state) != DATBLK_LIVE || READ_ONCE(remote->removed) ||
	       READ_ONCE(READ_ONCE(remote->leader)->deleting);
}

/**
 * datblk_probe_answered - take the answers to the probes of all paths
 * @remote:   the server
 * @statuses: of refusals, as bits
 *
 * Context: process, the work item probe.
 */
void datblk_probe_answered(struct datblk_remote *remote, unsigned long statuses)
{
	const unsigned long unlogged = BIT(DATBLK_ADMIT) | BIT(DATBLK_REFUSE_BUSY) |
				       BIT(DATBLK_REFUSE_LATE) | BIT(DATBLK_CHALLENGED);

	WRITE_ONCE(remote->refusals, statuses & ~unlogged ? remote->refusals + 1 : 0);
}

/**
 * datblk_probe - probe the paths that have failed
 * @work: in the server
 *
 * If the session ends meanwhile, the next one starts this work again.
 *
 * Context: process. Memory may only be free when the disk works, so allocations do not wait for
 * I/O.
 */
void datblk_probe(struct work_struct *work)
{
	struct datblk_remote *remote = container_of(to_delayed_work(work), struct datblk_remote,
						    probe);
	unsigned long failed = datblk_paths_failed(remote), statuses = 0;
	unsigned int noio = memalloc_noio_save(), status, i;

	for_each_set_bit(i, &failed, remote->path_count) {
		if (datblk_probe_over(remote))
			break;
		status = datblk_discover_probe(remote, &remote->paths[i]);
		statuses |= BIT(status);
		if (status == DATBLK_REFUSE_LATE || status == DATBLK_CHALLENGED)
			set_bit(i, &remote->answering);
	}
	memalloc_noio_restore(noio);
	datblk_probe_answered(remote, statuses);
	if (datblk_probe_over(remote))
		return;
	if (READ_ONCE(remote->answering))
		mod_delayed_work(datblk_wq, &remote->recover, 0);
	else
		datblk_probe_later(remote);
}
