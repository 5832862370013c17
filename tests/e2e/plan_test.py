#!/usr/bin/env python3
"""heddle plan and heddle sim --plan: what a plan gains, plans that do not fit, and a planned link that dies."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import unittest

import program

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 4
spines = 4
hosts_per_leaf = 4
[host_link]
mtu = 4154
[switch_link]
mtu = 4154
"""

FAT_TREE = """version = 1
[fabric]
kind = "fat_tree"
hosts_per_leaf = 2
[host_link]
mtu = 4154
[switch_link]
mtu = 4154
"""

PERMUTATION = """version = 1
[[job]]
kind = "permutation"
bytes = "8MB"
"""

# All hosts of a leaf send to the next leaf.
NEIGHBORS = "version = 1\n" + "".join(
    f'[[flow]]\nfrom = "h{i}"\nto = "h{(i + 4) % 16}"\nbytes = "8MB"\n' for i in range(16))

INCAST = """version = 1
[[job]]
kind = "incast"
to = "h0"
bytes = "1MB"
"""


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("fabric.toml", FABRIC), ("tree.toml", FAT_TREE), ("perm.toml", PERMUTATION),
                           ("neighbors.toml", NEIGHBORS), ("incast.toml", INCAST)):
            self.write(name, text)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def command(self, name, topology, workload, *more):
        return program.run(name, "--topology", topology, "--workload", workload, *more, cwd=self.folder)

    def test_addresses_that_two_hosts_share_are_refused_with_both_names(self):
        for one, other in (("10.0.0.1", "10.0.0.1"), ("fd00::1", "fd00:0::0:1")):
            self.write("hosts.txt", f"{one} h0\n{other} h1\n")
            done = self.command("plan", "fabric.toml", "neighbors.toml", "--addresses", "hosts.txt")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"'h0' and 'h1' both have {other}", done.stderr)

    def test_where_no_flow_has_a_route_no_times_are_shown(self):
        self.write("one.toml", 'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 2\nspines = 1\n'
                               'hosts_per_leaf = 1\n')
        self.write("flow.toml", 'version = 1\n[[flow]]\nfrom = "h0"\nto = "h1"\nbytes = "1MB"\n')
        done = self.command("plan", "one.toml", "flow.toml", "--failed", "leaf0:spine0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Nothing is planned: 1 part of flows", done.stdout)
        self.assertNotIn(" us", done.stdout)

    def test_a_plan_replaces_no_input_but_the_plan_before_it(self):
        for option, name in (("--topology", "fabric.toml"), ("--workload", "neighbors.toml")):
            done = self.command("plan", "fabric.toml", "neighbors.toml", "-o", name)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"it is what {option} names", done.stderr)
        self.document("plan", "fabric.toml", "neighbors.toml", "-o", "plan.json")
        beside = self.command("plan", "fabric.toml", "neighbors.toml", "--beside", "plan.json", "-o", "plan.json")
        self.assertIn("--beside", beside.stderr)
        self.assertEqual(beside.returncode, 2)
        self.document("plan", "fabric.toml", "neighbors.toml", "--after", "plan.json", "-o", "plan.json")

    def document(self, *arguments, status=0):
        done = self.command(*arguments, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def plan(self, topology, workload):
        return self.document("plan", topology, workload, "-o", "plan.json")

    def expect_followed(self, topology, workload):
        """The tail with the plan is below ECMP's, and near the bound. The plan, and the simulation."""
        plan = self.plan(topology, workload)
        self.assertEqual(plan["no_gain"], "none")
        simulated = self.document("sim", topology, workload, "--plan", "plan.json")
        self.assertEqual(simulated["selector"], "plan")
        self.assertEqual(simulated["paths"], plan["paths"])
        hashed = self.document("sim", topology, workload, "--paths", 1)
        self.assertLess(simulated["tail_fct_us"], hashed["tail_fct_us"] * 0.8)
        # Headers are 3% of packets; the rest is the transport's.
        self.assertLess(simulated["tail_fct_us"], plan["bound_us"] * 1.15)
        return plan, simulated

    def test_neighboring_leaves_reach_the_bound_on_one_path_each(self):
        plan, simulated = self.expect_followed("fabric.toml", "neighbors.toml")
        self.assertTrue(plan["colored"])
        self.assertEqual(plan["parts"], 1)
        self.assertAlmostEqual(plan["bound_us"], 8e6 * 8 / 100e3, delta=0.1)
        self.assertTrue(all(len(flow["paths"]) == 1 for flow in plan["flows"]))
        self.assertEqual(simulated["counters"]["segments_retransmitted"], 0)

    def test_a_permutation_on_three_tiers(self):
        self.expect_followed("tree.toml", "perm.toml")

    def test_what_cannot_be_written_whole_leaves_the_plan_from_before(self):
        """A limit of files in place of a full disk, which left a fragment."""
        before = self.plan("fabric.toml", "neighbors.toml")
        os.chmod(os.path.join(self.folder, "plan.json"), 0o640)
        self.assertEqual(self.plan("fabric.toml", "neighbors.toml")["flows"], before["flows"])
        self.assertEqual(os.stat(os.path.join(self.folder, "plan.json")).st_mode & 0o777, 0o640)
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        done = subprocess.run([program.HEDDLE, "plan", "--topology", "fabric.toml", "--workload", "perm.toml", "-o",
                               "plan.json"], cwd=self.folder, env=program.environment(), capture_output=True,
                              text=True, preexec_fn=limit, timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("cannot write plan.json", done.stderr)
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["flows"], before["flows"])
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("plan.json.")], [])

    def test_text_says_where_no_choice_helps(self):
        done = self.command("plan", "fabric.toml", "incast.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lower bound", done.stdout)
        self.assertIn("No gain: hosts' own links take longest", done.stdout)

    def test_plans_that_do_not_fit_are_refused(self):
        plan = self.plan("fabric.toml", "neighbors.toml")

        def refused(why, topology="fabric.toml", name="wrong.json"):
            done = self.command("sim", topology, "neighbors.toml", "--plan", name)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(f"cannot use the plan {name}", done.stderr)
            self.assertIn(why, done.stderr)
            self.assertRegex(done.stderr, "heddle plan|upgrade this heddle")
        refused("another fabric", topology="tree.toml", name="plan.json")
        self.write("wrong.json", json.dumps(plan)[:500])
        refused("cut off")
        for change, why in (({"fabrik": 1}, "unknown key 'fabrik'"), ({"version": 9}, "version is 9"),
                            ({"paths": 0}, "'paths'"), ({"flows": [{"vrom": "h0"}]}, "unknown key 'vrom'"),
                            ({"flows": [{"from": "h99", "to": "h1", "paths": []}]}, "no hosts"),
                            ({"flows": plan["flows"] + plan["flows"][:1]}, "flows[16] has hosts that an earlier")):
            self.write("wrong.json", json.dumps({**plan, **change}))
            refused(why)
        for paths, why in (([{"path": 64, "share_per_million": 1_000_000}], "without a number"),
                           ([{"path": 1, "share_per_million": 10}], "sum"),
                           ([{"path": 1, "share_per_million": 500_000}] * 2, "ascend")):
            flow = {"from": "h0", "to": "h4", "payload_bytes": 1, "paths": paths}
            self.write("wrong.json", json.dumps({**plan, "flows": [flow]}))
            refused(why)

    def planned(self, *words, status=0):
        """The document of `heddle plan` on fabric.toml with these options."""
        done = program.run("plan", "--topology", "fabric.toml", "--json", *words, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def refused(self, why, *words):
        done = program.run("plan", "--topology", "fabric.toml", *words, cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(why, done.stderr)

    def test_a_matrix_is_what_a_workload_is(self):
        rows = "".join(f"h{i},1,h{(i + 4) % 16},8000000\n" for i in range(16))
        self.write("matrix.csv", "from,messages,to,bytes\n" + rows + 'h1,1,"a, b",5\n')
        done = program.run("plan", "--topology", "fabric.toml", "--matrix", "matrix.csv", "--json", cwd=self.folder)
        self.assertIn("host 'a, b' of the matrix is not in the topology: 5 bytes are left out; use", done.stderr)
        self.assertEqual(json.loads(done.stdout)["flows"], self.plan("fabric.toml", "neighbors.toml")["flows"])
        self.write("wrong.csv", "from,to,bytes\nh0,h1,many\n")
        self.refused("wrong.csv:2: 'many' is no number of bytes", "--matrix", "wrong.csv")
        self.write("wrong.csv", "from,to\nh0,h1\n")
        self.refused("no column 'bytes'", "--matrix", "wrong.csv")
        self.write("wrong.csv", "from,to,bytes\n" + "".join(f"n{i:02},h0,7\n" for i in range(10)))
        self.refused("hosts 'n00', 'n01', 'n02', 'n03', 'n04', 'n05', 'n06', 'n07' and 2 others of the matrix are not "
                     "in the topology", "--matrix", "wrong.csv")
        self.write("wrong.csv", "from,to,bytes\nnode1,node2,7\n")
        self.refused("hosts 'node1' and 'node2' of the matrix are not in the topology (use the topology's names",
                     "--matrix", "wrong.csv")
        self.refused("--workload, --matrix or --recording")

    def test_calls_of_jobs_are_flows(self):
        self.write("job.toml", 'version = 1\n[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "16MB"\n'
                   'count = 3\nhosts = ["h0", "h4", "h8", "h12"]\n')
        flows = self.planned("--workload", "job.toml")["flows"]
        self.assertEqual(sorted((flow["from"], flow["to"]) for flow in flows),
                         [("h0", "h4"), ("h12", "h0"), ("h4", "h8"), ("h8", "h12")])
        for flow in flows:  # 2 (n - 1) / n of the data, three times
            self.assertAlmostEqual(flow["payload_bytes"], 3 * 2 * 3 / 4 * 16e6, delta=100)

    def test_an_all_reduce_on_two_levels_crosses_the_border_of_its_groups_once(self):
        self.write("job.toml", 'version = 1\n[[job]]\nkind = "all_reduce"\nalgorithm = "two_level/2"\nbytes = "16MB"\n'
                   'hosts = ["h0", "h1", "h8", "h9"]\n')
        flows = self.planned("--workload", "job.toml")["flows"]
        crossing = {(flow["from"], flow["to"]): flow["payload_bytes"] for flow in flows
                    if {flow["from"], flow["to"]} & {"h0", "h1"} and {flow["from"], flow["to"]} & {"h8", "h9"}}
        self.assertEqual(sorted(crossing), [("h0", "h8"), ("h1", "h9"), ("h8", "h0"), ("h9", "h1")])
        for size in crossing.values():
            self.assertAlmostEqual(size, 8e6, delta=100)

    def test_after_a_failure_only_concerned_flows_move(self):
        before = self.plan("fabric.toml", "neighbors.toml")
        after = self.planned("--workload", "neighbors.toml", "--after", "plan.json", "--failed", "leaf1:spine2",
                             "-o", "after.json")
        # Leaf 0 sends to leaf 1, and leaf 1 to leaf 2.
        concerned = [flow["from"] in [f"h{i}" for i in range(8)] for flow in before["flows"]]
        self.assertEqual(after["kept"], 8)
        self.assertEqual(after["failed_links"], ["leaf1 - spine2"])
        for old, new, moves in zip(before["flows"], after["flows"], concerned):
            if not moves:
                self.assertEqual(old, new)
        self.assertEqual(after["unreachable"], 0)
        again = program.run("plan", "--topology", "fabric.toml", "--workload", "neighbors.toml", "--after",
                            "after.json", cwd=self.folder)
        self.assertIn("down as in after.json, too: leaf1 - spine2", again.stderr)
        self.refused("not 32", "--workload", "neighbors.toml", "--after", "plan.json", "--paths", "32")
        whole = self.planned("--workload", "neighbors.toml", "--failed", "leaf1:spine2")
        self.assertEqual(whole["kept"], 0)
        self.assertAlmostEqual(whole["bound_us"], 8e6 * 8 / 100e3 * 4 / 3, delta=1)
        # Of all flows, those that stay included.
        self.assertAlmostEqual(after["bound_us"], whole["bound_us"], delta=1)
        for usual in ("ecmp", "spraying"):
            for links in ("between_switches_us", "nics_us"):
                self.assertAlmostEqual(after[usual][links], whole[usual][links], delta=1)
        fault = '[[fault]]\nat = "0s"\nlink = ["leaf1", "spine2"]\nkind = "down"\n'
        self.write("faulty.toml", FABRIC + fault)
        simulated = self.document("sim", "faulty.toml", "neighbors.toml", "--plan", "after.json", "--convergence",
                                  "0s")
        self.assertLess(simulated["tail_fct_us"], whole["bound_us"] * 1.25)
        self.refused("leaf9", "--workload", "neighbors.toml", "--failed", "leaf9:spine0")

    def test_other_plans_are_respected(self):
        self.write("one.csv", "from,to,bytes\nh0,h4,8000000\n")
        self.write("other.csv", "from,to,bytes\nh1,h5,8000000\n")
        self.planned("--matrix", "one.csv", "-o", "one.json")
        other = self.planned("--matrix", "other.csv", "--beside", "one.json")
        self.assertAlmostEqual(other["planned"]["between_switches_us"], 640, delta=1)

    def test_ranks_that_belong_together(self):
        # Each host of leaf 0 and 1 exchanges data with one of the other leaf's: two swaps pair them up.
        pairs = "".join(f"h{i},h{i + 4},4000000\nh{i + 4},h{i},4000000\n" for i in range(4))
        self.write("pairs.csv", "from,to,bytes\n" + pairs)
        ranks = self.planned("--matrix", "pairs.csv", "--swap-ranks")
        self.assertEqual(len(ranks["swaps"]), 2)
        self.assertEqual(ranks["swaps"][-1]["crossing_bytes"], 0)
        self.assertLess(ranks["swaps"][-1]["simulated_us"], ranks["simulated_us"])
        self.write("inside.csv", "from,to,bytes\nh0,h1,1000000\n")
        done = program.run("plan", "--topology", "fabric.toml", "--matrix", "inside.csv", "--swap-ranks",
                           cwd=self.folder)
        self.assertIn("No gain", done.stdout)

    def test_flows_follow_another_plan_from_its_time_on(self):
        self.check_two_plans('[[flow]]\nfrom = "h0"\nto = "h4"\nbytes = "32MB"\n')

    def test_ranks_follow_another_plan_from_its_time_on(self):
        self.check_two_plans('[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "32MB"\n'
                             'hosts = ["h0", "h4"]\n')

    def check_two_plans(self, workload):
        """About 2,650 us of payload at the full rate; a plan that comes 1 ms later leaves 1 ms more on the first one's
        links. What a sender's NIC had queued when it came, up to 1 MB, is on those links in both."""
        self.write("two.csv", "from,to,bytes\nh0,h4,8000000\nh4,h0,8000000\n")
        self.write("two.toml", "version = 1\n" + workload)
        spines = []
        for name, more in (("one.json", ()), ("next.json", ("--beside", "one.json"))):
            plan = self.planned("--matrix", "two.csv", "--lab-addresses", "-o", name, *more)
            spines.append(plan["flows"][0]["paths"][0]["via"][1])
        self.assertNotEqual(*spines)
        carried = [self.carried(spines, at) for at in ("500us", "1500us")]
        for shares in carried:
            self.assertAlmostEqual(sum(shares), 1, delta=0.02)
            self.assertGreater(shares[0], 0.15)
        self.assertAlmostEqual(carried[1][0] - carried[0][0], 1000 / 2650, delta=0.05)

    def carried(self, spines, at):
        """Of what leaf0 sends, the shares of these spines, where the second plan comes at this time."""
        done = self.document("sim", "fabric.toml", "two.toml", "--plan", "one.json", "--replan", f"{at}:next.json")
        sent = {link["to"]: link["bytes"] for link in done["links"]["counters"] if link["from"] == "leaf0"}
        whole = sum(size for to, size in sent.items() if to.startswith("spine"))
        return [sent[spine] / whole for spine in spines]

    def test_a_plan_that_cannot_replace_the_first_is_refused(self):
        self.plan("fabric.toml", "neighbors.toml")
        self.planned("--workload", "neighbors.toml", "--paths", 32, "-o", "fewer.json")
        for words, why in ((("--replan", "1ms:plan.json"), "there is none before it"),
                           (("--plan", "plan.json", "--replan", "soon:plan.json"), "it is not a time and a file"),
                           (("--plan", "plan.json", "--replan", "1ms"), "it is not a time and a file"),
                           (("--plan", "plan.json", "--replan", "1ms:none.json"), "none.json"),
                           (("--plan", "plan.json", "--replan", "1ms:fewer.json"), "plan with the same --paths")):
            done = self.command("sim", "fabric.toml", "neighbors.toml", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)

    def test_flows_without_a_plan_adapt(self):
        plan = self.plan("fabric.toml", "neighbors.toml")
        self.write("half.json", json.dumps({**plan, "flows": plan["flows"][:8]}))
        done = self.command("sim", "fabric.toml", "neighbors.toml", "--plan", "half.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("8 of 16 flows not in half.json", done.stderr)

    def test_a_planned_link_that_dies_is_left(self):
        plan = self.plan("fabric.toml", "neighbors.toml")
        one = {(flow["from"], flow["to"]): len(flow["paths"]) for flow in plan["flows"]}
        self.assertEqual(set(one.values()), {1})
        # Two of leaf0's four uplinks, and its switch does not notice: packets of planned paths vanish.
        faults = "".join(f'[[fault]]\nat = "100us"\nlink = ["leaf0", "spine{i}"]\nkind = "blackhole"\n' for i in (0, 1))
        self.write("faulty.toml", FABRIC + faults)
        simulated = self.document("sim", "faulty.toml", "neighbors.toml", "--plan", "plan.json")
        self.assertEqual(simulated["flows_arrived"], 16)
        self.assertGreater(simulated["counters"]["segments_retransmitted"], 0)
        self.assertGreater(simulated["tail_fct_us"], plan["bound_us"] * 1.15)



def ring(*hosts, size="8MB", count=2):
    return (f'[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "{size}"\ncount = {count}\nhosts = ["'
            + '", "'.join(hosts) + '"]\n')


class Jobs(unittest.TestCase):
    """Ranks that follow a plan: they have other ports than the flows that it names."""

    # A ring of each leaf's i-th hosts: with ECMP some share an uplink.
    RINGS = "version = 1\n" + "".join(ring(*(f"h{4 * leaf + i}" for leaf in range(4))) for i in range(4))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("fabric.toml", FABRIC)
        self.write("rings.toml", self.RINGS)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def document(self, name, workload, *more):
        done = program.run(name, "--topology", "fabric.toml", "--workload", workload, "--json", *more, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def plan(self, workload):
        return self.document("plan", workload, "--lab-addresses", "-o", "plan.json")

    def longest_us(self, simulated):
        return max(step["took_us"] for job in simulated["jobs"] for step in job["steps"])

    def expect_planned_loads(self, plan, simulated, within=0.05):
        """Links between switches carry what the plan gives them, and headers; `within` a share of the largest load."""
        planned = {}
        for flow in plan["flows"]:
            for path in flow["paths"]:
                for link in zip(path["via"], path["via"][1:]):
                    planned[link] = planned.get(link, 0) + flow["payload_bytes"] * path["share_per_million"] * 1e-6
        carried = {(link["from"], link["to"]): link["bytes"] for link in simulated["links"]["counters"]
                   if "spine" in link["from"] + link["to"]}
        overhead = sum(carried.values()) / sum(planned.values())
        self.assertGreater(overhead, 1)
        self.assertLess(overhead, 1.06)
        for link, size in carried.items():
            self.assertAlmostEqual(size, planned.get(link, 0) * overhead, delta=within * max(planned.values()),
                                   msg=link)

    def test_rings_that_collide_do_not_with_a_plan(self):
        plan = self.plan("rings.toml")
        self.assertEqual(plan["no_gain"], "none")
        simulated = self.document("sim", "rings.toml", "--plan", "plan.json")
        self.assertEqual((simulated["selector"], simulated["paths"]), ("plan", plan["paths"]))
        self.expect_planned_loads(plan, simulated)
        hashed = self.document("sim", "rings.toml", "--paths", 1)
        self.assertLess(self.longest_us(simulated), 0.7 * self.longest_us(hashed))
        # 2(n-1)/n S/B and headers, and the latency of 2(n-1) messages in sequence.
        self.assertLess(self.longest_us(simulated), 1.1 * 1.5 * 8e6 / 12_500 + 6 * 30)
        self.assertEqual(simulated["counters"]["segments_retransmitted"], 0)

    def test_one_seed_one_history(self):
        self.plan("rings.toml")
        first, again = (self.document("sim", "rings.toml", "--plan", "plan.json") for _ in range(2))
        self.assertEqual(first["history"], again["history"])
        self.assertEqual(first["jobs"], again["jobs"])

    def test_ranks_that_share_hosts_with_others_and_with_flows_follow(self):
        # Three processes of some hosts: flows, and ranks of two jobs.
        self.write("mixed.toml", self.RINGS + ring("h0", "h5", "h10", "h15") +
                   "".join(f'[[flow]]\nfrom = "h{i}"\nto = "h{(i + 4) % 16}"\nbytes = "4MB"\n' for i in range(4)))
        plan = self.plan("mixed.toml")
        self.expect_planned_loads(plan, self.document("sim", "mixed.toml", "--plan", "plan.json"))

    def test_a_training_job_of_two_ports_follows(self):
        self.write("fabric.toml", FABRIC.replace("hosts_per_leaf = 4", "hosts_per_leaf = 4\nnics_per_host = 2\n"
                                                 "rails = true"))
        self.write("training.toml", 'version = 1\n[[job]]\nkind = "training"\nlayers = 4\nlayer_bytes = "4MB"\n'
                   'bucket = "8MB"\nforward = "20us"\nalgorithm = "ring"\nhosts = ["h0", "h4", "h1", "h5"]\n')
        plan = self.plan("training.toml")
        self.expect_planned_loads(plan, self.document("sim", "training.toml", "--plan", "plan.json"))

    def test_a_plan_made_after_a_failure_is_read_under_the_routes_after_it(self):
        plan = self.document("plan", "rings.toml", "--failed", "leaf0:spine1", "--lab-addresses", "-o", "plan.json")
        # It fails when all connections are open, with shares for the routes before.
        self.write("fabric.toml", FABRIC + '[[fault]]\nat = "0s"\nlink = ["leaf0", "spine1"]\nkind = "down"\n')
        simulated = self.document("sim", "rings.toml", "--plan", "plan.json", "--convergence", "0s")
        # The uplinks that are left lose packets, and what waits in front of them leaves by others.
        self.expect_planned_loads(plan, simulated, within=0.1)

    def test_calls_without_an_algorithm_send_between_the_pairs_that_are_planned(self):
        hosts = [f"h{i}" for i in range(16)]
        for size in ("64kB", "256kB", "1MB", "4MB"):
            self.write("auto.toml", 'version = 1\n[[job]]\nkind = "all_reduce"\n'
                       f'bytes = "{size}"\nhosts = ["' + '", "'.join(hosts) + '"]\n')
            planned = {(flow["from"], flow["to"]) for flow in self.plan("auto.toml")["flows"]}
            job = self.document("sim", "auto.toml", "--plan", "plan.json", "--delivered")["jobs"][0]
            sent = {(hosts[source], hosts[to]) for source, to, delivered in job["delivered"] if delivered > 1000}
            self.assertEqual(sent, planned, size)

    def test_pairs_of_hosts_that_a_plan_lacks_are_counted(self):
        plan = self.plan("rings.toml")
        self.write("half.json", json.dumps({**plan, "flows": plan["flows"][:8]}))
        done = program.run("sim", "--topology", "fabric.toml", "--workload", "rings.toml", "--plan", "half.json",
                           cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("8 of 16 pairs of hosts that jobs send between not in half.json", done.stderr)
        self.assertNotIn("Plan with the same", done.stderr)  # it is a plan of this workload
        # Of one path most connections have none that takes the planned route.
        few = self.document("plan", "rings.toml", "--paths", 1, "-o", "few.json")
        self.assertEqual(few["paths"], 1)
        done = program.run("sim", "--topology", "fabric.toml", "--workload", "rings.toml", "--plan", "few.json",
                           cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("have no path that takes the routes of few.json", done.stderr)


class Background(unittest.TestCase):
    """Loads that take no part, forecast from counters."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("fabric.toml", FABRIC)
        self.write("matrix.csv", "from,to,bytes\nh0,h4,1000000\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def counters(self, rate_at, readings=60):
        """Of leaf0's uplinks: bytes a second by spine and reading."""
        lines, sums = ["link,time,bytes"], [0] * 4
        for i in range(readings):
            for spine in range(4):
                lines.append(f"leaf0 -> spine{spine},{1_700_000_000 + 10 * i}.5,{sums[spine]}")
                sums[spine] += round(rate_at(spine, i) * 10)
        self.write("counters.csv", "\n".join(lines) + "\n")

    def run_plan(self, *more):
        return program.run("plan", "--topology", "fabric.toml", "--matrix", "matrix.csv", "--background",
                           "counters.csv", "--lab-addresses", "--split", "1", *more, cwd=self.folder)

    def spine(self, *more):
        done = self.run_plan("--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        return document["flows"][0]["paths"][0]["via"][1], document["background"]

    def test_a_plan_keeps_off_links_that_will_be_loaded(self):
        for free in range(4):
            self.counters(lambda spine, _, free=free: 0 if spine == free else 1e9)
            spine, background = self.spine("--period", "1ms")
            self.assertEqual(spine, f"spine{free}")
            self.assertEqual((background["links"], background["intervals"], background["interval_s"]), (4, 59, 10))
            self.assertAlmostEqual(background["used"], 1)
        self.assertIn("it was 0% off in the past, so 100% of it counts", self.run_plan().stdout)

    def test_a_useless_forecast_changes_nothing(self):
        done = program.run("plan", "--topology", "fabric.toml", "--matrix", "matrix.csv", "--lab-addresses", "--split",
                           "1", "--json", cwd=self.folder)
        self.counters(lambda spine, i: 1e9 if i % 29 == 7 * spine else 0)
        spine, background = self.spine("--period", "1ms")
        self.assertEqual(spine, json.loads(done.stdout)["flows"][0]["paths"][0]["via"][1])
        self.assertEqual(background["used"], 0)

    def test_too_few_readings(self):
        self.counters(lambda *_: 1e9, readings=5)
        self.assertEqual(self.spine()[1]["method"], "none")
        self.assertIn("none is forecast, 4 intervals of counters are too few", self.run_plan().stdout)

    def test_errors(self):
        for text, reason in (("time,link\n", "no column 'bytes'"),
                             ("time,link,bytes\nx,leaf0:spine0,1\n", "counters.csv:2"),
                             ("time,link,bytes\n1,leaf0:spine0,-1\n", "'-1' is no number of bytes"),
                             ("time,link,bytes\nnan,leaf0:spine0,1\n", "no time"),
                             ("time,link,bytes\n1,2\n", "2 fields")):
            self.write("counters.csv", text)
            done = self.run_plan()
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(reason, done.stderr)
        self.counters(lambda *_: 1e9)
        with open(os.path.join(self.folder, "counters.csv"), "a", encoding="utf-8") as file:
            file.write("leaf0 -> spine9,1,1\nleaf0,1,1\nleaf9:spine0#x,1,1\n")
        self.assertIn("3 of counters.csv are no links of the topology, 'leaf0 -> spine9' is one",
                      self.run_plan().stderr)
        self.assertEqual(self.run_plan("--beside", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
