"""Queue pairs of another process, by the kernel's verbs interface: lists them, and moves one to the error state.

It borrows the process's verbs descriptor (pidfd_getfd), so the process itself knows nothing of it, as with a NIC that
fails. Needs root and Linux 5.6.
"""

import ctypes
import errno
import fcntl
import json
import os
import struct
import subprocess

SENDS, RECEIVES, ERROR = 3, 2, 6  # the states RTS, RTR and ERR of a queue pair
_PIDFD_GETFD = 438  # the same number on every architecture
_RXE = 14  # RDMA_DRIVER_RXE
_IOCTL = 0xC0181B01  # RDMA_VERBS_IOCTL
_QUERY, _MODIFY = 25, 26  # IB_USER_VERBS_CMD_QUERY_QP, IB_USER_VERBS_CMD_MODIFY_QP
_STATE = 1  # IB_QP_STATE
_ANSWER_BYTES = 128
_STATE_AT = 64 + 10 * 4 + 4  # in struct ib_uverbs_query_qp_resp: behind both addresses, 10 words and 2 key indices
_HANDLES = 256  # the kernel gives the lowest free number


class QueuePairs:
    """Of one process; a with statement closes what it borrowed."""

    def __init__(self, process):
        self.descriptor = _borrow(process)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.descriptor)

    def states(self):
        """By handle: the state of each queue pair."""
        found = {}
        for handle in range(_HANDLES):
            answer = ctypes.create_string_buffer(_ANSWER_BYTES)
            if self._command(_QUERY, struct.pack("=QII", 0, handle, _STATE), answer):
                found[handle] = answer.raw[_STATE_AT]
        return found

    def of_state(self, state):
        return [handle for handle, each in self.states().items() if each == state]

    def break_off(self, handle):
        """Whether it was there to be moved to the error state."""
        modify = struct.pack("=64sIIIIIIIHHBB", bytes(64), handle, _STATE, 0, 0, 0, 0, 0, 0, 0, ERROR, 0)
        return self._command(_MODIFY, modify.ljust(112, b"\0"), None)

    def _command(self, command, words, answer):
        request = ctypes.create_string_buffer(words, len(words))
        attributes = [struct.pack("=HHHHQ", 0, len(words), 1, 0, ctypes.addressof(request) if len(words) > 8 else 0)]
        if answer is not None:
            attributes.append(struct.pack("=HHHHQ", 1, len(answer), 1, 0, ctypes.addressof(answer)))
        attributes.append(struct.pack("=HHHHQ", 2, 8, 1, 0, command))
        length = 24 + 16 * len(attributes)
        message = bytearray(struct.pack("=HHHHQII", length, 0, 0, len(attributes), 0, _RXE, 0) + b"".join(attributes))
        while True:
            try:
                fcntl.ioctl(self.descriptor, _IOCTL, message)
                return True
            except OSError as error:
                if error.errno in (errno.EINVAL, errno.ENOENT):
                    return False  # there is no such queue pair
                if error.errno != errno.EBUSY:  # the process ends or changes it just now
                    raise


def _borrow(process):
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        if os.readlink(f"{folder}/{name}").startswith("/dev/infiniband/uverbs"):
            pid = os.pidfd_open(process)
            try:
                taken = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, pid, int(name), 0)
            finally:
                os.close(pid)
            if taken < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            return taken
    raise LookupError(f"process {process} has opened no RDMA device")


def held(kind, process=None):
    """What the kernel holds of this kind (qp, mr, cq, pd) for programs, or for one of them."""
    listed = subprocess.run(["rdma", "-j", "resource", "show", kind], capture_output=True, text=True, check=True).stdout
    return [each for each in json.loads(listed or "[]")
            if "pid" in each and (process is None or each["pid"] == process)]
