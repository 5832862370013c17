"""The check of classes counts fields and methods as it says, and names the class that has too many."""

import pathlib
import tempfile
import unittest

import class_sizes
import tree


def fields(count):
    return "".join(f"  int field_{i}_ = 0;\n" for i in range(count))


def methods(count, end=""):
    return "".join(f"  virtual void method_{i}(int a,\n      int b){end};\n" for i in range(count))


@unittest.skipUnless(class_sizes.is_here(), "Universal Ctags is not installed: apt-get install universal-ctags")
class ClassSizes(unittest.TestCase):
    def found(self, text, path="room/file.h"):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / path).parent.mkdir(parents=True)
            (root / path).write_text(text, encoding="utf-8")
            return [(each.rule, each.path, each.subject, each.size)
                    for each in class_sizes.check([tree.File(path, text)], root)]

    def test_a_field_too_many_is_found(self):
        text = "namespace heddle::room {\nclass Body {\n private:\n" + fields(26) + "};\n}\n"
        self.assertEqual(self.found(text), [("class_fields", "room/file.h", "room::Body", 26)])
        self.assertEqual(self.found(text.replace("  int field_0_ = 0;\n", "")), [])

    def test_a_method_too_many_is_found(self):
        text = "class Body {\n public:\n" + methods(41) + "};\n"
        self.assertEqual(self.found(text), [("class_methods", "room/file.h", "Body", 41)])
        self.assertEqual(self.found("class Body {\n public:\n" + methods(40) + "};\n"), [])

    def test_a_class_of_a_source_file_counts_as_well(self):
        text = "namespace {\nclass Body {\n" + fields(26) + "};\n}\n"
        self.assertEqual([each[:2] for each in self.found(text, "room/file.cc")], [("class_fields", "room/file.cc")])
        self.assertEqual(self.found(text, "room/file_test.cc"), [])

    def test_the_fields_of_a_nested_class_are_its_own(self):
        text = "class Body {\n  struct Part {\n" + fields(20) + "  };\n" + fields(20) + "};\n"
        self.assertEqual(self.found(text), [])

    def test_definitions_are_no_methods_out_of_line(self):
        defined = "".join(f"  int method_{i}() const {{ return {i}; }}\n" for i in range(41))
        self.assertEqual(self.found("class Body {\n" + defined + fields(3) + "};\n"), [])
        elsewhere = "".join(f"void Body::method_{i}() {{}}\n" for i in range(60))
        self.assertEqual(self.found(elsewhere, "room/file.cc"), [])

    def test_inline_and_pure_methods_count_among_all(self):
        inline = "".join(f"  int inline_{i}() const {{ return {i}; }}\n" for i in range(31))
        for text in (inline + methods(30), inline + methods(30, " = 0"), methods(61, " = 0")):
            self.assertEqual(self.found("class Body {\n public:\n" + text + "};\n"),
                             [("class_all_methods", "room/file.h", "Body", 61)])
        self.assertEqual(self.found("class Body {\n public:\n" + inline + methods(29) + "};\n"), [])

    def test_deleted_defaulted_and_pure_methods_and_static_members_do_not_count(self):
        self.assertEqual(self.found("class Body {\n" + methods(41, " = 0") + "};\n"), [])
        special = "  Body(const Body&) = delete;\n  ~Body() = default;\n  static constexpr int kMost = 3;\n"
        self.assertEqual(self.found("class Body {\n" + special + methods(40) + fields(25) + "};\n"), [])

    def test_plain_data_may_have_some_more_fields(self):
        sums = "  int sum() const { return field_0_; }\n"
        self.assertEqual(self.found("struct Options {\n" + fields(30) + sums + "};\n"), [])
        self.assertEqual([each[3] for each in self.found("struct Options {\n" + fields(31) + sums + "};\n")], [31])
        out_of_line = "struct Options {\n" + fields(26) + "  int sum() const;\n};\n"
        self.assertEqual([each[0] for each in self.found(out_of_line)], ["class_fields"])
        hidden = "struct Options {\n" + fields(25) + " private:\n  int last_ = 0;\n};\n"
        self.assertEqual([each[0] for each in self.found(hidden)], ["class_fields"])


if __name__ == "__main__":
    unittest.main()
