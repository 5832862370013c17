"""Proves that long lines of prose and unwanted words are found, and that allowances only shrink."""

import unittest

from docs_words import check_lines, check_words
from tree import File


def page(text, path="docs/a.md"):
    return [File(path, text)]


class LinesTest(unittest.TestCase):
    def test_a_long_line_of_prose_fails(self):
        self.assertEqual([one.text for one in check_lines(page("a " * 61 + "\n"))], ["122 characters"])

    def test_tables_code_pictures_and_addresses_may_be_long(self):
        wide = "x" * 130
        self.assertEqual(check_lines(page(f"| {wide} |\n```\n{wide}\n```\n![a]({wide})\nhttps://{wide}\n")), [])

    def test_code_files_are_not_pages(self):
        self.assertEqual(check_lines([File("docs/draw/a.py", "x" * 130)]), [])


class WordsTest(unittest.TestCase):
    def found(self, text, allowed=None):
        return [one.text.split(":")[0] for one in check_words(page(text), allowed or {})]

    def test_an_unwanted_word_fails(self):
        self.assertEqual(self.found("The peer is told.\n"), ["'told'"])

    def test_room_for_something_is_no_module(self):
        self.assertEqual(self.found("There is room for one message.\n"), [])
        self.assertEqual(self.found("Each room has tests.\n"), ["'room'"])

    def test_code_may_have_any_word(self):
        self.assertEqual(self.found("`told`\n```\ntold\n```\n"), [])

    def test_an_allowance_covers_as_many(self):
        self.assertEqual(self.found("told told\n", {"docs/a.md": 2}), [])
        self.assertEqual(len(self.found("told told\n", {"docs/a.md": 1})), 2)

    def test_an_allowance_that_is_too_large_fails(self):
        self.assertEqual(self.found("told\n", {"docs/a.md": 2}), ["has 1 such words, and is allowed 2"])


if __name__ == "__main__":
    unittest.main()
