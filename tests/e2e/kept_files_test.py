#!/usr/bin/env python3
"""What earlier releases wrote, this program reads, and where it meets their programs it works or names the side to
upgrade. tests/kept has the files and the program of each release (scripts/keep_release). The program of the release
before, or with HEDDLE_BEFORE another one (scripts/neighbor_build), and this one run against each other."""

import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

import kept_files
import lab_fabric
import program
import tune_test
import versions_test

BEFORE = os.environ.get("HEDDLE_BEFORE", "")
RETRY, ACCEPT = 2, 3
MEETING = ("wire protocol", "rendezvous of ranks")  # formats of what ranks send one another


def tree_alone_is_cheap(line):
    """The line of an algorithm's costs with others: 1 ns a size for the tree, 10 ms for all others."""
    return line[1] + (" 1" if "tree" in line[1] else " 9999999") * (len(line[0].split()) - 2)


class Files(unittest.TestCase):
    def run_in(self, folder, *words, status=0, **options):
        done = program.run(*words, cwd=folder, **options)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done

    def test_this_version_has_its_files(self):
        version = program.run("--version").stdout.split()[1]
        self.assertIn(version, kept_files.versions(), "scripts/keep_release keeps them")
        kept = kept_files.facts(version)
        numbers = {name: versions_test.number_in(*place) for name, place in versions_test.FORMATS.items()}
        self.assertEqual((kept["formats"], kept["control messages"]),
                         (numbers, versions_test.number_in(*versions_test.CONTROL)),
                         "a format has changed: scripts/keep_release, before the release")

    def test_control_messages_change_with_the_rendezvous_alone(self):
        """Else ranks of two releases would meet, and lose their connections without a sentence."""
        control = versions_test.number_in(*versions_test.CONTROL)
        rendezvous = versions_test.number_in(*versions_test.FORMATS["rendezvous of ranks"])
        for version in kept_files.versions():
            kept = kept_files.facts(version)
            if kept["control messages"] != control:
                self.assertNotEqual(kept["formats"]["rendezvous of ranks"], rendezvous,
                                    f"control messages are not those of {version}: raise kRendezvousVersion")

    def test_readers_find_what_they_found_then(self):
        for version in kept_files.versions():
            with self.subTest(version), kept_files.opened(version) as folder:
                before = json.loads((folder / "said.json").read_text(encoding="utf-8"))
                now = kept_files.said(folder)
                for name, old in before.items():
                    self.assertEqual(kept_files.differences(old, now[name], name, values=name in kept_files.FACTS), [])

    def test_a_field_that_is_gone_or_of_another_type_is_found(self):
        old = {"a": 1, "b": [{"c": "x"}]}
        self.assertEqual(kept_files.differences(old, {"a": 1, "b": [{"c": "x", "d": 2}], "e": 0}), [])
        self.assertEqual(kept_files.differences(old, {"a": 1, "b": [{}]}), [".b[0].c is gone"])
        self.assertEqual(kept_files.differences(old, {"a": 2, "b": []}),
                         [".a is 2 instead of 1", ".b has 0 entries instead of 1"])
        self.assertEqual(kept_files.differences(old, {"a": 2, "b": []}, values=False), [])
        named = [{"name": "x", "c": 1}]
        self.assertEqual(kept_files.differences(named, [{"name": "w"}, *named], values=False), [])
        self.assertEqual(kept_files.differences(named, [{"name": "w", "c": 1}], values=False), [".x is gone"])
        self.assertEqual(len(kept_files.differences(old, {"a": "1", "b": []}, values=False)), 1)

    @unittest.skipIf(lab_fabric.missing(), lab_fabric.missing())
    def test_a_transport_follows_the_plan(self):
        for version in kept_files.versions():
            with self.subTest(version), kept_files.opened(version) as folder:
                hosts = ",".join(f"h{number}" for number in range(8))
                followed = f"plan {folder}/plan.json: followed to"
                for calls in ("40", "400", "4000"):  # a job may end before it knows the routes
                    done = self.run_in(folder, "lab", "run", "fabric.toml", "--", program.HEDDLE, "run", "--hosts",
                                       hosts, "--", program.HEDDLE, "bench", "allreduce", "-b", "256K", "-e", "256K",
                                       "-n", calls,
                                       settings={"HEDDLE_PLAN": str(folder / "plan.json"), "HEDDLE_LOG": "info"})
                    if followed in done.stderr:
                        break
                self.assertIn(followed, done.stderr)

    def test_a_report_is_compared_and_printed(self):
        for version in kept_files.versions():
            with self.subTest(version), kept_files.opened(version) as folder:
                self.assertIn(version, (folder / "report/report.json").read_text(encoding="utf-8"))
                self.run_in(folder, "verify", "diff", "report", "report")
                made = self.run_in(folder, "verify", "baseline", "report").stdout
                expected = (folder / "expected.toml").read_text(encoding="utf-8")
                self.assertEqual(*([line for line in text.splitlines() if not line.startswith("#")]
                                   for text in (made, expected)))
                self.run_in(folder, "verify", "report", "report", "--language", "ja")
                self.assertTrue(list((folder / "report").glob("*.html")))

    def test_a_policy_is_read(self):
        for version in kept_files.versions():
            with self.subTest(version), kept_files.opened(version) as folder:
                self.run_in(folder, "monitor", "recording", "--policy", "policy.toml")

    def test_a_tuning_table_decides(self):
        """A table is of a fabric, which is another one here: the costs that a release measured, below this fabric."""
        for version in kept_files.versions():
            with self.subTest(version), kept_files.opened(version) as folder:
                settings = {"HEDDLE_TUNING_FOLDER": str(folder / "tuning")}
                done = program.run("run", "-n", 2, "--", program.HEDDLE, "tune", "--largest", "1K", "--json",
                                   settings=settings)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                found = json.loads(done.stdout)
                head, costs = re.fullmatch(r"(heddle costs \d+\n)(?:.*\n)*?(made by tune\n(?:.*\n)*)hash \w+\n",
                                           (folder / "costs.table").read_text(encoding="ascii")).groups()
                costs = re.sub(r"(?m)^(allreduce \S+) .*", tree_alone_is_cheap, costs)
                (folder / "tuning").mkdir(exist_ok=True)
                text = head + found["fabric"] + costs
                table = folder / "tuning" / f"{tune_test.fnv(head + found['fabric']):016x}.table"
                table.write_text(f"{text}hash {tune_test.fnv(text):016x}\n", encoding="ascii")
                table.chmod(0o600)
                self.run_in(folder, "run", "-n", 2, "--", program.HEDDLE, "bench", "allreduce", "-b", "8", "-e", "1K",
                            "-n", "1", "-w", "0", "-J", "results", settings=settings)
                results = json.loads(next(folder.glob("results*")).read_text(encoding="utf-8"))
                self.assertEqual({each["algorithm"] for each in results["heddle"]["results"]}, {"tree"})


class Wire(unittest.TestCase):
    """Packets that a release sent."""

    def kept(self, version, name):
        return bytearray((kept_files.KEPT / version / name).read_bytes())

    def wire_of(self, version):
        return kept_files.facts(version)["formats"]["wire protocol"]

    def test_a_server_answers_the_client_of_a_release(self):
        for version in kept_files.versions():
            init, client = self.kept(version, "init.bin"), program.foreign_socket(self)
            self.assertEqual((init[0] >> 4, init[0] & 15), (self.wire_of(version), versions_test.INIT))
            connection, nonce = struct.unpack_from("<IQ", init, 4)
            struct.pack_into("<H", init, 24, client.getsockname()[1])
            with self.subTest(version), program.server("--bind", "127.0.0.1") as (_, port):
                client.sendto(init, ("127.0.0.1", port))
                answer = client.recv(2048)
                kind = answer[0] & 15
                if self.wire_of(version) == versions_test.WIRE:
                    self.assertIn(kind, (RETRY, ACCEPT))
                else:  # that program names the side to upgrade
                    self.assertEqual(kind, versions_test.VERSION)
                    self.assertTrue(answer[16] <= versions_test.WIRE <= answer[17])
                self.assertEqual(struct.unpack_from("<I", answer, 4), (connection,))

    def test_a_client_that_a_server_of_a_release_refuses_names_the_side(self):
        for version in kept_files.versions():
            answer, server = self.kept(version, "refusal.bin"), program.foreign_socket(self)
            self.assertEqual(answer[0] & 15, versions_test.VERSION)
            lowest, highest = answer[16:18]  # what its servers speak
            self.assertLessEqual(lowest, self.wire_of(version))
            self.assertEqual(highest, self.wire_of(version))
            if self.wire_of(version) == versions_test.WIRE:
                continue  # its servers refuse the next version alone
            with self.subTest(version), program.started("ping", "127.0.0.1", "-p", server.getsockname()[1]) as client:
                init, sender = server.recvfrom(2048)
                connection, nonce, _, reply_port = struct.unpack_from("<IQqH", init, 4)
                struct.pack_into("<IQ", answer, 4, connection, nonce)
                server.sendto(answer, (sender[0], reply_port))
                self.assertEqual(client.wait(), 2)
                self.assertIn("(upgrade heddle on the peer's machine)", client.errors[0])


class Neighbor(unittest.TestCase):
    """The whole program of the release before, or of a neighboring version: with equal formats they work; else the one
    sentence names the side to upgrade."""

    @classmethod
    def setUpClass(cls):
        """The formats of both: of a program in its own checkout those of its sources, of a release those kept."""
        cls.before = BEFORE or cls.kept_program()
        tree = pathlib.Path(cls.before).resolve().parent / "../../.."
        if (tree / "CMakeLists.txt").exists():
            cls.theirs = {name: versions_test.number_in(*place, tree) for name, place in versions_test.FORMATS.items()}
        else:
            printed = subprocess.run([cls.before, "--version"], capture_output=True, text=True, check=True).stdout
            cls.theirs = kept_files.facts(printed.split()[1])["formats"]
        cls.ours = {name: versions_test.number_in(*place) for name, place in versions_test.FORMATS.items()}

    @classmethod
    def kept_program(cls):
        held = tempfile.TemporaryDirectory(prefix="heddle-before-")
        cls.addClassCleanup(held.cleanup)
        version = kept_files.release_before(program.run("--version").stdout.split()[1])
        path, reason = kept_files.unpack_program(version, held.name)
        if reason:
            raise unittest.SkipTest(f"the program kept of {version} does not start on this machine: {reason}")
        return str(path)

    def numbers(self, name, *programs):
        return [self.theirs[name] if one == self.before else self.ours[name] for one in programs]

    def run_one(self, one, *words, folder=None, **settings):
        return subprocess.run([one, *words], env=program.environment(**settings), cwd=folder, capture_output=True,
                              text=True, timeout=program.PATIENCE_S, check=False)

    def test_each_is_the_server_of_the_other(self):
        for server, client in ((self.before, program.HEDDLE), (program.HEDDLE, self.before)):
            port = str(program.free_port())
            listening = subprocess.Popen([server, "ping", "--listen", "-p", port, "--bind", "127.0.0.1"], text=True,
                                         env=program.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with self.subTest(server=server), listening:
                self.addCleanup(listening.kill)
                self.assertIn("listens on", next(line for line in listening.stdout if line.startswith("heddle")))
                done = self.run_one(client, "ping", f"127.0.0.1:{port}", "-C", "3")
                listening.kill()
                peers, own = self.numbers("wire protocol", server, client)
                if peers == own:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("each verified", done.stdout)
                    continue
                self.assertEqual(done.returncode, 2, done.stderr)
                age, side = ("an older", "the peer's") if peers < own else ("a newer", "this")
                self.assertRegex(done.stderr, rf"^heddle: [^\n]* the peer speaks {age} version of the wire protocol "
                                              rf"\(upgrade heddle on {side} machine\)\n$")

    def test_ranks_of_both_are_one_job(self):
        for programs in ((self.before, program.HEDDLE), (program.HEDDLE, self.before)):
            settings = {"HEDDLE_SIZE": "2", "HEDDLE_STORE": f"udp://127.0.0.1:{program.free_port()}",
                        "HEDDLE_RENDEZVOUS_TIMEOUT_MS": "20000"}
            ranks = [subprocess.Popen([one, "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", "2"],
                                      env=program.environment(**settings, HEDDLE_RANK=str(rank)), text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for rank, one in enumerate(programs)]
            for rank in ranks:
                self.addCleanup(rank.kill)
            printed = [rank.communicate(timeout=program.PATIENCE_S) for rank in ranks]
            with self.subTest(programs=programs):
                errors = [said for _, said in printed]
                if all(len(set(self.numbers(name, *programs))) == 1 for name in MEETING):
                    self.assertEqual([rank.returncode for rank in ranks], [0, 0], errors)
                    self.assertIn("2 ranks", printed[0][0])
                    continue
                self.assertEqual([rank.returncode for rank in ranks], [2, 2], errors)
                # Rank 1 reaches rank 0, which has the store.
                first, second = self.numbers("wire protocol", *programs)
                words = ("peer's machine", "this machine")
                if first == second:
                    first, second = self.numbers("rendezvous of ranks", *programs)
                    words = ("the host of the store", "the host of this process")
                [line] = errors[1].splitlines()
                self.assertRegex(line, rf"^heddle: .*\(upgrade heddle on (the )?{words[0 if first < second else 1]}\)$")

    def test_each_is_the_agent_of_the_other(self):
        for caller, agent in ((self.before, program.HEDDLE), (program.HEDDLE, self.before)):
            with self.subTest(caller=caller), tempfile.TemporaryDirectory(prefix="heddle-neighbor-") as folder:
                shell = pathlib.Path(folder) / "rsh"
                shell.write_text(f"#!/bin/sh\nexec '{pathlib.Path(agent).resolve()}' agent\n")
                shell.chmod(0o755)
                done = self.run_one(caller, "run", "--via", f"{shell} {{host}} {{command}}", "--hosts", "127.0.0.1",
                                    "-n", "1", "--", "echo", "ran")
                calls, called = self.numbers("orders to agents", caller, agent)
                if calls == called:
                    self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
                    continue
                self.assertEqual(done.returncode, 125, done.stderr)
                side = "calls" if calls < called else "was called"
                self.assertIn(f"(upgrade heddle on the machine that {side})", done.stderr)

    def test_files_of_both(self):
        """Each reads the other's recordings and plans, or says which heddle to upgrade, or what to make anew."""
        for writer, reader in ((self.before, program.HEDDLE), (program.HEDDLE, self.before)):
            with self.subTest(writer=writer), tempfile.TemporaryDirectory(prefix="heddle-neighbor-") as folder:
                files = ("--topology", "fabric.toml", "--workload", "job.toml")
                written = self.numbers("topology and workload files", writer)[0]
                for name, text in (("fabric.toml", versions_test.FABRIC), ("job.toml", versions_test.WORKLOAD)):
                    (pathlib.Path(folder) / name).write_text(text.format(written), encoding="utf-8")
                for words in (("plan", *files, "-o", "plan.json"),
                              ("record", "-o", "job", "--", writer, "run", "-n", "2", "--", writer, "ranks")):
                    done = self.run_one(writer, *words, folder=folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.expect_read("recordings", writer, reader, self.run_one(reader, "record", "info", "job",
                                                                            folder=folder))
                self.expect_read("topology and workload files", writer, reader,
                                 self.run_one(reader, "sim", *files, folder=folder))
                own = self.numbers("topology and workload files", reader)[0]
                for name, text in (("fabric.toml", versions_test.FABRIC), ("job.toml", versions_test.WORKLOAD)):
                    (pathlib.Path(folder) / name).write_text(text.format(own), encoding="utf-8")
                self.expect_read("plans", writer, reader,
                                 self.run_one(reader, "sim", *files, "--plan", "plan.json", folder=folder))

    def expect_read(self, name, writer, reader, done):
        written, known = self.numbers(name, writer, reader)
        if written == known:
            self.assertEqual(done.returncode, 0, (name, done.stderr))
            return
        todo = "upgrade this heddle" if written > known else r"[^()]*\banew\b[^()]*"
        self.assertEqual(done.returncode, 2, (name, done.stderr))
        self.assertRegex(done.stderr.splitlines()[0],
                         rf"^heddle: (warning: )?cannot .*\b{written}\b.*\b{known}\b.* \({todo}\)$")


if __name__ == "__main__":
    unittest.main()
