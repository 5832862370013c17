// TableReader: takes the keys of one table of a TOML file with a schema, keeps the first error with
// its line, and finally reports a key that was not taken. Readers of such files call it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle {

// The first error of a file, with "file:line".
class FileErrors {
 public:
  explicit FileErrors(std::string file) : file_(std::move(file)) {}

  // Keeps the error if it is the first. `line` 0: no particular line.
  void add(int line, std::string why, std::string todo);
  bool any() const { return first_.has_value(); }
  const Error& first() const { return *first_; }

 private:
  std::string file_;
  std::optional<Error> first_;
};

// Errors: kInvalid if the file has no schema version, kVersion if it differs from `known`.
Result<void> check_version(const DocumentValue& document, const std::string& file, uint64_t known);

class TableReader {
 public:
  // Both must outlive the reader. Adds an error if `table` is not a table.
  TableReader(const DocumentValue& table, FileErrors& errors);

  int line() const { return table_.line; }
  // True if the file has an error.
  bool failed() const { return errors_.any(); }
  bool has(std::string_view key) const { return table_.find(key) != nullptr; }
  int line_of(std::string_view key) const;

  // These return the fallback if the key is missing or invalid (then the error is kept).
  uint64_t integer(std::string_view key, uint64_t fallback, uint64_t least, uint64_t most);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::string& fallback);
  double fraction(std::string_view key, double fallback, double least, double most);
  // As parse_duration() reads it, at least and at most these.
  Nanos duration(std::string_view key, Nanos fallback, Nanos least, Nanos most);
  // A table; nullptr if the key is missing or invalid.
  const DocumentValue* table(std::string_view key);
  // A list of names; nothing if the key is missing or invalid.
  std::optional<std::vector<std::string>> names(std::string_view key, const std::string& todo);
  // A list with values of any kind; nothing if the key is missing or invalid.
  const std::vector<DocumentValue>* list(std::string_view key, const std::string& todo);

  // Adds an error if the key is missing.
  void need(std::string_view key, const std::string& todo);
  // Adds an error at the line of `key`.
  void wrong(std::string_view key, const std::string& why, const std::string& todo);
  // Adds an error for the first key that was not taken.
  void finish();

 protected:
  // The value of a key; nullptr if it is missing or of another type (then the error is kept).
  const DocumentValue* take(std::string_view key, DocumentKind kind, const std::string& todo);

 private:
  const DocumentValue& table_;
  FileErrors& errors_;
  std::vector<std::string> known_;
};

}  // namespace heddle
