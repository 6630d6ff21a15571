// SPDX-License-Identifier: GPL-2.0
/*
 * Cases about the syncs of a mapping that is used for several transfers. They run only with the
 * parameter bounces, on a device whose mappings are copies (swiotlb=force). There, a sync is the
 * moment of the copy, so without it the other side keeps the old bytes. Process context.
 *
 * Documentation/core-api/dma-api.rst, "dma_sync_single_for_cpu": a sync is required "before
 * reading values that have been written by DMA from the device", and "after writing values that
 * will be written to the device using DMA".
 */
#include <linux/string.h>
#include "conform.h"

#define HALF	(CF_MEM / 2)	/* receives arrive in the second half */
#define BYTE	0x77

/* A sends, and B has a receive for it; B's bytes are those that its device has written */
static void message(struct cf *cf)
{
	cf_recv(&cf->b, 1, 8);
	cf_send(&cf->a, 1, 8, IB_SEND_SIGNALED);
	cf_say(cf, "%s", cf_wait(&cf->a));
	cf_wait(&cf->b);
}

static void say_byte(struct cf *cf)
{
	cf_say(cf, cf->b.mem[HALF] == BYTE ? "new bytes" : "old bytes");
}

static void for_cpu(struct cf *cf)
{
	ib_dma_sync_single_for_cpu(cf->b.ibdev, cf->b.dma, CF_MEM, DMA_BIDIRECTIONAL);
}

static void for_device(struct cf *cf)
{
	ib_dma_sync_single_for_device(cf->a.ibdev, cf->a.dma, CF_MEM, DMA_BIDIRECTIONAL);
}

/* The processor has written, and the device reads */
static void before_the_device(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	memset(cf->a.mem, BYTE, 8);
	message(cf);
	for_cpu(cf);
	say_byte(cf);
	for_device(cf);
	message(cf);
	for_cpu(cf);
	say_byte(cf);
}

/* The device has written, and the processor reads */
static void after_the_device(struct cf *cf)
{
	if (!cf_ready(cf))
		return;
	memset(cf->a.mem, BYTE, 8);
	for_device(cf);
	message(cf);
	say_byte(cf);
	for_cpu(cf);
	say_byte(cf);
}

const struct cf_case cf_sync_cases[] = {
	{ "sync/before-the-device", before_the_device, "dma-api.rst",
	  "success, old bytes, success, new bytes" },
	{ "sync/after-the-device", after_the_device, "dma-api.rst",
	  "success, old bytes, new bytes" },
	{ }
};
