"""Steps of data parallel training on one simulated fabric: ECMP on one path, heddle's spraying, and a plan.

The model is cut into eight shards: of each one a host on every leaf has a replica, and eight rings, each in an order of
its own, combine the gradients of one step at the same time; a step ends when all have. Exposed: gradients are combined
after the backward pass, and computation is as long as makes communication 10, 30 or 50% of a step with ECMP. Hidden:
the backward pass takes twice as long as communication with ECMP, and gradients are combined in sixteen parts, each
while the next is computed; the last part has nothing to hide behind. Parameter servers: of each shard a host gets the
gradients of all the shard's hosts and sends them parameters: that host's own link takes longest, whatever the routes.
"""

import pathlib
import statistics
import tempfile

from harness.machine import describe
from harness.report import row
from plan import theirs
from plan.fabrics import LEAVES, Fabric, eight_rings, heddle

_SPINES = 8  # as many uplinks as hosts: 1:1
_STEPS = 3
_PARTS = 16  # of gradients, where they are hidden
_EXPOSED = (10, 30, 50)  # per cent
_HIDDEN = "hidden behind the backward pass"
_SERVERS = "parameter servers, half of a step"


def _replicas(seed):
    """Hosts of each shard, in the order of its ring."""
    flows = eight_rings(Fabric(_SPINES, 1, seed), seed)
    return [[sender for sender, _ in flows[i:i + LEAVES]] for i in range(0, len(flows), LEAVES)]


def _job(shards, actions):
    ranks = [f"h{host}" for shard in shards for host in shard]
    text = ('version = 1\n[[job]]\nkind = "program"\nhosts = ["' + '", "'.join(ranks) + '"]\n'
            f'[[job.communicator]]\nname = "all"\nranks = ["0..{len(ranks) - 1}"]\n')
    for i in range(0, len(ranks), LEAVES):
        text += f'[[job.communicator]]\nname = "data"\nranks = ["{i}..{i + LEAVES - 1}"]\n'
    return (text + f'[[job.program]]\nranks = ["0..{len(ranks) - 1}"]\nrepeat = {_STEPS}\nactions = ["'
            + '", "'.join([*actions, "barrier all"]) + '"]\n')


def _compute(spent_us):
    return f"compute {max(1, round(spent_us))}us"


def _exposed(size, compute_us):
    return [_compute(compute_us), f"all_reduce data {size}B ring"]


def _hidden(size, ecmp_us):
    actions = [_compute(ecmp_us)]
    for i in range(_PARTS):
        actions += [_compute(2 * ecmp_us / _PARTS), f"all_reduce data {size // _PARTS}B ring as part{i}"]
    return [*actions, "wait all"]


def _servers(size, compute_us):
    """The server of a shard is the first host of its ring, drawn by chance: some leaves have three, others none."""
    return [_compute(compute_us), f"gather data {size}B linear", f"scatter data {size}B linear"]


class _Steps:
    """A fabric in a folder on which jobs run."""

    def __init__(self, folder, seed, arguments):
        self.folder, self.paths, self.bytes = pathlib.Path(folder), arguments.paths, arguments.bytes
        self.shards = _replicas(seed)
        self.write("fabric.toml", Fabric(_SPINES, 1, seed).text)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def step(self, *how):
        """The median step of job.toml, and of it what ranks waited for."""
        job = heddle(self.folder, "sim", "--topology", "fabric.toml", "--workload", "job.toml", "--json",
                     *how)["jobs"][0]
        middle = sorted(job["steps"], key=lambda step: step["took_us"])[len(job["steps"]) // 2]
        return middle["took_us"], middle["exposed_us"] / middle["took_us"]

    def communication_us(self, actions):
        """With ECMP, and next to no computation."""
        self.write("job.toml", _job(self.shards, actions))
        return self.step("--paths", 1)[0]

    def compare(self, actions):
        self.write("job.toml", _job(self.shards, actions))
        plan = heddle(self.folder, "plan", "--topology", "fabric.toml", "--workload", "job.toml", "--paths",
                      self.paths, "-o", "plan.json", "--json")
        ecmp_us, exposed = self.step("--paths", 1)
        spraying_us, plan_us = self.step("--paths", self.paths)[0], self.step("--plan", "plan.json")[0]
        return {"ecmp_us": ecmp_us, "spraying_us": spraying_us, "plan_us": plan_us, "exposed_share": exposed,
                "over_ecmp": 1 - plan_us / ecmp_us, "over_spraying": 1 - plan_us / spraying_us,
                "no_gain": plan["no_gain"]}


def _on_fabric(steps, say):
    size, results = steps.bytes, {}
    alone_us = steps.communication_us(_exposed(size, 0))
    for percent in _EXPOSED:
        say(f"{percent}% exposed")
        results[f"{percent}% exposed"] = steps.compare(_exposed(size, alone_us * (100 - percent) / percent))
    say(_HIDDEN)
    results[_HIDDEN] = steps.compare(_hidden(size, alone_us))
    say(_SERVERS)
    results[_SERVERS] = steps.compare(_servers(size, steps.communication_us(_servers(size, 0))))
    return results


def _medians(results):
    return {key: statistics.median(each[key] for each in results) for key in results[0] if key != "no_gain"}


def run(arguments, progress):
    fabrics = []
    for seed in range(1, arguments.fabrics + 1):
        say = lambda what, done=seed - 1: progress.say(done, arguments.fabrics, what)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-steps-") as folder:
            fabrics.append(_on_fabric(_Steps(folder, seed, arguments), say))
    cases = [{"case": name, "medians": _medians([each[name] for each in fabrics]),
              "fabrics": [each[name] for each in fabrics]} for name in fabrics[0]]
    return {"steps": cases, "bytes": arguments.bytes, "paths": arguments.paths, "theirs": theirs.FIGURES,
            "machine": describe(),
            "exit_status": 0}


def show(document):
    print(f"Steps of 64 hosts, gradients of {document['bytes'] / 1e6:g} MB a host, {document['paths']} paths; median "
          f"of {len(document['steps'][0]['fabrics'])} fabrics. What a plan saves, of a step\n")
    row("", "exposed with ECMP", "ECMP, ms", "spraying, ms", "plan, ms", "saved, of ECMP's", "of spraying's",
        theirs.HEAD)
    for case in document["steps"]:
        of = case["medians"]
        row(case["case"], f"{of['exposed_share']:.0%}", *(f"{of[key] / 1e3:.2f}" for key in ("ecmp_us", "spraying_us",
                                                                                        "plan_us")),
            f"{of['over_ecmp']:.1%}", f"{of['over_spraying']:.1%}", theirs.step(case["case"]))
    theirs.note()
