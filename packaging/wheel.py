#!/usr/bin/env python3
"""Packs heddle_torch, as it is built, into a wheel for the Python and torch that it was built with.

    packaging/wheel.py --package build/packages/python/heddle_torch --version 0.1.0 --to build/dist

The wheel is the same for the same files: names in order, one time (SOURCE_DATE_EPOCH) for all.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import runpy
import sys
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: heddle-torch
Version: {version}
Summary: heddle as a backend of torch.distributed, for tensors in host memory
License: Apache-2.0
Requires-Python: =={python}.*
Requires-Dist: torch >={torch}.0a0,<{next_torch}

`import heddle_torch`, then `torch.distributed.init_process_group("heddle")`. For PyTorch {torch} and Python {python}
on Linux; it needs glibc {glibc}, libstdc++ of GCC {gcc} and OpenSSL 3, or newer ones, of the system.
"""
WHEEL = """Wheel-Version: 1.0
Generator: heddle packaging/wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def python_version(version):
    """0.1.0~git20261125184912.b9bb6c0 as Python writes it: 0.1.0.dev20261125184912+gb9bb6c0."""
    release, _, rest = version.partition("~git")
    if not rest:
        return release
    date, _, revision = rest.partition(".")
    return f"{release}.dev{date}+g{revision.replace('+', '.')}"


def newest(text, name):
    """The newest version of symbols called NAME_x.y that an ELF file's strings name."""
    found = {tuple(map(int, match.split(b"."))) for match in re.findall(name + rb"_(\d+(?:\.\d+)+)\0", text)}
    return ".".join(map(str, max(found, default=(0,))))


def wheel_files(package, version):
    """(tag, {path in the wheel: bytes}) without the record."""
    built = runpy.run_path(str(package / "_built.py"))
    [extension] = package.glob("_backend*.so")
    abi = re.search(r"cpython-(\d+)-(\w+)-linux", extension.name)
    tag = f"cp{abi.group(1)}-cp{abi.group(1)}-linux_{abi.group(2)}"
    major, minor = map(int, built["TORCH"].split("."))
    binary = extension.read_bytes()
    # GLIBCXX_3.4.N came with GCC N - 18, from N = 26 to 30.
    gcc = int(newest(binary, b"GLIBCXX").rsplit(".", 1)[1]) - 18
    info = f"heddle_torch-{version}.dist-info"
    metadata = METADATA.format(version=version, python=built["PYTHON"], torch=built["TORCH"],
                               next_torch=f"{major}.{minor + 1}", glibc=newest(binary, b"GLIBC"), gcc=gcc)
    files = {f"heddle_torch/{module.name}": module.read_bytes() for module in sorted(package.glob("*.py"))}
    files[f"heddle_torch/{extension.name}"] = binary
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    return tag, files


def record(files, path):
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines + [f"{path},,\n"]).encode()


def write(files, path, epoch):
    moment = time.gmtime(max(epoch, 315532800))[:6]  # a zip's times begin in 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--package", "--to"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    arguments = parser.parse_args(words)
    version = python_version(arguments.version)
    tag, files = wheel_files(arguments.package, version)
    path = f"heddle_torch-{version}.dist-info/RECORD"
    files[path] = record(files, path)
    write(files, arguments.to / f"heddle_torch-{version}-{tag}.whl", int(os.environ.get("SOURCE_DATE_EPOCH", 0)))


if __name__ == "__main__":
    main(sys.argv[1:])
