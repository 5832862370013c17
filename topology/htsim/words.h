// WordReader: the lines of one of htsim's files as words, and errors that name file and line.
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

  // The next line that has words; lines whose first begins with '#' have none. False: the end.
  bool next();

  const std::vector<std::string_view>& words() const { return words_; }
  int line() const { return line_; }

  // An error at this line, or at `line`.
  Unexpected wrong(const std::string& why, const std::string& todo) const;
  Unexpected wrong_at(int line, const std::string& why, const std::string& todo) const;
  // The word behind word `at` of this line as a whole number of at most `most`. Errors: kInvalid.
  Result<uint64_t> number_behind(size_t at, uint64_t most) const;

 private:
  std::string_view rest_;
  const std::string& file_;
  int line_ = 0;
  std::vector<std::string_view> words_;
};

// A word of a file as errors show it: in quotes, cut to 40 characters, and what is no printable
// ASCII as \xNN.
std::string quoted(std::string_view word);

// A whole number, and nothing else.
std::optional<uint64_t> whole_number(std::string_view word);

}  // namespace heddle::topology
