"""Proves that broken links and pages without a link are found."""

import unittest

from docs import anchors, check_house_table, check_links
from tree import File


def violations(*pages):
    return [violation.text for violation in check_links([File(*page) for page in pages])]


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
