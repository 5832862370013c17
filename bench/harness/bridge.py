"""Bridge: N network namespaces ("hosts"), each with a veth to one bridge, for the duration of a `with` block.

There are no rates and no queues besides the kernel's, so the machine is the limit. Each host has its own host
name.
"""

import os
import subprocess

from harness.cable import PREFIX, ip, remove_what_killed_runs_left


class Bridge:
    def __init__(self, hosts, mtu_bytes=9000):
        self.mtu_bytes = mtu_bytes
        self._stem = f"{PREFIX}-{os.getpid()}-b{hosts}x{mtu_bytes}"
        self._switch = f"{self._stem}-switch"
        self.hosts = [f"h{number}" for number in range(hosts)]

    def address(self, host):
        return f"10.78.0.{1 + self.hosts.index(host)}"

    def device(self, _host):
        return "nic0"

    def namespace(self, host):
        return f"{self._stem}-{host}"

    def __enter__(self):
        remove_what_killed_runs_left()
        try:
            ip("netns", "add", self._switch)
            ip("-n", self._switch, "link", "add", "bridge0", "type", "bridge")
            ip("-n", self._switch, "link", "set", "bridge0", "up")
            for host in self.hosts:
                self._plug_in(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _plug_in(self, host):
        name, mtu = self.namespace(host), str(self.mtu_bytes)
        ip("netns", "add", name)
        ip("-n", name, "link", "add", "nic0", "mtu", mtu, "type", "veth", "peer", "name", f"port-{host}", "mtu", mtu,
           "netns", self._switch)
        ip("-n", self._switch, "link", "set", f"port-{host}", "master", "bridge0")
        ip("-n", self._switch, "link", "set", f"port-{host}", "up")
        ip("-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "nic0")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "nic0", "up")

    def __exit__(self, *_):
        for name in [*map(self.namespace, self.hosts), self._switch]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    def inside(self, host, command):
        """Returns the command line that runs `command` on `host`, as the same process."""
        return ["ip", "netns", "exec", self.namespace(host), *with_host_name(host, command)]

    def run(self, host, command):
        subprocess.run(self.inside(host, command), check=True)


def with_host_name(host, command):
    return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, *command]
