// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoint attributes: the defaults, the checks of a Consumer's attributes, and the
 * limits that posts check.
 *
 * Called in process context by the constructors of EPs and by dat_ep_modify().
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "internal.h"

#define KDAPL_DEFAULT_DTOS	16
#define KDAPL_DEFAULT_IOV	4
#define KDAPL_DEFAULT_READS	4
#define KDAPL_DEFAULT_SIZE	0x80000000U

#define NUMBER(member, max, by_default)						\
	{ "kdapl." #member, offsetof(struct kdapl_ep_named, member), max, by_default }
const struct kdapl_ep_attr_desc kdapl_ep_attr_descs[] = {
	/* One day; a longer interval would not be useful */
	NUMBER(keepalive_ms, 86400000, 0),
	NUMBER(retry_count, KDAPL_MAX_RETRY, KDAPL_MAX_RETRY),
	NUMBER(rnr_retry_count, KDAPL_RNR_RETRY, KDAPL_RNR_RETRY),
	NUMBER(ack_timeout, KDAPL_MAX_ACK_TIMEOUT, 0),
	NUMBER(type_of_service, U8_MAX, -1),
	/* The number of vectors of the device is checked later */
	NUMBER(comp_vector, INT_MAX, -1),
};

#undef NUMBER

/* The attributes of an EP that is created without any. Any context */
void kdapl_ep_attr_default(const struct kdapl_ia *ia, DAT_EP_ATTR *attr)
{
	const struct kdapl_limits *lim = &ia->limits;

	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = min(KDAPL_DEFAULT_SIZE, lim->max_message);
	attr->max_rdma_size = min(KDAPL_DEFAULT_SIZE, lim->max_rdma);
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr->request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr->max_recv_dtos = min_t(u32, KDAPL_DEFAULT_DTOS, lim->max_dto_per_ep);
	attr->max_request_dtos = min_t(u32, KDAPL_DEFAULT_DTOS, lim->max_dto_per_ep);
	attr->max_recv_iov = min_t(u32, KDAPL_DEFAULT_IOV, lim->max_iov);
	attr->max_request_iov = min_t(u32, KDAPL_DEFAULT_IOV, lim->max_iov);
	attr->max_rdma_read_in = min_t(u32, KDAPL_DEFAULT_READS, lim->max_rd_atom_in);
	attr->max_rdma_read_out = min_t(u32, KDAPL_DEFAULT_READS, lim->max_rd_atom_out);
	attr->max_rdma_read_iov = min_t(u32, KDAPL_DEFAULT_IOV, lim->max_iov_read);
	attr->max_rdma_write_iov = min_t(u32, KDAPL_DEFAULT_IOV, lim->max_iov_write);
	attr->srq_soft_hw = DAT_WATERMARK_INFINITE;
}

static bool kdapl_count_ok(DAT_COUNT value, u32 limit)
{
	return value >= 0 && (u32)value <= limit;
}

static bool kdapl_attr_counts_ok(const struct kdapl_limits *lim, const DAT_EP_ATTR *attr, bool srq)
{
	/* The SRQ has the attributes of receives */
	if (!srq && (!kdapl_count_ok(attr->max_recv_dtos, lim->max_dto_per_ep) ||
		     !kdapl_count_ok(attr->max_recv_iov, lim->max_iov)))
		return false;
	/* As for dat_ep_set_watermark(), INFINITE is the only negative watermark */
	if (attr->srq_soft_hw < DAT_WATERMARK_INFINITE)
		return false;
	return kdapl_count_ok(attr->max_request_dtos, lim->max_dto_per_ep) &&
	       kdapl_count_ok(attr->max_request_iov, lim->max_iov) &&
	       kdapl_count_ok(attr->max_rdma_read_in, lim->max_rd_atom_in) &&
	       kdapl_count_ok(attr->max_rdma_read_out, lim->max_rd_atom_out) &&
	       kdapl_count_ok(attr->max_rdma_read_iov, lim->max_iov_read) &&
	       kdapl_count_ok(attr->max_rdma_write_iov, lim->max_iov_write);
}

static bool kdapl_attr_flags_ok(const DAT_EP_ATTR *attr)
{
	DAT_COMPLETION_FLAGS recv = attr->recv_completion_flags;
	DAT_COMPLETION_FLAGS request = attr->request_completion_flags;

	return (recv == DAT_COMPLETION_DEFAULT_FLAG || recv == DAT_COMPLETION_UNSIGNALLED_FLAG ||
		recv == DAT_COMPLETION_SOLICITED_WAIT_FLAG) &&
	       (request == DAT_COMPLETION_DEFAULT_FLAG ||
		request == DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/*
 * Checks one named attribute. All that a Consumer may set are decimal numbers.
 * kdapl.first_error and kdapl.cm_status are ignored: dat_ep_query() returns them too, and a
 * Consumer may create an EP with the attributes that it has queried from another one.
 */
static bool kdapl_attr_one_ok(const char *name, const char *value, struct kdapl_ep_named *out)
{
	unsigned int number, i;

	if (!name || !value)
		return false;
	if (!strcmp(name, "kdapl.first_error") || !strcmp(name, "kdapl.cm_status"))
		return true;
	if (kstrtouint(value, 10, &number))
		return false;
	for (i = 0; i < KDAPL_EP_NAMED_VALUES; i++) {
		if (strcmp(name, kdapl_ep_attr_descs[i].name))
			continue;
		*kdapl_ep_named_value(out, i) = number;
		return number <= kdapl_ep_attr_descs[i].max;
	}
	return false;
}

static bool kdapl_attr_named_ok(const struct kdapl_ia *ia, const DAT_EP_ATTR *attr,
				struct kdapl_ep_named *out)
{
	const DAT_NAMED_ATTR *named = attr->ep_provider_specific;
	DAT_COUNT i;

	for (i = 0; i < KDAPL_EP_NAMED_VALUES; i++)
		*kdapl_ep_named_value(out, i) = kdapl_ep_attr_descs[i].by_default;
	if (attr->ep_transport_specific_count || attr->ep_provider_specific_count < 0 ||
	    (attr->ep_provider_specific_count && !named))
		return false;
	for (i = 0; i < attr->ep_provider_specific_count; i++) {
		/* Read each once: the Consumer may be writing to the array */
		if (!kdapl_attr_one_ok(READ_ONCE(named[i].name), READ_ONCE(named[i].value), out))
			return false;
	}
	return out->comp_vector < ia->ibdev->num_comp_vectors;
}

/*
 * Checks the attributes of an EP. Returns DAT_SUCCESS; @bad; or DAT_MODEL_NOT_SUPPORTED for a
 * quality of service other than best effort. Process context.
 *
 * @srq:   the EP uses an SRQ for receives
 * @bad:   return value if they are not legal
 * @named: receives the provider-specific attributes, or their defaults
 */
DAT_RETURN kdapl_ep_attr_check(const struct kdapl_ia *ia, const DAT_EP_ATTR *attr, bool srq,
			       DAT_RETURN bad, struct kdapl_ep_named *named)
{
	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->max_message_size > ia->limits.max_message ||
	    attr->max_rdma_size > ia->limits.max_rdma)
		return bad;
	switch (attr->qos) {
	case DAT_QOS_BEST_EFFORT:
		break;
	case DAT_QOS_HIGH_THROUGHPUT:
	case DAT_QOS_LOW_LATENCY:
	case DAT_QOS_ECONOMY:
	case DAT_QOS_PREMIUM:
		return KDAPL_UNSUPPORTED;
	default:
		return bad;
	}
	if (!kdapl_attr_counts_ok(&ia->limits, attr, srq) || !kdapl_attr_flags_ok(attr) ||
	    !kdapl_attr_named_ok(ia, attr, named))
		return bad;
	return DAT_SUCCESS;
}

/* Sets the limits that posts check. Any context */
void kdapl_ep_set_limits(struct kdapl_ep *ep)
{
	const DAT_EP_ATTR *attr = &ep->cfg.attr;
	u32 common = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
		     (attr->request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG);

	ep->checks.bad_rdma_flags = ~common;
	ep->checks.bad_send_flags = ~(common | DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	ep->checks.bad_recv_flags =
		~(attr->recv_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	ep->checks.max_send_iov = attr->max_request_iov;
	ep->checks.max_read_iov = attr->max_rdma_read_iov;
	ep->checks.max_write_iov = attr->max_rdma_write_iov;
	ep->checks.max_recv_iov = ep->cfg.srq ? ep->cfg.srq->max_iov : attr->max_recv_iov;
	ep->fast.max_message = attr->max_message_size;
	ep->fast.max_rdma = attr->max_rdma_size;
	ep->fast.max_reads_out = attr->max_rdma_read_out;
	if (ep->cfg.pz)
		ep->checks.zone = ep->cfg.pz->zone << KDAPL_ZONE_SHIFT;
	ep->fast.need_read = ep->checks.zone | DAT_MEM_PRIV_LOCAL_READ_FLAG;
	ep->fast.need_write = ep->checks.zone | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
}
