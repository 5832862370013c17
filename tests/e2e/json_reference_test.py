#!/usr/bin/env python3
"""docs/reference/json.md lists every field of the JSON documents that the program prints."""

import json
import pathlib
import re
import tempfile
import unittest

import capture_file
import program
import stragglers_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


def listed(section):
    """Expressions for the fields in the tables below a heading; `.*` stands for anything, and for an empty list."""
    begin = PAGE.index(f"## {section}\n")
    end = PAGE.find("\n## ", begin + 1)
    rows = [line.split("|")[1] for line in PAGE[begin:end].splitlines() if line.startswith("| `")]
    names = re.findall(r"`([^`]+)`", " ".join(rows))
    return [re.compile(re.escape(name).replace(r"\.\*", r"(\..*)?")) for name in names]


def fields(value, path=""):
    """The paths of all values of a document, as the page writes them."""
    if isinstance(value, dict):
        return {found for key, each in value.items() for found in fields(each, f"{path}.{key}" if path else key)}
    if isinstance(value, list):
        return {found for each in value for found in fields(each, path + "[]")} or {path + "[]"}
    return {path}


def commands_with_json():
    """The commands that have --json, by the reference that is made from the program."""
    sections = re.split(r"\n#+ (?=heddle)", (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8"))
    return [section.splitlines()[0] for section in sections if "`--json`" in section]


class Reference(unittest.TestCase):
    def test_every_command_with_json_is_on_the_page(self):
        sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
        owners = {}  # what a section says before its table
        for head, text in sections.items():
            for name in head.split(","):
                name = name.strip().split(" --")[0]
                owners[name] = owners.get(name, "") + text.split("\n| ")[0]
        commands = commands_with_json()
        self.assertGreater(len(commands), 40)
        for command in commands:
            parents = [text for name, text in owners.items() if command.startswith(name + " ")]
            named = re.compile(f"`({command}|{command.split()[-1]})[` ]")
            self.assertTrue(command in owners or named.search(PAGE.split("\n## ")[0])
                            or any(named.search(text) for text in parents), f"json.md has no section on {command}")

    def expect_listed(self, section, document):
        known = listed(section)
        missing = sorted(field for field in fields(document)
                         if not any(expression.fullmatch(field) for expression in known))
        self.assertEqual(missing, [], f"docs/reference/json.md, '{section}', does not list them")

    def json_of(self, *words, **settings):
        done = program.run(*words, settings={**LOOPBACK, **settings})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_settings_and_keys(self):
        self.expect_listed("heddle config show", self.json_of("config", "show", "--json"))
        with tempfile.TemporaryDirectory() as folder:
            self.expect_listed("heddle key", self.json_of("key", "generate", f"{folder}/keys", "--json"))
            self.expect_listed("heddle key", self.json_of("key", "show", f"{folder}/keys", "--json"))

    def test_nccl(self):
        for command in ("env", "doctor"):  # both end with 1 where the plugin is not installed
            done = program.run("nccl", command, "--json", settings=LOOPBACK)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.expect_listed(f"heddle nccl {command}", json.loads(done.stdout))

    def test_measurements(self):
        port = str(program.free_port())
        with program.started("perf", "--listen", "-p", port, settings=LOOPBACK) as server:
            server.wait_for("listens")
            peer = f"127.0.0.1:{port}"
            self.expect_listed("heddle perf", self.json_of("perf", peer, "bw", "lat", "-t", "0.2", "--json"))
            self.expect_listed("heddle paths", self.json_of("paths", peer, "--json"))
        port = str(program.free_port())
        with program.started("ping", "--listen", "-p", port, settings=LOOPBACK) as server:
            server.wait_for("listens")
            self.expect_listed("heddle ping", self.json_of("ping", f"127.0.0.1:{port}", "-C", "2", "--json"))

    def test_relay(self):
        far, near = str(program.free_port()), str(program.free_port())
        with program.started("perf", "--listen", "--relayed", "-p", far, settings=LOOPBACK) as server, \
                program.started("relay", "--to", f"127.0.0.1:{far}", "-p", near, "--without-keys", "--json",
                                settings=LOOPBACK) as relay:
            server.wait_for("listens")
            relay.wait_for_port(int(near))
            words = ("perf", f"127.0.0.1:{far}", "bw", "-t", "0.2", "--relay", f"127.0.0.1:{near}", "--json")
            done = program.run(*words, settings=LOOPBACK)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.expect_listed("heddle perf", json.loads(done.stdout))
            program.run("perf", "127.0.0.1:1", "bw", "--relay", f"127.0.0.1:{near}", settings=LOOPBACK)
            relay.signal(program.INTERRUPT)
            self.assertEqual(relay.wait(), 130, relay.said())
            document = json.loads("\n".join(relay.lines))
        self.assertEqual((document["sessions"], document["refused"]), (1, 1))
        self.expect_listed("heddle relay", document)

    def test_simulation(self):
        examples = ROOT / "examples"
        self.expect_listed("heddle sim, heddle workload run",
                           self.json_of("sim", "--topology", examples / "fabric.toml", "--workload",
                                        examples / "training.toml", "--series", "auto", "--delivered", "--json"))

    def test_sweep(self):
        with tempfile.TemporaryDirectory() as folder:
            document = self.json_of("sim", "sweep", "--topology", ROOT / "examples/fabric.toml", "--workload",
                                    ROOT / "examples/training.toml", "--vary", "seed=1..2", "-o", f"{folder}/sweep",
                                    "--json")
            self.expect_listed("heddle sim sweep", document)
            self.assertEqual(len(document["runs"]), 2)
            for run in document["runs"]:
                own = {"key", "vary", "made_by", "exit_status"}
                self.assertLessEqual(own, set(run))
                self.expect_listed("heddle sim, heddle workload run",
                                   {name: value for name, value in run.items() if name not in own})

    def test_tune(self):
        with tempfile.TemporaryDirectory() as folder:
            done = program.run("run", "-n", "2", "--", program.HEDDLE, "tune", "--largest", "64K", "--within", "100ms",
                               "--json", settings={**LOOPBACK, "HEDDLE_TUNING_FOLDER": folder})
            self.assertIn(done.returncode, (0, 1), done.stderr)  # 1 where the ranks waited for cores
            document = json.loads(done.stdout)
            self.assertTrue(document["costs"])
            self.expect_listed("heddle tune", document)

    def test_advice(self):
        ring = '[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "1MB"\ncount = 6\n'
        with tempfile.TemporaryDirectory() as folder:
            workload, recording = pathlib.Path(folder) / "ring.toml", pathlib.Path(folder) / "job"
            workload.write_text("version = 1\n" + ring, encoding="utf-8")
            fabric = ROOT / "examples/fabric.toml"
            self.json_of("sim", "--topology", fabric, "--workload", workload, "--trace", recording, "--initial-window",
                         "64KB", "--burst", "64KB", "--json")
            self.expect_listed("heddle plan advise --json",
                               self.json_of("plan", "advise", recording, "--topology", fabric, "--seeds", "2",
                                            "--bound", "100", "--json"))
            self.expect_listed("heddle size report",
                               self.json_of("size", "report", recording, "--topology", fabric, "--seeds", "2",
                                            "--bound", "100", "--json"))

    def test_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            workload = pathlib.Path(folder) / "permutation.toml"
            workload.write_text('version = 1\n[[job]]\nkind = "permutation"\nbytes = "1MB"\n', encoding="utf-8")
            self.expect_listed("heddle plan --json", self.json_of("plan", "--topology", ROOT / "examples/fabric.toml",
                                                                 "--workload", workload, "--json"))

    def test_a_kept_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            matrix, plan = pathlib.Path(folder) / "m.csv", pathlib.Path(folder) / "plan.json"
            matrix.write_text("from,to,bytes\nh0,h4,1000\n", encoding="utf-8")
            done = program.run("plan", "keep", "--topology", ROOT / "examples/fabric.toml", "--matrix", matrix,
                               "-o", plan, "--json", input="down leaf0:spine0\nup nothing\n")
            documents = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(len(documents), 3, done.stderr)
            for document in documents:
                self.expect_listed("heddle plan keep --json", document)
            self.expect_listed("heddle plan --json", json.loads(plan.read_text(encoding="utf-8")))

    def test_leases(self):
        with tempfile.TemporaryDirectory() as folder:
            matrix, counters = pathlib.Path(folder) / "m.csv", pathlib.Path(folder) / "counters.csv"
            matrix.write_text("from,to,bytes\nh0,h4,1000\n", encoding="utf-8")
            counters.write_text("time,link,bytes\n1,leaf0:spine0,1\n", encoding="utf-8")
            words = ("plan", "lease", "--leases", folder, "--job", "a", "--topology", ROOT / "examples/fabric.toml",
                     "--matrix", matrix, "--")
            self.expect_listed("heddle plan leases --json",
                               self.json_of(*words, program.HEDDLE, "plan", "leases", "--leases", folder, "--json"))
            self.expect_listed("heddle plan --json",
                               self.json_of("plan", "--topology", ROOT / "examples/fabric.toml", "--matrix", matrix,
                                            "--background", counters, "--json"))

    def test_sizes(self):
        job = ("--model", "llama-3-8b", "--gpus", "16", "--zero", "3")
        for words in (("--list",), ("--validate",), ("cluster", *job), ("traffic", *job), ("distance", "--km", "100"),
                      ("overlap", "--parameters", "1000", "--backward", "1s"), ("headroom",), ("messages",)):
            self.expect_listed("heddle size", self.json_of("size", *words, "--json"))

    def test_stragglers(self):
        with tempfile.TemporaryDirectory() as folder:
            timeline = pathlib.Path(folder) / "timeline.json"
            timeline.write_text(json.dumps(stragglers_test.timeline()), encoding="utf-8")
            done = program.run("stragglers", timeline, "--json")  # 1: it has a slow worker
            self.expect_listed("heddle stragglers", json.loads(done.stdout))

    def test_captures(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = pathlib.Path(folder) / "test.pcap"
            capture.write_bytes(capture_file.capture(capture_file.write_frames(10_000)))
            self.expect_listed("heddle size capture", self.json_of("size", "capture", capture, "--json"))

    def test_recordings(self):
        with tempfile.TemporaryDirectory() as folder:
            job = pathlib.Path(folder) / "job"
            done = program.run("record", "-o", job, "--", program.HEDDLE, "run", "-n", "2", "--", program.HEDDLE,
                               "bench", "allreduce", "-b", "64K", "-e", "64K", settings=LOOPBACK)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.expect_listed("heddle summary", self.json_of("summary", job, "--json"))
            diagnosed = program.run("diagnose", job, "--json")  # 2 where the job is too short to judge
            self.expect_listed("heddle diagnose", json.loads(diagnosed.stdout))
            section = "heddle record info, heddle record gather, heddle record import"
            self.expect_listed(section, self.json_of("record", "info", job, "--json"))
            self.expect_listed(section, self.json_of("record", "gather", "-o", f"{folder}/all", job, "--json"))
            self.expect_listed("heddle matrix --format json",
                               self.json_of("matrix", job, "--by", "op", "--wire", "--format", "json"))

    def test_nccl_drive(self):
        net = pathlib.Path(program.HEDDLE).resolve().parents[1] / "lib/libnccl-net-loopback12.so"
        self.expect_listed("heddle nccl drive", self.json_of("nccl", "drive", net, "--iterations", "1", "--json"))

    def test_doctor_rdma(self):  # ends with 1 where there are no RDMA devices
        self.expect_listed("heddle doctor rdma", json.loads(program.run("doctor", "rdma", "--json").stdout))

    def test_ranks(self):
        done = program.run("run", "-n", "2", "--", program.HEDDLE, "ranks", "--json", settings=LOOPBACK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_listed("heddle ranks", json.loads(done.stdout))
        done = program.run("run", "-n", "1", "--elastic", "1:2", "--", program.HEDDLE, "resize", "--json",
                           settings=LOOPBACK)
        self.assertEqual(len(json.loads(done.stdout)["runs"]), 1, done.stderr)
        self.expect_listed("heddle resize", json.loads(done.stdout))


if __name__ == "__main__":
    unittest.main()
