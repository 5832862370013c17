#!/usr/bin/env python3
"""The Kubernetes manifest of the NCCL guide, read without a cluster: its parts fit together, and the image's too."""

import fnmatch
import pathlib
import re
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/nccl"


def documents():
    text = (FOLDER / "job.yaml").read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


class Manifest(unittest.TestCase):
    def setUp(self):
        found = documents()
        self.assertEqual(sorted(found), ["Job", "Service"])
        self.service, self.job = found["Service"], found["Job"]
        self.pod = self.job["spec"]["template"]["spec"]
        [self.container] = self.pod["containers"]
        self.environment = {each["name"]: each["value"] for each in self.container["env"]}

    def test_versions_and_names(self):
        self.assertEqual(self.service["apiVersion"], "v1")
        self.assertEqual(self.job["apiVersion"], "batch/v1")
        for document in (self.service, self.job):
            self.assertRegex(document["metadata"]["name"], r"^[a-z]([-a-z0-9]*[a-z0-9])?$")

    def test_all_values_of_the_environment_are_texts(self):
        for name, value in self.environment.items():
            self.assertIsInstance(value, str, name)

    def test_ranks_find_the_first_pod(self):
        spec = self.job["spec"]
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual(spec["completions"], spec["parallelism"])
        self.assertEqual(self.service["spec"]["clusterIP"], "None")
        self.assertEqual(self.pod["subdomain"], self.service["metadata"]["name"])
        labels = self.job["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(self.service["spec"]["selector"].items(), labels.items())
        words = self.container["command"]
        name = self.job["metadata"]["name"]
        self.assertIn(f"--rdzv-endpoint={name}-0.{self.pod['subdomain']}:29500", words)
        self.assertIn(f"--nnodes={spec['completions']}", words)
        self.assertIn("--node-rank=$(JOB_COMPLETION_INDEX)", words)

    def test_resources_are_guaranteed_and_match_the_ranks(self):
        resources = self.container["resources"]
        self.assertEqual(resources["requests"], resources["limits"])
        gpus = resources["limits"]["nvidia.com/gpu"]
        self.assertIn(f"--nproc-per-node={gpus}", self.container["command"])
        self.assertGreaterEqual(int(resources["limits"]["cpu"]), 2 * gpus)

    def test_volumes_are_mounted_and_keys_are_private(self):
        volumes = {each["name"]: each for each in self.pod["volumes"]}
        mounts = {each["name"]: each["mountPath"] for each in self.container["volumeMounts"]}
        self.assertEqual(sorted(volumes), sorted(mounts))
        self.assertEqual(volumes["keys"]["secret"]["defaultMode"], 0o400)
        self.assertTrue(self.environment["HEDDLE_KEY_FILE"].startswith(mounts["keys"] + "/"))

    def test_no_privilege_beyond_the_buffers(self):
        self.assertEqual(self.container["securityContext"]["capabilities"], {"drop": ["ALL"], "add": ["NET_ADMIN"]})
        self.assertEqual(self.pod["restartPolicy"], "Never")
        self.assertEqual((self.pod["hostNetwork"], self.pod["dnsPolicy"]), (True, "ClusterFirstWithHostNet"))

    def test_variables_are_listed_in_the_reference(self):
        page = (ROOT / "docs/reference/nccl.md").read_text(encoding="utf-8")
        image = (FOLDER / "Containerfile").read_text(encoding="utf-8")
        names = set(self.environment) | set(re.findall(r"\b((?:NCCL|HEDDLE|LD)_[A-Z_]+)=", image))
        self.assertIn("NCCL_NET_PLUGIN", names)
        for name in names:
            self.assertIn(f"`{name}`", page)

    def test_the_image_takes_the_archive_and_keeps_its_search_path(self):
        """It compiled the whole tree, and demanded a newer glibc than the archive needs."""
        image = (FOLDER / "Containerfile").read_text(encoding="utf-8")
        self.assertIn("LD_LIBRARY_PATH=/opt/heddle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", image)
        self.assertNotRegex(image, r"(?m)^RUN ")
        [pattern] = re.findall(r"(?m)^ADD (\S+) /$", image)
        maker = (ROOT / "packaging/archive").read_text(encoding="utf-8")
        [name] = re.findall(r"(?m)^name=(.*)$", maker)
        made = name.replace("$version", "0.1.0~git20261130.0").replace("$(uname -m)", "x86_64")
        self.assertTrue(fnmatch.fnmatch(f"{made}.tar.xz", pattern), (made, pattern))
        [glibc] = re.findall(r"(?m)^glibc=(\d\.\d+)$", (ROOT / "scripts/packages").read_text(encoding="utf-8"))
        self.assertEqual(re.findall(r"glibc (\d\.\d+)", image), [glibc])

    def test_the_image_is_the_one_that_the_guide_builds(self):
        guide = (ROOT / "docs/how-to/nccl_jobs.md").read_text(encoding="utf-8")
        command = f"podman build -f examples/nccl/Containerfile -t {self.container['image']} build/dist\n"
        self.assertIn(command, guide)
        self.assertIn(command, (FOLDER / "Containerfile").read_text(encoding="utf-8"))

    def test_the_guides_begin_with_packages_and_archive(self):
        """They had `make install` alone, into another folder than that of the packages."""
        guide = (ROOT / "docs/how-to/nccl.md").read_text(encoding="utf-8")
        install = guide.split("\n## Install\n")[1].split("\n## ")[0]
        words = ("apt install ./heddle_*.deb ./heddle-nccl_*.deb", "the prefix is /usr", "tar -xf heddle-*",
                 "the prefix is /opt/heddle", "make install")
        places = [install.find(each) for each in words]
        self.assertEqual(places, sorted(places))
        self.assertNotIn(-1, places)
        for line in (ROOT / "docs/how-to/nccl_jobs.md").read_text(encoding="utf-8").splitlines():
            if "/opt/heddle" in line:
                self.assertIn("With the archive `export PATH=/opt/heddle/bin:$PATH` goes before", line)


if __name__ == "__main__":
    unittest.main()
