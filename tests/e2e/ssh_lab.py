"""A lab whose hosts have an sshd each, as machines of a cluster have."""

import getpass
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import lab_fabric
import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from harness import moved_clock  # noqa: E402: found by the line above

MISSING = lab_fabric.missing() or (
    None if all(map(shutil.which, ("sshd", "ssh", "ssh-keygen"))) else
    "there is no sshd (Debian: openssh-server, openssh-client)")


class SshLab:
    """Up until close(). `via` is what --via takes; at() runs heddle on one of the hosts."""

    def __init__(self, text, hosts, name="ssh", ipv6=False, clocks=None):
        """`ipv6`: hosts have no IPv4 address, and ssh reaches them by their names for IPv6. `clocks`: {host: seconds}
        by which the clock of what ssh starts there is ahead."""
        # Not in /tmp: sshd refuses keys in a folder that others may write to.
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-ssh-", dir="/run")
        folder = pathlib.Path(self._folder.name)
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        self._clocks = clocks or {}
        self._library = moved_clock.make_library(folder) if self._clocks else None
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nPidFile none\nUsePAM no\n"
            "PermitRootLogin yes\nStrictModes no\n")
        (folder / "ssh_config").write_text(
            f"Host *\nIdentityFile {folder}/user\nUser {getpass.getuser()}\nStrictHostKeyChecking no\n"
            "UserKnownHostsFile /dev/null\nLogLevel ERROR\nBatchMode yes\nConnectTimeout 30\n"
            + "".join(f"Host {host}\nHostName {host}-v6\n" for host in hosts if ipv6))
        self.via = f"ssh -F {folder}/ssh_config {{host}} {{command}}"
        self.lab = lab_fabric.Lab(folder, text, name)
        for host in hosts if ipv6 else ():
            self.lab.exec(host, "ip", "-4", "address", "flush", "dev", "nic0")
        self._servers = [self._serve(host, folder) for host in hosts]

    def _settings(self, host):
        """Options of sshd."""
        if host not in self._clocks:
            return ()
        moved = moved_clock.settings(self._library, self._clocks[host])
        return ("-o", "SetEnv=" + " ".join(f"{name}={value}" for name, value in moved.items()))

    def _serve(self, host, folder):
        server = subprocess.Popen([program.HEDDLE, "lab", "exec", host, "--lab", self.lab.name, "--",
                                   shutil.which("sshd"), "-D", "-e", "-f", folder / "sshd_config",
                                   *self._settings(host)],
                                  stderr=subprocess.PIPE, text=True)
        for line in server.stderr:
            if "listening on" in line:
                # It logs each login, and stands still where nothing reads that.
                reader = threading.Thread(target=lambda: list(server.stderr), daemon=True)
                reader.start()
                return server, reader
        raise AssertionError("sshd ended")

    def at(self, host, *words, **options):
        return program.run("lab", "exec", host, "--lab", self.lab.name, "--", program.HEDDLE, *words, **options)

    def close(self):
        for server, _ in self._servers:
            server.terminate()
            server.wait()
        self.lab.close()  # with the sessions that there are
        for server, reader in self._servers:
            reader.join(program.PATIENCE_S)
            server.stderr.close()
        self._folder.cleanup()
