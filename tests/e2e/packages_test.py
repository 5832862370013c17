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
# What stripped files take, in bytes: 17.4, 2.6, 1.9 and 0.9 MB when this was written, of GCC 12 for x86-64, and a tenth
# for what is to come. The program with its debug information had 53 MB.
MOST_BYTES = {"bin/heddle": 19.0e6, "lib/libnccl-net-heddle.so": 2.9e6, "lib/libheddle.so.0.1": 2.2e6,
              "lib/libheddle-nccl-trace.so": 1.2e6}
SUM = """import sys, torch, torch.distributed as ranks, heddle_torch
ranks.init_process_group("heddle")
both = torch.ones(2)
ranks.all_reduce(both)
print(both.tolist(), sys.prefix if heddle_torch.__file__.startswith(sys.prefix) else heddle_torch.__file__)
ranks.destroy_process_group()
"""
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
            "heddle-agent": ("lib/sysusers.d/heddle-agent.conf", "share/doc/heddle-agent/copyright"),
            "libheddle0.1": ("lib/libheddle.so.0.1",),
            "libheddle-dev": ("lib/libheddle_transport.a", "lib/cmake/heddle/heddle-config.cmake", "include/heddle.h",
                              "include/heddle/transport/endpoint.h", "lib/libheddle.so"),
            "heddle-nccl": ("lib/libnccl-net-heddle.so", "lib/librccl-net-heddle.so", "lib/libheddle-nccl-trace.so")}
        self.assertEqual(set(self.packages) - {"heddle-torch", "heddle-nccl-dbgsym"}, set(wanted))
        for package, names in wanted.items():
            found = self.contents(package)
            for name in names:
                self.assertIn(f"./usr/{name}", found)
        # Two versions of the library, which programs of each need, can be installed side by side.
        [soname] = re.findall(r"SONAME +(\S+)", run("objdump", "-p", self.unpacked() / "usr/lib/libheddle.so.0.1"))
        self.assertIn(soname.replace(".so.", ""), self.packages)

    @unittest.skipIf(shutil.which("lintian") is None, "there is no lintian: scripts/setup --packages")
    def test_lintian_finds_no_error_and_no_warning(self):
        """heddle_torch's library had a search path of its own. make packages checks the large ones too, in a minute."""
        names = ("heddle-agent", "heddle-nccl", "heddle-torch", "libheddle0.1")
        checked = [path for name, path in self.packages.items() if name in names]
        run("lintian", "--fail-on", "error,warning", "--allow-root", *checked)

    def test_packing_again_gives_the_same_bytes(self):
        """Into another folder, with another umask, time zone, language and number of jobs. scripts/same_bytes compares
        two whole builds likewise."""
        again = self.folder / "a-longer-name/of-a-folder/dist"
        run("env", "TZ=Asia/Tokyo", "LANG=C", ROOT / "scripts/packages", "--from", BUILD, "--to", again, "--fast",
            "--jobs", 1, umask=0o077)
        first, second = ({line for line in (folder / "SHA256SUMS").read_text().splitlines()
                          if not line.endswith(".buildinfo")} for folder in (self.made, again))
        self.assertGreater(len(first), 6)
        self.assertEqual(sorted(line.split()[1] for line in first ^ second), [])

    def test_the_agents_service_has_few_rights_and_is_well_formed(self):
        tree = self.folder / "agent"
        for package in ("heddle", "heddle-agent"):
            run("dpkg-deb", "-x", self.packages[package], tree)
        self.assertIn("/etc/default/heddle-agent\n", run("dpkg-deb", "-I", self.packages["heddle-agent"], "conffiles"))
        unit = tree / "lib/systemd/system/heddle-agent.service"
        text = unit.read_text(encoding="utf-8")
        for line in ("CapabilityBoundingSet=CAP_SYSLOG", "NoNewPrivileges=yes", "ProtectSystem=strict",
                     "DeviceAllow=/dev/kmsg r", "Group=heddle-agent"):
            self.assertIn(f"\n{line}\n", text)
        self.assertNotIn("SupplementaryGroups", text)
        self.assertLess(text.index("[Service]"), text.index("\nRestart="))
        self.assertLess(text.index("\nRestart="), text.index("[Install]"))
        if shutil.which("systemd-analyze") is None:
            self.skipTest("there is no systemd-analyze")
        there = self.folder / "heddle-agent.service"  # with the program that it finds here
        there.write_text(text.replace("/usr/bin/heddle", str(tree / "usr/bin/heddle")).replace("Documentation", "#"))
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", there], capture_output=True, text=True,
                              timeout=200, check=False)
        self.assertEqual([line for line in said.stderr.splitlines() if "heddle-agent" in line], [])

    def test_programs_have_their_debug_information_apart(self):
        """Where debuggers find it: by the number of the build, which is in both. --fast makes one such package."""
        tree, apart = self.unpacked(), self.folder / "apart"
        run("dpkg-deb", "-x", self.packages["heddle-nccl-dbgsym"], apart)
        for name in ("bin/heddle", "lib/libheddle.so.0.1", "lib/libnccl-net-heddle.so", "lib/libheddle-nccl-trace.so"):
            self.assertNotIn(".debug_info", run("objdump", "-h", tree / "usr" / name))
            [number] = re.findall(r"Build ID: (\w+)", run("readelf", "-n", tree / "usr" / name))
            if "nccl" in name:
                symbols = apart / f"usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug"
                self.assertIn(".debug_info", run("objdump", "-h", symbols))
        for name, most in MOST_BYTES.items():
            self.assertLess((tree / "usr" / name).stat().st_size, most, name)

    def test_binaries_need_no_newer_glibc_than_the_page_says(self):
        page = (ROOT / "docs/how-to/packages.md").read_text(encoding="utf-8")
        documented = {name.strip("`"): glibc
                      for names, glibc in re.findall(r"(?m)^\| ([^|]+) \| (2\.\d+) \|", page)
                      for name in names.split(", ")}
        tree = self.unpacked()
        binaries = {"the program": tree / "usr/bin/heddle", "libheddle.so": tree / "usr/lib/libheddle.so.0.1",
                    **{name: tree / "usr/lib" / name for name in ("libnccl-net-heddle.so", "libheddle-nccl-trace.so")}}
        message = (ROOT / "plugins/torch/heddle_torch/__init__.py").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"glibc (2\.\d+) or newer", message), [documented["heddle_torch"]])
        if "heddle-torch" in self.packages:
            run("dpkg-deb", "-x", self.packages["heddle-torch"], self.folder / "torch_package")
            [binaries["heddle_torch"]] = (self.folder / "torch_package").rglob("_backend*.so")
        self.assertEqual(set(documented), {*binaries, "heddle_torch"})
        for name, path in binaries.items():
            needed = max(tuple(map(int, found.split(".")))
                         for found in re.findall(r"GLIBC_(2\.\d+)", run("objdump", "-T", path)))
            self.assertEqual(needed, tuple(map(int, documented[name].split("."))), name)

    def refused_by_needs(self, *words):
        done = subprocess.run([PYTHON, "-B", NEEDS, *words], capture_output=True, text=True, timeout=200, check=False,
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
                         "the preset archive is not built; make packages, which builds it, checks the same")
    def test_the_build_for_older_systems_needs_glibc_2_31_and_no_other_library(self):
        for folder in ("bin", "lib"):
            run(PYTHON, "-B", NEEDS, ROOT / "build/archive" / folder, "--glibc", "2.31", "--libraries", "libgcc_s.so.1")
        self.assertIn("heddle", run(ROOT / "build/archive/bin/heddle", "--version"))

    def system(self, name):
        """A root with no package, (its folder, dpkg's words for it, all paths but dpkg's own)."""
        root = self.folder / name
        for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info"):
            (root / folder).mkdir(parents=True)
        for file in ("status", "available"):
            (root / "var/lib/dpkg" / file).touch()
        dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", f"--log={self.folder}/log"]
        return root, dpkg, lambda: {path for path in root.rglob("*") if "var/lib/dpkg" not in str(path)}

    # The scripts of heddle-torch compile its Python files, that of heddle-agent makes a user: scripts/try_packages.
    def names(self):
        return [name for name in self.packages
                if name not in ("heddle-torch", "heddle-agent") and not name.endswith("-dbgsym")]

    @unittest.skipUnless(os.geteuid() == 0, "dpkg needs root")
    def test_installs_runs_and_leaves_nothing_after_a_purge(self):
        root, dpkg, listing = self.system("root")
        names, before = self.names(), listing()
        run(*dpkg, "-i", *(self.packages[name] for name in names))
        said = run(root / "usr/bin/heddle", "--version")
        self.assertEqual(said, program.run("--version").stdout)
        with program.server("--bind", "127.0.0.1") as (_, port):
            self.assertIn("each verified", run(root / "usr/bin/heddle", "ping", f"127.0.0.1:{port}", "-C", 2))
        run(*dpkg, "--remove", *names)
        run(*dpkg, "--purge", *names)
        self.assertEqual(listing() - before, set())

    @unittest.skipUnless(os.geteuid() == 0, "dpkg needs root")
    def test_an_upgrade_and_the_way_back_leave_the_files_of_each_version_and_the_administrators(self):
        root, dpkg, listing = self.system("upgraded")
        older = self.folder / "older"
        run(ROOT / "packaging/as_version", self.made, "0.0.9", older)
        new = [self.packages[name] for name in self.names()]
        old = [path for path in older.glob("*.deb") if path.name.split("_")[0] in self.names()]
        self.assertEqual(len(old), len(new))
        run(*dpkg, "-i", *old)
        settings = root / "etc/heddle/heddle.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("paths = 17\n")
        of_old, only_in_old = listing(), root / "usr/share/heddle/only_in_0.0.9"
        self.assertIn(only_in_old, of_old)
        run(*dpkg, "-i", *new)
        self.assertEqual(of_old - listing(), {only_in_old})
        self.assertEqual(run(root / "usr/bin/heddle", "--version"), program.run("--version").stdout)
        run(*dpkg, "-i", *old)  # the way back
        self.assertEqual(listing(), of_old)
        run(*dpkg, "--purge", *self.names())
        self.assertEqual({path for path in listing() if path.is_file() and "etc/" in str(path)}, {settings})
        self.assertEqual(settings.read_text(), "paths = 17\n")
        self.assertFalse([path for path in listing() if "heddle" in path.name and path.parent != root / "etc"
                          and path != settings])

    def test_going_back_keeps_the_agent(self):
        """apt took heddle-agent away, or refused, where an older heddle was installed without it."""
        older = self.folder / "back"
        run(ROOT / "packaging/as_version", self.made, "0.1~1", older)
        status = self.folder / "status"
        installed = [self.packages["heddle"], self.packages["heddle-agent"]]
        status.write_text(pathlib.Path("/var/lib/dpkg/status").read_text(encoding="utf-8") + "\n" + "\n".join(
            run("dpkg-deb", "-f", package).replace("\nVersion:", "\nStatus: install ok installed\nVersion:")
            for package in installed), encoding="utf-8")
        apt = ["apt-get", "-s", "-o", f"Dir::State::status={status}", "install", "-y", "--allow-downgrades"]
        for names in (["heddle"], ["heddle", "heddle-agent"]):
            said = run(*apt, *(path for name in names for path in older.glob(f"{name}_*.deb")))
            self.assertEqual(re.findall(r"(?m)^(\w+) (heddle\S*) ", said)[:len(names)],
                             [("Inst", name) for name in names])
            self.assertNotIn("Remv", said)

    def test_no_package_brings_a_file_of_settings(self):
        """Every setting has a default, so /etc/heddle/heddle.toml is the administrator's own file and no conffile."""
        for name in ("heddle", "libheddle0.1", "libheddle-dev", "heddle-nccl"):
            self.assertFalse([path for path in self.contents(name) if path.startswith("./etc/heddle/heddle.toml")])

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
        recipe = (ROOT / "examples/nccl/Containerfile").read_text(encoding="utf-8")
        taken = re.findall(r"(?m)^COPY --from=archive /heddle-\*/(\S+) ", recipe)
        self.assertEqual(taken, ["bin/heddle", "lib/"])
        self.assertTrue(all((tree / each).exists() for each in (*taken, "lib/libnccl-net-heddle.so")))
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

    def test_pip_installs_the_wheel_beside_torch_and_ranks_use_it(self):
        wheel = self.made_one(".whl")
        if subprocess.run([PYTHON, "-c", "import torch, venv, ensurepip"], capture_output=True, check=False).returncode:
            self.skipTest("there is no torch, or no python3-venv: scripts/setup --torch")
        place = self.folder / "venv"
        run(PYTHON, "-m", "venv", "--system-site-packages", place)
        run(place / "bin/pip", "--isolated", "install", "--no-index", wheel)
        said = run(program.HEDDLE, "run", "-n", 2, "--", place / "bin/python", "-c", SUM)
        self.assertEqual(said.splitlines(), 2 * [f"[2.0, 2.0] {place}"])
        run(place / "bin/pip", "uninstall", "-y", "heddle-torch")
        self.assertEqual(list(place.rglob("*heddle*")), [])

    def test_the_readmes_training_runs_with_the_package(self):
        """README had one for a clone alone. Where the model needs torchvision, which the package does not depend on,
        and it is missing, one sentence says so."""
        if "heddle-torch" not in self.packages:
            self.skipTest("this build has no heddle_torch")
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertRegex(readme, r"(?m)^sudo apt install \./heddle-torch_\*\.deb")
        [words] = re.findall(r"(?m)^heddle (run .*-- python3 -m heddle_torch\.train[^#\n]*)", readme)
        place = self.folder / "torch_of_readme"
        run("dpkg-deb", "-x", self.packages["heddle-torch"], place)
        modules = place / "usr/lib/python3/dist-packages"
        words = words.replace("python3", PYTHON).split()
        short = ("--steps", "1", "--warm-up", "0", "--measure", "0")
        done = program.run(*words, *short, settings={"PYTHONPATH": str(modules)}, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\w+, \d ranks, heddle, made images$")
        (modules / "torchvision.py").write_text("raise ImportError\n")
        done = program.run("run", "-n", 1, "--", PYTHON, "-m", "heddle_torch.train",
                           settings={"PYTHONPATH": str(modules)}, timeout=200)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("error: there is no torchvision, which has the model resnet18 (install python3-torchvision, or "
                      "take --model small)", done.stderr)

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
                              capture_output=True, text=True, timeout=200, check=False)
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
        files = {path.name for path in self.made.iterdir()} - {"SHA256SUMS"}
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
        self.assertEqual(set(made), {name for name in files if not name.endswith((".json", ".buildinfo"))})
        for name, package in made.items():
            self.assertEqual(package["checksums"][0]["checksumValue"], sums[name])
        self.assertIn("libssl3", [package["name"] for package in sbom["packages"]])

    def test_a_folder_without_a_build_is_refused(self):
        done = subprocess.run([ROOT / "scripts/packages", "--from", self.folder], env=program.environment(),
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it has no bin/heddle", done.stderr)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
