#!/usr/bin/env python3
"""Ranks that real launchers start: Open MPI's mpirun on one host and across the hosts of a lab, and a
Slurm cluster whose nodes are hosts of a lab.

What is not installed or not allowed here is skipped; where that is all of it, with exit status 77.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program

NO_LAB = lab_fabric.missing()
NO_MPI = None if shutil.which("mpirun") else "there is no program mpirun (Debian: openmpi-bin)"
NO_SLURM = None if all(map(shutil.which, ("slurmctld", "slurmd", "srun"))) else \
    "there is no Slurm (Debian: slurmctld, slurmd, slurm-client)"
_MPIRUN = ("mpirun", *(("--allow-run-as-root",) if os.geteuid() == 0 else ()))

_SLURM_CONF = """ClusterName=lab
SlurmctldHost=h0
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
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
NodeName=h[0-3] CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
Prolog={folder}/prolog
TaskProlog={folder}/task_prolog
Epilog={folder}/epilog
"""
_SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "packaging/slurm"


class LauncherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-launchers-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def expect_table(self, text, hosts, launcher):
        """The table of `heddle ranks`: by rank, the host and the beginning of its address."""
        for rank, (host, address) in enumerate(hosts):
            self.assertRegex(text, rf"(?m)^ +{rank}  {host} +{address}\S*:\d+$")
        self.assertIn(f"{len(hosts)} ranks, started by {launcher}", text)
        self.assertIn("each reaches all others", text)

    def expect_measured(self, lab, words, via):
        """Stages up to pairs of two hosts; then all-reduces of a rank on each of four, whose recordings the remote
        shell fetches as archives."""
        if program.sanitized():
            return  # it measures all-reduces, which takes minutes there
        before = lab_fabric.recordings_left()
        self.verified(lab, words, via, ("h1", "h2"), ("inventory", "reach", "pairs"))
        folder, document = self.verified(lab, words, via, ("h0", "h1", "h2", "h3"), ("collectives", "traffic"),
                                         "--topology", lab.file)
        self.assertEqual(len(program.recordings(os.path.join(folder, "recording"))), 4, document)
        rows = {row["check"]: row for row in document["stages"][1]["rows"]}
        self.assertEqual((rows["matrix"]["where"], rows["matrix"]["grade"]), ("all-reduces, 4 ranks", "pass"))
        limit = time.monotonic() + program.PATIENCE_S
        while left := lab_fabric.recordings_left() - before:  # of another test, until that one removes it
            self.assertLess(time.monotonic(), limit, left)
            time.sleep(0.1)

    def verified(self, lab, words, via, hosts, stages, *more):
        """The folder and the report of a test of these stages. All have passed, but for traffic, whose diagnosis may
        name hosts that other programs make late."""
        expect, folder = (os.path.join(self.folder, name) for name in ("expect.toml", f"report-{len(hosts)}"))
        with open(expect, "w", encoding="utf-8") as file:  # what other programs slow down is not the question
            file.write('version = 1\npair_share = "0.1%"\nlink_share = "0.1%"\ncollective_share = "1%"\n'
                       'all_to_all_share = "1%"\n')
        asked = [word for stage in stages for word in ("--stage", stage)]
        done = program.run("lab", "exec", "h0", "--lab", lab.name, "--", *words, program.HEDDLE, "verify", "--via", via,
                           "--hosts", ",".join(hosts), *asked, *more, "--expect", expect, "--quick", "--report", folder,
                           timeout=240)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            document = json.load(file)
        outcomes = {stage["name"]: stage["outcome"] for stage in document["stages"]}
        traffic = {"traffic": outcomes["traffic"]} if outcomes.get("traffic") == "failed" else {}
        self.assertEqual(outcomes, {**dict.fromkeys(stages, "passed"), **traffic}, done.stdout + done.stderr)
        return folder, document


@unittest.skipIf(NO_MPI, NO_MPI)
class OpenMpi(LauncherTest):
    def test_ranks_of_one_host_need_no_store(self):
        done = subprocess.run([*_MPIRUN, "--oversubscribe", "-n", "3", program.HEDDLE, "ranks"],
                                      env=program.environment(), capture_output=True, text=True,
                                      timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 ranks, started by Open MPI", done.stdout)
        self.assertIn("each reaches all others", done.stdout)

    def lab_with_agent(self):
        """A lab, and what starts Open MPI's daemons on its hosts."""
        lab = lab_fabric.Lab(self.folder, lab_fabric.LEAF_SPINE, "mpi")
        self.addCleanup(lab.close)
        agent = os.path.join(self.folder, "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nhost=$1; shift\n'
                       f'exec "{program.HEDDLE}" lab exec "$host" --lab {lab.name} -- sh -c "$*"\n')
        os.chmod(agent, 0o755)
        return lab, agent

    @unittest.skipIf(NO_LAB, f"no lab: {NO_LAB}")
    def test_mpirun_as_the_remote_shell(self):
        lab, agent = self.lab_with_agent()
        via = " ".join((*_MPIRUN, "-q -np 1 -H {host} --mca plm_rsh_agent", agent))
        said = lab.exec("h0", program.HEDDLE, "run", "--via", via, "--hosts", "h1,h2", "-n", "4", "--", program.HEDDLE,
                        "ranks")
        self.expect_table(said, [("h1", r"10\.0\.1\."), ("h1", r"10\.0\.1\."), ("h2", r"10\.0\.2\."),
                                 ("h2", r"10\.0\.2\.")], "heddle")
        self.expect_measured(lab, (), via)

    @unittest.skipIf(NO_LAB, f"no lab: {NO_LAB}")
    def test_ranks_across_hosts_are_told_a_store(self):
        lab, agent = self.lab_with_agent()
        words = [*_MPIRUN, "-H", "h0:1,h1:1,h3:2", "-n", "4", "--mca", "plm_rsh_agent", agent,
                 "--mca", "btl", "tcp,self"]
        said = lab.exec("h0", *words, program.HEDDLE, "ranks", check=False)
        self.assertNotIn("started by", said)  # without a store it cannot
        for store, prefix in (("udp://h0:18701", r"10\.0\."), ("tcp://h0-v6:18701", r"\[fd00:")):
            said = lab.exec("h0", *words, "-x", f"HEDDLE_STORE={store}", program.HEDDLE, "ranks")
            self.expect_table(said, [(host, prefix) for host in ("h0", "h1", "h3", "h3")], "Open MPI")


@unittest.skipIf(NO_SLURM, NO_SLURM)
@unittest.skipIf(NO_LAB, f"no lab: {NO_LAB}")
class Slurm(LauncherTest):
    def start_cluster(self):
        """The lab, and the words that begin commands of Slurm there."""
        lab = lab_fabric.Lab(self.folder, lab_fabric.LEAF_SPINE, "slurm")
        self.addCleanup(lab.close)
        conf = os.path.join(self.folder, "slurm.conf")
        for name in ("state", "jobs"):
            os.mkdir(os.path.join(self.folder, name))
        for name, text in (("slurm.conf", _SLURM_CONF.format(folder=self.folder)),
                           ("cgroup.conf", "CgroupPlugin=cgroup/v1\n")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for name in ("prolog", "task_prolog", "epilog"):
            self.install_script(name)
        silent = ("sh", "-c", 'exec "$0" "$@" > /dev/null 2>&1')  # they write files as well
        daemons = [lab.start("h0", *silent, "slurmctld", "-D", "-f", conf)]
        for host in ("h0", "h1", "h2", "h3"):
            own = os.path.join(self.folder, f"disk.{host}")
            os.mkdir(own)
            on_its_disk = ("unshare", "--mount", "sh", "-c", f'mount --bind {own} {self.folder}/jobs && exec "$0" "$@"')
            daemons.append(lab.start(host, *silent, *on_its_disk, "slurmd", "-D", "-N", host, "-f", conf))
        self.addCleanup(lambda: [(daemon.kill(), daemon.communicate()) for daemon in daemons])
        client = ("env", f"SLURM_CONF={conf}")
        self.wait_until_idle(lab, client)
        return lab, client

    def wait_until_idle(self, lab, client):
        """Until no node runs a job or its epilog; fails where a script of the package drains one."""
        limit = time.monotonic() + 2 * program.PATIENCE_S
        while "idle 4" not in lab.exec("h0", *client, "sinfo", "-h", "-o", "%t %D", check=False):
            self.assertLess(time.monotonic(), limit, self.logs())
            time.sleep(0.1)

    def test_ranks_across_nodes_and_on_one(self):
        lab, client = self.start_cluster()
        said = lab.exec("h0", *client, "srun", "-N", "2", "-n", "4", program.HEDDLE, "ranks")
        self.expect_table(said, [("h0", r"10\.0\.0\."), ("h0", r"10\.0\.0\."), ("h1", r"10\.0\.1\."),
                                 ("h1", r"10\.0\.1\.")], "Slurm")
        said = lab.exec("h0", *client, "srun", "-N", "1", "-n", "2", "-w", "h2", program.HEDDLE, "ranks")
        self.expect_table(said, [("h2", r"127\.0\.0\.1")] * 2, "Slurm")

    def install_script(self, name):
        """A script of the package with its variables at the top, as its page says. Each node has a disk at jobs."""
        first, rest = (_SCRIPTS / name).read_text(encoding="utf-8").split("\n", 1)
        variables = (f"PATH={os.path.dirname(program.HEDDLE)}:$PATH\n"
                     f"HEDDLE_JOBS_FOLDER={self.folder}/jobs\nHEDDLE_KEEP_FOLDER={self.folder}/kept\n")
        path = pathlib.Path(self.folder) / name
        path.write_text(f"{first}\n{variables}{rest}", encoding="utf-8")
        path.chmod(0o755)

    def test_the_batch_script_runs_and_its_recordings_are_kept(self):
        """Prolog and epilog had run without Slurm alone, which gives them an environment of its own."""
        lab, client = self.start_cluster()
        path = f"PATH={os.path.dirname(program.HEDDLE)}:{os.environ['PATH']}"
        lab.exec("h0", *client, path, "sbatch", "--wait", "--output", f"{self.folder}/job.out",
                 str(_SCRIPTS / "job.sbatch"), "sh", "-c", 'echo "recorded at $HEDDLE_RECORD_LEVEL"')
        said = (pathlib.Path(self.folder) / "job.out").read_text(encoding="utf-8")
        self.assertIn("each reaches all others", said)
        self.assertEqual(said.count("recorded at counters\n"), 4)
        self.wait_until_idle(lab, client)
        [job] = (pathlib.Path(self.folder) / "kept").iterdir()
        for host in ("h0", "h1"):
            done = program.run("record", "info", job / host)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list((pathlib.Path(self.folder) / f"disk.{host}").iterdir()), [])

    def test_srun_as_the_remote_shell_inside_an_allocation(self):
        lab, client = self.start_cluster()
        via = "srun -N1 -n1 --overlap -w {host}"
        said = lab.exec("h0", *client, "salloc", "-Q", "-N", "4", program.HEDDLE, "run", "--via", via, "--hosts",
                        "h1,h2", "-n", "4", "--", program.HEDDLE, "ranks")
        self.expect_table(said, [("h1", r"10\.0\.1\."), ("h1", r"10\.0\.1\."), ("h2", r"10\.0\.2\."),
                                 ("h2", r"10\.0\.2\.")], "heddle")
        self.expect_measured(lab, (*client, "salloc", "-Q", "-N", "4"), via)

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    texts.append(f"{name}: {file.read()[-500:]}")
        return "\n".join(texts)


if __name__ == "__main__":
    if NO_MPI and (NO_SLURM or NO_LAB):
        print(f"skipped '{NO_MPI}; {NO_SLURM or NO_LAB}'")
        sys.exit(77)
    unittest.main()
