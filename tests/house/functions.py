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
_ACCESS = re.compile(r"^\s*(public|protected|private):")
_NOT_DECLARED = re.compile(r"(using|typedef|static_assert|friend\s+(class|struct))\b|.*\boperator\b", re.DOTALL)
_CALLABLE = re.compile(r"[^(=]*[\w~]\s*\(")  # a name and its list, before any initial value
# `[this](int a)`, but neither `values[i](a)` nor `operator[](a)`.
_LAMBDA = re.compile(r"(?<![\w)\]])\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*\(")


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    line: int
    length: int
    parameters: int = 0  # of C++


def cxx_functions(text):
    """Every function that is defined in C++ text."""
    return [Function(_name(header), first, last - first + 1, _parameters(header))
            for kind, header, first, last in _pieces(text) if kind == "function"]


def cxx_declarations(text):
    """Every function that C++ text declares without a body, pure virtual ones among them, and every lambda."""
    found = []
    for kind, header, first, last in _pieces(text):
        code = _ACCESS.sub("", header).strip()
        if kind == "declaration" and not _NOT_DECLARED.match(code):
            code = _without_template_arguments(code)
            if _CALLABLE.match(code):
                found.append(Function(_name(code), first, last - first + 1, _parameters(code)))
    code = _blank_preprocessor(strip_cxx(text))
    for match in _LAMBDA.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        found.append(Function("lambda", line, 1, _parameters("lambda(" + code[match.end():])))
    return found


def _pieces(text):
    """(kind, text before the body or semicolon, first line, last line) of functions and declarations."""
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
                found.append((kind, opened, first, line))
            header, header_line = (opened + "{}", first) if kind == "value" else ("", line)
        elif char == ";":
            if not scopes or scopes[-1][0] in _DECLARATION_SCOPES:
                found.append(("declaration", header, header_line, line))
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


def _without_template_arguments(header):
    while (shorter := re.sub(r"<[^<>]*>", "", header)) != header:
        header = shorter
    return header


def _name(header):
    match = _NAME.search(header)
    if not match:
        return "?"
    name = match.group(1)
    if name.startswith("TEST"):
        arguments = header[match.end():].split(")", 1)[0]
        return name + "(" + " ".join(arguments.split()) + ")"
    return name


def _parameters(header):
    """How many parameters the function with this header takes."""
    match = _NAME.search(header)
    if not match:
        return 0
    depth, commas, empty = [")"], 0, True
    for at, char in enumerate(header[match.end():], match.end()):
        if char in "([{<":
            depth.append({"(": ")", "[": "]", "{": "}", "<": ">"}[char])
        elif char == depth[-1] and header[at - 1] != "-":
            depth.pop()
            if not depth:
                break
        elif char == "," and len(depth) == 1:
            commas += 1
        empty = empty and char.isspace()
    return 0 if empty else commas + 1


def python_functions(text):
    """Every function of Python text."""
    return [Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
