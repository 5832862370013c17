"""The files of the tree as the checkers see them: paths, lines, and C++ without comments.

Every checker is a function from files to Violations; house.py runs them, *_test.py prove them.
"""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_FOLDERS = ("build/", "third_party/")
TEST_ROOMS = ("tests", "bench")
TEST_ENDINGS = ("_test.cc", "_fuzz.cc", "_bench.cc", "_contract.cc", "_test.h", "_test.py")


@dataclasses.dataclass(frozen=True)
class Violation:
    """One broken rule: `subject` names the function or symbol where the file alone is too little."""

    rule: str
    path: str
    line: int
    text: str
    subject: str = ""
    size: int = 0

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclasses.dataclass(frozen=True)
class File:
    """A text file of the tree. `path` is relative to its root, with `/`."""

    path: str
    text: str

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def room(self):
        return self.path.split("/", 1)[0] if "/" in self.path else ""

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def is_cxx(self):
        return self.name.endswith((".h", ".cc"))

    @property
    def is_code(self):
        return self.is_cxx or self.name.endswith((".py", ".cmake")) or self.text.startswith("#!")

    @property
    def is_test(self):
        return (self.room in TEST_ROOMS or self.name.endswith(TEST_ENDINGS)
                or "/contract/" in self.path or "/testing/" in self.path)


def read_tree(root=ROOT):
    """Every text file that git knows or would add, in the order of their paths."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if listed.returncode == 0:
        names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    else:  # an archive without git
        names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*")
                       if path.is_file())
    files = []
    for name in names:
        path = root / name
        if name.startswith(BUILD_FOLDERS) or not path.is_file() or "/corpus/" in name:
            continue
        try:
            files.append(File(name, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # not text
    return files


def read_rooms(text):
    """The table of cmake/rooms.txt: room to the list of rooms it may include, in its order."""
    rooms = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        room, colon, arrows = line.partition(":")
        if not colon:
            raise ValueError(f"cmake/rooms.txt: cannot read '{line}'")
        rooms[room.strip()] = arrows.split()
    return rooms


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)


def strip_cxx(text, keep_strings=False):
    """The code without comments and the insides of literals; every line stays where it was."""
    def replace(match):
        token = match.group(0)
        newlines = "\n" * token.count("\n")
        if token.startswith("/"):
            return newlines
        if keep_strings:
            return token
        return '""' + newlines if token[0] in '"R' else "' '"
    return _TOKEN.sub(replace, text)


def comments(text):
    """(first line, text) of every comment of C++; what looks like one in a string is none."""
    return [(text.count("\n", 0, match.start()) + 1, match.group(0)) for match in _TOKEN.finditer(text)
            if match.group(0).startswith("/")]


def includes(file):
    """(line, '"' or '<', path) of every #include of a C++ file."""
    found = []
    for number, line in enumerate(strip_cxx(file.text, keep_strings=True).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            found.append((number, match.group(1), match.group(2)))
    return found
