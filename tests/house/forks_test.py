"""Every public method of an endpoint, a shared communicator and a pending call is called in a child of fork()
by a test, so that a new one cannot be forgotten there."""

import pathlib
import re
import unittest

from tree import strip_cxx

ROOT = pathlib.Path(__file__).resolve().parents[2]
# They make one, end one, or are for its own parts.
NOT_CALLS = {"create", "open"}
COMMUNICATORS = ("collectives/progress/shared_communicator_test.cc", "ChildIsRefusedByEveryCall")
METHOD = re.compile(r"^  (?! )(?:explicit |static )?[\w:<>,&*~ ]*?(\w+)\(", re.M)


def public_methods(text, name):
    """Of the class `name` in a header, without constructors, operators and what it nests."""
    body = strip_cxx(text).split(f"\nclass {name} {{", 1)[1].split("\n};", 1)[0]
    public = body.split("\n private:", 1)[0]
    found = {match.group(1) for match in METHOD.finditer(public) if "operator" not in match.group(0)}
    nested = set(re.findall(r"^  class (\w+)", public, re.M))
    return (found | nested) - NOT_CALLS - {name}


class ForksTest(unittest.TestCase):
    def check(self, header, name, place, pattern):
        test, case = place
        methods = public_methods((ROOT / header).read_text(), name)
        self.assertGreater(len(methods), 2)
        text = (ROOT / test).read_text().split(case, 1)[1].split("\n}  // namespace", 1)[0].split("\nTEST(", 1)[0]
        missing = sorted(method for method in methods if not re.search(pattern.format(method), text))
        self.assertEqual(missing, [], f"{test} does not call these in a child of fork()")

    def test_of_endpoints(self):
        self.check("engine/endpoint.h", "Endpoint", ("engine/endpoint_fork_test.cc", "posting_calls("), r'{{"{}",')

    def test_of_communicators(self):
        self.check("collectives/shared_communicator.h", "SharedCommunicator",
                   COMMUNICATORS, r"\balone->{0}\(|SharedCommunicator::{0}\(")

    def test_of_pending_calls(self):
        self.check("collectives/pending_call.h", "PendingCall",
                   COMMUNICATORS, r"\bcall\.{0}\(|PendingCall::{0}\b")

    def test_a_method_that_is_new_is_found(self):
        text = "// Head.\nclass Door {\n public:\n  Door();\n  bool is_open() const;\n  void shut(int at) { f(); }\n"
        text += "  class Bell {\n   public:\n    void ring();\n  };\n private:\n  void hide();\n};\n"
        self.assertEqual(public_methods(text, "Door"), {"is_open", "shut", "Bell"})


if __name__ == "__main__":
    unittest.main()
