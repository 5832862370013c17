"""Random packet loss in both directions of one cable: heddle, and TCP with cubic and bbr.

The figure is each program's goodput relative to its own without loss, divided by the share of packets that
arrive: 1 is a transport that loses no more than the network does.
"""

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.flows import Contest, Heddle, Tcp
from harness.machine import describe
from harness.meanwhile import summary
from harness.report import cpu_note, row
from harness.rounds import interleave, spread, text
from harness.simulated import simulate

SUMMARY = "goodput under random loss, in a lab"

_LOSSES = {"0.1%": 0.98, "1%": 0.95, "5%": 0.85}  # and the required figure
_RATE_MBITS = 100


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=5, metavar="N", help="how long one measurement takes [5]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--paths", type=int, default=32, metavar="N", help="paths of heddle's connections [32]")
    parser.add_argument("--cc", default="cubic", help="heddle's congestion control [cubic]")


def _fabric(loss):
    text_of = leaf_spine(leaves=2, spines=4, hosts_per_leaf=1, mtu=1500, host_rate="400Mbit/s",
                         host_queue="250KB", spine_rate=f"{_RATE_MBITS}Mbit/s",
                         spine_queue=f"{_RATE_MBITS * 625}B")
    return text_of.replace("[switch_link]", f'loss = "{loss}"\n[switch_link]') if loss else text_of


def _measure(arguments, loss, progress):
    programs = [Heddle(f"heddle, {arguments.cc}", arguments.paths, arguments.cc), Tcp(8, "cubic"), Tcp(8, "bbr")]
    flows = [("h0", "h1")]
    with Fabric(_fabric(loss)) as fabric:
        samples = interleave([Contest(fabric, program, flows, arguments.seconds) for program in programs],
                             arguments.pairs, progress)
        simulated = simulate(fabric.file, flows, arguments.paths, arguments.cc,
                             seconds=arguments.seconds)[0]["goodput_mbits_per_s"]
    return samples, simulated


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "loss", "machine": describe(), "rounds": arguments.pairs,
                "seconds": arguments.seconds, "losses": []}
    clean, simulated_clean = _measure(arguments, None, progress)
    for loss, asked in _LOSSES.items():
        # The loss of one direction is the combined loss of its two host links.
        one_link = f"{(1 - (1 - float(loss[:-1]) / 100) ** 0.5) * 100:.4f}%"
        samples, simulated = _measure(arguments, one_link, progress)
        left = 1 - float(loss[:-1]) / 100
        document["losses"].append({
            "loss": loss, "asked": asked, "simulated": simulated / simulated_clean / left,
            "programs": [_summary(name, runs, clean[name], left) for name, runs in samples.items()]})
    return document


def _summary(name, runs, clean, left):
    goodput = [run.flows[0]["goodput_mbits_per_s"] for run in runs]
    whole = spread([run.flows[0]["goodput_mbits_per_s"] for run in clean])
    return {"program": name, "lossless_mbits_per_s": whole, "goodput_mbits_per_s": spread(goodput),
            "of_what_is_left": spread([one / whole["median"] / left for one in goodput]),
            "cpu_share": spread([run.cpu_share for run in runs]),
            "machine": summary(runs)}


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn; "
          f"4 spines of {_RATE_MBITS} Mb/s, MTU 1500; TCP is 8 flows")
    for part in document["losses"]:
        print(f"\n{part['loss']} of all packets lost at random, in each direction "
              f"(asked: {part['asked']:.2f} of what is left)")
        row("", "Mb/s without loss", "Mb/s", "of what is left", "CPU busy")
        for program in part["programs"]:
            row(program["program"], text(program["lossless_mbits_per_s"], 0),
                text(program["goodput_mbits_per_s"], 0), text(program["of_what_is_left"], 3),
                text(program["cpu_share"], 2))
        row("heddle, simulated", "", "", f"{part['simulated']:.3f}")
        cpu_note(part["programs"])
