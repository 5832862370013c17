"""The functions of a C++ or Python file with their first lines and lengths.

C++ is read by its braces: a brace that opens in a namespace, a type or at the top, after text with
a parameter list, opens a function. That is right for code that clang-format has formatted: it puts
a space before a body and none before a value in braces.
"""

import ast
import dataclasses
import re

from tree import strip_cxx

_DECLARATION_SCOPES = ("namespace", "type")
_NOT_FUNCTIONS = re.compile(r"^\s*(namespace|inline namespace|extern\s+\"\")")
_TYPE = re.compile(r"^\s*(template\s*<.*>\s*)?(typedef\s+)?(class|struct|union|enum)\b", re.DOTALL)
_NAME = re.compile(r"([A-Za-z_~][\w:~]*|operator\s*[^\s(]+)\s*\(")


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    line: int
    length: int


def cxx_functions(text):
    """Every function that is defined in C++ text."""
    code = _blank_preprocessor(strip_cxx(text))
    found, scopes = [], []
    header, header_line, line = "", 1, 1
    for char in code:
        if char == "\n":
            line += 1
        if char == "{":
            scopes.append((_scope_kind(header, scopes), header, header_line))
            header = ""
        elif char == "}":
            kind, opened, first = scopes.pop() if scopes else ("body", "", line)
            if kind == "function":
                found.append(Function(_name(opened), first, line - first + 1))
            header, header_line = (opened + "{}", first) if kind == "value" else ("", line)
        elif char == ";":
            header = ""
        else:
            if not header.strip() and not char.isspace():
                header, header_line = "", line
            header += char
    return found


def _blank_preprocessor(code):
    lines, continued = [], False
    for line in code.split("\n"):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        lines.append("" if directive else line)
    return "\n".join(lines)


def _scope_kind(header, scopes):
    if scopes and scopes[-1][0] not in _DECLARATION_SCOPES:
        return "body"
    # `member_{1}`, or a default argument: the declaration goes on behind the closing brace.
    if re.search(r"[\w>]$", header) or header.count("(") > header.count(")"):
        return "value"
    if _NOT_FUNCTIONS.match(header):
        return "namespace"
    if _is_type(header):
        return "type"
    return "function" if "(" in header else "body"


def _is_type(header):
    """`struct Name : Base` is a type; `struct Name make()` is a function that returns one."""
    match = _TYPE.match(header)
    if not match:
        return False
    rest = re.sub(r"\b(alignas|__attribute__|decltype)\s*\(.*?\)+", "", header[match.end():])
    return "(" not in rest.split(":", 1)[0]


def _name(header):
    match = _NAME.search(header)
    if not match:
        return "?"
    name = match.group(1)
    if name.startswith("TEST"):
        arguments = header[match.end():].split(")", 1)[0]
        return name + "(" + " ".join(arguments.split()) + ")"
    return name


def python_functions(text):
    """Every function of Python text."""
    return [Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
