"""Comments of C++ and Python, and what programs print: the field's words instead of private ones (WORDS below and of
docs_words.py).

comment_words.toml has the number of unwanted words that each top-level folder may still have. A folder
that has more fails the test, and so does one that has fewer: the number is lowered in the same commit.

    python3 -B tests/house/comment_words.py             writes the table anew, from the tree as it is
    python3 -B tests/house/comment_words.py PATH...     lists the words of these files and folders
"""

import ast
import collections
import io
import re
import sys
import tokenize
import tomllib

import docs_words
from tree import ROOT, Violation, comments as cxx_comments, read_tree

TABLE = "tests/house/comment_words.toml"

# What comments do not say, besides docs_words.WORDS, and what they say. Each expression has one group.
WORDS = docs_words.WORDS + (
    (r"\b(whom)\b", "name the subject"),
    (r"\b((?:so|that) (?:many|much|often)|so long)\b", "the number, the amount, as long as"),
    (r"\b(asks? for leave|asking for leave)\b", "checks the quota, requests permission"),
    (r"\b(hears? (?:of|from)|heard (?:of|from))\b", "is notified of, receives"),
    (r"\b(knock(?:s|ed|ing)?)\b", "connect"),
    (r"\b(patience|lateness|foretold)\b", "timeout, delay, pending: see the glossary"),
    (r"\b(on (?:its|the|their) way)\b", "in flight"),
    (r"\b(half a round trip)\b", "one-way latency (RTT/2)"),
    (r"\b(g[ai]ves? up|giving up|taken back|set aside)\b", "declares lost, abandons; restored; suspect"),
)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ANY_WORD = re.compile("|".join(expression for expression, _ in WORDS), re.IGNORECASE)

_HEAD = """# How many unwanted words (comment_words.py) the comments of each folder may still have. No number
# rises; `python3 -B tests/house/comment_words.py` writes the numbers as they are.

[allowed]
"""


def _strings(text):
    """(line, text) of string literals with a space, which people read, unless a comment is on their line."""
    return [(number, string) for number, line in enumerate(text.splitlines(), 1)
            for string in _STRING.findall(line.partition("// ")[0]) if " " in string]


def comments(file):
    """(first line, text) of every comment, of strings of C++ outside of tests, and of every docstring of Python."""
    if file.is_cxx:
        return cxx_comments(file.text) + ([] if file.is_test else _strings(file.text))
    if file.name.endswith(".py") or file.text.startswith("#!/usr/bin/env python"):
        return _python_comments(file.text)
    return []


def _python_comments(text):
    found = [(token.start[0], token.string) for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            found.append((node.body[0].lineno, ast.get_docstring(node, clean=False)))
    return sorted(found)


def unwanted(file):
    """A Violation for every unwanted word; names in backquotes do not count."""
    found = []
    for first, text in comments(file):
        for number, line in enumerate(text.splitlines(), first):
            for match in _ANY_WORD.finditer(re.sub(r"`[^`\n]*`", "", line)):
                word, instead = match.group(match.lastindex), WORDS[match.lastindex - 1][1]
                found.append(Violation("word", file.path, number, f"'{word}': {instead}"))
    return found


def words_by_folder(files):
    """Folder at the top to its violations; folders without any are left out."""
    found = collections.defaultdict(list)
    for file in files:
        for violation in unwanted(file):
            found[file.room].append(violation)
    return found


def check_words(files, allowed):
    """No folder has more unwanted words than it is allowed, and none is allowed more than it has."""
    found = words_by_folder(files)
    violations = []
    for folder in sorted({*found, *allowed}):
        count, limit = len(found.get(folder, [])), allowed.get(folder, 0)
        if count > limit:
            violations += found[folder]
            violations.append(Violation("words", TABLE, 1, f"{folder}/ has {count}, and is allowed {limit}"))
        elif count < limit:
            violations.append(Violation("words", TABLE, 1, f"{folder}/: lower its number from {limit} to {count}"))
    return violations


def read_allowances(text):
    """The table: folder to the number of words that it may still have."""
    return tomllib.loads(text)["allowed"]


def write_allowances(files):
    """The table's text for the tree as it is."""
    found = words_by_folder(files)
    return _HEAD + "".join(f"{folder} = {len(found[folder])}\n" for folder in sorted(found))


def main(paths):
    if paths:
        for file in read_tree():
            if any(file.path == path or file.path.startswith(path.rstrip("/") + "/") for path in paths):
                print(*unwanted(file), sep="\n", end="\n" if unwanted(file) else "")
    else:
        (ROOT / TABLE).write_text(write_allowances(read_tree()))


if __name__ == "__main__":
    main(sys.argv[1:])
