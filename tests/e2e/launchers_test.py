#!/usr/bin/env python3
"""Ranks that real launchers start: Open MPI's mpirun on one host and across the hosts of a lab, and a
Slurm cluster whose nodes are hosts of a lab.

What is not installed or not allowed here is skipped; where that is all of it, with exit status 77.
"""

import os
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
"""


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


@unittest.skipIf(NO_MPI, NO_MPI)
class OpenMpi(LauncherTest):
    def test_ranks_of_one_host_need_no_store(self):
        done = subprocess.run([*_MPIRUN, "--oversubscribe", "-n", "3", program.HEDDLE, "ranks"],
                                      env=program.environment(), capture_output=True, text=True,
                                      timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 ranks, started by Open MPI", done.stdout)
        self.assertIn("each reaches all others", done.stdout)

    @unittest.skipIf(NO_LAB, f"no lab: {NO_LAB}")
    def test_ranks_across_hosts_are_told_a_store(self):
        lab = lab_fabric.Lab(self.folder, lab_fabric.LEAF_SPINE, "mpi")
        self.addCleanup(lab.close)
        agent = os.path.join(self.folder, "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nhost=$1; shift\n'
                       f'exec "{program.HEDDLE}" lab exec "$host" --lab {lab.name} -- sh -c "$*"\n')
        os.chmod(agent, 0o755)
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
        os.mkdir(os.path.join(self.folder, "state"))
        for name, text in (("slurm.conf", _SLURM_CONF.format(folder=self.folder)),
                           ("cgroup.conf", "CgroupPlugin=cgroup/v1\n")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        silent = ("sh", "-c", 'exec "$0" "$@" > /dev/null 2>&1')  # they write files as well
        daemons = [lab.start("h0", *silent, "slurmctld", "-D", "-f", conf)]
        daemons += [lab.start(host, *silent, "slurmd", "-D", "-N", host, "-f", conf)
                    for host in ("h0", "h1", "h2", "h3")]
        self.addCleanup(lambda: [(daemon.kill(), daemon.communicate()) for daemon in daemons])
        client = ("env", f"SLURM_CONF={conf}")
        limit = time.monotonic() + program.PATIENCE_S
        while "idle 4" not in lab.exec("h0", *client, "sinfo", "-h", "-o", "%t %D", check=False):
            self.assertLess(time.monotonic(), limit, self.logs())
            time.sleep(0.1)
        return lab, client

    def test_ranks_across_nodes_and_on_one(self):
        lab, client = self.start_cluster()
        said = lab.exec("h0", *client, "srun", "-N", "2", "-n", "4", program.HEDDLE, "ranks")
        self.expect_table(said, [("h0", r"10\.0\.0\."), ("h0", r"10\.0\.0\."), ("h1", r"10\.0\.1\."),
                                 ("h1", r"10\.0\.1\.")], "Slurm")
        said = lab.exec("h0", *client, "srun", "-N", "1", "-n", "2", "-w", "h2", program.HEDDLE, "ranks")
        self.expect_table(said, [("h2", r"127\.0\.0\.1")] * 2, "Slurm")

    def test_srun_as_the_remote_shell_inside_an_allocation(self):
        lab, client = self.start_cluster()
        via = "srun -N1 -n1 --overlap -w {host}"
        said = lab.exec("h0", *client, "salloc", "-Q", "-N", "4", program.HEDDLE, "run", "--via", via, "--hosts",
                        "h1,h2", "-n", "4", "--", program.HEDDLE, "ranks")
        self.expect_table(said, [("h1", r"10\.0\.1\."), ("h1", r"10\.0\.1\."), ("h2", r"10\.0\.2\."),
                                 ("h2", r"10\.0\.2\.")], "heddle")
        said = lab.exec("h0", *client, "salloc", "-Q", "-N", "4", program.HEDDLE, "verify", "--via", via, "--hosts",
                        "h1,h2,h3", "--stage", "inventory", "--stage", "reach", "--quick")
        self.assertIn("2 of 2 stages passed", said)

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
