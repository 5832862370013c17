"""PFC headroom: the formula of `heddle size headroom` beside a simulated lossless switch.

h0 sends at line rate, over the cable that is measured, towards h1, whose link takes almost nothing, so the switch
pauses h0. Meanwhile h2 sends to h0: the pause waits for a packet in transmission. Its start is shifted in steps, for
the longest wait. Measured are the bytes that arrive after the packet at which the switch decides to pause, and the
smallest buffer without a drop.

Topology files with less buffer than a lossless switch needs are refused. So cables have a low rate in the file, and a
fault gives them their real rate at time 0: the buffer may then be anything. NICs of the simulator obey a pause at once,
so the formula gets no response time.
"""

import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.report import row
from size.beside import error, figures, percent, simulated

_CASES = ((100, 300, 1_500), (100, 2_000, 4_154), (100, 10_000, 9_000), (400, 2_000, 9_000), (100, 30_000, 9_000))
_FRAMING = 38  # Ethernet with preamble and gap
_GAP = 20      # of it, preamble and gap
_PHASES = 16
_BEFORE_PAUSE = 3  # packets
_START_NS = 2_000_000
_SLOW = "1Gbit/s"
_STUCK = "1Mbit/s"


def _link(host, rate, delay_ns, mtu):
    return f'[[link]]\nends = ["{host}", "s"]\nrate = "{rate}"\nmtu = {mtu}\ndelay = "{delay_ns}ns"\n'


def _fault(host, gbits):
    return f'[[fault]]\nat = "0s"\nkind = "rate"\nlink = ["{host}", "s"]\nrate = "{round(gbits * 1000)}Mbit/s"\n'


class _Cable:
    """A case: one cable and the traffic that fills its headroom."""

    def __init__(self, folder, gbits, meters, mtu):
        self._folder, self.gbits, self.meters, self.mtu = folder, gbits, meters, mtu
        self.packet = mtu + _FRAMING
        self.decision = _BEFORE_PAUSE * self.packet
        self._delay_ns = meters * 5
        self._packet_ns = self.packet * 8 / gbits
        found = figures("headroom", "--rate", f"{gbits}Gbit/s", "--meters", meters, "--largest-frame",
                        self.packet - _GAP, "--lossless-frame", self.packet - _GAP, "--response-bits", 0)
        self.formula = found["headroom_bytes"]

    def _topology(self, buffer):
        text = f'[switches]\nbuffer = "{buffer}B"\npfc = true\nxoff = "{self.decision - 1}B"\nxon = "1B"\n'
        text += "".join(f'[[host]]\nname = "h{number}"\n' for number in range(3)) + '[[switch]]\nname = "s"\n'
        text += _link("h0", _SLOW, self._delay_ns, self.mtu) + _link("h1", _STUCK, 100, self.mtu)
        # A little slower than h0's, so that its packets do not queue.
        return (text + _link("h2", _SLOW, 100, self.mtu) + _fault("h0", self.gbits)
                + _fault("h2", 0.99 * self.gbits))

    def _workload(self, phase):
        sent = 3 * (self.decision + round(self.formula))
        # h2's packets are at the switch from before the decision on, and have left it at the peak.
        decided = _START_NS + self._delay_ns + _BEFORE_PAUSE * self._packet_ns
        begin = round(decided - 7 * self._packet_ns + phase * self._packet_ns)
        return (f'[[flow]]\nfrom = "h0"\nto = "h1"\nbytes = "{sent}B"\nstart = "{_START_NS}ns"\n'
                f'[[flow]]\nfrom = "h2"\nto = "h0"\nbytes = "{10 * self.mtu}B"\nstart = "{begin}ns"\n')

    def _run(self, buffer, phase):
        until_us = (_START_NS + 6 * self._delay_ns + 40 * self._packet_ns) / 1e3
        window = max(32 * round(self.formula), 1 << 20)
        return simulated(self._folder, self._topology(buffer), self._workload(phase), "--paths", 1, "--until",
                         f"{round(until_us)}us", "--initial-window", window)

    def used(self, phase):
        """Bytes that arrived from h0 after the decision."""
        document = self._run(2 * (self.decision + round(self.formula)) + 40 * self.packet, phase)
        queues = {queue["to"]: queue for queue in document["links"]["longest_queues"] if queue["from"] == "s"}
        if document["counters"]["pauses"] == 0 or document["counters"]["packets"]["queue full"] > 0:
            raise CannotMeasure("the simulated switch did not pause its sender, or dropped", "run it by hand")
        return queues["h1"]["queue_peak_bytes"] - self.decision

    def _drops(self, buffer, phases):
        return any(self._run(buffer, phase)["counters"]["packets"]["queue full"] > 0 for phase in phases)

    def smallest(self, phases, used):
        """The smallest buffer without a drop, in steps of 64 bytes, less what was queued at the decision."""
        low, high = self.decision + used - 64, self.decision + used + 3 * self.packet
        if not self._drops(low, phases) or self._drops(high, phases):
            return None
        while high - low > 64:
            middle = (low + high) // 2
            low, high = (middle, high) if self._drops(middle, phases) else (low, middle)
        return high - self.decision


def _case(folder, parts):
    cable = _Cable(folder, *parts)
    phases = [number / _PHASES for number in range(_PHASES)]
    by_phase = {phase: cable.used(phase) for phase in phases}
    used = max(by_phase.values())
    worst = [phase for phase in phases if by_phase[phase] == used][-1:]
    return {"gbits_per_s": cable.gbits, "meters": cable.meters, "mtu_bytes": cable.mtu, "packet_bytes": cable.packet,
            "formula_bytes": cable.formula, "used_bytes": used, "used_least_bytes": min(by_phase.values()),
            "smallest_without_drop_bytes": cable.smallest(worst, used),
            "error": error(cable.formula, used), "unused_packets": (cable.formula - used) / cable.packet}


def run(_arguments, progress):
    cases = []
    with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
        for number, parts in enumerate(_CASES):
            progress.say(number, len(_CASES), f"{parts[0]} Gb/s, {parts[1]} m")
            cases.append(_case(folder, parts))
    # Enough, and by less than a packet too much: packets are whole, the formula is not.
    sound = all(0 <= case["unused_packets"] < 1 for case in cases)
    return {"machine": describe(), "cases": cases, "worst_error": max(case["error"] for case in cases),
            "exit_status": 0 if sound else 1}


def show(document):
    print("Bytes behind the threshold of a lossless switch\n")
    for case in document["cases"]:
        smallest = case["smallest_without_drop_bytes"]
        name = f"{case['gbits_per_s']} Gb/s, {case['meters']:,} m, MTU {case['mtu_bytes']}"
        row(name, "formula", "simulated", "error")
        row("  headroom", f"{case['formula_bytes']:,.0f} B", f"{case['used_bytes']:,} B", percent(case["error"]))
        row("  smallest without a drop", "", "-" if smallest is None else f"{smallest:,} B",
            f"{case['unused_packets']:.2f} packets unused")
        print()
    print("the formula is enough, by less than one packet too much" if document["exit_status"] == 0
          else "THE FORMULA IS NOT ENOUGH, or a packet too much")
