// Printed text: lines for a terminal or a text file, of words that machines, recordings and reports
// of others' making hold. All text of documents.h and report_diff.h passes through it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/printable.h"

namespace heddle::acceptance {

class PrintedText {
 public:
  // One line, without its end: control characters of its words, also newlines, become '?'.
  void line(std::string text) { text_ += printable(std::move(text)) + '\n'; }
  template <typename... Words>
  void line(fmt::format_string<Words...> form, Words&&... words) {
    line(fmt::format(form, std::forward<Words>(words)...));
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace heddle::acceptance
