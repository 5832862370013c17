"""Fabrics of 8 leaves, what their hosts send, and the program run on them."""

import json
import random
import subprocess

from harness.failure import CannotMeasure
from harness.pair import built

LEAVES = 8
HOSTS = 8  # of a leaf
RATE_GBITS = 100
_QUEUE_MIB = 1  # of a link of that rate, as topology files have it by default


class Fabric:
    """A fabric's file and its hosts by leaf (of the first port)."""

    def __init__(self, spines, ports, seed, more_hosts=0, uplink_gbits=RATE_GBITS):
        self.ports, self.groups = ports, LEAVES // ports
        self.text = (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = {LEAVES}\nspines = {spines}\n'
                     f'hosts_per_leaf = {HOSTS + more_hosts}\nnics_per_host = {ports}\n'
                     f'rails = {str(ports > 1).lower()}\nhash_seed = {seed}\n')
        if uplink_gbits != RATE_GBITS:  # queues of the same time
            self.text += (f'[switch_link]\nrate = "{uplink_gbits}Gbit/s"\n'
                          f'queue = "{_QUEUE_MIB * uplink_gbits / RATE_GBITS:g}MiB"\n')
        self.hosts = self.groups * HOSTS


def one_ring(fabric):
    """Every host sends to the one with its number on the next leaf."""
    return [(host, (host + HOSTS) % fabric.hosts) for host in range(fabric.hosts)]


def eight_rings(fabric, seed):
    """Eight jobs with a host on each leaf (or pair of leaves), each a ring in an order of its own."""
    draw = random.Random(seed)
    leaves = [list(range(leaf * HOSTS, (leaf + 1) * HOSTS)) for leaf in range(fabric.groups)]
    for leaf in leaves:
        draw.shuffle(leaf)
    flows = []
    for job in zip(*leaves):
        ring = list(job)
        draw.shuffle(ring)
        flows += [(host, ring[(i + 1) % len(ring)]) for i, host in enumerate(ring)]
    return flows


def workload(flows, size):
    return "version = 1\n" + "".join(f'[[flow]]\nfrom = "h{a}"\nto = "h{b}"\nbytes = "{size}B"\n' for a, b in flows)


def printed(folder, *words, exits=(0,)):
    """What the program prints, with one of these exit statuses."""
    done = subprocess.run([built("heddle"), *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in exits:
        said = done.stderr.strip()[-300:] or f"exit status {done.returncode}"
        raise CannotMeasure(f"heddle {' '.join(map(str, words))}: {said}", "run it by hand")
    return done.stdout


def heddle(folder, *words, exits=(0,)):
    """The document that the program prints."""
    return json.loads(printed(folder, *words, exits=exits))
