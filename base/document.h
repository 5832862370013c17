// Document: a TOML file as plain nested values, each with its line, for files that are more than
// settings (topologies). The reader of a schema drives it; the TOML library stays behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle {

enum class DocumentKind : uint8_t { kText, kInteger, kFraction, kBoolean, kArray, kTable, kOther };

struct DocumentValue {
  DocumentKind kind = DocumentKind::kTable;
  int line = 0;
  std::string key;      // its name in the table that holds it; empty in an array
  std::string text;     // kText
  int64_t integer = 0;  // kInteger
  double fraction = 0;  // kFraction
  bool boolean = false;
  std::vector<DocumentValue> items;  // of an array in their order, of a table by key

  // The value with this key of a table; nullptr: there is none.
  const DocumentValue* find(std::string_view name) const;
};

// Parses TOML; `name` stands for the file in errors. Errors: kInvalid with file and line.
Result<DocumentValue> parse_document(std::string_view text, const std::string& name);

// Reads a file whole, as text. Errors: kUnavailable, with the reason and `todo`.
Result<std::string> read_text_file(const std::string& path, const std::string& todo);

}  // namespace heddle
