// TableReader: takes the keys of one table of a topology file, remembers the first thing that is
// wrong with its line, and in the end names a key that nobody took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle::topology {

// The first error of a file, with "file:line".
class FileErrors {
 public:
  explicit FileErrors(std::string file) : file_(std::move(file)) {}

  // Keeps it if it is the first. `line` 0: it belongs to no line.
  void add(int line, std::string why, std::string todo);
  bool any() const { return first_.has_value(); }
  const Error& first() const { return *first_; }

 private:
  std::string file_;
  std::optional<Error> first_;
};

// Errors: kInvalid where the file does not say its schema's version, kVersion where that is not
// `known`.
Result<void> check_version(const DocumentValue& document, const std::string& file, uint64_t known);

class TableReader {
 public:
  // Both must outlive the reader. What is no table is an error.
  TableReader(const DocumentValue& table, FileErrors& errors);

  int line() const { return table_.line; }
  // Something is wrong with the file.
  bool failed() const { return errors_.any(); }
  bool has(std::string_view key) const { return table_.find(key) != nullptr; }
  int line_of(std::string_view key) const;

  // Each gives the fallback where the key is missing, or wrong (then the error is kept).
  uint64_t integer(std::string_view key, uint64_t fallback, uint64_t least, uint64_t most);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::string& fallback);
  BitsPerSec rate(std::string_view key, BitsPerSec fallback);  // "unlimited" is zero
  Bytes bytes(std::string_view key, Bytes fallback);
  Nanos time(std::string_view key, Nanos fallback);
  uint32_t share_per_million(std::string_view key, uint32_t fallback);
  // Two names; nothing where they are missing or wrong.
  std::optional<std::pair<std::string, std::string>> pair(std::string_view key);
  // Names in a list; nothing where the key is missing or wrong.
  std::optional<std::vector<std::string>> names(std::string_view key, const std::string& todo);
  // What is in a list, whatever it is; nothing where the key is missing or wrong.
  const std::vector<DocumentValue>* list(std::string_view key, const std::string& todo);
  // A name of a host or switch: 1 to 15 letters, digits, '-' and '_', a letter first.
  std::string name(std::string_view key);

  // Keeps an error for a key that is missing.
  void need(std::string_view key, const std::string& todo);
  // Keeps an error at the line of `key`.
  void wrong(std::string_view key, const std::string& why, const std::string& todo);
  // Keeps an error for the first key that was not asked for.
  void finish();

 private:
  struct Words {
    std::string what;
    std::string todo;
  };

  template <typename Quantity, typename Parse>
  Quantity quantity(std::string_view key, Quantity fallback, const Words& words, Parse parse);
  const DocumentValue* take(std::string_view key, DocumentKind kind, const std::string& todo);

  const DocumentValue& table_;
  FileErrors& errors_;
  std::vector<std::string> known_;
};

}  // namespace heddle::topology
