#!/usr/bin/env python3
"""How bench/run evaluates its rounds: which runs count, which are compared, and which count as disturbed."""

import contextlib
import importlib.util
import io
import pathlib
import resource
import subprocess
import sys
import types
import unittest
from unittest import mock

import program

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "verify"), str(BENCH / "rdma")]

import comparison  # noqa: E402: found by the line above
import programs  # noqa: E402
from harness.meanwhile import disturbance  # noqa: E402
from harness.orphans import Orphans  # noqa: E402
from harness.rounds import Spare, calm, interleave  # noqa: E402



def scenario(name):
    specification = importlib.util.spec_from_file_location(f"{name}_scenario", BENCH / name / "scenario.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


rdma, verify = scenario("rdma"), scenario("verify")


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Silent:
    def say(self, *_):
        pass

    clear = say


def run_of(value, others=0.0, stolen=0.0, stall=0.0):
    meanwhile = types.SimpleNamespace(others_share=others, stolen_share=stolen, stall_ms=stall,
                                      disturbance=disturbance(others, stolen, stall))
    return types.SimpleNamespace(value=value, meanwhile=meanwhile, made_again=0)


class Scripted:
    """A contest whose runs are given."""

    def __init__(self, name, runs):
        self.name, self._runs, self.count = name, list(runs), 0

    def run(self):
        self.count += 1
        return self._runs.pop(0)


def value_of(run):
    return run.value


class Disturbance(unittest.TestCase):
    def test_a_quiet_machine_disturbs_nothing(self):
        self.assertLessEqual(disturbance(0.05, 0.02, 10), 1)
        self.assertLessEqual(disturbance(0, 0, None), 1)  # stalls could not be measured

    def test_each_cause_alone_disturbs(self):
        for cause in ((0.06, 0, 0), (0, 0.03, 0), (0, 0, 11)):
            self.assertGreater(disturbance(*cause), 1, cause)

    def test_a_daemons_work_was_taken_for_other_programs(self):
        """Open MPI's ranks are children of daemons, so disturbance of its runs could not be detected."""
        busy = "end = time.process_time() + 0.15\nwhile time.process_time() < end: pass\n"
        daemon = f"import os, time\nif os.fork() > 0: os._exit(0)\nos.setsid()\nif os.fork() > 0: os._exit(0)\n{busy}"
        orphans, before = Orphans(), children_s()
        subprocess.run([sys.executable, "-c", daemon], check=True)
        orphans.settle(program.PATIENCE_S)
        self.assertGreaterEqual(children_s() - before, 0.15)


class Rounds(unittest.TestCase):
    def test_a_disturbed_run_is_made_again_and_the_least_disturbed_counts(self):
        contest = Scripted("one", [run_of(900, others=0.5), run_of(500, others=0.3), run_of(100)])
        samples = interleave([contest], 1, Silent())["one"]
        self.assertEqual([run.value for run in samples], [100])
        self.assertEqual(samples[0].made_again, 2)

    def test_runs_were_made_again_without_an_end_to_the_time_that_takes(self):
        contest = Scripted("one", [run_of(number, others=0.5) for number in range(9)])
        spare = Spare(0)
        interleave([contest], 3, Silent(), spare)
        self.assertEqual(contest.count, 3)
        self.assertFalse(spare.is_left)

    def test_a_round_that_disturbed_one_program_counts_for_none(self):
        samples = {"a": [run_of(1), run_of(2, others=0.4), run_of(3), run_of(4)],
                   "b": [run_of(5), run_of(6), run_of(7), run_of(8)]}
        self.assertEqual({name: [run.value for run in runs] for name, runs in calm(samples).items()},
                         {"a": [1, 3, 4], "b": [5, 7, 8]})

    def test_all_rounds_count_where_too_few_were_quiet(self):
        samples = {"a": [run_of(1), run_of(2, others=0.4), run_of(3, others=0.4), run_of(4)]}
        self.assertEqual(len(calm(samples)["a"]), 4)
        self.assertEqual(len(calm({"a": [run_of(1, others=1)]})["a"]), 1)


class Seconds(unittest.TestCase):
    """Of each stage of `bench/run verify`, in its document and in its text."""

    def test_each_stage_has_its_own_and_all_are_shown(self):
        at = [100.0]

        def stage(seconds):
            def measure(_network, _tools, _arguments, skip, _progress):
                at[0] += seconds
                skip(f"one of {seconds}")
                yield comparison.row("a", "a", ({"heddle": [run_of(1)]}, 0), value_of)
            return types.SimpleNamespace(TITLE="a", measure=measure)

        stages = {"transfer": stage(2.0), "training": stage(61.4)}
        with mock.patch.dict(verify._STAGES, stages, clear=True), \
             mock.patch.object(verify.time, "monotonic", lambda: at[0]):
            asked = types.SimpleNamespace(only=None)
            document = verify.measure_stages(None, None, asked, Silent(), lambda text: None)
        self.assertEqual({name: round(each, 3) for name, each in document["seconds"].items()},
                         {"transfer": 2.0, "training": 61.4})
        self.assertEqual((len(document["rows"]), len(document["skipped"])), (2, 2))
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            verify.show({**document, "wall_s": 64.0, "network": "", "exit_status": 0})
        self.assertIn("took 64 s: transfer 2 s, training 61 s;", shown.getvalue())


class Rows(unittest.TestCase):
    def test_one_disturbed_round_made_heddle_look_half_as_fast(self):
        """1 KiB all-reduces were timed once, for 10 ms: 342 us beside 184, where medians were 95 beside 106."""
        mine = [run_of(95), run_of(342), run_of(96), run_of(90), run_of(97)]
        theirs = [run_of(106), run_of(184), run_of(105), run_of(107), run_of(101)]
        row = comparison.row("allreduce", "1 KiB", ({"heddle": mine, "MPI": theirs}, 0), value_of, less_is_better=True)
        self.assertEqual(row["heddle"]["median"], 96)
        self.assertEqual((row["heddle"]["min"], row["heddle"]["max"]), (90, 342))
        self.assertAlmostEqual(row["ratio"]["median"], 105 / 96)
        self.assertEqual(row["rounds"], 5)

    def test_the_best_peer_stands_beside_heddle(self):
        kept = {"heddle": [run_of(10)], "slow": [run_of(2)], "fast": [run_of(5)]}, 0
        row = comparison.row("transfer", "Mb/s", kept, value_of)
        self.assertEqual((row["peer_name"], row["ratio"]["median"]), ("fast", 2))
        row = comparison.row("allreduce", "us", kept, value_of, less_is_better=True)
        self.assertEqual((row["peer_name"], row["ratio"]["median"]), ("slow", 0.2))

    def test_heddle_alone_has_no_ratio(self):
        self.assertNotIn("ratio", comparison.row("transfer", "Mb/s", ({"heddle": [run_of(1)]}, 0), value_of))

    def test_figures_of_a_busy_machine_looked_like_those_of_a_quiet_one(self):
        quiet = comparison.row("a", "a", ({"heddle": 5 * [run_of(1)]}, 0), value_of)
        runs = {"heddle": 2 * [run_of(1)] + 3 * [run_of(1, others=0.4)]}
        busy = comparison.row("b", "b", (runs, 0), value_of)
        self.assertEqual(comparison.disturbed_rows([quiet, busy]), [busy])
        self.assertEqual(comparison.disturbance_text([quiet]), [])
        text = "\n".join(comparison.disturbance_text([quiet, busy]))
        self.assertIn("other programs had up to 40% of the cores", text)

    def test_runs_made_again_were_counted_for_each_row_of_their_stage(self):
        again = run_of(1)
        again.made_again = 3
        rows = [comparison.row("a", what, ({"heddle": [again]}, 1), value_of) for what in ("1 KiB", "1 MiB")]
        self.assertIn("3 runs were made again and 1 rounds left out", comparison.disturbance_text(rows)[0])


class LossOfRdma(unittest.TestCase):
    def rounds(self, *goodput):
        """One a value, or a text: why it ended. Without faults it is 2."""
        return [{"no fault": {"x": {"goodput": {"gbits_per_s": 2.0}}},
                 "1% lost": {"x": {"goodput": {"ended": each} if isinstance(each, str) else {"gbits_per_s": each}}}}
                for each in goodput]

    def test_a_share_is_that_of_the_same_program_and_round(self):
        found = rdma._measure(self.rounds(1.0, 1.5, 0.5), "1% lost", "x", "goodput", "gbits_per_s")
        self.assertEqual((found["value"]["median"], found["to_own"]["median"], found["to_own"]["max"]), (1, 0.5, 0.75))
        self.assertEqual(found["ended"], [])

    def test_a_measure_that_ended_early_counts_in_no_median(self):
        found = rdma._measure(self.rounds("retry exceeded", 1.0), "1% lost", "x", "goodput", "gbits_per_s")
        self.assertEqual((found["to_own"]["samples"], found["ended"]), ([0.5], ["retry exceeded"]))
        found = rdma._measure(self.rounds("retry exceeded"), "1% lost", "x", "goodput", "gbits_per_s")
        self.assertEqual((found["value"], found["to_own"]), (None, None))

    def test_perftest_says_why_it_ended(self):
        perftest = programs.Perftest({})
        printed = " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
        self.assertEqual(perftest._reason(printed), "retry exceeded")
        self.assertEqual(perftest._reason(" Failed status 9: wr_id 0\n"), "status 9")
        self.assertIsNone(perftest._reason(" 1048576    40               12.58              9.76\n"))

    def test_a_client_that_goes_on_for_ever_is_ended(self):
        with self.assertRaisesRegex(programs.Ended, "no result in 1 s"):
            programs._client(["sleep", "100"], 1, lambda _: None, limit_s=1)
        with self.assertRaisesRegex(programs.Ended, "no such host"):
            programs._client(["sh", "-c", "echo no such host >&2; exit 3"], 1, lambda _: None)


if __name__ == "__main__":
    unittest.main()
