// See overrides.h.
#include "nccl/nics/overrides.h"

#include <fmt/format.h>

#include <string_view>

#include "base/document.h"

namespace heddle::nccl::nics {
namespace {

constexpr const char* kKeys = "name, speed_mbits, port, rail, plane, latency_us";

Unexpected wrong(const std::string& file, int line, std::string why, std::string todo) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", file, line), std::move(why),
              std::move(todo));
}

struct Range {
  int64_t least;
  int64_t most;
};

Range range_of(std::string_view key) {
  if (key == "speed_mbits") return {1, 10'000'000};
  if (key == "port") return {0, 65'535};
  if (key == "latency_us") return {0, 1'000'000};
  return {0, 32'767};  // rail and plane: 16 bits in NCCL's table
}

std::optional<int>* integer_field(NicOverride& entry, std::string_view key) {
  if (key == "speed_mbits") return &entry.speed_mbits;
  if (key == "port") return &entry.port;
  if (key == "rail") return &entry.rail;
  if (key == "plane") return &entry.plane;
  return nullptr;
}

Result<void> take(const DocumentValue& value, const std::string& file, NicOverride& entry) {
  const Range range = range_of(value.key);
  const auto out_of_range = [&] {
    return wrong(file, value.line,
                 fmt::format("'{}' is not between {} and {}", value.key, range.least, range.most),
                 "correct the value");
  };
  if (value.key == "name") {
    if (value.kind != DocumentKind::kText || value.text.empty()) {
      return wrong(file, value.line, "'name' is not the name of an interface",
                   "write it as name = \"eth0\"");
    }
    entry.name = value.text;
  } else if (value.key == "latency_us") {
    const bool whole = value.kind == DocumentKind::kInteger;
    if (!whole && value.kind != DocumentKind::kFraction) {
      return wrong(file, value.line, "'latency_us' is not a number", "write microseconds");
    }
    const double number = whole ? static_cast<double>(value.integer) : value.fraction;
    const bool fits =
        number >= static_cast<double>(range.least) && number <= static_cast<double>(range.most);
    if (!fits) return out_of_range();
    entry.latency_us = number;
  } else if (std::optional<int>* const field = integer_field(entry, value.key)) {
    if (value.kind != DocumentKind::kInteger) {
      return wrong(file, value.line, fmt::format("'{}' is not a whole number", value.key),
                   "correct the value");
    }
    if (value.integer < range.least || value.integer > range.most) return out_of_range();
    *field = static_cast<int>(value.integer);
  } else {
    return wrong(file, value.line, fmt::format("unknown key '{}'", value.key),
                 fmt::format("the keys of a [[nic]] are {}", kKeys));
  }
  return {};
}

Result<NicOverride> entry_of(const DocumentValue& table, const std::string& file) {
  NicOverride entry;
  entry.line = table.line;
  if (table.kind != DocumentKind::kTable) {
    return wrong(file, table.line, "'nic' is not a list of tables", "write [[nic]] above each");
  }
  for (const DocumentValue& value : table.items) {
    if (auto taken = take(value, file, entry); !taken) return fail(taken.error());
  }
  if (entry.name.empty()) {
    return wrong(file, table.line, "a [[nic]] has no 'name'", "add name = \"eth0\"");
  }
  return entry;
}

}  // namespace

Result<std::vector<NicOverride>> parse_overrides(const std::string& text, const std::string& file) {
  const auto document = parse_document(text, file);
  if (!document) return fail(document.error());
  std::vector<NicOverride> entries;
  for (const DocumentValue& list : document->items) {
    if (list.key != "nic" || list.kind != DocumentKind::kArray) {
      return wrong(file, list.line, fmt::format("unknown key '{}'", list.key),
                   "the file is a list of [[nic]] tables");
    }
    for (const DocumentValue& table : list.items) {
      auto entry = entry_of(table, file);
      if (!entry) return fail(entry.error());
      for (const NicOverride& before : entries) {
        if (before.name != entry->name) continue;
        return wrong(file, entry->line,
                     fmt::format("'{}' is in line {}, too", entry->name, before.line),
                     "keep one of the two");
      }
      entries.push_back(std::move(*entry));
    }
  }
  return entries;
}

Result<std::vector<NicOverride>> read_overrides(const std::string& file) {
  const auto text = read_text_file(file, "correct HEDDLE_NCCL_NICS, or leave it empty");
  if (!text) return fail(text.error());
  return parse_overrides(*text, file);
}

}  // namespace heddle::nccl::nics
