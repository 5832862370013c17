#!/usr/bin/env python3
"""heddle monitor --policy beside real jobs: what it would do, what it does, and what keeps it from that."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import json_reference_test
import program

LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}
# Of a call: so large that recordings do not turn over; with sanitizers calls are slow enough as it is.
SIZE = "1M" if program.sanitized() else "4M"
ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = os.uname().nodename
NO_SLURM = None if all(map(shutil.which, ("slurmctld", "slurmd", "scontrol"))) and os.geteuid() == 0 else \
    "there is no Slurm (Debian: slurmctld, slurmd, slurm-client), or no root"
NO_KUBECTL = None if shutil.which("kubectl") else "there is no kubectl"

_RULE = """version = 1
{before}
[[rule]]
name = "hang"
class = ["non_communication_hang", "communication_hang"]
persists = "0s"
confidence = 0.5
confirm = {confirm}
{action}
"""


def wait_until(condition, within=program.PATIENCE_S):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true in time")
        time.sleep(0.05)


def processes_with(word):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def rank_process(folder, rank):
    listed = program.run("record", "info", folder, "--json")
    for one in json.loads(listed.stdout or "{}").get("recordings", []):
        if one["identity"].get("rank") == str(rank) and one["events_by_kind"].get("call_ended", 0) > 100:
            return int(one["identity"]["pid"])
    return None


@contextlib.contextmanager
def hanging_job(folder):
    """An endless one with a rank that is stopped as soon as it has made some calls, and that rank's process, which the
    run does not kill when the others have noticed."""
    with program.started("record", "-o", folder, "--", program.HEDDLE, "run", "-n", 3, "--grace", "1000s", "--",
                         program.HEDDLE, "bench", "allreduce", "-b", SIZE, "-e", SIZE, "-n", 10_000_000,
                         settings=LOOPBACK) as job:
        stopped = None
        try:
            wait_until(lambda: rank_process(folder, 1) is not None)
            stopped = rank_process(folder, 1)
            os.kill(stopped, signal.SIGSTOP)
            yield job, stopped
        finally:
            if stopped:
                program.kill(stopped)
            job.process.terminate()
            job.wait()


class Steering(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-steer-test-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.folder = self.place / "job"
        self.audit = self.place / "audit.jsonl"

    @contextlib.contextmanager
    def job(self):
        with hanging_job(self.folder) as (job, self.stopped):
            yield job

    def policy(self, action, confirm="[]", before=""):
        path = self.place / "policy.toml"
        path.write_text(_RULE.format(before=before, confirm=confirm, action=action), encoding="utf-8")
        return str(path)

    def script(self, name, text):
        """A program in the test's folder, which is first on PATH."""
        path = self.place / name
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def monitor(self, policy, *options, act=True, **settings):
        environment = {"PATH": f"{self.place}:{os.environ['PATH']}", **settings}
        return program.started("monitor", self.folder, "--json", "--every", "200ms", "--policy", policy, "--audit",
                               self.audit, *(("--act",) if act else ()), *options, settings=environment)

    def outcome(self, monitor, outcome):
        """The decision with that outcome, once it is printed."""
        return json.loads(monitor.wait_for(f'"event":"decision".*"outcome":"{outcome}"'))

    def logged(self):
        return [json.loads(line) for line in self.audit.read_text(encoding="utf-8").splitlines()]

    def outcomes(self):
        return [line["outcome"] for line in self.logged()]

    def command(self, *words):
        return f'action = "command"\ncommand = {json.dumps(words)}'


class OneHang(Steering):
    """What a policy makes of one job that hangs while all of these run."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="heddle-steer-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.hanging = pathlib.Path(folder.name) / "job"
        cls.enterClassContext(hanging_job(cls.hanging))

    def setUp(self):
        super().setUp()
        self.folder = self.hanging

    def test_a_dry_run_prints_and_logs_and_does_nothing(self):
        done = self.place / "done"
        policy = self.policy(self.command("touch", str(done), "{host}"), f'["touch", "{self.place}/tested"]')
        with self.monitor(policy, act=False) as monitor:
            decision = self.outcome(monitor, "would_run")
            monitor.signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())
        self.assertEqual(decision["command"], ["touch", str(done), HOST])
        self.assertEqual((decision["target"], decision["rule"], decision["dry_run"]), (HOST, "hang", True))
        self.assertEqual(self.logged(), [decision])
        listed = json_reference_test.listed("heddle monitor")
        self.assertEqual([field for field in json_reference_test.fields(decision)
                          if not any(each.fullmatch(field) for each in listed)], [])
        self.assertFalse(done.exists() or (self.place / "tested").exists())

    def test_a_rule_that_can_never_act_on_a_class_is_warned_of(self):
        policy = self.policy(self.command("true"))
        sure = pathlib.Path(policy).read_text(encoding="utf-8").replace("confidence = 0.5", "confidence = 0.95")
        pathlib.Path(policy).write_text(sure, encoding="utf-8")
        with self.monitor(policy, act=False) as monitor:
            warned = monitor.wait_for("never acts on")
            monitor.signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())
        self.assertIn("'hang' never acts on communication_hang: its confidence there is at most 0.9", warned)
        self.assertEqual(monitor.said().count("never acts on"), 1)

    def test_a_test_that_does_not_confirm_keeps_the_action_from_running(self):
        policies = (('["false"]', "not_confirmed"), ('["/nonexistent"]', "not_tested"),
                    ('["sh", "-c", "exit 2"]', "not_tested"), ('["sleep", "99"]', "not_tested"))
        for confirm, outcome in policies:
            with self.subTest(confirm=confirm):
                # A command that ends has the time that it takes on a busy machine.
                limits = '[limits]\ncommand_time = "1s"' if "sleep" in confirm else ""
                policy = self.policy(self.command("touch", str(self.place / "done")), confirm, limits)
                with self.monitor(policy) as monitor:
                    self.outcome(monitor, outcome)
                    monitor.signal(signal.SIGTERM)
                    self.assertEqual(monitor.wait(), 143, monitor.said())
                self.assertEqual(self.outcomes(), ["testing", outcome])
                self.assertFalse((self.place / "done").exists())
                self.audit.unlink()

    def test_metrics_count_what_was_decided(self):
        port = program.free_port()
        with self.monitor(self.policy(self.command("true"), '["true"]'), "--serve", port) as monitor:
            self.outcome(monitor, "done")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=program.PATIENCE_S) as answer:
                text = answer.read().decode()
            monitor.signal(signal.SIGTERM)
            self.assertEqual(monitor.wait(), 143, monitor.said())
        for sample in ('heddle_steering_acts{recording="job"} 1',
                       'heddle_steering_tests_total{action="command",recording="job",result="confirmed",rule="hang"} 1',
                       'heddle_steering_decisions_total{action="command",outcome="done",recording="job",rule="hang",'
                       'undo="no"} 1',
                       'heddle_steering_decisions_total{action="command",outcome="failed",recording="job",rule="hang",'
                       'undo="no"} 0'):
            self.assertIn(sample + "\n", text)

    def test_limits_hold_when_the_monitor_starts_again(self):
        other = {"event": "decision", "realtime_ns": time.time_ns() - 10**12, "job": "other", "target": "elsewhere",
                 "effect": "command hang", "outcome": "started"}
        self.audit.write_text(json.dumps(other) + '\n{"event": "decision", "half', encoding="utf-8")
        policy = self.policy(self.command("touch", str(self.place / "done")))
        with self.monitor(policy) as monitor:
            monitor.wait_for("cannot be read and is left out: 1 line of")
            self.assertIn("limits.hosts", self.outcome(monitor, "refused")["why"])
        self.assertFalse((self.place / "done").exists())
        lines = self.audit.read_text().splitlines()
        self.assertEqual(lines[1], '{"event": "decision", "half')  # alone on its line
        self.assertEqual(json.loads(lines[2])["outcome"], "refused")

    def test_ctrl_c_ends_the_action_that_runs(self):
        word = f"{os.getpid()}{time.time_ns()}"
        policy = self.policy(self.command("sh", "-c", f"sleep 600.{word} & sleep 600.{word}; true"))
        with self.monitor(policy) as monitor:
            self.outcome(monitor, "started")
            wait_until(lambda: len(processes_with(f"600.{word}")) == 3)
            monitor.signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())
            wait_until(lambda: not processes_with(f"600.{word}"))
        self.assertEqual(self.outcomes(), ["started", "interrupted"])

    def test_an_action_that_cannot_be_logged_is_not_taken(self):
        disk = self.place / "disk"
        program.mount_small_disk(self, disk, "64k")
        self.audit = disk / "audit.jsonl"
        policy = self.policy(self.command("touch", str(self.place / "done")))
        self.audit.touch()
        with open(disk / "fill", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        with self.monitor(policy) as monitor:
            monitor.wait_for("cannot write the audit log .*No space left")
            monitor.wait_for('"why":"the audit log cannot be written"')
        self.assertEqual(self.audit.read_text(), "")
        self.assertFalse((self.place / "done").exists())

    def test_a_kubectl_that_fails_is_logged_with_its_reason(self):
        self.script("kubectl", 'echo "error: nodes is forbidden" >&2; exit 1\n')
        policy = self.policy('action = "kubernetes_condition"')
        with self.monitor(policy) as monitor:
            self.assertIn("nodes is forbidden", self.outcome(monitor, "failed")["why"])

    @unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
    def test_a_condition_is_merged_into_a_node_by_the_real_kubectl(self):
        policy = self.policy('action = "kubernetes_condition"')
        with self.monitor(policy, act=False) as monitor:
            command = self.outcome(monitor, "would_run")["command"]
        self.assertEqual(command[:6], ["kubectl", "patch", "node", HOST, "--subresource=status", "--type=strategic"])
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"},
                      {"type": "HeddleFault", "status": "False", "reason": "NoFault"}]
        node = self.place / "node.json"
        node.write_text(json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": HOST},
                                    "status": {"conditions": conditions}}), encoding="utf-8")
        done = subprocess.run(["kubectl", "patch", "--local", "-f", str(node), *command[5:], "-o", "json"],
                              capture_output=True, text=True, timeout=program.PATIENCE_S, check=False,
                              env={**os.environ, "HOME": str(self.place)})
        self.assertEqual(done.returncode, 0, done.stderr)
        merged = {each["type"]: each for each in json.loads(done.stdout)["status"]["conditions"]}
        self.assertEqual(merged["Ready"]["reason"], "KubeletReady")
        self.assertEqual(merged["HeddleFault"]["status"], "True")
        self.assertIn("CommunicationHang", merged["HeddleFault"]["reason"])
        self.assertRegex(merged["HeddleFault"]["message"], r"^\[\w*communication_hang\] .* \(confidence \d+%\)$")


class Commands(Steering):
    def test_an_action_runs_once_the_test_confirms_and_is_undone_when_the_rank_goes_on(self):
        probe = self.script("probe", f'cat > "{self.place}/alarm"; echo "$@" > "{self.place}/probed"\n')
        act = self.script("act", f'echo "$@" >> "{self.place}/acted"\n')
        policy = self.policy(self.command(act, "{host}") + f'\nundo_command = ["{act}", "undo", "{{host}}"]',
                             f'["{probe}", "{{host}}", "it\'s $HOME"]')
        with self.job(), self.monitor(policy) as monitor:
            done = self.outcome(monitor, "done")
            self.assertEqual((self.place / "probed").read_text(), f"{HOST} it's $HOME\n")
            alarm = json.loads((self.place / "alarm").read_text())
            self.assertEqual((alarm["event"], alarm["number"], alarm["host"]), ("raised", done["alarm"], HOST))
            self.assertEqual((self.place / "acted").read_text(), f"{HOST}\n")
            os.kill(self.stopped, signal.SIGCONT)
            undone = json.loads(monitor.wait_for('"undo":true.*"outcome":"done"'))
            self.assertEqual((self.place / "acted").read_text(), f"{HOST}\nundo {HOST}\n")
        self.assertEqual(self.outcomes(), ["testing", "started", "done", "started", "done"])
        self.assertEqual([line["undo"] for line in self.logged()], [False] * 3 + [True] * 2)
        self.assertEqual(self.logged()[-1], undone)

    def test_what_runs_at_the_end_of_the_job_is_brought_to_its_end(self):
        policy = self.policy(self.command("sh", "-c", f"sleep 5; touch {self.place}/done"))
        with self.job() as job, self.monitor(policy) as monitor:
            self.outcome(monitor, "started")
            os.kill(self.stopped, signal.SIGKILL)
            job.wait()
            self.assertEqual(monitor.wait(), 1, monitor.said())
        self.assertTrue((self.place / "done").exists())
        self.assertEqual(self.outcomes(), ["started", "done"])

    def test_mistakes_are_named(self):
        good = self.policy(self.command("true"))
        bad = self.place / "bad.toml"
        bad.write_text("version = 1\n[[rule]]\nnam = 1\n", encoding="utf-8")
        for options, words in ((("--policy", bad), "bad.toml:2: the key 'name' is missing"),
                               (("--policy", self.place / "none.toml"), "check the path of the policy"),
                               (("--policy", good, "--act"), "name a file with --audit"),
                               (("--policy", good, "--audit", self.place), "audit log"),
                               (("--policy", good, "--audit", self.place / "no" / "log"), "audit log"),
                               (("--act",), "--policy"), (("--audit", "x"), "--policy")):
            with self.subTest(options=options):
                done = program.run("monitor", self.folder, *options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


class Kubernetes(Steering):
    """By a kubectl that writes down its arguments."""

    def kubectl(self):
        """It answers a question with a node that has the taint once it was set."""
        taint = '{"key":"example.com/fault","value":"true","effect":"NoSchedule"}'
        self.script("kubectl", f'for word; do printf "%s\\n" "$word"; done >> "{self.place}/called"; '
                               f'echo --- >> "{self.place}/called"; [ "$1" = get ] || exit 0\n'
                               f'grep -q "fault=true:NoSchedule" "{self.place}/called" && taint=\'{taint}\'\n'
                               f'echo "{{\\"metadata\\":{{\\"name\\":\\"$3\\"}},"'
                               f'"\\"spec\\":{{\\"taints\\":[$taint]}}}}"\n')

    def called(self):
        return [call.splitlines() for call in (self.place / "called").read_text().split("---\n")[:-1]]

    def test_a_taint_is_set_and_removed(self):
        self.kubectl()
        policy = self.policy('action = "kubernetes_taint"\ntaint = "example.com/fault=true:NoSchedule"\nundo = true')
        with self.job(), self.monitor(policy) as monitor:
            self.outcome(monitor, "done")
            os.kill(self.stopped, signal.SIGCONT)
            monitor.wait_for('"undo":true.*"outcome":"done"')
        question = ["get", "node", HOST, "-o", "json"]
        self.assertEqual(self.called(), [question, ["taint", "nodes", HOST, "example.com/fault=true:NoSchedule"],
                                         question, ["taint", "nodes", HOST, "example.com/fault:NoSchedule-"]])



_SLURM_CONF = """ClusterName=steer
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@unittest.skipIf(NO_SLURM, NO_SLURM)
class Slurm(Steering):
    """By a slurmctld and a slurmd of this machine."""

    def setUp(self):
        super().setUp()
        (self.place / "state").mkdir()
        self.conf = self.place / "slurm.conf"
        self.conf.write_text(_SLURM_CONF.format(folder=self.place, host=HOST,
                                                ports=(program.free_port(), program.free_port())))
        (self.place / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for words in (["slurmctld", "-D", "-f", self.conf], ["slurmd", "-D", "-N", HOST, "-f", self.conf]):
            daemon = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.kill)
        wait_until(lambda: "State=IDLE " in self.scontrol("-o", "show", "node", HOST))

    def scontrol(self, *words):
        return subprocess.run(["scontrol", *words], env={**os.environ, "SLURM_CONF": str(self.conf)},
                              capture_output=True, text=True, timeout=program.PATIENCE_S, check=False).stdout

    def node(self):
        return self.scontrol("-o", "show", "node", HOST)

    def test_a_node_is_drained_and_resumed(self):
        policy = self.policy('action = "slurm_drain"\nundo = true')
        with self.job(), self.monitor(policy, SLURM_CONF=str(self.conf)) as monitor:
            self.outcome(monitor, "done")
            node = self.node()
            self.assertRegex(node, r"State=\S*DRAIN")
            self.assertRegex(node, r"Reason=heddle: \w+hang, confidence \d+%, rule hang ")
            os.kill(self.stopped, signal.SIGCONT)
            monitor.wait_for('"undo":true.*"outcome":"done"')
            self.assertRegex(self.node(), r"State=IDLE")
            self.assertNotIn("DRAIN", self.node())

    def test_a_node_that_an_operator_drained_stays_as_it_is(self):
        self.scontrol("update", f"nodename={HOST}", "state=drain", "reason=bad fan")
        policy = self.policy('action = "slurm_drain"\nundo = true')
        with self.job(), self.monitor(policy, SLURM_CONF=str(self.conf)) as monitor:
            self.assertIn("it is drained: bad fan", self.outcome(monitor, "already")["why"])
            os.kill(self.stopped, signal.SIGCONT)
            monitor.wait_for('"event":"cleared"')
        self.assertRegex(self.node(), r"State=\S*DRAIN.*Reason=bad fan ")
        self.assertEqual(self.outcomes(), ["already"])


class Probe(Steering):
    """The active test of the examples, by a remote shell that is one to this machine."""

    def probe(self, *words, shell):
        self.script("rsh", shell)
        return subprocess.run([sys.executable, "-B", ROOT / "examples/steering/probe.py", "--via",
                               f"{self.place}/rsh %h", "--heddle", program.HEDDLE, *words], capture_output=True,
                              text=True, timeout=program.PATIENCE_S, check=False,
                              env=program.environment(**LOOPBACK))

    def test_it_compares_computations(self):
        slow = 'host=$1; shift; if [ "$host" = slow ]; then echo 9; else sh -c "$*"; fi\n'
        done = self.probe("compute", "slow", "fast", shell=slow)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("slow takes 9.000 s", done.stdout)
        self.assertEqual(self.probe("compute", "fast", "slow", shell=slow).returncode, 1)
        silent = '[ "$1" = silent ] && exit 255; echo 1\n'
        self.assertEqual(self.probe("compute", "silent", "other", shell=silent).returncode, 2)
        self.assertEqual(self.probe("compute", "other", "silent", shell=silent).returncode, 2)

    def test_what_cannot_be_measured_confirms_nothing(self):
        for end in ("exit 255", "exit 126", "exit 127", "echo begun; exit 1", "echo begun; echo fast", "echo begun nan",
                    "true", "sleep 9"):
            with self.subTest(end=end):
                shell = f'[ "$1" = bad ] || {{ echo begun; echo 1; exit 0; }}; {end}\n'
                done = self.probe("--limit", "5", "compute", "bad", "good", shell=shell)
                self.assertEqual(done.returncode, 2, done.stderr)
        # Its limit is what the first word of both may take.
        hangs = '[ "$1" = bad ] || { echo begun; echo 1; exit 0; }; echo begun; exec sleep 1000\n'
        self.assertEqual(self.probe("--limit", "15", "compute", "bad", "good", shell=hangs).returncode, 0)

    def test_the_example_reaches_a_pod_without_a_shell_of_its_own(self):
        via = re.search(r'"--via", "([^"]*)"', (ROOT / "examples/steering/kubernetes.toml").read_text())[1]
        self.script("kubectl", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
        environment = program.environment(PATH=f"{self.place}:{os.environ['PATH']}", **LOOPBACK)
        done = subprocess.run([sys.executable, "-B", ROOT / "examples/steering/probe.py", "--via", via,
                               "--ratio", "100", "compute", "one", "other"], capture_output=True, text=True,
                               env=environment,
                              timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_it_compares_rates(self):
        done = self.probe("--ratio", "100", "network", "127.0.0.1", "127.0.0.1",
                          shell='shift; exec sh -c "$*"\n')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("127.0.0.1 takes", done.stdout)


if __name__ == "__main__":
    unittest.main()
