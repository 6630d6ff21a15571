// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: each bit of the masks of dat_*_query().
 *
 * The module copies by tables of offsets. An entry in the wrong place compiles, and the copy
 * then overruns the Consumer's structure. So the rows here name the member of each bit
 * without these tables. Runs in a KUnit thread; each test has its own objects.
 */
#include "sp_kunit.h"

#define FILL		0xa5
#define OTHER_FILL	0x5a
#define NO_MEMBER	SIZE_MAX

/* A bit, and the offset of its member */
struct row {
	const char *name;
	u64 bit;
	size_t at;
};

/*
 * A call with one mask. @bits: width of the mask's type; @bad_handle, @unknown, @null: returns
 * for these faults
 */
struct call {
	DAT_RETURN (*query)(DAT_HANDLE handle, u64 mask, void *param);
	size_t size;
	u64 all;
	u32 bits;
	DAT_RETURN bad_handle, unknown, null;
	const struct row *rows;
	u32 n;
};

#define ROW(type, of, field, member) \
	{ #of "_FIELD_" #field, DAT_##of##_FIELD_##field, offsetof(type, member) }

#define DEFINE_CALL(lower, of, bad)						\
	static DAT_RETURN lower##_query(DAT_HANDLE handle, u64 mask, void *param)	\
	{									\
		return dat_##lower##_query(handle, mask, param);		\
	}									\
	static const struct call lower##_call = {				\
		.query = lower##_query,						\
		.size = sizeof(DAT_##of##_PARAM),				\
		.all = DAT_##of##_FIELD_ALL,					\
		.bits = 8 * sizeof(DAT_##of##_PARAM_MASK),			\
		.bad_handle = DAT_ERROR(DAT_INVALID_HANDLE, bad),		\
		.unknown = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),	\
		.null = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),	\
		.rows = lower##_rows,						\
		.n = ARRAY_SIZE(lower##_rows),					\
	}

/* ---- members ---------------------------------------------------------------------- */

#define CR_ROW(field, member)	ROW(DAT_CR_PARAM, CR, field, member)
static const struct row cr_rows[] = {
	CR_ROW(REMOTE_IA_ADDRESS_PTR, remote_ia_address_ptr),
	CR_ROW(REMOTE_PORT_QUAL, remote_port_qual),
	CR_ROW(PRIVATE_DATA_SIZE, private_data_size),
	CR_ROW(PRIVATE_DATA, private_data),
	CR_ROW(LOCAL_EP_HANDLE, local_ep_handle),
};

DEFINE_CALL(cr, CR, DAT_INVALID_HANDLE_CR);

#define EP_ROW(field, member)	ROW(DAT_EP_PARAM, EP, field, member)
static const struct row ep_rows[] = {
	EP_ROW(IA_HANDLE, ia_handle),
	EP_ROW(EP_STATE, ep_state),
	EP_ROW(COMM, comm),
	EP_ROW(LOCAL_IA_ADDRESS_PTR, local_ia_address_ptr),
	EP_ROW(LOCAL_PORT_QUAL, local_port_qual),
	EP_ROW(REMOTE_IA_ADDRESS_PTR, remote_ia_address_ptr),
	EP_ROW(REMOTE_PORT_QUAL, remote_port_qual),
	EP_ROW(PZ_HANDLE, pz_handle),
	EP_ROW(RECV_EVD_HANDLE, recv_evd_handle),
	EP_ROW(REQUEST_EVD_HANDLE, request_evd_handle),
	EP_ROW(CONNECT_EVD_HANDLE, connect_evd_handle),
	EP_ROW(SRQ_HANDLE, srq_handle),
	EP_ROW(EP_ATTR_SERVICE_TYPE, ep_attr.service_type),
	EP_ROW(EP_ATTR_MAX_MESSAGE_SIZE, ep_attr.max_message_size),
	EP_ROW(EP_ATTR_MAX_RDMA_SIZE, ep_attr.max_rdma_size),
	EP_ROW(EP_ATTR_QOS, ep_attr.qos),
	EP_ROW(EP_ATTR_RECV_COMPLETION_FLAGS, ep_attr.recv_completion_flags),
	EP_ROW(EP_ATTR_REQUEST_COMPLETION_FLAGS, ep_attr.request_completion_flags),
	EP_ROW(EP_ATTR_MAX_RECV_DTOS, ep_attr.max_recv_dtos),
	EP_ROW(EP_ATTR_MAX_REQUEST_DTOS, ep_attr.max_request_dtos),
	EP_ROW(EP_ATTR_MAX_RECV_IOV, ep_attr.max_recv_iov),
	EP_ROW(EP_ATTR_MAX_REQUEST_IOV, ep_attr.max_request_iov),
	EP_ROW(EP_ATTR_MAX_RDMA_READ_IN, ep_attr.max_rdma_read_in),
	EP_ROW(EP_ATTR_MAX_RDMA_READ_OUT, ep_attr.max_rdma_read_out),
	EP_ROW(EP_ATTR_SRQ_SOFT_HW, ep_attr.srq_soft_hw),
	EP_ROW(EP_ATTR_MAX_RDMA_READ_IOV, ep_attr.max_rdma_read_iov),
	EP_ROW(EP_ATTR_MAX_RDMA_WRITE_IOV, ep_attr.max_rdma_write_iov),
	EP_ROW(EP_ATTR_NUM_TRANSPORT_ATTR, ep_attr.ep_transport_specific_count),
	EP_ROW(EP_ATTR_TRANSPORT_SPECIFIC_ATTR, ep_attr.ep_transport_specific),
	EP_ROW(EP_ATTR_NUM_PROVIDER_ATTR, ep_attr.ep_provider_specific_count),
	EP_ROW(EP_ATTR_PROVIDER_SPECIFIC_ATTR, ep_attr.ep_provider_specific),
};

DEFINE_CALL(ep, EP, DAT_INVALID_HANDLE_EP);

#define EVD_ROW(field, member)	ROW(DAT_EVD_PARAM, EVD, field, member)
static const struct row evd_rows[] = {
	EVD_ROW(IA_HANDLE, ia_handle),
	EVD_ROW(EVD_QLEN, evd_qlen),
	EVD_ROW(UPCALL_POLICY, upcall_policy),
	EVD_ROW(UPCALL, upcall),
	EVD_ROW(EVD_FLAGS, evd_flags),
};

DEFINE_CALL(evd, EVD, DAT_NO_SUBTYPE);

#define LMR_ROW(field, member)	ROW(DAT_LMR_PARAM, LMR, field, member)
static const struct row lmr_rows[] = {
	LMR_ROW(IA_HANDLE, ia_handle),
	LMR_ROW(MEM_TYPE, mem_type),
	LMR_ROW(REGION_DESC, region_desc),
	LMR_ROW(LENGTH, length),
	LMR_ROW(PZ_HANDLE, pz_handle),
	LMR_ROW(MEM_PRIV, mem_priv),
	LMR_ROW(VA_TYPE, va_type),
	LMR_ROW(LMR_CONTEXT, lmr_context),
	LMR_ROW(RMR_CONTEXT, rmr_context),
	LMR_ROW(REGISTERED_SIZE, registered_size),
	LMR_ROW(REGISTERED_ADDRESS, registered_address),
	LMR_ROW(LMR_STATE, lmr_state),
};

DEFINE_CALL(lmr, LMR, DAT_INVALID_HANDLE_LMR);

#define PSP_ROW(field, member)	ROW(DAT_PSP_PARAM, PSP, field, member)
static const struct row psp_rows[] = {
	PSP_ROW(IA_HANDLE, ia_handle),
	PSP_ROW(CONN_QUAL, conn_qual),
	PSP_ROW(EVD_HANDLE, evd_handle),
	PSP_ROW(PSP_FLAGS, psp_flags),
};

DEFINE_CALL(psp, PSP, DAT_INVALID_HANDLE_PSP);

#define PZ_ROW(field, member)	ROW(DAT_PZ_PARAM, PZ, field, member)
static const struct row pz_rows[] = {
	PZ_ROW(IA_HANDLE, ia_handle),
};

DEFINE_CALL(pz, PZ, DAT_INVALID_HANDLE_PZ);

#define RMR_ROW(field, member)	ROW(DAT_RMR_PARAM, RMR, field, member)
static const struct row rmr_rows[] = {
	RMR_ROW(IA_HANDLE, ia_handle),
	RMR_ROW(PZ_HANDLE, pz_handle),
	RMR_ROW(LMR_TRIPLET, lmr_triplet),
	RMR_ROW(MEM_PRIV, mem_priv),
	RMR_ROW(RMR_CONTEXT, rmr_context),
	RMR_ROW(RMR_SCOPE, rmr_scope),
	RMR_ROW(VA_TYPE, va_type),
};

DEFINE_CALL(rmr, RMR, DAT_INVALID_HANDLE_RMR);

#define RSP_ROW(field, member)	ROW(DAT_RSP_PARAM, RSP, field, member)
static const struct row rsp_rows[] = {
	RSP_ROW(IA_HANDLE, ia_handle),
	RSP_ROW(CONN_QUAL, conn_qual),
	RSP_ROW(EVD_HANDLE, evd_handle),
	RSP_ROW(EP_HANDLE, ep_handle),
};

DEFINE_CALL(rsp, RSP, DAT_INVALID_HANDLE_RSP);

#define SRQ_ROW(field, member)	ROW(DAT_SRQ_PARAM, SRQ, field, member)
static const struct row srq_rows[] = {
	SRQ_ROW(IA_HANDLE, ia_handle),
	SRQ_ROW(SRQ_STATE, srq_state),
	SRQ_ROW(PZ_HANDLE, pz_handle),
	SRQ_ROW(MAX_RECV_DTO, max_recv_dtos),
	SRQ_ROW(MAX_RECV_IOV, max_recv_iov),
	SRQ_ROW(LOW_WATERMARK, low_watermark),
	SRQ_ROW(AVAILABLE_DTO_COUNT, available_dto_count),
	SRQ_ROW(OUTSTANDING_DTO_COUNT, outstanding_dto_count),
};

DEFINE_CALL(srq, SRQ, DAT_INVALID_HANDLE_SRQ);

#define IA_ROW(field, member)	ROW(DAT_IA_ATTR, IA, field, member)
static const struct row ia_rows[] = {
	IA_ROW(IA_ADAPTER_NAME, adapter_name),
	IA_ROW(IA_VENDOR_NAME, vendor_name),
	IA_ROW(IA_HARDWARE_MAJOR_VERSION, hardware_version_major),
	IA_ROW(IA_HARDWARE_MINOR_VERSION, hardware_version_minor),
	IA_ROW(IA_FIRMWARE_MAJOR_VERSION, firmware_version_major),
	IA_ROW(IA_FIRMWARE_MINOR_VERSION, firmware_version_minor),
	IA_ROW(IA_ADDRESS_PTR, ia_address_ptr),
	IA_ROW(IA_MAX_EPS, max_eps),
	IA_ROW(IA_MAX_DTO_PER_EP, max_dto_per_ep),
	IA_ROW(IA_MAX_RDMA_READ_PER_EP_IN, max_rdma_read_per_ep_in),
	IA_ROW(IA_MAX_RDMA_READ_PER_EP_OUT, max_rdma_read_per_ep_out),
	IA_ROW(IA_MAX_EVDS, max_evds),
	IA_ROW(IA_MAX_EVD_QLEN, max_evd_qlen),
	IA_ROW(IA_MAX_IOV_SEGMENTS_PER_DTO, max_iov_segments_per_dto),
	IA_ROW(IA_MAX_LMRS, max_lmrs),
	IA_ROW(IA_MAX_LMR_BLOCK_SIZE, max_lmr_block_size),
	IA_ROW(IA_MAX_LMR_VIRTUAL_ADDRESS, max_lmr_virtual_address),
	IA_ROW(IA_MAX_PZS, max_pzs),
	IA_ROW(IA_MAX_MESSAGE_SIZE, max_message_size),
	IA_ROW(IA_MAX_RDMA_SIZE, max_rdma_size),
	IA_ROW(IA_MAX_RMRS, max_rmrs),
	IA_ROW(IA_MAX_RMR_TARGET_ADDRESS, max_rmr_target_address),
	IA_ROW(IA_MAX_SRQS, max_srqs),
	IA_ROW(IA_MAX_EP_PER_SRQ, max_ep_per_srq),
	IA_ROW(IA_MAX_RECV_PER_SRQ, max_recv_per_srq),
	IA_ROW(IA_MAX_IOV_SEGMENTS_PER_RDMA_READ, max_iov_segments_per_rdma_read),
	IA_ROW(IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE, max_iov_segments_per_rdma_write),
	IA_ROW(IA_MAX_RDMA_READ_IN, max_rdma_read_in),
	IA_ROW(IA_MAX_RDMA_READ_OUT, max_rdma_read_out),
	IA_ROW(IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED, max_rdma_read_per_ep_in_guaranteed),
	IA_ROW(IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, max_rdma_read_per_ep_out_guaranteed),
	IA_ROW(IA_ZB_SUPPORTED, zb_supported),
	IA_ROW(IA_RESERVED_LMR_SUPPORTED, reserved_lmr_supported),
	/* The bits of extensions */
	{ "IA, bit 33", BIT_ULL(33), NO_MEMBER },
	{ "IA, bit 34", BIT_ULL(34), NO_MEMBER },
	IA_ROW(IA_NUM_TRANSPORT_ATTR, num_transport_attr),
	IA_ROW(IA_TRANSPORT_ATTR, transport_attr),
	IA_ROW(IA_NUM_VENDOR_ATTR, num_vendor_attr),
	IA_ROW(IA_VENDOR_ATTR, vendor_attr),
};

#define PROVIDER_ROW(field, member)	ROW(DAT_PROVIDER_ATTR, PROVIDER, field, member)
static const struct row provider_rows[] = {
	PROVIDER_ROW(PROVIDER_NAME, provider_name),
	PROVIDER_ROW(PROVIDER_VERSION_MAJOR, provider_version_major),
	PROVIDER_ROW(PROVIDER_VERSION_MINOR, provider_version_minor),
	PROVIDER_ROW(DAPL_VERSION_MAJOR, dapl_version_major),
	PROVIDER_ROW(DAPL_VERSION_MINOR, dapl_version_minor),
	PROVIDER_ROW(LMR_MEM_TYPE_SUPPORTED, lmr_mem_types_supported),
	PROVIDER_ROW(IOV_OWNERSHIP, iov_ownership_on_return),
	PROVIDER_ROW(DAT_QOS_SUPPORTED, dat_qos_supported),
	PROVIDER_ROW(COMPLETION_FLAGS_SUPPORTED, completion_flags_supported),
	PROVIDER_ROW(IS_THREAD_SAFE, is_thread_safe),
	PROVIDER_ROW(MAX_PRIVATE_DATA_SIZE, max_private_data_size),
	PROVIDER_ROW(SUPPORTS_MULTIPATH, supports_multipath),
	PROVIDER_ROW(EP_CREATOR, ep_creator),
	PROVIDER_ROW(UPCALL_POLICY, upcall_policy),
	PROVIDER_ROW(OPTIMAL_BUFFER_ALIGNMENT, optimal_buffer_alignment),
	PROVIDER_ROW(EVD_STREAM_MERGING_SUPPORTED, evd_stream_merging_supported),
	PROVIDER_ROW(SRQ_SUPPORTED, srq_supported),
	PROVIDER_ROW(SRQ_WATERMARKS_SUPPORTED, srq_watermarks_supported),
	PROVIDER_ROW(SRQ_EP_PZ_DIFFERENCE_SUPPORTED, srq_ep_pz_difference_supported),
	PROVIDER_ROW(SRQ_INFO_SUPPORTED, srq_info_supported),
	PROVIDER_ROW(EP_RECV_INFO_SUPPORTED, ep_recv_info_supported),
	PROVIDER_ROW(LMR_SYNC_REQ, lmr_sync_req),
	PROVIDER_ROW(DTO_ASYNC_RETURN_GUARANTEED, dto_async_return_guaranteed),
	PROVIDER_ROW(RDMA_WRITE_FOR_RDMA_READ_REQ, rdma_write_for_rdma_read_req),
	PROVIDER_ROW(RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE, rdma_read_lmr_rmr_context_exposure),
	PROVIDER_ROW(RMR_SCOPE_SUPPORTED, rmr_scope_supported),
	PROVIDER_ROW(IS_INTERRUPT_SAFE, is_interrupt_safe),
	PROVIDER_ROW(FMR_SUPPORTED, fmr_supported),
	PROVIDER_ROW(LMR_FOR_FMR_SCOPE, lmr_for_fmr_scope_supported),
	PROVIDER_ROW(HA_SUPPORTED, ha_supported),
	PROVIDER_ROW(HA_LB, ha_loadbalancing),
	PROVIDER_ROW(NUM_PROVIDER_SPECIFIC_ATTR, num_provider_specific_attr),
	PROVIDER_ROW(PROVIDER_SPECIFIC_ATTR, provider_specific_attr),
};

static DAT_RETURN ia_query(DAT_HANDLE handle, u64 mask, void *attr)
{
	return dat_ia_query(handle, NULL, mask, attr, 0, NULL);
}

static const struct call ia_call = {
	.query = ia_query,
	.size = sizeof(DAT_IA_ATTR),
	.all = DAT_IA_FIELD_ALL,
	.bits = 64,
	.bad_handle = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
	.unknown = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
	.null = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
	.rows = ia_rows,
	.n = ARRAY_SIZE(ia_rows),
};

static DAT_RETURN provider_query(DAT_HANDLE handle, u64 mask, void *attr)
{
	return dat_ia_query(handle, NULL, 0, NULL, mask, attr);
}

static const struct call provider_call = {
	.query = provider_query,
	.size = sizeof(DAT_PROVIDER_ATTR),
	.all = DAT_PROVIDER_FIELD_ALL,
	.bits = 64,
	.bad_handle = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
	.unknown = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
	.null = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
	.rows = provider_rows,
	.n = ARRAY_SIZE(provider_rows),
};

/* ---- checks ----------------------------------------------------------------------- */

/* The copy includes the padding after a member, up to the member that is next in memory */
static size_t end_of(const struct call *call, const struct row *row)
{
	size_t end = call->size;
	u32 i;

	for (i = 0; i < call->n; i++)
		if (call->rows[i].at > row->at)
			end = min(end, call->rows[i].at);
	return end;
}

static void expect_only(struct kunit *test, const struct call *call, const struct row *row,
			const u8 *got, const u8 *all)
{
	size_t end = end_of(call, row), i;
	u8 want;

	for (i = 0; i < call->size; i++) {
		want = i >= row->at && i < end ? all[i] : FILL;
		if (got[i] == want)
			continue;
		KUNIT_FAIL(test, "query of %s: expected %#x in byte %zu, is %#x; member at %zd",
			   row->name, want, i, got[i], row->at);
		return;
	}
}

static void expect_bits(struct kunit *test, const struct call *call, DAT_HANDLE handle)
{
	/* Of the exact size, so that KASAN reports an overrun */
	u8 *got = kunit_kmalloc(test, call->size, GFP_KERNEL);
	u8 *all = kunit_kmalloc(test, call->size, GFP_KERNEL);
	u64 seen = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, got);
	KUNIT_ASSERT_NOT_NULL(test, all);
	memset(all, OTHER_FILL, call->size);
	KUNIT_ASSERT_EQ(test, call->query(handle, call->all, all), DAT_SUCCESS);
	for (i = 0; i < call->n; i++) {
		memset(got, FILL, call->size);
		KUNIT_EXPECT_EQ_MSG(test, call->query(handle, call->rows[i].bit, got), DAT_SUCCESS,
				    "%s", call->rows[i].name);
		expect_only(test, call, &call->rows[i], got, all);
		KUNIT_EXPECT_EQ_MSG(test, seen & call->rows[i].bit, 0, "%s: two rows",
				    call->rows[i].name);
		seen |= call->rows[i].bit;
	}
	KUNIT_EXPECT_EQ(test, seen, call->all);
	memset(got, FILL, call->size);
	KUNIT_EXPECT_EQ(test, call->query(handle, 0, got), DAT_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(got, FILL, call->size));
}

/* The first wrong argument is reported, and nothing is written */
static void expect_faults(struct kunit *test, const struct call *call, DAT_HANDLE handle,
			  DAT_HANDLE other)
{
	u8 *got = kunit_kmalloc(test, call->size, GFP_KERNEL);
	u64 bit;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, got);
	memset(got, FILL, call->size);
	KUNIT_EXPECT_EQ(test, call->query(DAT_HANDLE_NULL, call->all, got), call->bad_handle);
	KUNIT_EXPECT_EQ(test, call->query(other, call->all, got), call->bad_handle);
	KUNIT_EXPECT_EQ(test, call->query(other, call->all + 1, NULL), call->bad_handle);
	for (i = 0; i < call->bits; i++) {
		bit = BIT_ULL(i);
		if (bit & call->all)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, call->query(handle, bit, got), call->unknown,
				    "bit %u", i);
		KUNIT_EXPECT_EQ_MSG(test, call->query(handle, call->all | bit, got),
				    call->unknown, "all and bit %u", i);
		KUNIT_EXPECT_EQ_MSG(test, call->query(handle, bit, NULL), call->unknown,
				    "bit %u, NULL", i);
	}
	KUNIT_EXPECT_EQ(test, call->query(handle, call->all, NULL), call->null);
	KUNIT_EXPECT_NULL(test, memchr_inv(got, FILL, call->size));
}

static void expect_call(struct kunit *test, const struct call *call, DAT_HANDLE handle,
			DAT_HANDLE other)
{
	expect_bits(test, call, handle);
	expect_faults(test, call, handle, other);
}

/* ---- cases ------------------------------------------------------------------------ */

static void each_bit_of_an_IA(struct kunit *test)
{
	expect_call(test, &ia_call, sp_ia(), sp_env->own.pz);
}

static void each_bit_of_the_provider(struct kunit *test)
{
	expect_call(test, &provider_call, sp_ia(), sp_env->own.pz);
}

static void dat_ia_query_returns_the_first_fault(struct kunit *test)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR *provider;
	DAT_IA_ATTR *attr;

	attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	provider = kunit_kzalloc(test, sizeof(*provider), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, provider);
	KUNIT_EXPECT_EQ(test, dat_ia_query(sp_ia(), &evd, ~0ULL, NULL, ~0ULL, NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	KUNIT_EXPECT_EQ(test, dat_ia_query(sp_ia(), &evd, DAT_IA_FIELD_ALL, NULL, ~0ULL, NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	KUNIT_EXPECT_EQ(test, dat_ia_query(sp_ia(), &evd, DAT_IA_FIELD_ALL, attr, ~0ULL, NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
	KUNIT_EXPECT_EQ(test, dat_ia_query(sp_ia(), &evd, DAT_IA_FIELD_ALL, attr,
					   DAT_PROVIDER_FIELD_ALL, NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6));
	KUNIT_EXPECT_NULL(test, memchr_inv(attr, 0, sizeof(*attr)));
	KUNIT_EXPECT_PTR_EQ(test, evd, DAT_HANDLE_NULL);
	/* Without a bit, the pointers may be NULL */
	KUNIT_EXPECT_EQ(test, dat_ia_query(sp_ia(), &evd, 0, NULL, 0, NULL), DAT_SUCCESS);
	KUNIT_EXPECT_PTR_NE(test, evd, DAT_HANDLE_NULL);
}

static void each_bit_of_a_PZ(struct kunit *test)
{
	expect_call(test, &pz_call, sp_env->own.pz, sp_ia());
}

static void each_bit_of_an_EVD(struct kunit *test)
{
	expect_call(test, &evd_call, sp_evd, sp_ia());
}

static void each_bit_of_an_SRQ(struct kunit *test)
{
	expect_call(test, &srq_call, sp_env->srq_handle, sp_ia());
}

static void each_bit_of_an_EP(struct kunit *test)
{
	expect_call(test, &ep_call, sp_ep.handle, sp_ia());
}

static void each_bit_of_a_PSP(struct kunit *test)
{
	expect_call(test, &psp_call, sp_handle(sp_make(test, sp_evd, SP_QUAL, NULL)), sp_ia());
}

static void each_bit_of_an_RSP(struct kunit *test)
{
	expect_call(test, &rsp_call, sp_handle(sp_make(test, sp_evd, SP_QUAL, &sp_ep)), sp_ia());
}

static void each_bit_of_a_CR(struct kunit *test)
{
	struct kdapl_sp *rsp = sp_make(test, sp_evd, SP_QUAL, &sp_ep);
	DAT_CR_HANDLE cr;

	KUNIT_ASSERT_TRUE(test, sp_request(rsp, 0x11));
	cr = sp_announced(test, sp_evd, rsp);
	expect_call(test, &cr_call, cr, sp_ia());
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
}

static void each_bit_of_an_RMR(struct kunit *test)
{
	DAT_RMR_HANDLE rmr;

	KUNIT_ASSERT_EQ(test, dat_rmr_create(sp_env->own.pz, &rmr), DAT_SUCCESS);
	expect_call(test, &rmr_call, rmr, sp_ia());
	KUNIT_EXPECT_EQ(test, dat_rmr_free(rmr), DAT_SUCCESS);
}

static void each_bit_of_an_LMR(struct kunit *test)
{
	expect_call(test, &lmr_call, sp_env->own.rw.handle, sp_ia());
}

static struct kunit_case param_cases[] = {
	KUNIT_CASE(each_bit_of_an_IA),
	KUNIT_CASE(each_bit_of_the_provider),
	KUNIT_CASE(dat_ia_query_returns_the_first_fault),
	KUNIT_CASE(each_bit_of_a_PZ),
	KUNIT_CASE(each_bit_of_an_EVD),
	KUNIT_CASE(each_bit_of_an_SRQ),
	KUNIT_CASE(each_bit_of_an_EP),
	KUNIT_CASE(each_bit_of_a_PSP),
	KUNIT_CASE(each_bit_of_an_RSP),
	KUNIT_CASE(each_bit_of_a_CR),
	KUNIT_CASE(each_bit_of_an_RMR),
	KUNIT_CASE(each_bit_of_an_LMR),
	{}
};

static struct kunit_suite param_suite = {
	.name = "kdapl_param",
	.init = sp_init,
	.exit = sp_exit,
	.test_cases = param_cases,
};

kunit_test_suite(param_suite);
