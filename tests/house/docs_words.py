"""Docs: prose in lines of at most 120 characters, and in the field's words instead of private ones."""

import re

from docs import without_code
from tree import Violation

MAX_PROSE_LINE_LENGTH = 120

# What is not said, and what is. The first group of each expression is shown. comment_words.py takes
# these too; PAGE_WORDS are for pages alone.
WORDS = (
    (r"\b(tells?|telling|told)\b", "send, advertise, report, print, notify: the one that is meant"),
    (r"\b(whoever|whomever|whatever it)\b", "name the subject"),
    (r"\b((?:for|by|as|so) (?:so many|so much|so long|so often))\b", "the number, or 'that many'"),
    (r"\b(nobody|anybody|somebody|everybody)\b", "name the subject"),
    (r"\b(under way)\b", "in flight, running"),
    (r"\b(half round trips?)\b", "one-way latency (RTT/2)"),
    (r"\b(sent again|repeats? of (?:lost|packets))\b", "retransmitted, retransmission"),
    (r"\b(given up)\b", "declared lost, abandoned"),
    (r"\b(taken for)\b", "declared, treated as"),
    (r"\b(last words|say_last)\b", "final close frame"),
    (r"\b(sealed|seals|unsealed)\b(?!_)", "encrypted and authenticated"),
    (r"\b(conversations?)\b", "connection, session"),
    (r"\b(neighbourhood|whereabouts|doorways?|parcels?)\b", "see the glossary"),
    (r"\b(stands? (?:in|there|beside|behind)|stood (?:in|beside))\b", "is, is listed, is described"),
)
PAGE_WORDS = (
    (r"\b(the house)\b", "the repository"),
    (r"(?<![/\w])(rooms?)\b(?!\.txt)(?! (?:for|in|on|of|is|was))", "module"),
)
_WORDS = [(re.compile(expression, re.IGNORECASE), instead) for expression, instead in WORDS + PAGE_WORDS]

# How many of these a page may still have. A page that has fewer lowers its number here; no number rises.
ALLOWED = {}

# Made from the code: their words are those of the code's descriptions.
_MADE = ("docs/reference/events.md", "docs/reference/commands.md", "docs/reference/settings.md")


def _is_page(file):
    return file.path.endswith(".md") and file.path not in _MADE


def check_lines(files):
    """Prose wraps at 120 characters; tables, pictures, code and addresses do not."""
    violations = []
    for file in filter(_is_page, files):
        fenced = False
        for number, line in enumerate(file.lines, 1):
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
            free = fenced or line.startswith(("|", "!", "<!--")) or "http" in line
            if not free and len(line) > MAX_PROSE_LINE_LENGTH:
                violations.append(Violation("prose_line", file.path, number, f"{len(line)} characters", size=len(line)))
    return violations


def check_words(files, allowed=None):
    """No page has more of the words above than it is allowed, and none is allowed more than it has."""
    allowed = ALLOWED if allowed is None else allowed
    violations = []
    for page in filter(_is_page, files):
        found = [(number, match.group(1), instead)
                 for number, line in enumerate(without_code(page.text).splitlines(), 1)
                 for expression, instead in _WORDS for match in expression.finditer(line)]
        limit = allowed.get(page.path, 0)
        if len(found) > limit:
            violations += [Violation("word", page.path, number, f"'{word}': {instead}")
                           for number, word, instead in found]
        elif len(found) < limit:
            violations.append(Violation("word", page.path, 1, f"has {len(found)} such words, and is allowed {limit}: "
                                        "lower the number in tests/house/docs_words.py"))
    return violations
