#!/usr/bin/env python3
"""The container images' recipes, run by buildah on bases and packages that are made up, without a network: the image of
the packages comes out the same twice and has what its recipe says; an NCCL job's own image gets the archive."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "packaging/container/build"
BUSYBOX = pathlib.Path("/bin/busybox")
# In place of Debian's: installs what it is given, and leaves logs and caches that differ each time, as apt does.
APT_GET = """#!/bin/sh
mkdir -p /var/lib/apt/lists /var/cache/apt/archives /var/cache/ldconfig /var/log/apt
for each in /var/lib/apt/lists/x /var/cache/apt/pkgcache.bin /var/cache/apt/archives/x.deb \
  /var/cache/ldconfig/aux-cache /var/log/apt/term.log /var/log/dpkg.log /var/log/alternatives.log; do
  head -c 16 /dev/urandom >$each
done
[ $1 != install ] || cp $4 $5 /opt/
"""
CREATED = "2026-11-30T12:34:56Z"


def missing():
    if os.geteuid() != 0:
        return "needs root, for a base with files of several users"
    for tool in ("buildah", "dpkg-deb", "xz"):
        if shutil.which(tool) is None:
            return f"there is no {tool}: scripts/setup --packages"
    if not BUSYBOX.exists() or subprocess.run(["ldd", BUSYBOX], capture_output=True, check=False).returncode == 0:
        return "there is no busybox that needs no library: scripts/setup --vm"
    return ""


def run(*words, status=0, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, check=False,
                          env=program.environment(), **options)
    if done.returncode != status:
        raise AssertionError(f"{words}: {done.stdout}\n{done.stderr}")
    return done.stdout if status == 0 else done.stderr


class Image:
    """An OCI archive: its configuration, and the files of its layers, without those that a later layer removes."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            blobs = {name: archive.extractfile(name).read() for name in archive.getnames()
                     if archive.getmember(name).isfile()}
            [self.listed] = json.loads(blobs["index.json"])["manifests"]
            manifest = json.loads(self._blob(blobs, self.listed))
            self.config = json.loads(self._blob(blobs, manifest["config"]))
            self.files, self.times = {}, set()
            with tempfile.TemporaryDirectory() as folder:
                for layer in manifest["layers"]:
                    file = pathlib.Path(folder) / "layer"
                    file.write_bytes(self._blob(blobs, layer))
                    self._read_layer(file)

    @staticmethod
    def _blob(blobs, described):
        return blobs["blobs/" + described["digest"].replace(":", "/")]

    def _read_layer(self, path):
        with tarfile.open(path) as layer:
            for each in layer.getmembers():
                self.times.add(each.mtime)
                folder, _, name = each.name.strip("/").rpartition("/")
                if name.startswith(".wh."):
                    gone = f"{folder}/{name.removeprefix('.wh.')}"
                    self.files = {path: file for path, file in self.files.items()
                                  if path != gone and not path.startswith(f"{gone}/")}
                else:
                    self.files[each.name.strip("/")] = each


class ContainerImage(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-image-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.made = self.folder / "dist"
        self.made.mkdir()
        self.base = self.folder / "base"
        self.put(self.base / "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for name in ("sh", "mkdir", "head", "cp", "rm"):
            (self.base / "bin" / name).symlink_to("busybox")
        self.put(self.base / "usr/bin/apt-get", APT_GET.encode(), 0o755)
        (self.base / "opt").mkdir()

    @staticmethod
    def put(path, data=b"", mode=0o644):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)

    def make_packages(self):
        for name in ("heddle", "heddle-nccl", "heddle-agent"):
            control = f"Package: {name}\nVersion: 0.1.0~git1.0\nArchitecture: all\nMaintainer: t <t@example.com>\n"
            self.put(self.folder / name / "DEBIAN/control", f"{control}Description: made up\n".encode())
            run("dpkg-deb", "--build", self.folder / name, self.made / f"{name}_0.1.0~git1.0_all.deb")
        (self.made / "heddle_0.1.0~git1.0.spdx.json").write_text(json.dumps(
            {"creationInfo": {"created": CREATED}}, indent=1))
        (self.made / "SHA256SUMS").write_text("0  heddle-image_0.0.9.oci.tar\n1  other\n")

    def build(self):
        run(BUILD, self.made, self.base)
        [path] = self.made.glob("*.oci.tar")
        return path

    def test_the_packages_image_is_the_same_twice_and_has_no_trace_of_its_build(self):
        """Logs of apt and dpkg and times of files were of the build, and no sum named the image."""
        self.make_packages()
        for name in ("etc/hostname", "etc/resolv.conf", "var/log/bootstrap.log", "tmp/x"):  # of this machine
            self.put(self.base / name, os.urandom(16))
        path = self.build()
        self.assertEqual(path.name, "heddle-image_0.1.0~git1.0.oci.tar")
        first = path.read_bytes()
        for name in ("etc/hostname", "etc/resolv.conf", "var/log/bootstrap.log", "tmp/x"):
            self.put(self.base / name, os.urandom(16))
        self.assertEqual(hashlib.sha256(self.build().read_bytes()).digest(), hashlib.sha256(first).digest())
        self.assertEqual((self.made / "SHA256SUMS").read_text(),
                         f"1  other\n{hashlib.sha256(first).hexdigest()}  {path.name}\n")
        image = Image(path)
        self.assertEqual(image.listed["annotations"], {"org.opencontainers.image.ref.name": "heddle:0.1"})
        self.assertEqual((image.config["config"]["User"], image.config["config"]["Entrypoint"]),
                         ("65534:65534", ["heddle"]))
        self.assertEqual(image.config["created"], CREATED)
        self.assertEqual(len(image.times), 1, image.times)
        self.assertLessEqual({"opt/heddle_0.1.0~git1.0_all.deb", "opt/heddle-nccl_0.1.0~git1.0_all.deb"},
                             set(image.files))
        left = [name for name, each in image.files.items() if each.isfile() and name.startswith(("var", "tmp"))]
        self.assertEqual(left, [])

    def test_what_is_missing_is_named(self):
        self.assertIn("has no heddle\n  do:  run make packages", run(BUILD, self.made, self.base, status=2))
        self.make_packages()
        self.assertIn("has no apt-get\n  do:  make a base: debootstrap --variant=minbase bookworm",
                      run(BUILD, self.made, self.folder, status=2))
        (self.base / "usr/bin/apt-get").write_text("#!/bin/sh\necho no archive >&2\nexit 100\n")
        said = run(BUILD, self.made, self.base, status=2)
        self.assertIn("no archive\n", said)
        self.assertIn("error: buildah does not build the image\n", said)
        self.assertEqual(list(self.made.glob("*.oci.tar")), [])

    def test_a_jobs_own_image_gets_program_and_libraries_of_the_archive(self):
        tree = self.folder / "heddle-0.1.0-linux-x86_64"
        for name in ("bin/heddle", "lib/libnccl-net-heddle.so", "lib/heddle/libfmt.so.9", "include/heddle.h"):
            self.put(tree / name, name.encode(), 0o755)
        (tree / "lib/librccl-net-heddle.so").symlink_to("libnccl-net-heddle.so")
        run("tar", "-cJf", self.made / f"{tree.name}.tar.xz", "-C", self.folder, tree.name)
        store = ["--root", self.folder / "images", "--runroot", self.folder / "runs", "--storage-driver", "vfs"]
        job = run("buildah", *store, "from", "scratch").strip()
        run("buildah", *store, "config", "--user", "1000", "--env", "LD_LIBRARY_PATH=/job/lib", job)
        run("buildah", *store, "copy", "--quiet", job, self.base, "/")
        run("buildah", *store, "commit", "--quiet", "--rm", job, "localhost/job")
        run("buildah", *store, "build", "--isolation", "chroot", "--pull=never", "--build-arg",
            "JOB_IMAGE=localhost/job", "-f", ROOT / "examples/nccl/Containerfile", "-t", "localhost/train", self.made)
        run("buildah", *store, "push", "--quiet", "localhost/train", f"oci-archive:{self.folder}/train.tar")
        image = Image(self.folder / "train.tar")
        self.assertEqual(image.config["config"]["User"], "1000")
        self.assertLessEqual({"NCCL_NET_PLUGIN=heddle", "NCCL_NET=heddle", "LD_LIBRARY_PATH=/opt/heddle/lib:/job/lib"},
                             set(image.config["config"]["Env"]))
        here = {name.removeprefix("opt/heddle/") for name, each in image.files.items()
                if name.startswith("opt/heddle/") and not each.isdir()}
        self.assertEqual(here, {"bin/heddle", "lib/libnccl-net-heddle.so", "lib/librccl-net-heddle.so",
                                "lib/heddle/libfmt.so.9"})
        self.assertIn("bin/busybox", image.files)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
