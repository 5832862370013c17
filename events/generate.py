#!/usr/bin/env python3
"""Makes the C++ of every event, and its reference page, from events/schema.toml.

    generate.py --cxx FOLDER       writes FOLDER/events.h and FOLDER/events_text.cc
    generate.py --docs FILE        writes the reference page
    generate.py --check-docs FILE  exits with 1 when the page is not what --docs would write

The build runs the first, tests/house the last. A file is written only if its content changes.
"""

import argparse
import pathlib
import re
import sys
import tomllib

SCHEMA = pathlib.Path(__file__).resolve().parent / "schema.toml"

CXX_TYPES = {
    "bool": "bool", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "i64": "int64_t", "nanos": "Nanos", "text": "Text",
}
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
PASCAL = re.compile(r"([A-Z][a-z0-9]*)+")


class SchemaError(Exception):
    """The schema breaks a rule; the text names the place."""


def pascal(snake):
    return "".join(part.capitalize() for part in snake.split("_"))


def require(condition, text):
    if not condition:
        raise SchemaError(text)


def check_keys(table, where, keys):
    unknown = sorted(set(table) - set(keys))
    missing = sorted(set(keys) - set(table))
    require(not unknown, f"{where}: unknown key {', '.join(unknown)}")
    require(not missing, f"{where}: missing key {', '.join(missing)}")
    for key, value in table.items():
        require(value != "", f"{where}: {key} is empty")


def check_rows(rows, where, width):
    """Every row has `width` nonempty texts, and its first is unique and in snake_case."""
    seen = set()
    require(rows, f"{where}: has no rows")
    for row in rows:
        require(len(row) == width and all(isinstance(cell, str) and cell for cell in row),
                f"{where}: {row} must be {width} texts that are not empty")
        require(SNAKE.fullmatch(row[0]), f"{where}: '{row[0]}' is not snake_case")
        require(row[0] not in seen, f"{where}: '{row[0]}' is there twice")
        seen.add(row[0])


def check_enum(enum):
    where = f"enum {enum.get('name', '?')}"
    check_keys(enum, where, ["name", "doc", "values"])
    require(PASCAL.fullmatch(enum["name"]), f"{where}: the name is not PascalCase")
    check_rows(enum["values"], where, 2)
    require(len(enum["values"]) <= 256, f"{where}: more than 256 values")


def check_event(event, enum_names):
    where = f"event {event.get('name', '?')}"
    check_keys(event, where, ["name", "doc", "emitter", "cost", "fields"])
    require(SNAKE.fullmatch(event["name"]), f"{where}: the name is not snake_case")
    check_rows(event["fields"], where, 4)
    for name, kind, unit, _ in event["fields"]:
        require(kind in CXX_TYPES or kind in enum_names, f"{where}: {name}: unknown type '{kind}'")
        require(name != "time", f"{where}: the time is there without being listed")
        if kind == "nanos":
            require(unit == "ns", f"{where}: {name}: the unit of nanos is ns")
        elif unit != "-":
            suffix = unit.replace("/", "_per_")
            require(name.endswith(suffix), f"{where}: {name}: the name must end in {suffix}")


def check_schema(schema):
    """Raises SchemaError at the first broken rule."""
    check_keys(schema, "schema", ["schema_version", "enum", "event"])
    for enum in schema["enum"]:
        check_enum(enum)
    enum_names = [enum["name"] for enum in schema["enum"]]
    for event in schema["event"]:
        check_event(event, enum_names)
    types = enum_names + [pascal(event["name"]) for event in schema["event"]]
    types += ["Sink", "EachSink", "KindSet", "EventKind", "AnyEvent", "Text"]
    for name in types:
        require(types.count(name) == 1, f"two types are called {name}")
    return schema


def load(path=SCHEMA):
    with open(path, "rb") as file:
        return check_schema(tomllib.load(file))


def kind_enum(schema):
    """The enum of all event kinds, in the form of a declared enum."""
    return {"name": "EventKind", "doc": "Every kind of event.",
            "values": [[event["name"], event["doc"]] for event in schema["event"]]}


def text_name(name, kind):
    return f"{name}_ns" if kind == "nanos" else name


# ------------------------------------------------------------------------------------------ C++

HEADER_TOP = """\
// Every event that heddle emits, its enums, and the Sink that takes them.
// Generated from events/schema.toml by events/generate.py; docs/reference/events.md explains each.
// Events carry the driver loop's time; emitting one reads no clock and allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "base/nanos.h"
#include "events/text.h"

namespace heddle::events {

inline constexpr int kSchemaVersion = {version};
"""

SINK_TOP = """
// Kinds of events.
class KindSet {
 public:
  static constexpr KindSet all() { return KindSet(UINT64_MAX); }
  constexpr KindSet() = default;
  constexpr KindSet(std::initializer_list<EventKind> kinds) {
    for (const EventKind kind : kinds) add(kind);
  }
  constexpr bool has(EventKind kind) const { return (bits_ >> static_cast<uint32_t>(kind) & 1) != 0; }
  constexpr void add(EventKind kind) { bits_ |= uint64_t{1} << static_cast<uint32_t>(kind); }
  constexpr void add(KindSet others) { bits_ |= others.bits_; }

 private:
  static_assert(kEventKindCount <= 64);
  explicit constexpr KindSet(uint64_t bits) : bits_(bits) {}

  uint64_t bits_ = 0;
};

// Takes events. Every call returns at once and keeps no reference; what a sink does not override it
// ignores. A class that overrides some and is itself called by its own type says `using Sink::on;`.
class Sink {
 public:
  virtual ~Sink() = default;
  // Others need not be told; they are ignored. It stays as it is while somebody tells events.
  virtual KindSet wanted() const { return KindSet::all(); }
"""

EACH_SINK_TOP = """
// A Sink that treats all events alike: it calls `Derived::on_any(const Event&)`, a template.
template <typename Derived>
class EachSink : public Sink {
 public:
"""


def cxx_enum(enum):
    name, values = enum["name"], enum["values"]
    lines = ["", f"// {enum['doc']}", f"enum class {name} : uint8_t {{"]
    lines += [f"  k{pascal(value)},  // {doc}" for value, doc in values]
    lines += ["};", f"inline constexpr size_t k{name}Count = {len(values)};",
              f"inline constexpr std::array<std::string_view, k{name}Count> k{name}Names = {{"]
    lines += [f'    "{value}",' for value, _ in values]
    lines += ["};",
              f"constexpr std::string_view name_of({name} value) {{",
              "  const auto index = static_cast<size_t>(value);",
              f'  return index < k{name}Count ? k{name}Names[index] : "?";', "}"]
    return lines


def cxx_positions(enums):
    """Assigns each enum a range of an array, for sinks that count every value."""
    lines = ["", "// Where the values of an enum begin in an array that has a place for every value",
             "// of every enum that is declared here.",
             "template <typename Enum>", "inline constexpr size_t kFirstPlace = 0;"]
    place = 0
    for enum in enums:
        lines += ["template <>", f"inline constexpr size_t kFirstPlace<{enum['name']}> = {place};"]
        place += len(enum["values"])
    return lines + [f"inline constexpr size_t kPlaceCount = {place};"]


def cxx_event(event):
    name = pascal(event["name"])
    lines = ["", f"// {event['doc']}", f"struct {name} {{",
             f"  static constexpr EventKind kKind = EventKind::k{name};", "", "  Nanos time;"]
    for field, kind, _, doc in event["fields"]:
        lines.append(f"  {CXX_TYPES.get(kind, kind)} {field}{{}};  // {doc}")
    lines += ["", f"  bool operator==(const {name}&) const = default;", "};",
              "template <typename Visitor>",
              f"constexpr void visit_fields(const {name}& event, Visitor&& visit) {{",
              '  visit(std::string_view("time_ns"), event.time);']
    for field, kind, _, _ in event["fields"]:
        lines.append(f'  visit(std::string_view("{text_name(field, kind)}"), event.{field});')
    lines += ["}", "// The same without the time, for whoever fills an event in.",
              "template <typename Visitor>",
              f"constexpr void fill_fields({name}& event, Visitor&& visit) {{"]
    lines += [f"  visit(event.{field});" for field, *_ in event["fields"]]
    return lines + ["}"]


def schema_line(event):
    """An event in a recording's schema: its name, then each field and its type; enums are u8."""
    fields = [f"{name}:{kind if kind in CXX_TYPES else 'u8'}" for name, kind, _, _ in event["fields"]]
    return " ".join([event["name"], *fields])


def cxx_schema_text(schema):
    lines = ["", "// The events in their order as recordings describe them, a line each.",
             "inline constexpr std::string_view kSchemaText ="]
    lines += [f'    "{schema_line(event)}\\n"' for event in schema["event"]]
    lines[-1] += ";"
    return lines


def cxx_sinks(names):
    lines = SINK_TOP.splitlines()
    lines += [f"  virtual void on(const {name}&) {{}}" for name in names]
    lines += ["};"] + EACH_SINK_TOP.splitlines()
    lines += [f"  void on(const {name}& event) override {{ self().on_any(event); }}"
              for name in names]
    return lines + ["", " private:",
                    "  Derived& self() { return static_cast<Derived&>(*this); }", "};"]


def make_header(schema):
    names = [pascal(event["name"]) for event in schema["event"]]
    lines = HEADER_TOP.replace("{version}", str(schema["schema_version"])).splitlines()
    for enum in [kind_enum(schema), *schema["enum"]]:
        lines += cxx_enum(enum)
    lines += cxx_positions(schema["enum"])
    for event in schema["event"]:
        lines += cxx_event(event)
    lines += ["", "// Any one event.", "using AnyEvent = std::variant<"]
    lines[-1] += ", ".join(names) + ">;"
    lines += cxx_schema_text(schema)
    lines += cxx_sinks(names)
    lines += ["", "// One line of JSON: the event's name, then its fields in their order."]
    lines += [f"std::string to_text(const {name}& event);" for name in names]
    lines += ["", "}  // namespace heddle::events"]
    return "\n".join(lines) + "\n"


def make_text_source(schema):
    lines = ["// The text form of every event. Generated from events/schema.toml by "
             "events/generate.py.",
             '#include "events/event_text.h"', '#include "events/events.h"', "",
             "namespace heddle::events {", ""]
    for event in schema["event"]:
        name = pascal(event["name"])
        lines.append(f"std::string to_text(const {name}& event) {{ return event_text(event); }}")
    lines += ["", "}  // namespace heddle::events"]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------- the reference

DOCS_TOP = """\
# Events

Everything heddle observes is one of these events. They are declared in `events/schema.toml`; this
page is made from it by `python3 events/generate.py --docs docs/reference/events.md`, so change that
file and not this one. Schema version: {version}.

Every event begins with `time_ns`, the time of the driver loop when it was emitted; events of NCCL's
profiler carry the time at which NCCL reported them. No event reads a clock. A program takes events
by deriving from `heddle::events::Sink` (`events/events.h`).
"""


def docs_event(event):
    lines = ["", f"### {event['name']}", "", event["doc"], "",
             f"Emitted by: {event['emitter']}. How often: {event['cost']}.", "",
             "| field | type | unit | meaning |", "|---|---|---|---|"]
    for field, kind, unit, doc in event["fields"]:
        shown = f"`{kind}`" if kind in CXX_TYPES else f"[{kind}](#{kind.lower()})"
        lines.append(f"| `{text_name(field, kind)}` | {shown} | {unit} | {doc} |")
    return lines


def docs_enum(enum):
    lines = ["", f"### {enum['name']}", "", enum["doc"], "", "| value | meaning |", "|---|---|"]
    return lines + [f"| `{value}` | {doc} |" for value, doc in enum["values"]]


def make_docs(schema):
    lines = DOCS_TOP.replace("{version}", str(schema["schema_version"])).splitlines()
    lines += ["", "## The events"]
    for event in schema["event"]:
        lines += docs_event(event)
    lines += ["", "## The enums"]
    for enum in schema["enum"]:
        lines += docs_enum(enum)
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------ files

def write_when_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schema", type=pathlib.Path, default=SCHEMA)
    parser.add_argument("--cxx", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--docs", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--check-docs", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        schema = load(options.schema)
    except (SchemaError, tomllib.TOMLDecodeError) as error:
        print(f"{options.schema}: {error}", file=sys.stderr)
        return 2
    if options.cxx:
        write_when_changed(options.cxx / "events.h", make_header(schema))
        write_when_changed(options.cxx / "events_text.cc", make_text_source(schema))
    if options.docs:
        write_when_changed(options.docs, make_docs(schema))
    if options.check_docs:
        page = options.check_docs
        if not page.exists() or page.read_text() != make_docs(schema):
            print(f"{page} is not current: run python3 events/generate.py --docs {page}",
                  file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
