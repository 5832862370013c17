// Document: a TOML file as nested values with line numbers, for files with a schema (topologies).
// The schema's reader calls it; the interface hides the TOML library.
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
  int column = 0;
  int key_line = 0;  // 0 in an array
  int key_column = 0;
  std::string key;      // its key in the containing table; empty in an array
  std::string text;     // kText
  int64_t integer = 0;  // kInteger
  double fraction = 0;  // kFraction
  bool boolean = false;
  std::vector<DocumentValue> items;  // array elements in order; table entries by key

  // The value of a table's key; nullptr if absent.
  const DocumentValue* find(std::string_view name) const;
};

// Parses TOML; `name` is the file name in errors. Errors: kInvalid with file, line and
// column.
Result<DocumentValue> parse_document(std::string_view text, const std::string& name);

// Reads a whole file as text. Errors: kUnavailable, with the reason and `todo`.
Result<std::string> read_text_file(const std::string& path, const std::string& todo);
// Writes a whole file anew. Errors: kSystem, with the reason.
Result<void> write_text_file(const std::string& path, const std::string& text);
// The same for a file that others read meanwhile: they see the old text or the new one, which takes
// its place by renaming. Errors: those of cannot_write(); kInvalid where `path` is no regular file.
Result<void> replace_text_file(const std::string& path, const std::string& text);

}  // namespace heddle
