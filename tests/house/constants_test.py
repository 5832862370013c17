"""The check of constants finds one of judgement outside params.h, and leaves out what has no choice in it."""

import unittest

import constants
import tree


def names(text, path="room/file.cc"):
    return [name for name, _ in constants.constants_of(tree.File(path, text))]


class Constants(unittest.TestCase):
    def check(self, text, rows=(), path="room/file.cc"):
        found = constants.check([tree.File(path, text)], list(rows))
        return [(each.path, each.line, each.subject) for each in found]

    def test_a_time_a_count_a_share_and_a_threshold_are_found(self):
        text = ("constexpr Nanos kPatience = millis(250);\nstatic constexpr size_t kMost = 64;\n"
                "inline constexpr double kShare = 0.1;\nconstexpr uint64_t kCap =\n    uint64_t{4} << 30;\n"
                "constexpr std::chrono::milliseconds kLook{10};\nconstexpr std::chrono::seconds kStop(5);\n"
                "constexpr BitsPerSec kLeast = {100'000};\n")
        self.assertEqual(names(text), ["kPatience", "kMost", "kShare", "kCap", "kLook", "kStop", "kLeast"])
        self.assertEqual(names("void f() {\n  constexpr int kTries = 8;\n}\n"), ["kTries"])

    def test_amounts_of_bytes_and_types_of_the_system_are_found(self):
        text = ("constexpr Bytes kHeader = kibibytes(64);\nconstexpr Bytes kRing = mebibytes(16);\n"
                "constexpr Bytes kAll = gibibytes(1);\nconstexpr size_t kMost = mebibytes(4).count;\n"
                "constexpr off_t kEnd = 65'536;\nconstexpr rlim_t kFiles = 1 << 20;\nconstexpr long kLeast = 5;\n"
                "constexpr unsigned long kLimit = 8;\nconstexpr timeval kWait = {.tv_sec = 5, .tv_usec = 0};\n")
        self.assertEqual(names(text), ["kHeader", "kRing", "kAll", "kMost", "kEnd", "kFiles", "kLeast", "kLimit",
                                       "kWait"])
        self.assertEqual(names("constexpr Bytes kRing = mebibytes(params::kRing);\n"), [])

    def test_params_and_tests_are_left_out(self):
        text = "constexpr size_t kMost = 64;\n"
        for path in ("room/params.h", "room/part/params.h", "room/file_test.cc", "room/testing/file.h", "bench/f.cc"):
            self.assertEqual(names(text, path), [])

    def test_values_that_follow_from_others_are_left_out(self):
        text = ("constexpr size_t kMost = params::kMost;\nconstexpr size_t kAll = 2 * kMost;\n"
                "constexpr uint32_t kEnd = UINT32_MAX - 1;\nconstexpr size_t kSize = 2 * sizeof(int);\n")
        self.assertEqual(names(text), [])

    def test_bits_places_versions_and_comments_are_left_out(self):
        text = ("constexpr int kSlotBits = 16;\nconstexpr size_t kNameAt = 4;\nconstexpr uint8_t kVersion = 2;\n"
                "constexpr int kNone = -1;\n// constexpr size_t kMost = 64;\n")
        self.assertEqual(names(text), [])
        self.assertEqual(names("constexpr int kNoneLeft = 4;\n"), ["kNoneLeft"])

    def test_each_is_a_violation_in_any_room(self):
        text = "\nconstexpr size_t kMost = 64;\nconstexpr size_t kLeast = 4;\n"
        for path in ("room/file.cc", "events/part/file.h"):
            self.assertEqual(self.check(text, path=path), [(path, 2, "kMost"), (path, 3, "kLeast")])

    def test_what_is_listed_is_no_judgement_and_the_list_shrinks(self):
        text = "constexpr size_t kMost = 64;\n"
        row = {"constants": ["room/file.cc: kMost"], "why": "a width"}
        self.assertEqual(self.check(text, rows=[row]), [])
        self.assertEqual(self.check("", rows=[row]), [(constants.TABLE, 1, "room/file.cc")])
        self.assertEqual(self.check(text, rows=[row], path="room/other.cc"),
                         [("room/other.cc", 1, "kMost"), (constants.TABLE, 1, "room/file.cc")])
        folder = {"path": "room/", "why": "a format"}
        self.assertEqual(self.check(text, rows=[folder]), [])
        self.assertEqual(self.check("", rows=[folder]), [(constants.TABLE, 1, "room/")])
        more = {"constants": ["room/file.cc: kMost kGone"], "why": "a width"}
        self.assertEqual(self.check(text, rows=[more]), [(constants.TABLE, 1, "room/file.cc")])

    def test_the_table_is_read(self):
        text = '[[no_judgement]]\nconstants = ["room/a.h: kOne kTwo"]\nwhy = "units"\n'
        self.assertEqual(constants.read_table(text), [{"constants": ["room/a.h: kOne kTwo"], "why": "units"}])


if __name__ == "__main__":
    unittest.main()
