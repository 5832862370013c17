"""The model of RoCE NICs and lossless switches beside what was published about real ones, or follows from theory.

Sources: "DCQCN": Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015: hosts of 40 Gb/s,
packets of 1 KB, RED from 5 KB to 200 KB with 1%; four leaves, four aggregation switches, two spines. "IRN": Mittal et
al., Revisiting Network Support for RDMA, SIGCOMM 2018: 54 hosts of 40 Gb/s on a fat tree, 2 us a link, 240 KB a port.
"Deadlocks": Hu et al., Deadlocks in Datacenter Networks, HotNets 2016. Each row names its section. A row with a range
fails outside of it; the ranges are wider than the differences between seeds.
"""

import concurrent.futures
import dataclasses
import os
import random
import statistics

from harness.machine import describe
from harness.report import row
from sim import htsim_roce
from sim.run import simulate

_GBITS = 40
_BYTES_PER_US = _GBITS * 1e3 / 8
_WIRE, _PAYLOAD = 1024 + 16 + 66, 1024  # IB, IP, UDP and Ethernet's framing
_LINK = 'rate = "40Gbit/s"\nmtu = 1500\n'
_RED = 'ecn_min = "5KB"\necn_max = "200KB"\necn_max_probability = "1%"\n'
_ROCE = ("--transport", "roce", "--rdma-mtu", "1024")
_SEEDS = range(1, 8)


@dataclasses.dataclass(frozen=True)
class Found:
    """A figure: least and most are what it may be; None: it is shown beside the published one only."""

    what: str
    measured: float
    published: str
    source: str
    unit: str = ""
    least: float = None
    most: float = None

    @property
    def holds(self):
        return (self.least is None or self.measured >= self.least) and (self.most is None or self.measured <= self.most)


def _flows(parts):
    return "version = 1\n" + "".join(f'[[flow]]\nfrom = "{a}"\nto = "{b}"\nbytes = "{size}B"\nstart = "{start}ns"\n'
                                     for a, b, size, start in parts)


# --- DCQCN at one bottleneck ---

def _star(senders):
    return (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 1\nspines = 1\nhosts_per_leaf = {senders + 1}\n'
            f'[switches]\nbuffer = "{8 * (senders + 1)}MiB"\npfc = true\n[host_link]\n{_LINK}{_RED}'
            f"[switch_link]\n{_LINK}{_RED}")


def _series(document, start, end):
    """What a direction used of its rate, and its queue's peak, in each bin."""
    found = next(link for link in document["series"]["links"] if (link["from"], link["to"]) == (start, end))
    return found["utilization"], found["queue_peak_bytes"]


def _bottleneck(senders):
    """(rates of the senders in Gb/s, queue bytes) in bins of 20 us, of 50 to 100 ms of `senders` flows to one host."""
    flows = _flows((f"h{i}", f"h{senders}", 10**9, 0) for i in range(senders))
    document = simulate(_star(senders), flows, (*_ROCE, "--until", "100ms", "--series", "20us"))
    half = document["series"]["bins"] // 2
    rates = [[_GBITS * share for share in _series(document, f"h{i}", "leaf0")[0][half:]] for i in range(senders)]
    return rates, _series(document, "leaf0", f"h{senders}")[1][half:]


def fixed_point_bytes(senders):
    """The queue at which DCQCN's fluid model (DCQCN section 5.1, equations 5 to 9) rests with equal flows; None: it
    would mark more than RED's 1%, and has no point of rest.
    """
    packets = _BYTES_PER_US / _WIRE / senders  # of a flow, in a us
    every, counter, timer, notify, decay, step = 5, 1e7 / _WIRE, 55, 50, 55, 40 / 8 / _WIRE

    def drift(mark):
        """Of the target rate, where that of the rate is zero."""
        cut = 1 - (1 - mark) ** (notify * packets)
        alpha = 1 - (1 - mark) ** (decay * packets)
        by_bytes = packets * mark / ((1 - mark) ** -counter - 1) if mark * counter < 500 else 0
        by_timer = packets * mark / ((1 - mark) ** (-timer * packets) - 1)
        apart = packets * alpha * cut / notify / (by_bytes + by_timer)
        rise = (1 - mark) ** (every * counter) * by_bytes + (1 - mark) ** (every * timer * packets) * by_timer
        return step * rise - apart * cut / notify

    least, most = 1e-8, 0.99
    for _ in range(100):
        middle = (least * most) ** 0.5
        least, most = (middle, most) if drift(middle) > 0 else (least, middle)
    return 5e3 + least / 0.01 * 195e3 if least < 0.01 else None


def _jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def shares(senders):
    rates, queue = _bottleneck(senders)
    means = [statistics.mean(each) for each in rates]
    yield Found(f"{senders} to 1: Jain's index of 50 ms", _jain(means), "fair", "DCQCN 6.1", "", 0.97, 1)
    theory = fixed_point_bytes(senders)
    if theory is None:  # the queue swings across RED's upper limit
        yield Found(f"{senders} to 1: total", sum(means), "above 39 (testbed)", "DCQCN 5.2", "Gb/s", 37, _GBITS)
        yield Found(f"{senders} to 1: mean queue", statistics.mean(queue) / 1e3, "no rest (fluid model)", "DCQCN 5.1",
                    "KB")
    else:
        yield Found(f"{senders} to 1: total", sum(means), "above 39 (testbed)", "DCQCN 5.2", "Gb/s", 39, _GBITS)
        yield Found(f"{senders} to 1: mean queue", statistics.mean(queue) / 1e3, f"{theory / 1e3:.0f} (fluid model)",
                    "DCQCN 5.1", "KB", 0.6e-3 * theory, 1.5e-3 * theory)
    if senders == 20:
        ninth = sorted(queue)[len(queue) * 9 // 10] / 1e3
        yield Found("20 to 1: 90th percentile of the queue", ninth, "76.6 (testbed)", "DCQCN 6.3", "KB")


def joining():
    """A flow that has the link, and one that begins after 50 ms: until both have had their shares for 5 ms."""
    flows = _flows([("h0", "h2", 10**9, 0), ("h1", "h2", 10**9, 50_000_000)])
    document = simulate(_star(2), flows, (*_ROCE, "--until", "250ms", "--series", "100us"))
    first, second = (_series(document, f"h{i}", "leaf0")[0] for i in (0, 1))
    fair = next((at for at in range(500, len(first) - 50)
                 if abs(sum(first[at:at + 50]) / (sum(second[at:at + 50]) + 1e-9) - 1) < 0.1), len(first))
    yield Found("a second flow joins: until shares are within 10%", (fair - 500) / 10, "within 200", "DCQCN 5.2", "ms",
                0, 200)


# --- go-back-N ---

def losses(share):
    """One flow of 2 GB over a link that loses packets one way; see the closed form in simulator/roce_test.cc."""
    text = ('version = 1\n[[host]]\nname = "h0"\n[[host]]\nname = "h1"\n[[switch]]\nname = "s"\n'
            + "".join(f'[[link]]\nends = ["{name}", "s"]\n{_LINK}' for name in ("h0", "h1"))
            + f'[[fault]]\nat = "0s"\nlink = ["h0", "s"]\nkind = "loss"\nloss = "{share}%"\none_way = true\n')
    packets = 2_000_000
    document = simulate(text, _flows([("h0", "h1", packets * _PAYLOAD, 0)]), (*_ROCE, "--cc", "none", "--until", "60s"))
    packet_us = _WIRE / _BYTES_PER_US
    window = (4 + 2 * packet_us) / packet_us + 1  # until the NAK of the next packet is back
    p, timeout = share / 100, 4.096 * 1024 / packet_us
    expected = 1 / (1 + p * (window + p * timeout))
    found = packets * packet_us / document["flows"][0]["fct_us"]
    yield Found(f"go-back-N, {share}% lost: share of goodput", found, f"{expected:.3f} (closed form)", "theory", "",
                0.88 * expected, 1.12 * expected)


# --- PFC on the testbed of DCQCN's paper ---

def _testbed(seed):
    """T1 to T4 with five hosts each, L1 and L2 above T1 and T2, L3 and L4 above T3 and T4, and S1 and S2 above all."""
    cables = [(f"T{leaf}H{host}", f"T{leaf}") for leaf in range(1, 5) for host in range(1, 6)]
    cables += [(f"T{leaf}", f"L{above}") for leaf in range(1, 5) for above in ((1, 2) if leaf < 3 else (3, 4))]
    cables += [(f"L{above}", f"S{spine}") for above in range(1, 5) for spine in (1, 2)]
    names = sorted({end for cable in cables for end in cable if "H" not in end})
    return ('version = 1\n[switches]\nbuffer = "12MB"\npfc = true\n'
            + "".join(f'[[host]]\nname = "{host}"\n' for host, _ in cables[:20])
            + "".join(f'[[switch]]\nname = "{name}"\nhash_seed = {100 * seed + i}\n' for i, name in enumerate(names))
            + "".join(f'[[link]]\nends = ["{a}", "{b}"]\n{_LINK}{_RED}' for a, b in cables))


def _rates(pairs, dcqcn):
    """Gb/s of each pair's flow within 20 to 60 ms, for each seed of the switches' hashes."""
    flows = _flows((a, b, 10**9, 0) for a, b in pairs)
    found = []
    for seed in _SEEDS:
        document = simulate(_testbed(seed), flows, (*_ROCE, "--cc", "dcqcn" if dcqcn else "none", "--until", "60ms",
                                                    "--series", "1ms"))
        found.append([_GBITS * statistics.mean(_series(document, a, a[:2])[0][20:]) for a, _ in pairs])
    return found


def parking_lot():
    """H1 to H3 of other leaves and H4 of R's own leaf send to R (DCQCN figure 3)."""
    pairs = [("T1H1", "T4H1"), ("T2H1", "T4H1"), ("T3H1", "T4H1"), ("T4H2", "T4H1")]
    alone, controlled = _rates(pairs, False), _rates(pairs, True)
    yield Found("PFC alone: the most that the near sender gets", max(each[3] for each in alone), "20", "DCQCN 2.2",
                "Gb/s", 18, 20.5)
    yield Found("PFC alone: its least, to the most of others", min(each[3] for each in alone)
                / max(max(each[:3]) for each in alone), "above 1", "DCQCN 2.2", "", 0.97, None)
    yield Found("PFC, DCQCN: least to most of the four", min(min(each) for each in controlled)
                / max(max(each) for each in controlled), "equal shares", "DCQCN 6.1", "", 0.75, 1)


def victim(dcqcn):
    """Four hosts of T1 send to R, and none or two of T3; a fifth of T1 sends to a host of T2 (DCQCN figure 4)."""
    name = "PFC, DCQCN" if dcqcn else "PFC alone"
    medians = []
    for others in (0, 2):
        pairs = [("T1H5", "T2H1")] + [(f"T1H{i}", "T4H1") for i in range(1, 5)]
        pairs += [(f"T3H{i}", "T4H1") for i in range(1, 1 + others)]
        medians.append(statistics.median(each[0] for each in _rates(pairs, dcqcn)))
    if dcqcn:
        yield Found(f"{name}: the victim, two more senders to none", medians[1] / medians[0], "1", "DCQCN 6.1", "",
                    0.8, 1.25)
        return
    yield Found(f"{name}: the victim of four senders, median", medians[0], "10", "DCQCN 2.2", "Gb/s", 8, 13)
    yield Found(f"{name}: the victim of six senders, median", medians[1], "4.5", "DCQCN 2.2", "Gb/s", 3, 7)


# --- RoCE with and without PFC, on IRN's fabric ---

def _irn_fabric(pfc):
    shape = 'rate = "40Gbit/s"\ndelay = "2us"\nmtu = 1500\nqueue = "240KB"\n'
    return (f'version = 1\n[fabric]\nkind = "fat_tree"\npods = 6\nleaves_per_pod = 3\nspines_per_pod = 3\n'
            f"cores_per_spine = 3\nhosts_per_leaf = 3\n[host_link]\n{shape}[switch_link]\n{shape}[core_link]\n{shape}"
            + ('[switches]\nbuffer = "1440KB"\npfc = true\n' if pfc else ""))


def _irn_size(chance):
    kind = chance.random()
    if kind < 0.5:
        return chance.randint(32, 1_000)
    return chance.randint(200_000, 3_000_000) if kind > 0.85 else chance.randint(1_000, 200_000)


def _irn_flows(seed, until_us=1_500, load=0.7):
    """Poisson arrivals of IRN's heavy-tailed sizes, 70% of each host's link."""
    chance = random.Random(seed)
    mean = 0.5 * 516 + 0.35 * 100_500 + 0.15 * 1_600_000
    parts = []
    for host in range(54):
        at = chance.expovariate(load * _BYTES_PER_US / mean)
        while at < until_us:
            to = chance.randrange(53)
            parts.append((f"h{host}", f"h{to + (to >= host)}", _irn_size(chance), int(at * 1e3)))
            at += chance.expovariate(load * _BYTES_PER_US / mean)
    return parts


def _irn_run(seed, pfc):
    """Mean and 99th percentile of flow times in us."""
    words = (*_ROCE, "--cc", "none", "--until", "2s", *(() if pfc else ("--ack-timeout", "320us")))
    document = simulate(_irn_fabric(pfc), _flows(_irn_flows(seed)), words)
    times = sorted(flow["fct_us"] for flow in document["flows"] if flow["fct_us"] is not None)
    return statistics.mean(times), times[-1 - len(times) // 100], document["counters"]["packets"]["queue full"]


def without_pfc():
    runs = [(_irn_run(seed, True), _irn_run(seed, False)) for seed in (1, 2, 3)]
    for number, name in enumerate(("mean", "99th percentile")):
        ratio = statistics.median(lossy[number] / lossless[number] for lossless, lossy in runs)
        yield Found(f"without PFC to with it: {name} of flow times", ratio, "1.5 to 3", "IRN 4.2", "", 1.3, 3.5)
    yield Found("with PFC: packets dropped", max(lossless[2] for lossless, _ in runs), "none", "IRN 4.2", "", 0, 0)


# --- deadlocks ---

def _ring(size):
    """Switches in a ring with two hosts each, small buffers: buffers wait for each other in a circle."""
    return ('version = 1\n[switches]\nbuffer = "400KB"\npfc = true\n'
            + "".join(f'[[host]]\nname = "h{i}"\n' for i in range(2 * size))
            + "".join(f'[[switch]]\nname = "s{i}"\n' for i in range(size))
            + "".join(f'[[link]]\nends = ["h{i}", "s{i // 2}"]\n{_LINK}' for i in range(2 * size))
            + "".join(f'[[link]]\nends = ["s{i}", "s{(i + 1) % size}"]\n{_LINK}' for i in range(size)))


def deadlock():
    """All hosts to those two switches further on: a leaf-spine fabric has no circle, a ring of five switches has."""
    words = (*_ROCE, "--cc", "none", "--until", "1s")
    flows = _flows((f"h{i}", f"h{(i + 4) % 10}", 4_000_000, 0) for i in range(10))
    circle = simulate(_ring(5), flows, words)
    up_down = (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 5\nspines = 1\nhosts_per_leaf = 2\n[switches]\n'
               f'buffer = "600KB"\npfc = true\n[host_link]\n{_LINK}[switch_link]\n{_LINK}')
    tree = simulate(up_down, flows, words)
    yield Found("PFC on a ring: flows that never end, of 10", 10 - circle["flows_arrived"], "deadlock",
                "Deadlocks 2", "", 1, 10)
    yield Found("PFC on a leaf-spine fabric: the same", 10 - tree["flows_arrived"], "none", "Deadlocks 2", "", 0, 0)


# --- the command ---

def _experiments():
    yield from ((shares, senders) for senders in (2, 4, 8, 16, 20))
    yield (joining,)
    yield from ((losses, share) for share in (0.01, 0.1, 1))
    yield (parking_lot,)
    yield from ((victim, dcqcn) for dcqcn in (False, True))
    yield (without_pfc,)
    yield (deadlock,)


def run(arguments, progress):
    experiments = list(_experiments())
    if arguments.htsim:
        experiments.append((htsim_roce.compare, arguments.htsim, Found))
    found = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs or len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(lambda parts: list(parts[0](*parts[1:])), each) for each in experiments]
        for number, (future, each) in enumerate(zip(futures, experiments)):
            progress.say(number, len(experiments), each[0].__name__)
            try:
                found += future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    rows = [dataclasses.asdict(each) | {"holds": each.holds} for each in found]
    return {"peer": "published", "machine": describe(), "rows": rows,
            "exit_status": 0 if all(each.holds for each in found) else 1}


def show(document):
    print("simulated RoCE NICs and lossless switches beside published figures; may be: the range of the check\n")
    row("", "simulated", "published", "may be", "source")
    for each in document["rows"]:
        least, most = each["least"], each["most"]
        may_be = "-" if least is None else f"{least:.3g} or more" if most is None else f"{least:.3g} to {most:.3g}"
        row(("  " if each["holds"] else "! ") + each["what"], f"{each['measured']:.3g} {each['unit']}".strip(),
            each["published"], may_be, each["source"])
