"""Fat trees of three tiers and flows on them, as the texts of files that htsim and heddle both read."""

import random

# hosts: pods, leaves and spines of a pod, cores of a spine, hosts of a leaf
SHAPES = {128: (8, 4, 4, 4, 4), 1024: (16, 8, 8, 8, 8), 8192: (32, 16, 16, 16, 16)}


def topology(hosts):
    """100 Gb/s and 1 us a hop."""
    pods, leaves, spines, cores, per_leaf = SHAPES[hosts]
    latency = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
    return (f"Nodes {hosts}\nTiers 3\nPodsize {leaves * per_leaf}\n"
            f"Tier 0\n{latency}Radix_Down {per_leaf}\nRadix_Up {spines}\n"
            f"Tier 1\n{latency}Radix_Down {leaves}\nRadix_Up {cores}\nBundle 1\n"
            f"Tier 2\n{latency}Radix_Down {pods}\nBundle 1\n")


def permutation(hosts, size, seed=13):
    """One random cycle, the same for a seed."""
    cycle = list(range(hosts))
    random.Random(seed).shuffle(cycle)
    lines = [f"{cycle[i - 1]}->{cycle[i]} id {i + 1} start 0 size {size}" for i in range(hosts)]
    return f"Nodes {hosts}\nConnections {hosts}\n" + "\n".join(lines) + "\n"


def incast(hosts, senders, first, size):
    """To host 0 from `senders` others between `first` and the last host."""
    lines = [f"{first + i * (hosts - first) // senders}->0 id {i + 1} start 0 size {size}" for i in range(senders)]
    return f"Nodes {hosts}\nConnections {senders}\n" + "\n".join(lines) + "\n"
