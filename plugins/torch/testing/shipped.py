"""The tests of torch.distributed that PyTorch ships (torch.testing._internal), run for one backend or compared
between two. Everything that they say of Gloo is read as said of the tested backend; with --like mpi, what they say of
MPI's backend, which has calls that Gloo lacks.

    shipped.py [--backend heddle] [--like gloo] [--ranks 3] [TEST ...]
                                            a line a test; status 1 if one fails that is not in differences.py
    shipped.py --compare [--ranks 3] [--output FILE] [TEST ...]
                                            Gloo beside heddle; status 1 if a difference is not in differences.py

Each test's ranks are forks of this process, which has imported torch and made no group.
"""

import argparse
import ast
import importlib.util
import json
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest

from differences import DIFFERENCES

FOLDER = "torch.testing._internal.distributed"
# Exit from a rank that was left alone by another costs its whole time limit, so this is a short one.
LIMIT_S = 90


class ReadAs(ast.NodeTransformer):
    """What is said of Gloo, said of another backend: "gloo" and Backend.GLOO. Or of another than Gloo."""

    def __init__(self, backend, like):
        self.backend, self.like = backend, like

    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(self.backend), node) if node.value == self.like else node

    def visit_Attribute(self, node):
        if node.attr == self.like.upper():
            return ast.copy_location(ast.Constant(self.backend), node)
        return self.generic_visit(node)


def stand_in_for_expecttest():
    """The tests' base class needs it for expected texts in files, which none of these tests has."""
    if importlib.util.find_spec("expecttest") is None:
        module = types.ModuleType("expecttest")
        module.ACCEPT = False
        module.TestCase = type("TestCase", (unittest.TestCase,), {})
        sys.modules["expecttest"] = module


def add_to_features(backend, like):
    stand_in_for_expecttest()
    arguments, sys.argv = sys.argv, sys.argv[:1]  # which torch's module of tests parses
    cases = importlib.import_module("torch.testing._internal.common_distributed").DistTestCases
    sys.argv = arguments
    logging.getLogger().setLevel(logging.ERROR)
    for backends in [*cases.skip_collective.values(), *cases.backend_feature.values()]:
        if like in backends:
            backends.add(backend)


def load(name, backend, like):
    """PyTorch's module of tests, whose conditions on `like` are conditions on `backend`."""
    spec = importlib.util.find_spec(f"{FOLDER}.{name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with open(spec.origin, encoding="utf-8") as file:
        tree = ReadAs(backend, like).visit(ast.parse(file.read()))
    exec(compile(ast.fix_missing_locations(tree), spec.origin, "exec"), module.__dict__)
    return module


def cases_of(backend, like):
    """The classes of tests: of all methods, and of DistributedDataParallel between ranks that call each other."""
    add_to_features(backend, like)
    # The tests turn on an experiment of DistributedDataParallel, which torch 1.13 cannot import in Python 3.11.
    importlib.import_module("torch.nn.parallel._replicated_tensor_ddp_utils")._set_ddp_with_replicated_tensor = bool
    shared = sys.modules["torch.testing._internal.common_distributed"]
    methods, parallel = (load(name, backend, like) for name in ("distributed_test", "ddp_under_dist_autograd_test"))
    agent = importlib.import_module(f"{FOLDER}.rpc.tensorpipe_rpc_agent_test_fixture").TensorPipeRpcAgentTestFixture

    class Forked:
        def setUp(self):
            super().setUp()
            self._start_processes(multiprocessing.get_context("fork").Process)

    def case(*bases):
        return type(bases[0].__name__, (Forked, *bases), {})

    return [case(methods.TestDistBackend, methods.DistributedTest._DistTestBase),
            case(parallel.DdpUnderDistAutogradTest, agent, shared.MultiProcessTestCase),
            case(parallel.DdpComparisonTest, agent, shared.MultiProcessTestCase)]


def reason_of(text):
    """The first line of an exception that says something."""
    lines = [line for line in text.splitlines() if re.match(r"(\w+\.)*\w*(Error|Exception|Failure)\b", line)]
    telling = [line for line in lines if not re.match(r"RuntimeError: Process \d+ exited", line)]
    return (telling or lines or [text.strip().splitlines()[-1]])[0][:300]


class Outcomes(unittest.TestResult):
    """A line of JSON a test, as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.began, self.found = time.monotonic(), ("passed", "")

    def addSkip(self, test, reason):
        self.found = ("skipped", reason)

    def addError(self, test, error):
        self.addFailure(test, error)

    def addFailure(self, test, error):
        text = self._exc_info_to_string(error, test)
        self.found = ("failed", reason_of(text))
        sys.stderr.write(f"--- {test.id()}\n{text}\n")

    def addExpectedFailure(self, test, error):
        pass

    def stopTest(self, test):
        super().stopTest(test)
        for each in test.processes if hasattr(test, "processes") else []:
            each.kill()
        outcome, reason = self.found
        print(json.dumps({"test": test.id().split(".")[-1], "outcome": outcome, "reason": reason,
                          "seconds": round(time.monotonic() - self.began, 1)}), flush=True)


def tests_of(cases, wanted):
    """(name, class) of each test that is wanted; all, if none is named."""
    shipped = {name: case for case in cases for name in unittest.TestLoader().getTestCaseNames(case)}
    missing = [name for name in wanted if name not in shipped]
    if missing:
        raise SystemExit(f"PyTorch ships no {', '.join(missing)}")
    return [(name, shipped[name]) for name in wanted or shipped]


def run_one_backend(backend, like, ranks, wanted):
    """In this process: prints outcomes, and returns how many tests failed."""
    with tempfile.TemporaryDirectory(prefix="heddle-shipped-") as folder:
        os.environ.update(BACKEND=backend, WORLD_SIZE=str(ranks), TEMP_DIR=folder, OMP_NUM_THREADS="1",
                          INIT_METHOD=f"file://{folder}/store", DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=str(LIMIT_S))
        os.environ.setdefault("HEDDLE_BIND", "127.0.0.1")
        if backend != "gloo":
            importlib.import_module(f"{backend}_torch")
        outcomes, failed = Outcomes(), 0
        for name, case in tests_of(cases_of(backend, like), wanted):
            unittest.TestSuite([case(name)]).run(outcomes)
            failed += outcomes.found[0] == "failed" and name not in DIFFERENCES
        return failed


def outcomes_of(backend, ranks, wanted):
    """By a process of its own, since PyTorch's module is of one backend: a table of outcomes by test."""
    words = [sys.executable, "-B", __file__, "--backend", backend, "--ranks", str(ranks), *wanted]
    table = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not line.startswith('{"test"'):
                continue
            row = json.loads(line)
            table[row["test"]] = row
            print(f"{backend:7} {row['outcome']:8} {row['seconds']:6.1f} s  {row['test']}", file=sys.stderr, flush=True)
    return table


def compare(ranks, wanted, output):
    theirs, ours = (outcomes_of(backend, ranks, wanted) for backend in ("gloo", "heddle"))
    rows = [{"test": name, "gloo": theirs.get(name), "heddle": ours.get(name)} for name in sorted({*theirs, *ours})]
    if output:
        with open(output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    unexpected = 0
    counts = {}
    for row in rows:
        pair = tuple(row[backend]["outcome"] if row[backend] else "no outcome" for backend in ("gloo", "heddle"))
        counts[pair] = counts.get(pair, 0) + 1
        if pair[0] == pair[1]:
            continue
        known = DIFFERENCES.get(row["test"])
        unexpected += known is None and pair[1] != "passed"
        why = known or (row["heddle"] or {}).get("reason", "")
        print(f"{row['test']}: gloo {pair[0]}, heddle {pair[1]}: {why}")
    for pair, count in sorted(counts.items()):
        print(f"{count:4} tests: gloo {pair[0]}, heddle {pair[1]}")
    return 1 if unexpected else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="heddle")
    parser.add_argument("--like", default="gloo", choices=["gloo", "mpi"])
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--output", help="write all outcomes there, as JSON")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    words = parser.parse_args()
    if words.compare:
        return compare(words.ranks, words.tests, words.output)
    return 1 if run_one_backend(words.backend, words.like, words.ranks, words.tests) else 0


if __name__ == "__main__":
    sys.exit(main())
