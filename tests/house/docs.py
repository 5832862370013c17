"""Docs: every relative link leads somewhere, every page can be reached, code that is named exists, made pages are
current.
"""

import posixpath
import re
import subprocess
import sys

from tree import ROOT, Violation

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_CODE_PATH = re.compile(r"[a-z_0-9]+(/[a-z_0-9.]+)*/[a-z_0-9]+\.(h|cc|py|toml)")
_MEMBER = re.compile(r"([A-Z]\w+)::(\w+)")
_MADE_BY_THE_BUILD = ("events/events.h",)
_ENTRY_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md")


def without_code(text):
    """The page with fenced blocks and code spans blanked; lines stay where they were."""
    text = _FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors that a page's headings make, by the rules of the common web hosts."""
    made = []
    fenced = _FENCE.sub("", text)
    for heading in _HEADING.findall(fenced):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        made.append(f"{anchor}-{made.count(anchor)}" if anchor in made else anchor)
    return made


def page_links(page):
    """(line, target path or '', anchor or '') of every relative link of a page."""
    found = []
    for number, line in enumerate(without_code(page.text).splitlines(), 1):
        for target in _LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            if path:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path))
            found.append((number, path or page.path, anchor))
    return found


def check_links(files):
    """Every relative link of every page, and that no page of docs/ is without a link to it."""
    pages = {file.path: file for file in files if file.path.endswith(".md")}
    paths = {file.path for file in files}
    folders = {path.rsplit("/", depth)[0] for path in paths for depth in range(1, path.count("/") + 1)}
    violations, reached = [], set(_ENTRY_PAGES)
    for page in pages.values():
        for line, path, anchor in page_links(page):
            if path != page.path:
                reached.add(path)
            picture = path.endswith(".png") and (ROOT / path).is_file()  # no text, so not among the files
            if path not in paths and path not in folders and not picture:
                violations.append(Violation("link", page.path, line, f"{path} does not exist"))
            elif anchor and path in pages and anchor not in anchors(pages[path].text):
                violations.append(Violation("link", page.path, line, f"{path} has no #{anchor}"))
    for path in sorted(set(pages) - reached):
        if path.startswith("docs/"):
            violations.append(Violation("link", path, 1, "no page links to it"))
    return violations


def _spans(page):
    """(line, text) of code spans outside of fenced blocks."""
    blanked = _FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), page.text)
    return [(number, text) for number, line in enumerate(blanked.splitlines(), 1) for text in _SPAN.findall(line)]


def _has_member(files, name, member):
    """Whether some header has the class and the name of its member."""
    return any(re.search(rf"\b(class|struct) {name}\b[^;{{]*{{", file.text) and re.search(rf"\b{member}\b", file.text)
               for file in files if file.path.endswith(".h"))


def check_code_names(files):
    """Files that pages name by a path exist, from the root or from a room on, and so do `Class::member`s. A path whose
    first folder is none of this tree belongs to another program.
    """
    paths = [file.path for file in files]
    folders = {part for path in paths for part in path.split("/")[:-1]}
    violations = []
    for page in (file for file in files if file.path.startswith("docs/") and file.path.endswith(".md")):
        for line, text in _spans(page):
            member = _MEMBER.fullmatch(text)
            if _CODE_PATH.fullmatch(text):
                known = (text in _MADE_BY_THE_BUILD or text.split("/")[0] not in folders or
                         any(path == text or path.endswith("/" + text) for path in paths))
            else:
                known = not member or _has_member(files, *member.groups())
            if not known:
                violations.append(Violation("code_name", page.path, line, f"there is no {text}"))
    return violations


def check_questions(files, page="docs/performance.md"):
    """Below each heading of the page of figures is at most one chart or table, and its index has each heading."""
    text = next((file.text for file in files if file.path == page), "")
    violations, heading, indexed = [], None, set(re.findall(r"^ *- \[[^\]]*\]\(#([\w-]+)\)$", text, re.MULTILINE))
    for anchor in anchors(text)[1:]:
        if anchor not in indexed:
            violations.append(Violation("question", page, 1, f"its index has no #{anchor}"))
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            heading, shown = line.lstrip("# "), 0
        elif re.match(r"<!-- (table|figure|slower) ", line):
            shown += 1
            if shown == 2:
                violations.append(Violation("question", page, number, f"a second table answers '{heading}'"))
    return violations


def check_house_table(files, rooms, page="docs/explanation/architecture.md"):
    """The architecture page has a row for every room of cmake/rooms.txt."""
    text = next((file.text for file in files if file.path == page), "")
    return [Violation("house_table", page, 1, f"has no row for {room}/")
            for room in rooms if not re.search(rf"^\| *`{room}/`", text, re.MULTILINE)]


def check_made_pages():
    """The pages and charts that are made are what would be made now: of the schema, and of measured results."""
    page = "docs/reference/events.md"
    made = ((page, [ROOT / "events/generate.py", "--check-docs", ROOT / page]),
            ("docs/performance.md", [ROOT / "docs/draw/draw.py", "--check"]))
    violations = []
    for path, command in made:
        result = subprocess.run([sys.executable, "-B", *map(str, command)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            text = (result.stderr + result.stdout).strip().replace(f"{ROOT}/", "")
            violations.append(Violation("made_page", path, 1, text))
    return violations
