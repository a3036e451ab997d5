# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Kernel statistics of this process's TCP connections: segments that were lost and resent."""

import os
import socket
import struct
from pathlib import Path

TCP_INFO_BYTES = 160
LEAST_SEGMENTS = 500  # the kernel sends one again now and then
RESENT, SENT = 100, 156  # of struct tcp_info in linux/tcp.h: tcpi_total_retrans and tcpi_data_segs_out


Counts = dict[str, tuple[int, int]]


def segments() -> Counts:
    """Returns (sent with data, resent) for each open connection of this process, including connections opened by
    libraries.
    """
    counts: Counts = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            name = str(entry.readlink())
            if not name.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as own:
                if own.type != socket.SOCK_STREAM or own.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        except OSError:  # closed meanwhile, or no TCP
            continue
        if len(info) == TCP_INFO_BYTES:
            counts[name] = struct.unpack_from("=I", info, SENT)[0], struct.unpack_from("=I", info, RESENT)[0]
    return counts


def resent_between(before: Counts, after: Counts) -> float | None:
    """Returns the share of segments that were resent in between; None if too few were sent."""
    sent = sum(count[0] - before.get(name, (0, 0))[0] for name, count in after.items())
    resent = sum(count[1] - before.get(name, (0, 0))[1] for name, count in after.items())
    return resent / sent if sent >= LEAST_SEGMENTS else None
