#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A wire between two guests: forward all data between two QEMUs.

  tools/kdapl/check/connect_guests.py SOCKET

Two QEMUs connect to SOCKET (-netdev stream). If they were connected directly, QEMU 7.2
could permanently stop accepting packets from its guest when the other one was killed.
With this process the remaining one can still send, and its data is discarded. Exits when
both have disconnected, or if one has not connected within ten minutes.
"""

import os
import socket
import sys
import threading


def carry(source, sink):
    """Forward data until @source disconnects; discard it if @sink has disconnected."""
    while True:
        try:
            data = source.recv(1 << 16)
        except OSError:
            return
        if not data:
            return
        try:
            sink.sendall(data)
        except OSError:
            pass


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = sys.argv[1]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".new")
        listener.listen(2)
        listener.settimeout(600)
        # Renamed after listen(), so that a connect to the final name succeeds
        os.rename(path + ".new", path)
        ends = [listener.accept()[0] for _ in range(2)]
    threads = [threading.Thread(target=carry, args=pair, daemon=True)
               for pair in (ends, ends[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
