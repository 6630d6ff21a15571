/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of dapltest, protocol version 6. Messages of the control connection
 * have the full length of a control buffer.
 *
 * Some fields have the byte order of the client, others are little-endian. This
 * end is always little-endian and serves little-endian clients only, so all
 * fields are little-endian.
 */
#ifndef _INTEROP_PROTOCOL_H_
#define _INTEROP_PROTOCOL_H_

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define DT_VERSION		6
#define DT_PORT			62000
#define DT_PORT_RANGE		1000	/* test ports after the control port */
#define DT_CONTROL_SIZE		8192
#define DT_REGIONS_SIZE		1200	/* memory of a transaction test */
#define DT_SYNC_SIZE		64
#define DT_PERF_SIZE		12	/* both messages of a performance test */
#define DT_MAX_OPS		100
#define DT_ALIGN		256	/* segments of a buffer begin at multiples */
#define DT_NAME_SIZE		256
#define DT_PRIVATE_DATA		"DAPL and RDMA rule! Test 4321."
#define DT_EXTRA_OPS		3	/* operations that validation appends */
#define DT_EXTRA_SIZE		4096

enum dt_test_type {
	DT_TEST_TRANSACTION	= 1,
	DT_TEST_PERFORMANCE	= 2,
	DT_TEST_QUIT		= 4,
};

enum dt_transfer {
	DT_RDMA_READ		= 0,
	DT_RDMA_WRITE		= 1,
	DT_SEND_RECV		= 2,
};

struct dt_client_info {
	__le32 version;
	__le32 is_little_endian;
	__le32 test_type;
	__le32 total_threads;
};

struct dt_server_info {
	__le32 version;
	__le32 is_little_endian;
	__le32 first_port;
};

struct dt_op {
	__le32 server_initiated;
	__le32 transfer;
	__le32 num_segs;
	__le32 seg_size;
	__le32 reap_send_on_recv;
};

struct dt_transaction_cmd {
	__le32 version;
	__le32 is_little_endian;
	char server_name[DT_NAME_SIZE];
	__le32 num_iterations;
	__le32 num_threads;
	__le32 eps_per_thread;
	__le32 use_cno;
	__le32 use_rsp;
	__le32 debug;
	__le32 validate;
	__le32 poll;
	__le64 port;
	char dapl_name[DT_NAME_SIZE];
	__le32 qos;
	__le32 num_ops;
	struct dt_op op[DT_MAX_OPS];
} __packed;

struct dt_performance_cmd {
	__le32 version;
	__le32 is_little_endian;
	char server_name[DT_NAME_SIZE];
	char dapl_name[DT_NAME_SIZE];
	__le32 qos;
	__le32 debug;
	__le32 mode;
	__le32 num_iterations;
	__le32 pipeline_len;
	__le32 transfer;
	__le32 seg_size;
	__le32 num_segs;
	__le32 use_rsp;
	__le64 port;
} __packed;

struct dt_quit_cmd {
	char server_name[DT_NAME_SIZE];
	char device_name[DT_NAME_SIZE];
	__le32 debug;
	__le32 qos;
	__le64 port;
} __packed;

/* Memory that the sender grants: rmr_context and address. */
struct dt_region {
	__le32 context;
	__le64 address;
} __packed;

#define DT_HOLDS(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset))

static_assert(sizeof(struct dt_client_info) == 16);
static_assert(sizeof(struct dt_server_info) == 12);
static_assert(sizeof(struct dt_op) == 20);
static_assert(sizeof(struct dt_transaction_cmd) == 2568);
static_assert(sizeof(struct dt_performance_cmd) == 564);
static_assert(sizeof(struct dt_quit_cmd) == 528);
static_assert(sizeof(struct dt_region) == DT_PERF_SIZE);
static_assert(DT_MAX_OPS * sizeof(struct dt_region) == DT_REGIONS_SIZE);

DT_HOLDS(dt_client_info, test_type, 8);
DT_HOLDS(dt_client_info, total_threads, 12);
DT_HOLDS(dt_server_info, first_port, 8);
DT_HOLDS(dt_op, reap_send_on_recv, 16);
DT_HOLDS(dt_transaction_cmd, server_name, 8);
DT_HOLDS(dt_transaction_cmd, num_iterations, 264);
DT_HOLDS(dt_transaction_cmd, num_threads, 268);
DT_HOLDS(dt_transaction_cmd, eps_per_thread, 272);
DT_HOLDS(dt_transaction_cmd, use_rsp, 280);
DT_HOLDS(dt_transaction_cmd, validate, 288);
DT_HOLDS(dt_transaction_cmd, poll, 292);
DT_HOLDS(dt_transaction_cmd, port, 296);
DT_HOLDS(dt_transaction_cmd, dapl_name, 304);
DT_HOLDS(dt_transaction_cmd, qos, 560);
DT_HOLDS(dt_transaction_cmd, num_ops, 564);
DT_HOLDS(dt_transaction_cmd, op, 568);
DT_HOLDS(dt_performance_cmd, dapl_name, 264);
DT_HOLDS(dt_performance_cmd, qos, 520);
DT_HOLDS(dt_performance_cmd, mode, 528);
DT_HOLDS(dt_performance_cmd, num_iterations, 532);
DT_HOLDS(dt_performance_cmd, pipeline_len, 536);
DT_HOLDS(dt_performance_cmd, transfer, 540);
DT_HOLDS(dt_performance_cmd, seg_size, 544);
DT_HOLDS(dt_performance_cmd, num_segs, 548);
DT_HOLDS(dt_performance_cmd, use_rsp, 552);
DT_HOLDS(dt_performance_cmd, port, 556);
DT_HOLDS(dt_quit_cmd, debug, 512);
DT_HOLDS(dt_quit_cmd, port, 520);
DT_HOLDS(dt_region, address, 4);

#endif /* _INTEROP_PROTOCOL_H_ */
