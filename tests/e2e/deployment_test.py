#!/usr/bin/env python3
"""What packaging/ has for clusters: manifests of Kubernetes, scripts of Slurm, an Ansible role. Read without a cluster,
run where processes of this host do, and passed to their linters where these are installed."""

import os
import pathlib
import re
import runpy
import shutil
import signal
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
MANIFESTS = (*sorted((PACKAGING / "kubernetes").glob("*.yaml")), ROOT / "examples/nccl/job.yaml")


def documents(name):
    text = (PACKAGING / "kubernetes" / name).read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def lint(test, tool, *words, **settings):
    if shutil.which(tool) is None:
        test.skipTest(f"there is no {tool}: scripts/setup --packages")
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
                          env={**os.environ, **settings})
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Schema(unittest.TestCase):
    """Each manifest of the tree against Kubernetes' own schema, and mistakes that it has to find."""

    @classmethod
    def setUpClass(cls):
        try:
            import kubernetes_schema
        except ImportError:
            raise unittest.SkipTest("there is no python3-kubernetes: scripts/setup --packages") from None
        cls.check, cls.models = staticmethod(kubernetes_schema.check), kubernetes_schema.models

    def test_manifests_have_what_kubernetes_knows(self):
        for path in MANIFESTS:
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                with self.subTest(f"{path.name}: {document['kind']}"):
                    self.assertEqual(self.check(document), [])

    def test_a_mistake_is_found_with_its_place(self):
        text = (PACKAGING / "kubernetes/job.yaml").read_text(encoding="utf-8")
        mistakes = {  # in the manifest: instead of the first, the second, and where that is found
            ("backoffLimit: 0", "backofLimit: 0"): "spec.backofLimit: unknown in V1JobSpec",
            ('value: "2"', "value: 2"): "spec.template.spec.containers[0].env[1].value: 2 is no str",
            ("- name: heddle\n", "- title: heddle\n"): "`name`, must not be `None`",
            ("clusterIP: None", "clusterIP: {}"): "spec.clusterIP: {} is no str",
            ("mountPath: /tmp", "mountpath: /tmp"): "volumeMounts[0].mountpath: unknown in V1VolumeMount",
            ("- name: temporary\n          empty", "- name: other\n          empty"): "no volume is called 'temporary'",
            ("name: heddle-check\nspec:\n  completions", "name: Heddle_1\nspec:\n  completions"): "is no name",
            ("batch/v1", "batch/v2"): "no kind of the API"}
        for (right, wrong), message in mistakes.items():
            self.assertIn(right, text)
            documents_of = yaml.safe_load_all(text.replace(right, wrong))
            found = [error for document in documents_of for error in self.check(document)]
            self.assertTrue([error for error in found if message in error], (wrong, found))
        [job] = yaml.safe_load_all((PACKAGING / "kubernetes/pytorchjob.yaml").read_text(encoding="utf-8"))
        job["spec"]["nprocPerNode"] = 8
        job["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"
        self.assertEqual(len(self.check(job)), 2)


    def test_the_page_names_what_only_its_pods_are_checked_of(self):
        """It said that all manifests are checked, of which a kind of Kubeflow's is checked by a list of this test's."""
        kinds = {document["kind"] for path in MANIFESTS for document in yaml.safe_load_all(path.read_text("utf-8"))}
        foreign = {kind for kind in kinds if not hasattr(self.models, f"V1{kind}")}
        page = " ".join((ROOT / "docs/how-to/kubernetes.md").read_text(encoding="utf-8").split())
        [said] = re.findall(r"of the (\w+), which is no kind of Kubernetes' own, the pods' templates alone", page)
        self.assertEqual({said}, foreign)


class Kubernetes(unittest.TestCase):
    def test_yaml_is_clean(self):
        lint(self, "yamllint", "--strict", *sorted(path.relative_to(ROOT) for path in MANIFESTS), "packaging")

    def test_ranks_of_the_job_find_each_other(self):
        """Its two pods as two processes here, with the environment of the manifest."""
        found = documents("job.yaml")
        job, service = found["Job"], found["Service"]
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
        page = (ROOT / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
        self.assertIn(f"| kubectl create secret generic {key['name']} --from-file={key['key']}=/dev/stdin\n", page)
        values["HEDDLE_TOKEN"] = "0f" * 32
        values["HEDDLE_STORE"] = f"udp://127.0.0.1:{program.free_port()}"
        ranks = []
        for index in range(2):
            mine = {name: value.replace("$(JOB_COMPLETION_INDEX)", str(index)) for name, value in values.items()}
            rank = program.Process(*container["args"], settings=mine)
            self.addCleanup(rank.close)
            ranks.append(rank)
        self.assertEqual([rank.wait() for rank in ranks], [0, 0], ranks[0].said() + ranks[1].said())
        self.assertIn("each reaches all others", ranks[0].said())

    def test_no_manifest_has_a_secret_of_its_own(self):
        """The Job had one with a token of these sources, and worked as it was."""
        for path in MANIFESTS:
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                self.assertNotEqual(document["kind"], "Secret", path)

    def test_pods_have_the_least_rights(self):
        pods = [documents("job.yaml")["Job"]["spec"]["template"]["spec"]]
        pods += [each["template"]["spec"]
                 for each in documents("pytorchjob.yaml")["PyTorchJob"]["spec"]["pytorchReplicaSpecs"].values()]
        on_the_hosts_network = documents(ROOT / "examples/nccl/job.yaml")["Job"]["spec"]["template"]["spec"]
        for pod in [*pods, on_the_hosts_network]:
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertIs(pod["automountServiceAccountToken"], False)
            added = {"add": ["NET_ADMIN"]} if pod is on_the_hosts_network else {}
            self.assertEqual("hostNetwork" in pod, pod is on_the_hosts_network)
            for container in pod["containers"]:
                rights = container["securityContext"]
                self.assertEqual(rights["capabilities"], {"drop": ["ALL"], **added})
                self.assertIs(rights["allowPrivilegeEscalation"], False)
                self.assertEqual(container["resources"]["requests"], container["resources"]["limits"])
                for each in container["env"]:
                    self.assertIsInstance(each.get("value", ""), str)
        for pod in pods:
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
            self.assertGreater(pod["securityContext"]["runAsUser"], 0)
            [container] = pod["containers"]
            self.assertIs(container["securityContext"]["readOnlyRootFilesystem"], True)
            self.assertIn("/tmp", [each["mountPath"] for each in container["volumeMounts"]])

    def test_the_agent_has_no_capability_and_its_page_says_as_whom_it_runs(self):
        """It had SYSLOG, of no use without /dev/kmsg."""
        pod = documents("agent.yaml")["DaemonSet"]["spec"]["template"]["spec"]
        [container] = pod["containers"]
        rights, user = container["securityContext"], pod["securityContext"]
        self.assertEqual(rights["capabilities"], {"drop": ["ALL"]})
        self.assertIs(rights["readOnlyRootFilesystem"], True)
        self.assertIs(rights["allowPrivilegeEscalation"], False)
        self.assertEqual(user["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertGreater(user["runAsGroup"], 0)
        self.assertEqual({name for name in pod if name.startswith("host")}, {"hostNetwork"})
        page = (ROOT / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
        [row] = re.findall(r"(?m)^\| the agent that samples a node \| (.*) \|$", page)
        self.assertIn(f"`hostNetwork`, user {user['runAsUser']} without capabilities, a `hostPath` in which root ", row)
        watch = (ROOT / "docs/how-to/watch_a_node.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"supplementalGroups: \[(\d+)\]", watch), [str(user["runAsGroup"])])

    @unittest.skipUnless(os.geteuid() == 0, "other users and groups need root")
    def test_a_monitor_of_another_user_reads_the_agents_samples(self):
        """The samples belonged to a group that no pod can name, so a monitor that is not root read none."""
        pod = documents("agent.yaml")["DaemonSet"]["spec"]["template"]["spec"]
        [container], [volume] = pod["containers"], pod["volumes"]
        self.assertEqual(volume["hostPath"]["path"], container["volumeMounts"][0]["mountPath"])
        user, group = (pod["securityContext"][name] for name in ("runAsUser", "runAsGroup"))
        as_agent = ["setpriv", "--reuid", str(user), "--regid", str(group), "--clear-groups", "--bounding-set=-all",
                    "--inh-caps=-all"]
        with tempfile.TemporaryDirectory() as state:
            os.chmod(state, 0o755)  # as Kubernetes makes it
            words = [*container["args"][:-1], "127.0.0.1:0", "--state", state]
            agent = program.Process(*words, before=as_agent)
            self.addCleanup(agent.close)
            agent.wait_for("samples of this machine")
            agent.signal(signal.SIGTERM)
            self.assertEqual(agent.wait(), 0)
            [samples] = pathlib.Path(state).glob("*.heddle")
            for groups, works in (([f"--groups={group}"], True), (["--clear-groups"], False)):
                monitor = ["setpriv", "--reuid", "65534", "--regid", "65534", *groups, "head", "-c", "1", str(samples)]
                done = subprocess.run(monitor, capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode == 0, works, done.stderr)

    def test_the_operator_finds_its_container(self):
        replicas = documents("pytorchjob.yaml")["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]
        self.assertEqual(sorted(replicas), ["Master", "Worker"])
        for each in replicas.values():
            self.assertEqual([one["name"] for one in each["template"]["spec"]["containers"]], ["pytorch"])


class Token(unittest.TestCase):
    @unittest.skipIf(shutil.which("openssl") is None, "there is no openssl")
    def test_the_pages_command_makes_a_token_where_there_is_no_folder_yet(self):
        """No package makes /etc/heddle, and the command failed without it."""
        page = (ROOT / "docs/how-to/watch_a_node.md").read_text(encoding="utf-8")
        [command] = re.findall(r"(?m)^openssl rand .*$", page)
        with tempfile.TemporaryDirectory() as folder:
            here = command.replace("sudo ", "").replace("-g heddle-agent", "").replace("/etc", folder)
            subprocess.run(["bash", "-ec", f"umask 077; {here}"], check=True, timeout=60)
            token = pathlib.Path(folder) / "heddle/agent.token"
            self.assertEqual(token.stat().st_mode & 0o777, 0o640)
            self.assertEqual(token.parent.stat().st_mode & 0o777, 0o755)
            with program.started("agent", "serve", "--metrics", "0.0.0.0:0", "--token-file", token, "--state",
                                 f"{folder}/node") as agent:
                agent.wait_for("samples of this machine")


class Service(unittest.TestCase):
    """The unit of heddle-agent as systemd starts it: its command, with the options that the file of options names."""

    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-service-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.folder.chmod(0o755)
        shutil.copy(program.HEDDLE, self.folder / "heddle")  # the build's own folder may be closed to other users
        unit = (PACKAGING / "debian/heddle-agent.service").read_text(encoding="utf-8")
        self.unit = dict(re.findall(r"(?m)^(\w+)=(.*)$", unit))
        self.examples = re.findall(r'(?m)^#HEDDLE_AGENT_OPTIONS="(.*)"$',
                                   (PACKAGING / "debian/heddle-agent.default").read_text(encoding="utf-8"))

    def start(self, state, options):
        """The service's command with these options, of which the files and the port are this test's own."""
        options = options.replace("/etc/heddle", str(self.folder)).replace("9877", str(program.free_port()))
        command = self.unit["ExecStart"]
        for there, here in (("/usr/bin/heddle ", ""), ("/var/lib/heddle/node", str(state)),
                            ("$HEDDLE_AGENT_OPTIONS", options)):
            self.assertIn(there, command)
            command = command.replace(there, here)
        user = ["setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", "--bounding-set=-all",
                "--inh-caps=-all", "--no-new-privs"]
        agent = program.Process(*command.split(), before=user, program=str(self.folder / "heddle"),
                                umask=int(self.unit["UMask"], 8))
        self.addCleanup(agent.close)
        return agent

    @unittest.skipUnless(os.geteuid() == 0, "another user needs root")
    def test_its_command_runs_with_each_example_of_its_options(self):
        """A renamed option would have failed on machines of users alone."""
        self.assertEqual([re.findall(r"--\S+", each) for each in self.examples],
                         [["--metrics"], ["--metrics", "--token-file"]])
        token = self.folder / "agent.token"
        token.write_text("0f" * 32)
        token.chmod(0o640)
        os.chown(token, 0, 65533)
        for number, options in enumerate(("", *self.examples)):
            state = self.folder / f"node{number}"
            state.mkdir(mode=int(self.unit["StateDirectoryMode"], 8))
            os.chown(state, 65533, 65533)
            with self.subTest(options):
                agent = self.start(state, options)
                agent.wait_for("samples of this machine")
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait(), 0, agent.said())
                [samples] = state.glob("*.heddle")
                self.assertEqual((samples.stat().st_uid, samples.stat().st_mode & 0o777), (65533, 0o640))


class Slurm(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-slurm-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.settings = {"HEDDLE_JOBS_FOLDER": str(self.folder / "jobs"), "SLURM_JOB_ID": "17",
                         "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid()), "SLURMD_NODENAME": "n0"}

    def script(self, name, **settings):
        path = {"PATH": f"{pathlib.Path(program.HEDDLE).parent}:{os.environ['PATH']}"}
        done = subprocess.run([SLURM / name], env={**program.environment(), **self.settings, **path, **settings},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_shell_is_clean(self):
        scripts = [path for path in sorted([*PACKAGING.rglob("*"), *(ROOT / "scripts").iterdir()]) if path.is_file()
                   and re.match(rb"#!.*\b(ba)?sh\b", path.read_bytes())]
        self.assertGreater(len(scripts), 12)
        lint(self, "shellcheck", "--severity=warning", *scripts)

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

    @unittest.skipUnless(os.geteuid() == 0, "only root copies what users cannot read")
    def test_a_link_that_is_swapped_in_reaches_no_file_of_root(self):
        """Root read the user's tree by its names. Here cp meets each link as if it had just replaced a folder."""
        secret = self.folder / "secret"
        secret.mkdir(mode=0o700)
        (secret / "shadow").write_text("of root")
        self.folder.chmod(0o755)
        (self.folder / "tools").mkdir()
        (self.folder / "tools/cp").write_text('#!/bin/sh\nexec /bin/cp -rL "$2" "$3"\n')
        (self.folder / "tools/cp").chmod(0o755)
        user = {"SLURM_JOB_UID": "65534", "SLURM_JOB_GID": "65534"}
        self.script("prolog", **user)
        made = self.folder / "jobs/17"
        (made / "file").write_text("of the job")
        (made / "nodes").symlink_to(secret)
        kept = self.folder / "kept"
        self.script("epilog", HEDDLE_KEEP_FOLDER=str(kept), PATH=f"{self.folder / 'tools'}:{os.environ['PATH']}")
        self.assertEqual([path.name for path in kept.rglob("*") if path.name == "shadow"], [])
        self.assertEqual((kept / "17/n0/file").stat().st_uid, 65534)
        self.assertTrue(made.exists())  # not all was read
        # A user's own links are kept as links.
        self.script("prolog", **user)
        self.script("epilog", HEDDLE_KEEP_FOLDER=str(kept))
        self.assertTrue((kept / "17/n0.1/nodes").is_symlink())
        self.assertFalse(made.exists())

    def test_scripts_and_page_name_one_folder_and_it_is_not_in_run(self):
        page = (ROOT / "docs/how-to/slurm.md").read_text(encoding="utf-8")
        for name in ("prolog", "task_prolog", "epilog"):
            [folder] = re.findall(r"\{HEDDLE_JOBS_FOLDER:-(.*?)\}", (SLURM / name).read_text(encoding="utf-8"))
            self.assertEqual(folder, "/var/spool/heddle")
        self.assertIn("makes `/var/spool/heddle/JOB`", page)

    def test_a_requeued_job_goes_on_in_its_folder(self):
        self.script("prolog")
        (self.folder / "jobs/17/file").write_text("before the crash")
        self.assertEqual(self.script("prolog"), "")
        self.assertIn(str(self.folder / "jobs/17"), self.script("task_prolog"))
        self.assertTrue((self.folder / "jobs/17/file").exists())

    def test_a_number_that_is_none_touches_nothing(self):
        self.script("prolog", SLURM_JOB_ID="../x")
        self.script("epilog", SLURM_JOB_ID="../x")
        self.assertEqual(self.script("task_prolog", SLURM_JOB_ID="18"), "")
        self.assertFalse((self.folder / "jobs").exists())


class Back(unittest.TestCase):
    """The way back to sockets: pages and manifest name the variables with which NCCL is tested without the plugin."""

    SOCKET = runpy.run_path(str(ROOT / "tests/nccl/cuda_stand_in/without_gpu_test.py"))["SOCKET"]

    def test_pages_and_manifest_name_the_variables_that_are_tested(self):
        kubernetes, slurm, ansible = ((ROOT / f"docs/how-to/{name}.md").read_text(encoding="utf-8")
                                      for name in ("kubernetes", "slurm", "ansible"))
        [row] = re.findall(r"(?m)^\| NCCL \| (.*) \|$", kubernetes)
        manifests = [PACKAGING / "kubernetes/pytorchjob.yaml", ROOT / "examples/nccl/job.yaml"]
        [command] = re.findall(r"`([^`]*)` for NCCL", slurm)
        self.assertEqual(dict(each.split("=") for each in command.split()), self.SOCKET)
        self.assertEqual(dict(re.findall(r"`(\w+): (\w+)`", row)), self.SOCKET)
        for path in manifests:
            text = path.read_text(encoding="utf-8")
            [comment] = re.findall(r"# Back to NCCL's own sockets in one step: (.*)\.$", text, re.MULTILINE)
            self.assertEqual(dict(re.findall(r"(\w+): (\w+)", comment)), self.SOCKET, path)
            set_there = {name for name in self.SOCKET if f"- name: {name}\n" in text}
            self.assertEqual(set_there, set(self.SOCKET), path)
        self.assertIn("(slurm.md#back-to-what-was-there-before)", ansible)


class Ansible(unittest.TestCase):
    def test_the_role_is_clean(self):
        with tempfile.TemporaryDirectory() as home:
            lint(self, "ansible-lint", "--offline", "--nocolor", "-p", "packaging/ansible/site.yml",
                 "packaging/ansible/roles", ANSIBLE_ROLES_PATH=str(PACKAGING / "ansible/roles"), HOME=home)

    def test_packages_that_depend_on_one_another_go_up_and_down_in_one_call(self):
        """Each had a call of its own, so that apt took the agent away when heddle went back."""
        if shutil.which("ansible-playbook") is None:
            self.skipTest("there is no ansible-playbook: scripts/setup --packages")
        tasks = PACKAGING / "ansible/roles/heddle/tasks/present.yml"
        [install] = [task for task in yaml.safe_load(tasks.read_text(encoding="utf-8"))
                     if task["name"] == "Install the packages"]
        with tempfile.TemporaryDirectory() as home:
            play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [install],
                    "vars": {"heddle_package_names": ["heddle", "heddle-agent"]}}
            (pathlib.Path(home) / "play.yml").write_text(yaml.safe_dump([play]), encoding="utf-8")
            calls, apt = pathlib.Path(home) / "calls", pathlib.Path(home) / "apt-get"
            for said, changed in (("0 upgraded, 0 newly installed, 1 downgraded, 0 to remove", 1),
                                  ("0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.", 0)):
                apt.write_text(f'#!/bin/sh\necho "$*" >>{calls}\necho "{said}"\n')
                apt.chmod(0o755)
                done = subprocess.run(["ansible-playbook", "-i", "localhost,", "play.yml"], cwd=home, timeout=120,
                                      env={**os.environ, "HOME": home, "PATH": f"{home}:{os.environ['PATH']}",
                                           "ANSIBLE_LOCALHOST_WARNING": "0"},
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf"changed={changed}\b")
            for call in calls.read_text(encoding="utf-8").splitlines():
                self.assertRegex(call, r"^install -y .*--allow-downgrades .*/heddle\.deb /var/cache/heddle/heddle-agent"
                                       r"\.deb$")
            self.assertEqual(calls.read_text(encoding="utf-8").count("\n"), 2)

    def test_the_page_has_the_roles_variables_and_their_defaults(self):
        role = PACKAGING / "ansible/roles/heddle"
        defaults = yaml.safe_load((role / "defaults/main.yml").read_text(encoding="utf-8"))
        page = (ROOT / "docs/how-to/ansible.md").read_text(encoding="utf-8")
        rows = dict(re.findall(r"(?m)^\| `(heddle_\w+)` \| (.*?) \| ", page))
        self.assertEqual(list(rows), list(defaults))
        for name, value in defaults.items():
            words = value if isinstance(value, list) else [value] if value else ["none"]
            self.assertEqual(rows[name].replace("`", ""), ", ".join(map(str, words)))
        written = set(re.findall(r"dest: (/\S+heddle.toml)", (role / "tasks/present.yml").read_text(encoding="utf-8")))
        self.assertEqual(written, set(re.findall(r"(/etc\S*heddle\.toml)", (role / "defaults/main.yml").read_text())))

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
