"""Calls in bench/ that Python would refuse: arguments that a function does not take, names that do not exist. Most
scenarios need a quiet machine and minutes, so no test runs them. Pylint finds these calls without running them.
"""

import json
import os
import shutil
import subprocess

import tree

FINDINGS = "E1101,E1120,E1121,E1123,E1124,E0602,E0611"  # members, arguments, names, imported names
MODULES_OF_OTHERS = "torch,numpy,heddle_torch"


def is_here():
    """Whether Pylint is installed."""
    return shutil.which("pylint") is not None


def _violations(output):
    return [tree.Violation(found["symbol"], found["path"], found["line"], found["message"])
            for found in json.loads(output or "[]")]


def check(folder, root=tree.ROOT):
    """Violations of a folder's programs, which import each other from there."""
    files = sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*.py"))
    command = ["pylint", "--disable=all", f"--enable={FINDINGS}", "--output-format=json",
               f"--ignored-modules={MODULES_OF_OTHERS}", "--rcfile=/dev/null", *files]
    done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root / folder)}, capture_output=True,
                          text=True, check=False)
    if done.returncode & 32 or not files:
        raise RuntimeError(f"pylint did not run: {done.stderr.strip()[-300:]}")
    return _violations(done.stdout)
