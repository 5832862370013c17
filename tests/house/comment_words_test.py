"""Proves that unwanted words in comments are found, and that a folder's allowance only shrinks."""

import unittest

from comment_words import check_words, read_allowances, unwanted, write_allowances
from tree import File


def words(text, path="base/a.cc"):
    return [one.text.split(":")[0] for one in unwanted(File(path, text))]


class WordsTest(unittest.TestCase):
    def test_an_unwanted_word_in_a_cxx_comment_is_found_with_its_line(self):
        found = unwanted(File("base/a.h", "// Head.\n\n/* one\n   The peer is told. */\nint a;  // told\n"))
        self.assertEqual([(one.line, one.text.split(":")[0]) for one in found], [(4, "'told'"), (5, "'told'")])

    def test_an_unwanted_word_in_a_python_comment_or_docstring_is_found(self):
        text = '"""Head: told."""\na = "told"  # so many\n\ndef f():\n    """Whoever calls."""\n'
        self.assertEqual(words(text, "bench/a.py"), ["'told'", "'so many'", "'Whoever'"])
        self.assertEqual(words("#!/usr/bin/env python3\n# told\n", "bench/run"), ["'told'"])

    def test_each_kind_of_word_is_found_once(self):
        for word in ("tells", "whom", "so long", "for so many", "that much", "asks for leave", "hears of",
                     "under way", "half a round trip", "sent again", "gives up", "taken for", "stands in"):
            self.assertEqual(words(f"// It {word} it.\n"), [f"'{word}'"])

    def test_code_strings_and_names_in_backquotes_may_have_any_word(self):
        self.assertEqual(words('int told = 1;\nauto s = "// told";\n// `told` and told_by_peer.\n'), [])

    def test_what_a_program_prints_is_read_but_no_name_and_no_test(self):
        text = '// Head.\nauto a = "the peer is told";\nauto b = "told";\nauto c = "`told` by";\n'
        self.assertEqual(words(text), ["'told'"])
        self.assertEqual(words(text, "base/a_test.cc"), [])

    def test_other_languages_are_not_read(self):
        self.assertEqual(words("# told\n", "cmake/a.cmake"), [])


class AllowanceTest(unittest.TestCase):
    files = [File("base/a.cc", "// told\n"), File("base/b/c.h", "// told\n"), File("lab/a.h", "// said\n")]

    def check(self, allowed):
        return [(one.path, one.text) for one in check_words(self.files, allowed)]

    def test_a_folder_with_its_allowance_passes(self):
        self.assertEqual(self.check({"base": 2}), [])

    def test_a_folder_with_more_than_its_allowance_fails_and_lists_its_words(self):
        for allowed in ({"base": 1}, {}):
            self.assertEqual([path for path, _ in self.check(allowed)],
                             ["base/a.cc", "base/b/c.h", "tests/house/comment_words.toml"])

    def test_a_folder_with_less_than_its_allowance_fails(self):
        for allowed, text in (({"base": 3}, "base/: lower its number from 3 to 2"),
                              ({"base": 2, "lab": 1}, "lab/: lower its number from 1 to 0")):
            self.assertEqual(self.check(allowed), [("tests/house/comment_words.toml", text)])

    def test_the_table_that_is_written_passes(self):
        allowed = read_allowances(write_allowances(self.files))
        self.assertEqual(allowed, {"base": 2})
        self.assertEqual(self.check(allowed), [])


if __name__ == "__main__":
    unittest.main()
