"""Runs in the virtual machine of vm_test.py and writes what each check found as results.json below $OUT.

Usage: vm_inside.py HEDDLE [COMMAND]...: further commands, each one word for a shell, that need RDMA devices.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

H0, H1 = "10.9.0.1", "10.9.0.2"
LIMIT_S = 300
_LOOPBACK = "lo/statistics/tx_packets"
VERIFY_LIMIT_S = 1200  # on an emulated processor it took 93 s, beside a busy program 175 s
PROGRAM_LIMIT_S = 600  # likewise, of a further command
RESULTS = {}


def listens(port):
    """Whether a TCP or UDP socket is bound to it and open to all: TCP in the state LISTEN (0A), UDP in 07."""
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if int(words[1].rsplit(":", 1)[1], 16) == port and words[3] in ("0A", "07"):
                    return True
    return False


@contextlib.contextmanager
def server(port, *words):
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + LIMIT_S
        while port and not listens(port) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        try:
            yield process
        finally:
            process.kill()


def run(*words, limit=LIMIT_S):
    """Exit status and both outputs as one text; 124 where it took too long."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=limit, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        return 124, str(error.output)


def check(name, result):
    RESULTS[name] = {"status": result[0], "output": result[1]}


def check_rping(name):
    """Its server has no socket to look for, so that the client tries again until there is one."""
    with server(0, "rping", "-s", "-a", H1, "-C", "5", "-P"):
        end = time.monotonic() + LIMIT_S
        while True:
            result = run("rping", "-c", "-a", H1, "-I", H0, "-C", "5", "-v")
            if result[0] == 0 or time.monotonic() > end:
                break
            time.sleep(0.2)
    check(name, result)


def check_pingpong(name, kind, gid_index):
    words = [f"ibv_{kind}_pingpong", "-g", str(gid_index), "-n", "50"]
    with server(18515, *words, "-d", "rxe1"):
        check(name, run(*words, "-d", "rxe0", H1))


def check_write(name):
    """perftest reports nothing where it mistrusts the clock of a busy machine, so that it tries again then."""
    words = ["ib_write_bw", "-x", "1", "-n", "50", "-s", "65536"]
    for _ in range(5):
        with server(18515, *words, "-d", "rxe1"):
            result = run(*words, "-d", "rxe0", H1)
        if result[0] != 1 or "Correlation coefficient" not in result[1]:
            break
    check(name, result)


_ETHERNET_ALL = 3  # ETH_P_ALL
_FORCED_BUFFER = 33  # SO_RCVBUFFORCE
_HEADERS = 128


@contextlib.contextmanager
def captured(device, path):
    """Headers of the packets of a device, as a pcap file, once what is captured has ended."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETHERNET_ALL)) as reader:
        reader.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, 64 << 20)
        reader.bind((device, 0))
        yield
        reader.setblocking(False)
        with open(path, "wb") as file, contextlib.suppress(BlockingIOError):
            file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, _HEADERS, 1))
            for at in range(1 << 20):
                packet = bytearray(_HEADERS)
                length = reader.recv_into(packet, _HEADERS, socket.MSG_TRUNC)
                kept = packet[:min(length, _HEADERS)]
                file.write(struct.pack("<IIII", at // 1_000_000, at % 1_000_000, len(kept), length) + kept)


def check_capture(name, heddle):
    """Messages of a mebibyte, which heddle takes from their packets."""
    words = ["ib_write_bw", "-x", "1", "-n", "5", "-s", "1M", "-m", "4096"]
    path = os.path.join(os.environ["OUT"], "write.pcap")
    with captured("h1", path), server(18515, *words, "-d", "rxe1"):
        run(*words, "-d", "rxe0", H1)
    check(name, run(heddle, "size", "capture", path, "--json"))


def check_qperf(name):
    with server(19765, "qperf"):
        check(name, run("qperf", "-t", "1", "-cm", "1", H1, "rc_lat"))


def check_perf(name, heddle, *words):
    with server(18700, heddle, "perf", "--listen"):
        check(name, run(heddle, "perf", H1, *words, "--json"))


def hardware_count(name):
    """Of one RDMA device: how often soft-RoCE sent a packet, completed, repeated."""
    with open(f"/sys/class/infiniband/rxe0/ports/1/hw_counters/{name}", encoding="ascii") as file:
        return int(file.read())


def check_verbs(name, heddle, mode, *words, engines=1):
    """A program of heddle over verbs; its listener runs at the other end. The packets of rxe0 show the way taken."""
    settings = ("--set", "datapath=verbs", "--set", f"rdma_mode={mode}", "--set", f"engines={engines}")
    before = hardware_count("sent_pkts")
    with server(18700, heddle, words[0], "--listen", "--bind", "h1", *settings):
        check(name, run(heddle, words[0], H1, *words[1:], "--bind", "h0", *settings))
    check(f"{name} packets", (0, str(hardware_count("sent_pkts") - before)))


def check_xdp(name, heddle, mode, *words, engines=1, busy_poll_us=0):
    """heddle over AF_XDP between the two virtio NICs, v1 in the namespace `far`."""
    settings = ("--set", "datapath=xdp", "--set", f"xdp_mode={mode}", "--set", f"engines={engines}",
                "--set", f"xdp_busy_poll_us={busy_poll_us}")
    far = ("ip", "netns", "exec", "far")
    with server(0, *far, heddle, words[0], "--listen", "--bind", "v1", *settings) as listener:
        for _ in range(2 * LIMIT_S):  # it has a socket in the other namespace
            time.sleep(0.5)
            bound = run(*far, "ss", "-Hlun", "sport", "=", "18700")[1]
            if bound.strip() or listener.poll() is not None:
                break
        check(name, run("env", "HEDDLE_LOG=info", heddle, words[0], "10.10.0.2", *words[1:], "--bind", "v0",
                        *settings))


# Both ends are in one network namespace: a server of each end is bound to its address.
_REMOTE_SHELL = """#!/bin/sh
export HEDDLE_BIND=$1
shift
exec sh -c "$*"
"""
_PLAN = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 1
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "100Mbit/s"
queue = "1MB"
mtu = 9000
"""


@contextlib.contextmanager
def scraped(port, pages):
    """Adds the page of metrics of this port to `pages` every three seconds."""
    ended = threading.Event()

    def scrape():
        while not ended.wait(3):
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
                    pages.append(page.read().decode())

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def check_verify(heddle):
    """The stage pairs over a link of 100 Mb/s, whose RC is measured beside TCP, UDP and heddle.

    Returns the packets of its metrics, which are read over the loopback interface.
    """
    shell, plan = "/tmp/remote_shell", "/tmp/plan.toml"
    for path, text in ((shell, _REMOTE_SHELL), (plan, _PLAN)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(shell, 0o755)
    for device in ("h0", "h1"):
        run("tc", "qdisc", "add", "dev", device, "root", "netem", "rate", "100mbit", "limit", "2000")
    pages, before = [], count(_LOOPBACK)
    with scraped(18704, pages):
        check("verify", run(heddle, "verify", "--via", shell + " {host} {command}", "--hosts", "h0,h1", "--topology",
                            plan, "--quick", "--stage", "pairs", "--metrics", "18704", "--json", limit=VERIFY_LIMIT_S))
    counted = [page for page in pages if "rdma_port_events_total{" in page]
    check("verify metrics", (0, json.dumps(counted[:1] + counted[-1:])))
    for device in ("h0", "h1"):
        run("tc", "qdisc", "delete", "dev", device, "root")
    return count(_LOOPBACK) - before


def count(path):
    with open(f"/sys/class/net/{path}", encoding="ascii") as file:
        return int(file.read())


def check_with_loss(heddle):
    check("netem", run("tc", "qdisc", "show", "dev", "h0"))
    check_pingpong("rc lossy", "rc", 1)
    check_write("write lossy")
    check_perf("perf lossy", heddle, "bw", "--time", "1")
    for mode in ("rc", "ud"):
        check_verbs(f"verbs {mode} lossy", heddle, mode, "perf", "bw", "--time", "1", "--check", "--json")
    check("netem counts", run("tc", "-s", "qdisc", "show", "dev", "h0"))


def check_without_loss(heddle):
    """Returns the packets that it had to send over the loopback interface."""
    check_rping("rping")
    for kind in ("rc", "uc", "ud"):
        check_pingpong(kind, kind, 1)
    check_pingpong("rc ipv6", "rc", 2)
    check_write("write")
    check_capture("capture", heddle)
    check_qperf("qperf")
    check_perf("perf", heddle, "bw", "lat", "--time", "1")
    with server(18700, heddle, "ping", "--listen"):
        check("ping", run(heddle, "ping", "h1", "-C", "3"))
    loopback = check_verify(heddle)
    for mode in ("rc", "uc", "ud"):
        check_verbs(f"verbs {mode}", heddle, mode, "perf", "bw", "--time", "1", "--check", "--json")
        check_verbs(f"verbs {mode} ping", heddle, mode, "ping", "-C", "3", "-S", "256K")
        check_verbs(f"verbs {mode} engines", heddle, mode, "perf", "bw", "--time", "1", "--check", "--json",
                    engines=2)
    check_xdp("xdp copy", heddle, "copy", "perf", "bw", "lat", "--time", "1", "--check", "--json")
    check_xdp("xdp generic", heddle, "generic", "ping", "-C", "3", "-S", "256K")
    check_xdp("xdp busy polling", heddle, "copy", "perf", "bw", "--time", "1", "--check", "--json", busy_poll_us=20)
    check_xdp("xdp engines", heddle, "copy", "perf", "bw", "--time", "1", "--check", "--json", engines=2)
    return loopback


def main(heddle, transfers, programs):
    if transfers:
        check_with_loss(heddle)
    for device in ("h0", "h1"):
        run("tc", "qdisc", "delete", "dev", device, "root")
    expected = check_without_loss(heddle) if transfers else 0
    with server(18700, heddle, "ping", "--listen"):
        check("auto", run("env", "HEDDLE_LOG=info", heddle, "ping", H1, "-C", "3", "--set", "datapath=auto"))
    check_xdp("xdp zero copy", heddle, "zero_copy", "ping", "-C", "1")
    for bind in ("", H1, "h1", "fd09::1", "nothing0") if transfers else ("", "nothing0"):
        check(f"doctor {bind}", run(heddle, "doctor", "rdma", "--local", bind, "--json"))
    for program in programs:
        check(program, run("sh", "-c", program, limit=PROGRAM_LIMIT_S))
    check("packets", (0, json.dumps({"link": count("h0/statistics/tx_packets"),
                                     "loopback": count(_LOOPBACK) - expected})))
    with open(os.path.join(os.environ["OUT"], "results.json"), "w", encoding="utf-8") as file:
        json.dump(RESULTS, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "yes", sys.argv[3:])
