"""The same fabric and flows in the simulator: the production transport's goodput there."""

import json
import subprocess

from harness.failure import CannotMeasure
from harness.pair import built

_FRAME_EXTRA = 38  # Ethernet's header, check sequence, preamble and gap (simulator/packet.h)


def payload_share(segment_bytes, mtu_bytes):
    """The share of a simulated link's rate that is payload: full segments, with all that surrounds them."""
    return segment_bytes / (mtu_bytes + _FRAME_EXTRA)


def simulate(topology_file, flows, paths=32, congestion="cubic", size=1 << 20, seconds=2, warm_up=1, seed=1,
             receive_capacity=None):
    """One dictionary for each flow."""
    command = [built("heddle-bench-simulated"), topology_file, "--paths", str(paths), "--cc", congestion,
               "--size", str(size), "-t", str(seconds), "--warm-up", str(warm_up), "--seed", str(seed)]
    if receive_capacity:
        command += ["--receive-capacity", str(receive_capacity)]
    for source, to in flows:
        command += ["--flow", f"{source}:{to}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"the simulation failed: {done.stderr.strip()}", "run it by hand")
    return json.loads(done.stdout)["flows"]
