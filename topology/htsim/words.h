// WordReader: splits the lines of an htsim file into words, and creates errors with file and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::topology {

class WordReader {
 public:
  // Both must outlive the reader.
  WordReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  // Moves to the next line with words; lines that begin with '#' have none. Returns false at the
  // end.
  bool next();

  const std::vector<std::string_view>& words() const { return words_; }
  int line() const { return line_; }

  // An error at this line, or at `line`.
  Unexpected wrong(const std::string& why, const std::string& todo) const;
  Unexpected wrong_at(int line, const std::string& why, const std::string& todo) const;
  // The word after word `at` of this line, as an integer of at most `most`. Errors: kInvalid.
  Result<uint64_t> number_behind(size_t at, uint64_t most) const;

 private:
  std::string_view rest_;
  const std::string& file_;
  int line_ = 0;
  std::vector<std::string_view> words_;
};

// A word for an error message: in quotes, cut to 40 characters, with bytes outside printable ASCII
// as \xNN.
std::string quoted(std::string_view word);

// The word as an integer; nothing if it has other characters.
std::optional<uint64_t> whole_number(std::string_view word);

}  // namespace heddle::topology
