"""Cluster keys under attack, and the cost of each level of protection.

Flood: an attacker on a separate cable records an encrypted connection and floods the receiver with garbage,
recorded packets, and forged packets in the peer's name, during a transfer over a link of a given rate. Rounds
without the flood are compared with flooded ones. Then the same without a transfer, where every packet that
leaves the receiver is a reply. Keys: one unshaped connection without keys, with protected headers, and fully
protected, compared with OpenSSL's encryption and decryption alone on one core. Rounds are interleaved; the
connection without keys is measured twice in each round, which gives the spread of equal runs.
"""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import tempfile
import time

from harness.cable import Cable, need_network_rights
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import built, installed, run_pair, start, wait_until_listening
from harness.report import disturbance_note
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "goodput with cluster keys, and under a flood of garbage, replayed and forged packets"

_PORT = 18700
_STRAY_ADDRESS, _FAR_SIDE = "10.77.9.2", "10.77.9.1"
_WITHOUT, _HEADERS, _WITH = "heddle without keys", "heddle, headers protected", "heddle with keys"
_AGAIN = "without keys again"
_QUIET, _FLOODED = "quiet", "flooded"


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=2, metavar="N",
                        help="how long a measurement takes [2]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N",
                        help="rounds: so often each setting is measured, in turn [5]")
    parser.add_argument("--rate", type=int, default=50_000, metavar="N",
                        help="packets a second of the flood [50000]")
    parser.add_argument("--link", default="1gbit", metavar="RATE",
                        help="rate of the link that the transfer uses, or 'none' [1gbit]")
    parser.add_argument("--mtu", type=int, default=9000, metavar="N",
                        help="of the cable of the part with keys [9000]")
    parser.add_argument("--part", action="append", choices=("flood", "keys"), help="this part only [both]")


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()}", "run it as root")
    return done.stdout


class Stray:
    """A third host, on a separate cable to the far end."""

    def __init__(self, cable):
        self.cable = cable
        self.name = cable.far.replace("-far", "-stray")

    def __enter__(self):
        try:
            _run("ip", "netns", "add", self.name)
            _run("ip", "-n", self.name, "link", "add", "stray0", "mtu", "9000", "type", "veth", "peer",
                 "name", "stray0", "mtu", "9000", "netns", self.cable.far)
            for name, address in ((self.name, _STRAY_ADDRESS), (self.cable.far, _FAR_SIDE)):
                _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "stray0")
                _run("ip", "-n", name, "link", "set", "stray0", "up")
            _run("ip", "-n", self.name, "route", "add", f"{self.cable.far_address}/32", "via", _FAR_SIDE)
            # Packets in the peer's name come over the attacker's cable.
            for which in ("all", "stray0"):
                _run("ip", "netns", "exec", self.cable.far, "sysctl", "-q", "-w",
                     f"net.ipv4.conf.{which}.rp_filter=0")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], stderr=subprocess.DEVNULL)


def _shape(cable, rate):
    if rate == "none":
        return
    # GSO off: a rate that counts packets would count a burst as one.
    for side in (cable.near, cable.far):
        _run("ip", "netns", "exec", side, "ethtool", "-K", "cable0", "gso", "off", "tso", "off",
             "tx-udp-segmentation", "off")
        _run("tc", "-n", side, "qdisc", "add", "dev", "cable0", "root", "tbf", "rate", rate, "burst",
             "256kb", "limit", "1mb")


def _memory_kib(process):
    """Memory of the program that `ip netns exec` became."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def _line(process, sign):
    end = time.monotonic() + 30
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        line = process.stdout.readline() if ready else ""
        if not line:
            raise CannotMeasure(f"{process.args} says no '{sign}'", "run it by hand")
        if sign in line:
            return line


def _sent_datagrams(side):
    """UDP datagrams that this namespace has sent so far."""
    rows = [line.split()[1:] for line in
            _run("ip", "netns", "exec", side, "cat", "/proc/net/snmp").splitlines()
            if line.startswith("Udp:")]
    return int(dict(zip(*rows))["OutDatagrams"])


class Siege:
    """One run of the flood's part: a server with keys, a client, and optionally the attacker."""

    def __init__(self, name, cable, stray, arguments, key_file):
        self.name = name
        self._cable, self._stray, self._arguments = cable, stray, arguments
        self._environment = dict(os.environ, HEDDLE_KEY_FILE=key_file)

    def _heddle(self, side, *words, **streams):
        return start(self._cable.inside(side, [built("heddle"), *words]), env=self._environment, **streams)

    def _flood(self, *words):
        return subprocess.Popen(
            self._cable.inside(self._cable.near, [
                built("heddle-bench-flood"), "--record-on", "cable0", "--record-ms", "200",
                "--enter", self._stray.name, "--listen-on", "stray0", "--to", self._cable.far_address,
                "--port", str(_PORT), "--rate", str(self._arguments.rate),
                "--seconds", str(self._arguments.seconds), *words]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        """The flood begins 0.2 s after the transfer, and lasts until its end."""
        seconds = self._arguments.seconds
        server = self._heddle(self._cable.far, "perf", "--listen", "-p", str(_PORT),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        flood = None
        try:
            wait_until_listening(server, "heddle", "listens")
            sample = Sample()
            # The server keeps memory that a first transfer allocated.
            self._transfer(1)
            before_kib = _memory_kib(server)
            if self.name == _FLOODED:
                # Records the beginning of the connection that it then attacks.
                flood = self._flood()
                _line(flood, "records")
            with sample.meanwhile:
                sample.output = self._transfer(seconds)
            sample.grew_kib = _memory_kib(server) - before_kib
            if flood is not None:
                sample.flood = json.loads(_line(flood, "packets"))
            return sample
        finally:
            for process in (server, flood):
                if process is None:
                    continue
                process.kill()
                process.wait()
                process.stdout.close()

    def _transfer(self, seconds):
        client = self._heddle(self._cable.near, "perf", f"{self._cable.far_address}:{_PORT}", "bw", "-t",
                              str(seconds), "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, complaint = client.communicate(timeout=seconds + 30)
        if client.returncode != 0:
            raise CannotMeasure(f"heddle perf failed: {complaint.strip()}", "run it by hand")
        return output


class Sample:
    def __init__(self):
        self.output = ""
        self.meanwhile = Meanwhile()  # without settle(): the flood is another program on purpose
        self.grew_kib = 0
        self.flood = None


def _idle_answers(cable, stray, arguments, key_file):
    """Floods an endpoint without connections: every packet that it sends is a reply."""
    siege = Siege(_FLOODED, cable, stray, arguments, key_file)
    server = siege._heddle(cable.far, "perf", "--listen", "-p", str(_PORT), "--json",
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    flood = siege._flood("--wait")
    try:
        _line(flood, "records")
        siege._transfer(1)
        _line(flood, "recorded")
        time.sleep(0.5)
        before, before_kib = _sent_datagrams(cable.far), _memory_kib(server)
        flood.stdin.write("go\n")
        flood.stdin.flush()
        told = json.loads(_line(flood, "packets"))
        told["answers"] = _sent_datagrams(cable.far) - before
        told["grew_kib"] = _memory_kib(server) - before_kib
        server.send_signal(signal.SIGINT)
        document = json.loads(server.communicate(timeout=20)[0])
        told["dropped"] = {why: count for why, count in document["dropped_datagrams"].items() if count}
        return told
    finally:
        for process in (server, flood):
            process.kill()
            process.wait()


def _goodput(sample):
    return json.loads(sample.output)["tests"][0]["goodput_gbits_per_s"]


def _flood_part(arguments, progress, key_file):
    with Cable(9000) as cable, Stray(cable) as stray:
        _shape(cable, arguments.link)
        sieges = [Siege(name, cable, stray, arguments, key_file) for name in (_QUIET, _FLOODED, "quiet again")]
        samples = interleave(sieges, arguments.pairs, progress)
        idle = _idle_answers(cable, stray, arguments, key_file)
    flooded = samples[_FLOODED]
    goodput = {name: [_goodput(one) for one in runs] for name, runs in samples.items()}
    return {
        "link": arguments.link,
        "goodput_gbits_per_s": {name: spread(values) for name, values in goodput.items()},
        "flooded_to_quiet": ratio(goodput[_FLOODED], goodput[_QUIET]),
        "quiet_to_itself": ratio(goodput["quiet again"], goodput[_QUIET]),
        "machine": summary([one for runs in samples.values() for one in runs]),
        "host_cpu_share": {name: spread([one.meanwhile.cpu_share for one in runs]) for name, runs in samples.items()},
        "packets_per_s": spread([one.flood["packets_per_s"] for one in flooded]),
        "answers_to_strangers": sum(one.flood["answers"] for one in flooded),
        "server_grew_kib": {name: spread([one.grew_kib for one in runs]) for name, runs in samples.items()},
        "without_a_transfer": idle,
    }


class Keyed:
    """A contest as in bench/p2p, at one level of protection."""

    def __init__(self, name, cable, arguments, key_file):
        self.name = name
        self._cable, self._seconds = cable, arguments.seconds
        level = {_HEADERS: "headers", _WITH: "full"}.get(name, "none")
        self._words = ["--set", f"key_file={key_file}", "--set", f"protection={level}"]

    def run(self):
        words = self._words
        program = built("heddle")
        client = [program, "perf", self._cable.far_address, "bw", "-t", str(self._seconds), "--json", *words]
        return run_pair(self._cable, [program, "perf", "--listen", "--once", *words], client, "listens",
                        self._seconds + 20)


class Openssl:
    """OpenSSL's rate of encrypting, or decrypting, blocks of a segment's size on one core."""

    def __init__(self, opens):
        self.name = "OpenSSL alone, " + ("decrypts" if opens else "encrypts")
        self._words = ["-decrypt"] if opens else []

    def run(self):
        sample = Sample()
        with sample.meanwhile:
            done = _run(installed("openssl", "openssl"), "speed", "-seconds", "1", "-bytes", "8916", *self._words,
                        "-evp", "aes-256-gcm")
        kilobytes = float(re.search(r"AES-256-GCM\s+([\d.]+)k", done)[1])
        sample.output = json.dumps({"tests": [{"goodput_gbits_per_s": kilobytes * 8e-6}]})
        return sample


def _keys_part(arguments, progress, key_file):
    heddles = (_WITHOUT, _HEADERS, _WITH, _AGAIN)
    with Cable(arguments.mtu) as cable:
        contests = [Keyed(name, cable, arguments, key_file) for name in heddles] + [Openssl(False), Openssl(True)]
        samples = interleave(contests, arguments.pairs, progress)
    goodput = {name: [_goodput(one) for one in runs] for name, runs in samples.items()}
    cpu = {name: spread([one.host_cpu_s / (_goodput(one) / 8 * arguments.seconds) for one in samples[name]])
           for name in heddles}
    return {
        "mtu_bytes": arguments.mtu,
        "goodput_gbits_per_s": {name: spread(values) for name, values in goodput.items()},
        "host_cpu_seconds_per_gbyte": cpu,
        "with_to_without": ratio(goodput[_WITH], goodput[_WITHOUT]),
        "headers_to_without": ratio(goodput[_HEADERS], goodput[_WITHOUT]),
        "without_to_itself": ratio(goodput[_AGAIN], goodput[_WITHOUT]),
        "machine": summary([one for runs in samples.values() for one in runs]),
    }


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "hostile", "machine": describe(), "rounds": arguments.pairs,
                "seconds": arguments.seconds, "rate": arguments.rate}
    parts = arguments.part or ("keys", "flood")
    with tempfile.TemporaryDirectory() as folder:
        key_file = f"{folder}/keys"
        _run(built("heddle"), "key", "generate", key_file)
        if "keys" in parts:
            document["keys"] = _keys_part(arguments, progress, key_file)
        if "flood" in parts:
            document["flood"] = _flood_part(arguments, progress, key_file)
    return document


def _row(name, *cells):
    print(f"  {name:26}" + "".join(f"{cell:>30}" for cell in cells))


def show(document):
    machine = document["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}")
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn")
    if "keys" in document:
        part = document["keys"]
        print(f"\nOne connection, unshaped, MTU {part['mtu_bytes']}")
        _row("", "Gb/s", "host CPU s/GB")
        for name, values in part["goodput_gbits_per_s"].items():
            cpu = part["host_cpu_seconds_per_gbyte"].get(name)
            _row(name, text(values), text(cpu, 2) if cpu else "")
        print(f"  headers protected to without     {text(part['headers_to_without'], 2)}")
        print(f"  with keys to without             {text(part['with_to_without'], 2)}")
        print(f"  without to itself                {text(part['without_to_itself'], 2)}")
        disturbance_note([part["machine"]])
    if "flood" in document:
        part = document["flood"]
        print(f"\nSealed transfer over a link of {part['link']}, flood of {text(part['packets_per_s'], 0)} packets/s")
        _row("", "Gb/s", "share of host CPU", "server grew, KiB")
        for name, values in part["goodput_gbits_per_s"].items():
            _row(name, text(values, 3), text(part["host_cpu_share"][name], 2),
                 text(part["server_grew_kib"][name], 0))
        disturbance_note([part["machine"]])
        print(f"  flooded to quiet                 {text(part['flooded_to_quiet'], 3)}")
        print(f"  quiet to itself                  {text(part['quiet_to_itself'], 3)}")
        print(f"  answers to the stranger          {part['answers_to_strangers']}")
        idle = part["without_a_transfer"]
        print(f"  without a transfer: {idle['packets']} packets, {idle['answers']} answers, "
              f"{idle['grew_kib']} KiB more memory")
        print("    dropped: " + ", ".join(f"{count} {why}" for why, count in idle["dropped"].items()))
