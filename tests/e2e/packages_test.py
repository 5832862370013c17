#!/usr/bin/env python3
"""What scripts/packages makes of this build: what is in it, that it runs where it is unpacked or installed, and that
nothing is left after a purge. scripts/try_packages does the same in a whole Debian of its own."""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(program.HEDDLE).resolve().parents[1]
PYTHON = "/usr/bin/python3"
NEEDS = ROOT / "packaging/system_needs.py"


def missing():
    for tool in ("dh", "dpkg-buildpackage", "dh_python3", "patchelf", "xz"):
        if shutil.which(tool) is None:
            return f"there is no {tool}: scripts/setup --packages"
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    if "HEDDLE_SANITIZERS:STRING=\n" not in cache:
        return "a build with sanitizers is not packed"
    return ""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=400, check=False,
                          env=program.environment(), **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}\n{done.stderr}")
    return done.stdout


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="heddle-packages-")
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        cls.made = cls.folder / "dist"
        run(ROOT / "scripts/packages", "--from", BUILD, "--to", cls.made, "--fast")
        cls.packages = {path.name.split("_")[0]: path for path in cls.made.glob("*.deb")}

    def made_one(self, ending):
        found = list(self.made.glob(f"*{ending}"))
        if not found:
            self.skipTest(f"no {ending}: this build has no heddle_torch")
        return found[0]

    def contents(self, package):
        lines = run("dpkg-deb", "-c", self.packages[package]).splitlines()
        return [line.split(maxsplit=5)[5].split(" -> ")[0] for line in lines]

    def unpacked(self):
        """A folder with the files of the packages that have programs and libraries to run."""
        tree = self.folder / "unpacked"
        for package in ("heddle", "heddle-nccl", "libheddle0.1"):
            run("dpkg-deb", "-x", self.packages[package], tree)
        return tree

    def test_each_package_has_its_files(self):
        wanted = {
            "heddle": ("bin/heddle", "share/bash-completion/completions/heddle", "share/man/man1/heddle-ping.1.gz",
                       "share/zsh/vendor-completions/_heddle", "share/doc/heddle/copyright",
                       "share/heddle/wireshark/heddle.lua",
                       f"lib/{os.uname().machine}-linux-gnu/wireshark/plugins/heddle.lua"),
            "libheddle0.1": ("lib/libheddle.so.0.1",),
            "libheddle-dev": ("lib/libheddle_transport.a", "lib/cmake/heddle/heddle-config.cmake", "include/heddle.h",
                              "include/heddle/transport/endpoint.h", "lib/libheddle.so"),
            "heddle-nccl": ("lib/libnccl-net-heddle.so", "lib/librccl-net-heddle.so", "lib/libheddle-nccl-trace.so")}
        self.assertEqual(set(self.packages) - {"heddle-torch"}, set(wanted))
        for package, names in wanted.items():
            found = self.contents(package)
            for name in names:
                self.assertIn(f"./usr/{name}", found)

    def test_programs_have_no_debug_information_inside(self):
        tree = self.unpacked()
        for name in ("bin/heddle", "lib/libnccl-net-heddle.so", "lib/libheddle.so.0.1"):
            self.assertNotIn(".debug_info", run("objdump", "-h", tree / "usr" / name))
        # A third of the 53 MB that a build has with its debug information.
        self.assertLess((tree / "usr/bin/heddle").stat().st_size, 53e6 / 3)

    def test_binaries_need_no_newer_glibc_than_the_page_says(self):
        page = (ROOT / "docs/how-to/packages.md").read_text(encoding="utf-8")
        documented = dict(re.findall(r"(?m)^\| (?:the program, )?`(lib\S+\.so)`.* \| (2\.\d+) \|", page))
        self.assertEqual(len(documented), 3)
        tree = self.unpacked()
        for name, glibc in documented.items():
            symbols = run("objdump", "-T", tree / "usr/lib" / name.replace("libheddle.so", "libheddle.so.0.1"))
            needed = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(2\.\d+)", symbols))
            self.assertEqual(needed, tuple(map(int, glibc.split("."))), name)

    def refused_by_needs(self, *words):
        done = subprocess.run([PYTHON, "-B", NEEDS, *words], capture_output=True, text=True, timeout=60, check=False,
                              env=program.environment())
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stderr

    def test_what_needs_a_newer_glibc_or_another_library_is_refused_by_name(self):
        tree = self.unpacked() / "usr"
        self.assertRegex(self.refused_by_needs(tree / "lib", "--glibc", "2.30"),
                         r"-trace\.so [^\n]*\n  why: it needs a glibc newer than 2\.30: .*dlopen \(2\.34\)")
        self.assertRegex(self.refused_by_needs(tree / "bin", "--libraries", "libgcc_s.so.1"),
                         r"heddle [^\n]*\n  why: it needs libraries that are not inside: .*libcrypto\.so\.3")
        self.assertRegex(run(PYTHON, "-B", NEEDS, tree / "lib", "--glibc", "2.40"), r"^\d files need glibc 2\.3\d")

    def test_a_build_for_this_system_is_refused_as_an_archive_for_older_ones(self):
        to = self.folder / "refused"
        words = ["--from", BUILD, "--archive-from", BUILD, "--to", to, "--fast"]
        done = subprocess.run([ROOT / "scripts/packages", *words], env=program.environment(), capture_output=True,
                              text=True, timeout=400, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bin/heddle does not run where it should\n  why: it needs a glibc newer than 2.31", done.stderr)
        self.assertEqual(list(to.glob("heddle*")), [])

    @unittest.skipUnless((ROOT / "build/archive/bin/heddle").exists(),
                         "the preset archive is not built: scripts/sysroot amd64 bullseye, scripts/build archive")
    def test_the_build_for_older_systems_needs_glibc_2_31_and_no_other_library(self):
        for folder in ("bin", "lib"):
            run(PYTHON, "-B", NEEDS, ROOT / "build/archive" / folder, "--glibc", "2.31", "--libraries", "libgcc_s.so.1")
        self.assertIn("heddle", run(ROOT / "build/archive/bin/heddle", "--version"))

    @unittest.skipUnless(os.geteuid() == 0, "dpkg needs root")
    def test_installs_runs_and_leaves_nothing_after_a_purge(self):
        root = self.folder / "root"
        for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info"):
            (root / folder).mkdir(parents=True)
        for file in ("status", "available"):
            (root / "var/lib/dpkg" / file).touch()
        dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", f"--log={self.folder}/log"]
        # The scripts of heddle-torch compile its Python files; scripts/try_packages runs those.
        names = [name for name in self.packages if name != "heddle-torch"]
        listing = lambda: {path for path in root.rglob("*") if "var/lib/dpkg" not in str(path)}
        before = listing()
        run(*dpkg, "-i", *(self.packages[name] for name in names))
        said = run(root / "usr/bin/heddle", "--version")
        self.assertEqual(said, program.run("--version").stdout)
        with program.server("--bind", "127.0.0.1") as (_, port):
            self.assertIn("each verified", run(root / "usr/bin/heddle", "ping", f"127.0.0.1:{port}", "-C", 2))
        run(*dpkg, "--remove", *names)
        run(*dpkg, "--purge", *names)
        self.assertEqual(listing() - before, set())

    def test_the_archive_runs_where_it_is_unpacked(self):
        place = self.folder / "elsewhere"
        place.mkdir()
        run("tar", "-xf", self.made_one(".tar.xz"), "-C", place)
        [tree] = place.iterdir()
        self.assertEqual(run(tree / "bin/heddle", "--version"), program.run("--version").stdout)
        for binary in ("bin/heddle", "lib/libheddle.so.0.1"):
            for name, path in re.findall(r"lib(fmt|spdlog|tomlplusplus)\.so\S* => (.*) \(", run("ldd", tree / binary)):
                self.assertIn("/lib/heddle/", os.path.normpath(path), name)
        needs = (tree / "share/doc/heddle/ARCHIVE.md").read_text(encoding="utf-8")
        self.assertRegex(needs, r"\n\| `bin/heddle` \| 2\.\d+ \| .*libcrypto\.so\.3")
        self.assertTrue((tree / "share/heddle/wireshark/heddle.lua").is_file())
        described = run("pkg-config", "--variable=libdir", tree / "lib/pkgconfig/heddle.pc").strip()
        self.assertEqual(os.path.normpath(described), str(tree / "lib"))

    def test_the_wheels_record_is_right_and_its_tag_names_the_python(self):
        path = self.made_one(".whl")
        self.assertRegex(path.name, r"^heddle_torch-[0-9a-z.+]+-cp3\d+-cp3\d+-linux_\w+\.whl$")
        with zipfile.ZipFile(path) as wheel:
            [record] = [name for name in wheel.namelist() if name.endswith("RECORD")]
            rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
            self.assertEqual(sorted(row[0] for row in rows), sorted(wheel.namelist()))
            for name, check, size in rows:
                if name != record:
                    made = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual((check, int(size)), (f"sha256={made}", len(wheel.read(name))))
            self.assertIn("Requires-Dist: torch >=", wheel.read(record.replace("RECORD", "METADATA")).decode())

    def import_wheel(self, name, built=None, torch=None):
        """The error's last line when the wheel's package, made for another Python or torch, is imported."""
        place = self.folder / name
        with zipfile.ZipFile(self.made_one(".whl")) as wheel:
            wheel.extractall(place)
        if built:
            (place / "heddle_torch/_built.py").write_text(f'PYTHON = "{built}"\nTORCH = "1.13"\n')
        if torch:
            (place / "torch/distributed").mkdir(parents=True)
            (place / "torch/__init__.py").write_text(f'__version__ = "{torch}"\n')
            (place / "torch/distributed/__init__.py").touch()
        done = subprocess.run([PYTHON, "-c", "import heddle_torch"], env=program.environment(PYTHONPATH=str(place)),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        return done.stderr.splitlines()[-1]

    def test_another_python_or_torch_is_named_at_import(self):
        self.assertRegex(self.import_wheel("python", built="3.8"),
                         r"^ImportError: heddle_torch was built with Python 3\.8, this is 3\.\d+\.\d+: build it with "
                         r"this Python \(make torch\), or use Python 3\.8$")
        self.assertRegex(self.import_wheel("torch", torch="2.4.0+cpu"),
                         r"^ImportError: heddle_torch was built with torch 1\.13, this is 2\.4\.0\+cpu: build it with "
                         r"this torch \(make torch\), or use torch 1\.13$")

    def test_sums_and_sbom_cover_every_file(self):
        sums = dict(reversed(line.split("  ")) for line in (self.made / "SHA256SUMS").read_text().splitlines())
        files = {path.name for path in self.made.iterdir() if path.suffix != ".buildinfo"} - {"SHA256SUMS"}
        self.assertEqual(set(sums), files)
        for name, wanted in sums.items():
            self.assertEqual(digest((self.made / name).read_bytes()), wanted)
        sbom = json.loads(self.made_one(".spdx.json").read_text())
        self.assertEqual((sbom["spdxVersion"], sbom["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        ids = [package["SPDXID"] for package in sbom["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in sbom["relationships"]:
            for end in ("spdxElementId", "relatedSpdxElement"):
                self.assertIn(relation[end], [*ids, "SPDXRef-DOCUMENT"])
        made = {package["packageFileName"]: package for package in sbom["packages"] if "packageFileName" in package}
        self.assertEqual(set(made), {name for name in files if not name.endswith(".json")})
        for name, package in made.items():
            self.assertEqual(package["checksums"][0]["checksumValue"], sums[name])
        self.assertIn("libssl3", [package["name"] for package in sbom["packages"]])

    def test_a_folder_without_a_build_is_refused(self):
        done = subprocess.run([ROOT / "scripts/packages", "--from", self.folder], env=program.environment(),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it has no bin/heddle", done.stderr)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
