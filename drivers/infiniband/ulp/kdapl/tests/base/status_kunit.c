// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: status tables and the texts of return values.
 *
 * The expected values are repeated here, taken from the contract (2.2, 2.5)
 * and not from status.c. Runs in a KUnit thread.
 */
#include <kunit/test.h>
#include "../../base/status.h"

/* 2.5 */
static const struct wc_row {
	enum ib_wc_status wc;
	DAT_DTO_COMPLETION_STATUS request;
	DAT_DTO_COMPLETION_STATUS recv;
	const char *name;
} wc_rows[] = {
#define ROW(wc, req, rcv)	{ IB_WC_##wc, DAT_##req, DAT_##rcv, #wc }
	ROW(SUCCESS, DTO_SUCCESS, DTO_SUCCESS),
	ROW(LOC_LEN_ERR, DTO_ERR_LOCAL_LENGTH, DTO_ERR_LOCAL_LENGTH),
	ROW(LOC_QP_OP_ERR, DTO_ERR_LOCAL_EP, DTO_ERR_LOCAL_LENGTH),
	ROW(LOC_EEC_OP_ERR, DTO_ERR_LOCAL_EP, DTO_ERR_LOCAL_EP),
	ROW(LOC_PROT_ERR, DTO_ERR_LOCAL_PROTECTION, DTO_ERR_LOCAL_PROTECTION),
	ROW(WR_FLUSH_ERR, DTO_ERR_FLUSHED, DTO_ERR_FLUSHED),
	ROW(MW_BIND_ERR, RMR_OPERATION_FAILED, RMR_OPERATION_FAILED),
	ROW(BAD_RESP_ERR, DTO_ERR_BAD_RESPONSE, DTO_ERR_BAD_RESPONSE),
	ROW(LOC_ACCESS_ERR, DTO_ERR_LOCAL_PROTECTION, DTO_ERR_LOCAL_PROTECTION),
	ROW(REM_INV_REQ_ERR, DTO_ERR_REMOTE_RESPONDER, DTO_ERR_REMOTE_RESPONDER),
	ROW(REM_ACCESS_ERR, DTO_ERR_REMOTE_ACCESS, DTO_ERR_REMOTE_ACCESS),
	ROW(REM_OP_ERR, DTO_ERR_REMOTE_RESPONDER, DTO_ERR_REMOTE_RESPONDER),
	ROW(RETRY_EXC_ERR, DTO_ERR_TRANSPORT, DTO_ERR_TRANSPORT),
	ROW(RNR_RETRY_EXC_ERR, DTO_ERR_RECEIVER_NOT_READY, DTO_ERR_RECEIVER_NOT_READY),
	ROW(LOC_RDD_VIOL_ERR, DTO_ERR_LOCAL_PROTECTION, DTO_ERR_LOCAL_PROTECTION),
	ROW(REM_INV_RD_REQ_ERR, DTO_ERR_REMOTE_RESPONDER, DTO_ERR_REMOTE_RESPONDER),
	ROW(REM_ABORT_ERR, DTO_ERR_REMOTE_RESPONDER, DTO_ERR_REMOTE_RESPONDER),
	ROW(INV_EECN_ERR, DTO_ERR_TRANSPORT, DTO_ERR_TRANSPORT),
	ROW(INV_EEC_STATE_ERR, DTO_ERR_TRANSPORT, DTO_ERR_TRANSPORT),
	ROW(FATAL_ERR, DTO_ERR_TRANSPORT, DTO_ERR_TRANSPORT),
	ROW(RESP_TIMEOUT_ERR, DTO_ERR_RECEIVER_NOT_READY, DTO_ERR_RECEIVER_NOT_READY),
	ROW(GENERAL_ERR, DTO_ERR_TRANSPORT, DTO_ERR_TRANSPORT),
#undef ROW
};

static void wc_desc(const struct wc_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wc, wc_rows, wc_desc);

static void wc_status_to_dto(struct kunit *test)
{
	const struct wc_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, kdapl_wc_status_to_dto(row->wc, false), row->request);
	KUNIT_EXPECT_EQ(test, kdapl_wc_status_to_dto(row->wc, true), row->recv);
}

static void wc_status_table_is_complete(struct kunit *test)
{
	unsigned int seen = 0, i;

	for (i = 0; i < ARRAY_SIZE(wc_rows); i++)
		seen |= BIT(wc_rows[i].wc);
	KUNIT_EXPECT_EQ(test, seen, GENMASK(IB_WC_GENERAL_ERR, 0));
	/* A new verbs status is a failure, never a success */
	for (i = IB_WC_GENERAL_ERR + 1; i < 300; i++)
		KUNIT_EXPECT_EQ(test, kdapl_wc_status_to_dto(i, i & 1), DAT_DTO_ERR_TRANSPORT);
	KUNIT_EXPECT_EQ(test, kdapl_wc_status_to_dto(-1, false), DAT_DTO_ERR_TRANSPORT);
}

static void wc_status_to_mm(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i <= IB_WC_GENERAL_ERR; i++)
		KUNIT_EXPECT_EQ(test, kdapl_wc_status_to_mm(i),
				i == IB_WC_SUCCESS ? DAT_DTO_SUCCESS :
				i == IB_WC_WR_FLUSH_ERR ? DAT_DTO_ERR_FLUSHED :
				DAT_DTO_ERR_LOCAL_MM_ERROR);
}

/* 2.2, last paragraph but one: the subtype names the state */
static void ep_state_subtypes(struct kunit *test)
{
	static const u8 subtype[] = { 47, 63, 53, 64, 49, 65, 48, 50, 66, 51, 55, 52, 54, 51, 51 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(subtype); i++) {
		KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(kdapl_ep_state_error(i)), DAT_INVALID_STATE);
		KUNIT_EXPECT_EQ(test, DAT_GET_SUBTYPE(kdapl_ep_state_error(i)), subtype[i]);
		KUNIT_EXPECT_NE(test, kdapl_ep_state_error(i) & DAT_CLASS_ERROR, 0);
	}
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(kdapl_ep_state_error(ARRAY_SIZE(subtype))),
			DAT_INTERNAL_ERROR);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(kdapl_ep_state_error(-1)), DAT_INTERNAL_ERROR);
}

static void return_value_layout(struct kunit *test)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);

	KUNIT_EXPECT_EQ(test, sizeof(DAT_RETURN), 4);
	KUNIT_EXPECT_EQ(test, ret, 0x8005000cU);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(ret), 0x00050000U);
	KUNIT_EXPECT_EQ(test, DAT_GET_SUBTYPE(ret), 12);
	KUNIT_EXPECT_EQ(test, DAT_IS_WARNING(ret), 0);
	KUNIT_EXPECT_NE(test, DAT_IS_WARNING(DAT_CLASS_WARNING | DAT_QUEUE_FULL), 0);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_NOT_IMPLEMENTED, 0), 0xbfff0000U);
	KUNIT_EXPECT_EQ(test, DAT_TYPE_MASK | DAT_SUBTYPE_MASK | 0xc0000000U, 0xffffffffU);
	/* Two similar names with different meanings (4.12) */
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_LENGTH_ERROR, 0), 0x80080000U);
	KUNIT_EXPECT_EQ(test, DAT_DTO_LENGTH_ERROR, 2);
	/* Landmarks of the subtype sequence */
	KUNIT_EXPECT_EQ(test, DAT_RESOURCE_SRQ, 10);
	KUNIT_EXPECT_EQ(test, DAT_INVALID_HANDLE10, 36);
	KUNIT_EXPECT_EQ(test, DAT_INVALID_ARG10, 46);
	KUNIT_EXPECT_EQ(test, DAT_INVALID_STATE_EP_UNCONFTENTATIVE, 66);
	KUNIT_EXPECT_EQ(test, DAT_INVALID_STATE_SRQ_SHUTDOWN, 88);
	KUNIT_EXPECT_EQ(test, DAT_PRIVILEGES_RDMA_WRITE, 92);
	KUNIT_EXPECT_EQ(test, DAT_PROTECTION_RDMA_WRITE, 96);
	KUNIT_EXPECT_EQ(test, DAT_INVALID_ADDRESS_MALFORMED, 99);
	KUNIT_EXPECT_EQ(test, DAT_THREAD_SAFETY_NOT_FOUND, 103);
}

#define NTYPES		0x18		/* 0 .. COMM_NOT_SUPPORTED, and NOT_IMPLEMENTED */
#define NSUBTYPES	104

static void strerror_names_every_type(struct kunit *test)
{
	const char *major, *minor, *last = "";
	unsigned int i;

	for (i = 0; i < NTYPES; i++) {
		DAT_RETURN ret = DAT_ERROR(i << 16, 0);

		major = NULL;
		KUNIT_EXPECT_EQ(test, dat_strerror(ret, &major, &minor), DAT_SUCCESS);
		KUNIT_ASSERT_NOT_NULL(test, major);
		KUNIT_EXPECT_EQ(test, strncmp(major, "DAT_", 4), 0);
		KUNIT_EXPECT_STRNEQ(test, major, last);
		KUNIT_EXPECT_STREQ(test, minor, "DAT_NO_SUBTYPE");
		last = major;
	}
	KUNIT_EXPECT_EQ(test, dat_strerror(DAT_ERROR(DAT_NOT_IMPLEMENTED, 0), &major, &minor),
			DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, major, "DAT_NOT_IMPLEMENTED");
	/* Those that are missing in the reference */
	dat_strerror(DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, 0), &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_CONN_QUAL_UNAVAILABLE");
	dat_strerror(DAT_ERROR(DAT_RESERVED_LMR, 0), &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_RESERVED_LMR");
	dat_strerror(DAT_ERROR(DAT_PORT_IN_USE, 0), &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_PORT_IN_USE");
	dat_strerror(DAT_ERROR(DAT_COMM_NOT_SUPPORTED, 0), &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_COMM_NOT_SUPPORTED");
	dat_strerror(DAT_SUCCESS, &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_SUCCESS");
}

static void strerror_names_every_subtype(struct kunit *test)
{
	const char *major, *minor, *last = "";
	unsigned int i;

	for (i = 0; i < NSUBTYPES; i++) {
		minor = NULL;
		KUNIT_EXPECT_EQ(test, dat_strerror(DAT_ERROR(DAT_INVALID_STATE, i), &major, &minor),
				DAT_SUCCESS);
		KUNIT_ASSERT_NOT_NULL(test, minor);
		KUNIT_EXPECT_EQ(test, strncmp(minor, "DAT_", 4), 0);
		KUNIT_EXPECT_STRNEQ(test, minor, last);
		last = minor;
	}
	dat_strerror(DAT_ERROR(DAT_INVALID_HANDLE, 12), &major, &minor);
	KUNIT_EXPECT_STREQ(test, major, "DAT_INVALID_HANDLE");
	KUNIT_EXPECT_STREQ(test, minor, "DAT_INVALID_HANDLE_EP");
	dat_strerror(DAT_ERROR(DAT_INVALID_STATE, 88), &major, &minor);
	KUNIT_EXPECT_STREQ(test, minor, "DAT_INVALID_STATE_SRQ_SHUTDOWN");
}

static void strerror_refuses_the_undefined(struct kunit *test)
{
	const char *major = "untouched", *minor = "untouched";
	static const DAT_RETURN bad[] = {
		DAT_ERROR(0x00180000, 0), DAT_ERROR(0x10000000, 0), DAT_ERROR(0x3ffe0000, 0),
		DAT_ERROR(DAT_INVALID_STATE, 104), DAT_ERROR(DAT_INVALID_STATE, 0xffff),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, DAT_GET_TYPE(dat_strerror(bad[i], &major, &minor)),
				    DAT_INVALID_PARAMETER, "%#x", bad[i]);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_strerror(0, NULL, &minor)), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, DAT_GET_TYPE(dat_strerror(0, &major, NULL)), DAT_INVALID_PARAMETER);
	KUNIT_EXPECT_STREQ(test, major, "untouched");
	KUNIT_EXPECT_STREQ(test, minor, "untouched");
}

static struct kunit_case status_cases[] = {
	KUNIT_CASE_PARAM(wc_status_to_dto, wc_gen_params),
	KUNIT_CASE(wc_status_table_is_complete),
	KUNIT_CASE(wc_status_to_mm),
	KUNIT_CASE(ep_state_subtypes),
	KUNIT_CASE(return_value_layout),
	KUNIT_CASE(strerror_names_every_type),
	KUNIT_CASE(strerror_names_every_subtype),
	KUNIT_CASE(strerror_refuses_the_undefined),
	{}
};

static struct kunit_suite status_suite = {
	.name = "kdapl_status",
	.test_cases = status_cases,
};

kunit_test_suite(status_suite);
