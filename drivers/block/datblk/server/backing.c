// SPDX-License-Identifier: GPL-2.0
/*
 * The block device or regular file behind an export. Reads and writes of a block device are
 * bios and end in any context; everything else sleeps, and has a work item of its own.
 */
#include <linux/blkdev.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "server.h"
#include "protocol/trace.h"

/*
 * Others may have left data in the page cache of the device: dirty ones would overwrite those of
 * the clients later, clean ones would hide them from local readers.
 */
static int datblk_bdev_write_back(struct block_device *bdev)
{
	int err = sync_blockdev(bdev);

	if (!err)
		invalidate_bdev(bdev);
	return err;
}

static int datblk_backing_describe_bdev(struct block_device *bdev, struct datblk_geometry *geo)
{
	/* The protocol has neither zones nor the order of writes that they need */
	if (bdev_is_zoned(bdev))
		return -EINVAL;
	geo->logical = bdev_logical_block_size(bdev);
	geo->physical = min_t(u32, bdev_physical_block_size(bdev), DATBLK_IO_MAX);
	if (bdev_write_cache(bdev))
		geo->flags |= DATBLK_WRITE_CACHE;
	if (bdev_rot(bdev))
		geo->flags |= DATBLK_ROTATIONAL;
	if (bdev_stable_writes(bdev))
		geo->flags |= DATBLK_STABLE_WRITES;
	if (bdev_max_discard_sectors(bdev)) {
		geo->flags |= DATBLK_CAN_DISCARD;
		geo->discard_sectors = datblk_range_limit(bdev_max_discard_sectors(bdev),
							  geo->logical);
		geo->discard_granularity = roundup(bdev_discard_granularity(bdev) ?: geo->physical,
						   geo->logical);
	}
	/* If the device has no such operation, the server writes zeroes */
	geo->flags |= DATBLK_CAN_ZEROES;
	geo->zeroes_sectors = datblk_range_limit(bdev_write_zeroes_sectors(bdev), geo->logical);
	return datblk_bdev_write_back(bdev);
}

/*
 * The data of a command begin at a multiple of a sector. A file system that does not say what it
 * needs gets whole blocks.
 */
static int datblk_backing_direct_unit(struct file *file)
{
	struct kstat stat;
	int err = vfs_getattr(&file->f_path, &stat, STATX_DIOALIGN, AT_STATX_SYNC_AS_STAT);

	if (err)
		return err;
	if (!(stat.result_mask & STATX_DIOALIGN))
		return file_inode(file)->i_sb->s_blocksize;
	if (!stat.dio_offset_align || stat.dio_mem_align > DATBLK_SECTOR)
		return -EOPNOTSUPP;
	return stat.dio_offset_align;
}

static int datblk_backing_describe_file(struct file *file, struct datblk_geometry *geo)
{
	int unit = file->f_flags & O_DIRECT ? datblk_backing_direct_unit(file) : DATBLK_SECTOR;
	struct inode *inode = file_inode(file);

	if (unit < 0)
		return unit;
	if (!file->f_op->read_iter || !file->f_op->write_iter)
		return -EINVAL;
	geo->logical = max(unit, DATBLK_SECTOR);
	geo->physical = max_t(u32, geo->logical, DATBLK_IO_UNIT);
	geo->flags |= DATBLK_WRITE_CACHE;
	if (file->f_op->fallocate) {
		geo->flags |= DATBLK_CAN_DISCARD | DATBLK_CAN_ZEROES;
		geo->discard_sectors = datblk_range_limit(U64_MAX, geo->logical);
		geo->discard_granularity = max_t(u32, inode->i_sb->s_blocksize, geo->logical);
		geo->zeroes_sectors = geo->discard_sectors;
	}
	return 0;
}

/**
 * datblk_backing_capacity - how large is the device or file now?
 * @export: an export with the block size of @file
 * @file:   its file
 *
 * Context: any.
 * Return: sectors, whole blocks.
 */
u64 datblk_backing_capacity(const struct datblk_export *export, const struct file *file)
{
	u64 bytes = export->bdev ? bdev_nr_bytes(export->bdev) : i_size_read(file_inode(file));

	return round_down(bytes / DATBLK_SECTOR, export->geo.logical / DATBLK_SECTOR);
}

static int datblk_backing_describe(struct datblk_export *export, struct file *file)
{
	struct inode *inode = file->f_mapping->host;
	struct datblk_geometry *geo = &export->geo;
	int err = -EINVAL;

	*geo = (struct datblk_geometry){ .flags = export->read_only ? DATBLK_READONLY : 0 };
	export->bdev = S_ISBLK(inode->i_mode) ? I_BDEV(inode) : NULL;
	if (export->bdev)
		err = datblk_backing_describe_bdev(export->bdev, geo);
	else if (S_ISREG(inode->i_mode))
		err = datblk_backing_describe_file(file, geo);
	if (err)
		return err;
	geo->capacity = datblk_backing_capacity(export, file);
	return geo->capacity && geo->capacity <= DATBLK_SECTOR_MAX &&
	       geo->logical <= DATBLK_IO_UNIT ? 0 : -EINVAL;
}

/* In a kernel thread, fput() defers the final close to another work item: close synchronously */
static void datblk_close_file(struct file *file)
{
	get_file(file);
	filp_close(file, NULL);
	__fput_sync(file);
}

/*
 * The open of a FIFO, or of a character device, might never end. What is opened is what was looked
 * at, even if the path names something else meanwhile.
 */
static struct file *datblk_open_file(struct datblk_export *export, int flags)
{
	struct file *found = file_open_root(&export->root, export->path, O_PATH, 0), *file;
	umode_t mode;

	if (IS_ERR(found))
		return found;
	mode = file_inode(found)->i_mode;
	file = S_ISREG(mode) || S_ISBLK(mode) ? file_open_root(&found->f_path, "", flags, 0) :
						ERR_PTR(-EINVAL);
	__fput_sync(found);
	return file;
}

/**
 * datblk_backing_open - open the path of an export
 * @export: an export in state OPENING; its file, bdev and geo are written
 *
 * A block device is opened exclusively, and so is a file among the exports, unless all users
 * only read it.
 *
 * Context: process, a work item.
 *
 * Return: 0; -EBUSY if another one uses the path; -EINVAL if it cannot be exported; or another
 * error code.
 */
int datblk_backing_open(struct datblk_export *export)
{
	int flags = (export->read_only ? O_RDONLY : O_RDWR) | (export->direct ? O_DIRECT : 0) |
		    O_LARGEFILE | O_EXCL;
	struct file *file = datblk_open_file(export, flags);
	int err;

	if (IS_ERR(file))
		return PTR_ERR(file);
	err = datblk_backing_describe(export, file);
	/* Also reports an earlier error that nobody has seen */
	export->wb_err = errseq_sample(&file->f_mapping->wb_err);
	if (!err)
		err = datblk_export_claim(export, file);
	if (err) {
		export->bdev = NULL;
		datblk_close_file(file);
	}
	return err;
}

/*
 * Writes back a range, and flushes the device. export.c explains why flushes are serialized. If a
 * flush of the whole device has begun since the call, it covers this one, so this one is skipped.
 * If that flush failed, the connection has ended, so the success returned here reaches no client.
 */
static int datblk_backing_flush(struct datblk_export *export, loff_t first, loff_t last)
{
	unsigned int begun;
	int err = 0;

	/* Pairs with smp_store_mb() below: a flush that is not counted yet finds our dirty pages */
	smp_mb();
	begun = READ_ONCE(export->flushes);
	mutex_lock(&export->flush_lock);
	if (export->flushes == begun) {
		if (export->bdev || last == LLONG_MAX)
			/* Pairs with smp_mb() above */
			smp_store_mb(export->flushes, begun + 1);
		err = vfs_fsync_range(export->file, first, last, 0);
		mutex_lock(&datblk_srv_lock);
		err = datblk_export_lost_writes(export, err);
		mutex_unlock(&datblk_srv_lock);
	}
	mutex_unlock(&export->flush_lock);
	return err;
}

/**
 * datblk_backing_close - write everything back, and close the file of an export
 * @export: an export in state CLOSING, without connections
 *
 * Context: process, a work item. The file is closed when this returns.
 */
void datblk_backing_close(struct datblk_export *export)
{
	struct file *file = export->file;

	if (file->f_mode & FMODE_WRITE)
		datblk_backing_flush(export, 0, LLONG_MAX);
	/* Local readers may have read it meanwhile */
	if (export->bdev)
		invalidate_bdev(export->bdev);
	mutex_lock(&datblk_srv_lock);
	export->bdev = NULL;
	export->file = NULL;
	mutex_unlock(&datblk_srv_lock);
	datblk_close_file(file);
}

/* The I/O of a command has ended. Any context, also hard interrupt */
static void datblk_backing_done(struct datblk_srv_command *cmd, int err)
{
	struct datblk_srv_login *login = cmd->login;
	const struct datblk_login *req = &login->req;

	cmd->status = datblk_status(err);
	trace_datblk_srv_io_done(req->host, req->disk, req->queue, cmd->c.tag, cmd->status);
	datblk_cmd_done(cmd);
	datblk_conn_put_login(login);
}

static bool datblk_is_read_write(const struct datblk_srv_command *cmd)
{
	return cmd->c.op == DATBLK_OP_READ || cmd->c.op == DATBLK_OP_WRITE;
}

/*
 * A client does not flush a device that had no write cache when it was enabled. If one is switched
 * on later, each write is flushed.
 */
static bool datblk_backing_needs_flush(const struct datblk_srv_command *cmd)
{
	const struct datblk_srv_login *login = cmd->login;

	return cmd->c.flags & DATBLK_FUA ||
	       (cmd->c.op != DATBLK_OP_READ && !(login->geo.flags & DATBLK_WRITE_CACHE) &&
		bdev_write_cache(login->export->bdev));
}

static void datblk_bio_done(struct bio *bio)
{
	struct datblk_srv_command *cmd = container_of(bio, struct datblk_srv_command, bio);
	int err = blk_status_to_errno(bio->bi_status);
	/* EOPNOTSUPP: this device supports REQ_NOWAIT, but a device below it does not */
	bool wait = bio->bi_opf & REQ_NOWAIT && (err == -EAGAIN || err == -EOPNOTSUPP);

	bio_uninit(bio);
	cmd->written = !err && datblk_backing_needs_flush(cmd);
	if (wait || cmd->written)
		queue_work(cmd->login->export->io_wq, &cmd->work);
	else
		datblk_backing_done(cmd, err);
}

/*
 * The data of a command as pages. Returns their number. Those of a data buffer are whole pages: the
 * length of the command ends the last one.
 */
static unsigned int datblk_backing_map(struct datblk_srv_command *cmd)
{
	u32 left = cmd->c.length;
	unsigned int count = 0;
	void *at;

	if (cmd->buffer >= 0) {
		cmd->vecs = cmd->conn->pages[cmd->buffer];
		return DIV_ROUND_UP(left, PAGE_SIZE);
	}
	cmd->vecs = cmd->inlined;
	at = cmd->conn->receives.regions[cmd->receive].address + cmd->c.offset;
	while (left) {
		u32 part = min_t(u32, left, PAGE_SIZE - offset_in_page(at));

		cmd->inlined[count++] = (struct bio_vec){
			.bv_page = vmalloc_to_page(at),
			.bv_len = part,
			.bv_offset = offset_in_page(at),
		};
		at += part;
		left -= part;
	}
	return count;
}

/*
 * nowait: REQ_NOWAIT, or 0 if the caller may wait until the device has room. The upcalls of a
 * connection may not, because they also answer pings.
 */
static void datblk_backing_submit_read_write(struct datblk_srv_command *cmd, blk_opf_t nowait)
{
	blk_opf_t opf = cmd->c.op == DATBLK_OP_READ ? REQ_OP_READ :
		REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
	unsigned int pages = datblk_backing_map(cmd);

	bio_init(&cmd->bio, cmd->login->export->bdev, cmd->vecs, pages, opf | nowait);
	cmd->bio.bi_vcnt = pages;
	cmd->bio.bi_iter.bi_size = cmd->c.length;
	cmd->bio.bi_iter.bi_sector = cmd->c.sector;
	cmd->bio.bi_end_io = datblk_bio_done;
	submit_bio(&cmd->bio);
}

/* REQ_NOWAIT fails if the block layer has to split the bio. Each page may be a segment */
static bool datblk_backing_fits(struct block_device *bdev, u32 length)
{
	const struct request_queue *q = bdev_get_queue(bdev);

	return length / DATBLK_SECTOR <= queue_max_sectors(q) &&
	       length / PAGE_SIZE < queue_max_segments(q);
}

/**
 * datblk_backing_submit - start the I/O of a command
 * @cmd: a command that has been checked; its data is in memory
 *
 * Calls datblk_cmd_done() when it has ended, maybe before it returns.
 *
 * Context: process.
 */
void datblk_backing_submit(struct datblk_srv_command *cmd)
{
	struct block_device *bdev = cmd->login->export->bdev;
	const struct datblk_login *req = &cmd->login->req;

	trace_datblk_srv_io(req->host, req->disk, req->queue, &cmd->c);
	refcount_inc(&cmd->login->ios);
	cmd->written = false;
	if (bdev && bdev_nowait(bdev) && datblk_is_read_write(cmd) &&
	    datblk_backing_fits(bdev, cmd->c.length))
		datblk_backing_submit_read_write(cmd, REQ_NOWAIT);
	else
		queue_work(cmd->login->export->io_wq, &cmd->work);
}

static int datblk_bdev_range(struct block_device *bdev, const struct datblk_command *c)
{
	sector_t sectors = c->length / DATBLK_SECTOR;

	switch (c->op) {
	case DATBLK_OP_DISCARD:
		return blkdev_issue_discard(bdev, c->sector, sectors, GFP_NOIO);
	case DATBLK_OP_ZEROES:
		return blkdev_issue_zeroout(bdev, c->sector, sectors, GFP_NOIO,
					    c->flags & DATBLK_NOUNMAP ? BLKDEV_ZERO_NOUNMAP : 0);
	}
	return 0;
}

static ssize_t datblk_file_write(struct file *file, struct kiocb *iocb, struct iov_iter *iter)
{
	ssize_t put;

	file_start_write(file);
	put = file->f_op->write_iter(iocb, iter);
	file_end_write(file);
	return put;
}

/*
 * Only the return value says how much was transferred: netfs in Linux 6.12 does not advance the
 * iterator of an unbuffered write. A short read means that the file became shorter.
 */
static int datblk_file_read_write(struct file *file, struct datblk_srv_command *cmd, loff_t pos)
{
	bool write = cmd->c.op == DATBLK_OP_WRITE;
	unsigned int pages = datblk_backing_map(cmd);
	struct iov_iter iter;
	struct kiocb iocb;
	ssize_t done;
	u32 at;

	for (at = 0; at < cmd->c.length; at += done) {
		iov_iter_bvec(&iter, write ? ITER_SOURCE : ITER_DEST, cmd->vecs, pages,
			      cmd->c.length);
		iov_iter_advance(&iter, at);
		init_sync_kiocb(&iocb, file);
		iocb.ki_pos = pos + at;
		done = write ? datblk_file_write(file, &iocb, &iter) :
			       file->f_op->read_iter(&iocb, &iter);
		if (done <= 0)
			return done ?: -EIO;
	}
	return 0;
}

static int datblk_file_fallocate(struct file *file, int mode, loff_t pos, loff_t length)
{
	return vfs_fallocate(file, mode | FALLOC_FL_KEEP_SIZE, pos, length);
}

/* Both ways read back as zeroes; a file system may lack one of them */
static int datblk_file_zeroes(struct file *file, bool unmap, loff_t pos, loff_t length)
{
	const int either = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
	int first = unmap ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
	int err = datblk_file_fallocate(file, first, pos, length);

	if (err == -EOPNOTSUPP)
		err = datblk_file_fallocate(file, first ^ either, pos, length);
	return err;
}

static int datblk_file_io(struct file *file, struct datblk_srv_command *cmd, loff_t pos)
{
	const struct datblk_command *c = &cmd->c;

	switch (c->op) {
	case DATBLK_OP_READ:
	case DATBLK_OP_WRITE:
		return datblk_file_read_write(file, cmd, pos);
	case DATBLK_OP_DISCARD:
		return datblk_file_fallocate(file, FALLOC_FL_PUNCH_HOLE, pos, c->length);
	case DATBLK_OP_ZEROES:
		return datblk_file_zeroes(file, !(c->flags & DATBLK_NOUNMAP), pos, c->length);
	}
	return 0;
}

static void datblk_backing_execute(struct datblk_srv_command *cmd)
{
	struct datblk_export *export = cmd->login->export;
	loff_t pos = cmd->c.sector * DATBLK_SECTOR;
	int err;

	if (export->bdev && datblk_is_read_write(cmd) && !cmd->written) {
		datblk_backing_submit_read_write(cmd, 0);
		return;
	}
	err = export->bdev ? datblk_bdev_range(export->bdev, &cmd->c) :
			     datblk_file_io(export->file, cmd, pos);
	if (err == -EOPNOTSUPP)
		datblk_export_lacks(export, cmd->c.op);
	if (!err && cmd->c.op == DATBLK_OP_FLUSH)
		err = datblk_backing_flush(export, 0, LLONG_MAX);
	else if (!err && datblk_backing_needs_flush(cmd))
		err = datblk_backing_flush(export, pos, pos + cmd->c.length - 1);
	datblk_backing_done(cmd, err);
}

/**
 * datblk_backing_work - the I/O of a command that sleeps
 * @work: in the command
 *
 * The client may be on the same machine, and may be writing back pages for reclaim. So allocations
 * use GFP_NOIO, and writes are throttled only by their own backing device, as in the loop driver.
 * Context: process.
 */
void datblk_backing_work(struct work_struct *work)
{
	unsigned long flags = current->flags;

	current->flags |= PF_LOCAL_THROTTLE | PF_MEMALLOC_NOIO;
	datblk_backing_execute(container_of(work, struct datblk_srv_command, work));
	current_restore_flags(flags, PF_LOCAL_THROTTLE | PF_MEMALLOC_NOIO);
}
