#!/usr/bin/env python3
"""What programs and libraries below a folder need of the system that runs them: which glibc, and which libraries.

    packaging/system_needs.py FOLDER [--glibc 2.31] [--libraries libgcc_s.so.1 ...] [--markdown]

With --glibc it fails (exit status 1) when a file names a symbol of a newer glibc; with --libraries when a file needs a
library other than these, glibc's own and those in the folder. Versions are those of the dynamic symbols that a file
names (objdump): the dynamic linker refuses a file by them, and by nothing else.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

GLIBC = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0",
         "librt.so.1")
SYMBOL = re.compile(r"^\S+ +(?:.*?)\*UND\*\s+\S+\s+\(?GLIBC_(\d+(?:\.\d+)+)\)? +(\S+)$", re.MULTILINE)
NEEDED = re.compile(r"^  NEEDED +(\S+)$", re.MULTILINE)


class Needs:
    """Of one file: the newest glibc, as numbers; the symbols of each version; libraries that are not glibc's."""

    def __init__(self, path):
        self.path = path
        text = subprocess.run(["objdump", "-T", "-p", str(path)], capture_output=True, text=True, check=True,
                              env=dict(os.environ, LC_ALL="C")).stdout
        self.symbols = {}
        for version, symbol in SYMBOL.findall(text):
            self.symbols.setdefault(numbers(version), []).append(symbol)
        if "GLIBC_ABI_DT_RELR" in text:  # names no symbol
            self.symbols.setdefault((2, 36), []).append("DT_RELR")
        self.libraries = [name for name in NEEDED.findall(text) if name not in GLIBC]

    def glibc(self):
        return max(self.symbols, default=(0,))

    def newer(self, limit):
        """Symbols of a newer glibc than `limit`, as "symbol (2.34)"."""
        return [f"{symbol} ({words(version)})" for version, symbols in sorted(self.symbols.items()) if version > limit
                for symbol in symbols]


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def words(version):
    return ".".join(str(part) for part in version)


def is_dynamic(path):
    """Whether a regular file is a program or a shared library (ELF of type EXEC or DYN)."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little") in (2, 3)


def refusals(needs, arguments, beside):
    """Sentences on what a file needs beyond what is allowed."""
    if arguments.glibc:
        newer = needs.newer(numbers(arguments.glibc))
        if newer:
            yield f"it needs a glibc newer than {arguments.glibc}: {', '.join(newer)}"
    if arguments.libraries is not None:
        other = [name for name in needs.libraries if name not in arguments.libraries and name not in beside]
        if other:
            yield f"it needs libraries that are not inside: {', '.join(other)}"


def print_table(found, folder):
    print("| file | glibc | other libraries |\n|---|---|---|")
    for needs in found:
        print(f"| `{needs.path.relative_to(folder)}` | {words(needs.glibc())} | {', '.join(needs.libraries) or '-'} |")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--glibc", help="the newest version that may be needed, such as 2.31")
    parser.add_argument("--libraries", nargs="*", help="libraries of the system that may be needed beside glibc")
    parser.add_argument("--markdown", action="store_true", help="a table, for a page")
    arguments = parser.parse_args(arguments)
    paths = [path for path in sorted(arguments.folder.rglob("*")) if is_dynamic(path)]
    if not paths:
        print(f"error: {arguments.folder} has no programs and no shared libraries\n  why: the folder is empty, or not "
              "a build's\n  do:  name an unpacked archive or a folder of libraries", file=sys.stderr)
        return 2
    found = [Needs(path) for path in paths]
    beside = {path.name for path in arguments.folder.rglob("*.so*")}
    if arguments.markdown:
        print_table(found, arguments.folder)
    failed = [(needs.path, text) for needs in found for text in refusals(needs, arguments, beside)]
    for path, text in failed:
        print(f"error: {path.relative_to(arguments.folder)} does not run where it should\n  why: {text}\n"
              "  do:  build the preset archive; call newer system calls by their number (plugins/bundled)",
              file=sys.stderr)
    if not failed and not arguments.markdown:
        print(f"{len(found)} files need glibc {words(max(needs.glibc() for needs in found))} or newer")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
