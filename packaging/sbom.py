#!/usr/bin/env python3
"""Writes the SBOM of a folder of packages, SPDX 2.3 as JSON, from what dpkg knows.

    packaging/sbom.py --version 0.1.0 --to build/dist/heddle.spdx.json [--sysroot build/sysroot/X/versions] build/dist

It lists each package made, the packages of this system that it depends on, and those whose code is
compiled into it (headers and static libraries), each with version, source and licence. With --sysroot the archive
(.tar.xz) has inside what scripts/sysroot unpacked, by its list of versions, and OpenSSL too.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Whose code is inside of what is built: they have headers or static libraries, and are no dependency at run time.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libfmt-dev", "libpugixml-dev", "libspdlog-dev",
               "libstdc++-12-dev", "libtomlplusplus-dev", "libxxhash-dev", "nlohmann-json3-dev", "pybind11-dev")
SYSROOT_ONLY = ("libssl-dev",)
# dpkg's copyright files name licences in their own way.
LICENSES = {"expat": "MIT", "mit": "MIT", "apache-2.0": "Apache-2.0", "bsd-3-clause": "BSD-3-Clause",
            "bsd-2-clause": "BSD-2-Clause", "bsl-1.0": "BSL-1.0", "lgpl-2.1+": "LGPL-2.1-or-later",
            "gpl-2+": "GPL-2.0-or-later", "gpl-3+": "GPL-3.0-or-later"}


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


KEYS = ("name", "version", "architecture", "source", "source_version", "homepage")


def unpacked(path):
    """{name: what installed() says} of packages that scripts/sysroot unpacked; empty without a list."""
    rows = path.read_text(encoding="utf-8").splitlines() if path else []
    return {row.split("\t")[0]: dict(zip(KEYS, row.split("\t"), strict=True)) for row in rows}


def installed(name):
    """{name, version, architecture, source, homepage} of an installed package; None: it is not here."""
    fields = ("binary:Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage")
    rows = output("dpkg-query", "-W", "-f", "\\t".join(f"${{{field}}}" for field in fields) + "\\n", name).splitlines()
    rows = [row.split("\t") for row in rows if row.split("\t")[1]]
    if not rows:
        return None
    found = dict(zip(KEYS, rows[0], strict=True))
    found["name"] = found["name"].split(":")[0]
    return found


def provider(name):
    """The installed package that provides a virtual one, such as libspdlog1.10-fmt9."""
    for row in output("dpkg-query", "-W", "-f", "${Package} ${Provides}\\n").splitlines():
        package, _, provided = row.partition(" ")
        if name in re.findall(r"[a-z0-9][a-z0-9+.-]+", provided):
            return package
    return name


def license_of(package):
    """The licence of a Debian package's files, where its copyright file says it in a form for machines."""
    path = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    match = re.search(r"^Files: *\*\n(?:.*\n)*?License: *(\S+)", text, re.MULTILINE)
    return LICENSES.get(match.group(1).lower(), "NOASSERTION") if match else "NOASSERTION"


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def purl(package):
    version = package["version"].replace("+", "%2B").replace("~", "%7E").replace(":", "%3A")
    return (f"pkg:deb/debian/{package['name'].replace('+', '%2B')}@{version}?arch={package['architecture']}")


def system_package(found):
    return {"SPDXID": identifier(found["name"]), "name": found["name"], "versionInfo": found["version"],
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "homepage": found["homepage"] or "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": license_of(found["name"]), "copyrightText": "NOASSERTION",
            "sourceInfo": f"source package {found['source']} {found['source_version']}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl(found)}]}


def made_package(path, version):
    """A file of the folder as a package: its name, digest, and what it depends on."""
    name, depends = path.name, []
    if path.suffix == ".deb":
        name = output("dpkg-deb", "-f", str(path), "Package").strip()
        depends = re.findall(r"(?:^|[,|]) *([a-z0-9][a-z0-9+.-]+)", output("dpkg-deb", "-f", str(path), "Depends"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return depends, {
        "SPDXID": identifier(name), "name": name, "versionInfo": version, "packageFileName": path.name,
        "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}


def document(folder, version, epoch, sysroot):
    packages, relations = {}, set()
    inside = {identifier(f"sysroot-{name}"): dict(system_package(sysroot[name]), SPDXID=identifier(f"sysroot-{name}"))
              for name in (*COMPILED_IN, *SYSROOT_ONLY) if name in sysroot}
    paths = [path for path in sorted(folder.iterdir()) if path.name.endswith((".deb", ".whl", ".tar.xz"))]
    for path in paths:
        depends, package = made_package(path, version)
        packages[package["SPDXID"]] = package
        relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"]))
        for name in depends:
            real = name if installed(name) else provider(name)
            relations.add((package["SPDXID"], "DEPENDS_ON", identifier(real)))
        if path.suffix == ".xz" and inside:
            packages |= inside
            relations |= {(reference, "STATIC_LINK", package["SPDXID"]) for reference in inside}
        elif not path.name.startswith(("heddle-torch", "heddle_torch")) and "-dbgsym" not in path.name:
            relations |= {(identifier(name), "STATIC_LINK", package["SPDXID"])
                          for name in COMPILED_IN if name != "pybind11-dev"}
        elif "-dbgsym" not in path.name:
            relations |= {(identifier(name), "STATIC_LINK", package["SPDXID"]) for name in COMPILED_IN}
    named = {end for first, _, last in relations for end in (first, last)} - set(packages) - {"SPDXRef-DOCUMENT"}
    for reference in sorted(named):
        found = installed(reference.removeprefix("SPDXRef-")) or installed(_plus(reference))
        if found:
            packages[reference] = system_package(found)
    known = set(packages) | {"SPDXRef-DOCUMENT"}
    relations = sorted(each for each in relations if each[0] in known and each[2] in known)
    digests = "".join(package["checksums"][0]["checksumValue"] for package in packages.values()
                      if "checksums" in package)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"heddle-{version}",
            "documentNamespace": f"urn:heddle:spdx:{version}:{hashlib.sha256(digests.encode()).hexdigest()[:16]}",
            "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
                             .strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: heddle packaging/sbom.py"]},
            "packages": [packages[key] for key in sorted(packages)],
            "relationships": [{"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": last}
                              for first, kind, last in relations]}


def _plus(reference):
    """An identifier has no "+": libstdc--6 is libstdc++6."""
    return reference.removeprefix("SPDXRef-").replace("libstdc--", "libstdc++")


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    parser.add_argument("--sysroot", type=pathlib.Path, help="the list of versions of the archive's sysroot")
    arguments = parser.parse_args(words)
    made = document(arguments.folder, arguments.version, int(os.environ.get("SOURCE_DATE_EPOCH", 0)),
                    unpacked(arguments.sysroot))
    arguments.to.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
