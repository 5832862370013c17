"""Proves that every tidy rule can fail, and that good files pass all of them."""

import unittest

from exceptions import Exemption, apply_exceptions, read_exceptions
from tidy import check_tidy
from tree import File, Violation

GOOD = """// What it is.
#pragma once

#include <vector>

namespace heddle {

// Returns two.
inline int two() { return 2; }

}  // namespace heddle
"""


def rules(path, text, *others):
    return {violation.rule for violation in check_tidy([File(path, text), *others])}


def with_line(line):
    return GOOD.replace("// Returns two.", line)


def function_of(lines):
    return "// Head.\nint f() {\n" + "  g();\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):
    def test_a_good_file_passes(self):
        self.assertEqual(rules("base/two.h", GOOD), set())

    def test_file_length(self):
        self.assertEqual(rules("base/a.cc", "// Head.\n" + "\n" * 499), set())
        self.assertEqual(rules("base/a.cc", "// Head.\n" + "\n" * 500), {"file_length"})
        self.assertEqual(rules("base/a_test.cc", "// Head.\n" + "\n" * 699), set())
        self.assertEqual(rules("base/a_test.cc", "// Head.\n" + "\n" * 700), {"file_length"})

    def test_threads_start_in_one_place(self):
        for line in ("std::thread other;", "std::vector<std::thread> all;", "std::jthread other;",
                     "auto later = std::async(f);", "pthread_create(&a, nullptr, f, nullptr);"):
            self.assertEqual(rules("lab/a.h", with_line(line)), {"thread"}, line)
            self.assertEqual(rules("lab/a_test.cc", "// Head.\n" + line + "\n"), set(), line)
            self.assertEqual(rules("base/thread.h", with_line(line)), set(), line)
        self.assertEqual(rules("lab/a.h", with_line("int n = std::thread::hardware_concurrency();")), set())

    def test_libraries_have_mutexes_that_know_forks(self):
        for line in ("std::mutex mutex_;", "std::shared_mutex mutex_;", "std::once_flag once;"):
            self.assertEqual(rules("engine/a.h", with_line(line)), {"mutex"}, line)
            self.assertEqual(rules("engine/testing/a.h", with_line(line)), set(), line)
        self.assertEqual(rules("base/own_mutex.h", with_line("std::mutex mutex_;")), set())

    def test_function_length(self):
        self.assertEqual(rules("base/a.cc", function_of(70)), set())
        self.assertEqual(rules("base/a.cc", function_of(71)), {"function_length"})
        python = '"""Head."""\n\n\ndef f():\n' + "    g()\n" * 70
        self.assertEqual(rules("tests/a.py", python), {"function_length"})

    def test_a_function_takes_at_most_five_parameters_where_the_list_is_its_own(self):
        def taking(count):
            body = ",\n".join(f"std::map<int, int> p{number} = {{}}" for number in range(count))
            return GOOD.replace("int two()", f"int two({body})")
        self.assertEqual(rules("base/a.h", taking(5)), set())
        self.assertEqual(rules("base/a.h", taking(6)), {"parameters"})
        self.assertEqual(rules("base/a_test.cc", taking(6)) & {"parameters"}, set())
        self.assertEqual(rules("plugins/c/a.h", taking(6)) & {"parameters"}, set())
        self.assertEqual(rules("base/a.h", GOOD.replace("two()", "two( )")), set())

    def test_a_list_is_no_longer_where_there_is_no_body_or_no_name(self):
        def given(count):
            return ", ".join(f"int p{number}" for number in range(count))
        for text in ("void declared({});", "struct Face {{\n  virtual void pure({}) = 0;\n}};",
                     "struct Body {{\n  Body({});\n}};", "inline const auto kSum = []({}) {{ return 1; }};"):
            self.assertEqual(rules("base/a.h", with_line(text.format(given(5)))), set(), text)
            self.assertEqual(rules("base/a.h", with_line(text.format(given(6)))), {"parameters"}, text)

    def test_line_length(self):
        self.assertEqual(rules("base/a.h", with_line("// " + "x" * 97)), set())
        self.assertEqual(rules("base/a.h", with_line("// " + "x" * 98)), {"line_length"})
        self.assertEqual(rules("scripts/a.py", '"""Head."""\n# ' + "x" * 118 + "\n"), set())
        self.assertEqual(rules("scripts/a.py", '"""Head."""\n# ' + "x" * 119 + "\n"), {"line_length"})

    def test_head(self):
        self.assertEqual(rules("base/a.cc", "#include <vector>\n"), {"head"})
        self.assertEqual(rules("base/a.py", "import os\n"), {"head"})
        self.assertEqual(rules("scripts/a", "#!/usr/bin/env bash\nset -e\n"), {"head"})
        self.assertEqual(rules("scripts/a", "#!/usr/bin/env bash\n# What it does.\n"), set())

    def test_file_names(self):
        for path in ("base/Two.h", "base/two-three.h", "base/utils.h", "base/string_util.h",
                     "base/common/two.h", "base/path_helpers.h", "base/manager.h"):
            self.assertEqual(rules(path, GOOD), {"file_name"}, path)
        self.assertEqual(rules("engine/helper_thread.h", GOOD), set())

    def test_pragma_once(self):
        self.assertEqual(rules("base/a.h", GOOD.replace("#pragma once\n", "")), {"pragma_once"})

    def test_macros(self):
        self.assertEqual(rules("base/a.h", with_line("#define TWO 2")), {"macro"})
        self.assertEqual(rules("base/a.h", with_line("#define CHECK(x)")), {"macro"})
        self.assertEqual(rules("base/check.h", with_line("#define CHECK(x)")), set())

    def test_using_namespace_and_views(self):
        self.assertEqual(rules("base/a.h", with_line("using namespace std;")), {"using_namespace"})
        self.assertEqual(rules("base/a.cc", with_line("using namespace std;")), set())
        self.assertEqual(rules("base/a.cc", with_line("f(std::views::all);")), {"views"})

    def test_network_headers(self):
        text = with_line("#include <sys/socket.h>")
        self.assertEqual(rules("engine/a.cc", text), {"network_header"})
        self.assertEqual(rules("datapath/a.cc", text), {"network_header"})
        self.assertEqual(rules("datapath/udp/a.h", text), {"network_header"})
        self.assertEqual(rules("datapath/udp/a.cc", text), set())
        self.assertEqual(rules("launch/control/a.cc", text), set())
        self.assertEqual(rules("launch/a.cc", text), {"network_header"})
        self.assertEqual(rules("metrics/server.cc", text), set())
        self.assertEqual(rules("metrics/exposition.cc", text), {"network_header"})

    def test_serial_order(self):
        raw = with_line("const bool old = static_cast<int32_t>(number - newest) < 0;")
        self.assertEqual(rules("transport/a.h", raw), {"serial_order"})
        self.assertEqual(rules("transport/a_test.cc", '#include "a.h"\n' + raw) & {"serial_order"}, set())
        self.assertEqual(rules("transport/a.h", with_line("const int32_t left = most - count;")), set())

    def test_dead_code(self):
        for line in ("//   return x;", "// f(x);", "// if (x) {", "// a.b = c;", '// #include "x.h"'):
            self.assertEqual(rules("base/a.h", with_line(line)), {"dead_code"}, line)
        for line in ("// Returns the oldest; none is kept.", "// see f(x); it says more",
                     "// - if the peer is dead:"):
            self.assertEqual(rules("base/a.h", with_line(line)), set(), line)

    def test_markers_and_machine_paths(self):
        self.assertEqual(rules("docs/a.md", "# A\n\nTO" "DO: more\n"), {"marker"})
        for path in ("/wo" "rk/x", "see /ro" "ot/.cache", "(/ho" "me/ann/x)"):
            self.assertEqual(rules("docs/a.md", f"# A\n\n{path}\n"), {"machine_path"}, path)
        self.assertEqual(rules("docs/a.md", "# A\n\nbench/wo" "rk/x, ~/x, /etc/heddle\n"), set())

    def test_a_page_that_a_comment_names_exists(self):
        page = File("docs/reference/b.md", "# B\n")
        self.assertEqual(rules("base/a.cc", "// A. docs/reference/b.md has more.\n", page), set())
        self.assertEqual(rules("base/a.cc", "// A. docs/b.md has more.\n", page), {"page"})

    def test_own_header_first(self):
        header = File("base/a.h", GOOD)
        self.assertEqual(rules("base/a.cc", '// A.\n#include "base/a.h"\n', header), set())
        late = '// A.\n#include <vector>\n#include "base/a.h"\n'
        self.assertEqual(rules("base/a.cc", late, header), {"own_header_first"})
        self.assertEqual(rules("base/a_test.cc", late, header), {"own_header_first"})
        self.assertEqual(rules("base/b.cc", late, header), set())


class ExceptionsTest(unittest.TestCase):
    LONG = Violation("file_length", "base/a.cc", 1, "520 lines", "", 520)

    def apply(self, *entries):
        return [violation.text for violation in apply_exceptions([self.LONG], entries)]

    def test_an_entry_excuses_what_it_names(self):
        self.assertEqual(self.apply(Exemption("file_length", "base/a.cc", "why", "", 520)), [])

    def test_an_entry_excuses_nothing_else(self):
        self.assertIn("520 lines", self.apply(Exemption("head", "base/a.cc", "why")))
        self.assertIn("520 lines", self.apply(Exemption("file_length", "base/a.cc", "w", "", 519)))

    def test_the_list_only_shrinks(self):
        entry = Exemption("file_length", "base/a.cc", "why", "", 600)
        self.assertEqual(self.apply(entry), ["file_length base/a.cc: lower its size to 520"])
        stale = Exemption("file_length", "base/b.cc", "why", "", 600)
        self.assertIn("no longer needed: file_length base/b.cc", self.apply(stale))

    def test_an_entry_must_say_why(self):
        with self.assertRaises(TypeError):
            read_exceptions('[[exception]]\nrule = "head"\npath = "base/a.cc"\n')


if __name__ == "__main__":
    unittest.main()
