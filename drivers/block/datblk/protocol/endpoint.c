// SPDX-License-Identifier: GPL-2.0
/*
 * Registered buffers and the endpoint of a connection, for the client and the server. Process
 * context.
 */
#include <linux/export.h>
#include <linux/vmalloc.h>
#include "protocol.h"

/* The peer is considered dead if its adapter does not respond for this long */
#define KEEPALIVE_MS	"5000"
/*
 * A peer has a receive for each message (README), so one that has none has broken the protocol. 7
 * would mean no limit. The peer's adapter sets the time between two retries, at most 655 ms.
 */
#define RNR_RETRIES	"6"

/**
 * datblk_buffers_unregister - end the registrations of all buffers
 * @buffers: the buffers; nothing happens if there are none
 *
 * Nothing may use them any more. An abrupt close of the IA has the same effect.
 *
 * Context: process.
 */
void datblk_buffers_unregister(struct datblk_buffers *buffers)
{
	unsigned int i;

	for (i = 0; buffers->regions && i < buffers->count; i++)
		kdat_unregister(&buffers->regions[i]);
}
EXPORT_SYMBOL_GPL(datblk_buffers_unregister);

/**
 * datblk_buffers_free - free the memory of buffers that are not registered any more
 * @buffers: the buffers; nothing happens if there are none
 *
 * Context: process.
 */
void datblk_buffers_free(struct datblk_buffers *buffers)
{
	unsigned int i;

	for (i = 0; buffers->regions && i < buffers->count; i++)
		vfree(buffers->regions[i].address);
	kvfree(buffers->regions);
	buffers->regions = NULL;
}
EXPORT_SYMBOL_GPL(datblk_buffers_free);

static int datblk_buffers_alloc_memory(struct datblk_buffers *buffers, unsigned int count,
				       size_t size)
{
	unsigned int i;

	buffers->regions = kvcalloc(count, sizeof(*buffers->regions), GFP_KERNEL);
	if (!buffers->regions)
		return -ENOMEM;
	buffers->count = count;
	for (i = 0; i < count; i++) {
		buffers->regions[i].address = vzalloc(size);
		if (!buffers->regions[i].address)
			return -ENOMEM;
	}
	return 0;
}

/**
 * datblk_buffers_alloc - allocate and register buffers
 * @buffers: receives them; memory that it has already, from an earlier call, is used again
 * @ia:      open IA
 * @pz:      protection zone of the connection
 * @count:   number of buffers; not larger than at the first call
 * @size:    bytes of each, the same at each call
 * @priv:    local privileges
 *
 * Each buffer begins at a page. After an error the caller calls datblk_buffers_unregister()
 * and datblk_buffers_free(), as after a success.
 *
 * Context: process.
 * Return: 0, -ENOMEM, or -EIO if the adapter cannot register the memory.
 */
int datblk_buffers_alloc(struct datblk_buffers *buffers, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			 unsigned int count, size_t size, DAT_MEM_PRIV_FLAGS priv)
{
	int err = buffers->regions ? 0 : datblk_buffers_alloc_memory(buffers, count, size);
	unsigned int i;

	if (err) {
		datblk_buffers_free(buffers);
		return err;
	}
	for (i = 0; i < count; i++)
		if (kdat_register(ia, pz, buffers->regions[i].address, size, priv,
				  &buffers->regions[i]))
			return -EIO;
	return 0;
}
EXPORT_SYMBOL_GPL(datblk_buffers_alloc);

/**
 * datblk_io_limit - the largest read or write that an adapter can do with one registration
 * @attr:   attributes of the IA
 * @io_max: largest one that is wanted, in bytes
 *
 * Context: any.
 * Return: bytes, whole units of DATBLK_IO_UNIT; may be 0.
 */
u32 datblk_io_limit(const DAT_IA_ATTR *attr, u32 io_max)
{
	u64 most = min_t(u64, attr->max_lmr_block_size, attr->max_rdma_size);

	return round_down(min_t(u64, io_max, most), DATBLK_IO_UNIT);
}
EXPORT_SYMBOL_GPL(datblk_io_limit);

static void datblk_ep_sizes(DAT_EP_ATTR *attr, const struct datblk_ep_needs *needs,
			    const DAT_IA_ATTR *limits)
{
	attr->max_recv_dtos = needs->receives;
	attr->max_request_dtos = needs->requests;
	attr->max_recv_iov = 1;
	attr->max_request_iov = min(DATBLK_BATCH + 1, limits->max_iov_segments_per_dto);
	attr->max_rdma_read_iov = 1;
	attr->max_rdma_write_iov = 1;
	attr->max_rdma_read_in = min_t(int, needs->reads_in, limits->max_rdma_read_per_ep_in);
	attr->max_rdma_read_out = min_t(int, needs->reads_out, limits->max_rdma_read_per_ep_out);
}

/**
 * datblk_ep_create - create the endpoint of a connection
 * @ia:       open IA
 * @pz:       protection zone of the connection
 * @evd:      receives all events of the endpoint
 * @needs:    what the connection needs
 * @ep:       receives the endpoint
 * @segments: receives the number of segments that a send may have
 *
 * Context: process.
 * Return: 0, -ENOMEM, -EIO, or -EOPNOTSUPP if the adapter is too small.
 */
int datblk_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd,
		     const struct datblk_ep_needs *needs, DAT_EP_HANDLE *ep,
		     unsigned int *segments)
{
	DAT_NAMED_ATTR named[] = {
		{ .name = "kdapl.keepalive_ms", .value = KEEPALIVE_MS },
		{ .name = "kdapl.rnr_retry_count", .value = RNR_RETRIES },
		/* Optional, so it is the last one */
		{ .name = "kdapl.comp_vector", .value = needs->vector },
	};
	DAT_IA_ATTR *limits = kzalloc(sizeof(*limits), GFP_KERNEL);
	DAT_EP_ATTR attr;
	DAT_RETURN ret;
	int err = -EIO;

	if (!limits)
		return -ENOMEM;
	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, limits, DAT_PROVIDER_FIELD_NONE, NULL) ||
	    kdat_ep_attr_default(ia, &attr))
		goto out;
	err = -EOPNOTSUPP;
	if (limits->max_dto_per_ep < max(needs->receives, needs->requests) ||
	    limits->max_iov_segments_per_dto < 2)
		goto out;
	datblk_ep_sizes(&attr, needs, limits);
	*segments = attr.max_request_iov;
	attr.ep_provider_specific_count = ARRAY_SIZE(named) - !needs->vector;
	attr.ep_provider_specific = named;
	ret = dat_ep_create(ia, pz, evd, evd, evd, &attr, ep);
	/* The adapter may have fewer vectors */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER && needs->vector) {
		attr.ep_provider_specific_count--;
		ret = dat_ep_create(ia, pz, evd, evd, evd, &attr, ep);
	}
	err = ret ? -EIO : 0;
out:
	kfree(limits);
	return err;
}
EXPORT_SYMBOL_GPL(datblk_ep_create);
