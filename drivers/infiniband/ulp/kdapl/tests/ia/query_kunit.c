// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the limits that dat_ia_query returns.
 *
 * The devices have limits that are small, odd, and all different. Each attribute of the IA
 * must be reachable, and one more must be refused. Runs in a KUnit thread; each test has its
 * own device. provider_kunit.c tests the attributes of the Provider.
 */
#include <linux/platform_device.h>
#include <linux/slab.h>
#include "clause.h"
#include "post_kunit.h"

#define MAX_OBJECTS	64

static struct {
	struct fake_dev *fake;
	struct kdapl_ia *ia;
	DAT_IA_HANDLE handle;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;	/* all streams except the asynchronous one */
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
	struct platform_device *pdev;	/* the DMA device, if the test needs one */
	u8 *buf;		/* page aligned, larger than an LMR */
	DAT_HANDLE made[MAX_OBJECTS];
} q;

/* ---- devices ---------------------------------------------------------------------- */

/* Small enough to count up to */
static void small(struct ib_device_attr *attr)
{
	attr->max_qp = 7;
	attr->max_cq = 9;
	attr->max_pd = 5;
	attr->max_mr = 11;
	attr->max_srq = 3;
	attr->max_qp_wr = 37;
	attr->max_cqe = 100;
	attr->max_srq_wr = 1000;
	attr->max_srq_sge = 3;
	attr->max_send_sge = 6;
	attr->max_recv_sge = 5;
	attr->max_sge_rd = 2;
	attr->max_qp_rd_atom = 3;
	attr->max_qp_init_rd_atom = 2;
	attr->max_res_rd_atom = 13;
	attr->max_fast_reg_page_list_len = 4;
}

/* Other limits are lower */
static void other(struct ib_device_attr *attr)
{
	small(attr);
	attr->max_qp = 12;
	attr->max_cq = 6;
	attr->max_qp_wr = 4000;
	attr->max_cqe = 62;
	attr->max_srq_wr = 9;
	attr->max_srq_sge = 8;
	attr->max_send_sge = 4;
	attr->max_sge_rd = 20;		/* more than a request can have */
	attr->max_qp_rd_atom = 300;	/* more than the connection manager can transfer */
	attr->max_qp_init_rd_atom = 1000;
	attr->max_fast_reg_page_list_len = 400;
	attr->max_mr = 12;
	attr->kernel_cap_flags = 0;	/* a PD needs one of the MRs */
	attr->max_mr_size = 3 * PAGE_SIZE + 5;
}

/* No SRQs, and no RDMA reads */
static void poor(struct ib_device_attr *attr)
{
	small(attr);
	attr->max_srq = 0;
	attr->max_qp_rd_atom = 0;
	attr->max_qp_init_rd_atom = 0;
	attr->max_sge_rd = 0;
}

/* No MR, not even the one that the core needs for a PD */
static void regionless(struct ib_device_attr *attr)
{
	small(attr);
	attr->max_mr = 0;
	attr->kernel_cap_flags = 0;
}

/* The largest numbers, so that only kdapl's own limits apply */
static void endless(struct ib_device_attr *attr)
{
	attr->max_qp = INT_MAX;
	attr->max_cq = INT_MAX;
	attr->max_pd = INT_MAX;
	attr->max_mr = INT_MAX;
	attr->max_srq = INT_MAX;
	attr->max_qp_wr = INT_MAX;
	attr->max_cqe = INT_MAX;
	attr->max_srq_wr = INT_MAX;
	attr->max_qp_rd_atom = INT_MAX;
	attr->max_qp_init_rd_atom = INT_MAX;
	attr->max_fast_reg_page_list_len = U32_MAX;
	attr->max_send_sge = INT_MAX;
	attr->max_recv_sge = INT_MAX;
	attr->max_sge_rd = INT_MAX;
	attr->max_srq_sge = INT_MAX;
}

static struct kdapl_device *device_find(void)
{
	struct kdapl_device *dev;

	list_for_each_entry(dev, &kdapl_devices, node)
		if (dev->ibdev == &q.fake->ibdev)
			return dev;
	return NULL;
}

static int open_ia(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = cpu_to_be32(0xc0000201),
	};
	struct kdapl_device *dev;
	int err = -ENODEV;

	mutex_lock(&kdapl_device_mutex);
	dev = device_find();
	if (dev)
		err = kdapl_ia_create(dev, 1, (struct sockaddr *)&addr, &init_net, 8, NULL,
				      &q.ia);
	mutex_unlock(&kdapl_device_mutex);
	return err;
}

static void open_fake(struct kunit *test, struct fake_dev *fake)
{
	u32 streams = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG |
		      DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake);
	q.fake = fake;
	KUNIT_ASSERT_EQ(test, open_ia(), 0);
	q.handle = kdapl_obj_handle(&q.ia->obj);
	KUNIT_ASSERT_EQ(test, dat_ia_query(q.handle, NULL, DAT_IA_FIELD_ALL, &q.attr,
					   DAT_PROVIDER_FIELD_ALL, &q.provider), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_pz_create(q.handle, &q.pz), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(q.handle, 8, DAT_UPCALL_DISABLE, NULL, streams,
					      &q.evd), DAT_SUCCESS);
	q.buf = (u8 *)__get_free_pages(GFP_KERNEL, 3);
	KUNIT_ASSERT_NOT_NULL(test, q.buf);
}

static void open_on(struct kunit *test, void (*tune)(struct ib_device_attr *attr), u32 max_msg)
{
	open_fake(test, fake_dev_create_tuned(tune, max_msg));
}

static void close_it(struct kunit *test)
{
	if (q.ia)
		KUNIT_EXPECT_EQ(test, dat_ia_close(q.handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	q.ia = NULL;
	rcu_barrier();
	flush_workqueue(kdapl_wq);
	rcu_barrier();
	if (!IS_ERR_OR_NULL(q.fake)) {
		KUNIT_EXPECT_EQ(test, atomic_read(&q.fake->live), 0);
		fake_dev_destroy(q.fake);
	}
	q.fake = NULL;
	free_pages((unsigned long)q.buf, 3);
	q.buf = NULL;
}

/* ---- objects ---------------------------------------------------------------------- */

static DAT_RETURN make_lmr(void *va, u64 length, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_RMR_CONTEXT key;

	return dat_lmr_kcreate(q.handle, DAT_MEM_TYPE_VIRTUAL, region, length, q.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       lmr, context, &key, NULL, NULL);
}

static DAT_RETURN one_pz(DAT_HANDLE *h)
{
	return dat_pz_create(q.handle, h);
}

static DAT_RETURN one_lmr(DAT_HANDLE *h)
{
	DAT_LMR_CONTEXT context;

	return make_lmr(q.buf, 64, h, &context);
}

static DAT_RETURN one_rmr(DAT_HANDLE *h)
{
	return dat_rmr_create(q.pz, h);
}

static DAT_RETURN make_srq(DAT_COUNT dtos, DAT_COUNT iov, DAT_HANDLE *h)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = dtos, .max_recv_iov = iov, .low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return dat_srq_create(q.handle, q.pz, &attr, h);
}

static DAT_RETURN one_srq(DAT_HANDLE *h)
{
	return make_srq(2, 1, h);
}

static void fill_attr(DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->max_recv_dtos = 1;
	attr->max_request_dtos = 1;
	attr->max_recv_iov = 1;
	attr->max_request_iov = 1;
	attr->srq_soft_hw = DAT_WATERMARK_INFINITE;
}

static DAT_RETURN make_ep(const DAT_EP_ATTR *attr, DAT_HANDLE *h)
{
	return dat_ep_create(q.handle, q.pz, q.evd, q.evd, q.evd, attr, h);
}

static DAT_RETURN one_ep(DAT_HANDLE *h)
{
	DAT_EP_ATTR attr;

	fill_attr(&attr);
	return make_ep(&attr, h);
}

/* @most can be created, including those that exist already, and no more */
static void expect_number(struct kunit *test, const char *what, DAT_COUNT most, u32 there,
			  DAT_RETURN (*one)(DAT_HANDLE *h), DAT_RETURN (*free)(DAT_HANDLE h))
{
	u32 n = 0, i;
	DAT_HANDLE h;

	KUNIT_ASSERT_LE(test, (u32)most, (u32)MAX_OBJECTS);
	while (n + there < most) {
		KUNIT_EXPECT_EQ_MSG(test, one(&q.made[n]), DAT_SUCCESS, "%s %u of %d", what, n,
				    most);
		n++;
	}
	KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(one(&h)), (u32)DAT_INSUFFICIENT_RESOURCES,
			    "%s beyond %d", what, most);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, free(q.made[i]), DAT_SUCCESS);
	/* MRs go a grace period later, by work */
	rcu_barrier();
	flush_workqueue(kdapl_wq);
}

static void expect_numbers(struct kunit *test)
{
	DAT_HANDLE lmr;

	expect_number(test, "PZ", q.attr.max_pzs, 1, one_pz, dat_pz_free);
	expect_number(test, "LMR", q.attr.max_lmrs, 0, one_lmr, dat_lmr_free);
	/* Count RMRs beside one LMR, because an RMR is of no use without one */
	KUNIT_ASSERT_EQ(test, one_lmr(&lmr), DAT_SUCCESS);
	expect_number(test, "RMR", q.attr.max_rmrs, 0, one_rmr, dat_rmr_free);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	rcu_barrier();
	flush_workqueue(kdapl_wq);
	if (q.attr.max_srqs)
		expect_number(test, "SRQ", q.attr.max_srqs, 0, one_srq, dat_srq_free);
	/* If memory is registered, the zone has its own QP and CQ */
	KUNIT_ASSERT_EQ(test, one_lmr(&lmr), DAT_SUCCESS);
	expect_number(test, "EP", q.attr.max_eps, 0, one_ep, dat_ep_free);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
}

static void attributes_are_those_of_the_device(struct kunit *test)
{
	DAT_IA_ATTR *a = &q.attr;

	open_on(test, small, 10000);
	KUNIT_EXPECT_EQ(test, a->max_eps, 6);
	KUNIT_EXPECT_EQ(test, a->max_dto_per_ep, 17);		/* of 37 requests */
	KUNIT_EXPECT_EQ(test, a->max_evd_qlen, 100);
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_dto, 3);	/* of an SRQ */
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_rdma_read, 2);
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_rdma_write, 6);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_per_ep_in, 3);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_per_ep_out, 2);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_in, 13);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_out, 12);
	KUNIT_EXPECT_EQ(test, a->max_lmrs, 11);
	KUNIT_EXPECT_EQ(test, a->max_rmrs, 5);
	KUNIT_EXPECT_EQ(test, a->max_pzs, 5);
	KUNIT_EXPECT_EQ(test, a->max_srqs, 3);
	KUNIT_EXPECT_EQ(test, a->max_ep_per_srq, 6);
	KUNIT_EXPECT_EQ(test, a->max_recv_per_srq, 50);		/* half of a CQ */
	KUNIT_EXPECT_EQ(test, a->max_lmr_block_size, 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, a->max_message_size, 10000);
	KUNIT_EXPECT_EQ(test, a->max_rdma_size, 10000);
	expect_numbers(test);
}

static void attributes_are_the_minimum_of_device_and_kdapl(struct kunit *test)
{
	DAT_IA_ATTR *a = &q.attr;

	open_on(test, other, 0x80000000);
	KUNIT_EXPECT_EQ(test, a->max_eps, 5);			/* of CQs */
	KUNIT_EXPECT_EQ(test, a->max_dto_per_ep, 19);		/* of a CQ */
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_dto, 4);
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_rdma_read, 4);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_per_ep_in, 255);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_per_ep_out, 255);
	KUNIT_EXPECT_EQ(test, a->max_recv_per_srq, 9);
	KUNIT_EXPECT_EQ(test, a->max_lmrs, 11);			/* one MR is left for a PZ */
	KUNIT_EXPECT_EQ(test, a->max_rmrs, 5);			/* and one for an LMR */
	KUNIT_EXPECT_EQ(test, a->max_lmr_block_size, 2 * PAGE_SIZE);
	/* What four segments can hold */
	KUNIT_EXPECT_EQ(test, a->max_message_size, 8 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, a->max_rdma_size, 8 * PAGE_SIZE);
	expect_numbers(test);
}

static void a_device_with_fewer_capabilities(struct kunit *test)
{
	DAT_EP_ATTR attr;
	DAT_HANDLE h;

	open_on(test, poor, 10000);
	KUNIT_EXPECT_EQ(test, q.attr.max_srqs, 0);
	KUNIT_EXPECT_EQ(test, q.attr.max_ep_per_srq, 0);
	KUNIT_EXPECT_EQ(test, q.attr.max_recv_per_srq, 0);
	KUNIT_EXPECT_EQ(test, q.provider.srq_supported, DAT_FALSE);
	TP_EXPECT_TYPE(test, one_srq(&h), DAT_MODEL_NOT_SUPPORTED);
	KUNIT_EXPECT_EQ(test, q.attr.max_iov_segments_per_dto, 5);
	KUNIT_EXPECT_EQ(test, q.attr.max_iov_segments_per_rdma_read, 6);
	KUNIT_EXPECT_EQ(test, q.attr.max_rdma_read_per_ep_in, 0);
	KUNIT_EXPECT_EQ(test, q.attr.max_rdma_read_per_ep_out, 0);
	fill_attr(&attr);
	attr.max_rdma_read_in = 1;
	TP_EXPECT_TYPE(test, make_ep(&attr, &h), DAT_INVALID_PARAMETER);
	expect_numbers(test);
}

/* The number is unsigned on newer kernels than 6.12: there is none to subtract */
static void a_device_without_regions_has_none(struct kunit *test)
{
	q.fake = fake_dev_create_tuned(regionless, 10000);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, q.fake);
	KUNIT_ASSERT_EQ(test, open_ia(), 0);
	q.handle = kdapl_obj_handle(&q.ia->obj);
	KUNIT_ASSERT_EQ(test, dat_ia_query(q.handle, NULL, DAT_IA_FIELD_ALL, &q.attr,
					   DAT_PROVIDER_FIELD_NONE, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, q.attr.max_lmrs, 0);
	KUNIT_EXPECT_EQ(test, q.attr.max_rmrs, 0);
}

/* No system has all of that, but kdapl's own structures can count it */
static void a_device_without_limits_has_the_limits_of_kdapl(struct kunit *test)
{
	DAT_IA_ATTR *a = &q.attr;
	DAT_EVD_HANDLE evd;

	open_on(test, endless, U32_MAX);
	KUNIT_EXPECT_LT(test, a->max_eps, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_LT(test, a->max_evds, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_LT(test, a->max_lmrs, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_LT(test, a->max_rmrs, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_LT(test, a->max_pzs, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_LE(test, a->max_srqs, (DAT_COUNT)KDAPL_HANDLE_MAX);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_per_ep_in, 255);
	KUNIT_EXPECT_EQ(test, a->max_rdma_read_out, a->max_eps * 255);
	KUNIT_EXPECT_LE(test, (u64)a->max_dto_per_ep * kdapl_pool_stride(false),
			U32_MAX);
	KUNIT_EXPECT_LE(test, (u64)a->max_recv_per_srq * kdapl_pool_stride(false),
			U32_MAX);
	KUNIT_EXPECT_LE(test, (u64)a->max_evd_qlen * sizeof(struct kdapl_ring_event), INT_MAX);
	KUNIT_EXPECT_LE(test, (u64)a->max_lmr_block_size + PAGE_SIZE, U32_MAX);
	/* A post has its segments on the stack */
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_dto, KDAPL_MAX_IOV);
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_rdma_read, KDAPL_MAX_IOV);
	KUNIT_EXPECT_EQ(test, a->max_iov_segments_per_rdma_write, KDAPL_MAX_IOV);
	TP_EXPECT_TYPE(test, dat_evd_kcreate(q.handle, a->max_evd_qlen + 1, DAT_UPCALL_DISABLE,
					     NULL, DAT_EVD_DTO_FLAG, &evd),
		       DAT_INSUFFICIENT_RESOURCES);
}

/* ---- sizes ------------------------------------------------------------------------- */

static void expect_qlen(struct kunit *test)
{
	DAT_COUNT most = q.attr.max_evd_qlen;
	DAT_EVD_HANDLE evd;

	TP_EXPECT_TYPE(test, dat_evd_kcreate(q.handle, most + 1, DAT_UPCALL_DISABLE, NULL,
					     DAT_EVD_DTO_FLAG, &evd), DAT_INSUFFICIENT_RESOURCES);
	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(q.handle, most, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG, &evd), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 1), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, dat_evd_resize(evd, most + 1), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, most), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), DAT_SUCCESS);
}

/* An EP attribute: the limit is accepted, one more is not */
static void expect_ep_count(struct kunit *test, size_t offset, u32 most, const char *what)
{
	DAT_EP_ATTR attr;
	DAT_HANDLE h;

	fill_attr(&attr);
	*(u32 *)((u8 *)&attr + offset) = most;
	KUNIT_ASSERT_EQ_MSG(test, make_ep(&attr, &h), DAT_SUCCESS, "%s %u", what, most);
	KUNIT_EXPECT_EQ(test, dat_ep_free(h), DAT_SUCCESS);
	if (most == U32_MAX)
		return;
	*(u32 *)((u8 *)&attr + offset) = most + 1;
	KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(make_ep(&attr, &h)), (u32)DAT_INVALID_PARAMETER,
			    "%s %u", what, most + 1);
}

#define EXPECT_EP_COUNT(member, most) \
	expect_ep_count(test, offsetof(DAT_EP_ATTR, member), most, #member)

static void expect_ep_counts(struct kunit *test)
{
	DAT_EP_ATTR attr;
	DAT_HANDLE h;

	EXPECT_EP_COUNT(max_message_size, q.attr.max_message_size);
	EXPECT_EP_COUNT(max_rdma_size, q.attr.max_rdma_size);
	EXPECT_EP_COUNT(max_recv_dtos, q.attr.max_dto_per_ep);
	EXPECT_EP_COUNT(max_request_dtos, q.attr.max_dto_per_ep);
	EXPECT_EP_COUNT(max_recv_iov, q.attr.max_iov_segments_per_dto);
	EXPECT_EP_COUNT(max_request_iov, q.attr.max_iov_segments_per_dto);
	EXPECT_EP_COUNT(max_rdma_read_iov, q.attr.max_iov_segments_per_rdma_read);
	EXPECT_EP_COUNT(max_rdma_write_iov, q.attr.max_iov_segments_per_rdma_write);
	EXPECT_EP_COUNT(max_rdma_read_in, q.attr.max_rdma_read_per_ep_in);
	EXPECT_EP_COUNT(max_rdma_read_out, q.attr.max_rdma_read_per_ep_out);
	/* All of them together */
	fill_attr(&attr);
	attr.max_recv_dtos = q.attr.max_dto_per_ep;
	attr.max_request_dtos = q.attr.max_dto_per_ep;
	attr.max_recv_iov = q.attr.max_iov_segments_per_dto;
	attr.max_request_iov = q.attr.max_iov_segments_per_dto;
	attr.max_rdma_read_iov = q.attr.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = q.attr.max_iov_segments_per_rdma_write;
	attr.max_rdma_read_in = q.attr.max_rdma_read_per_ep_in;
	attr.max_rdma_read_out = q.attr.max_rdma_read_per_ep_out;
	attr.max_message_size = q.attr.max_message_size;
	attr.max_rdma_size = q.attr.max_rdma_size;
	KUNIT_ASSERT_EQ(test, make_ep(&attr, &h), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(h), DAT_SUCCESS);
	/* And the defaults of an EP */
	KUNIT_ASSERT_EQ(test, make_ep(NULL, &h), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(h), DAT_SUCCESS);
}

static void expect_srq_sizes(struct kunit *test)
{
	DAT_COUNT dtos = q.attr.max_recv_per_srq, iov = q.attr.max_iov_segments_per_dto;
	DAT_HANDLE h;

	TP_EXPECT_TYPE(test, make_srq(dtos + 1, 1, &h), DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, make_srq(1, iov + 1, &h), DAT_INVALID_PARAMETER);
	KUNIT_ASSERT_EQ(test, make_srq(dtos, iov, &h), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_srq_free(h), DAT_SUCCESS);
}

static void expect_block(struct kunit *test)
{
	u32 block = q.attr.max_lmr_block_size, offset[] = { 0, 1, PAGE_SIZE / 2, PAGE_SIZE - 1 };
	DAT_LMR_CONTEXT context;
	DAT_HANDLE lmr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offset); i++) {
		KUNIT_ASSERT_EQ(test, make_lmr(q.buf + offset[i], block, &lmr, &context),
				DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	}
	/* L-04: one page more is possible if the memory begins at a page */
	KUNIT_ASSERT_EQ(test, make_lmr(q.buf, block + PAGE_SIZE, &lmr, &context), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
	TP_EXPECT_TYPE(test, make_lmr(q.buf, block + PAGE_SIZE + 1, &lmr, &context),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, make_lmr(q.buf + PAGE_SIZE - 1, block + 2, &lmr, &context),
		       DAT_INVALID_PARAMETER);
}

/* The module parameter, not the device, limits the size of the two MRs of every RMR */
static void registrations_are_as_large_as_the_parameter_says(struct kunit *test)
{
	static const struct {
		u32 parameter, pages;
	} row[] = {
		{ 2048, 4 }, { 4, 4 }, { 3, 3 }, { 2, 2 }, { 1, 2 }, { 0, 2 },
	};
	u32 i, was = kdapl_max_reg_pages;

	kdapl_clauses(test, "L-04");
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		kdapl_max_reg_pages = row[i].parameter;
		open_on(test, small, 10000);
		KUNIT_EXPECT_EQ(test, q.ia->limits.page_list_len, row[i].pages);
		KUNIT_EXPECT_EQ(test, q.attr.max_lmr_block_size, (row[i].pages - 1) * PAGE_SIZE);
		expect_block(test);
		close_it(test);
	}
	kdapl_max_reg_pages = was;
}

/* A device that reports the largest possible page list */
static void the_parameter_has_a_default(struct kunit *test)
{
	open_on(test, endless, U32_MAX);
	KUNIT_EXPECT_EQ(test, kdapl_max_reg_pages, 2048);
	KUNIT_EXPECT_EQ(test, q.attr.max_lmr_block_size, 2047 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, q.attr.max_message_size, KDAPL_MAX_IOV * 2047 * PAGE_SIZE);
}

static void each_maximum_is_reached_and_not_exceeded(struct kunit *test)
{
	kdapl_clauses(test, "L-04");
	open_on(test, small, 10000);
	expect_qlen(test);
	expect_ep_counts(test);
	expect_srq_sizes(test);
	expect_block(test);
}

/*
 * A hardware device that counts its send queue in blocks: 4,096 blocks have room
 * for 819 requests of five blocks.
 */
static void requests_with_all_their_segments_fit(struct kunit *test)
{
	kdapl_clauses(test, "G-25");
	q.pdev = platform_device_register_simple("kdapl-query", PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(q.pdev));
	open_fake(test, fake_dev_create_like(FAKE_COUNTS_BLOCKS, &q.pdev->dev, NULL));
	KUNIT_EXPECT_EQ(test, q.attr.max_dto_per_ep, 408);
	KUNIT_EXPECT_EQ(test, q.attr.max_iov_segments_per_dto, FAKE_MAX_SGE);
	expect_ep_counts(test);
	close_it(test);
	/* A device with room for all that its attributes announce */
	open_fake(test, fake_dev_create_like(0, &q.pdev->dev, NULL));
	KUNIT_EXPECT_EQ(test, q.attr.max_dto_per_ep, (FAKE_MAX_QP_WR - KDAPL_SQ_RESERVED) / 2);
}

static void each_maximum_of_another_device(struct kunit *test)
{
	kdapl_clauses(test, "L-04");
	open_on(test, other, 0x80000000);
	expect_qlen(test);
	expect_ep_counts(test);
	expect_srq_sizes(test);
	expect_block(test);
}

/* ---- a message of that size ----------------------------------------------------------- */

/* As many segments as a post accepts, of one region */
static DAT_RETURN post_size(DAT_EP_HANDLE ep, bool write, u64 size, DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET iov[FAKE_MAX_SGE] = { };
	DAT_RMR_TRIPLET to = { .segment_length = U32_MAX };
	DAT_DTO_COOKIE cookie = { };
	DAT_COUNT n;
	u32 length;

	for (n = 0; size && n < FAKE_MAX_SGE; n++, size -= length) {
		length = min_t(u64, size, q.attr.max_lmr_block_size);
		iov[n].virtual_address = (unsigned long)q.buf;
		iov[n].segment_length = length;
		iov[n].lmr_context = context;
	}
	return write ? dat_ep_post_rdma_write(ep, n, iov, cookie, &to, 0) :
		       dat_ep_post_send(ep, n, iov, cookie, 0);
}

static void messages_of_maximum_size(struct kunit *test)
{
	struct tp_ep ep = { };
	DAT_LMR_CONTEXT context;
	struct kdapl_obj *obj;
	DAT_HANDLE lmr;
	DAT_EP_ATTR attr;

	kdapl_clauses(test, "G-20");
	open_on(test, other, 0x80000000);
	fill_attr(&attr);
	attr.max_request_dtos = 4;
	attr.max_request_iov = q.attr.max_iov_segments_per_dto;
	attr.max_rdma_write_iov = q.attr.max_iov_segments_per_rdma_write;
	attr.max_message_size = q.attr.max_message_size;
	attr.max_rdma_size = q.attr.max_rdma_size;
	KUNIT_ASSERT_EQ(test, make_lmr(q.buf, 3 * PAGE_SIZE, &lmr, &context), DAT_SUCCESS);
	KUNIT_ASSERT_EQ(test, make_ep(&attr, &ep.handle), DAT_SUCCESS);
	obj = kdapl_obj_get(ep.handle, DAT_HANDLE_TYPE_EP);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	kdapl_obj_put(obj);
	ep.ep = to_kdapl_ep(obj);
	ep.connect_evd = q.evd;
	KUNIT_ASSERT_EQ(test, tp_connect(&ep), 0);
	KUNIT_EXPECT_EQ(test, post_size(ep.handle, false, q.attr.max_message_size, context),
			DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_size(ep.handle, true, q.attr.max_rdma_size, context),
			DAT_SUCCESS);
	/* One byte more, with segments that would allow it, of a page aligned region */
	q.attr.max_lmr_block_size += PAGE_SIZE;
	TP_EXPECT_TYPE(test, post_size(ep.handle, false, q.attr.max_message_size + 1, context),
		       DAT_INVALID_PARAMETER);
	TP_EXPECT_TYPE(test, post_size(ep.handle, true, q.attr.max_rdma_size + 1, context),
		       DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep.handle), DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), DAT_SUCCESS);
}

/* ---- suite ----------------------------------------------------------------------------- */

static int query_init(struct kunit *test)
{
	memset(&q, 0, sizeof(q));
	return 0;
}

static void query_exit(struct kunit *test)
{
	close_it(test);
	if (!IS_ERR_OR_NULL(q.pdev))
		platform_device_unregister(q.pdev);
}

static struct kunit_case query_cases[] = {
	KUNIT_CASE(attributes_are_those_of_the_device),
	KUNIT_CASE(attributes_are_the_minimum_of_device_and_kdapl),
	KUNIT_CASE(a_device_with_fewer_capabilities),
	KUNIT_CASE(a_device_without_regions_has_none),
	KUNIT_CASE(a_device_without_limits_has_the_limits_of_kdapl),
	KUNIT_CASE(registrations_are_as_large_as_the_parameter_says),
	KUNIT_CASE(the_parameter_has_a_default),
	KUNIT_CASE(requests_with_all_their_segments_fit),
	KUNIT_CASE(each_maximum_is_reached_and_not_exceeded),
	KUNIT_CASE(each_maximum_of_another_device),
	KUNIT_CASE(messages_of_maximum_size),
	{}
};

static struct kunit_suite query_suite = {
	.name = "kdapl_query",
	.init = query_init,
	.exit = query_exit,
	.test_cases = query_cases,
};

kunit_test_suite(query_suite);
