#!/usr/bin/env python3
"""Checks that the tree keeps its own rules: house.py CHECK [LIBRARY].

Checks: arrows (includes against cmake/rooms.txt), sources and symbols (the transport does no I/O, and nothing
downloads; symbols takes the library), tidy (sizes, names, heads), classes (their fields and methods, by Universal
Ctags), constants (of judgement, in params.h), comments (their words), docs (links, made pages, words),
calls (of bench/, by Pylint). Exit status: 0 kept, 1 broken, each violation on a line `path:line:
rule: what`, 77 not checked.
"""

import pathlib
import sys

import arrows
import bench_calls
import class_sizes
import comment_words
import constants
import docs
import docs_words
import exceptions
import purity
import tidy
import tree


def read_rooms():
    return tree.read_rooms((tree.ROOT / "cmake/rooms.txt").read_text())


def check_arrows(_):
    files, rooms = tree.read_tree(), read_rooms()
    return arrows.check_table(rooms) + arrows.check_arrows(files, rooms) + arrows.check_extensions(files)


def check_sources(_):
    return purity.check_sources(tree.read_tree()) + purity.check_downloads(tree.read_tree())


def check_symbols(arguments):
    library = pathlib.Path(arguments[0])
    return purity.check_symbols(purity.undefined_symbols(library), library.name)


def read_exceptions(of_classes):
    """Those of class_sizes.py, or all others: an exception that nothing needs is a violation."""
    listed = exceptions.read_exceptions((tree.ROOT / exceptions.LIST).read_text())
    return [entry for entry in listed if (entry.rule in class_sizes.RULES) == of_classes]


def check_tidy(_):
    return exceptions.apply_exceptions(tidy.check_tidy(tree.read_tree()), read_exceptions(False))


def check_classes(_):
    return exceptions.apply_exceptions(class_sizes.check(tree.read_tree()), read_exceptions(True))


def check_constants(_):
    return constants.check(tree.read_tree(), constants.read_table((tree.ROOT / constants.TABLE).read_text()))


def check_comments(_):
    allowed = comment_words.read_allowances((tree.ROOT / comment_words.TABLE).read_text())
    return comment_words.check_words(tree.read_tree(), allowed)


def check_docs(_):
    files = tree.read_tree()
    return (docs.check_links(files) + docs.check_code_names(files) + docs.check_questions(files)
            + docs.check_house_table(files, read_rooms())
            + docs.check_made_pages() + docs_words.check_lines(files) + docs_words.check_words(files))


def check_calls(_):
    return bench_calls.check("bench")


CHECKS = {"arrows": check_arrows, "sources": check_sources, "symbols": check_symbols,
          "tidy": check_tidy, "classes": check_classes, "constants": check_constants,
          "comments": check_comments, "docs": check_docs, "calls": check_calls}

# Checks by programs that may be missing.
PROGRAMS = {"calls": (bench_calls.is_here, "Pylint is not installed: apt-get install pylint"),
            "classes": (class_sizes.is_here,
                        "Universal Ctags is not installed: apt-get install universal-ctags")}


def main(arguments):
    if not arguments or arguments[0] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    is_here, missing = PROGRAMS.get(arguments[0], (lambda: True, ""))
    if not is_here():
        print(f"skipped '{missing}'")
        return 77
    violations = CHECKS[arguments[0]](arguments[1:])
    for violation in violations:
        print(violation)
    print(f"{arguments[0]}: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
