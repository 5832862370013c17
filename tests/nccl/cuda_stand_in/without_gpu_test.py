#!/usr/bin/env python3
"""Two ranks of NCCL exchange bytes without a GPU: NCCL's host side over stand-ins for CUDA and NVML.

HEDDLE_TEST_NCCL names the libnccl.so.2. It must be of release 2.28 and linked with the shared CUDA runtime
(libcudart.so.13): the runtime inside NVIDIA's own packages accepts no driver but NVIDIA's. Without it: exit status 77.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = os.environ.get("HEDDLE_TEST_NCCL", "")
STAND_IN = os.environ.get("CUDA_STAND_IN", "")
PLUGIN = os.environ.get("HEDDLE_NCCL_PLUGIN", "")
LIMIT_S = 100  # far above what anything takes that works

# No transport but NET between two processes that say that they are two hosts; protocol Simple; host memory only.
SETTINGS = {
    "NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "lo", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
    "NCCL_IB_DISABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0", "NCCL_CUMEM_ENABLE": "0",
    "NCCL_CUMEM_HOST_ENABLE": "0", "NCCL_P2P_LL_THRESHOLD": "0", "NCCL_RAS_ENABLE": "0",
}
SOCKET = {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"}
HEDDLE = {"NCCL_NET": "heddle", "NCCL_NET_PLUGIN": PLUGIN, "HEDDLE_IFNAME": "lo"}
SIZES = (0, 1, 4095, 131072, 1000003, 8 << 20)


def reason_to_skip():
    if not LIBRARY:
        return "HEDDLE_TEST_NCCL names no libnccl.so.2 that is linked with the shared CUDA runtime"
    if b"libcudart.so.13\0" not in pathlib.Path(LIBRARY).read_bytes():
        return f"{LIBRARY} is not linked with libcudart.so.13: its own CUDA runtime needs NVIDIA's driver"
    return ""


def loads_release_2_28():
    """In a process of its own, as the stand-ins are found by LD_LIBRARY_PATH."""
    program = ("import ctypes, sys; version = ctypes.c_int();"
               "ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(version)); print(version.value)")
    done = subprocess.run([sys.executable, "-c", program, LIBRARY], env=environment({}), capture_output=True,
                          text=True, timeout=LIMIT_S, check=True)
    return int(done.stdout) // 100 == 228


def environment(settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEDDLE", "NCCL"))}
    return {**kept, "LD_LIBRARY_PATH": STAND_IN, "NCCL_LIBRARY": LIBRARY, **SETTINGS, **settings}


class Ranks:
    """Two processes of rank.py, and what they wrote."""

    def __init__(self, arguments, settings):
        self.started = [self.start(rank, arguments, settings) for rank in range(2)]
        stop = threading.Timer(LIMIT_S, self.stop)
        stop.start()
        begin = []
        for line in self.started[0].stdout:
            begin.append(line)
            if line.startswith("id "):
                break
        self.started[1].stdin.write(begin[-1].partition(" ")[2] if begin else "\n")
        ends = [threading.Thread(target=self.finish, args=(rank,)) for rank in range(2)]
        self.output = ["".join(begin), ""]
        for end in ends:
            end.start()
        for end in ends:
            end.join()
        stop.cancel()

    @staticmethod
    def start(rank, arguments, settings):
        return subprocess.Popen(
            [sys.executable, "-B", HERE / "rank.py", str(rank), "2", *map(str, arguments)], text=True,
            env=environment({**settings, "NCCL_HOSTID": f"host{rank}"}), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, rank):
        self.output[rank] += self.started[rank].communicate()[0]

    def stop(self):
        for process in self.started:
            process.kill()


class WithoutGpu(unittest.TestCase):
    def exchange(self, settings):
        ranks = Ranks(SIZES, settings)
        for rank in range(2):
            output = ranks.output[rank]
            self.assertEqual(ranks.started[rank].returncode, 0, output)
            self.assertEqual([int(line[3:]) for line in output.splitlines() if line.startswith("ok ")], list(SIZES))
            self.assertIn(f"via NET/{settings['NCCL_NET']}/", output)

    def test_bytes_arrive_over_sockets(self):
        self.exchange({**SOCKET, "NCCL_MAX_NCHANNELS": "1"})

    def test_bytes_arrive_over_heddle(self):
        self.exchange({**HEDDLE, "NCCL_MAX_NCHANNELS": "1"})

    def test_a_transfer_is_divided_among_channels(self):
        self.exchange({**HEDDLE, "NCCL_MIN_NCHANNELS": "4", "NCCL_NCHANNELS_PER_NET_PEER": "4"})

    def test_profiler_and_tuner_are_found_by_name_without_the_net_plugin(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks = Ranks([4096], {
                **SOCKET, "NCCL_PROFILER_PLUGIN": "heddle", "NCCL_TUNER_PLUGIN": "heddle", "HEDDLE_RECORD": folder,
                "LD_LIBRARY_PATH": os.pathsep.join((STAND_IN, os.path.dirname(PLUGIN)))})
            for rank in range(2):
                self.assertEqual(ranks.started[rank].returncode, 0, ranks.output[rank])
                self.assertIn("via NET/Socket/", ranks.output[rank])
                self.assertRegex(ranks.output[rank], "PROFILER/Plugin: Loaded heddle")
                self.assertRegex(ranks.output[rank], "(?i)TUNER/Plugin: .*heddle")
            self.assertEqual(len(os.listdir(folder)), 2)

    def test_collectives_are_refused(self):
        ranks = Ranks(["all-reduce"], SOCKET)
        for rank in range(2):
            self.assertNotEqual(ranks.started[rank].returncode, 0)
            self.assertIn("only ncclSend and ncclRecv are supported", ranks.output[rank])


if __name__ == "__main__":
    why = reason_to_skip()
    if not why and not loads_release_2_28():
        why = f"{LIBRARY} is not of release 2.28, whose kernels' arguments the stand-in can read"
    if why:
        print(why)
        sys.exit(77)
    unittest.main()
