#!/usr/bin/env python3
"""bench/run: every scenario loads and explains itself, and a soak loses and changes nothing,
measures, and cleans up."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import lab_fabric
import program

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "run"


def bench(*words, timeout=240):
    settings = {**os.environ, "HEDDLE_BENCH_BIN": str(pathlib.Path(program.HEDDLE).parent)}
    return subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, env=settings,
                          timeout=timeout, check=False)


class Bench(unittest.TestCase):
    def test_every_scenario_explains_itself(self):
        listed = bench("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertEqual(names, sorted(path.parent.name for path in RUN.parent.glob("*/scenario.py")))
        for name in names:
            told = bench(name, "--help")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn("--json", told.stdout)

    def test_no_scenario_is_an_error(self):
        self.assertEqual(bench().returncode, 2)
        self.assertEqual(bench("nothing").returncode, 2)

    @unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
    def test_a_short_soak_changes_and_loses_nothing_measures_all_and_leaves_nothing(self):
        done = bench("soak", "--minutes", "0.3", "--every", "1", "--seed", "5", "--json")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        document = json.loads(done.stdout)
        self.assertGreater(document["done"]["messages"], 10)
        self.assertEqual(document["done"]["wrong_messages"], 0)
        # Where other programs take the cores, hosts that were paused stay so until their peers count them as dead.
        if max(document["latest_s"], document["longest_pause_s"]) <= 3:
            self.assertEqual((document["failures"], document["ended"]), ([], []), done.stdout)
        self.assertGreater(sum(document["faults"].values()), 1)  # a second apart where the machine has time for it
        # The attackers completed handshakes and saw the keyed server's traffic: they use this protocol version.
        self.assertGreater(document["hostile"]["stranger"]["accepted"], 0)
        self.assertGreater(document["hostile"]["eavesdropper"]["seen"], 0)
        for name in ("open server", "sealed server", "rank 0", "rank 3"):
            self.assertGreater(document["processes"][name]["resident_kib"]["first_quarter"], 1_000, name)
        self.assertGreater(document["processes"]["job"]["recording_kib"]["most"], 0)
        self.assertEqual(document["left_behind"], [])

    @unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
    def test_ctrl_c_ends_a_soak_with_nothing_left(self):
        settings = {**os.environ, "HEDDLE_BENCH_BIN": str(pathlib.Path(program.HEDDLE).parent)}
        soak = subprocess.Popen([sys.executable, str(RUN), "soak"], text=True, env=settings, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        name = f"bench-{soak.pid}"
        end = time.monotonic() + 2 * program.PATIENCE_S
        while len(self.servers_of(name)) < 2 and time.monotonic() < end and soak.poll() is None:
            time.sleep(0.2)
        self.assertEqual(len(self.servers_of(name)), 2)
        soak.send_signal(signal.SIGINT)
        complaint = soak.communicate(timeout=120)[1]
        self.assertEqual(soak.returncode, 130, complaint)
        self.assertEqual(self.servers_of(name), [])
        self.assertNotIn(name, subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout)

    @staticmethod
    def servers_of(name):
        """Processes that listen on the hosts of a lab."""
        found = []
        for host in ("h3", "h4"):
            pids = subprocess.run(["ip", "netns", "pids", f"heddle.{name}.{host}"], capture_output=True, text=True,
                                  check=False).stdout.split()
            found += [pid for pid in pids if b"--listen" in _command(pid)]
        return found


def _command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


if __name__ == "__main__":
    unittest.main()
