"""A soak: long-lived servers, a job of collectives and recordings in a lab, under faults and with hostile
hosts.

Honest clients transfer checked data, open and close connections, stop and are killed; links lose, corrupt,
reorder and drop packets, slow down and go down, hosts pause. An attacker floods the servers and the ranks,
and a process on a client's host records the encrypted server's traffic, changes it and replays it. The
resources of each long-lived process are measured every few seconds. The exit status is 1 if a curve grows, a
process ended, data was corrupted, or a connection between honest programs failed: no fault here explains
that.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built, start
from harness.report import row
from soak import clients
from soak.census import MEASURES, Census, children, shared_memory_files
from soak.faults import Faults
from soak.trend import SHORTEST_S, trend

SUMMARY = "memory of long-lived processes for an hour of faults, hostile hosts and clients that come and go, in a lab"

_SPINES, _LEAVES = 4, 2
_CLIENT_HOST, _OTHER_CLIENT_HOST, _STRANGER = "h0", "h1", "h2"
_OPEN_SERVER, _SEALED_SERVER = "h3", "h4"
_JOB_HOSTS = ("h1", "h5")
_PORT = 18_700
_WARM_UP_MOST_S, _WARM_UP_SHARE = 900, 0.2
_RECORDING_MIB = 1  # full before the warm-up ends
# Faults are shorter than this; other programs may use the cores meanwhile.
_DEAD_MS = 30_000
_BUSY_S = 3  # a pause lasts at most half as long
_HOSTILE = pathlib.Path(__file__).resolve().parent / "hostile.py"
_ROW = re.compile(r"^ +\d+ +\d+ +float", re.MULTILINE)


def add_arguments(parser):
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="how long [60]")
    parser.add_argument("--every", type=float, default=5, metavar="SECONDS", help="between measurements [5]")
    parser.add_argument("--rate", type=float, default=250, metavar="N",
                        help="packets a second of each of the two hostile programs [250]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of faults and of what is hostile [1]")
    parser.add_argument("--link-mbits", type=int, default=50, metavar="N",
                        help="rate of each link to a spine, in Mb/s; hosts have twice as much [50]")
    parser.add_argument("--paths", type=int, default=16, metavar="N", help="paths of a connection [16]")
    parser.add_argument("--cc", default="cubic", help="congestion control [cubic]")
    parser.add_argument("--curves", action="store_true", help="with --json: every measurement")


class Rate:
    """The text of a link with a queue of 10 ms."""

    def __init__(self, mbits):
        self.text, self.queue = f"{mbits}Mbit/s", f"{mbits * 1250}B"


class Soak:
    """The processes of one soak. They end with it."""

    def __init__(self, fabric, folder, arguments):
        self._fabric, self._folder, self._arguments = fabric, pathlib.Path(folder), arguments
        self._settings = [f"paths={arguments.paths}", f"congestion={arguments.cc}", f"peer_dead_after_ms={_DEAD_MS}",
                          f"handshake_timeout_ms={_DEAD_MS}"]
        self._key = f"key_file={folder}/keys"
        self._processes = {}
        self.tally = clients.Tally()
        self.recordings = {name: str(self._folder / f"{name}.recording") for name in ("open server", "job")}

    def _start(self, name, host, command, **variables):
        log = open(self._log(name), "w", encoding="utf-8")  # noqa: SIM115: the process has it
        with log:
            self._processes[name] = start(self._fabric.inside(host, command) if host else command, stdout=log,
                                          stderr=subprocess.STDOUT if name == "job" else None,
                                          env={**os.environ, **variables})
        return self._processes[name]

    def _log(self, name):
        return self._folder / f"{name.replace(' ', '-')}.log"

    def begin(self):
        """Starts all long-lived processes; returns {name: process id}."""
        done = subprocess.run([built("heddle"), "key", "generate", f"{self._folder}/keys"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"no key: {done.stderr.strip()}", "run `heddle key generate` by hand")
        recorded = {"HEDDLE_RECORD": self.recordings["open server"], "HEDDLE_RECORD_MEBIBYTES": str(_RECORDING_MIB)}
        pids = {"open server": self._serve("open server", _OPEN_SERVER, ["perf"], **recorded),
                "sealed server": self._serve("sealed server", _SEALED_SERVER, ["ping", "--set", self._key])}
        heddle = built("heddle")
        # Sizes rise so slowly that the hour ends first; results are checked at each.
        job = [heddle, "record", "-o", self.recordings["job"], "--max-size", f"{_RECORDING_MIB}M", "--", heddle, "run",
               "-n", "4", "--lab", self._fabric.name, "--hosts", ",".join(_JOB_HOSTS), "--",
               heddle, "bench", "allreduce", "-b", "256K", "-e", "1M", "-i", "256", "-n", "40", "-w", "1", "-c", "1"]
        supervisor = self._start("job", None, job, HEDDLE_SPIN="never", HEDDLE_RANK_DEAD_AFTER_MS=str(_DEAD_MS),
                                 HEDDLE_PATHS=str(self._arguments.paths), HEDDLE_TUNING="fixed")
        pids |= self._ranks(supervisor)
        return pids

    def _serve(self, name, host, words, **variables):
        command = [built("heddle"), words[0], "--listen", "--set", "spin=never", *words[1:]]
        for setting in self._settings:
            command += ["--set", setting]
        process = self._start(name, host, command, **variables)
        self._wait(name, process, lambda: "listens" in self._log(name).read_text(encoding="utf-8"))
        return process.pid

    def _wait(self, name, process, is_ready, seconds=60):
        end = time.monotonic() + seconds
        while not is_ready():
            if process.poll() is not None or time.monotonic() > end:
                said = self._log(name).read_text(encoding="utf-8")[-400:]
                raise CannotMeasure(f"the {name} does not start: {said or 'it is silent'}", "run it by hand")
            time.sleep(0.1)

    def _ranks(self, supervisor):
        self._wait("job", supervisor, lambda: self.rows() > 0, 600)
        below = [pid for pid in children(supervisor.pid)
                 if b"bench" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        ranks = [pid for pid in below if not children(pid)]
        supervisors = [pid for pid in (supervisor.pid, *below) if pid not in ranks]
        return {f"job's supervisor {at}": pid for at, pid in enumerate(supervisors)} | {
            f"rank {at}": pid for at, pid in enumerate(ranks)}

    def rows(self):
        return len(_ROW.findall(self._log("job").read_text(encoding="utf-8")))

    def wrong_results(self):
        """Sums that the job found wrong: the column #wrong of both halves."""
        lines = [line.split() for line in self._log("job").read_text(encoding="utf-8").splitlines() if _ROW.match(line)]
        return sum(int(words[at]) for words in lines if len(words) == 13 for at in (8, 12))

    def client_threads(self, stop):
        kinds = ((_CLIENT_HOST, _OPEN_SERVER, [], (clients.checked_transfer, clients.short_connection, clients.killed)),
                 (_OTHER_CLIENT_HOST, _OPEN_SERVER, [], (clients.checked_transfer,)),
                 (_CLIENT_HOST, _SEALED_SERVER, [self._key], (clients.pings, clients.checked_transfer, clients.killed)))
        made = []
        for host, server, more, ones in kinds:
            to = (self._fabric.address(server), [*self._settings, *more])
            for one in ones:
                seed = self._arguments.seed + len(made)
                made.append(clients.Client(self._fabric, host, to, one, self.tally, seed, stop))
        return made

    def begin_hostile(self, rank_pids):
        address = self._fabric.address
        peers = [word for host in (_CLIENT_HOST, _OTHER_CLIENT_HOST) for word in ("--peer", address(host))]
        common = [*peers, "--rate", str(self._arguments.rate), "--seed", str(self._arguments.seed)]
        ranks = [f"{address(_host_of(pid))}:{_port(pid)}" for pid in rank_pids]
        opened, sealed = (f"{address(server)}:{_PORT}" for server in (_OPEN_SERVER, _SEALED_SERVER))
        # Each server as often as all ranks together.
        self._start("stranger", _STRANGER, [sys.executable, str(_HOSTILE), *[opened, opened, sealed] * 2, *ranks,
                                            "--address", address(_STRANGER), *common])
        self._start("eavesdropper", _CLIENT_HOST,
                    [sys.executable, str(_HOSTILE), sealed, "--address", address(_CLIENT_HOST),
                     "--watch", self._fabric.device(_CLIENT_HOST), *common])

    def ended(self):
        return [name for name, process in self._processes.items() if process.poll() is not None]

    def end_hostile(self):
        """The counters that the hostile programs printed."""
        told = {}
        for name in ("stranger", "eavesdropper"):
            process = self._processes[name]
            process.terminate()
            try:
                process.wait(timeout=20)
                told[name] = json.loads(self._log(name).read_text(encoding="utf-8"))
            except (subprocess.TimeoutExpired, ValueError):
                told[name] = {"packets": 0, "kinds": {}, "accepted": 0}
        return told

    def end(self):
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()  # SIGINT may be ignored, as in the background of a shell
        for process in self._processes.values():
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _host_of(pid):
    """The lab host of a process."""
    done = subprocess.run(["ip", "netns", "identify", str(pid)], capture_output=True, text=True, check=True)
    return done.stdout.strip().rsplit(".", 1)[-1]


def _port(pid):
    """The UDP port on which a process receives: that of its first socket. Each of its paths has one, too."""
    lines = [line.split() for kind in ("udp", "udp6")
             for line in pathlib.Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii").splitlines()[1:]]
    ports = {words[9]: int(words[1].rsplit(":", 1)[1], 16) for words in lines}
    for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
        if found and found[1] in ports:
            return ports[found[1]]
    raise CannotMeasure(f"process {pid} of the job has no socket", "run it by hand")


def _watch(soak, faults, arguments, progress):
    """Runs everything for the requested time; returns the census and the hostile programs' counters."""
    pids = soak.begin()
    soak.begin_hostile([pid for name, pid in pids.items() if name.startswith("rank")])
    stop = faults.stop_asked
    census = Census(pids, soak.recordings, arguments.every, stop)
    threads = [faults, census, *soak.client_threads(stop)]
    try:
        for thread in threads:
            thread.start()
        seconds = arguments.minutes * 60
        while (past := time.monotonic() - census.began) < seconds and not soak.ended():
            progress.say(int(past), int(seconds), "soak")
            time.sleep(0.5)
        ended = soak.ended()
    finally:
        stop.set()
        for thread in threads:
            if thread.is_alive():
                thread.join()
    census.seconds = time.monotonic() - census.began
    census.dead |= set(ended)
    return census, soak.end_hostile()


def run(arguments, progress):
    need_network_rights()
    if arguments.minutes <= 0 or arguments.every <= 0:
        raise CannotMeasure("the soak takes no time", "give --minutes and --every above 0")
    if arguments.link_mbits <= 0:
        raise CannotMeasure("the links carry nothing", "give --link-mbits above 0")
    host, spine = (Rate(factor * arguments.link_mbits) for factor in (2, 1))
    text = leaf_spine(_LEAVES, _SPINES, 3, 1500, host.text, host.queue, spine.text, spine.queue)
    with tempfile.TemporaryDirectory(prefix="heddle-bench-soak-") as folder, Fabric(text) as fabric:
        paused = (_CLIENT_HOST, _OTHER_CLIENT_HOST, _OPEN_SERVER, _SEALED_SERVER, _JOB_HOSTS[1])
        faults = Faults(fabric, (_LEAVES, _SPINES, paused), arguments.seed, threading.Event())
        soak = Soak(fabric, folder, arguments)
        try:
            census, hostile = _watch(soak, faults, arguments, progress)
            rows, wrong = soak.rows(), soak.wrong_results()
        finally:
            fabric.fault("clear")
            soak.end()
    if faults.error:
        raise faults.error
    left = sorted(name for name in census.shared_files if os.path.exists(name))
    soak.tally.add(wrong_messages=wrong, collective_rows=rows)
    return _document(arguments, soak.tally, census, {"faults": faults.counts, "longest_pause_s": faults.longest_pause_s,
                                                    "hostile": hostile, "left_behind": left})


def _curves(census, warm_s):
    told = {}
    for name in census.curves:
        found = {key: trend(*census.curve(name, key, warm_s), *allowed) for key, allowed in MEASURES.items()}
        told[name] = {key: each for key, each in found.items() if each["verdict"] != "none"}
    return told


def _document(arguments, tally, census, more):
    warm_s = min(_WARM_UP_MOST_S, _WARM_UP_SHARE * census.seconds)
    curves = _curves(census, warm_s)
    growing = [f"{name}: {key}" for name, found in curves.items() for key, each in found.items()
               if each["verdict"] == "grows"]
    wrong = tally.counts.get("wrong_messages", 0)
    bad = growing or census.dead or wrong or tally.failures or more["left_behind"]
    document = {"scenario": "soak", "machine": describe(), "minutes": census.seconds / 60, "seed": arguments.seed,
                "link_mbits_per_s": arguments.link_mbits,
                "congestion": arguments.cc, "every_s": arguments.every, "latest_s": census.latest_s,
                "warm_up_s": warm_s,
                "shortest_s": SHORTEST_S, "done": tally.counts, "failures": tally.failures,
                "ended": sorted(census.dead),
                "processes": curves, "growing": growing, **more, "exit_status": 1 if bad else 0}
    if arguments.curves:
        document["times_s"], document["measurements"] = census.times, census.curves
    return document


def _amount(value):
    return f"{value:,.0f}"


def _show_curve(name, each):
    interval = each["interval_per_hour"]
    shown = "?" if interval is None else f"{interval[0]:+,.1f} to {interval[1]:+,.1f}"
    amounts = "".join(f"{_amount(each[key]):>10}" for key in ("first_quarter", "last_quarter", "most"))
    print(f"  {name:36}{amounts}{each['slope_per_hour']:>+12,.1f}  {shown:>26}  {each['verdict']}")


def show(document):
    print(f"{document['minutes']:.1f} min, seed {document['seed']}, {document['congestion']}, links of "
          f"{document['link_mbits_per_s']} Mb/s; the first "
          f"{document['warm_up_s']:.0f} s are warming up")
    for key in MEASURES:
        print(f"\n  {key:36}{'quarter 1':>10}{'quarter 4':>10}{'most':>10}{'an hour':>12}  {'95% interval':>26}")
        for name, found in document["processes"].items():
            if key in found:
                _show_curve(name, found[key])
    print()
    for name, count in sorted(document["done"].items()):
        row(name.replace("_", " "), f"{count:,}")
    for name, told in document["hostile"].items():
        print(f"  {name}: {told['packets']:,} packets, {told['accepted']:,} connections; "
              + ", ".join(f"{kind} {count:,}" for kind, count in sorted(told["kinds"].items())))
    print("  faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(document["faults"].items())))
    if max(document["latest_s"], document["longest_pause_s"]) > _BUSY_S:
        print(f"  other programs took the cores: a measurement came {document['latest_s']:.1f} s late, a host paused "
              f"for {document['longest_pause_s']:.1f} s; read failures with that in mind")
    row("processes that ended", ", ".join(document["ended"]) or "none")
    row("left behind", ", ".join(document["left_behind"]) or "nothing")
    row("honest clients that failed", str(len(document["failures"])))
    for failure in document["failures"][:10]:
        print(f"    {failure['command']}: {failure['said']}")
    row("curves that grow", ", ".join(document["growing"]) or "none")
