"""Copies over a long cable: heddle copy and rsync (a daemon, whole files, no compression), beside iperf3's TCP rate.

The delay is 5 us a kilometer, one way. One large file and many small ones, each into an empty folder; socket buffers
have raised limits. A copy's rate is content by the time from the command's start to its end, with connecting and
verifying. With --relays, heddle copy also goes through a relay on each host. What was copied is compared with the
source, or the exit status is 1.
"""

import contextlib
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import Sample, built, installed, start, wait_until_listening
from harness.report import cpu_note, row
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "files copied over 0 to 1,000 km of cable by heddle and rsync, in a lab"

_KM = (0, 100, 1000)
_NS_A_KM = 5_000
_MTU = 9000
_PORT = 8730
_PATIENCE_S = 300
_TCP_RECEIVE, _TCP_SEND = "4096 131072 67108864", "4096 16384 67108864"


def add_arguments(parser):
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="rounds [3]")
    parser.add_argument("--km", type=int, action="append", metavar="N", help="this distance only [0, 100, 1000]")
    parser.add_argument("--mbits", type=int, default=1000, metavar="N", help="rate of the cable [1000]")
    parser.add_argument("--megabytes", type=int, default=1000, metavar="N", help="size of the large file [1000]")
    parser.add_argument("--files", type=int, default=2000, metavar="N", help="small files of 16 KiB [2000]")
    parser.add_argument("--relays", action="store_true", help="heddle copy through two relays as well")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files are [the temporary folder]")


class _HeddleCopy:
    name = "heddle copy"
    listening, sending = [], []  # more words of the two sides

    @contextlib.contextmanager
    def server(self, inside, target):
        words = [built("heddle"), "copy", "--listen", target, "--without-keys", "--once", "-p", str(_PORT)]
        with _running(inside(words + self.listening), "receives on"):
            yield

    def client(self, source, address):
        return [built("heddle"), "copy", source + "/", f"{address}:", "-p", str(_PORT), *self.sending]


class _RelayedCopy(_HeddleCopy):
    """Through a relay on each of the two hosts."""

    name = "heddle copy, relays"
    listening = ["--relayed"]

    def __init__(self, fabric):
        here, there = (fabric.address(host) for host in ("h0", "h1"))
        self.sending = ["--relay", f"{here},{there}"]
        self._relays = [fabric.inside(host, [built("heddle"), "relay", "--without-keys", "--to", to])
                        for host, to in (("h1", f"{there}:{_PORT}"), ("h0", there))]

    @contextlib.contextmanager
    def server(self, inside, target):
        with contextlib.ExitStack() as running:
            for relay in self._relays:
                running.enter_context(_running(relay, "relays on"))
            running.enter_context(super().server(inside, target))
            yield


class _Rsync:
    name = "rsync"

    @contextlib.contextmanager
    def server(self, inside, target):
        with tempfile.NamedTemporaryFile("w", suffix=".conf", prefix="heddle-bench-") as file:
            file.write(f"use chroot = no\nlog file = /dev/stderr\npid file = {file.name}.pid\n"
                       f"[target]\npath = {target}\nread only = no\nuid = {os.getuid()}\ngid = {os.getgid()}\n")
            file.flush()
            words = [installed("rsync", "rsync"), "--daemon", "--no-detach", f"--config={file.name}",
                     f"--port={_PORT}"]
            try:
                with _running(inside(words), "starting"):
                    yield
            finally:
                pathlib.Path(file.name + ".pid").unlink(missing_ok=True)

    def client(self, source, address):
        return [installed("rsync", "rsync"), "-a", "--whole-file", "--inplace", source + "/",
                f"rsync://{address}:{_PORT}/target/"]


@contextlib.contextmanager
def _running(command, sign):
    server = start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until_listening(server, command[0], sign)
        yield
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


class _Copy:
    """One program that copies one folder."""

    def __init__(self, fabric, program, source, arguments):
        self.name = f"{program.name}, {pathlib.Path(source).name}"
        self._fabric, self._program, self._source, self._folder = fabric, program, source, arguments.folder

    def run(self):
        target = tempfile.mkdtemp(prefix="heddle-bench-", dir=self._folder)
        meanwhile = Meanwhile()
        try:
            with self._program.server(lambda words: self._fabric.inside("h1", words), target):
                command = self._fabric.inside("h0", self._program.client(self._source, self._fabric.address("h1")))
                with meanwhile:
                    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
                if done.returncode != 0:
                    raise CannotMeasure(f"{self._program.name} failed: {done.stderr.strip()}", "run it by hand")
            meanwhile.settle()
            return self._sample(meanwhile, target)
        finally:
            shutil.rmtree(target)

    def _sample(self, meanwhile, target):
        names = os.listdir(self._source)
        _, differ, missing = filecmp.cmpfiles(self._source, target, names, shallow=False)
        sample = Sample("", meanwhile)
        content = sum(os.path.getsize(os.path.join(self._source, name)) for name in names)
        sample.mbits_per_s = content * 8e-6 / meanwhile.wall_s
        sample.wrong = len(differ) + len(missing)
        sample.cpu_share = meanwhile.cpu_share
        return sample


class _TcpRate:
    name = "iperf3"

    def __init__(self, fabric):
        self._fabric = fabric

    def run(self):
        meanwhile = Meanwhile()
        iperf = installed("iperf3", "iperf3")
        with _running(self._fabric.inside("h1", [iperf, "-s", "--forceflush"]), "listening"):
            words = [iperf, "-c", self._fabric.address("h1"), "-t", "2", "-O", "1", "-J"]
            with meanwhile:
                output = self._fabric.output("h0", words)
        meanwhile.settle()
        sample = Sample(output, meanwhile)
        sample.mbits_per_s = json.loads(output)["end"]["sum_received"]["bits_per_second"] * 1e-6
        sample.wrong, sample.cpu_share = 0, meanwhile.cpu_share
        return sample


def _cable(km, arguments):
    delay = f'delay = "{km * _NS_A_KM}ns"\n' if km else ""
    return f"""version = 1
[fabric]
kind = "point_to_point"
[host_link]
rate = "{arguments.mbits}Mbit/s"
queue = "{arguments.mbits * 625}B"
mtu = {_MTU}
{delay}"""


def _make_sources(folder, arguments):
    large, small = os.path.join(folder, "large"), os.path.join(folder, "small")
    os.mkdir(large)
    os.mkdir(small)
    block = os.urandom(1_000_000)
    with open(os.path.join(large, "file"), "wb") as file:
        for number in range(arguments.megabytes):
            file.write(number.to_bytes(8, "little") + block[8:])
    for number in range(arguments.files):
        pathlib.Path(small, str(number)).write_bytes(os.urandom(16 << 10))
    os.sync()
    return [large, small]


def _case(km, sources, arguments, progress):
    with Fabric(_cable(km, arguments)) as fabric:
        for host in fabric.hosts:
            fabric.run(host, ["sysctl", "-qw", f"net.ipv4.tcp_rmem={_TCP_RECEIVE}", f"net.ipv4.tcp_wmem={_TCP_SEND}"])
        programs = [_HeddleCopy(), *([_RelayedCopy(fabric)] if arguments.relays else []), _Rsync()]
        contests = [_Copy(fabric, program, source, arguments) for source in sources for program in programs]
        samples = interleave([*contests, _TcpRate(fabric)], arguments.pairs, progress)
    rates = {name: [run.mbits_per_s for run in runs] for name, runs in samples.items()}
    programs = [{"program": name, "mbits_per_s": spread(rates[name]),
                 "seconds": spread([run.wall_s for run in runs]), "wrong_files": sum(run.wrong for run in runs),
                 "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(runs)}
                for name, runs in samples.items()]
    return {"km": km, "one_way_us": km * _NS_A_KM / 1e3, "programs": programs,
            "heddle_to_rsync": {kind: ratio(rates[f"heddle copy, {kind}"], rates[f"rsync, {kind}"])
                                for kind in ("large", "small")}}


def run(arguments, progress):
    need_network_rights()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="heddle-bench-", dir=arguments.folder) as folder:
        sources = _make_sources(folder, arguments)
        cases = [_case(km, sources, arguments, progress) for km in arguments.km or _KM]
    wrong = sum(program["wrong_files"] for case in cases for program in case["programs"])
    return {"scenario": "copy", "machine": describe(), "rounds": arguments.pairs, "mbits": arguments.mbits,
            "mtu_bytes": _MTU, "large_megabytes": arguments.megabytes, "small_files": arguments.files,
            "wall_seconds": time.monotonic() - began, "cases": cases, "exit_status": 0 if wrong == 0 else 1}


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds, in turn; {document['mbits']} Mb/s, MTU "
          f"{document['mtu_bytes']}; large: one file of {document['large_megabytes']} MB, small: "
          f"{document['small_files']} files of 16 KiB")
    for case in document["cases"]:
        print(f"\n{case['km']} km ({case['one_way_us']:.0f} us one way)")
        row("", "Mb/s", "seconds")
        for program in case["programs"]:
            row(program["program"], text(program["mbits_per_s"], 0), text(program["seconds"], 2))
            if program["wrong_files"]:
                print(f"  {program['wrong_files']} files differ from the source")
        for kind, values in case["heddle_to_rsync"].items():
            row(f"heddle to rsync, {kind}", text(values, 2))
        cpu_note(case["programs"])
