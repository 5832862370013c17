// See table.h.
#include "base/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"

namespace heddle {
namespace {

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

}  // namespace

void FileErrors::add(int line, std::string why, std::string todo) {
  if (first_) return;
  std::string place = file_;
  if (line > 0) place += ":" + std::to_string(line);
  first_ = Error{ErrorCode::kInvalid, "cannot use " + place, std::move(why), std::move(todo)};
}

Result<void> check_version(const DocumentValue& document, const std::string& file, uint64_t known) {
  const std::string wanted = std::to_string(known);
  const DocumentValue* version = document.find("version");
  if (version == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot use " + file, "the key 'version' is missing",
                "write version = " + wanted + " at its top");
  }
  const bool number = version->kind == DocumentKind::kInteger;
  if (number && version->integer == static_cast<int64_t>(known)) return {};
  const std::string found = number ? std::to_string(version->integer) : "no number";
  const bool newer = number && version->integer > static_cast<int64_t>(known);
  return fail(ErrorCode::kVersion, "cannot use " + file + ":" + std::to_string(version->line),
              "the version of its schema is " + found + ", this heddle reads version " + wanted,
              newer ? "upgrade this heddle"
                    : "write it anew for version " + wanted + ", or use the older heddle");
}

TableReader::TableReader(const DocumentValue& table, FileErrors& errors)
    : table_(table), errors_(errors) {
  if (table.kind == DocumentKind::kTable) return;
  errors.add(table.line, quoted(table.key) + " is not a table", "write it as [name] or [[name]]");
}

int TableReader::line_of(std::string_view key) const {
  const DocumentValue* value = table_.find(key);
  return value == nullptr ? table_.line : value->line;
}

const DocumentValue* TableReader::take(std::string_view key, DocumentKind kind,
                                       const std::string& todo) {
  known_.emplace_back(key);
  const DocumentValue* value = table_.find(key);
  if (value == nullptr) return nullptr;
  if (value->kind == kind) return value;
  wrong(key, quoted(key) + " has a value of another type", todo);
  return nullptr;
}

uint64_t TableReader::integer(std::string_view key, uint64_t fallback, uint64_t least,
                              uint64_t most) {
  const std::string todo =
      "give a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const DocumentValue* value = take(key, DocumentKind::kInteger, todo);
  if (value == nullptr) return fallback;
  if (value->integer >= 0 && static_cast<uint64_t>(value->integer) >= least &&
      static_cast<uint64_t>(value->integer) <= most) {
    return static_cast<uint64_t>(value->integer);
  }
  wrong(key, quoted(key) + " is " + std::to_string(value->integer), todo);
  return fallback;
}

bool TableReader::boolean(std::string_view key, bool fallback) {
  const DocumentValue* value = take(key, DocumentKind::kBoolean, "give true or false");
  return value == nullptr ? fallback : value->boolean;
}

std::string TableReader::text(std::string_view key, const std::string& fallback) {
  const DocumentValue* value = take(key, DocumentKind::kText, "give a text in quotes");
  return value == nullptr ? fallback : value->text;
}

double TableReader::fraction(std::string_view key, double fallback, double least, double most) {
  const std::string todo =
      fmt::format("give a number from {} to {}, like {:.1f}", least, most, (least + most) / 2);
  const DocumentValue* value = table_.find(key);
  const bool whole = value != nullptr && value->kind == DocumentKind::kInteger;
  value = take(key, whole ? DocumentKind::kInteger : DocumentKind::kFraction, todo);
  if (value == nullptr) return fallback;
  const double number = whole ? static_cast<double>(value->integer) : value->fraction;
  if (number >= least && number <= most) return number;
  wrong(key, fmt::format("{} is {}", quoted(key), number), todo);
  return fallback;
}

Nanos TableReader::duration(std::string_view key, Nanos fallback, Nanos least, Nanos most) {
  const std::string todo = fmt::format("give a time from {} to {}, like \"30s\", \"10m\" or \"1h\"",
                                       duration_text(least), duration_text(most));
  const DocumentValue* value = take(key, DocumentKind::kText, todo);
  if (value == nullptr) return fallback;
  const Result<Nanos> parsed = parse_duration(value->text);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  wrong(key,
        fmt::format("{} is \"{}\", which is {}", quoted(key), value->text,
                    parsed ? "out of range" : "no time"),
        todo);
  return fallback;
}

const DocumentValue* TableReader::table(std::string_view key) {
  return take(key, DocumentKind::kTable, "write it as [" + std::string(key) + "]");
}

std::optional<std::vector<std::string>> TableReader::names(std::string_view key,
                                                           const std::string& todo) {
  const DocumentValue* value = take(key, DocumentKind::kArray, todo);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (const DocumentValue& item : value->items) {
    if (item.kind != DocumentKind::kText) {
      wrong(key, quoted(key) + " has something that is no name", todo);
      return std::nullopt;
    }
    names.push_back(item.text);
  }
  return names;
}

const std::vector<DocumentValue>* TableReader::list(std::string_view key, const std::string& todo) {
  const DocumentValue* value = take(key, DocumentKind::kArray, todo);
  return value == nullptr ? nullptr : &value->items;
}

void TableReader::need(std::string_view key, const std::string& todo) {
  if (!has(key)) errors_.add(line(), "the key " + quoted(key) + " is missing", todo);
}

void TableReader::wrong(std::string_view key, const std::string& why, const std::string& todo) {
  errors_.add(line_of(key), why, todo);
}

void TableReader::finish() {
  if (table_.kind != DocumentKind::kTable) return;
  const DocumentValue* first = nullptr;
  for (const DocumentValue& item : table_.items) {
    const bool known = std::find(known_.begin(), known_.end(), item.key) != known_.end();
    if (!known && (first == nullptr || item.line < first->line)) first = &item;
  }
  if (first == nullptr) return;
  std::string todo = "known here:";
  for (const std::string& key : known_) todo += (&key == &known_.front() ? " " : ", ") + key;
  errors_.add(first->line, "the key " + quoted(first->key) + " is not known", todo);
}

}  // namespace heddle
