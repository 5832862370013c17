#!/usr/bin/env python3
"""What packaging/ has for clusters: manifests of Kubernetes, scripts of Slurm, an Ansible role. Read without a cluster,
run where processes of this host do, and passed to their linters where these are installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import program

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
SLURM = PACKAGING / "slurm"


def documents(name):
    text = (PACKAGING / "kubernetes" / name).read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def lint(test, tool, *words, **settings):
    if shutil.which(tool) is None:
        test.skipTest(f"there is no {tool}: scripts/setup --packages")
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
                          env={**os.environ, **settings})
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Kubernetes(unittest.TestCase):
    def test_yaml_is_clean(self):
        lint(self, "yamllint", "--strict", "packaging")

    def test_ranks_of_the_job_find_each_other(self):
        """Its two pods as two processes here, with the environment of the manifest."""
        found = documents("job.yaml")
        job, service, secret = found["Job"], found["Service"], found["Secret"]
        pod = job["spec"]["template"]["spec"]
        [container] = pod["containers"]
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["selector"], job["spec"]["template"]["metadata"]["labels"])
        self.assertEqual(job["spec"]["completions"], job["spec"]["parallelism"])
        values = {each["name"]: each.get("value") for each in container["env"]}
        host, port = re.fullmatch(r"udp://(.*):(\d+)", values["HEDDLE_STORE"]).groups()
        self.assertEqual(host, f"{job['metadata']['name']}-0.{service['metadata']['name']}")
        self.assertEqual(container["ports"], [{"containerPort": int(port), "protocol": "UDP"}])
        self.assertEqual(values["HEDDLE_SIZE"], str(job["spec"]["completions"]))
        key = next(each["valueFrom"]["secretKeyRef"] for each in container["env"] if each["name"] == "HEDDLE_TOKEN")
        self.assertEqual(key["name"], secret["metadata"]["name"])
        values["HEDDLE_TOKEN"] = secret["stringData"][key["key"]]
        values["HEDDLE_STORE"] = f"udp://127.0.0.1:{program.free_port()}"
        ranks = []
        for index in range(2):
            mine = {name: value.replace("$(JOB_COMPLETION_INDEX)", str(index)) for name, value in values.items()}
            rank = program.Process(*container["args"], settings=mine)
            self.addCleanup(rank.close)
            ranks.append(rank)
        self.assertEqual([rank.wait() for rank in ranks], [0, 0], ranks[0].said() + ranks[1].said())
        self.assertIn("each reaches all others", ranks[0].said())

    def test_pods_have_the_least_rights(self):
        pods = [documents("job.yaml")["Job"]["spec"]["template"]["spec"]]
        pods += [each["template"]["spec"]
                 for each in documents("pytorchjob.yaml")["PyTorchJob"]["spec"]["pytorchReplicaSpecs"].values()]
        for pod in pods:
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertIs(pod["automountServiceAccountToken"], False)
            self.assertNotIn("hostNetwork", pod)
            for container in pod["containers"]:
                rights = container["securityContext"]
                self.assertEqual(rights["capabilities"], {"drop": ["ALL"]})
                self.assertIs(rights["allowPrivilegeEscalation"], False)
                self.assertEqual(container["resources"]["requests"], container["resources"]["limits"])
                for each in container["env"]:
                    self.assertIsInstance(each.get("value", ""), str)
        self.assertIs(pods[0]["securityContext"]["runAsNonRoot"], True)
        self.assertIs(pods[0]["containers"][0]["securityContext"]["readOnlyRootFilesystem"], True)

    def test_the_operator_finds_its_container(self):
        replicas = documents("pytorchjob.yaml")["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]
        self.assertEqual(sorted(replicas), ["Master", "Worker"])
        for each in replicas.values():
            self.assertEqual([one["name"] for one in each["template"]["spec"]["containers"]], ["pytorch"])


class Slurm(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-slurm-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.settings = {"HEDDLE_JOBS_FOLDER": str(self.folder / "jobs"), "SLURM_JOB_ID": "17",
                         "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid()), "SLURMD_NODENAME": "n0"}

    def script(self, name, **settings):
        path = f"{pathlib.Path(program.HEDDLE).parent}:{os.environ['PATH']}"
        done = subprocess.run([SLURM / name], env={**program.environment(), **self.settings, **settings, "PATH": path},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_shell_is_clean(self):
        lint(self, "shellcheck", *sorted(SLURM.iterdir()), PACKAGING / "archive",
             *(ROOT / "scripts" / name for name in ("packages", "try_packages")))

    def test_a_job_has_a_folder_for_its_time(self):
        self.script("prolog")
        made = self.folder / "jobs/17"
        self.assertEqual(made.stat().st_mode & 0o777, 0o700)
        variables = dict(line.removeprefix("export ").split("=") for line in self.script("task_prolog").splitlines())
        self.assertEqual(variables, {"HEDDLE_RECORD": str(made), "HEDDLE_RECORD_LEVEL": "counters"})
        done = program.run("run", "-n", 2, "--", program.HEDDLE, "ranks", settings=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.script("epilog", HEDDLE_KEEP_FOLDER=str(self.folder / "kept"))
        self.assertFalse(made.exists())
        info = program.run("record", "info", self.folder / "kept/17/n0")
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertEqual(list((self.folder / "jobs").iterdir()), [])

    def test_no_folder_is_taken_that_is_there(self):
        (self.folder / "jobs").mkdir()
        (self.folder / "else").mkdir()
        (self.folder / "jobs/17").symlink_to(self.folder / "else")
        self.script("prolog")
        self.script("epilog")
        self.assertTrue((self.folder / "else").is_dir())

    def test_no_link_of_a_user_is_followed_where_recordings_are_kept(self):
        """Root copied into what was there: a link in it let a job overwrite any file."""
        victim = self.folder / "victim"
        victim.write_text("whole")
        kept = self.folder / "kept"
        for _ in range(2):  # the job is requeued
            self.script("prolog")
            (self.folder / "jobs/17/file").write_text("of the job")
            self.script("epilog", HEDDLE_KEEP_FOLDER=str(kept))
            (kept / "17/n0/file").unlink(missing_ok=True)
            (kept / "17/n0/file").symlink_to(victim)
        self.assertEqual(victim.read_text(), "whole")
        self.assertEqual((kept / "17/n0.1/file").read_text(), "of the job")
        kept.chmod(0o777)
        self.script("prolog")
        (self.folder / "jobs/17/file").write_text("stays")
        self.script("epilog", HEDDLE_KEEP_FOLDER=str(kept))
        self.assertEqual((self.folder / "jobs/17/file").read_text(), "stays")

    def test_a_number_that_is_none_touches_nothing(self):
        self.script("prolog", SLURM_JOB_ID="../x")
        self.script("epilog", SLURM_JOB_ID="../x")
        self.assertEqual(self.script("task_prolog", SLURM_JOB_ID="18"), "")
        self.assertFalse((self.folder / "jobs").exists())


class Ansible(unittest.TestCase):
    def test_the_role_is_clean(self):
        with tempfile.TemporaryDirectory() as home:
            lint(self, "ansible-lint", "--offline", "--nocolor", "-p", "packaging/ansible/site.yml",
                 "packaging/ansible/roles", ANSIBLE_ROLES_PATH=str(PACKAGING / "ansible/roles"), HOME=home)

    def test_the_settings_that_the_role_writes_are_read(self):
        template = (PACKAGING / "ansible/roles/heddle/templates/heddle.toml.j2").read_text(encoding="utf-8")
        self.assertIn("{{ key }} = {{ value | to_json }}", template)
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write('paths = 32\nlog = "info"\nunsealed_chunks = false\n')
            file.flush()
            done = program.run("config", "show", "--config", file.name)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
