// See machine_texts.h.
#include "acceptance/machine_texts.h"

#include <algorithm>

#include "acceptance/params.h"
#include "base/printable.h"

namespace heddle::acceptance {

std::string machine_text(const std::string& text) {
  constexpr const char* kMark = " [...]";
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    // A text of continuation bytes alone has no characters.
    if (continues && at < 4 * params::kMostText) continue;
    if (++characters > params::kMostText) return printable(text.substr(0, at)) + kMark;
  }
  return printable(text);
}

Json machine_document(const std::string& text) {
  return Json::parse(
      text,
      [](int depth, Json::parse_event_t /*event*/, const Json& /*parsed*/) {
        return depth <= params::kMostDepth;
      },
      false);
}

bool is_machine_name(const std::string& text) {
  if (text.empty() || text.size() > params::kMostNameBytes) return false;
  if (text.front() == ' ' || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char each) { return each >= ' ' && each < 127; });
}

}  // namespace heddle::acceptance
