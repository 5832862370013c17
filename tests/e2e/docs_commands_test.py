#!/usr/bin/env python3
"""Every command of heddle in the docs' code blocks exists, with its options, and every preset is listed."""

import functools
import json
import pathlib
import re
import shlex
import subprocess
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(?:sh|bash)?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def pages():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True, check=False)
    names = listed.stdout.split() if listed.returncode == 0 else []
    found = [ROOT / name for name in names] or sorted(ROOT.glob("docs/**/*.md"))
    return [page for page in found if page.name != "commands.md"]  # made from the program itself


def words_of(line):
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quote that ends on the next line
        return []


_ENDS = ("--", "|", "&", "&&", ">", ";")


def _begins(words, index):
    """Whether a command begins at this word: at first, behind another command, a variable or a launcher."""
    before = words[index - 1] if index else "--"
    return before in (*_ENDS, "{") or "=" in before or words[0] in ("srun", "mpirun", "seq", "sbatch")


def commands(text):
    """Each `heddle …` of a page's code blocks, as words up to `--`, `|`, `&` or `;`."""
    for block in _FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = words_of(line.removeprefix("$ "))
            for index, word in enumerate(words):
                if word == "heddle" and _begins(words, index):
                    rest = words[index + 1:]
                    yield rest[:next((at for at, each in enumerate(rest) if each in _ENDS), len(rest))]


@functools.cache
def help_of(path):
    done = program.run(*path, "--help")
    return done.stdout if done.returncode == 0 else None


def subcommand(words):
    """The longest beginning that is a command: ("lab", "exec")."""
    path = ()
    for word in words:
        text = help_of(path) or ""
        if not re.fullmatch(r"[a-z]+", word) or not re.search(rf"^  {' '.join((*path, word))} ", text, re.MULTILINE) \
                or not re.search(r"^Commands:|^Usage: heddle[a-z ]* COMMAND", text, re.MULTILINE):
            break
        path += (word,)
    return path


def has(path, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_of(path) or "") is not None


@unittest.skipIf(program.sanitized(), "texts do not depend on the build; command_line_test prints each help")
class DocsCommands(unittest.TestCase):
    def test_commands_and_options_of_the_docs_exist(self):
        wrong, seen = [], 0
        for page in pages():
            for words in commands(page.read_text(encoding="utf-8")):
                if not words or words[0].startswith(("0.", "[")):
                    continue
                seen += 1
                path = subcommand(words)
                shown = f"{page.relative_to(ROOT)}: heddle {' '.join(words)}"
                if not path and not words[0].startswith("-"):
                    wrong.append(f"{shown}: there is no command '{words[0]}'")
                for word in words[len(path):]:
                    option = re.match(r"--?[A-Za-z][\w-]*", word)
                    if option and not has(path, option.group()):
                        wrong.append(f"{shown}: 'heddle {' '.join(path)}' has no {option.group()}")
        self.assertGreater(seen, 50)
        self.assertEqual(wrong, [])

    def test_the_page_for_contributors_lists_every_preset(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        [sentence] = re.findall(r"The presets are ([^;]*);", page)
        self.assertEqual(set(re.findall(r"`(\w+)`", sentence)),
                         {each["name"] for each in presets if not each.get("hidden")})


if __name__ == "__main__":
    unittest.main()
