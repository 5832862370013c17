"""Runs in the virtual machine of verbs_faults_test.py: breaks what carries a transfer over RDMA verbs, and writes what
followed as results.json below $OUT.

Usage: verbs_faults_inside.py HEDDLE SCENARIO[:MODE]... [late:PROGRAM:FILTER]
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import queue_pairs

LISTENER = "10.9.0.2"
LIMIT_S = 180
DEAD_AFTER_MS = 2000  # of a peer, where a scenario waits for its death
RESULTS = {}


class Heddle:
    """A running command over verbs, at one end of the link."""

    program = ""
    begun = []

    def __init__(self, interface, mode, *words, dead_after_ms=10_000):
        self.output, self.errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        settings = ["--bind", interface, "--set", f"peer_dead_after_ms={dead_after_ms}"]
        settings += ["--set", "datapath=udp"] if mode == "udp" else ["--set", "datapath=verbs",
                                                                     "--set", f"rdma_mode={mode}"]
        self.process = subprocess.Popen([self.program, *words, *settings], stdout=self.output, stderr=self.errors,
                                        stdin=subprocess.DEVNULL)
        self.begun.append(self)
        self.ended_at = None
        self.at_rest = 0  # of what the kernel holds for it
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        self.process.wait()
        self.ended_at = time.monotonic()

    @property
    def pid(self):
        return self.process.pid

    def ended(self):
        return self.process.poll() is not None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self, limit_s=LIMIT_S):
        """Waits for its end: exit status (124: it went on for too long), outputs."""
        try:
            status = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            status = 124
        until(lambda: self.ended_at is not None)
        return {"status": status, "output": _text(self.output), "errors": _text(self.errors)}

    def stop(self):
        if not self.ended():
            self.process.terminate()
        return self.end()


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def until(reached, limit_s=LIMIT_S):
    """Whether it came true in time."""
    end = time.monotonic() + limit_s
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def listener(mode, interface="h1"):
    served = Heddle(interface, mode, "perf", "--listen")
    # Read by position: the program writes at the file's own.
    until(lambda: served.ended() or b"listens on" in os.pread(served.output.fileno(), 1 << 16, 0))
    served.at_rest = len(held_by(served))
    return served


def transfer(mode, seconds, host=LISTENER, interface="h0", **options):
    return Heddle(interface, mode, "perf", host, "bw", "--time", f"{seconds}s", "--check", "--json", **options)


def packets(mode, device="rxe0"):
    """Sent so far: by soft-RoCE, or where datagrams carry all, by the interface."""
    path = ("/sys/class/net/h0/statistics/tx_packets" if mode == "udp" else
            f"/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts")
    with open(path, encoding="ascii") as file:
        return int(file.read())


def flows(mode, client, count=300):
    """Whether the queue pairs carry this many packets more before the client's end."""
    before = packets(mode)
    return until(lambda: packets(mode) - before > count or client.ended()) and packets(mode) - before > count


def break_pairs(process, state, every):
    """How many; without `every`, one that is there, since each may end by itself."""
    with queue_pairs.QueuePairs(process.pid) as pairs:
        broken = 0
        for handle in pairs.of_state(state):
            broken += pairs.break_off(handle)
            if broken > 0 and not every:
                break
        return broken


def held():
    """Queue pairs and memory regions of all programs."""
    return [each["pid"] for kind in ("qp", "mr") for each in queue_pairs.held(kind)]


def held_by(process):
    return [pid for pid in held() if pid == process.pid]


def released(process):
    """Whether it comes to hold no more than before its first peer: UD has its queue pairs from the start."""
    return until(lambda: len(held_by(process)) <= process.at_rest)


def pairs(mode):
    """Queue pairs fail in mid-transfer: one, then all, at the sending and at the receiving end."""
    served = listener(mode)
    client = transfer(mode, 18)  # longer than the steps take where others use the host's processors
    found = {"began": flows(mode, client), "steps": []}
    for every in (False, True):
        for process, state in ((client, queue_pairs.SENDS), (served, queue_pairs.RECEIVES)):
            broken = 0 if client.ended() else break_pairs(process, state, every)
            found["steps"].append({"broken": broken, "flows": flows(mode, client)})
    found["client"] = client.end()
    found["released"] = released(served)
    found["served"] = served.stop()
    return found


def again(mode):
    """All queue pairs of one end fail, then all of the other, every 1.5 s, while a transfer goes on."""
    served = listener(mode)
    client = transfer(mode, 15)
    found = {"began": flows(mode, client), "broken": 0}
    ends = [(client, queue_pairs.SENDS), (served, queue_pairs.RECEIVES)]
    for turn in range(6):
        time.sleep(1.5)
        found["broken"] += 0 if client.ended() else break_pairs(*ends[turn % 2], True)
    found["client"] = client.end()
    found["released"] = released(served)
    found["served"] = served.stop()
    return found


def killed(mode):
    """kill -9: of the sending end, then of the receiving one; each time the next peer comes at once."""
    served = listener(mode)
    client = transfer(mode, 60)
    found = {"began": flows(mode, client)}
    client.kill()
    found["next client"] = transfer(mode, 1).end()
    found["released"] = released(served)
    client = transfer(mode, 60, dead_after_ms=DEAD_AFTER_MS)
    found["began again"] = flows(mode, client)
    served.kill()
    begun = time.monotonic()
    served = listener(mode)
    found["client of the new listener"] = transfer(mode, 1).end()
    found["client"] = client.end()
    found["error after s"] = client.ended_at - begun
    found["released at last"] = until(lambda: len(held()) <= served.at_rest)
    found["served"] = served.stop()
    return found


def link(up):
    """The link of both ends. What the kernel forgets of an interface that is down is restored."""
    subprocess.run(["ip", "link", "set", "h1", "up" if up else "down"], check=True)
    if not up:
        return
    for words in ("-6 address add fd09::2/64 dev h1 nodad", "route replace 10.9.0.1 dev h1 src 10.9.0.2 table 101",
                  "-6 route replace fd09::1 dev h1 src fd09::2 table 101"):
        subprocess.run(["ip", *words.split()], check=True)


def down(mode):
    """The link goes down: for a second, then for longer than a peer may be silent."""
    served = listener(mode)
    # Where other programs use the host's processors, the second may become several.
    client = transfer(mode, 12, dead_after_ms=30_000)
    found = {"began": flows(mode, client)}
    link(False)
    time.sleep(1)
    link(True)
    found["goes on"] = flows(mode, client)
    found["client"] = client.end()
    client = transfer(mode, 60, dead_after_ms=DEAD_AFTER_MS)
    found["began again"] = flows(mode, client)
    link(False)
    begun = time.monotonic()
    found["cut off"] = client.end()
    found["error after s"] = client.ended_at - begun
    link(True)
    found["next client"] = transfer(mode, 1).end()
    found["released"] = released(served)
    found["served"] = served.stop()
    return found


def removed(mode):
    """The listener's RDMA device is removed: soft-RoCE's removal waits for the end of programs that have opened it."""
    served = listener(mode)
    client = transfer(mode, 8)
    found = {"began": flows(mode, client)}
    with subprocess.Popen(["rdma", "link", "delete", "rxe1"]) as removal:
        found["client"] = client.end()
        found["served"] = served.stop()
        found["removal"] = removal.wait(LIMIT_S)
    subprocess.run(["rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "h1"], check=True)
    served = listener(mode)
    found["next client"] = transfer(mode, 1).end()
    found["next served"] = served.stop()
    return found


def mtu(mode):
    """The receiver's link carries 1,500 bytes, the sender's 9,000: packets of queue pairs must fit both."""
    subprocess.run(["ip", "link", "set", "h1", "mtu", "1500"], check=True)
    served = listener(mode)
    client = transfer(mode, 3)
    found = {"flows": flows(mode, client), "client": client.end(), "served": served.stop()}
    subprocess.run(["ip", "link", "set", "h1", "mtu", "9000"], check=True)
    return found


def short(mode):
    """A link of 1,500 bytes, whose RDMA packets carry 1,024: too few for datagrams."""
    subprocess.run(["ip", "link", "set", "h1", "mtu", "1500"], check=True)
    found = {"listener": Heddle("h1", mode, "perf", "--listen").end()}
    subprocess.run(["ip", "link", "set", "h1", "mtu", "9000"], check=True)
    return found


def mixed(mode):
    """The peer has RC or no verbs at all."""
    found = {}
    for peer in ("rc", "udp"):
        served = listener(peer)
        found[f"client of {peer}"] = transfer(mode, 1).end()
        found[f"{peer} served"] = served.stop()
    return found


def several(mode):
    """Three clients of one listener; one is killed."""
    served = listener(mode)
    clients = [transfer(mode, seconds) for seconds in (60, 15, 15)]
    found = {"began": until(lambda: all(held_by(each) for each in clients))}
    clients[0].kill()
    found["all ran"] = not any(each.ended() for each in clients[1:])
    found["others"] = [each.end() for each in clients[1:]]
    found["released"] = released(served)
    found["served"] = served.stop()
    return found


def ipv6():
    """Without an IPv4 address: only GIDs of IPv6 are left."""
    for device in ("h0", "h1"):
        subprocess.run(["ip", "-4", "address", "flush", "dev", device], check=True)
    found = {}
    for mode in ("rc", "uc", "ud"):
        served = listener(mode)
        before = packets(mode)
        found[f"{mode} perf"] = transfer(mode, 1, host="[fd09::2]").end()
        found[f"{mode} ping"] = Heddle("h0", mode, "ping", "[fd09::2]", "-C", "3", "-S", "256K").end()
        found[f"{mode} packets"] = packets(mode) - before
        found[f"{mode} served"] = served.stop()
    for bind in ("", "h1"):
        done = subprocess.run([Heddle.program, "doctor", "rdma", "--local", bind, "--json"], capture_output=True,
                              text=True, check=False)
        found[f"doctor {bind}"] = {"status": done.returncode, "output": done.stdout, "errors": done.stderr}
    return found


def late(program, which):
    """The program's tests of writes that are on the link when their buffer is given back."""
    done = subprocess.run([program, f"--gtest_filter=*LateWrites{which}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=4 * LIMIT_S, check=False)
    return {"status": done.returncode, "output": done.stdout}


SCENARIOS = {"pairs": pairs, "again": again, "killed": killed, "down": down, "removed": removed, "mtu": mtu,
             "short": short, "mixed": mixed, "several": several, "ipv6": ipv6, "late": late}


def main(heddle, names):
    Heddle.program = heddle
    # The emulated processor may take seconds for the queue pairs of both ends.
    os.environ |= {"HEDDLE_LOG": "info", "HEDDLE_HANDSHAKE_TIMEOUT_MS": "20000"}
    for name in names:
        scenario, *mode = name.split(":")
        begun = time.monotonic()
        RESULTS[name] = SCENARIOS[scenario](*mode)
        RESULTS[name]["took s"] = time.monotonic() - begun
        for each in Heddle.begun:
            if not each.ended():
                each.kill()
        with open(os.path.join(os.environ["OUT"], "results.json"), "w", encoding="utf-8") as file:
            json.dump(RESULTS, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
