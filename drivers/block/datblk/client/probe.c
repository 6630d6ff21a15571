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
 * @disk: the disk
 *
 * Context: any.
 * Return: jiffies.
 */
unsigned long datblk_probe_delay(const struct datblk_disk *disk)
{
	return HOLD << min(READ_ONCE(disk->renewals) + READ_ONCE(disk->refusals), HOLD_SHIFT_MAX);
}

/**
 * datblk_probe_later - probe the paths that have failed, if queues would use them
 * @disk: a disk with a session
 *
 * After a random delay, so that the disks of all clients do not renew their sessions together.
 *
 * Context: process.
 */
void datblk_probe_later(struct datblk_disk *disk)
{
	unsigned long delay = datblk_probe_delay(disk);

	if (datblk_paths_missing(disk))
		mod_delayed_work(system_long_wq, &disk->probe,
				 delay / 2 + get_random_u32() % delay);
}

/**
 * datblk_probe_session - a session has begun
 * @disk: the disk
 *
 * Context: process, the owner of the session.
 */
void datblk_probe_session(struct datblk_disk *disk)
{
	if (time_after(jiffies, disk->renewed + PROVEN))
		WRITE_ONCE(disk->renewals, 0);
	datblk_probe_later(disk);
}

/**
 * datblk_probe_renewal - the session is about to be renewed, and requests are held back
 * @disk: the disk
 *
 * Context: process, the owner of the session.
 */
void datblk_probe_renewal(struct datblk_disk *disk)
{
	disk->renewed = jiffies;
	WRITE_ONCE(disk->renewals, disk->renewals + 1);
}

/**
 * datblk_probe_answered - take the answers to the probes of all paths
 * @disk:     the disk
 * @statuses: of refusals, as bits
 *
 * Context: process, the work item probe.
 */
void datblk_probe_answered(struct datblk_disk *disk, unsigned long statuses)
{
	const unsigned long unlogged = BIT(DATBLK_ADMIT) | BIT(DATBLK_REFUSE_BUSY) |
				       BIT(DATBLK_REFUSE_LATE) | BIT(DATBLK_CHALLENGED);

	WRITE_ONCE(disk->refusals, statuses & ~unlogged ? disk->refusals + 1 : 0);
}

/**
 * datblk_probe - probe the paths that have failed
 * @work: in the disk
 *
 * If the session ends meanwhile, the next one starts this work again.
 *
 * Context: process. Memory may only be free when the disk works, so allocations do not wait for
 * I/O.
 */
void datblk_probe(struct work_struct *work)
{
	struct datblk_disk *disk = container_of(to_delayed_work(work), struct datblk_disk, probe);
	unsigned long failed = datblk_paths_failed(disk), statuses = 0;
	unsigned int noio = memalloc_noio_save(), status, i;

	for_each_set_bit(i, &failed, disk->path_count) {
		if (READ_ONCE(disk->state) != DATBLK_LIVE || READ_ONCE(disk->deleting))
			break;
		status = datblk_discover_probe(disk, &disk->paths[i]);
		statuses |= BIT(status);
		if (status == DATBLK_REFUSE_LATE || status == DATBLK_CHALLENGED)
			set_bit(i, &disk->answering);
	}
	memalloc_noio_restore(noio);
	datblk_probe_answered(disk, statuses);
	if (READ_ONCE(disk->state) != DATBLK_LIVE || READ_ONCE(disk->deleting))
		return;
	if (READ_ONCE(disk->answering))
		mod_delayed_work(datblk_wq, &disk->recover, 0);
	else
		datblk_probe_later(disk);
}
