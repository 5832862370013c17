"""Several connections to one host over one cable: the receiving endpoint with one engine and with several,
beside TCP with as many flows.

Each connection is a `heddle perf bw` of its own; all send at once to one `heddle perf --listen`, whose engines
are what differs. A connection stays on one engine. TCP is one iperf3 with parallel streams. Goodput is the sum
of what each connection delivered in its own time; both ends are on this machine and share its cores.
"""

import json
import subprocess

from harness.cable import Cable, need_network_rights
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import Sample, built, installed, run_pair, start, wait_until_listening
from harness.report import disturbance_note
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "goodput and host CPU of several connections to one host with one engine and with several"

_MTUS = (9000, 1500)
_ONE, _AGAIN = "1 engine", "1 engine again"


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="how long a measurement takes [2]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--flows", type=int, default=4, metavar="N", help="connections at once [4]")
    parser.add_argument("--engines", type=int, action="append", metavar="N",
                        help="this number of engines beside one [2]")
    parser.add_argument("--mtu", type=int, action="append", choices=_MTUS, help="this MTU only [9000 and 1500]")
    parser.add_argument("--datapath", choices=("udp", "xdp"), default="udp", help="what the receiver uses [udp]")


class Flows:
    """Several clients of one heddle server."""

    def __init__(self, name, cable, arguments, engines):
        self.name = name
        self._cable, self._arguments, self._engines = cable, arguments, engines

    def run(self):
        heddle = built("heddle")
        server = [heddle, "perf", "--listen", "--engines", str(self._engines)]
        if self._arguments.datapath == "xdp":
            server += ["--set", "datapath=xdp", "--bind", "cable0"]
        client = [heddle, "perf", self._cable.far_address, "bw", "-t", str(self._arguments.seconds), "--json"]
        far = start(self._cable.inside(self._cable.far, server), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        clients, meanwhile = [], Meanwhile()
        try:
            wait_until_listening(far, heddle, "listens")
            with meanwhile:
                for _ in range(self._arguments.flows):
                    clients.append(start(self._cable.inside(self._cable.near, client), stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE))
                ended = [self._end(each) for each in clients]
        finally:
            for each in [*clients, far]:
                each.kill()
                each.wait()
            far.stdout.close()
        meanwhile.settle()
        return Sample(json.dumps([test["goodput_gbits_per_s"] for test in ended]), meanwhile)

    def _end(self, client):
        try:
            output, complaint = client.communicate(timeout=self._arguments.seconds + 20)
        except subprocess.TimeoutExpired as late:
            raise CannotMeasure("heddle perf does not end", "run it by hand") from late
        if client.returncode != 0:
            raise CannotMeasure(f"heddle perf failed: {(complaint or output).strip()}", "run it by hand")
        return json.loads(output)["tests"][0]


class Tcp:
    """One iperf3 with parallel streams."""

    def __init__(self, cable, arguments, control):
        self.name = f"TCP {control}, {arguments.flows} streams"
        self._cable = cable
        self._patience_s = arguments.seconds + 20
        program = installed("iperf3", "iperf3")
        self._server = [program, "-s", "-1", "--forceflush"]
        self._client = [program, "-c", cable.far_address, "-t", str(arguments.seconds), "-C", control, "-l", "1M",
                        "-P", str(arguments.flows), "-J"]

    def run(self):
        sample = run_pair(self._cable, self._server, self._client, "listening", self._patience_s)
        streams = json.loads(sample.output)["end"]["streams"]
        sample.output = json.dumps([each["receiver"]["bits_per_second"] / 1e9 for each in streams])
        return sample


def _goodputs(sample):
    """Of each flow, in Gb/s."""
    return json.loads(sample.output)


def _several(engines):
    return f"{engines} engines"


def _measure(mtu_bytes, arguments, progress):
    engines = arguments.engines or [2]
    with Cable(mtu_bytes) as cable:
        contests = [Flows(_ONE, cable, arguments, 1),
                    *(Flows(_several(each), cable, arguments, each) for each in engines),
                    Flows(_AGAIN, cable, arguments, 1),
                    *(Tcp(cable, arguments, control) for control in ("cubic", "bbr"))]
        samples = interleave(contests, arguments.pairs, progress)
    goodput = {name: [sum(_goodputs(one)) for one in runs] for name, runs in samples.items()}
    single = [(one + again) / 2 for one, again in zip(goodput[_ONE], goodput[_AGAIN])]
    return {
        "mtu_bytes": mtu_bytes,
        "programs": [{"program": name,
                      "goodput_gbits_per_s": spread(goodput[name]),
                      "least_to_most": spread([min(_goodputs(one)) / max(_goodputs(one)) for one in runs]),
                      "host_cpu_seconds_per_gbyte": spread([one.host_cpu_s / (sum(_goodputs(one)) / 8 *
                                                            arguments.seconds) for one in runs]),
                      "to_one_engine": ratio(goodput[name], single),
                      "machine": summary(runs)}
                     for name, runs in samples.items()]}


def run(arguments, progress):
    need_network_rights()
    return {"scenario": "engines", "datapath": arguments.datapath, "machine": describe(), "rounds": arguments.pairs,
            "seconds": arguments.seconds, "flows": arguments.flows,
            "parts": [_measure(mtu, arguments, progress) for mtu in arguments.mtu or _MTUS]}


def _row(name, *cells):
    print(f"  {name:24}" + "".join(f"{cell:>27}" for cell in cells))


def show(document):
    machine = document["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, receiver over "
          f"{document['datapath']}")
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn")
    for part in document["parts"]:
        print(f"\n{document['flows']} connections to one host, MTU {part['mtu_bytes']}")
        _row("", "Gb/s", "of one engine", "slowest to fastest", "host CPU s/GB")
        for program in part["programs"]:
            _row(program["program"], text(program["goodput_gbits_per_s"]), text(program["to_one_engine"], 2),
                 text(program["least_to_most"], 2), text(program["host_cpu_seconds_per_gbyte"], 2))
        disturbance_note([program["machine"] for program in part["programs"]])
