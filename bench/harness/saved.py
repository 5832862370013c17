"""A scenario's document with the information needed to repeat it: command, commit, date, machine. bench/run
--save.
"""

import datetime
import json
import pathlib
import shlex
import subprocess

from harness.failure import CannotMeasure
from harness.machine import describe

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def command_line(words):
    """`words`: the arguments of bench/run; --save and its file are removed, since they do not affect the
    measurement.
    """
    kept, skip = [], False
    for word in words:
        if not skip and word != "--save" and not word.startswith("--save="):
            kept.append(word)
        skip = word == "--save"
    return shlex.join(["bench/run", *kept])


def commit():
    """The measured commit, with a + if files differ from it; empty if this is not a checkout."""
    def git(*words):
        done = subprocess.run(["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    name = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no")
    return name + ("+" if name and changed else "")


def record(scenario, words, document):
    return {"origin": "saved", "scenario": scenario, "command": command_line(words), "commit": commit(),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": document.get("machine") or describe(), "document": document}


def save(path, scenario, words, document):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record(scenario, words, document), file, indent=1)
            file.write("\n")
    except OSError as error:
        raise CannotMeasure(f"cannot write {path}: {error.strerror}", "name another file") from error


def can_write(path):
    """Checked before minutes of measuring."""
    if not pathlib.Path(path).resolve().parent.is_dir():
        raise CannotMeasure(f"cannot write {path}: its folder does not exist", "make the folder")
