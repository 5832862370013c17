"""A program run to completion: its output, wall time, CPU time and peak memory, and the other load meanwhile."""

import json
import pathlib
import subprocess
import sys

from harness.failure import CannotMeasure
from harness.meanwhile import Meanwhile

# Runs a command and prints a line with its resource use before its output.
_CHILD = """
import json, resource, subprocess, sys, time
began = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"wall_s": time.monotonic() - began, "cpu_s": used.ru_utime + used.ru_stime,
                  "memory_kb": used.ru_maxrss}), flush=True)
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


class Timed:
    """A sample of harness.rounds. Raises CannotMeasure where the program fails."""

    def __init__(self, command, folder):
        timed = [sys.executable, "-c", _CHILD, *map(str, command)]
        self.made_again = 0
        self.meanwhile = Meanwhile()
        with self.meanwhile:
            done = subprocess.run(timed, cwd=folder, capture_output=True, text=True, check=False)
        self.meanwhile.settle()
        if done.returncode != 0:
            name, complaint = pathlib.Path(command[0]).name, done.stderr.strip()[-300:]
            raise CannotMeasure(f"{name} failed: {complaint}", "run it by hand")
        own, self.output = done.stdout.split("\n", 1)
        facts = json.loads(own)
        self.wall_s, self.cpu_s, self.memory_mb = facts["wall_s"], facts["cpu_s"], facts["memory_kb"] / 1000
