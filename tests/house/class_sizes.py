"""The sizes of C++ classes: at most 25 fields, and 40 methods that are declared in the class and defined elsewhere.

A class owns one state and answers for it; a larger one is several (CONTRIBUTING.md). Universal Ctags counts. Not
counted: static members, and methods that are defaulted, deleted or pure. A struct that is plain data has no limit of
fields: options, counters, facts, the fields of a packet. Its fields are public, it has no methods out of line, so it
keeps no promise about them, and its readers want each name once, without a path of parts before it.
"""

import collections
import json
import shutil
import subprocess

import tree

FIELDS = 25
METHODS = 40
RULES = ("class_fields", "class_methods")
COMMAND = ["ctags", "--output-format=json", "--language-force=C++", "--kinds-C++=pfm", "--fields=+nKzsSa",
           "--fields-C++=+{properties}", "-f", "-", "-L", "-"]


def is_here():
    """Whether Universal Ctags is installed; other programs of that name write no JSON."""
    if shutil.which("ctags") is None:
        return False
    done = subprocess.run(["ctags", "--version"], capture_output=True, text=True, check=False)
    return "Universal Ctags" in done.stdout


def _tags(paths, root):
    done = subprocess.run(COMMAND, cwd=root, input="\n".join(paths), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ctags did not run: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class _Size:
    """Of one class: lines of its fields and of its methods out of line, and whether a field is not public."""

    def __init__(self):
        self.fields = []
        self.methods = []
        self.hides = False

    def add(self, tag):
        properties = set(tag.get("properties", "").split(","))
        if tag["kind"] == "member" and "static" not in properties:
            self.fields.append(tag["line"])
            self.hides |= tag.get("access") != "public"
        if tag["kind"] == "prototype" and not properties & {"delete", "default", "pure"}:
            self.methods.append(tag["line"])

    @property
    def is_plain(self):
        return not self.hides and not self.methods


def check(files, root=tree.ROOT):
    """Violations of the files; those of tests and benchmarks are not looked at."""
    paths = [file.path for file in files if file.is_cxx and not file.is_test]
    sizes = collections.defaultdict(_Size)
    for tag in _tags(paths, root):
        # Definitions outside of their class have its scope, too.
        if tag.get("scopeKind") in ("class", "struct") and "access" in tag:
            sizes[tag["path"], tag["scope"]].add(tag)
    violations = []
    for (path, scope), size in sorted(sizes.items()):
        for rule, lines, most in (("class_fields", [] if size.is_plain else size.fields, FIELDS),
                                  ("class_methods", size.methods, METHODS)):
            if len(lines) > most:
                name = scope.removeprefix("heddle::")
                what = "fields" if rule == "class_fields" else "methods out of line"
                violations.append(tree.Violation(rule, path, min(lines), f"{name} has {len(lines)} {what}, more than "
                                                 f"{most}", name, len(lines)))
    return violations
