"""Include arrows: which room may include which, and that a room's subfolders are its own."""

from tree import TEST_ROOMS, Violation, includes


def check_table(rooms):
    """A room may only include rooms that stand above it, so there is no circle."""
    violations, above = [], []
    for number, (room, arrows) in enumerate(rooms.items(), 1):
        for arrow in arrows:
            if arrow not in above:
                violations.append(Violation("arrow", "cmake/rooms.txt", number,
                                            f"{room} includes {arrow}, which is not above it"))
        above.append(room)
    return violations


# Files of transport/ that name an extension, besides the extensions: a connection and its parts know only their set,
# so an extension is its own file and a line of the table.
NAMES_AN_EXTENSION = {
    "transport/connection/connection.cc": "transport/extensions/path_discovery.h",
    "transport/messages/remote_receives.h": "transport/extensions/fences.h",
}


def check_extensions(files):
    """The transport includes no extension by name but for NAMES_AN_EXTENSION, whose entries are all needed."""
    needed, violations = set(), []
    for file in files:
        if not file.path.startswith("transport/") or file.path.startswith("transport/extensions/") or file.is_test:
            continue
        for line, _, path in includes(file):
            if not path.startswith("transport/extensions/") or path.endswith("/extension_set.h"):
                continue
            if NAMES_AN_EXTENSION.get(file.path) == path:
                needed.add(file.path)
            else:
                violations.append(Violation("extension", file.path, line, f"{path}: reach it by extension_set.h"))
    violations += [Violation("extension", path, 1, "is no longer needed in NAMES_AN_EXTENSION")
                   for path in sorted(set(NAMES_AN_EXTENSION) - needed)]
    return violations


def check_arrows(files, rooms):
    """Every #include "room/..." against the table of rooms."""
    violations = []
    for file in files:
        if not file.is_cxx or file.room not in rooms:
            continue
        for line, quote, path in includes(file):
            text = wrong_include(file, quote, path, rooms)
            if text:
                violations.append(Violation("arrow", file.path, line, text))
    return violations


def wrong_include(file, quote, path, rooms):
    """What is wrong with one #include; None when nothing is."""
    target = path.split("/", 1)[0]
    if quote == "<":
        return f"<{path}> is heddle's own: use quotes" if target in rooms else None
    if "/" not in path or target not in rooms:
        return f'"{path}" does not begin with a room: own headers are named from the root'
    if ".." in path.split("/"):
        return f'"{path}" goes upwards'
    if target == file.room:
        return None
    if target not in rooms[file.room]:
        return f"{file.room} may not include {target} (cmake/rooms.txt)"
    if path.count("/") > 1 and not may_look_inside(file):
        return f'"{path}" lies in a subfolder, which is private to {target}'
    return None


def may_look_inside(file):
    """Tests, fuzz targets and benchmarks reach the parts that they drive; other code does not."""
    return file.room in TEST_ROOMS or file.is_test
