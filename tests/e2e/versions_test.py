#!/usr/bin/env python3
"""Where two versions meet: each format that leaves a process works with its own version, and a neighboring one gets
one error that names what is of another version and what to do. docs/reference/compatibility.md has the same numbers."""

import contextlib
import json
import os
import pathlib
import re
import struct
import tempfile
import threading
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
INIT, VERSION, INIT_BYTES = 1, 4, 512

# Each format: the file that has its number, the constant, and its row in the table of compatibility.
FORMATS = {
    "wire protocol": ("transport/wire/packet.h", "kWireVersion"),
    "recordings": ("events/recording/layout.h", "kVersion"),
    "topology and workload files": ("topology/file.h", "kTopologyFileVersion"),
    "plans": ("apps/cli/plan/plan_file.h", "kPlanFileVersion"),
    "rendezvous of ranks": ("collectives/rendezvous/messages.h", "kRendezvousVersion"),
    "NCCL plugin's protocol": ("plugins/nccl/net/handle.h", "kVersion"),
    "orders to agents": ("launch/remote/agent_lines.cc", "kVersion"),
}
# Likewise, of programs that meet and leave no file: each names the side to upgrade in its room's unit tests.
MEETINGS = {
    "copies": ("copying/params.h", "kVersion"),
    "relayed sessions": ("relaying/params.h", "kVersion"),
    "tests of ping and perf": ("measure/control.h", "kControlVersion"),
    "documents of probes": ("probing/documents.cc", "kVersion"),
}
# What ranks send one another once they have met. A connection with another number ends without a sentence, so the
# number of the rendezvous changes with it: kept_files_test compares both with those of each release.
CONTROL = ("collectives/execution/control.cc", "kVersion")


def number_in(path, name, tree=ROOT):
    text = (tree / path).read_text(encoding="utf-8")
    return int(re.search(rf"constexpr \w+ {name} = (\d+);", text).group(1))


WIRE, RECORDING, TOPOLOGY, PLAN, *_ = (number_in(*place) for place in FORMATS.values())
FABRIC = """version = {}
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
"""
UPGRADE = "upgrade this heddle"  # what reads a file of a newer version
WORKLOAD = 'version = {}\n[[job]]\nkind = "permutation"\nbytes = "100KB"\n'


class Documented(unittest.TestCase):
    def test_the_table_of_compatibility_has_the_numbers_of_the_code(self):
        page = (ROOT / "docs/reference/compatibility.md").read_text(encoding="utf-8")
        for row, place in {**FORMATS, **MEETINGS}.items():
            self.assertRegex(page, rf"(?m)^\| {row} \| {number_in(*place)} \|")
        # The one number that users see of what ranks send one another: CONTROL changes with it.
        self.assertRegex(page, rf"(?m)^\| collectives \| {number_in(*FORMATS['rendezvous of ranks'])} \|")
        self.assertEqual(number_in("topology/workload_file.h", "kWorkloadFileVersion"), TOPOLOGY)
        self.assertEqual(number_in("engine/route_plan.cc", "kVersion"), PLAN)


class Files(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-versions-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def run_here(self, *words, **options):
        return program.run(*words, cwd=self.folder, **options)

    def expect_one_error(self, done, *words, status=2):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot .* \(.*\)$")
        for word in words:
            self.assertIn(word, done.stderr)

    def simulate(self, topology=TOPOLOGY, workload=TOPOLOGY, *more):
        self.write("fabric.toml", FABRIC.format(topology))
        self.write("job.toml", WORKLOAD.format(workload))
        return self.run_here("sim", "--topology", "fabric.toml", "--workload", "job.toml", *more)

    def test_topologies_and_workloads(self):
        self.assertEqual(self.simulate().returncode, 0)
        for other in (TOPOLOGY - 1, TOPOLOGY + 1):
            todo = f"write it anew for version {TOPOLOGY}, or use the older heddle"
            words = (f"the version of its schema is {other}, this heddle reads version {TOPOLOGY} "
                     f"({UPGRADE if other > TOPOLOGY else todo})",)
            self.expect_one_error(self.simulate(topology=other), "fabric.toml:1", *words)
            self.expect_one_error(self.simulate(workload=other), "job.toml:1", *words)

    def test_plans(self):
        self.simulate()
        files = ("--topology", "fabric.toml", "--workload", "job.toml")
        self.assertEqual(self.run_here("plan", *files, "-o", "plan.json").returncode, 0)
        self.assertEqual(self.run_here("sim", *files, "--plan", "plan.json").returncode, 0)
        plan = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        for other in (PLAN - 1, PLAN + 1):
            self.write("other.json", json.dumps({**plan, "version": other}))
            done = self.run_here("sim", *files, "--plan", "other.json")
            todo = "make it anew with this 'heddle plan', or use the older heddle"
            self.expect_one_error(done, f"its version is {other}, and this heddle reads version {PLAN} "
                                        f"({UPGRADE if other > PLAN else todo})")
            # A transport works without its plan, and logs why.
            with program.server("--bind", "127.0.0.1") as (_, port):
                done = self.run_here("ping", f"127.0.0.1:{port}", "-C", 1,
                                     settings={"HEDDLE_PLAN": str(self.folder / "other.json")})
            self.assertEqual(done.returncode, 0, done.stderr)
            todo = UPGRADE if other > PLAN else "make it anew with this 'heddle plan'"
            self.assertRegex(done.stderr, rf"^\S+ warn cannot follow the plan .*: its version is not {PLAN} "
                                          rf"\({todo}\); paths are chosen adaptively\n$")

    def recorded(self):
        done = self.run_here("record", "-o", "job", "--", program.HEDDLE, "run", "-n", 2, "--", program.HEDDLE, "ranks")
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted((self.folder / "job").glob("*.heddle"))

    def test_recordings(self):
        files = self.recorded()
        self.assertEqual(self.run_here("record", "info", "job").returncode, 0)
        for other in (RECORDING - 1, RECORDING + 1):
            for path in files:
                with open(path, "r+b") as file:
                    file.seek(8)  # behind the magic number
                    file.write(struct.pack("<I", other))
            done = self.run_here("record", "info", "job")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            for line in done.stderr.splitlines()[:len(files)]:
                todo = UPGRADE if other > RECORDING else "record anew, or use the older heddle"
                self.assertRegex(line, rf"cannot read the recording .*: it is of version {other}, this heddle reads "
                                       rf"{RECORDING} \({todo}\)$")

    def test_a_recording_with_an_event_that_is_not_known_is_read(self):
        """A newer heddle records more: its file says what, and readers leave it out."""
        path = self.recorded()[0]
        data = bytearray(path.read_bytes())
        header = struct.unpack_from("<8sIIIIII", data)
        schema = data[64:64 + header[5]]
        known = re.search(rb"message_completed", schema)
        self.assertIsNotNone(known)
        data[64 + known.start():64 + known.end()] = b"message_of_tomorrow"[:known.end() - known.start()]
        path.write_bytes(data)
        done = self.run_here("record", "info", "job")
        self.assertEqual(done.returncode, 0, done.stderr)


class ForeignPeer(threading.Thread):
    """Between a rank and its store: each sees the other speak another version of the wire protocol."""

    def __init__(self, test, store_port, version):
        super().__init__(daemon=True)
        self.store, self.version = ("127.0.0.1", store_port), version
        self.socket = program.foreign_socket(test)
        self.port = self.socket.getsockname()[1]
        self.rank = None

    def run(self):
        with contextlib.suppress(OSError):  # closed at the end of the test
            while True:
                packet, sender = self.socket.recvfrom(2048)
                packet = bytearray(packet)
                kind = packet[0] & 15
                packet[0] = self.version << 4 | kind
                if kind == INIT:
                    self.rank = (sender[0], struct.unpack_from("<H", packet, 24)[0])
                    struct.pack_into("<H", packet, 24, self.port)
                elif kind == VERSION:
                    packet[16] = packet[17] = self.version
                self.socket.sendto(packet, self.store if kind == INIT else self.rank)


class Job(unittest.TestCase):
    def test_ranks_of_two_versions_say_which_host_to_upgrade(self):
        """The rank named the version and no host, rank 0 only that a rank had not come."""
        for other in (WIRE - 1, WIRE + 1):
            port = program.free_port()
            foreign = ForeignPeer(self, port, other)
            foreign.start()
            settings = {"HEDDLE_SIZE": "2", "HEDDLE_RENDEZVOUS_TIMEOUT_MS": "10000"}
            ranks = []
            for rank, at in enumerate((port, foreign.port)):
                mine = {**settings, "HEDDLE_RANK": str(rank), "HEDDLE_STORE": f"udp://127.0.0.1:{at}"}
                ranks.append(program.Process("ranks", settings=mine))
                self.addCleanup(ranks[-1].close)
            self.assertEqual([rank.wait() for rank in ranks], [2, 2])
            [store], [line] = ranks[0].errors, ranks[1].errors
            self.assertRegex(line, rf"^heddle: cannot find the other ranks: the store at 127.0.0.1:{foreign.port}: "
                             + (r"the peer speaks an older version of the wire protocol \(upgrade heddle on the peer's "
                                r"machine\)$" if other < WIRE else
                                r"the peer speaks a newer version of the wire protocol \(upgrade heddle on this "
                                r"machine\)$"))
            self.assertRegex(store, r"^heddle: cannot find all ranks: rank 1 of 2 did not come to \S+ within "
                                    r"\d[\d.]* s; \d+ packets? of another version of the wire protocol came \(install "
                                    r"the same version of heddle on all hosts; else see why they do not start, or "
                                    r"cannot ")


class Wire(unittest.TestCase):
    """Neighbors by hand: bad_input_test has versions far off, and packets that are none."""

    def test_a_client_names_an_older_and_a_newer_server(self):
        for other in (WIRE - 1, WIRE + 1):
            foreign = program.foreign_socket(self)
            with program.started("ping", "127.0.0.1", "-p", foreign.getsockname()[1]) as client:
                init, sender = foreign.recvfrom(2048)
                connection, nonce, _, reply_port = struct.unpack_from("<IQqH", init, 4)
                answer = struct.pack("<BBHIQBB", other << 4 | VERSION, 0, 0, connection, nonce, other, other)
                foreign.sendto(answer, (sender[0], reply_port))
                self.assertEqual(client.wait(), 2)
                [line] = client.errors
                self.assertIn("the peer speaks an older version of the wire protocol "
                              "(upgrade heddle on the peer's machine)" if other < WIRE else
                              "the peer speaks a newer version of the wire protocol (upgrade heddle on this machine)",
                              line)

    def test_a_server_answers_an_older_and_a_newer_client_with_its_versions(self):
        with program.server("--bind", "127.0.0.1") as (_, port):
            for other in (WIRE - 1, WIRE + 1):
                foreign = program.foreign_socket(self)
                init = struct.pack("<BBHIQqH", other << 4 | INIT, 0, 0, 77, 0x1122334455667788, 0,
                                   foreign.getsockname()[1])
                foreign.sendto(init.ljust(INIT_BYTES, b"\0"), ("127.0.0.1", port))
                answer = foreign.recv(2048)
                self.assertEqual(answer[0] & 0x0f, VERSION)
                self.assertEqual(struct.unpack_from("<IQ", answer, 4), (77, 0x1122334455667788))
                self.assertTrue(answer[16] <= WIRE <= answer[17])
            # And it serves its own version still.
            done = program.run("ping", f"127.0.0.1:{port}", "-C", 1)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
