"""An option has one meaning: in all commands of docs/reference/commands.md it is a flag, or takes one kind of value."""

import collections
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/commands.md"

# Placeholders that mean the same; any other is a kind of its own, and words with | between them are choices.
SAME = {"FILE": "path", "FOLDER": "path", "DIR": "path", "PATH": "path", "FORMAT": "choices"}

# Options that have two kinds of value nevertheless. The list may only shrink.
ALLOWED = {
    "cc": "sim: names of RoCE's controllers, too, which its text lists",
    "check": "bench: a number, as in nccl-tests",
    "gpus": "monitor: those of this machine; size: how many a job has",
    "listen": "copy: with the folder for what arrives",
}


def kind_of(placeholder):
    if placeholder in SAME:
        return SAME[placeholder]
    return "choices" if "|" in placeholder else placeholder or "flag"


def meanings(page):
    """By long option: its kinds, each with the commands that have it."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for part in re.split(r"^## heddle ?", page, flags=re.MULTILINE)[1:]:
        command = part.split("\n", 1)[0]
        for option, placeholder in re.findall(r"^\| `(?:-\w, )?--([\w-]+)(?: ([^`]*))?` \|", part, re.MULTILINE):
            found[option][kind_of(placeholder.replace("\\|", "|"))].append(command)
    return found


def conflicts(page):
    return {option: dict(kinds) for option, kinds in meanings(page).items() if len(kinds) > 1}


class OptionMeanings(unittest.TestCase):
    def test_an_option_is_a_flag_or_takes_one_kind_of_value(self):
        page = PAGE.read_text(encoding="utf-8")
        self.assertGreater(len(meanings(page)), 100)
        for option, kinds in conflicts(page).items():
            self.assertIn(option, ALLOWED, f"--{option} has several meanings, rename all but one: {kinds}")

    def test_each_exception_is_needed(self):
        self.assertEqual(set(ALLOWED) - set(conflicts(PAGE.read_text(encoding="utf-8"))), set())

    def test_a_second_meaning_is_found(self):
        def page(*options):
            return "".join(f"## heddle c{i}\n\n| option | |\n|---|---|\n| `{option}` | does it |\n"
                           for i, option in enumerate(options))
        for first, other in (("--check", "--check N"), ("-s, --size SIZE", "--size N"), ("--store URL", "--store DIR"),
                             ("--mtu BYTES", "--mtu SIZE"), ("--by rank\\|host", "--by N")):
            self.assertEqual(len(conflicts(page(first, other))), 1, (first, other))
        for first, other in (("--check", "-c, --check"), ("--report FILE", "--report FOLDER"),
                             ("--format text\\|csv", "--format text\\|html"), ("--size SIZE", "--sizes N")):
            self.assertEqual(conflicts(page(first, other)), {}, (first, other))
        self.assertEqual(conflicts(page("--a", "--a N")), {"a": {"flag": ["c0"], "N": ["c1"]}})


if __name__ == "__main__":
    unittest.main()
