"""A long flow on a cable of 100 Gb/s, by round trip and loss: goodput as a share of payload capacity, with its start
and after it. After the start is a run of the whole flow less one of its first half, which begins alike.
"""

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.report import row
from harness.simulated import payload_share
from sim.run import each_of, simulate

_GBITS, _MTU = 100, 9000
_ROUND_TRIPS_US = (100, 1_000, 3_000, 10_000)
_LOSSES = ("0%", "0.01%")
_BYTES = 10_000_000_000


def topology(round_trip_us, loss):
    """Two hosts and a cable that loses packets in both directions."""
    return (f'version = 1\n[fabric]\nkind = "point_to_point"\n[host_link]\nrate = "{_GBITS}Gbit/s"\nmtu = {_MTU}\n'
            f'delay = "{round_trip_us // 2}us"\nloss = "{loss}"\n')


def _took_us(round_trip_us, loss, size, arguments):
    """(time until the last byte has arrived, payload of a segment)."""
    flow = f'version = 1\n[[flow]]\nfrom = "h0"\nto = "h1"\nbytes = "{size}B"\n'
    document = simulate(topology(round_trip_us, loss), flow,
                        ("--cc", arguments.cc, "--seed", arguments.seed, "--window-limit", "256MiB"))
    took_us = document["flows"][0]["fct_us"]
    if took_us is None:
        raise CannotMeasure(f"a flow over {round_trip_us} us with {loss} loss did not arrive", "run heddle sim by hand")
    return took_us, document["counters"]["segment_bytes"]


def shares(size, half_us, whole_us, segment_bytes):
    """Of payload capacity: (the whole flow of `size` bytes, its second half)."""
    capacity = _GBITS * 1e3 * payload_share(segment_bytes, _MTU)
    return 8 * size / whole_us / capacity, 8 * (size - size // 2) / (whole_us - half_us) / capacity


def run(arguments, progress):
    roads = [(round_trip_us, loss) for loss in _LOSSES for round_trip_us in _ROUND_TRIPS_US]
    took = each_of(lambda round_trip_us, loss, size: _took_us(round_trip_us, loss, size, arguments),
                   [(*road, size) for road in roads for size in (_BYTES // 2, _BYTES)], arguments.jobs, progress)
    cases = []
    for number, (round_trip_us, loss) in enumerate(roads):
        (half_us, _), (whole_us, segment_bytes) = took[2 * number:2 * number + 2]
        whole, after = shares(_BYTES, half_us, whole_us, segment_bytes)
        cases.append({"round_trip_us": round_trip_us, "loss": loss, "fct_us": whole_us, "to_capacity": whole,
                      "to_capacity_after_start": after})
    return {"machine": describe(), "gbits_per_s": _GBITS, "mtu_bytes": _MTU, "bytes": _BYTES, "cc": arguments.cc,
            "seed": arguments.seed, "cases": cases, "exit_status": 0}


def show(document):
    size = f"{document['bytes'] / 1e9:g} GB"
    print(f"a flow of {size} at {document['gbits_per_s']} Gb/s, MTU {document['mtu_bytes']}, {document['cc']}, "
          "simulated: share of payload capacity\n")
    row("", f"{size}, with the start", "its second half")
    for case in document["cases"]:
        row(f"RTT {case['round_trip_us'] / 1e3:g} ms, {case['loss']} lost", f"{case['to_capacity']:.3f}",
            f"{case['to_capacity_after_start']:.3f}")
