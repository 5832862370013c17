"""Constants of judgement are in a params.h of their room, with unit, source and range.

A constant of C++ counts that has a number of its own and is elsewhere, in any room. Not counted are values that
follow from others (any name in them but a unit or a type), the names in PLAIN, and what constants.toml lists with a
reason: wire formats, widths, what a kernel's header fixes.
"""

import re
import tomllib

from tree import Violation, strip_cxx

TABLE = "tests/house/constants.toml"

# Bits, places in a packet, versions, and values that stand for nothing, everything or a unit.
PLAIN = re.compile(r"k(\w*(Bits|Shift|Mask|At|Version|Magic|Flags?|Type|(Header|Frame|Tag|Key|Mac)Bytes)"
                   r"|(No|Any|Every)[A-Z][a-z]*|None|Unknown|Far|Never|Nobody|Whole|Second|Gib)")
_CONSTANT = re.compile(
    r"\bconstexpr\s+(?:(?:static|inline)\s+)*(?:std::)?(?:Nanos|Bytes|BitsPerSec|double|float|int|"
    r"(?:unsigned\s+)?long|unsigned|auto|[a-z]\w*_t|timeval|timespec|chrono::\w+)\s+(k[A-Z]\w*)\s*[={(]([^;]*);")
_NAME = re.compile(r"(?<![\w'.])[A-Za-z_]\w*")
_UNITS = {"nanos", "micros", "millis", "seconds", "minutes", "Nanos", "Bytes", "BitsPerSec", "megabits_per_s",
          "gigabits_per_s", "kibibytes", "mebibytes", "gibibytes", "std", "chrono", "microseconds", "milliseconds",
          "static_cast", "double", "float", "int",
          "size_t"} | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def constants_of(file):
    """(name, line) of those that may be of judgement."""
    if not file.is_cxx or file.is_test or file.name.endswith("params.h"):
        return []
    code = strip_cxx(file.text)
    found = []
    for match in _CONSTANT.finditer(code):
        name, value = match.groups()
        own = re.search(r"\d", value) and not set(_NAME.findall(value)) - _UNITS
        if own and not PLAIN.fullmatch(name):
            found.append((name, code.count("\n", 0, match.start(1)) + 1))
    return found


def read_table(text):
    """The rows of what is no judgement: `why`, and either `path`, a file or folder all of whose constants are none, or
    `constants`, a list of "file: name name"."""
    return tomllib.loads(text)["no_judgement"]


def _pairs(row):
    """(path, name) of a row; the name is empty for all of a path."""
    if "path" in row:
        return [(row["path"], "")]
    return [(path, name) for path, _, names in (each.partition(": ") for each in row["constants"])
            for name in names.split()]


def check(files, rows):
    """Violations of the files, and of the table: pairs that nothing needs."""
    pairs = [pair for row in rows for pair in _pairs(row)]
    violations = []
    used = set()
    for file in files:
        for name, line in constants_of(file):
            by = [pair for pair in pairs if (file.path.startswith(pair[0]) if not pair[1] else
                                             pair == (file.path, name))]
            used.update(by)
            if not by:
                text = (f"{name}: move it to {file.room}/params.h with unit, source and range, or list it with the "
                        f"reason in {TABLE}")
                violations.append(Violation("constants", file.path, line, text, name))
    violations += [Violation("constants", TABLE, 1, f"no longer needed: {path} {name}".rstrip(), path)
                   for path, name in pairs if (path, name) not in used]
    return violations
