/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scalars, socket addresses and tunables of the DAT API as this kernel spells
 * them. Types only: nothing here has a context. Included by dat_error.h and
 * dat.h; a Consumer includes kdat.h and nothing else.
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <linux/types.h>
#include <linux/stddef.h>
#include <linux/socket.h>
#include <linux/in.h>
#include <linux/in6.h>

/* Alignment that buffers should have; may be set before the inclusion. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT		256
#endif

typedef u32 DAT_UINT32;			/* host order */
typedef u64 DAT_UINT64;			/* host order */
typedef unsigned long long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;			/* signed: negative values are refused */
typedef DAT_UINT64 DAT_PADDR;		/* physical address */

typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#define DAT_AF_INET			AF_INET
#define DAT_AF_INET6			AF_INET6

/* Names: an IA's name counts its terminator in the length. */
typedef char *DAT_NAME_PTR;
#define DAT_NAME_MAX_LENGTH		256

typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

/* Addresses and qualifiers; the caller owns what an address pointer names. */
typedef struct sockaddr *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

typedef DAT_UINT32 DAT_TIMEOUT;		/* microseconds */
#define DAT_TIMEOUT_INFINITE		((DAT_TIMEOUT)~0U)

/* Memory: contexts are opaque keys, lengths of registration have 64 bits. */
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;
typedef DAT_UINT32 DAT_SEG_LENGTH;	/* one segment, or one message */

/* Socket triple that names a common service point. */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
