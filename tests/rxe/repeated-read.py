#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send RoCEv2 packets to a queue pair, as its peer.

  repeated-read.py OWN PEER QPN RKEY ADDR WHAT

From the address PEER to OWN, where queue pair QPN is: WHAT is "read", a request to
read 64 bytes at ADDR with the PSN 0, or "nothing", a write of no bytes with the PSN
1. The same read twice is what a requester sends that has missed the answer.
wire.sh runs it, as root.
"""

import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
WRITE_ONLY, READ_REQUEST = 0x0a, 0x0c
ACK_REQ = 1 << 31


def icrc(ip, udp, bth, rest):
    """CRC of what no router changes: the fields that it may change count as ones."""
    ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    udp = udp[:6] + b"\xff\xff"
    bth = bth[:4] + b"\xff" + bth[5:]
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + bth + rest))


def packet(own, peer, qpn, opcode, psn, reth):
    """All from the IP header to the ICRC."""
    bth = struct.pack(">BBHII", opcode, 0, 0xffff, qpn, ACK_REQ | psn)
    length = 8 + len(bth) + len(reth) + 4
    # With an id of its own: the kernel fills in one that is 0
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + length, 1, 0x4000, 64,
                     socket.IPPROTO_UDP, 0, socket.inet_aton(peer),
                     socket.inet_aton(own))
    udp = struct.pack(">HHHH", 0xc000, ROCE_PORT, length, 0)
    return ip + udp + bth + reth + icrc(ip, udp, bth, reth)


def main():
    if len(sys.argv) != 7 or sys.argv[6] not in ("read", "nothing"):
        sys.exit(__doc__)
    own, peer, qpn, rkey, addr, what = sys.argv[1:]
    if what == "read":
        opcode, psn, length = READ_REQUEST, 0, 64
    else:
        opcode, psn, length = WRITE_ONLY, 1, 0
    reth = struct.pack(">QII", int(addr), int(rkey), length)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as wire:
        wire.sendto(packet(own, peer, int(qpn), opcode, psn, reth), (own, 0))


if __name__ == "__main__":
    main()
