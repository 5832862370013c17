"""Fabric: a lab (`heddle lab`) of a topology that this module writes, for the duration of a `with` block."""

import json
import os
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.pair import built

_FRAME_EXTRA = 14       # Ethernet; rates of the lab count it
_HEADERS = 28 + 40      # IPv4 and UDP; heddle's data header


def payload_share(mtu_bytes):
    """The share of a link's rate that is heddle's payload: full segments, with their headers and frames."""
    return (mtu_bytes - _HEADERS) / (mtu_bytes + _FRAME_EXTRA)


def leaf_spine(leaves=2, spines=4, hosts_per_leaf=2, mtu=1500, host_rate="1Gbit/s", host_queue="625KB",
               spine_rate="200Mbit/s", spine_queue="125KB", more="", ecn=False):
    """The text of a topology file; queues are 5 ms at these rates."""
    return f"""version = 1
[fabric]
kind = "leaf_spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = {hosts_per_leaf}
[host_link]
rate = "{host_rate}"
queue = "{host_queue}"
mtu = {mtu}
ecn = {str(ecn).lower()}
[switch_link]
rate = "{spine_rate}"
queue = "{spine_queue}"
mtu = {mtu}
ecn = {str(ecn).lower()}
{more}"""


WAN = "2 leaves joined by 20 Mb/s, round trip 20 ms"


def wan(hosts_per_leaf=2):
    """Two sites: WAN says it. Each way passes two links; a queue of 50 ms, as routers of that rate have."""
    return leaf_spine(spines=1, hosts_per_leaf=hosts_per_leaf, mtu=1500, spine_rate="20Mbit/s", spine_queue="125KB",
                      more='delay = "5ms"')


def override(ends, **values):
    """The [[override]] of one link: override(("leaf0", "spine1"), rate="50Mbit/s")."""
    lines = [f'{key} = "{value}"' for key, value in values.items()]
    return "\n".join(["[[override]]", f'link = ["{ends[0]}", "{ends[1]}"]', *lines, ""])


class Pair:
    """Two hosts of a fabric, in the form that run_pair() takes."""

    def __init__(self, fabric, near, far):
        self.near, self.far = near, far
        self.far_address = fabric.address(far)
        self.inside = fabric.inside


class Fabric:
    def __init__(self, text):
        self.text = text
        self.name = f"bench-{os.getpid()}"
        self._heddle = built("heddle")
        self._addresses = {}
        self._file = None

    def __enter__(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="heddle-bench-", delete=False) as file:
            file.write(self.text)
        self._file = file.name
        try:
            self._lab("up", self._file, "--name", self.name)
            for host in json.loads(self._lab("list", "--json"))["labs"]:
                if host["name"] == self.name:
                    self._addresses = {one["name"]: one for one in host["hosts"]}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([self._heddle, "lab", "down", self.name], capture_output=True, check=False)
        if self._file:
            os.unlink(self._file)
            self._file = None

    def _lab(self, *words):
        done = subprocess.run([self._heddle, "lab", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"`heddle lab {words[0]}` failed: {done.stderr.strip()}",
                                "run it as root, or where network namespaces are allowed")
        return done.stdout

    @property
    def file(self):
        return self._file

    @property
    def hosts(self):
        return list(self._addresses)

    def address(self, host, nic=0):
        return self._addresses[host]["nics"][nic]["ipv4"]

    def device(self, host):
        return self._addresses[host]["nics"][0]["device"]

    def fault(self, *words):
        self._lab("fault", "--name", self.name, *words)

    def inside(self, host, command):
        """Returns the command line that runs `command` on `host`, as the same process."""
        return [self._heddle, "lab", "exec", "--name", self.name, host, "--", *command]

    def run(self, host, command):
        subprocess.run(self.inside(host, command), check=True)

    def output(self, host, command):
        return subprocess.run(self.inside(host, command), check=True, capture_output=True, text=True).stdout

    def pair(self, near, far):
        return Pair(self, near, far)
