#!/usr/bin/env python3
"""The life of labs: what they leave behind (nothing), two at once, without root, and after a crash.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program
from lab_fabric import Lab, heddle

SCRIPT = lab_fabric.LEAF_SPINE + """
[[fault]]
at = "0s"
link = ["leaf0", "spine1"]
kind = "blackhole"
[[fault]]
at = "50ms"
link = ["leaf0", "spine2"]
kind = "down"
"""


class Lives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.file = self.written(lab_fabric.LEAF_SPINE)
        self.name = f"life-{os.getpid()}"
        self.addCleanup(lambda: heddle("lab", "down", self.name, check=False))

    def written(self, text, name="small.toml"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def assert_gone(self):
        self.assertFalse(os.path.exists(f"/run/heddle/labs/{self.name}"))
        left = [each for each in os.listdir("/run/netns") if each.startswith(f"heddle.{self.name}.")]
        self.assertEqual(left, [])

    def run_lab(self, *words, file=None):
        return heddle("lab", "run", file or self.file, "--lab", self.name, "--", *words, check=False)

    def started(self, *words):
        """A run whose command has started, which prints a line."""
        running = program.Process("lab", "run", self.file, "--lab", self.name, "--", *words)
        self.addCleanup(running.close)
        running.wait_for("begun")
        return running

    def sleeping_child(self, running):
        """The command's process, once it has become `sleep`."""
        end = time.monotonic() + program.PATIENCE_S
        while not (found := subprocess.run(["pgrep", "-P", str(running.process.pid), "-x", "sleep"], text=True,
                                           capture_output=True, check=False).stdout.split()):
            self.assertLess(time.monotonic(), end, running.said())
            time.sleep(0.02)
        return int(found[0])

    def listed(self):
        labs = json.loads(heddle("lab", "list", "--json").stdout)["labs"]
        return {lab["name"]: lab for lab in labs}

    def test_run_leaves_nothing_behind(self):
        script = f"{program.HEDDLE} lab exec h0 -- sh -c 'sleep 1000 & echo in; exit 3'; exit 4"
        done = self.run_lab("sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout.strip()), (4, "in"), done.stderr)
        self.assert_gone()

    def test_a_chroot_whose_root_is_no_mount_has_labs(self):
        root = os.path.join(self.folder, "mounts", "root")
        os.mkdir(os.path.dirname(root))
        steps = [f"mount -t tmpfs none '{os.path.dirname(root)}'", f"mkdir '{root}'"]
        for name in sorted(os.listdir("/")):
            if os.path.islink(f"/{name}"):
                steps.append(f"cp -P '/{name}' '{root}'")
            elif os.path.isdir(f"/{name}"):
                steps.append(f"mkdir '{root}/{name}' && mount --rbind '/{name}' '{root}/{name}'")
        steps.append(f"exec chroot '{root}' '{program.HEDDLE}' lab run '{self.file}' --lab '{self.name}' -- echo in")
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join(steps)],
                              env=program.environment(), text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr), (0, "in", ""))
        self.assert_gone()

    def test_signals_end_the_command_and_the_lab(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number=number):
                running = self.started("sh", "-c", "echo begun; exec sleep 1000")
                if number == signal.SIGINT:  # the terminal sends it to both
                    os.kill(self.sleeping_child(running), number)
                running.process.send_signal(number)
                self.assertEqual(running.wait(), 128 + number, running.said())
                self.assert_gone()

    def test_command_that_does_not_exist(self):
        done = self.run_lab("no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot run no-such-program: No such file", done.stderr)
        self.assert_gone()

    def test_killed_run_is_left_over_until_it_is_taken_down(self):
        for again in (False, True):
            with self.subTest(again=again):
                running = self.started("sh", "-c", "echo begun; exec sleep 1000")
                self.assertEqual(self.listed()[self.name]["status"], "running")
                running.process.kill()
                running.wait()
                self.assertEqual(self.listed()[self.name]["status"], "left over")
                if again:
                    self.assertEqual(self.run_lab("true").returncode, 0)
                else:
                    heddle("lab", "down", self.name)
                self.assert_gone()

    def test_runs_with_the_same_left_over_name_do_not_race(self):
        """Several find a left-over lab of their name at once: one gets it, whole, the others are refused."""
        script = (f"echo begun; read go; test $(ls /run/netns | grep -c '^heddle.{self.name}.') -eq 10 && "
                  f"grep -q '\"owner\": '$PPID, /run/heddle/labs/{self.name}/lab.json")
        words = [program.HEDDLE, "lab", "run", self.file, "--lab", self.name, "--", "sh", "-c", script]
        for _ in range(3):
            first = self.started("sh", "-c", "echo begun; exec sleep 1000")
            first.process.kill()
            first.wait()
            runs = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True) for _ in range(3)]
            began = [run.stdout.readline() for run in runs]  # nothing of one that was refused
            ended = [run.communicate("go\n" if line else None)[1] for run, line in zip(runs, began)]
            self.assertEqual(sorted(run.returncode for run in runs), [0, 125, 125], ended)
            self.assertEqual(sum("there is one of that name" in errors for errors in ended), 2, ended)
            self.assert_gone()

    def test_name_in_use_is_refused(self):
        heddle("lab", "up", self.file, "--lab", self.name)
        done = self.run_lab("true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("there is one of that name", done.stderr)
        self.assertEqual(self.listed()[self.name]["status"], "up")

    def test_two_labs_at_once(self):
        one = Lab(self.folder, lab_fabric.LEAF_SPINE, "one")
        self.addCleanup(one.close)
        two = Lab(self.folder, lab_fabric.LEAF_SPINE, "two")
        self.addCleanup(two.close)
        counts = two.sent_during("leaf0", lambda: one.send("h0", "10.0.3.1", 4, 500))
        self.assertLess(sum(counts.values()), 100)  # but for what IPv6 sends by itself
        one.close()
        two.send("h0", "10.0.3.1", 4, 50)

    def test_list_tells_hosts_with_their_addresses(self):
        heddle("lab", "up", self.file, "--lab", self.name)
        hosts = {host["name"]: host["nics"] for host in self.listed()[self.name]["hosts"]}
        self.assertEqual(hosts["h3"], [{"device": "nic0", "ipv4": "10.0.3.1", "ipv6": "fd00:0:3::1",
                                        "leads_to": "leaf1"}])

    def test_receive_processing_is_steered_unless_reordering_is_wanted(self):
        show = ("sh", "-c", f"{program.HEDDLE} lab exec leaf0 -- cat /sys/class/net/spine1/queues/rx-0/rps_cpus")
        self.assertNotEqual(int(self.run_lab(*show).stdout.replace(",", ""), 16), 0)
        done = heddle("lab", "run", "--allow-reorder", self.file, "--", *show)
        self.assertEqual(int(done.stdout.replace(",", ""), 16), 0)

    def test_run_plays_the_script_of_faults(self):
        wait = (f"until {program.HEDDLE} lab status --interval 0.05 --json | grep '\"condition\": \"down\"'; "
                "do :; done; " f"{program.HEDDLE} lab status --interval 0.05")
        done = self.run_lab("sh", "-c", wait, file=self.written(SCRIPT, "script.toml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "leaf0 > spine1 .* black hole")
        self.assertRegex(done.stdout, "spine2 > leaf0 .* down")
        self.assertIn("at 0.05 s: leaf0 - spine2: nothing passes; leaf0 - spine2: down", done.stderr)

    def test_mistakes_in_the_file_are_told_with_their_line(self):
        done = self.run_lab("true", file=self.written("version = 1\n[fabric]\nkind = \"ring\"\n", "bad.toml"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("bad.toml:3: there is no fabric \"ring\" (give", done.stderr)
        done = self.run_lab("true", file="/nonexistent.toml")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot read /nonexistent.toml: No such file", done.stderr)

    def test_nobody_runs_a_lab_in_a_user_namespace(self):
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        where = os.path.join(self.folder, "heddle")
        shutil.copy(program.HEDDLE, where)
        probe = subprocess.run([*become, "unshare", "--user", "--map-root-user", "--net", "--mount", "true"],
                               capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            self.skipTest("user namespaces are not allowed here: " + probe.stderr.strip())
        # A closed port's answer says that packets pass both ways.
        script = f"{where} lab exec h0 -- bash -c 'exec 3<>/dev/tcp/10.0.3.1/9'"
        done = subprocess.run([*become, where, "lab", "run", self.file, "--", "sh", "-c", script],
                              capture_output=True, text=True, env=program.environment(), check=False)
        self.assertIn("Connection refused", done.stderr)
        done = subprocess.run([*become, where, "lab", "up", self.file], capture_output=True, text=True,
                              env=program.environment(), check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("without root there is `heddle lab run", done.stderr)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
