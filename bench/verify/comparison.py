"""A row of verify's table: heddle and its best peer, measured in interleaved rounds. Pure except for
measure().
"""

from harness.meanwhile import summary
from harness.rounds import Spare, calm, interleave, ratio, spread


def measure(contests, rounds, progress, spare_s):
    """{name: [sample, …]} of the rounds that count, with the number of omitted ones as `left_out`."""
    samples = interleave(contests, rounds, progress, Spare(spare_s))
    progress.clear()
    kept = calm(samples)
    return kept, rounds - len(next(iter(kept.values())))


def row(stage, what, measured, value_of, less_is_better=False, digits=0):
    """`measured`: the result of measure(). `value_of(sample)`: the compared value. The first program is
    heddle; it is compared with the peer with the best median.
    """
    kept, left_out = measured
    values = {name: [value_of(run) for run in runs] for name, runs in kept.items()}
    mine, *peers = values
    made = {"stage": stage, "what": what, "digits": digits, "heddle": spread(values[mine]),
            "rounds": len(values[mine]), "left_out": left_out,
            "machine": summary([run for runs in kept.values() for run in runs])}
    if peers:
        medians = {name: spread(values[name])["median"] for name in peers}
        best = (min if less_is_better else max)(medians, key=medians.get)
        faster = (values[best], values[mine]) if less_is_better else (values[mine], values[best])
        made |= {"peer_name": best, "peer": spread(values[best]), "ratio": ratio(*faster)}
    return made


def disturbed_rows(rows):
    """Rows to be read with care, since the machine had other load in more than half of their runs."""
    return [one for one in rows if one["machine"]["disturbed"] * 2 > one["machine"]["runs"]]


def disturbance_text(rows):
    """A sentence about disturbance; empty if the machine was quiet."""
    stages = {one["stage"]: one for one in rows}.values()  # rows of one stage come from the same runs
    again = sum(one["machine"]["made_again"] for one in stages)
    left_out = sum(one["left_out"] for one in stages)
    lines = []
    if again or left_out:
        lines.append(f"{again} runs were made again and {left_out} rounds left out, since the machine did other work "
                     "or stood still meanwhile.")
    bad = disturbed_rows(rows)
    if bad:
        others, stolen, stall = (max(one["machine"][key] for one in bad)
                                 for key in ("others_share_max", "stolen_share_max", "stall_ms_max"))
        lines.append(f"* disturbed: other programs had up to {others:.0%} of the cores, a hypervisor {stolen:.0%}, for "
                     f"up to {stall:.0f} ms in one piece.\n  These figures say little: run scripts/verify again when "
                     "nothing else runs,\n  or with --first as root.")
    return lines
