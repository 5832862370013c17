"""An action of a policy: ends the rank of an alarm, which is on standard input, so that its job goes on without it.

    evict.py HEDDLE RECORDING
"""

import contextlib
import json
import os
import signal
import subprocess
import sys


def main(words):
    heddle, recording = words
    alarm = json.load(sys.stdin)
    listed = subprocess.run([heddle, "record", "info", recording, "--json"], capture_output=True, text=True, check=True)
    found = [int(one["identity"]["pid"]) for one in json.loads(listed.stdout)["recordings"]
             if one["identity"].get("rank") in alarm["processes"]]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):  # of a rank that was started again
            os.kill(pid, signal.SIGKILL)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
