"""A lab for the tests that need one: files of topologies, and what its hosts send and count."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import program

LEAF_SPINE = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 4
hosts_per_leaf = 2
[host_link]
rate = "1Gbit/s"
queue = "625KB"
mtu = 1500
[switch_link]
rate = "200Mbit/s"
queue = "125KB"
mtu = 1500
"""

# Sends datagrams to the discard port: address, first source port, ports, datagrams a port, bytes.
_SEND = """
import socket, sys
to, first, ports, count, size = sys.argv[1], *map(int, sys.argv[2:])
family = socket.AF_INET6 if ':' in to else socket.AF_INET
for port in range(first, first + ports):
    sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.bind(('', port))
    for _ in range(count):
        sender.sendto(bytes(size), (to, 9))
"""


# What a lab asks of the kernel, in a namespace that goes with the process.
_PROBE = """
ip link add name v0 type veth peer name v1 &&
tc qdisc add dev v0 root tbf rate 1mbit burst 10k limit 10k &&
tc qdisc replace dev v0 root handle 1: htb default 10 &&
nft 'add table netdev t; add chain netdev t c { type filter hook egress device "v0" priority 0; }'
"""


def missing():
    """Why this host can make no lab; None where it can."""
    for tool in ("ip", "tc", "nft", "ethtool"):
        if shutil.which(tool) is None:
            return f"there is no program {tool}"
    if os.geteuid() != 0:
        return "this is not root"
    probe = subprocess.run(["unshare", "--net", "sh", "-c", _PROBE], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else "the kernel does not have or allow it: " + probe.stderr.strip()


def hashes_apart():
    """Whether switches can hash with seeds of their own (Linux 6.11)."""
    return os.path.exists("/proc/sys/net/ipv4/fib_multipath_hash_seed")


def recordings_left():
    """Folders for recordings in /tmp of tests of `heddle verify` that have ended."""
    return {folder for folder in pathlib.Path("/tmp").glob("heddle-verify-*-*")
            if not os.path.exists(f"/proc/{folder.name.split('-')[2]}") and folder.exists()}


def verify_labs_left():
    """Labs of tests of `heddle verify` that have ended; those of other tests of this machine may run."""
    labs = pathlib.Path("/run/heddle/labs")
    return {lab.name for lab in labs.glob("verify-*")
            if not os.path.exists(f"/proc/{lab.name.split('-')[1]}") and lab.exists()}


def heddle(*words, check=True, **options):
    done = subprocess.run([program.HEDDLE, *words], capture_output=True, text=True, check=False,
                          env=program.environment(), timeout=program.PATIENCE_S, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"heddle {' '.join(words)}: {done.returncode}: {done.stderr}")
    return done


def planned(lab, matrix):
    """A plan for this file's matrix, with the lab's addresses."""
    return json.loads(heddle("plan", "--topology", lab.file, "--matrix", matrix, "--lab-addresses", "--json").stdout)


class Lab:
    """A lab that is up until close()."""

    def __init__(self, folder, text, name):
        self.name = f"{name}-{os.getpid()}"
        self.file = os.path.join(folder, self.name + ".toml")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        self.said = heddle("lab", "up", self.file, "--lab", self.name).stderr

    def close(self):
        heddle("lab", "down", self.name, check=False)

    def exec(self, host, *words, check=True):
        return heddle("lab", "exec", host, "--lab", self.name, "--", *words, check=check).stdout

    def start(self, host, *words):
        return subprocess.Popen([program.HEDDLE, "lab", "exec", host, "--lab", self.name, "--", *words],
                                env=program.environment(), stdout=subprocess.PIPE, text=True)

    def send(self, host, to, ports=1, count=100, size=100, first_port=20000):
        self.exec(host, sys.executable, "-c", _SEND, to, *map(str, (first_port, ports, count, size)))

    def packets(self, place, direction="sent"):
        """Packets that each device of a host or switch has sent or received so far."""
        column = 9 if direction == "sent" else 1
        lines = self.exec(place, "cat", "/proc/self/net/dev").splitlines()[2:]
        fields = (line.replace(":", " ", 1).split() for line in lines)
        return {words[0]: int(words[column + 1]) for words in fields}

    def settled(self, place, direction="sent"):
        """The same once nothing is in flight."""
        counts, earlier = self.packets(place, direction), None
        while counts != earlier:
            counts, earlier = self.packets(place, direction), counts
        return counts

    def sent_during(self, place, action):
        """How many packets each device of a place sent while `action` ran."""
        before = self.packets(place)
        action()
        return {name: count - before[name] for name, count in self.settled(place).items()}

    def status(self, interval="0.05"):
        return json.loads(heddle("lab", "status", "--lab", self.name, "--json", "--interval", interval).stdout)

    def link(self, name, interval="0.05"):
        """What `status` says of the link "leaf0 - spine1"."""
        return next(link for link in self.status(interval)["links"] if link["name"] == name)
