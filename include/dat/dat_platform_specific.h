/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scalars, names, addresses and tunables of the DAT API, as defined for this kernel. There is
 * no code here. Included by the other headers of this directory; a Consumer includes kdat.h and
 * nothing else.
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <linux/types.h>
#include <linux/stddef.h>
#include <linux/socket.h>
#include <linux/in.h>
#include <linux/in6.h>

/**
 * define DAT_OPTIMAL_ALIGNMENT - alignment in bytes that buffers should have
 *
 * A power of two; a Consumer may define another value before it includes kdat.h. kDAPL
 * accepts every alignment.
 */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT		256
#endif

/**
 * typedef DAT_UINT32 - unsigned number of 32 bits, in host order
 */
typedef u32 DAT_UINT32;

/**
 * typedef DAT_UINT64 - unsigned number of 64 bits, in host order
 */
typedef u64 DAT_UINT64;

/**
 * typedef DAT_UVERYLONG - the widest unsigned number
 */
typedef unsigned long long DAT_UVERYLONG;

/**
 * DOC: Pointers
 *
 * .. c:type:: void *DAT_PVOID
 *
 *    An address of this kernel.
 *
 * .. c:type:: char *DAT_NAME_PTR
 *
 *    The name of an IA: at most %DAT_NAME_MAX_LENGTH bytes, including the terminating 0.
 *
 * .. c:type:: struct sockaddr *DAT_IA_ADDRESS_PTR
 *
 *    An IP address: struct sockaddr_in with %DAT_AF_INET, or struct sockaddr_in6 with
 *    %DAT_AF_INET6. The caller owns the memory of an argument. The description of a member
 *    that returns an address says how long it is valid. Source: kDAPL 2.0 header, manual page
 *    dat_ia_query.
 */
typedef void *DAT_PVOID;

/**
 * typedef DAT_COUNT - a number of objects, or of bytes of private data
 *
 * Signed: a call refuses negative values, except the special counts. Source: kDAPL
 * 2.0 header; the refusal is kDAPL's choice.
 */
typedef int DAT_COUNT;

/**
 * typedef DAT_PADDR - physical address
 */
typedef DAT_UINT64 DAT_PADDR;

/**
 * typedef DAT_SOCK_ADDR - address of any family
 */
typedef struct sockaddr DAT_SOCK_ADDR;

/**
 * typedef DAT_SOCK_ADDR6 - IPv6 address
 */
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

/**
 * define DAT_AF_INET - family of IPv4 addresses
 */
#define DAT_AF_INET			AF_INET

/**
 * define DAT_AF_INET6 - family of IPv6 addresses
 */
#define DAT_AF_INET6			AF_INET6

typedef char *DAT_NAME_PTR;

/**
 * define DAT_NAME_MAX_LENGTH - size of a name in bytes, including the terminating 0
 */
#define DAT_NAME_MAX_LENGTH		256

/**
 * struct dat_named_attr - DAT_NAMED_ATTR: an attribute that has a name instead of a member
 * @name:  the name, a string
 * @value: the value, a string
 *
 * "Named attributes of an EP" in kdapl-api.rst lists the names. Source: kDAPL 2.0 header; the
 * names are kDAPL's choice.
 */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

typedef struct sockaddr *DAT_IA_ADDRESS_PTR;

/**
 * typedef DAT_CONN_QUAL - connection qualifier, on which a service point listens
 *
 * 1 to 65535 is the IP port; a greater number is mapped to a port, see "Service points" in
 * kdapl-connections.rst; 0 is not legal. Source: kDAPL 2.0 header, manual page
 * dat_psp_create; the mapping is that of user-space uDAPL.
 */
typedef DAT_UINT64 DAT_CONN_QUAL;

/**
 * typedef DAT_PORT_QUAL - port qualifier of one end of a connection: its IP port
 *
 * Defined during a connection attempt and a connection. Source: kDAPL 2.0 header, manual page
 * dat_ep_query.
 */
typedef DAT_UINT64 DAT_PORT_QUAL;

/**
 * typedef DAT_TIMEOUT - a time in microseconds
 *
 * %DAT_TIMEOUT_INFINITE is legal, 0 is not. Source: kDAPL 2.0 header, manual page
 * dat_ep_connect.
 */
typedef DAT_UINT32 DAT_TIMEOUT;

/**
 * define DAT_TIMEOUT_INFINITE - no time limit
 */
#define DAT_TIMEOUT_INFINITE		((DAT_TIMEOUT)~0U)

/**
 * typedef DAT_LMR_CONTEXT - key of an LMR for segments of local memory
 *
 * Only the Provider creates such keys.
 */
typedef DAT_UINT32 DAT_LMR_CONTEXT;

/**
 * typedef DAT_RMR_CONTEXT - key of an LMR or RMR for the peer
 *
 * In host order: the Consumer converts it for the peer. It is 0 if there is no remote
 * privilege. Source: kDAPL 2.0 header; the 0 is kDAPL's choice.
 */
typedef DAT_UINT32 DAT_RMR_CONTEXT;

/**
 * typedef DAT_VLEN - length of a registration in bytes
 */
typedef DAT_UINT64 DAT_VLEN;

/**
 * typedef DAT_VADDR - address of a byte in a registration
 */
typedef DAT_UINT64 DAT_VADDR;

/**
 * typedef DAT_SEG_LENGTH - length of a segment or of a message in bytes
 */
typedef DAT_UINT32 DAT_SEG_LENGTH;

/**
 * struct dat_comm - DAT_COMM: the socket of a common service point
 * @domain:   address family
 * @type:     type of the socket
 * @protocol: protocol of the socket
 *
 * kDAPL has no common service points and ignores the members; dat_ep_query() returns zeroes.
 */
typedef struct dat_comm {
	int domain;
	int type;
	int protocol;
} DAT_COMM;

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
