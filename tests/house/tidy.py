"""Tidy: sizes, names, heads and what must not be in a source file. One function a rule."""

import re

from functions import cxx_declarations, cxx_functions, python_functions
from tree import Violation, includes, strip_cxx

MAX_FILE_LINES = 500
MAX_TEST_FILE_LINES = 700
MAX_FUNCTION_LINES = 70
MAX_PARAMETERS = 5
MAX_LINE_LENGTH = 100         # of C++, as clang-format wraps it
MAX_SCRIPT_LINE_LENGTH = 120  # of Python, shell and CMake, which nothing wraps

_EMPTY_NAME = re.compile(r"(^|_)(utils|misc|common|helpers|managers?)(_|$)|(^|_)(util|helper)$")
_NETWORK_HEADERS = re.compile(
    r"(sys/(socket|un)\.h|netdb\.h|ifaddrs\.h|(net|netinet|netpacket|arpa|linux|infiniband"
    r"|rdma|xdp|bpf)/.*)")
# Sockets that no datapath is for. Boost.Asio opens sockets that children inherit, so the server of metrics opens them
# itself; its test has clients of its own. A filter of system calls is written as one of packets. Counters of
# interfaces come from a socket of the kernel's.
_NETWORK_FILES = ("metrics/server.cc", "metrics/server_test.cc", "messaging/mute_server_test.cc",
                  "base/testing/refused_call.h", "nodes/link_reader.cc", "nodes/link_reader_test.cc")
_MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
_DEAD_CODE = re.compile(
    r"^\s*//\s*((return|const auto|auto|std::\w+)\b.*;|(if|for|while) \(.*[;{]"
    r"|#include [<\"].*|[\w.]+(->\w+)*\(.*\);|[\w.]+ [+-]?= [^ ].*;|\})$")
# A difference of two unsigned numbers, taken as signed: of wrapping numbers it maps half the circle
# to anything, so base/serial.h alone compares those.
_RAW_ORDER = re.compile(r"static_cast<(std::)?int(8|16|32)_t>\([^;]*?[\w)\]] - [\w(]")
_THREADS = re.compile(r"\bstd::(thread\b(?!::)|jthread\b|async\b)|\bpthread_create\b|\bthrd_create\b")
_MUTEXES = re.compile(r"\bstd::(\w*mutex|once_flag|call_once)\b|\bpthread_mutex_\w+")
_LIBRARIES = ("base", "events", "transport", "datapath", "engine", "collectives", "plugins")
# Their functions have the lists of C, NCCL and CUDA.
_FOREIGN_FACES = ("plugins/c/", "plugins/nccl/exports/", "plugins/nccl/profiler/", "plugins/nccl/trace/",
                  "plugins/nccl/tuner/tables.cc", "nccl/drive/plugin_log.cc", "nccl/testing/", "tests/nccl/")
_MACHINE_PATHS = re.compile(r"(?<![\w.\-/])/(work|root|Users)/|(?<![\w.\-/])/home/\w")


def check_tidy(files):
    """Every rule over every file."""
    violations = []
    for file in files:
        for rule in (file_name, machine_paths, markers):
            violations += rule(file)
        if file.is_code:
            for rule in (file_length, line_length, head, function_length):
                violations += rule(file)
        if file.is_cxx:
            for rule in (pragma_once, macros, using_namespace, views, network_headers, dead_code,
                         serial_order, threads, mutexes, parameters):
                violations += rule(file)
    return violations + own_header_first(files) + pages_that_exist(files)


def file_length(file):
    limit = MAX_TEST_FILE_LINES if file.is_test else MAX_FILE_LINES
    lines = len(file.lines)
    if lines <= limit:
        return []
    text = f"{lines} lines, {limit} are the most"
    return [Violation("file_length", file.path, 1, text, size=lines)]


def function_length(file):
    if file.is_cxx:
        found = cxx_functions(file.text)
    elif file.name.endswith(".py") or file.text.startswith("#!/usr/bin/env python"):
        found = python_functions(file.text)
    else:
        return []
    return [Violation("function_length", file.path, function.line,
                      f"{function.name} has {function.length} lines, "
                      f"{MAX_FUNCTION_LINES} are the most", function.name, function.length)
            for function in found if function.length > MAX_FUNCTION_LINES]


def parameters(file):
    """Of functions and lambdas of heddle: C programs and NCCL give others their lists. A test's own may be longer."""
    if file.is_test or "/testing/" in file.path or file.path.startswith(_FOREIGN_FACES):
        return []
    return [Violation("parameters", file.path, function.line,
                      f"{function.name} has {function.parameters} parameters, {MAX_PARAMETERS} are the most",
                      function.name, function.parameters)
            for function in cxx_functions(file.text) + cxx_declarations(file.text)
            if function.parameters > MAX_PARAMETERS]


def line_length(file):
    longest = MAX_LINE_LENGTH if file.path.endswith((".h", ".cc")) else MAX_SCRIPT_LINE_LENGTH
    return [Violation("line_length", file.path, number, f"{len(line)} columns", size=len(line))
            for number, line in enumerate(file.lines, 1)
            if len(line) > longest and "http" not in line]


def head(file):
    """A file begins by saying what it is."""
    lines = [line for line in file.lines if not line.startswith("#!")]
    first = lines[0] if lines else ""
    if file.is_cxx:
        good = first.startswith("// ")
    elif file.text.startswith("#!") and "python" not in file.lines[0] or file.path.endswith(".cmake"):
        good = first.startswith("# ")
    else:
        good = first.startswith('"""') or not lines
    return [] if good else [Violation("head", file.path, 1, "does not begin with what it is")]


def file_name(file):
    stem = file.name.split(".")[0]
    violations = []
    named_by_us = (file.is_cxx or file.name.endswith((".py", ".cmake"))) and file.name != "__init__.py"
    if named_by_us and not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
        violations.append(Violation("file_name", file.path, 1, "is not snake_case"))
    for word in [*file.path.split("/")[:-1], stem]:
        if _EMPTY_NAME.search(word.lower().replace("-", "_")):
            violations.append(Violation("file_name", file.path, 1, f"'{word}' is no concern"))
    return violations


def pragma_once(file):
    if not file.name.endswith(".h"):
        return []
    code = [line for line in strip_cxx(file.text).splitlines() if line.strip()]
    if code and code[0] == "#pragma once":
        return []
    return [Violation("pragma_once", file.path, 1, "#pragma once must come before all code")]


def macros(file):
    return [Violation("macro", file.path, number, f"defines {match.group(1)}", match.group(1))
            for number, line in enumerate(file.lines, 1)
            if (match := re.match(r"\s*#\s*define\s+(\w+)", line))
            and not (file.path == "base/check.h" and match.group(1) == "CHECK")]


def using_namespace(file):
    if not file.name.endswith(".h"):
        return []
    return _each_line(file, re.compile(r"\busing\s+namespace\b"), "using_namespace",
                      "using namespace in a header")


def views(file):
    return _each_line(file, re.compile(r"\bstd::(ranges::)?views\b"), "views",
                      "std::views is too much for clang 14's tools")


def network_headers(file):
    rooms = r"datapath/\w+/(testing/)?\w+\.cc$|launch/control/|lab/|bench/|tests/"
    if file.path in _NETWORK_FILES or re.match(rooms, file.path):
        return []
    return [Violation("network_header", file.path, line, f"<{path}> outside a datapath's backend")
            for line, quote, path in includes(file)
            if quote == "<" and _NETWORK_HEADERS.fullmatch(path)]


def serial_order(file):
    if not file.path.startswith("transport/") or file.is_test:
        return []
    return [Violation("serial_order", file.path, number,
                      "a difference taken as signed: compare wrapping numbers by base/serial.h")
            for number, line in enumerate(strip_cxx(file.text).split("\n"), 1)
            if _RAW_ORDER.search(line)]


def threads(file):
    """One place starts threads, which has an answer where there can be no more."""
    if file.is_test or file.room == "bench" or file.path in ("base/thread.h", "base/thread.cc"):
        return []
    return _each_line(file, _THREADS, "thread", "threads start by start_thread() of base/thread.h")


def mutexes(file):
    """A child of fork() must not wait for a lock that a thread of its parent held."""
    if file.is_test or file.room not in _LIBRARIES or file.path == "base/own_mutex.h":
        return []
    return _each_line(file, _MUTEXES, "mutex", "a library's mutex is an OwnMutex (base/own_mutex.h)")


def dead_code(file):
    return [Violation("dead_code", file.path, number, "code in a comment")
            for number, line in enumerate(file.lines, 1) if _DEAD_CODE.match(line)]


def markers(file):
    return [Violation("marker", file.path, number, f"'{match.group(1)}' left behind")
            for number, line in enumerate(file.lines, 1) if (match := _MARKERS.search(line))]


def machine_paths(file):
    return [Violation("machine_path", file.path, number, "a path of one machine")
            for number, line in enumerate(file.lines, 1) if _MACHINE_PATHS.search(line)]


def pages_that_exist(files):
    """A page that a comment or a text names is there."""
    pages = {file.path for file in files if file.path.startswith("docs/")}
    if not pages:
        return []
    return [Violation("page", file.path, number, f"there is no {page}", page)
            for file in files if file.is_code and not file.path.startswith("tests/house/")
            for number, line in enumerate(file.lines, 1) for page in re.findall(r"\bdocs/[\w/]+\.md\b", line)
            if page not in pages]


def own_header_first(files):
    """x.cc includes x.h before all others; so x.h is proved to compile alone."""
    paths = {file.path for file in files}
    violations = []
    for file in files:
        if not file.name.endswith(".cc"):
            continue
        own = re.sub(r"(_test)?\.cc$", ".h", file.path)
        found = includes(file)
        if own in paths and (not found or found[0][2] != own):
            line = found[0][0] if found else 1
            violations.append(Violation("own_header_first", file.path, line,
                                        f'"{own}" must be the first include'))
    return violations


def _each_line(file, pattern, rule, text):
    return [Violation(rule, file.path, number, text)
            for number, line in enumerate(strip_cxx(file.text).splitlines(), 1)
            if pattern.search(line)]
