// See table.h.
#include "topology/file/table.h"

#include <algorithm>
#include <utility>

#include "topology/quantity.h"

namespace heddle::topology {
namespace {

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 15 || !is_letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

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
  return fail(ErrorCode::kVersion, "cannot use " + file + ":" + std::to_string(version->line),
              "the version of its schema is " + found + ", this heddle reads version " + wanted,
              "write it for version " + wanted + ", or use a heddle that reads it");
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

template <typename Quantity, typename Parse>
Quantity TableReader::quantity(std::string_view key, Quantity fallback, const Words& words,
                               Parse parse) {
  const DocumentValue* value = take(key, DocumentKind::kText, words.todo);
  if (value == nullptr) return fallback;
  if (const auto parsed = parse(value->text)) return *parsed;
  wrong(key, quoted(key) + " is \"" + value->text + "\", which is no " + words.what, words.todo);
  return fallback;
}

BitsPerSec TableReader::rate(std::string_view key, BitsPerSec fallback) {
  const auto parse = [](const std::string& text) {
    return text == "unlimited" ? std::optional(BitsPerSec{}) : parse_rate(text);
  };
  return quantity(key, fallback,
                  {"rate", "give a number and a unit like \"200Mbit/s\", or \"unlimited\""}, parse);
}

Bytes TableReader::bytes(std::string_view key, Bytes fallback) {
  return quantity(key, fallback, {"size", "give a number and a unit like \"125KB\" or \"1500B\""},
                  parse_bytes);
}

Nanos TableReader::time(std::string_view key, Nanos fallback) {
  return quantity(key, fallback,
                  {"time", "give a number and a unit like \"2s\", \"5ms\" or \"10us\""},
                  parse_time);
}

uint32_t TableReader::share_per_million(std::string_view key, uint32_t fallback) {
  return quantity(key, fallback,
                  {"share", "give a share like \"1%\" or \"0.01%\", in steps of 0.0001%"},
                  parse_share);
}

std::optional<std::pair<std::string, std::string>> TableReader::pair(std::string_view key) {
  const std::string todo = "give two names like [\"leaf0\", \"spine1\"]";
  const DocumentValue* value = take(key, DocumentKind::kArray, todo);
  if (value == nullptr) return std::nullopt;
  if (value->items.size() == 2 && value->items[0].kind == DocumentKind::kText &&
      value->items[1].kind == DocumentKind::kText) {
    return std::pair{value->items[0].text, value->items[1].text};
  }
  wrong(key, quoted(key) + " is not two names", todo);
  return std::nullopt;
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

std::string TableReader::name(std::string_view key) {
  const std::string todo = "give 1 to 15 letters, digits, '-' or '_', a letter first";
  need(key, todo);
  std::string name = text(key, "");
  if (has(key) && !is_name(name)) wrong(key, "\"" + name + "\" cannot be a name", todo);
  return name;
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

}  // namespace heddle::topology
