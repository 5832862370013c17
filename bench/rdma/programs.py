"""The programs that the virtual machine measures: perftest over RC, heddle over each datapath, TCP.

Each has goodput(seconds) -> {"gbits_per_s", …} and message(bytes, seconds) -> {"p50_us", "p99_us", "messages"}: a
message's one-way time, half of one to and fro. Ended: it found nothing; its text says why. Stands alone.
"""

import contextlib
import ctypes
import functools
import json
import mmap
import subprocess
import sys
import time

H0, H1 = "10.9.0.1", "10.9.0.2"
_LISTENS_S = 20
_GOODPUT_BYTES = 1 << 20


class Ended(Exception):
    pass


def _listens(port):
    """Whether a socket is bound to it and open to all: TCP in the state LISTEN (0A), UDP in 07."""
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if int(words[1].rsplit(":", 1)[1], 16) == port and words[3] in ("0A", "07"):
                    return True
    return False


@contextlib.contextmanager
def _server(port, words):
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + _LISTENS_S
            while not _listens(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise Ended(f"{words[0].rsplit('/', 1)[-1]} does not listen")
                time.sleep(0.02)
            yield
        finally:
            process.kill()


def _client(words, seconds, reason, limit_s=None):
    """What it prints. `reason` reads from its outputs why it failed."""
    limit_s = limit_s or 30 + 4 * seconds
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Ended(f"no result in {limit_s} s") from None
    why = reason(done.stdout + done.stderr)
    if done.returncode != 0 or why:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise Ended(why or lines[-1][:200])
    return done.stdout


@functools.cache
def _cycles_per_us():
    """Of the counter that perftest reads. Its own estimate is zero or wrong where other programs disturb it."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    cycles, began = read(), time.monotonic_ns()
    time.sleep(0.5)
    return (read() - cycles) / ((time.monotonic_ns() - began) / 1e3)


class Perftest:
    """ib_write_bw and ib_write_lat over one RC queue pair, with the retransmission of the NIC."""

    _PORT = 18515
    _STATUS = "Failed status "
    _REASONS = {"12": "retry exceeded", "13": "receiver not ready, retry exceeded", "5": "flushed"}

    def __init__(self, _plan):
        pass

    def _run(self, program, seconds, *words):
        common = [program, "-F", "-x", "1", "-m", "4096", *words]
        with _server(self._PORT, [*common, "-d", "rxe1"]):
            printed = _client([*common, "-d", "rxe0", H1], seconds, self._reason)
        rows = [line.split() for line in printed.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
        if not rows:
            raise Ended("no result")
        return rows[-1]

    def _reason(self, output):
        if self._STATUS not in output:
            return None
        status = output.split(self._STATUS)[1].split(":")[0]
        return self._REASONS.get(status, f"status {status}")

    def goodput(self, seconds):
        # Its figure needs its clock; the count of messages in the whole time does not.
        seconds = max(2, seconds)
        row = self._run("ib_write_bw", seconds, "-s", str(_GOODPUT_BYTES), "-D", str(seconds))
        return {"gbits_per_s": int(row[1]) * _GOODPUT_BYTES * 8 / seconds / 1e9}

    def message(self, size, seconds):
        count = max(10, (100 if size <= 1 << 16 else 10) * seconds)
        row = self._run("ib_write_lat", seconds, "-s", str(size), "-n", str(count), "-C")
        # Bytes, iterations, then cycles: least, most, typical, mean, deviation, 99%, 99.9%.
        return {"p50_us": float(row[4]) / _cycles_per_us(), "p99_us": float(row[7]) / _cycles_per_us(),
                "messages": int(row[1])}


class Heddle:
    _PORT = 18700
    words = ()

    def __init__(self, plan):
        self._program = plan["heddle"]
        self.words = (*self.words, "--paths", str(plan["paths"]))
        self._kept = {}  # by size: what a run for goodput found of single messages; an emulated start takes a second

    def _run(self, seconds, size, *tests):
        with _server(self._PORT, [self._program, "perf", "--listen", "--bind", "h1", *self.words]):
            printed = _client([self._program, "perf", H1, *tests, "-s", str(size), "-t", f"{seconds}s", "--json",
                               "--bind", "h0", *self.words], len(tests) * seconds, lambda _: None)
        return json.loads(printed)["tests"]

    def goodput(self, seconds):
        test, self._kept[_GOODPUT_BYTES] = self._run(seconds, _GOODPUT_BYTES, "bw", "lat")
        sent = max(1, test["segments_sent"])
        return {"gbits_per_s": test["goodput_gbits_per_s"], "retransmitted": test["segments_retransmitted"] / sent,
                "retransmitted_spuriously": test["segments_retransmitted_spuriously"] / sent}

    def message(self, size, seconds):
        test = self._kept.get(size) or self._run(seconds, size, "lat")[0]
        return {"p50_us": test["half_round_trip_us_p50"], "p99_us": test["half_round_trip_us_p99"],
                "messages": test["rounds"]}


class HeddleRc(Heddle):
    words = ("--set", "datapath=verbs", "--set", "rdma_mode=rc")


class HeddleUc(Heddle):
    words = ("--set", "datapath=verbs", "--set", "rdma_mode=uc")


class HeddleUd(Heddle):
    words = ("--set", "datapath=verbs", "--set", "rdma_mode=ud")


class Tcp:
    """iperf3, and messages to and fro over one connection."""

    _PORT, _MESSAGES = 5201, 18762

    def __init__(self, plan):
        self._peer = [sys.executable, "-S", plan["tcp_peer"]]  # no site: half of an emulated start

    def goodput(self, seconds):
        with _server(self._PORT, ["iperf3", "-s"]):
            printed = _client(["iperf3", "-c", H1, "-B", H0, "-t", str(seconds), "-l", "1M", "-J"], seconds,
                              lambda _: None)
        return {"gbits_per_s": json.loads(printed)["end"]["sum_received"]["bits_per_second"] / 1e9}

    def message(self, size, seconds):
        words = [*self._peer, "--bytes", str(size)]
        with _server(self._MESSAGES, [*words, "--answer"]):
            test = json.loads(_client([*words, "--ask", H1, "--seconds", str(seconds)], seconds, lambda _: None))
        return {"p50_us": test["half_round_trip_us_p50"], "p99_us": test["half_round_trip_us_p99"],
                "messages": test["rounds"]}


PROGRAMS = {"perftest, RC": Perftest, "heddle, RC": HeddleRc, "heddle, UC": HeddleUc, "heddle, UD": HeddleUd,
            "heddle, UDP": Heddle, "TCP cubic": Tcp}
