"""Proves that the check of include arrows can fail, and what it lets pass."""

import unittest

from arrows import NAMES_AN_EXTENSION, check_arrows, check_extensions, check_table
from tree import File, read_rooms

ROOMS = read_rooms("# comment\nbase:\ntransport: base\nsimulator: base transport\n"
                   "tests: base transport simulator\n")


def violations(path, *included):
    text = "// Head.\n" + "".join(f"#include {name}\n" for name in included)
    return [violation.text for violation in check_arrows([File(path, text)], ROOMS)]


class ExtensionsTest(unittest.TestCase):
    named = [File(path, f'// Head.\n#include "{header}"\n') for path, header in NAMES_AN_EXTENSION.items()]

    def test_the_set_and_extensions_themselves_pass(self):
        files = [File("transport/connection/a.h", '// Head.\n#include "transport/extensions/extension_set.h"\n'),
                 File("transport/extensions/a.h", '// Head.\n#include "transport/extensions/credits.h"\n'),
                 File("transport/endpoint/a_test.cc", '// Head.\n#include "transport/extensions/credits.h"\n')]
        self.assertEqual(check_extensions(self.named + files), [])

    def test_a_part_that_names_an_extension_fails(self):
        file = File("transport/send/a.cc", '// Head.\n#include "transport/extensions/credits.h"\n')
        self.assertEqual([one.path for one in check_extensions([*self.named, file])], ["transport/send/a.cc"])

    def test_an_exception_that_nothing_needs_fails(self):
        self.assertEqual([one.path for one in check_extensions(self.named[1:])], [self.named[0].path])


class ArrowsTest(unittest.TestCase):
    def test_arrows_of_the_table_pass(self):
        self.assertEqual(violations("transport/a.h", '"base/nanos.h"', '"transport/wire/x.h"',
                                    "<vector>", "<sys/types.h>"), [])

    def test_an_arrow_that_is_not_in_the_table_fails(self):
        self.assertIn("base may not include transport",
                      violations("base/a.cc", '"transport/endpoint.h"')[0])
        self.assertEqual(len(violations("transport/wire/a.cc", '"simulator/clock.h"')), 1)

    def test_a_test_obeys_the_table_too(self):
        self.assertEqual(len(violations("transport/a_test.cc", '"simulator/clock.h"')), 1)

    def test_subfolders_are_private_except_to_tests(self):
        inside = '"transport/wire/x.h"'
        self.assertIn("private to transport", violations("simulator/a.cc", inside)[0])
        self.assertEqual(violations("simulator/a_test.cc", inside), [])
        self.assertEqual(violations("simulator/a_fuzz.cc", inside), [])
        self.assertEqual(violations("tests/vopr/oracle.cc", inside), [])

    def test_own_headers_are_named_from_the_root_with_quotes(self):
        self.assertEqual(len(violations("base/a.cc", '"nanos.h"')), 1)
        self.assertEqual(len(violations("base/a.cc", '"detail/nanos.h"')), 1)
        self.assertEqual(len(violations("base/a.cc", "<base/nanos.h>")), 1)
        self.assertEqual(len(violations("transport/a.cc", '"base/../transport/x.h"')), 1)

    def test_an_include_in_a_comment_does_not_count(self):
        file = File("base/a.h", '// #include "transport/x.h"\n/*\n#include "transport/x.h"\n*/\n')
        self.assertEqual(check_arrows([file], ROOMS), [])

    def test_the_line_is_named(self):
        file = File("base/a.h", '// Head.\n\n#include "transport/x.h"\n')
        self.assertEqual(check_arrows([file], ROOMS)[0].line, 3)

    def test_a_circle_in_the_table_fails(self):
        self.assertEqual(check_table(ROOMS), [])
        self.assertEqual(len(check_table(read_rooms("base: events\nevents: base\n"))), 1)


if __name__ == "__main__":
    unittest.main()
