"""Crux's path selection (Cao et al., SIGCOMM 2024, section 4.1), as a peer of leases.

Jobs choose in the order of their intensity, computation over the time that their slowest link takes; each flow of a job
takes the least loaded of its equal-cost paths. Jobs here are equal, so their order is that of their numbers. Crux's
priorities of flows (4.2 and 4.3) are not modeled: jobs that never wait for computation have nothing to gain from them
in the time of the last. The paper, as far as is known here, leaves open which of equally loaded paths is taken: both
answers are simulated, one of them by chance and the first one.

Which spine an entropy takes is computed as topology/ecmp.h has it, with the seeds of the topology's generator. It is
compared with the routes of a plan of the program.
"""

import random

from harness.failure import CannotMeasure
from plan.fabrics import HOSTS, LEAVES

_MASK = (1 << 64) - 1
_FIRST_SOURCE_PORT = 32_768
_FLOW_PORT = 4791
_WHOLE = 1_000_000


def _mix(key):
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9 & _MASK
    key = (key ^ key >> 27) * 0x94d049bb133111eb & _MASK
    return key ^ key >> 31


class _Random:
    """base/random.h."""

    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = seed + 0x9e3779b97f4a7c15 & _MASK
            self.state.append(_mix(seed))

    def next(self):
        turn = lambda x, bits: (x << bits | x >> 64 - bits) & _MASK
        state = self.state
        result = turn(state[1] * 5 & _MASK, 7) * 9 & _MASK
        shifted = state[1] << 17 & _MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = turn(state[3], 45)
        return result


class Routes:
    """Which spine each path of a flow takes, on a fabric of two tiers with one NIC a host."""

    def __init__(self, hash_seed, spines, paths):
        draw = _Random(hash_seed)
        self.seeds = [draw.next() for _ in range(LEAVES)]
        self.spines, self.paths = spines, paths

    def spine(self, source, to, path):
        ports = (_FIRST_SOURCE_PORT + path) << 16 | _FLOW_PORT
        mixed = _mix((source << 32 | to) ^ self.seeds[source // HOSTS])
        return _mix(mixed + ports * 0x9e3779b97f4a7c15 & _MASK) * self.spines >> 64

    def path_by_spine(self, source, to):
        found = {}
        for path in range(self.paths):
            found.setdefault(self.spine(source, to, path), path)
        return found

    def check(self, plan):
        """Against the routes of the program's plan."""
        for flow in plan["flows"]:
            for path in flow["paths"]:
                found = f"spine{self.spine(int(flow['from'][1:]), int(flow['to'][1:]), path['path'])}"
                if found not in path["via"]:
                    raise CannotMeasure(f"path {path['path']} of {flow['from']} takes {path['via']}, not {found}",
                                        "keep bench/plan/crux.py like topology/ecmp.h")


def choose(routes, jobs, by_chance, seed):
    """The path of each flow of each job: (source, to, path)."""
    draw = random.Random(seed)
    load, chosen = {}, []
    for flows in jobs:
        for source, to in flows:
            by_spine = routes.path_by_spine(source, to)
            ends = lambda spine, a=source // HOSTS, b=to // HOSTS: (("up", a, spine), ("down", b, spine))
            peak = {spine: max(load.get(link, 0) for link in ends(spine)) for spine in by_spine}
            least = [spine for spine in sorted(peak) if peak[spine] == min(peak.values())]
            spine = draw.choice(least) if by_chance else least[0]
            for link in ends(spine):
                load[link] = load.get(link, 0) + 1
            chosen.append((source, to, by_spine[spine]))
    return chosen


def plan_of(plan, chosen):
    """The plan with these paths."""
    path_of = {(f"h{source}", f"h{to}"): path for source, to, path in chosen}
    flows = [{**flow, "paths": [{"path": path_of[flow["from"], flow["to"]], "share_per_million": _WHOLE}]}
             for flow in plan["flows"]]
    return {**plan, "flows": flows}
