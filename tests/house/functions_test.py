"""Proves that functions are found with their names and lengths."""

import unittest

from functions import cxx_declarations, cxx_functions, python_functions

CODE = """// Head.
#define BROKEN {
namespace heddle {
namespace {

constexpr int kTable[] = {1, 2, 3};

struct Point {
  int x{};
  int y = 0;
  int sum() const {
    return x + y;  // }
  }
};

enum class Color : int { kRed, kGreen };

}  // namespace

Pacer::Pacer(int rate, std::string why = {})
    : rate_{rate},
      why_(why) {
  if (rate > 0) {
    each([](int i) { return "{"; });
  }
}

struct Point make_point(
    int x) {
  return {x, 0};
}

TEST(Pacer, KeepsItsRate) {
  EXPECT_EQ('{', '{');
}

extern "C" {
int entry() { return 0; }
}

}  // namespace heddle
"""


class FunctionsTest(unittest.TestCase):
    def test_cxx_functions(self):
        found = [(function.name, function.line, function.length)
                 for function in cxx_functions(CODE)]
        self.assertEqual(found, [("sum", 11, 3), ("Pacer::Pacer", 20, 7), ("make_point", 28, 4),
                                 ("TEST(Pacer, KeepsItsRate)", 33, 3), ("entry", 38, 1)])

    def test_raw_strings_and_digit_separators_do_not_confuse(self):
        code = 'int f() {\n  auto s = R"({{{)";\n  return 1\'000\'000;\n}\nint g() { return 2; }\n'
        self.assertEqual([function.name for function in cxx_functions(code)], ["f", "g"])

    def test_declarations_and_lambdas_are_found_with_their_parameters(self):
        code = ("class Face {\n public:\n  virtual void take(int a, std::map<int, int> b = {},\n"
                "                    int c) = 0;\n  explicit Face(int a);\n"
                "  std::function<void(int, int)> call;\n  int count = most(1, 2);\n"
                "  bool operator==(const Face& other) const = default;\n};\n"
                "using Call = void (*)(int, int);\n"
                "std::function<void(int)> make(int a, std::function<int(int, int)> b);\n"
                "void f() {\n  g(1, 2, 3);\n  each([this, a = b[0]](int x, int y) { return values[x](y, 1); });\n}\n")
        found = [(each.name, each.line, each.parameters) for each in cxx_declarations(code)]
        self.assertEqual(found, [("take", 2, 3), ("Face", 5, 1), ("make", 11, 2), ("lambda", 14, 2)])

    def test_python_functions(self):
        found = python_functions("def f():\n    return 1\n\nclass A:\n    def g(self):\n        pass\n")
        self.assertEqual([(function.name, function.length) for function in found],
                         [("f", 2), ("g", 2)])


if __name__ == "__main__":
    unittest.main()
