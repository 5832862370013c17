"""The sizes of C++ classes: at most 25 fields, 60 methods, and of these 40 that are defined outside of the class.

A class owns one state and answers for it; a larger one is several (CONTRIBUTING.md). Universal Ctags counts. Not
counted: static members, and methods that are defaulted or deleted; pure ones have no definition elsewhere. A struct
that is plain data has at most 30 fields: options, counters, facts, the fields of a packet. Its fields are public, it
has no methods out of line, so it keeps no promise about them, and its readers want each name once, without a path of
parts before it.
"""

import collections
import json
import shutil
import subprocess

import tree

FIELDS = 25
PLAIN_FIELDS = 30
METHODS = 60
METHODS_OUTSIDE = 40
RULES = {"class_fields": "fields", "class_all_methods": "methods", "class_methods": "methods out of line"}
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
    """Of one class: lines of its fields, methods and methods out of line, and whether a field is not public."""

    def __init__(self):
        self.fields = []
        self.methods = []
        self.methods_outside = []
        self.hides = False

    def add(self, tag):
        properties = set(tag.get("properties", "").split(","))
        if tag["kind"] == "member" and "static" not in properties:
            self.fields.append(tag["line"])
            self.hides |= tag.get("access") != "public"
        if tag["kind"] in ("prototype", "function") and not properties & {"delete", "default"}:
            self.methods.append(tag["line"])
            if tag["kind"] == "prototype" and "pure" not in properties:
                self.methods_outside.append(tag["line"])

    def limits(self):
        """(rule, lines, how many there may be)."""
        is_plain = not self.hides and not self.methods_outside
        return (("class_fields", self.fields, PLAIN_FIELDS if is_plain else FIELDS),
                ("class_all_methods", self.methods, METHODS), ("class_methods", self.methods_outside, METHODS_OUTSIDE))


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
        for rule, lines, most in size.limits():
            if len(lines) > most:
                name = scope.removeprefix("heddle::")
                text = f"{name} has {len(lines)} {RULES[rule]}, more than {most}"
                violations.append(tree.Violation(rule, path, min(lines), text, name, len(lines)))
    return violations
