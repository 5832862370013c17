"""A scenario's document with what it takes to measure it again: command, commit, date, machine. bench/run --save."""

import datetime
import json
import pathlib
import shlex
import subprocess

from harness.failure import CannotMeasure
from harness.machine import describe

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def command_line(words):
    """`words`: those of bench/run, of which --save and its file say nothing about what was measured."""
    kept, skip = [], False
    for word in words:
        if not skip and word != "--save" and not word.startswith("--save="):
            kept.append(word)
        skip = word == "--save"
    return shlex.join(["bench/run", *kept])


def commit():
    """The commit that was measured, with a + where files differ from it; empty where this is no checkout."""
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
    """Asked before minutes of measuring."""
    if not pathlib.Path(path).resolve().parent.is_dir():
        raise CannotMeasure(f"cannot write {path}: its folder does not exist", "make the folder")
