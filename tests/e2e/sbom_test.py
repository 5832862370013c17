#!/usr/bin/env python3
"""The SBOM (packaging/sbom.py) of packages that are made up: what they depend on and have inside is listed, known to
this system or not, and nothing else."""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import program

SBOM = pathlib.Path(__file__).resolve().parents[2] / "packaging/sbom.py"
LIBRARY = ("g++", "-shared", "-x", "c++", "/dev/null", "-Wl,--no-as-needed", "-lcrypto", "-o")


class Sbom(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-sbom-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.made = self.folder / "made"
        self.made.mkdir()

    def deb(self, name, architecture, depends):
        tree = self.folder / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: {architecture}\nMaintainer: t <t@example.com>\n"
            f"Depends: {depends}\nDescription: made up\n")
        subprocess.run(["dpkg-deb", "--build", tree, self.made / f"{name}_1_{architecture}.deb"], check=True,
                       capture_output=True)

    def written(self, *words, status=0):
        to = self.folder / "sbom.json"
        done = subprocess.run(["/usr/bin/python3", "-B", SBOM, "--version", "1", "--to", to, *words],
                              env=program.environment(), capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.warnings = done.stderr
        if status:
            return
        found = json.loads(to.read_text(encoding="utf-8"))
        self.names = {each["SPDXID"]: each["name"] for each in found["packages"]}
        self.assertEqual(len(self.names), len(found["packages"]))
        self.by_name = {each["name"]: each for each in found["packages"]}
        self.relations = {(self.names.get(each["spdxElementId"]), each["relationshipType"],
                           self.names[each["relatedSpdxElement"]]) for each in found["relationships"]}

    def related(self, name, kind):
        """Names of packages that this one depends on or contains, or that are linked into it."""
        if kind == "STATIC_LINK":
            return {first for first, what, last in self.relations if (what, last) == (kind, name)}
        return {last for first, what, last in self.relations if (first, what) == (name, kind)}

    def test_a_package_without_programs_has_no_code_of_others_inside(self):
        """A unit file was said to contain Boost and fmt."""
        self.deb("heddle", "amd64", "libc6 (>= 2.3)")
        self.deb("heddle-agent", "all", "heddle (>= 0.1~)")
        self.written(self.made)
        self.assertIn("libfmt-dev", self.related("heddle", "STATIC_LINK"))
        self.assertEqual(self.related("heddle-agent", "STATIC_LINK"), set())
        self.assertEqual(self.related("heddle-agent", "DEPENDS_ON"), {"heddle"})

    def test_a_dependency_that_is_not_installed_is_listed_without_a_version(self):
        """It vanished, and with it the word that there is one."""
        self.deb("heddle", "amd64", "libc6 (>= 2.3), not-there-1 (>= 2) | not-there-2, not-there-3 | libc6")
        self.written(self.made)
        self.assertEqual(self.related("heddle", "DEPENDS_ON"), {"libc6", "not-there-1"})
        self.assertIn("versionInfo", self.by_name["libc6"])
        self.assertNotIn("versionInfo", self.by_name["not-there-1"])
        self.assertIn("warning: the SBOM has not-there-1 without a version: it is not installed here", self.warnings)

    @unittest.skipIf(shutil.which("g++") is None, "there is no g++")
    def test_a_wheel_depends_on_its_torch_and_on_what_its_library_needs(self):
        """It had no dependencies."""
        library = self.folder / "_backend.so"
        subprocess.run([*LIBRARY, library], check=True)
        wheel = self.made / "heddle_torch-1-cp311-cp311-linux_x86_64.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(library, "heddle_torch/_backend.so")
            archive.writestr("heddle_torch-1.dist-info/METADATA", "Name: x\nRequires-Dist: torch >=1.13.0a0,<1.14\n")
        self.written(self.made)
        depends = self.related(wheel.name, "DEPENDS_ON")
        self.assertLessEqual({"torch", "libssl3", "libc6"}, depends)
        self.assertLessEqual(depends, {"torch", "libssl3", "libc6", "libstdc++6", "libgcc-s1"})
        self.assertEqual(self.by_name["torch"]["externalRefs"][0]["referenceLocator"], "pkg:pypi/torch")
        self.assertEqual(self.by_name[wheel.name]["checksums"][0]["checksumValue"],
                         hashlib.sha256(wheel.read_bytes()).hexdigest())
        self.assertIn("pybind11-dev", self.related(wheel.name, "STATIC_LINK"))

    def test_an_image_has_all_packages_of_its_root(self):
        root = self.folder / "root"
        (root / "var/lib/dpkg/info").mkdir(parents=True)
        entry = "Package: {}\nStatus: {} ok {}\nArchitecture: amd64\nVersion: {}\nMaintainer: t\nDescription: t\n{}\n"
        (root / "var/lib/dpkg/status").write_text(
            entry.format("base", "install", "installed", "2.0", "") +
            entry.format("heddle-nccl", "install", "installed", "1", "Source: heddle\n") +
            entry.format("gone", "deinstall", "config-files", "3", ""))
        self.written("--image", root)
        self.assertEqual(self.related("image", "CONTAINS"), {"base", "heddle-nccl"})
        self.assertEqual(self.by_name["base"]["versionInfo"], "2.0")
        self.assertIn("heddle_1.spdx.json", self.by_name["heddle-nccl"]["comment"])
        self.written("--image", self.folder / "none", status=1)
        self.assertIn("its dpkg has no packages", self.warnings)


if __name__ == "__main__":
    if shutil.which("dpkg-deb") is None or shutil.which("objdump") is None:
        print("skipped: there is no dpkg-deb or objdump")
        sys.exit(77)
    unittest.main()
