# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Nodes as network namespaces on a bridge, whose links Linux slows down or loses packets of."""

import os
import shutil
import subprocess

RATE = "400mbit"  # of every link: as fast as two cores can well serve
ADDRESS = "192.0.2.{}"  # RFC 5737: of no real network


def missing():
    """Returns the missing requirement; None if all are met."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"no {program}: cmake/bootstrap.sh test installs it"
    return None


def run(*words, check=True):
    return subprocess.run(list(map(str, words)), check=check, capture_output=True, text=True)


class Network:
    """`with` it: node i is the namespace whose commands begin with prefix(i), at address(i)."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.name = f"pbprobe{os.getpid()}"

    def namespace(self, node):
        return f"{self.name}-{node}"

    def prefix(self, node):
        return ["ip", "netns", "exec", self.namespace(node)]

    def address(self, node):
        return ADDRESS.format(node + 1)

    def inside(self, node, *words, check=True):
        return run(*self.prefix(node), *words, check=check)

    def __enter__(self):
        switch = f"{self.name}-switch"
        try:
            run("ip", "netns", "add", switch)
            run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", switch, "link", "set", "bridge", "up")
            for node in range(self.nodes):
                self._add_node(node, switch)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add_node(self, node, switch):
        own = self.namespace(node)
        run("ip", "netns", "add", own)
        run("ip", "-n", own, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{node}", "netns", switch)
        run("ip", "-n", switch, "link", "set", f"port{node}", "master", "bridge", "up")
        # A packet is a segment, as on a wire: what is dropped or delayed is one of them.
        run("ip", "-n", own, "link", "set", "eth0", "gso_max_segs", 1)
        run("ip", "-n", own, "address", "add", f"{self.address(node)}/24", "dev", "eth0")
        run("ip", "-n", own, "link", "set", "eth0", "up")
        run("ip", "-n", own, "link", "set", "lo", "up")
        self.inside(node, "tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", 10)
        self._add_class(node, 10, RATE)

    def _add_class(self, node, number, rate):
        words = f"tc class add dev eth0 parent 1: classid 1:{number} htb rate {rate} quantum 1514"
        self.inside(node, *words.split())

    def slow_down(self, sender, receiver, rate):
        """Limits the traffic from `sender` to `receiver` only."""
        self._add_class(sender, 20, rate)
        self._send_through(sender, receiver, 20)

    def _send_through(self, sender, receiver, number):
        words = f"tc filter add dev eth0 parent 1: protocol ip u32 match ip dst {self.address(receiver)}/32"
        self.inside(sender, *words.split(), "flowid", f"1:{number}")

    def lose(self, sender, receiver, percent):
        """Drops packets by tc netem, or by a rule at the receiver if the kernel has no netem. Returns the method."""
        self._add_class(sender, 30, RATE)
        self._send_through(sender, receiver, 30)
        words = f"tc qdisc add dev eth0 parent 1:30 handle 30: netem limit 10000 loss {percent}%"
        netem = self.inside(sender, *words.split(), check=False)
        if netem.returncode == 0:
            return "netem"
        if shutil.which("nft") is None:
            raise OSError(f"neither netem ({netem.stderr.strip()}) nor nft: cmake/bootstrap.sh test installs it")
        rule = f"ip saddr {self.address(sender)} numgen random mod 100 < {percent} drop"
        self.inside(receiver, "nft", "add table ip loss")
        self.inside(receiver, "nft", "add chain ip loss in { type filter hook prerouting priority 0 ; }")
        self.inside(receiver, "nft", f"add rule ip loss in {rule}")
        return "nft"

    def __exit__(self, *_):
        for name in [*map(self.namespace, range(self.nodes)), f"{self.name}-switch"]:
            run("ip", "netns", "delete", name, check=False)
