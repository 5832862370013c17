"""The filter of system calls that containers get by default, as BPF for bubblewrap: the profile that Debian's
golang-github-containers-common has for Podman and CRI-O, and a stricter one with what releases of Docker and containerd
refuse beside it. None of the two has a capability."""

import errno
import json
import pathlib
import tempfile

try:
    import seccomp
except ImportError:
    seccomp = None

PROFILE = pathlib.Path("/usr/share/containers/seccomp.json")
NEW_NAMESPACES = 0x7E020000  # flags of clone()
# What each is refused with. Docker 25 and containerd 2.0 refuse io_uring; Docker before 20.10 answers EPERM to calls
# that it does not know, and refuses other processes' memory, as it still does on kernels before 4.8. Memory policies
# and namespaces need a capability.
REFUSED_BY_DOCKER = {
    **dict.fromkeys(("io_uring_setup", "io_uring_enter", "io_uring_register"), errno.EPERM),
    **dict.fromkeys(("process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd", "userfaultfd"), errno.EPERM),
    **dict.fromkeys(("mbind", "get_mempolicy", "set_mempolicy", "move_pages"), errno.EPERM),
    **dict.fromkeys(("setns", "unshare", "mount", "umount2", "pivot_root", "chroot", "bpf", "keyctl"), errno.EPERM),
    **dict.fromkeys(("epoll_pwait2", "close_range", "faccessat2", "openat2", "pidfd_open", "rseq"), errno.EPERM),
    "clone3": errno.ENOSYS}
COMPARISONS = {"SCMP_CMP_NE": "NE", "SCMP_CMP_LT": "LT", "SCMP_CMP_LE": "LE", "SCMP_CMP_EQ": "EQ", "SCMP_CMP_GE": "GE",
               "SCMP_CMP_GT": "GT", "SCMP_CMP_MASKED_EQ": "MASKED_EQ"}


def missing():
    """Why there is no such filter here; empty if there is one."""
    if seccomp is None:
        return "there is no python3-seccomp: scripts/setup --packages"
    return "" if PROFILE.exists() else "there is no profile of containers: scripts/setup --packages"


def rules_of(profile):
    """(names, action, conditions) of those rules that hold on x86-64 for a process without capabilities."""
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") or "amd64" not in includes.get("arches", ["amd64"]):
            continue
        if "amd64" in excludes.get("arches", []):
            continue
        yield rule["names"], rule["action"], rule.get("errnoRet", 1), rule.get("args") or []


def condition(found):
    compared = getattr(seccomp, COMPARISONS[found["op"]])
    return seccomp.Arg(found["index"], compared, found["value"], found.get("valueTwo", 0))


def default_filter(strict):
    """The BPF program, as bytes."""
    profile = json.loads(PROFILE.read_text(encoding="utf-8"))
    default = errno.EPERM if strict else profile.get("defaultErrnoRet", errno.EPERM)
    made = seccomp.SyscallFilter(defaction=seccomp.ERRNO(default))
    refused = REFUSED_BY_DOCKER if strict else {}
    for names, action, number, arguments in rules_of(profile):
        for name in names:
            conditions = [condition(each) for each in arguments]
            if name == "clone" and strict:
                conditions.append(seccomp.Arg(0, seccomp.MASKED_EQ, NEW_NAMESPACES, 0))
            known = seccomp.resolve_syscall(seccomp.Arch(), name) != -1
            if known and name not in refused and not (action == "SCMP_ACT_ERRNO" and number == default):
                made.add_rule(seccomp.ALLOW if action == "SCMP_ACT_ALLOW" else seccomp.ERRNO(number), name, *conditions)
    for name, number in refused.items():
        if number != default:
            made.add_rule(seccomp.ERRNO(number), name)
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()
