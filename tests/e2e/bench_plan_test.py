#!/usr/bin/env python3
"""bench/run plan: its fabrics carry what their names say, MPTCP's subflows are counted, C4P's figures marked."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import types
import unittest

import lab_fabric
import program

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH)]
os.environ.setdefault("HEDDLE_BENCH_BIN", str(pathlib.Path(program.HEDDLE).parent))

from harness.fabric import Fabric, leaf_spine  # noqa: E402: found by the line above
from harness.flows import run_flows  # noqa: E402
from harness.mptcp import Mptcp, why_no_mptcp  # noqa: E402
from plan import lab, scenario, shares, tenants, theirs  # noqa: E402
from plan.fabrics import Fabric as Planned, eight_rings, heddle, one_ring, workload  # noqa: E402


class Shapes(unittest.TestCase):
    def test_the_bound_of_each_fabric_is_what_its_uplinks_leave_a_host(self):
        arguments = types.SimpleNamespace(bytes=1_000_000, paths=64)
        names = [name for name, _, _ in scenario._COMPARED]
        for spines in ("", "two spines, "):
            for flows in ("one ring", "eight rings"):
                for over in ("1:1", "2:1"):
                    self.assertIn(f"{flows}, {spines}{over}", names)
        for name, shape, many in scenario._COMPARED:
            fabric = Planned(seed=1, **shape)
            flows = eight_rings(fabric, 1) if many else one_ring(fabric)
            with tempfile.TemporaryDirectory(prefix="heddle-bench-plan-test-") as folder:
                case = scenario.Case(folder, fabric, flows, arguments)
                bound = case.bound(case.plan("plan.json"))
            wanted = 50 if name.endswith("2:1") else 200 if shape["ports"] == 2 else 100
            self.assertAlmostEqual(bound, wanted, delta=wanted / 100, msg=name)

    def test_jobs_of_leases_and_shares_have_the_same_fabrics(self):
        self.assertIs(shares.SHAPES, tenants.SHAPES)
        for name, shape in tenants.SHAPES.items():
            uplinks = shape["spines"] * shape.get("uplink_gbits", 100)
            self.assertEqual(uplinks, 400 if name.endswith("2:1") else 800, name)

    def test_an_uplink_of_another_rate_has_a_queue_of_the_same_time(self):
        with tempfile.TemporaryDirectory(prefix="heddle-bench-plan-test-") as folder:
            pathlib.Path(folder, "fabric.toml").write_text(Planned(2, 1, 1, uplink_gbits=400).text, encoding="utf-8")
            pathlib.Path(folder, "flows.toml").write_text(workload([(0, 8)], 1_000_000), encoding="utf-8")
            done = heddle(folder, "sim", "--topology", "fabric.toml", "--workload", "flows.toml", "--json")
        self.assertIn('rate = "400Gbit/s"\nqueue = "4MiB"', Planned(2, 1, 1, uplink_gbits=400).text)
        self.assertEqual(len(done["flows"]), 1)


class Theirs(unittest.TestCase):
    def test_what_is_recalled_is_marked_and_other_rows_have_nothing(self):
        self.assertTrue(theirs.rate("eight rings, 1:1").endswith("*"))
        self.assertEqual(theirs.step("30% exposed"), "about 15% of the run time")
        for cell in (theirs.rate("eight rings, two spines, 1:1"), theirs.rate("one ring, 1:1"),
                     theirs.failed_uplink("spraying"), theirs.failed_uplink(None), theirs.step("10% exposed"),
                     theirs.jobs("leases")):
            self.assertEqual(cell, "-")

    def test_rows_that_have_a_figure_are_rows_of_the_tables(self):
        cases = [name for name, _, _ in scenario._COMPARED] + [f"eight jobs, {name}" for name in tenants.SHAPES]
        self.assertEqual([name for name in cases if theirs.rate(name) != "-"],
                         ["eight rings, 1:1", "eight rings, 2:1", "one ring, two ports", "eight jobs, 1:1",
                          "eight jobs, 2:1"])
        self.assertIn("together", [key for _, key in shares.STRATEGIES if theirs.jobs(key) != "-"])


def lab_document(no_mptcp, programs):
    one = {"median": 0.5, "min": 0.5, "max": 0.5}
    rates = dict.fromkeys(("before", "before_worst", "after", "after_worst"), one)
    calm = {"others_share_max": 0, "stolen_share_max": 0, "stall_ms_max": 0, "made_again": 0, "disturbed": 0}
    return {"no_mptcp": no_mptcp, "lab": [{**rates, "machine": calm, **each} for each in programs]}


def shown(document):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        lab.show(document)
    return printed.getvalue()


class Peers(unittest.TestCase):
    def test_a_kernel_without_mptcp_has_the_reason_and_one_subflow_is_no_mptcp(self):
        self.assertIn("this kernel has no MPTCP", shown(lab_document("this kernel has no MPTCP: …", [])))
        count = lambda number: {"median": number, "min": number, "max": number}
        self.assertIn("MPTCP fell back to TCP",
                      shown(lab_document(None, [{"program": "MPTCP cubic, 8 subflows", "subflows": count(1)}])))
        text = shown(lab_document(None, [{"program": "MPTCP cubic, 8 subflows", "subflows": count(8)}]))
        self.assertNotIn("fell back", text)
        self.assertIn("8 (8 to 8)", text)

    @unittest.skipIf(lab_fabric.missing() or why_no_mptcp(), str(lab_fabric.missing() or why_no_mptcp()))
    def test_the_kernel_opens_the_subflows_that_are_asked_for_and_their_bytes_are_counted(self):
        with Fabric(leaf_spine(spine_rate="20Mbit/s", spine_queue="12500B")) as fabric:
            for wanted in (1, 8):
                (flow,) = run_flows(fabric, Mptcp(wanted, "own", f"{wanted} subflows"), [("h0", "h2")], 1).flows
                self.assertEqual(flow["subflows"], wanted)
                joined = fabric.output("h0", ["nstat", "-az", "MPTcpExtMPJoinSynAckRx"]).split()
                self.assertEqual(int(joined[joined.index("MPTcpExtMPJoinSynAckRx") + 1]), wanted - 1)
                self.assertEqual(len(flow["received"]["interval_bytes"]), 20)
                self.assertGreater(sum(flow["received"]["interval_bytes"][10:]), 0)


if __name__ == "__main__":
    unittest.main()
