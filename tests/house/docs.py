"""Docs: every relative link leads somewhere, every page can be reached, made pages are current."""

import posixpath
import re
import subprocess
import sys

from tree import ROOT, Violation

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
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
