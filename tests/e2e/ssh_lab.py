"""A lab whose hosts have an sshd each, as machines of a cluster have."""

import getpass
import pathlib
import shutil
import subprocess
import tempfile

import lab_fabric
import program

MISSING = lab_fabric.missing() or (
    None if all(map(shutil.which, ("sshd", "ssh", "ssh-keygen"))) else
    "there is no sshd (Debian: openssh-server, openssh-client)")


class SshLab:
    """Up until close(). `via` is what --via takes; at() runs heddle on one of the hosts."""

    def __init__(self, text, hosts, name="ssh", ipv6=False):
        """`ipv6`: hosts have no IPv4 address, and ssh reaches them by their names for IPv6."""
        # Not in /tmp: sshd refuses keys in a folder that others may write to.
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-ssh-", dir="/run")
        folder = pathlib.Path(self._folder.name)
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nPidFile none\nUsePAM no\n"
            "PermitRootLogin yes\nStrictModes no\n")
        (folder / "ssh_config").write_text(
            f"Host *\nIdentityFile {folder}/user\nUser {getpass.getuser()}\nStrictHostKeyChecking no\n"
            "UserKnownHostsFile /dev/null\nLogLevel ERROR\nBatchMode yes\nConnectTimeout 5\n"
            + "".join(f"Host {host}\nHostName {host}-v6\n" for host in hosts if ipv6))
        self.via = f"ssh -F {folder}/ssh_config {{host}} {{command}}"
        self.lab = lab_fabric.Lab(folder, text, name)
        for host in hosts if ipv6 else ():
            self.lab.exec(host, "ip", "-4", "address", "flush", "dev", "nic0")
        self._servers = [self._serve(host, folder) for host in hosts]

    def _serve(self, host, folder):
        server = subprocess.Popen([program.HEDDLE, "lab", "exec", host, "--lab", self.lab.name, "--",
                                   shutil.which("sshd"), "-D", "-e", "-f", folder / "sshd_config"],
                                  stderr=subprocess.PIPE, text=True)
        for line in server.stderr:
            if "listening on" in line:
                return server
        raise AssertionError("sshd ended")

    def at(self, host, *words, **options):
        return program.run("lab", "exec", host, "--lab", self.lab.name, "--", program.HEDDLE, *words, **options)

    def close(self):
        for server in self._servers:
            server.terminate()
            server.wait()
            server.stderr.close()
        self.lab.close()
        self._folder.cleanup()
