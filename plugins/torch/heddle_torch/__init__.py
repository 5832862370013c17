"""torch.distributed over heddle: import it, then init_process_group("heddle").

Endpoints take heddle's settings (HEDDLE_PATHS, HEDDLE_BIND, heddle.toml ...); see docs/reference/pytorch.md.
"""

import atexit
import inspect

import torch
import torch.distributed as dist

from . import _backend

__version__ = _backend.heddle_version


def _check_version():
    """The extension calls into the torch that it was built with, and no other."""
    built = _backend.torch_version.split("+")[0].split(".")[:2]
    found = torch.__version__.split("+")[0].split(".")[:2]
    if built != found:
        raise ImportError(
            f"heddle_torch was built with torch {'.'.join(built)}, this is {torch.__version__}: "
            "build it again with this torch (make torch)")


def _create(store, rank, size, timeout):
    """What torch calls for init_process_group() and new_group()."""
    return _backend.create(store, rank, size, timeout.total_seconds())


def mark(name, step=0):
    """Says where the program is: from here on in phase `name`, for the `step`-th time.

    Recordings show it (`heddle record`). The name is cut to 32 bytes of UTF-8. Returns whether anything is
    recorded; before init_process_group() nothing is.
    """
    return _backend.mark(name, step)


def _register():
    options = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        options["devices"] = ["cpu"]  # since torch 2.0
    dist.Backend.register_backend("heddle", _create, **options)


_check_version()
_register()
# A process that ends without a word is a rank that was lost, to those who are still at work.
atexit.register(_backend.leave_all_groups)
