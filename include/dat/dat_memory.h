/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory: privileges, segments, local and remote memory regions, and protection zones.
 * There is no code here. Included by dat.h; a Consumer includes kdat.h.
 */
#ifndef _DAT_MEMORY_H_
#define _DAT_MEMORY_H_

#include <dat/dat_types.h>

/**
 * enum dat_mem_priv_flags - DAT_MEM_PRIV_FLAGS: permitted access to memory
 * @DAT_MEM_PRIV_NONE_FLAG:         nothing
 * @DAT_MEM_PRIV_LOCAL_READ_FLAG:   requests of this side read it
 * @DAT_MEM_PRIV_REMOTE_READ_FLAG:  RDMA reads of the peer read it
 * @DAT_MEM_PRIV_LOCAL_WRITE_FLAG:  receives and RDMA reads of this side write it
 * @DAT_MEM_PRIV_REMOTE_WRITE_FLAG: RDMA writes of the peer write it
 * @DAT_MEM_PRIV_ALL_FLAG:          all of these
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER. Source: kDAPL 2.0 header, manual
 * page dat_lmr_create.
 */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
} DAT_MEM_PRIV_FLAGS;

/**
 * define DAT_MEM_PRIV_READ_FLAG - local and remote read
 *
 * A name of versions in which the two were one privilege.
 */
#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)

/**
 * define DAT_MEM_PRIV_WRITE_FLAG - local and remote write
 *
 * A name of versions in which the two were one privilege.
 */
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/**
 * enum dat_va_type - DAT_VA_TYPE: how peers and posts address registered memory
 * @DAT_VA_TYPE_VA: the first byte has the registered address; the only legal value
 * @DAT_VA_TYPE_ZB: the first byte has the address 0; DAT_MODEL_NOT_SUPPORTED
 *
 * Source: kDAPL 2.0 header; the restriction is kDAPL's choice.
 */
typedef enum dat_va_type {
	DAT_VA_TYPE_VA			= 0,
	DAT_VA_TYPE_ZB			= 1,
} DAT_VA_TYPE;

/**
 * enum dat_lmr_scope - DAT_LMR_SCOPE: on which EPs dat_lmr_fmr() may register an LMR
 * @DAT_LMR_SCOPE_EP:  on one EP; DAT_MODEL_NOT_SUPPORTED
 * @DAT_LMR_SCOPE_PZ:  on every EP of the protection zone
 * @DAT_LMR_SCOPE_ANY: at the Provider's choice; the same as PZ
 *
 * Source: kDAPL 2.0 header, kernel only; the restriction is kDAPL's choice.
 */
typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP		= 0,
	DAT_LMR_SCOPE_PZ		= 1,
	DAT_LMR_SCOPE_ANY		= 2,
} DAT_LMR_SCOPE;

/**
 * enum dat_rmr_scope - DAT_RMR_SCOPE: through which EPs peers can use a bound RMR
 * @DAT_RMR_SCOPE_EP:  through one EP; never returned
 * @DAT_RMR_SCOPE_PZ:  through every EP of the protection zone; the value of every RMR
 * @DAT_RMR_SCOPE_ANY: through either; never returned
 *
 * Source: kDAPL 2.0 header; the scope is kDAPL's choice.
 */
typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP		= 0,
	DAT_RMR_SCOPE_PZ		= 1,
	DAT_RMR_SCOPE_ANY		= 2,
} DAT_RMR_SCOPE;

/**
 * enum dat_iov_ownership - DAT_IOV_OWNERSHIP: who owns the array of segments after a post
 * @DAT_IOV_CONSUMER:       the Consumer, which may reuse it; the value of kDAPL
 * @DAT_IOV_PROVIDER_NOMOD: the Provider until the completion; it does not change the array
 * @DAT_IOV_PROVIDER_MOD:   the Provider until the completion; it may change the array
 *
 * Source: kDAPL 2.0 header, manual page dat_ia_query; the value is kDAPL's choice.
 */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER		= 0,
	DAT_IOV_PROVIDER_NOMOD		= 1,
	DAT_IOV_PROVIDER_MOD		= 2,
} DAT_IOV_OWNERSHIP;

/**
 * struct dat_lmr_triplet - DAT_LMR_TRIPLET: a segment of local memory
 * @virtual_address: first byte, an address inside the registration
 * @segment_length:  bytes; 0: the segment is empty, and the other members are ignored
 * @lmr_context:     key of the LMR
 *
 * Written by the Consumer. Source: kDAPL 2.0 header, manual page dat_ep_post_send.
 */
typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

/**
 * struct dat_rmr_triplet - DAT_RMR_TRIPLET: a segment of the peer's memory
 * @virtual_address: first byte, an address inside the registration or binding of the peer
 * @segment_length:  bytes; 0: the transfer is empty
 * @rmr_context:     key of the peer's LMR or RMR
 *
 * Written by the Consumer. Source: kDAPL 2.0 header, manual page dat_ep_post_rdma_write.
 */
typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

/**
 * enum dat_mem_type - DAT_MEM_TYPE: how DAT_REGION_DESCRIPTION describes memory
 * @DAT_MEM_TYPE_VIRTUAL:  for_va: memory from kmalloc() or vmalloc(), or of a module
 * @DAT_MEM_TYPE_LMR:      for_lmr_handle: the memory of another LMR, from its start
 * @DAT_MEM_TYPE_PHYSICAL: for_physical: pages of PAGE_SIZE
 * @DAT_MEM_TYPE_PLATFORM: for_platform; DAT_MODEL_NOT_SUPPORTED
 * @DAT_MEM_TYPE_IA:       for_ia: memory of the adapter; DAT_MODEL_NOT_SUPPORTED
 * @DAT_MEM_TYPE_BYPASS:   for_platform; DAT_MODEL_NOT_SUPPORTED
 * @DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: for_array: pages of a multiple of PAGE_SIZE
 *
 * A call takes one of these; the attribute of the Provider is a set. dat_lmr_fmr() takes only
 * the two PHYSICAL types. Source: kDAPL 2.0 header, manual page dat_lmr_create; the
 * restriction is kDAPL's choice.
 */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x000,
	DAT_MEM_TYPE_LMR		= 0x001,
	DAT_MEM_TYPE_PHYSICAL		= 0x010,
	DAT_MEM_TYPE_PLATFORM		= 0x020,
	DAT_MEM_TYPE_IA			= 0x040,
	DAT_MEM_TYPE_BYPASS		= 0x080,
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES	= 0x100,
} DAT_MEM_TYPE;

/**
 * enum dat_mem_optimize_flags - DAT_MEM_OPTIMIZE_FLAGS: a hint for a registration
 * @DAT_MEM_OPTIMIZE_DONT_CARE:      no preference
 * @DAT_MEM_OPTIMIZE_IA:             use few resources of the IA
 * @DAT_MEM_OPTIMIZE_MIN_EXPOSURE:   expose little memory beyond the length
 * @DAT_MEM_OPTIMIZE_EXACT_EXPOSURE: expose no memory beyond the length
 *
 * This has no effect: kDAPL always registers the exact length. Other values are
 * DAT_INVALID_PARAMETER. Source: kDAPL 2.0 header, kernel only.
 */
typedef enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE	= 0x00,
	DAT_MEM_OPTIMIZE_IA		= 0x01,
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE	= 0x02,
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE	= 0x04,
} DAT_MEM_OPTIMIZE_FLAGS;

/**
 * typedef DAT_MEM_OPT - name of DAT_MEM_OPTIMIZE_FLAGS in earlier versions
 */
typedef DAT_MEM_OPTIMIZE_FLAGS DAT_MEM_OPT;

/**
 * struct dat_physical_var_pages - DAT_PHYSICAL_VAR_PAGES: pages of another size than PAGE_SIZE
 * @page_size: bytes of a page, a multiple of PAGE_SIZE
 * @pages:     array of DAT_PADDR, the first byte of each page; read before the call returns
 *
 * Written by the Consumer. Source: kDAPL 2.0 header, kernel only; the element type is
 * kDAPL's choice.
 */
typedef struct dat_physical_var_pages {
	DAT_VLEN page_size;
	void *pages;
} DAT_PHYSICAL_VAR_PAGES;

/**
 * union dat_region_description - DAT_REGION_DESCRIPTION: the memory to register
 * @for_va:         kernel address of the first byte
 * @for_lmr_handle: an LMR from dat_lmr_kcreate()
 * @for_platform:   for the types PLATFORM and BYPASS; not used
 * @for_array:      pages of another size
 * @for_physical:   array of the addresses of pages; read before the call returns
 * @for_ia:         for the type IA; not used
 *
 * Written by the Consumer; DAT_MEM_TYPE selects the member. Source: kDAPL 2.0 header, manual
 * page dat_lmr_create.
 */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	void *for_platform;
	DAT_PHYSICAL_VAR_PAGES for_array;
	DAT_PADDR *for_physical;
	DAT_PADDR for_ia;
} DAT_REGION_DESCRIPTION;

/**
 * struct dat_lmr_state - DAT_LMR_STATE: the state of an LMR
 * @fmr_support: DAT_TRUE: from dat_lmr_allocate(); DAT_FALSE: from dat_lmr_kcreate()
 * @bound:       DAT_TRUE: a registration by dat_lmr_fmr() has completed
 *
 * Written by dat_lmr_query(). Source: kDAPL 2.0 header, kernel only.
 */
typedef struct dat_lmr_state {
	DAT_BOOLEAN fmr_support;
	DAT_BOOLEAN bound;
} DAT_LMR_STATE;

/**
 * struct dat_lmr_param - DAT_LMR_PARAM: the parameters of an LMR
 * @ia_handle:          its IA
 * @mem_type:           kind of the memory
 * @region_desc:        the memory, as the Consumer has described it
 * @length:             bytes that the Consumer requested
 * @pz_handle:          its protection zone
 * @mem_priv:           its privileges
 * @va_type:            DAT_VA_TYPE_VA
 * @lmr_context:        key for posts
 * @rmr_context:        key for the peer; 0 without a remote privilege
 * @registered_size:    bytes that are registered; equal to @length
 * @registered_address: address of the first byte in posts and RDMA of the peer
 * @lmr_state:          state
 *
 * Written by dat_lmr_query(). In an LMR from dat_lmr_allocate() the memory, the lengths and
 * @lmr_context are those of the last registration. Source: kDAPL 2.0 header, manual page
 * dat_lmr_query.
 */
typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
	DAT_LMR_STATE lmr_state;
} DAT_LMR_PARAM;

/**
 * enum dat_lmr_param_mask - DAT_LMR_PARAM_MASK: members for dat_lmr_query()
 * @DAT_LMR_FIELD_IA_HANDLE:          ia_handle
 * @DAT_LMR_FIELD_MEM_TYPE:           mem_type
 * @DAT_LMR_FIELD_REGION_DESC:        region_desc
 * @DAT_LMR_FIELD_LENGTH:             length
 * @DAT_LMR_FIELD_PZ_HANDLE:          pz_handle
 * @DAT_LMR_FIELD_MEM_PRIV:           mem_priv
 * @DAT_LMR_FIELD_VA_TYPE:            va_type
 * @DAT_LMR_FIELD_LMR_CONTEXT:        lmr_context
 * @DAT_LMR_FIELD_RMR_CONTEXT:        rmr_context
 * @DAT_LMR_FIELD_REGISTERED_SIZE:    registered_size
 * @DAT_LMR_FIELD_REGISTERED_ADDRESS: registered_address
 * @DAT_LMR_FIELD_LMR_STATE:          lmr_state
 * @DAT_LMR_FIELD_ALL:                all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE		= 0x001,
	DAT_LMR_FIELD_MEM_TYPE		= 0x002,
	DAT_LMR_FIELD_REGION_DESC	= 0x004,
	DAT_LMR_FIELD_LENGTH		= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE		= 0x010,
	DAT_LMR_FIELD_MEM_PRIV		= 0x020,
	DAT_LMR_FIELD_VA_TYPE		= 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT	= 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT	= 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE	= 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_LMR_STATE		= 0x800,
	DAT_LMR_FIELD_ALL		= 0xfff,
} DAT_LMR_PARAM_MASK;

/**
 * struct dat_rmr_param - DAT_RMR_PARAM: the parameters of an RMR
 * @ia_handle:   its IA
 * @pz_handle:   its protection zone
 * @lmr_triplet: the memory to which it is bound; zeroes if it is unbound
 * @mem_priv:    the remote privileges of the binding; 0 if it is not bound
 * @rmr_context: key for the peer; 0 if it is not bound
 * @rmr_scope:   DAT_RMR_SCOPE_PZ
 * @va_type:     DAT_VA_TYPE_VA
 *
 * Written by dat_rmr_query(). Source: kDAPL 2.0 header, manual page dat_rmr_query.
 */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

/**
 * enum dat_rmr_param_mask - DAT_RMR_PARAM_MASK: members for dat_rmr_query()
 * @DAT_RMR_FIELD_IA_HANDLE:   ia_handle
 * @DAT_RMR_FIELD_PZ_HANDLE:   pz_handle
 * @DAT_RMR_FIELD_LMR_TRIPLET: lmr_triplet
 * @DAT_RMR_FIELD_MEM_PRIV:    mem_priv
 * @DAT_RMR_FIELD_RMR_CONTEXT: rmr_context
 * @DAT_RMR_FIELD_RMR_SCOPE:   rmr_scope
 * @DAT_RMR_FIELD_VA_TYPE:     va_type
 * @DAT_RMR_FIELD_ALL:         all members
 *
 * Combined with "or"; other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f,
} DAT_RMR_PARAM_MASK;

/**
 * struct dat_pz_param - DAT_PZ_PARAM: the parameters of a protection zone
 * @ia_handle: its IA
 *
 * Written by dat_pz_query(). Source: kDAPL 2.0 header, manual page dat_pz_query.
 */
typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

/**
 * enum dat_pz_param_mask - DAT_PZ_PARAM_MASK: members for dat_pz_query()
 * @DAT_PZ_FIELD_IA_HANDLE: ia_handle
 * @DAT_PZ_FIELD_ALL:       all members
 *
 * Other bits are DAT_INVALID_PARAMETER.
 */
typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE		= 0x01,
	DAT_PZ_FIELD_ALL		= 0x01,
} DAT_PZ_PARAM_MASK;

#endif /* _DAT_MEMORY_H_ */
