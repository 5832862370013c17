#!/usr/bin/env python3
"""Writes the SBOM of a folder of packages, or of the root of an image, SPDX 2.3 as JSON, from what dpkg knows.

    packaging/sbom.py --version 0.1.0 --to build/dist/heddle.spdx.json [--sysroot build/sysroot/X/versions] build/dist
    packaging/sbom.py --version 0.1.0 --to image.spdx.json --image ROOT

Of a folder it lists each package made, what it depends on (of wheels and archives: what their binaries need), and the
packages whose code is compiled into it (headers and static libraries), each with version, source and licence. What is
not installed here has no version, and a warning. With --sysroot the archive (.tar.xz) has inside what scripts/sysroot
unpacked, by its list of versions, and OpenSSL too. Of an image it lists all that dpkg has installed in it.
"""

import argparse
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# Whose code is inside of what is built: they have headers or static libraries, and are no dependency at run time.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libfmt-dev", "libpugixml-dev", "libspdlog-dev",
               "libstdc++-12-dev", "libtomlplusplus-dev", "libxxhash-dev", "nlohmann-json3-dev")
TORCH_ONLY = ("pybind11-dev",)
SYSROOT_ONLY = ("libssl-dev",)
# dpkg's copyright files name licences in their own way.
LICENSES = {"expat": "MIT", "mit": "MIT", "apache-2.0": "Apache-2.0", "bsd-3-clause": "BSD-3-Clause",
            "bsd-2-clause": "BSD-2-Clause", "bsl-1.0": "BSL-1.0", "lgpl-2.1+": "LGPL-2.1-or-later",
            "gpl-2+": "GPL-2.0-or-later", "gpl-3+": "GPL-3.0-or-later"}
KEYS = ("name", "version", "architecture", "source", "source_version", "homepage")
FIELDS = ("Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage", "Provides",
          "db:Status-Status")
DOCUMENT = "SPDXRef-DOCUMENT"


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


class System:
    """What dpkg knows of this system, or of another root."""

    def __init__(self, root="/"):
        self.root = pathlib.Path(root)
        self.packages, self.provided = {}, {}
        form = "\\t".join(f"${{{field}}}" for field in FIELDS) + "\\n"
        for row in output("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f", form).splitlines():
            *facts, provides, status = row.split("\t")
            if status == "installed":
                self.packages.setdefault(facts[0], dict(zip(KEYS, facts, strict=True)))
                for name in re.findall(r"(?:^|, )([a-z0-9][a-z0-9+.-]+)", provides):
                    self.provided.setdefault(name, facts[0])  # a virtual one, such as libspdlog1.10-fmt9

    def named(self, name):
        """The installed package of this name or that provides it; nothing: there is none."""
        return name if name in self.packages else self.provided.get(name)

    @functools.lru_cache(maxsize=None)
    def owner(self, library):
        """The package that has a shared library, by its SONAME."""
        said = output("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-S", f"*/{library}")
        # In a folder that the dynamic linker searches, and not in one for a cross compiler.
        found = re.search(r"(?m)^([^:,\n]+)[^\n]* /(?:usr/)?lib(?:64|/[a-z0-9_]+-linux-gnu)?/[^/\n]+$", said)
        return found and found.group(1)

    def license_of(self, package):
        """The licence of a package's files, where its copyright file says it in a form for machines."""
        path = self.root / f"usr/share/doc/{package}/copyright"
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        match = re.search(r"^Files: *\*\n(?:.*\n)*?License: *(\S+)", text, re.MULTILINE)
        return LICENSES.get(match.group(1).lower(), "NOASSERTION") if match else "NOASSERTION"


def unpacked(path):
    """{name: its facts} of packages that scripts/sysroot unpacked; empty without a list."""
    rows = path.read_text(encoding="utf-8").splitlines() if path else []
    return {row.split("\t")[0]: dict(zip(KEYS, row.split("\t"), strict=True)) for row in rows}


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def purl(package):
    version = package["version"].replace("+", "%2B").replace("~", "%7E").replace(":", "%3A")
    return (f"pkg:deb/debian/{package['name'].replace('+', '%2B')}@{version}?arch={package['architecture']}")


def a_package(name, **facts):
    return {"SPDXID": identifier(name), "name": name, "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **facts}


def system_package(found, system):
    return a_package(found["name"], versionInfo=found["version"], supplier="Organization: Debian",
                     homepage=found["homepage"] or "NOASSERTION", licenseDeclared=system.license_of(found["name"]),
                     sourceInfo=f"source package {found['source']} {found['source_version']}",
                     externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                    "referenceLocator": purl(found)}])


def named_package(name, system):
    """What this system knows of a package that a made one needs; else its name alone, with a warning."""
    if name in system.packages:
        return system_package(system.packages[name], system)
    print(f"warning: the SBOM has {name} without a version: it is not installed here", file=sys.stderr)
    return a_package(name, comment="Not installed where this list was made, so its version is not known.")


class Made:
    """A file of the folder: its name, what it depends on and has inside, by the names of packages."""

    def __init__(self, path, version, system):
        self.path, self.name, self.depends, self.inside, self.extra = path, path.name, [], [], {}
        self.compiled = "-dbgsym" not in path.name
        self.torch = path.name.startswith(("heddle-torch", "heddle_torch"))
        if path.suffix == ".deb":
            self._read_deb(system)
        else:
            self._read_binaries(system)
        facts = {"versionInfo": version, "packageFileName": path.name, "licenseConcluded": "Apache-2.0",
                 "licenseDeclared": "Apache-2.0", "checksums": [{
                     "algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}]}
        self.package = a_package(self.name, **facts)

    def _read_deb(self, system):
        def field(name):
            return output("dpkg-deb", "-f", str(self.path), name).strip()
        self.name = field("Package")
        self.compiled = self.compiled and field("Architecture") != "all"  # scripts and units have no code of others
        for group in filter(None, re.split(r",", f"{field('Pre-Depends')},{field('Depends')}".replace("\n", ""))):
            choices = re.findall(r"(?:^|\|) *([a-z0-9][a-z0-9+.-]+)", group)
            self.depends.append(next(filter(None, map(system.named, choices)), choices[0]))

    def _read_binaries(self, system):
        with tempfile.TemporaryDirectory() as folder:
            opened = zipfile.ZipFile(self.path) if self.path.suffix == ".whl" else tarfile.open(self.path)
            with opened as archive:
                archive.extractall(folder)
            files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
            for path in files:
                if path.name == "METADATA":
                    self._read_requirements(path.read_text(encoding="utf-8"))
            libraries = set()
            for path in files:
                with path.open("rb") as file:
                    if file.read(4) == b"\x7fELF":
                        libraries |= set(re.findall(r"(?m)^  NEEDED +(\S+)$", output("objdump", "-p", str(path))))
            beside = {path.name for path in pathlib.Path(folder).rglob("*.so*")}
        for library in sorted(libraries):
            if library.startswith("ld-linux"):
                continue  # libc6, which is among them
            if self.extra and re.match(r"lib(torch|c10)\b|libtorch_", library):
                continue  # of the torch that pip installs
            owner = system.owner(library) or library
            (self.inside if library in beside else self.depends).append(owner)

    def _read_requirements(self, metadata):
        for name, versions in re.findall(r"(?m)^Requires-Dist: (\S+) (\S+)$", metadata):
            self.extra[identifier(f"pypi-{name}")] = a_package(
                name, SPDXID=identifier(f"pypi-{name}"), comment=f"any version {versions}", externalRefs=[{
                    "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                    "referenceLocator": f"pkg:pypi/{name}"}])


def document(folder, version, epoch, sysroot, system):
    made = [Made(path, version, system) for path in sorted(folder.iterdir())
            if path.name.endswith((".deb", ".whl", ".tar.xz"))]
    packages, relations = {one.package["SPDXID"]: one.package for one in made}, set()
    inside = {identifier(f"sysroot-{name}"):
              dict(system_package(sysroot[name], system), SPDXID=identifier(f"sysroot-{name}"))
              for name in (*COMPILED_IN, *SYSROOT_ONLY) if name in sysroot}

    def relate(one, kind, names):
        for name in names:
            reference = identifier(name)
            if reference not in packages:
                packages[reference] = named_package(name, system)
            ends = (reference, one) if kind == "STATIC_LINK" else (one, reference)
            relations.add((ends[0], kind, ends[1]))

    for one in made:
        reference = one.package["SPDXID"]
        relations.add((DOCUMENT, "DESCRIBES", reference))
        relate(reference, "DEPENDS_ON", one.depends)
        relate(reference, "CONTAINS", one.inside)
        packages |= one.extra
        relations |= {(reference, "DEPENDS_ON", each) for each in one.extra}
        if one.path.suffix == ".xz" and inside:
            packages |= inside
            relations |= {(each, "STATIC_LINK", reference) for each in inside}
        elif one.compiled:
            relate(reference, "STATIC_LINK", (*COMPILED_IN, *(TORCH_ONLY if one.torch else ())))
    return written(f"heddle-{version}", packages, relations, epoch)


def document_of_image(version, epoch, system):
    """All packages of a root; those of heddle have their own list, of what is compiled into them."""
    image = identifier("image")
    packages = {image: a_package("image", versionInfo=version)}
    for name, found in system.packages.items():
        packages[identifier(name)] = system_package(found, system)
        if found["source"] == "heddle":
            packages[identifier(name)] |= {
                "supplier": "NOASSERTION", "licenseDeclared": "Apache-2.0",
                "comment": f"heddle_{found['version']}.spdx.json lists what is compiled into it."}
    relations = {(DOCUMENT, "DESCRIBES", image)} | {(image, "CONTAINS", each) for each in packages if each != image}
    return written(f"heddle-image-{version}", packages, relations, epoch)


def written(name, packages, relations, epoch):
    digests = "".join(json.dumps(packages[key], sort_keys=True) for key in sorted(packages))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": DOCUMENT, "name": name,
            "documentNamespace": f"urn:heddle:spdx:{name}:{hashlib.sha256(digests.encode()).hexdigest()[:16]}",
            "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
                             .strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: heddle packaging/sbom.py"]},
            "packages": [packages[key] for key in sorted(packages)],
            "relationships": [{"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": last}
                              for first, kind, last in sorted(relations)]}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="of packages")
    parser.add_argument("--version", required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    parser.add_argument("--sysroot", type=pathlib.Path, help="the list of versions of the archive's sysroot")
    parser.add_argument("--image", type=pathlib.Path, metavar="ROOT", help="an image, unpacked or mounted")
    given = parser.parse_args(words)
    if (given.folder is None) == (given.image is None):
        parser.error("name a folder of packages, or --image ROOT")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", 0))
    if given.image:
        system = System(given.image)
        if not system.packages:
            sys.exit(f"error: cannot list {given.image}\n  why: its dpkg has no packages\n"
                     "  do:  name the root of an image that is made of Debian")
        made = document_of_image(given.version, epoch, system)
    else:
        made = document(given.folder, given.version, epoch, unpacked(given.sysroot), System())
    given.to.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
