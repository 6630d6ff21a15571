// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams between the GSI QPs (QP 1), which the connection manager uses. A datagram without
 * a receive is lost. The receive begins with the 40 bytes of a GRH; RoCE v2 has an IPv4 header
 * in its last 20 bytes instead, if the addresses are IPv4 addresses.
 */
#include <linux/ip.h>
#include <linux/string.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include "hca.h"

#define HCA_GRH		40

int hca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(init->ah_attr);
	struct hca_ah *ah = to_ah(ibah);

	ah->sgid = grh->sgid_attr->gid;
	ah->dgid = grh->dgid;
	return 0;
}

int hca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

/* Fills the header as the receiver sees it; its type */
static u8 hca_make_header(const struct hca_swqe *wqe, union rdma_network_hdr *hdr)
{
	struct iphdr *ip = &hdr->roce4grh;

	memset(hdr, 0, sizeof(*hdr));
	if (!ipv6_addr_v4mapped((const struct in6_addr *)wqe->ud.sgid.raw)) {
		hdr->ibgrh.version_tclass_flow = cpu_to_be32(6 << 28);
		hdr->ibgrh.paylen = cpu_to_be16(wqe->length);
		hdr->ibgrh.next_hdr = IPPROTO_UDP;
		hdr->ibgrh.hop_limit = 64;
		hdr->ibgrh.sgid = wqe->ud.sgid;
		hdr->ibgrh.dgid = wqe->ud.dgid;
		return RDMA_NETWORK_IPV6;
	}
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = cpu_to_be16(sizeof(*ip) + wqe->length);
	memcpy(&ip->saddr, wqe->ud.sgid.raw + 12, 4);
	memcpy(&ip->daddr, wqe->ud.dgid.raw + 12, 4);
	ip_send_check(ip);
	return RDMA_NETWORK_IPV4;
}

static void hca_receive_ud(struct hca_qp *qp, struct hca_qp *peer, struct hca_swqe *wqe)
{
	struct {
		struct hca_rwqe rwqe;
		struct ib_sge sge[HCA_MAX_SGE];
	} recv;
	struct hca_cqe cqe = { .solicited = wqe->flags & IB_SEND_SOLICITED };
	union rdma_network_hdr hdr;
	static struct hca_sg from, to;	/* too large for a stack; hca_world is held */

	if (!hca_take_recv(peer, &recv.rwqe))
		return;
	cqe.wc.opcode = IB_WC_RECV;
	cqe.wc.byte_len = HCA_GRH + wqe->length;
	cqe.wc.src_qp = qp->ibqp.qp_num;
	cqe.wc.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	cqe.wc.network_hdr_type = hca_make_header(wqe, &hdr);
	hca_gather(qp, wqe, false, &from);
	if (!hca_check_local(peer, recv.rwqe.sge, recv.rwqe.nsge, true, &to) ||
	    to.len < cqe.wc.byte_len || !hca_dma_put(&to, 0, &hdr, sizeof(hdr)) ||
	    !hca_dma_copy(&to, HCA_GRH, &from, wqe->length))
		cqe.wc.status = IB_WC_LOC_PROT_ERR;
	hca_complete_recv(peer, &recv.rwqe, &cqe);
}

/**
 * hca_send_ud - send the oldest datagram of a GSI QP
 * @qp:  the QP
 * @wqe: its request number qp->una
 *
 * Context: the engine, hca_world held.
 */
void hca_send_ud(struct hca_qp *qp, struct hca_swqe *wqe)
{
	struct hca_dev *dev = hca_route(&wqe->ud.dgid);
	static struct hca_sg sg;	/* too large for a stack; hca_world is held */

	if (!hca_gather(qp, wqe, false, &sg)) {
		hca_complete_request(qp, wqe, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (dev && dev->gsi && wqe->ud.qpn == HCA_GSI_QPN &&
	    hca_route(&wqe->ud.sgid) == to_hca(qp->ibqp.device) &&
	    (READ_ONCE(dev->gsi->state) == IB_QPS_RTR || READ_ONCE(dev->gsi->state) == IB_QPS_RTS))
		hca_receive_ud(qp, dev->gsi, wqe);
	hca_complete_request(qp, wqe, IB_WC_SUCCESS);
}
