#!/usr/bin/env python3
"""heddle matrix of a real run: exact bytes, by what they were for, and pages that work in a browser."""

import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import program

RANKS = 4
BYTES = 1 << 20
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def ring(count, width, rank):
    """What a rank sends in an all-reduce along a ring: all segments but one, twice."""
    segments = [count // RANKS + (i < count % RANKS) for i in range(RANKS)]
    return width * (2 * count - segments[(rank + 1) % RANKS] - segments[(rank + 2) % RANKS])


class Matrix(unittest.TestCase):
    WAY = "auto"

    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.parent.cleanup)
        cls.folder = os.path.join(cls.parent.name, "job")
        done = program.run("record", "-o", cls.folder, "--", program.HEDDLE, "run", "-n", RANKS, "--",
                           program.HEDDLE, "bench", "allreduce", "-b", BYTES, "-e", BYTES, "-n", 3, "-w", 1,
                           settings={"HEDDLE_ALGORITHM": "allreduce:ring", "HEDDLE_SHARED_MEMORY": cls.WAY})
        assert done.returncode == 0, done.stderr

    def matrix(self, *more):
        done = program.run("matrix", self.folder, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def document(self, *more):
        return json.loads(self.matrix("--format", "json", *more))

    def part(self, name, *more):
        return next(part for part in self.document(*more)["parts"] if part["name"] == name)

    def calls(self):
        """(elements, bytes of one) of every all-reduce that rank 0 called."""
        for name in program.recordings(self.folder):
            path = os.path.join(self.folder, name)
            dumped = program.run("record", "dump", path)
            events = [json.loads(line) for line in dumped.stdout.splitlines()]
            made = [event for event in events if event["event"] == "communicator_made"]
            if made and made[0]["rank"] == 0:
                return [(event["count"], {"float": 4, "double": 8}[event["type"]]) for event in events
                        if event["event"] == "call_made" and event["operation"] == "allreduce"]
        self.fail("rank 0 is not among the recordings")

    def test_what_was_dropped_is_told_wherever_the_matrix_goes(self):
        self.assertEqual(self.document()["dropped_events"], 0)
        self.assertNotIn("events were dropped", self.matrix("--format", "html"))
        small = os.path.join(self.parent.name, "small")
        done = program.run("record", "--max-size", "1M", "-o", small, "--", program.HEDDLE, "run", "-n", 2, "--",
                           program.HEDDLE, "bench", "allreduce", "-b", 8192, "-e", 8192, "-n", 8000, "-w", 1, "-c", 0,
                           timeout=3 * program.PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(program.run("matrix", small, "--format", "json").stdout)
        self.assertGreater(document["dropped_events"], 1000)
        page = program.run("matrix", small, "--format", "html").stdout
        self.assertIn(f"; {document['dropped_events']} older events were dropped and are missing here", page)

    def test_a_pinned_ring_delivers_what_the_textbook_says(self):
        calls = self.calls()
        large = [count for count, width in calls if count * width == BYTES]
        self.assertEqual(large, [BYTES // 4] * 2 * (1 + 3 + 1))  # warm-up, timed and checked, twice
        self.assertEqual(ring(BYTES // 4, 4, 1), 2 * BYTES * (RANKS - 1) // RANKS)
        part = self.part("allreduce", "--by", "op")
        for rank in range(RANKS):
            row = [0] * RANKS
            row[(rank + 1) % RANKS] = sum(ring(count, width, rank) for count, width in calls)
            self.assertEqual(part["measured"][rank], row)
        self.assertEqual(part["measured"], part["expected"])

    def nccl_log(self, name, *lines):
        path = os.path.join(self.parent.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"node0:40:41 [0] NCCL INFO {line}\n" for line in lines)
        return path

    def test_traffic_is_expected_along_nccls_rings(self):
        order = [0, 2, 1, 3]
        log = self.nccl_log("nccl.log", f"comm 0x1 rank 0 nRanks {RANKS} nNodes 2",
                            "Channel 00/01 : " + " ".join(map(str, order)))
        part = self.part("allreduce", "--by", "op", "--nccl-graph", log)
        for place, rank in enumerate(order):
            row = [0] * RANKS
            row[order[(place + 1) % RANKS]] = sum(ring(count, width, place) for count, width in self.calls())
            self.assertEqual(part["expected"][rank], row)
        self.assertEqual(part["measured"], self.part("allreduce", "--by", "op")["measured"])
        folder = os.path.join(self.parent.name, "logs")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(log, folder)
        self.assertEqual(self.part("allreduce", "--by", "op", "--nccl-graph", folder), part)
        done = program.run("summary", self.folder, "--json", "--nccl-graph", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def test_nccls_rings_that_cannot_be_used_are_named(self):
        head = f"comm 0x1 rank 0 nRanks {RANKS} nNodes 2"
        twice = self.nccl_log("twice.log", head, "Channel 00/01 : 0 1 1 3")
        for command in ("matrix", "summary"):
            for words, sign in ((("--nccl-graph", twice), "twice.log:2: rank 1 is in the ring twice"),
                                (("--nccl-graph", "/no/such/log"), "cannot read /no/such/log")):
                done = program.run(command, self.folder, *words)
                self.assertEqual(done.returncode, 2, words)
                self.assertIn(sign, done.stderr)
        other = self.nccl_log("other.log", "Channel 00/01 : 0 2 1")
        done = program.run("matrix", self.folder, "--nccl-graph", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no communicator of the recording has 3 ranks", done.stderr)

    def test_the_parts_are_the_whole(self):
        for by in ("op", "communicator", "algorithm", "phase"):
            document = self.document("--by", by)
            own = "heddle's own"
            total = sum(part["totals"]["measured"] for part in document["parts"] if part["name"] != own)
            self.assertEqual(total, document["totals"]["measured"], by)
        self.assertEqual(self.document("--by", "phase")["parts"][0]["name"], "allreduce")
        self.assertGreater(self.part("ring", "--by", "algorithm")["totals"]["measured"], 0)

    def test_all_messages_are_somewhere(self):
        received = 0
        for kind in ("message_completed", "shared_message_completed"):
            dumped = program.run("record", "dump", self.folder, "--kind", kind)
            received += sum(event["bytes"] for event in map(json.loads, dumped.stdout.splitlines())
                            if event["direction"] == "received")
        totals = self.document()["totals"]
        self.assertEqual(totals["measured"] + totals["heddles_own"], received)

    def test_rows_and_units(self):
        hosts = self.document("--by", "host")
        self.assertEqual(hosts["ranks"], 1)
        self.assertEqual(hosts["measured"][0][0], self.document()["totals"]["measured"])
        self.assertIn("127.0.0.1", [party["name"] for party in self.document("--by", "nic")["parties"]])
        count = self.document("--unit", "count")
        self.assertEqual(count["unit"], "count")
        self.assertNotIn("expected", count)
        self.assertGreater(self.document("--unit", "time")["measured"][0][1], 0)
        rows = list(csv.DictReader(io.StringIO(self.matrix("--by", "op", "--format", "csv"))))
        self.assertEqual(sum(int(row["bytes"]) for row in rows if row["op"] == "allreduce"),
                         self.part("allreduce", "--by", "op")["totals"]["measured"])
        self.assertIn("expected", self.matrix("--expected"))

    def test_wrong_options_are_refused(self):
        for by in ("speed", "host,nic", "op,phase"):
            done = program.run("matrix", self.folder, "--by", by)
            self.assertEqual(done.returncode, 2, by)
            self.assertIn("--by", done.stderr)
        done = program.run("matrix", self.folder, "-o", "/no/such/folder/file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write", done.stderr)

    def test_shared_memory_is_a_path(self):
        parts = {part["name"]: part["totals"]["measured"] for part in self.document("--by", "path")["parts"]}
        rendezvous = self.part("messages", "--by", "op")["totals"]["measured"]  # over the network
        self.assertEqual(parts["shared memory"], self.document()["totals"]["measured"] - rendezvous)
        self.assertIn("through shared memory", self.matrix())

    def test_a_drawing(self):
        root = xml.etree.ElementTree.fromstring(self.matrix("--format", "svg"))
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(any(title.startswith("0 to 1: ") for title in titles), titles)

    def test_a_page_holds_all_that_it_needs(self):
        page = os.path.join(self.parent.name, "page.html")
        self.assertEqual(self.matrix("--format", "html", "-o", page), "")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("http", text)
        self.assertNotIn("@DATA@", text)

    @unittest.skipIf(BROWSER is None, "no chromium on this machine")
    def test_the_page_works_in_a_browser(self):
        page = os.path.join(self.parent.name, "shown.html")
        self.matrix("--format", "html", "-o", page)
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.parent.name}/browser", "--dump-dom", f"file://{page}"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertIn('data-ready="yes"', done.stdout, done.stderr[-2000:])
        self.assertIn("<td>allreduce</td>", done.stdout)


class MatrixOfANetwork(Matrix):
    WAY = "never"

    def test_shared_memory_is_a_path(self):
        self.assertNotIn("shared memory", self.matrix())
        self.assertNotIn("shared memory", self.matrix("--by", "path"))

    def test_what_left_on_each_path(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "job")
            done = program.run("record", "-o", folder, "--level", "segments", "--", program.HEDDLE, "run", "-n", 2,
                               "--", program.HEDDLE, "bench", "allreduce", "-b", "256K", "-e", "256K", "-n", 1,
                               settings={"HEDDLE_SHARED_MEMORY": self.WAY})
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = program.run("matrix", folder, "--by", "path", "--format", "json")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            document = json.loads(shown.stdout)
            dumped = program.run("record", "dump", folder, "--kind", "burst_sent")
            left = sum(json.loads(line)["bytes"] for line in dumped.stdout.splitlines())
            self.assertEqual(document["totals"]["sent"], left)
            self.assertEqual(sum(part["totals"].get("sent", 0) for part in document["parts"]), left)
            self.assertEqual(document["counted"], "wire")
            self.assertEqual(sum(part["totals"]["measured"] for part in document["parts"]), document["totals"]["wire"])

    def test_what_was_on_the_wire(self):
        document = self.document()
        self.assertEqual(document["counted"], "delivered")
        self.assertGreater(document["totals"]["wire"], document["totals"]["sent"])
        self.assertGreaterEqual(document["totals"]["sent"],
                                document["totals"]["measured"] + document["totals"]["heddles_own"])
        dumped = program.run("record", "dump", self.folder, "--kind", "wire_bin")
        bins = [json.loads(line) for line in dumped.stdout.splitlines()]
        wire = sum(event["bytes"] for event in bins if event["direction"] == "sent")
        self.assertEqual(document["totals"]["wire"] + document["unplaced_wire"], wire)
        for by in ("nic", "path"):
            self.assertEqual(self.document("--by", by)["totals"]["measured"], document["totals"]["wire"], by)
        self.assertIn("on the wire\n", self.matrix("--wire"))

    def test_what_was_on_the_wire_for_each_operation(self):
        for by in ("op", "algorithm", "phase", "communicator"):
            document = self.document("--by", by)
            of_parts = [part["totals"].get("wire", 0) for part in document["parts"]]
            self.assertEqual(sum(of_parts), document["totals"]["wire"], by)
        part = self.part("allreduce", "--by", "op")
        # Payload and headers; what was sent in a bin with nothing else, which is most of it.
        self.assertGreater(part["totals"]["wire"], part["totals"]["measured"] / 2)
        self.assertLess(part["totals"]["wire"], document["totals"]["wire"])
        text = self.matrix("--by", "op", "--wire")
        self.assertIn("several at once, or none", text)
        self.assertNotIn("several at once, or none", self.matrix("--by", "op"))

    def test_where_messages_were_not_recorded(self):
        for level in ("counters", "bins"):
            folder = os.path.join(self.parent.name, level)
            done = program.run("record", "-o", folder, "--level", level, "--", program.HEDDLE, "run", "-n", 2, "--",
                               program.HEDDLE, "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", 3,
                               settings={"HEDDLE_SHARED_MEMORY": self.WAY})
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(program.run("matrix", folder, "--format", "json").stdout)
            self.assertEqual(document["counted"], "wire")
            self.assertGreater(document["measured"][0][1], 3 << 20)
            done = program.run("matrix", folder, "--by", "op")
            if level == "bins":  # which calls there were is known, and so what was on the wire for them
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("allreduce\n", done.stdout)
            else:
                self.assertEqual(done.returncode, 2)
                self.assertIn("--level messages", done.stderr)
            summary = json.loads(program.run("summary", folder, "--json").stdout)
            self.assertFalse(summary["messages_recorded"])
            self.assertEqual(summary["losses_recorded"], level == "bins")
            self.assertEqual(summary["processes"][0]["segments_lost"] is None, level == "counters")
            told = "Loss recovery: not measured" in program.run("summary", folder).stdout
            self.assertEqual(told, level == "counters")
            self.assertEqual(summary["wire_bytes"], document["totals"]["wire"])
            self.assertFalse(any("formula" in finding["what"] for finding in summary["findings"]), summary["findings"])
            self.assertEqual(any(process["calls"] > 0 for process in summary["processes"]), level == "bins")

    def fabric(self, *more):
        """The page's fabric, and its text: four hosts of which one has this host's name."""
        path = os.path.join(self.parent.name, "fabric.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('version = 1\n' + "".join(f'[[host]]\nname = "{name}"\n' for name in (os.uname().nodename, "b"))
                       + '[[switch]]\nname = "leaf"\n'
                       + "".join(f'[[link]]\nends = ["{name}", "leaf"]\n' for name in (os.uname().nodename, "b")))
        page = os.path.join(self.parent.name, "fabric.html")
        self.assertEqual(self.matrix("--format", "html", "-o", page, "--topology", path, *more), "")
        return program.page_data(page)["fabric"], page

    def test_the_fabric_beside_it(self):
        fabric, page = self.fabric()
        self.assertEqual([node["tier"] for node in fabric["nodes"]], [0, 0, 1])
        own, other = fabric["links"]
        self.assertEqual((own["there"], own["back"]), (0, 0))  # all ranks ran on one host
        self.assertEqual((other["there"], other["back"]), (None, None))
        counters = os.path.join(self.parent.name, "counters.json")
        with open(counters, "w", encoding="utf-8") as file:
            json.dump({"links": [{"forward": {"from": "b", "to": "leaf", "bytes": 12345},
                                  "backward": {"from": "leaf", "to": "b", "bytes": 77}}]}, file)
        fabric, page = self.fabric("--counters", counters)
        self.assertEqual((fabric["links"][1]["there"], fabric["links"][1]["back"]), (12345, 77))
        self.expect_all_measured(page)

    def test_the_fabric_with_a_simulations_counters(self):
        self.fabric()
        workload, counters = (os.path.join(self.parent.name, name) for name in ("one.toml", "simulated.json"))
        with open(workload, "w", encoding="utf-8") as file:
            file.write(f'version = 1\n[[flow]]\nfrom = "{os.uname().nodename}"\nto = "b"\nbytes = "1MB"\n')
        done = program.run("sim", "--topology", os.path.join(self.parent.name, "fabric.toml"), "--workload", workload,
                           "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(counters, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        told = json.loads(done.stdout)["links"]["counters"]
        self.assertEqual(len(told), 4)
        fabric, page = self.fabric("--counters", counters)
        for link, (there, back) in zip(fabric["links"], ((1_000_000, 0), (0, 1_000_000))):
            self.assertGreater(link["there"], there)
            self.assertGreater(link["back"], back)
            self.assertLess(link["there"] + link["back"], 1_200_000)
        self.expect_all_measured(page)

    def expect_all_measured(self, page):
        if BROWSER is None:
            return
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.parent.name}/browser2", "--dump-dom", f"file://{page}"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertIn('data-ready="yes"', done.stdout, done.stderr[-2000:])
        self.assertIn("All links were measured", done.stdout)

    def test_a_fabric_that_cannot_be_shown(self):
        topology = os.path.join(self.parent.name, "sound.toml")
        with open(topology, "w", encoding="utf-8") as file:
            file.write('version = 1\n[[host]]\nname = "a"\n[[host]]\nname = "b"\n[[link]]\nends = ["a", "b"]\n')
        empty = os.path.join(self.parent.name, "empty.json")
        for name, words in ((empty, ""), (empty + ".2", '{"links": [{"forward": {"from": "a"}}]}'),
                            (empty + ".3", '{"links": {"counters": [{"from": "a", "to": "b", "bytes": "many"}]}}')):
            with open(name, "w", encoding="utf-8") as file:
                file.write(words)
        page = ("--format", "html", "--topology", topology, "--counters")
        for words, sign in ((("--topology", "x.toml"), "only a page"), (("--counters", "x"), "--topology"),
                            ((*page, empty), "it is no JSON"),
                            ((*page, empty + ".2"), "do not have from, to and bytes"),
                            ((*page, empty + ".3"), "do not have from, to and bytes"),
                            (("--format", "html", "--topology", "/no/such/file"), "/no/such/file"),
                            (("--format", "html", "--topology", topology, "--counters", "/no/such/counters"),
                             "cannot read /no/such/counters: No such file"),
                            (("--format", "html", "--topology", topology, "--counters", self.parent.name),
                             "Is a directory"),
                            (("--format", "html", "--topology", topology, "--counters", "/proc/self/mem"),
                             "Input/output error")):
            done = program.run("matrix", self.folder, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(sign, done.stderr)


if __name__ == "__main__":
    unittest.main()
