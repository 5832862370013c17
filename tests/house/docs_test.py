"""Proves that broken links and pages without a link are found."""

import unittest

from docs import anchors, check_code_names, check_house_table, check_links, check_questions
from tree import File


def violations(*pages):
    return [violation.text for violation in check_links([File(*page) for page in pages])]


class CodeNamesTest(unittest.TestCase):
    def found(self, text):
        files = [("docs/a.md", text), ("room/part/list.h", "class List {\n  void add();\n};\n")]
        return [violation.text for violation in check_code_names([File(*each) for each in files])]

    def test_files_and_methods_that_exist_pass(self):
        self.assertEqual(self.found("`room/part/list.h` `part/list.h` `List::add` `list` `src/of/another.cc`\n"), [])

    def test_a_file_or_method_that_is_gone_is_named(self):
        self.assertEqual(self.found("`part/lost.h`\n`List::remove`, `Tree::add`\n```\n`part/no.h`\n```\n"),
                         ["there is no part/lost.h", "there is no List::remove", "there is no Tree::add"])


class QuestionsTest(unittest.TestCase):
    def test_a_second_table_below_a_heading_is_named(self):
        table = "<!-- table a -->\n<!-- end -->\n"
        index = "- [What?](#what)\n  - [And?](#and)\n- [Why?](#why)\n"
        page = f"# A\n{index}## What?\n<!-- figure b -->\n### And?\n{table}## Why?\n{table}{table}"
        self.assertEqual([(one.line, one.text) for one in check_questions([File("docs/performance.md", page)])],
                         [(13, "a second table answers 'Why?'")])

    def test_a_question_that_the_index_lacks_is_named(self):
        page = "# A\n- [What?](#what)\n## What?\n## Why?\n"
        self.assertEqual([one.text for one in check_questions([File("docs/performance.md", page)])],
                         ["its index has no #why"])


class LinksTest(unittest.TestCase):
    def test_good_links_pass(self):
        self.assertEqual(violations(
            ("README.md", "# A\n[b](docs/b.md#the-way) [c](docs/) [w](https://example.org) [a](#a)\n"),
            ("docs/b.md", "# B\n\n## The way\n[up](../README.md)\n")), [])

    def test_a_link_to_nothing_fails(self):
        self.assertEqual(violations(("README.md", "[b](docs/b.md)\n")),
                         ["docs/b.md does not exist"])

    def test_a_picture_must_be_there(self):
        self.assertEqual(violations(("README.md", "![x](docs/images/load.png)\n")), [])
        self.assertEqual(violations(("README.md", "![x](docs/images/none.png)\n")),
                         ["docs/images/none.png does not exist"])

    def test_a_link_to_a_missing_heading_fails(self):
        self.assertEqual(violations(("README.md", "# A\n[a](#b)\n")), ["README.md has no #b"])

    def test_a_page_that_nothing_links_to_fails(self):
        self.assertEqual(violations(("README.md", "# A\n"), ("docs/b.md", "# B\n")),
                         ["no page links to it"])

    def test_code_holds_no_links(self):
        self.assertEqual(violations(("README.md", "# A\n`[b](c)`\n```\n[b](c)\n```\n")), [])

    def test_anchors(self):
        self.assertEqual(anchors("# A `b` & c\n## A `b` & c\n```\n# not\n```\n"),
                         ["a-b--c", "a-b--c-1"])

    def test_a_room_without_a_row_fails(self):
        page = File("docs/explanation/architecture.md", "| room | purpose |\n| `base/` | time |\n`wire/`\n")
        found = [violation.text for violation in check_house_table([page], ["base", "wire"])]
        self.assertEqual(found, ["has no row for wire/"])


if __name__ == "__main__":
    unittest.main()
