"""heddle size's answers, heddle's simulations, and errors between them."""

import json
import pathlib
import subprocess

from harness.failure import CannotMeasure
from harness.pair import built


def figures(*words):
    """Name to value of the figures of `heddle size WORDS`."""
    return {figure["name"]: figure["value"] for figure in document_of("size", *words)["figures"]}


def simulated(folder, topology, workload, *options):
    """The document of `heddle sim` of two files' texts."""
    paths = [pathlib.Path(folder, name) for name in ("topology.toml", "workload.toml")]
    for path, text in zip(paths, (topology, workload)):
        path.write_text("version = 1\n" + text, encoding="utf-8")
    return document_of("sim", "--topology", paths[0], "--workload", paths[1], *options)


def document_of(*words):
    command = [built("heddle"), *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise CannotMeasure(f"heddle {words[0]} failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return json.loads(done.stdout)


def error(formula, seen):
    """Of the formula, as a share of what happened."""
    return formula / seen - 1


def percent(share):
    return f"{100 * share:+.2f}%"
