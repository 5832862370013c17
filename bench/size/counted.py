"""What ranks send in training steps, counted in recordings of real packets and of simulations."""

import json
import os
import pathlib
import re
import shlex
import subprocess

from harness.failure import CannotMeasure
from harness.pair import built

# Brings up the loopback of a network of its own, runs a command, and prints the bytes that the loopback sent.
_IN_A_NETWORK = """
ip link set lo up && "$@" >run.out 2>run.log; status=$?
sed -n 's/^ *lo: *//p' /proc/net/dev | awk '{print $9}'
exit $status
"""

# What the formulas are of, whatever else would be faster.
_AS_FORMULAS = {"HEDDLE_ALGORITHM": "allreduce:ring", "HEDDLE_SHARED_MEMORY": "never"}


def record(folder, command):
    """Runs `heddle COMMAND`, records it in folder/recorded with its output in folder/run.out; bytes of the interface.
    """
    heddle = built("heddle")
    whole = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _IN_A_NETWORK, "sh",
             heddle, "record", "-o", "recorded", "--", heddle, *command]
    done = subprocess.run(whole, cwd=folder, env=os.environ | _AS_FORMULAS, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or not re.fullmatch(r"\d+\n", done.stdout):
        log = pathlib.Path(folder, "run.log")
        why = log.read_text(encoding="utf-8") if log.is_file() else done.stderr
        raise CannotMeasure(f"{shlex.join(whole[8:])} failed: {why.strip()[-300:]}", "run it by hand")
    return int(done.stdout)


def sent(recording, by, part, unit="bytes"):
    """Payload in bytes, or number of messages, that each rank delivered in `part` of a recording."""
    matrix = subprocess.run([built("heddle"), "matrix", recording, "--by", by, "--unit", unit, "--json"],
                            capture_output=True, text=True, check=False)
    if matrix.returncode != 0:
        raise CannotMeasure(f"heddle matrix failed: {matrix.stderr.strip()[-300:]}", "run it by hand")
    parts = {each["name"]: each["measured"] for each in json.loads(matrix.stdout)["parts"]}
    return [sum(line) for line in parts[part]]
