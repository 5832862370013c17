// See words.h.
#include "topology/htsim/words.h"

#include <charconv>

#include "topology/params.h"

namespace heddle::topology {
namespace {

constexpr std::string_view kBlank = " \t\r";

void split(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;
       at = line.find_first_not_of(kBlank, at)) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

}  // namespace

bool WordReader::next() {
  while (!rest_.empty()) {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    split(rest_.substr(0, end), words_);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    if (!words_.empty() && words_.front().front() != '#') return true;
  }
  words_.clear();
  return false;
}

Unexpected WordReader::wrong(const std::string& why, const std::string& todo) const {
  return wrong_at(line_, why, todo);
}

Unexpected WordReader::wrong_at(int line, const std::string& why, const std::string& todo) const {
  std::string place = file_;
  if (line > 0) place += ":" + std::to_string(line);
  return fail(ErrorCode::kInvalid, "cannot use " + place, why, todo);
}

Result<uint64_t> WordReader::number_behind(size_t at, uint64_t most) const {
  const std::string name = quoted(words_[at]);
  const std::string todo = "give a whole number of at most " + std::to_string(most);
  if (at + 1 >= words_.size()) return wrong("nothing follows " + name, todo);
  const auto number = whole_number(words_[at + 1]);
  if (number && *number <= most) return *number;
  return wrong(name + " is " + quoted(words_[at + 1]), todo);
}

std::string quoted(std::string_view word) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "'";
  for (const char each : word.substr(0, params::htsim::kMostQuoted)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= ' ' && byte <= '~' && byte != '\\') {
      text += each;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text + (word.size() > params::htsim::kMostQuoted ? "...'" : "'");
}

std::optional<uint64_t> whole_number(std::string_view word) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace heddle::topology
