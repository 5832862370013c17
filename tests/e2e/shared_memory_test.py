#!/usr/bin/env python3
"""Ranks of one host share memory: what that leaves behind, what is recorded of it, and when it is not so."""

import json
import os
import resource
import signal
import tempfile
import time
import unittest

import program

CALLS = ["bench", "allreduce", "-b", "8", "-e", "1M", "-f", "16", "-n", "3"]


def doors():
    """By inode: the sockets at which processes of this host take memory."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return {line.split()[6] for line in file if "@heddle-" in line}


def below(process):
    """All processes that one started, and those that they did."""
    with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
        children = file.read().split()
    return children + [each for child in children for each in below(child)]


def descriptors(process):
    """What the processes below it have open."""
    return [os.readlink(entry.path) for each in below(process) for entry in os.scandir(f"/proc/{each}/fd")]


class SharedMemory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-shared-memory-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def settings(self, way):
        return {"HEDDLE_BIND": "127.0.0.1", "HEDDLE_SHARED_MEMORY": way}

    def recorded(self, way):
        """The matrix and the kinds of events of one run."""
        place = os.path.join(self.folder, way)
        done = program.run("record", "-o", place, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                           *CALLS, settings={**self.settings(way), "HEDDLE_ALGORITHM": "allreduce:ring"})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program.run("matrix", place, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = {}
        recordings = json.loads(program.run("record", "info", place, "--json").stdout)["recordings"]
        for recording in recordings:
            for kind, count in recording["events_by_kind"].items():
                kinds[kind] = kinds.get(kind, 0) + count
        return json.loads(done.stdout), kinds

    def test_the_matrix_counts_what_goes_through_memory(self):
        shared, kinds = self.recorded("auto")
        network, network_kinds = self.recorded("never")
        self.assertGreater(kinds.get("shared_message_completed", 0), 100)
        self.assertEqual(network_kinds.get("shared_message_completed", 0), 0)
        self.assertEqual(shared["unplaced"], 0)
        for i in range(3):
            for j in range(3):
                # The calls are the same; control messages between ranks, and signatures, differ.
                a, b = shared["measured"][i][j], network["measured"][i][j]
                self.assertLess(abs(a - b), 0.1 * b + 200, (shared["measured"], network["measured"]))

    def test_nothing_stays_behind_when_all_are_killed(self):
        with program.started("run", "-n", "3", "--", program.HEDDLE, "bench", "-b", "1M", "-e", "4000M", "-i", "1M",
                             "-n", "1", settings=self.settings("auto")) as running:
            running.wait_for(r"^ +1048576 ")
            opened = descriptors(running.process.pid)
            mine = {inode for inode in doors() if f"socket:[{inode}]" in opened}
            self.assertEqual(len(mine), 2, "ranks 1 and 2 have a door each")
            # The memory itself has no name and, mapped, needs no descriptor.
            self.assertEqual([name for name in opened if "memfd" in name or "/dev/shm" in name], [])
            running.signal(signal.SIGKILL)
            running.wait()
        give_up = time.monotonic() + program.PATIENCE_S
        while mine & doors():
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.01)

    def test_where_the_offer_cannot_be_met_the_network_is_used_and_it_says_why(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        done = program.run("run", "-n", "2", "--", program.HEDDLE, *CALLS, settings=self.settings("auto"),
                           preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("are on one host and use the network between them", done.stderr)
        self.assertIn("ulimit -f", done.stderr)
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)

    def test_a_rank_that_wants_the_network_gets_it(self):
        script = f'[ "$HEDDLE_RANK" = 1 ] && export HEDDLE_SHARED_MEMORY=never; exec {program.HEDDLE} {" ".join(CALLS)}'
        done = program.run("run", "-n", "3", "--", "sh", "-c", script, settings=self.settings("auto"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("use the network", done.stderr, "somebody chose it")
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)

    def test_hosts_with_names_of_their_own_use_the_network(self):
        script = f'hostname "h$HEDDLE_RANK" && exec {program.HEDDLE} {" ".join(CALLS)}'
        place = os.path.join(self.folder, "names")
        done = program.run("record", "-o", place, "--", program.HEDDLE, "run", "-n", 2, "--", "unshare", "--uts",
                           "sh", "-c", script, settings=self.settings("auto"))
        if "unshare" in done.stderr:
            self.skipTest("needs the right to make namespaces: " + done.stderr.splitlines()[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("use the network", done.stderr)
        recordings = json.loads(program.run("record", "info", place, "--json").stdout)["recordings"]
        for recording in recordings:
            self.assertNotIn("shared_message_completed", recording["events_by_kind"])


if __name__ == "__main__":
    unittest.main()
