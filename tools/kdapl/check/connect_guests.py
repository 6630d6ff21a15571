#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A wire between two guests: forward all data between two QEMUs.

  tools/kdapl/check/connect_guests.py SOCKET

Two QEMUs connect to SOCKET (-netdev stream). If they were connected directly, QEMU 7.2
could permanently stop accepting packets from its guest when the other one was killed.
With this process the remaining one can still send, and its data is discarded until another QEMU
connects. Exits when both have disconnected, or if one has not connected within ten minutes.
"""

import os
import socket
import sys
import threading


class Wire:
    """The two ends. None: no QEMU is connected. An end is set before its thread begins."""

    def __init__(self):
        self.ends = [None, None]
        self.changed = threading.Condition()

    def connect(self, new):
        """Connect a QEMU as soon as an end is free."""
        with self.changed:
            self.changed.wait_for(lambda: None in self.ends)
            number = self.ends.index(None)
            self.ends[number] = new
            self.changed.notify_all()
        threading.Thread(target=self.carry, args=(number, new), daemon=True).start()

    def carry(self, number, source):
        """Forward data until @source disconnects; discard it if nobody is at the other end."""
        packet = b""
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            packet = self.forward(packet + data, self.ends[1 - number])
        with self.changed:
            self.ends[number] = None
            self.changed.notify_all()
        source.close()

    @staticmethod
    def forward(data, sink):
        """Send all complete packets, each of which has its length in front, and return the rest.
        So a QEMU that connects later gets no half packet."""
        end = 0
        while len(data) >= end + 4:
            length = 4 + int.from_bytes(data[end:end + 4], "big")
            if len(data) < end + length:
                break
            end += length
        try:
            if sink:
                sink.sendall(data[:end])
        except OSError:
            pass
        return data[end:]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path, wire = sys.argv[1], Wire()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".new")
        listener.listen(2)
        listener.settimeout(600)
        # Renamed after listen(), so that a connect to the final name succeeds
        os.rename(path + ".new", path)
        for _ in range(2):
            wire.connect(listener.accept()[0])
        listener.settimeout(None)

        def accept():
            while True:
                wire.connect(listener.accept()[0])
        threading.Thread(target=accept, daemon=True).start()
        with wire.changed:
            wire.changed.wait_for(lambda: wire.ends == [None, None])


if __name__ == "__main__":
    main()
