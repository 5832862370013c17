"""perftest's ib_write_bw between the RDMA devices of the virtual machine of `heddle lab vm`."""

import subprocess
import time

_WRITE = ("ib_write_bw", "-x", "1", "-F")
_PATIENCE_S = 120


def write(*words):
    """What its client prints. The client refuses at once where its server does not listen yet."""
    with subprocess.Popen([*_WRITE, "-d", "rxe1", *words], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        end = time.monotonic() + _PATIENCE_S
        while True:
            done = subprocess.run([*_WRITE, "-d", "rxe0", *words, "h1"], capture_output=True, text=True, check=False,
                                  timeout=_PATIENCE_S)
            # With 1 it mistrusts the clock of an emulated processor, and has measured.
            if done.returncode == 0 or "BW average" in done.stdout and done.returncode == 1:
                break
            if time.monotonic() > end:
                server.kill()
                raise SystemExit(f"ib_write_bw: {done.stderr or done.stdout}")
            time.sleep(0.2)
        server.wait(_PATIENCE_S)
    return done.stdout
