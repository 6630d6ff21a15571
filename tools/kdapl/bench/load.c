// SPDX-License-Identifier: GPL-2.0
/*
 * The load of make bench-blk: reads or writes blocks at random offsets of a device, and prints how
 * long each round of them took.
 *
 *	load DEVICE read|write BYTES DEPTH IOS ROUNDS
 *
 * Like fio with its defaults for libaio, it takes one result, and submits the next I/O at once.
 * Between the readings of the clock it needs no file, because its memory is locked and a round that
 * is not printed comes first. A line of the output has the nanoseconds of a round, and those of
 * them in which the CPU was idle.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AREA	(256UL << 20)	/* of the device */

static aio_context_t context;
static size_t bytes;
static uint32_t seed;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* How long the CPU has been idle since the boot, to the nanosecond */
static uint64_t idle(void)
{
	static char text[1 << 16];
	size_t size = 0;
	ssize_t part;
	char *at;
	int fd = open("/proc/timer_list", O_RDONLY);

	while ((part = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += part;
	close(fd);
	text[size] = 0;
	at = strstr(text, ".idle_sleeptime");
	if (!at)
		errx(1, "/proc/timer_list has no idle_sleeptime");
	return strtoull(strchr(at, ':') + 1, NULL, 10);
}

static void submit(struct iocb *io)
{
	seed = seed * 1664525 + 1013904223;
	io->aio_offset = (seed >> 8) % (AREA / bytes) * bytes;
	if (syscall(SYS_io_submit, context, 1, &io) != 1)
		err(1, "io_submit");
}

static void run_round(struct iocb *ios, int depth, int count)
{
	struct io_event event;
	int i;

	for (i = 0; i < depth; i++)
		submit(&ios[i]);
	for (i = depth; i < count + depth; i++) {
		if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
			err(1, "io_getevents");
		if (event.res != (int64_t)bytes)
			errx(1, "an I/O returned %lld", (long long)event.res);
		if (i < count)
			submit((struct iocb *)event.obj);
	}
}

static struct iocb *prepare(const char *device, int opcode, int depth)
{
	struct iocb *ios = calloc(depth, sizeof(*ios));
	int fd = open(device, O_RDWR | O_DIRECT), i;

	if (fd < 0 || !ios)
		err(1, "%s", device);
	for (i = 0; i < depth; i++) {
		void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (data == MAP_FAILED)
			err(1, "mmap");
		ios[i].aio_fildes = fd;
		ios[i].aio_lio_opcode = opcode;
		ios[i].aio_buf = (uintptr_t)data;
		ios[i].aio_nbytes = bytes;
	}
	return ios;
}

int main(int argc, char **argv)
{
	int depth, count, rounds, i;
	struct iocb *ios;

	if (argc != 7)
		errx(2, "usage: load DEVICE read|write BYTES DEPTH IOS ROUNDS");
	bytes = atol(argv[3]);
	depth = atoi(argv[4]);
	count = atoi(argv[5]);
	rounds = atoi(argv[6]);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || syscall(SYS_io_setup, depth, &context))
		err(1, "mlockall or io_setup");
	ios = prepare(argv[1], argv[2][0] == 'r' ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE, depth);
	for (i = 0; i <= rounds; i++) {
		uint64_t rested = idle(), begin = now();

		seed = 1;
		run_round(ios, depth, count);
		begin = now() - begin;
		rested = idle() - rested;
		if (i)
			printf("%llu %llu\n", (unsigned long long)begin,
			       (unsigned long long)rested);
	}
	return 0;
}
