"""One rank of a job of NCCL, for tests: exchanges bytes with its neighbors in a ring by ncclSend and ncclRecv.

Usage: rank.py RANK RANKS (BYTES | all-reduce)... Environment: NCCL_LIBRARY. Rank 0 prints `id HEX`, others read it
from standard input. Prints `ok STEP` after each step; ends with an exception where NCCL reports an error or other
bytes arrive than were sent. Device memory is memory of this process, so the bytes are written and read directly.
"""

import ctypes
import os
import random
import sys

UINT8 = 1  # ncclUint8
SUM = 0  # ncclSum


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Job:
    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.nccl = ctypes.CDLL(os.environ["NCCL_LIBRARY"])
        self.cuda = ctypes.CDLL("libcudart.so.13")  # NCCL has loaded it
        self.nccl.ncclGetLastError.restype = ctypes.c_char_p
        self.stream = self.new_pointer(self.cuda.cudaStreamCreate)
        self.communicator = ctypes.c_void_p()
        self.call("ncclCommInitRank", ctypes.byref(self.communicator), ranks, self.exchange_id(), rank)

    def call(self, name, *arguments):
        result = getattr(self.nccl, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: {result}: {self.nccl.ncclGetLastError(None).decode()}")

    @staticmethod
    def new_pointer(function, *arguments):
        pointer = ctypes.c_void_p()
        if function(ctypes.byref(pointer), *arguments) != 0:
            raise MemoryError(function.__name__)
        return pointer

    def exchange_id(self):
        identity = Id()
        if self.rank == 0:
            self.call("ncclGetUniqueId", ctypes.byref(identity))
            print("id", bytes(identity).hex(), flush=True)
        else:
            ctypes.memmove(ctypes.byref(identity), bytes.fromhex(sys.stdin.readline()), 128)
        return identity

    def exchange(self, size):
        """Sends to the next rank, receives from the one before, and compares."""
        following, previous = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
        sent = self.new_pointer(self.cuda.cudaMalloc, ctypes.c_size_t(size))
        received = self.new_pointer(self.cuda.cudaMalloc, ctypes.c_size_t(size))
        ctypes.memmove(sent, pattern(self.rank, size), size)
        ctypes.memset(received, 0xEE, size)
        self.call("ncclGroupStart")
        self.call("ncclSend", sent, ctypes.c_size_t(size), UINT8, following, self.communicator, self.stream)
        self.call("ncclRecv", received, ctypes.c_size_t(size), UINT8, previous, self.communicator, self.stream)
        self.call("ncclGroupEnd")
        self.cuda.cudaStreamSynchronize(self.stream)
        if ctypes.string_at(received, size) != pattern(previous, size):
            raise ValueError(f"rank {self.rank} received other bytes than rank {previous} sent ({size} bytes)")
        self.cuda.cudaFree(sent)
        self.cuda.cudaFree(received)

    def all_reduce(self):
        memory = self.new_pointer(self.cuda.cudaMalloc, ctypes.c_size_t(4096))
        self.call("ncclAllReduce", memory, memory, ctypes.c_size_t(4096), UINT8, SUM, self.communicator, self.stream)

    def close(self):
        self.call("ncclCommFinalize", self.communicator)
        self.call("ncclCommDestroy", self.communicator)


def pattern(rank, size):
    return random.Random(f"{rank}/{size}").randbytes(size)


def main():
    job = Job(int(sys.argv[1]), int(sys.argv[2]))
    for step in sys.argv[3:]:
        if step == "all-reduce":
            job.all_reduce()
        else:
            job.exchange(int(step))
        print("ok", step, flush=True)
    job.close()
    print("closed", flush=True)


main()
