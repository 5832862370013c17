// LineTag: see line_tag.h.
#include "launch/ranks/line_tag.h"

#include "launch/params.h"

namespace heddle::launch {
std::string LineTag::feed(std::string_view piece) {
  std::string lines;
  for (const char letter : piece) {
    if (letter != '\n') line_ += letter;
    if (letter != '\n' && line_.size() < params::kLongestLine) continue;
    lines += tag_ + line_ + '\n';
    line_.clear();
  }
  return lines;
}

std::string LineTag::finish() {
  if (line_.empty()) return {};
  std::string last = tag_ + line_ + '\n';
  line_.clear();
  return last;
}

}  // namespace heddle::launch
